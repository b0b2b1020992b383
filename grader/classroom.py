"""`grader grade` on a class: read, grade, record, in a pipeline, with progress and a summary.

The reader skips what is recorded already; workers grade; one writer records answers in groups, as many as have come
while it was busy with the last.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field, replace
from itertools import count, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader import engines, marks
from grader.batch import Item, discover, read
from grader.course import graded_lessons
from grader.coursefolder import CourseFolder, root_of, student_problem
from grader.files import write_whole
from grader.receipt import receipt, same
from grader.report import ExerciseResult, SubmissionResult
from grader.task import Graded, Settings, Task

if TYPE_CHECKING:
    from grader.writer import Record, Writer

GROUP = 64  # records in a transaction at most
SECONDS = 0.5  # between two transactions at most


@dataclass
class Order:
    """What to grade, and where to record it. ``db`` overrides the gradebook of the course's configuration."""

    paths: Sequence[Path]
    settings: Settings
    assignment: str = ""
    gradebook: bool = False
    db: str = ""
    feedback: Path | None = None
    jobs: int = 1
    scheduler: str = ""
    only_changed: bool = False
    progress: Callable[[int, int], None] = lambda done, total: None


@dataclass
class Outcome:
    """What came of it. ``skipped``: submissions whose mark is recorded already."""

    results: list[SubmissionResult] = field(default_factory=list)
    skipped: int = 0
    by_number: dict[int, SubmissionResult] = field(default_factory=dict)
    pages: set[Path] = field(default_factory=set)


def engine(order: Order) -> closing[Any]:
    """Where the order is graded: here, in local processes, or on a cluster."""
    if order.scheduler:
        from grader.cluster import Cluster

        return closing(Cluster(order.settings, order.scheduler))
    return engines.local(order.settings, order.jobs)


def grade_class(order: Order) -> Outcome:
    """Grade and record everything. Raises RecordingError and SandboxError; what is recorded then stays."""
    with engine(order) as workers:
        workers.warm_up()  # while we import nbgrader and open the gradebook
        return grade_with(workers, order)


def grade_with(workers: engines.Engine, order: Order) -> Outcome:
    """`grade_class` on an engine that is there already."""
    items = list(latest(discover(order.paths, order.assignment)))
    outcome = Outcome()
    with _writer(order) as writer:
        tasks = _tasks(order, list(enumerate(items)), writer, outcome)
        _record(order, engines.drive(workers, tasks), writer, outcome, len(items))
    outcome.results = [outcome.by_number[number] for number in sorted(outcome.by_number)]
    return outcome


def _writer(order: Order) -> AbstractContextManager[Writer | None]:
    if not order.gradebook:
        return nullcontext()
    from grader.writer import Writer

    return Writer(CourseFolder(root_of(order.paths), order.db), order.feedback)


def latest(items: Iterator[Item]) -> Iterator[Item]:
    """Of several files of one student for one lesson the newest: the latest attempt counts, as with nbgrader."""
    for (student, lesson), group in groupby(items, key=lambda item: (item.student, item.assignment)):
        files = list(group)
        if not student or len(files) == 1 or len({f.path.parent for f in files}) > 1:
            yield from files
        else:
            yield max(files, key=lambda item: (_changed(item.path), item.path.name == f"{lesson}.ipynb"))


def _changed(path: Path) -> int:
    try:
        return path.stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0


def _tasks(
    order: Order, items: Sequence[tuple[int, Item]], writer: Writer | None, outcome: Outcome
) -> Iterator[tuple[tuple[int, Item], Task]]:
    known = writer.known() if writer and order.only_changed else set()
    for number, found in items:
        item = _filed(found) if writer else found
        if writer is None or item.problem:
            yield (number, item), read(item)
            continue
        task = read(item, True, timestamp_of(item.path.parent))
        if (item.student, item.assignment) in known and _unchanged(order, item, task, writer):
            outcome.skipped += 1
            continue
        yield (number, item), task


def _filed(item: Item) -> Item:
    """The item, with the problem that keeps it out of a gradebook."""
    if item.problem or (item.assignment in graded_lessons() and not student_problem(item.student)):
        return item
    problem = student_problem(item.student)
    return replace(item, problem=problem or f"{item.path.name}: no lesson of this course; name it with --assignment")


