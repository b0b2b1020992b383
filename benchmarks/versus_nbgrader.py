"""The grader beside stock nbgrader: the same submissions, equal marks, autograde and feedback on both sides.

Stock nbgrader executes each notebook in a kernel, with the hidden tests in its cells (`stock.py`). Neither side's
start counts: stock grades one submission before the clock starts and then runs within one process, the grader's
workers grade a few. The grader's start is reported beside. It grades the submissions many times over, as many as a
class has.

    python benchmarks/versus_nbgrader.py --submissions 12 --json build/versus.json
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import time
from contextlib import chdir
from pathlib import Path
from typing import Any

import common
import stock
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from scaling import SETTINGS, open_gradebook, order, warm
from traitlets.config.loader import PyFileConfigLoader

from grader import hidden, sample
from grader.build import venv_first
from grader.classroom import grade_with
from grader.course import exercises
from grader.engines import local

LESSON = "03_stable_dpo"
Answers = list[dict[str, str]]
Marks = dict[str, dict[str, float]]  # student -> exercise -> points


def drawn(size: int) -> Answers:
    """What a class hands in: every other one right in its own way, the others with one mistake, unfinished, broken."""
    names = [name for name, exercise in exercises().items() if exercise.lesson == LESSON]
    ways = sample.right_answers(LESSON)
    right = ways[0]
    others: Answers = [{}, {names[0]: right[names[0]]}, {**right, names[0]: right[names[0]].replace(":", "", 1)}]
    for name in reversed(names):
        ids = [m.id for m in hidden.misconceptions(name) if not m.parts][:4]
        others[:0] = [{**right, name: sample.wrong_answer(name, mistake)} for mistake in ids[::2]]
    turns = [others if number % 2 else ways for number in range(size)]
    return [kinds[number // 2 % len(kinds)] for number, kinds in enumerate(turns)]


def put(root: Path, student: str, notebook: dict[str, Any]) -> None:
    """A submission in nbgrader's tree."""
    path = root / student / LESSON / f"{LESSON}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(notebook, indent=1), encoding="utf-8")


def grade_with_stock(root: Path, answers: Answers) -> tuple[float, float]:
    """(wall, CPU) seconds for autograde and generate_feedback, one submission after the other."""
    stock.course(root)
    config = PyFileConfigLoader(str(root / "nbgrader_config.py")).load_config()
    with chdir(root):
        api = NbGraderAPI(CourseDirectory(config=config), config=config)
        api.log.setLevel(logging.CRITICAL)
        source = root / "source" / LESSON / f"{LESSON}.ipynb"
        source.parent.mkdir(parents=True)
        source.write_text(json.dumps(stock.source(LESSON, SETTINGS.secret)), encoding="utf-8")
        _demand(api.generate_assignment(LESSON, create=True))
        released = json.loads((root / "release" / LESSON / f"{LESSON}.ipynb").read_text())
        for number, written in enumerate([answers[0], *answers]):
            put(
                root / "submitted",
                f"student{number - 1:05}" if number else "first",
                stock.submission(released, written),
            )
        started = 0.0, 0.0
        for number in range(-1, len(answers)):
            if number == 0:
                started = time.monotonic(), common.used_seconds()
            for step in (api.autograde, api.generate_feedback):
                _demand(step(LESSON, f"student{number:05}" if number >= 0 else "first"))
        return time.monotonic() - started[0], common.used_seconds() - started[1]


def _demand(answer: dict[str, Any]) -> None:
    if not answer["success"]:
        raise SystemExit(f"nbgrader failed: {answer}")


def grade_with_ours(root: Path, answers: Answers, size: int, jobs: int) -> tuple[float, float, float]:
    """(wall, CPU, start) seconds for ``size`` submissions that repeat ``answers``, no two alike to the byte."""
    common.course(root)
    for number in range(size):
        own = {name: f"{text}\n# by student {number}\n" for name, text in answers[number % len(answers)].items()}
        put(root / "submitted", f"student{number:05}", common.plain(sample.answered(LESSON, own)))
    open_gradebook(root)  # as on stock's side
    with local(SETTINGS, jobs) as engine:
        start = warm(engine, root.with_name("warm"), jobs)
        started = time.monotonic(), common.tree_seconds()
        results = grade_with(engine, order(root, jobs)).results
        ended = time.monotonic(), common.tree_seconds()
    assert all(result.status == "graded" for result in results)
    return ended[0] - started[0], ended[1] - started[1], start


def marks(root: Path) -> Marks:
    """Points by student and exercise in a course's gradebook; stock's cells are called EXERCISE-GROUP."""
    found: Marks = {}
    with Gradebook(f"sqlite:///{root}/gradebook.db") as book:
        for submission in book.assignment_submissions(LESSON):
            points: dict[str, float] = {}
            for grade in (g for nb in submission.notebooks for g in nb.grades):
                exercise = grade.cell.name.removeprefix("check_").split("-")[0]
                points[exercise] = points.get(exercise, 0.0) + grade.score
            found[submission.student.id] = points
    return found


def unequal(mine: Marks, theirs: Marks, size: int, copies: int) -> list[str]:
    """Which of our students' exercises have another mark than stock gave to the same answer."""
    return [
        f"{copy:05} {exercise}: {mine.get(f'student{copy:05}', {}).get(exercise)} against {points}"
        for copy in range(copies)
        for exercise, points in theirs[f"student{copy % size:05}"].items()
        if abs(mine.get(f"student{copy:05}", {}).get(exercise, -1.0) - points) > 1e-4
    ]


def main() -> None:
    """Run both, compare the marks, write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=12, help="different ones, graded by both")
    parser.add_argument("--class-size", type=int, default=600, help="of the grader: copies of these submissions")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    venv_first()
    answers = drawn(given.submissions)
    n, size = given.submissions, max(given.submissions, given.class_size)
    before = common.machine()
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder, "ours"), Path(folder, "theirs")
        wall, cpu, start = grade_with_ours(ours, answers, size, given.jobs)
        stock_wall, stock_cpu = grade_with_stock(theirs, answers)
        off = unequal(marks(ours), marks(theirs), n, size)
    common.save(
        {
            "benchmark": "versus_nbgrader",
            "machine": before,
            "lesson": LESSON,
            "jobs": given.jobs,
            "nbgrader_submissions": n,
            "grader_submissions": size,
            "how": "neither side's start counts; the grader's class is made of copies of the same submissions",
            "nbgrader_seconds_per_submission": round(stock_wall / n, 4),
            "grader_seconds_per_submission": round(wall / size, 5),
            "ratio": round((stock_wall / n) / (wall / size), 1),
            "nbgrader_cpu_seconds_per_submission": round(stock_cpu / n, 4),
            "grader_cpu_seconds_per_submission": round(cpu / size, 5),
            "cpu_ratio": round((stock_cpu / n) / (cpu / size), 1),
            "grader_start_and_warm_up_seconds": round(start, 2),
            "ratio_with_grader_start": round((stock_wall / n) / ((wall + start) / size), 1),
            "marks_equal": not off,
            "marks_compared": 3 * size,
            "marks_unequal": off[:20],
        },
        given.json,
    )


if __name__ == "__main__":
    main()
