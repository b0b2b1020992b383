"""Time per submission and memory as a class grows, gradebook and feedback included.

The class hands in what classes hand in: right answers, blanks, known mistakes, syntax errors, scripts, notebooks that
lost their metadata, and an endless loop in a thousand. The workers are warm before the clock starts, and the
gradebook is there; what starting takes is reported beside it. Each size gets a course of its own.

    python benchmarks/scaling.py --sizes 100 1000 10000 --json build/scaling.json
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import common

from grader.build import venv_first
from grader.classroom import Order, grade_with
from grader.coursefolder import CourseFolder
from grader.engines import Engine, local
from grader.task import Settings
from grader.writer import Writer

LESSONS = ("03_stable_dpo",)
SETTINGS = Settings("benchmark", disclosure="hints")
WARM = 150  # submissions before the clock starts, twice


def order(root: Path, jobs: int) -> Order:
    """What the command makes of `grader grade submitted --gradebook --feedback feedback --jobs N`."""
    return Order([root / "submitted"], SETTINGS, gradebook=True, feedback=root / "feedback", jobs=jobs)


def open_gradebook(root: Path) -> None:
    """Make the course's gradebook, as `grader demo` or the term's first lesson did: nbgrader asks `alembic` then."""
    with Writer(CourseFolder(root)):
        pass


def warm(engine: Engine, root: Path, jobs: int) -> float:
    """Start the workers and let each grade a few; the seconds until then."""
    common.make_class(common.course(root) / "submitted", LESSONS, WARM, seed=99)
    began = time.monotonic()
    engine.warm_up()
    for _ in range(2):
        grade_with(engine, order(root, jobs))
    return time.monotonic() - began


def measured(engine: Engine, root: Path, size: int, jobs: int) -> dict[str, Any]:
    """One class, graded."""
    kinds = common.make_class(common.course(root) / "submitted", LESSONS, size, seed=size, endless=0.001)
    open_gradebook(root)
    load = common.load()
    with common.Watch() as memory:
        started = time.monotonic(), common.tree_seconds()
        results = grade_with(engine, order(root, jobs)).results
        wall, cpu = time.monotonic() - started[0], common.tree_seconds() - started[1]
    assert len(results) == size
    pages = sum(1 for _ in (root / "feedback").glob("*/*/*.html"))
    return {
        "submissions": size,
        "load_average": load,
        "seconds": round(wall, 2),
        "seconds_per_submission": round(wall / size, 5),
        "cpu_seconds_per_submission": round(cpu / size, 5),
        "peak_memory_mib": round(memory.peak),
        "peak_rss_sum_mib": round(memory.peak_rss),
        "feedback_pages": pages,
        "failed": sum(result.status == "failed" for result in results),
        "handed_in": kinds,
    }


def main() -> None:
    """Grade a class of each size; print and write what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000, 10000])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    venv_first()
    before = common.machine()
    runs: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, local(SETTINGS, given.jobs) as engine:
        start = warm(engine, Path(folder, "warm"), given.jobs)
        for size in given.sizes:
            runs.append(measured(engine, Path(folder, str(size)), size, given.jobs))
            common.save(summary(before, start, given.jobs, runs), given.json)


def summary(machine: dict[str, Any], start: float, jobs: int, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The result so far, with ratios to the first size."""
    first = runs[0]
    for run in runs:
        run["time_ratio"] = round(run["seconds_per_submission"] / first["seconds_per_submission"], 3)
        run["memory_ratio"] = round(run["peak_memory_mib"] / first["peak_memory_mib"], 3)
    return {
        "benchmark": "scaling",
        "machine": machine,
        "lessons": list(LESSONS),
        "jobs": jobs,
        "warm_up_submissions": 2 * WARM,
        "start_and_warm_up_seconds": round(start, 2),
        "runs": runs,
    }


if __name__ == "__main__":
    main()
