"""What the benchmarks share: synthetic classes, CPU time and memory of a process tree, what it was measured on."""

from __future__ import annotations

import json
import os
import platform
import resource
import shutil
import threading
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from grader import hidden, sample
from grader.course import ROOT, exercises
from grader.receipt import versions

RESULTS = Path(__file__).parent / "results"
TICK = os.sysconf("SC_CLK_TCK")


def machine() -> dict[str, Any]:
    """What the numbers depend on. No host name, no path."""
    model = next((line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": model or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory, 1),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "load_average": load(),
        "versions": versions(),
    }


def load() -> list[float]:
    """How many processes have wanted a processor, over 1, 5 and 15 minutes."""
    return [round(x, 2) for x in os.getloadavg()]


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def save(result: dict[str, Any], path: Path | None) -> None:
    """Print a result, and write it as JSON."""
    text = json.dumps(result, indent=1)
    print(text)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")


def tree(pid: int | None = None) -> list[int]:
    """A process and all its living descendants."""
    pid = pid or os.getpid()
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in " ".join(_lines(str(task))).split():
            found += tree(int(child))
    return found


def used_seconds() -> float:
    """CPU seconds of this process and of all processes below it that have ended and were waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(r.ru_utime + r.ru_stime for r in used)


def tree_seconds() -> float:
    """CPU seconds of this process and its living descendants, and of what each of them waited for."""
    total = 0
    for pid in tree():
        fields = "".join(_lines(f"/proc/{pid}/stat")).rpartition(")")[2].split()
        total += sum(map(int, fields[11:15])) if fields else 0
    return total / TICK


def memory_mib() -> tuple[float, float]:
    """Memory of the process tree: proportional set sizes (pages shared by forks count once), and the sum of RSS."""
    totals = {"Pss:": 0, "Rss:": 0}
    for line in (line for pid in tree() for line in _lines(f"/proc/{pid}/smaps_rollup")):
        key, value, *_ = line.split()
        if key in totals:
            totals[key] += int(value)
    return totals["Pss:"] / 1024, totals["Rss:"] / 1024


class Watch:
    """Samples the memory of the process tree in the background. ``peak`` and ``peak_rss`` in MiB."""

    def __init__(self, every: float = 1.0) -> None:
        self.peak = self.peak_rss = 0.0
        self._every, self._end = every, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._end.wait(self._every):
            self._sample()

    def _sample(self) -> None:
        shared, whole = memory_mib()
        self.peak, self.peak_rss = max(self.peak, shared), max(self.peak_rss, whole)

    def __enter__(self) -> Watch:
        self._sample()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join()
        self._sample()


def kinds(lesson: str, mistakes: int = 8) -> list[tuple[float, str, dict[str, str]]]:
    """(share, kind, answers) of what a class hands in for a lesson: right, blank, one mistake, unfinished, broken.

    Right answers are written in ten ways, so that they differ in their last digits as people's do.
    """
    names = [name for name, exercise in exercises().items() if exercise.lesson == lesson]
    ways = sample.right_answers(lesson)
    right = ways[0]
    found = [(0.55 / len(ways), "right", way) for way in ways]
    found += [(0.06, "blank", {}), (0.04, "unfinished", {names[0]: right[names[0]]})]
    for name in names:
        ids = [m.id for m in hidden.misconceptions(name) if not m.parts][:mistakes]
        share = 0.32 / (len(names) * len(ids))
        found += [(share, "mistake", {**right, name: sample.wrong_answer(name, i)}) for i in ids]
    broken = right[names[0]].replace(":", "", 1)
    return [*found, (0.03, "syntax error", {**right, names[0]: broken})]


def make_class(folder: Path, lessons: Sequence[str], size: int, seed: int = 0, endless: float = 0.0) -> dict[str, int]:
    """``size`` submissions below ``folder``, no two alike to the byte; how many there are of each kind.

    One in a hundred lost its metadata and one in fifty is a script. A share of ``endless`` holds a loop without end.
    """
    rng = np.random.default_rng(seed)
    mixed = {lesson: kinds(lesson) for lesson in lessons}
    loops = round(1 / endless) if endless else 0
    counted: Counter[str] = Counter()
    for number in range(size):
        lesson = lessons[number % len(lessons)]
        shares = np.array([share for share, _, _ in mixed[lesson]])
        _, kind, answers = mixed[lesson][rng.choice(len(shares), p=shares / shares.sum())]
        if loops and number % loops == loops // 2:
            name = list(mixed[lesson][0][2])[-1]
            kind, answers = "endless loop", {**mixed[lesson][0][2], name: sample.ENDLESS.format(name=name)}
        own = {name: f"{text}\n# handed in by student {number}\n" for name, text in answers.items()}
        script = number % 50 == 49 and bool(own)
        path = folder / f"student{number:05}" / lesson / f"{lesson}.{'py' if script else 'ipynb'}"
        path.parent.mkdir(parents=True)
        if script:
            text = "\n\n".join(["import numpy as np", "import torch", *own.values()])
        else:
            text = json.dumps(plain(sample.answered(lesson, own, strip=number % 100 == 98)), indent=1)
        path.write_text(text, encoding="utf-8")
        counted.update([kind, *(["as a script"] if script else [])])
    return dict(counted)


def plain(notebook: dict[str, Any]) -> dict[str, Any]:
    """A notebook without figure and demo cells."""
    ids = (cell["metadata"].get("nbgrader", {}).get("grade_id", "") for cell in notebook["cells"])
    cells = [c for c, i in zip(notebook["cells"], ids, strict=True) if not i.startswith(("figure_", "demo_"))]
    return {**notebook, "cells": cells}


def course(root: Path) -> Path:
    """An empty course folder with our configuration."""
    root.mkdir(parents=True)
    shutil.copy(ROOT / "nbgrader_config.py", root)
    return root