def timestamp_of(folder: Path) -> str:
    """The time of submission as ``timestamp.txt`` has it; empty where there is none that can be read."""
    from nbgrader.utils import parse_utc

    try:
        text = (folder / "timestamp.txt").read_text(encoding="utf-8")[:100].strip()
        parse_utc(text)
    except (OSError, ValueError, OverflowError):
        return ""
    return text


def _unchanged(order: Order, item: Item, task: Task, writer: Writer) -> bool:
    """Whether the mark this task would get is recorded, its pages and all."""
    page = order.feedback and order.feedback / item.student / item.assignment / f"{item.assignment}.html"
    done = writer.course.autograded(item.student, item.assignment) / f"{item.assignment}.ipynb"
    if page and not page.exists():
        return False
    try:
        stored = json.loads(done.read_bytes())["metadata"]["grader"]["receipt"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    settings = order.settings
    wanted = receipt(item.assignment, settings.secret, settings.isolation, settings.disclosure)
    return same(stored, wanted | {"submission": task.digest, "timestamp": task.timestamp})


def _record(
    order: Order,
    answers: Iterator[tuple[tuple[int, Item], Graded]],
    writer: Writer | None,
    outcome: Outcome,
    total: int,
) -> None:
    """Take the answers as they come, and record them in groups."""
    group: list[Record] = []
    since = time.monotonic()
    alike: dict[ExerciseResult, ExerciseResult] = {}  # a class has few different ones: each is kept once
    for (number, item), graded in answers:
        exercises = tuple(alike.setdefault(exercise, exercise) for exercise in graded.result.exercises)
        outcome.by_number[number] = replace(graded.result, exercises=exercises)
        if writer and graded.notebook:
            group.append(_record_of(item, graded))
        elif order.feedback and not writer:
            write_page(order.feedback, item, graded.result, outcome.pages)
        if writer and (len(group) >= GROUP or time.monotonic() - since > SECONDS):
            writer.write(group)
            group, since = [], time.monotonic()
        order.progress(len(outcome.by_number) + outcome.skipped, total)
    if writer and group:
        writer.write(group)
    order.progress(total, total)


def _record_of(item: Item, graded: Graded) -> Record:
    from grader.writer import Record

    files = [(name, path) for name, path in beside(item.path.parent) if path.suffix != ".ipynb"]
    if item.path.suffix == ".py":
        ingest(item.path, f"{item.assignment}.ipynb")
    timestamp = str(graded.result.receipt.get("timestamp", ""))
    return Record(item.student, item.assignment, timestamp, graded, tuple(files))


def beside(folder: Path) -> Iterator[tuple[str, Path]]:
    """(relative name, path) of the plain files that were handed in, which nbgrader copies too. No link is followed."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        for path in (Path(place, name) for name in sorted(files) if not name.startswith(".")):
            if path.is_file() and not path.is_symlink():
                yield str(path.relative_to(folder)), path


def ingest(script: Path, name: str) -> None:
    """Wrap a submitted .py beside it as the notebook that nbgrader's own commands look for; the original stays."""
    target = script.with_name(name)
    try:
        if target.exists() and "wrapped" not in json.loads(target.read_bytes())["metadata"].get("grader", {}):
            return  # the learner's own
        nb = marks.wrapped(script.read_bytes().decode("utf-8-sig", errors="replace"))
        nb["metadata"]["grader"] = {"wrapped": script.name}
        write_whole(target, json.dumps(nb, indent=1).encode())
        at = script.stat().st_mtime_ns
        os.utime(target, ns=(at, at - 1))  # of the two, the original is the latest attempt
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return  # a folder we may only read: the batch does not need it


def write_page(folder: Path, item: Item, result: SubmissionResult, taken: set[Path]) -> None:
    """One page per submission, in nbgrader's layout where the student is known, else by the file's name."""
    from grader import render

    if item.student and not student_problem(item.student) and result.assignment in graded_lessons():
        target = folder / item.student / result.assignment / f"{result.assignment}.html"
    else:
        names = (f"{item.path.stem[:100]}{'' if n == 1 else f'-{n}'}.html" for n in count(1))
        target = next(folder / name for name in names if folder / name not in taken)
    taken.add(target)
    write_whole(target, render.feedback_html(result).encode("utf-8", "replace"))
