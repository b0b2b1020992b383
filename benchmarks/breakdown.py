"""Where a submission's time goes, beside the floor of a bare fork; latency of `check` and of the commands.

Run: ``python benchmarks/breakdown.py --json build/breakdown.json --picture build/breakdown.png``
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import common
from scaling import LESSONS, SETTINGS, order, warm

from grader import checks, classroom, demo, grading, sample, task, writer
from grader.build import venv_first
from grader.classroom import grade_with
from grader.course import exercises, graded_lessons, lesson
from grader.engines import Here
from grader.judge import Judged, judge_group
from grader.sandbox import client

Times = dict[str, float]
# What is timed: where, which function, under which name. Times inside a timed function are not counted twice.
STEPS = (
    (classroom, "read", "read"),
    (task, "loads", "read"),
    (client.Worker, "fork", "fork"),
    (client.Worker, "reap", "fork"),
    (client.Worker, "run", "run"),
    (grading.Grader, "exercise_result", "judge"),
    (task, "_marked", "write"),
    (writer.Writer, "__init__", "open"),
    (writer.Writer, "write", "write"),
    (writer, "page", "feedback"),
)


@contextlib.contextmanager
def timed(spent: Times) -> Iterator[None]:
    """Time the steps into ``spent``."""
    inside: list[float] = [0.0]

    def wrap(function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def measured(*args: Any, **kwargs: Any) -> Any:
            inside.append(0.0)
            began = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                seconds = time.perf_counter() - began
                spent[name] += seconds - inside.pop()
                inside[-1] += seconds

        return measured

    with contextlib.ExitStack() as stack:
        for place, attribute, name in STEPS:
            stack.enter_context(patch.object(place, attribute, wrap(getattr(place, attribute), name)))
        yield


def steps(folder: Path, size: int, floor: Times) -> Times:
    """Milliseconds per submission and step, in one process with one warm worker."""
    spent: Times = defaultdict(float)
    with contextlib.closing(Here(SETTINGS)) as engine:
        warm(engine, folder / "warm", 1)
        common.make_class(common.course(folder / "class") / "submitted", LESSONS, size)
        started = time.perf_counter()
        with timed(spent):
            grade_with(engine, order(folder / "class", 1))
        whole = time.perf_counter() - started
    opening = spent.pop("open")  # once for a class: nbgrader asks `alembic` for the version of a new gradebook
    found = {name: 1000 * seconds / size for name, seconds in spent.items()}
    found["other"] = 1000 * (whole - opening - sum(spent.values())) / size
    found["confine"] = floor["confine_ms"]  # happens in the child, while `run` waits for it
    found["run"] = max(0.0, found["run"] - found["confine"])
    found["all"] = 1000 * (whole - opening) / size
    found["opening the gradebook, once"] = 1000 * opening
    return {name: round(value, 3) for name, value in found.items()}


def floor() -> Times:
    """Milliseconds of a bare fork, and what confinement adds."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("floor.py"))], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    bare, confined = (1000 * statistics.median(found[name]) for name in ("bare", "confined"))
    added = statistics.median(b - a for a, b in zip(found["bare"], found["confined"], strict=True))
    return {
        "bare_fork_ms": round(bare, 3),
        "confined_fork_ms": round(confined, 3),
        "confine_ms": round(1000 * added, 3),
    }


def check_latency() -> dict[str, Times]:
    """Milliseconds of `check` on a right answer in this process: the first time, and the median of the later ones."""
    found = {}
    for name, exercise in exercises().items():
        names: dict[str, Any] = {}
        exec(lesson(exercise.lesson).setup, names)
        exec(sample.reference(name), names)
        times = []
        with patch.object(checks, "record"), contextlib.redirect_stdout(io.StringIO()):
            for _ in range(7):
                began = time.perf_counter()
                with contextlib.suppress(checks.CheckFailed):
                    checks.check(names[name])
                times.append(1000 * (time.perf_counter() - began))
        found[name] = {"first": round(times[0], 2), "median": round(statistics.median(times[1:]), 2)}
    return found


def command(arguments: list[str], cwd: Path, rounds: int = 5) -> Times:
    """Seconds of a command from a cold shell: median and best."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "grader", *arguments],
            cwd=cwd,
            env={**os.environ, "GRADER_SECRET": "benchmark"},
            capture_output=True,
            text=True,
        )
        times.append(time.perf_counter() - began)
        assert done.returncode == 0, done.stderr
    return {"median": round(statistics.median(times), 3), "best": round(min(times), 3)}


def commands(folder: Path) -> dict[str, Times]:
    """Latency of the commands, and of formgrader's autograde button on a server that has graded before."""
    lesson_name = LESSONS[0]
    names = [name for name, exercise in exercises().items() if exercise.lesson == lesson_name]
    student = sample.Student("ada", lesson_name, {name: sample.reference(name) for name in names})
    path = sample.write(student, folder / "submitted")
    found = {"grader --help": command(["--help"], folder)}
    found["grader grade, one submission"] = command(["grade", str(path)], folder)
    os.environ["GRADER_SECRET"] = "benchmark"
    demo.new_course(folder / "course")
    sample.write(student, folder / "course" / "submitted")
    with contextlib.chdir(folder / "course"):
        api = demo.course_api(folder / "course", "confined")
        api.generate_assignment(lesson_name, force=True)
        times = []
        for _ in range(6):
            began = time.perf_counter()
            answer = api.autograde(lesson_name, student.name)
            times.append(time.perf_counter() - began)
            assert answer["success"], answer
    late = times[1:]
    found["autograde button, warm"] = {"median": round(statistics.median(late), 3), "best": round(min(late), 3)}
    return found


def judge_cost(cases: int = 200) -> dict[str, float]:
    """Milliseconds that judging ``cases`` right answers takes, by exercise: its own cases, over and over."""
    found = {}
    with grading.Grader("benchmark") as grader:
        for name in graded_lessons():
            chosen = lesson(name)
            for exercise in chosen.exercises:
                item = grader.prepared(chosen, exercise)
                pairs = list(zip(item.cases, item.expected, strict=True))
                many = [pairs[number % len(pairs)] for number in range(cases)]
                judged = {g.name: [Judged(c, e, e) for (of, c), e in many if of is g] for g in exercise.groups}
                times = []
                for _ in range(7):
                    began = time.perf_counter()
                    for group in exercise.groups:
                        judge_group(exercise, group, judged[group.name], "")
                    times.append(1000 * (time.perf_counter() - began))
                found[exercise.name] = round(statistics.median(times), 2)
    return found


def main() -> None:
    """Measure, print a table, write JSON and the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=200)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    venv_first()
    before = common.machine()
    with tempfile.TemporaryDirectory() as name:
        bare = floor()
        spent = steps(Path(name, "steps"), given.submissions, bare)
        latency = commands(Path(name, "commands"))
    result = {
        "benchmark": "breakdown",
        "machine": before,
        "lesson": LESSONS[0],
        "submissions": given.submissions,
        "cases": sum(len(p.cases) for p in _prepared()),
        "floor": bare,
        "milliseconds": spent,
        "commands_seconds": latency,
        "check_milliseconds": check_latency(),
        "judge_200_cases_milliseconds": judge_cost(),
    }
    common.save(result, given.json)
    if given.picture:
        from breakdown_picture import draw

        draw(result, given.picture)


def _prepared() -> list[Any]:
    with grading.Grader("benchmark") as grader:
        return [grader.prepared(lesson(LESSONS[0]), e) for e in lesson(LESSONS[0]).exercises]


if __name__ == "__main__":
    main()
