"""A class of a thousand with twenty hostile submissions among them: only those fail.

The class is graded without them and with them, by the batch path with gradebook and feedback. Ten of the twenty are
files that are no notebooks; ten are notebooks whose code hangs, dies, hoards, multiplies or tampers, in every graded
function. Nobody else's mark may change, and none of the twenty may earn a point.

    python benchmarks/hostile.py --json build/hostile.json
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import common
from scaling import LESSONS, order

from grader import sample
from grader.build import venv_first
from grader.classroom import Outcome, grade_class
from grader.course import exercises

(LESSON,) = LESSONS
FUNCTIONS = [name for name, exercise in exercises().items() if exercise.lesson == LESSON]
FILES = {
    "cut short": b'{"cells": [',
    "empty": b"",
    "no text": bytes(range(256)) * 50,
    "a list": b"[1, 2]",
    "nested without end": b"[" * 200_000,
    "cells of the wrong kind": b'{"cells": 7}',
    "NaN": b"NaN",
    "a string": b'"x"',
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "zeros": bytes(1_000_000),
}
BODIES = {
    "hangs": "while True: pass",
    "hangs in C": "sum(range(10**15))",
    "ends the process": "os._exit(0)",
    "kills the process": "os.kill(os.getpid(), 9)",
    "writes to address zero": "ctypes.string_at(0)",
    "hoards memory": "hoard = []\n    while True: hoard.append(bytearray(2**26))",
    "forks without end": "while True: os.fork()",
    "starts threads without end": "while True: threading.Thread(target=time.sleep, args=(99,)).start()",
    "returns ten terabytes": "return np.broadcast_to(np.zeros(1), (10**6, 10**6))",
    "always equal": "return type('Same', (float,), {'__eq__': lambda *a: True, '__sub__': lambda *a: 0.0})(1.0)",
}
IMPORTS = "import ctypes, os, threading, time\nimport numpy as np\n\n\n"


def add_hostile(submitted: Path) -> list[str]:
    """Hand in the twenty; their students' names, which sort among the others'."""
    handed_in: dict[str, bytes] = dict(FILES)
    for what, body in BODIES.items():
        answers = {name: f"{IMPORTS}def {name}(*arguments):\n    {body}\n" for name in FUNCTIONS}
        handed_in[what] = json.dumps(common.plain(sample.answered(LESSON, answers))).encode()
    names = []
    for number, (what, data) in enumerate(handed_in.items()):
        names.append(f"student{47 * number:05}-{what.replace(' ', '-')}")
        path = submitted / names[-1] / LESSON / f"{LESSON}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    return names


def graded(root: Path, jobs: int) -> tuple[Outcome, float]:
    """The class in a fresh gradebook, and the seconds it took, start included."""
    for name in ("gradebook.db", "autograded", "feedback"):
        path = root / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    started = time.monotonic()
    return grade_class(order(root, jobs)), time.monotonic() - started


def marks(outcome: Outcome) -> dict[str, tuple[str, float]]:
    """Student -> status and points."""
    return {Path(r.submission).parts[-3]: (r.status, r.points) for r in outcome.results}


def main() -> None:
    """Grade the class twice, compare, write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    venv_first()
    before = common.machine()
    with tempfile.TemporaryDirectory() as folder:
        root = common.course(Path(folder, "course"))
        common.make_class(root / "submitted", LESSONS, given.size - len(FILES) - len(BODIES))
        alone, seconds_alone = graded(root, given.jobs)
        names = add_hostile(root / "submitted")
        together, seconds = graded(root, given.jobs)
        pages = [root / "feedback" / name / LESSON / f"{LESSON}.html" for name in marks(together)]
        missing = [str(page.relative_to(root)) for page in pages if not page.exists()]
    mine, theirs = marks(together), marks(alone)
    hostile = {name: mine.pop(name) for name in names}
    result: dict[str, Any] = {
        "benchmark": "hostile",
        "machine": before,
        "lesson": LESSON,
        "jobs": given.jobs,
        "submissions": len(mine) + len(hostile),
        "hostile": len(hostile),
        "hostile_files": len(FILES),
        "other_marks_changed": sum(mine[name] != mark for name, mark in theirs.items()) + len(mine.keys() ^ theirs),
        "others_failed": sum(status == "failed" for status, _ in mine.values()),
        "hostile_with_points": sorted(name for name, (_, points) in hostile.items() if points),
        "hostile_refused": sum(status == "failed" for status, _ in hostile.values()),
        "feedback_pages_missing": missing,
        "seconds": round(seconds, 1),
        "seconds_without_hostile": round(seconds_alone, 1),
    }
    common.save(result, given.json)


if __name__ == "__main__":
    main()
