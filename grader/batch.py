"""Many submissions: find them, grade them on local workers, give the results back in order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader import engines
from grader.course import graded_lessons, ungraded_lessons
from grader.grading import Grader
from grader.notebook import SubmissionError, read_bytes
from grader.report import SubmissionResult
from grader.task import Settings, Task, grade_task

__all__ = ["Item", "Settings", "discover", "grade_all", "grade_item", "read"]

SUFFIXES = (".ipynb", ".py")


@dataclass(frozen=True)
class Item:
    """A submission to grade. ``student`` is empty outside an nbgrader tree; ``problem``: why it cannot be graded."""

    path: Path
    shown_as: str
    assignment: str = ""
    student: str = ""
    problem: str = ""


def discover(paths: Sequence[Path], assignment: str = "") -> Iterator[Item]:
    """The submissions at ``paths``: files as given, folders searched, nbgrader's ``submitted/`` tree understood.

    In a tree ``STUDENT/ASSIGNMENT/file`` the folder names the assignment. Links inside a folder are not followed: a
    submission could point at anything the grader may read.
    """
    for path in paths:
        if path.is_dir():
            yield from _in_folder(path, assignment)
        else:
            yield Item(path, str(path), assignment)


def _in_folder(folder: Path, assignment: str) -> Iterator[Item]:
    empty = True
    for place, folders, files in os.walk(folder):  # does not follow links to folders
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        for name in sorted(files):
            path = Path(place, name)
            if path.suffix in SUFFIXES and not name.startswith(".") and path.stem not in ungraded_lessons():
                empty = False
                yield _item(path, folder, assignment)
    if empty:
        yield Item(folder, str(folder), assignment, problem=f"{folder.name}: no notebook or Python file in this folder")


def _item(path: Path, folder: Path, assignment: str) -> Item:
    """The item of a file below ``folder``; in STUDENT/ASSIGNMENT/file the folders name both."""
    in_tree = path.parent.name in graded_lessons() and path.parent != folder
    named = assignment or (path.parent.name if in_tree else "")
    problem = (
        f"{path.name}: a symbolic link, which is not followed; submit the file itself" if path.is_symlink() else ""
    )
    return Item(path, str(path), named, path.parent.parent.name if in_tree else "", problem)


def read(item: Item, marked: bool = False, timestamp: str = "") -> Task:
    """The task of an item: all that has to be read from disk."""
    problem, data = item.problem, b""
    if not problem:
        try:
            data = read_bytes(item.path)
        except SubmissionError as error:
            problem = str(error)
    return Task(data, item.path.name, item.assignment, item.shown_as, timestamp, marked, problem)


def grade_item(grader: Grader, item: Item) -> SubmissionResult:
    """The result of one submission; what cannot be graded becomes a failed result with its reason."""
    return grade_task(grader, read(item)).result


def grade_all(items: Iterable[Item], settings: Settings, jobs: int = 1) -> Iterator[tuple[Item, SubmissionResult]]:
    """(item, result) in the order of ``items``. With ``jobs`` > 1 in as many processes, a warm worker each."""
    early: dict[int, tuple[Item, SubmissionResult]] = {}
    turn = 0
    with engines.local(settings, jobs) as engine:
        for (number, item), graded in engines.drive(engine, (((n, i), read(i)) for n, i in enumerate(items))):
            early[number] = item, graded.result
            while turn in early:
                yield early.pop(turn)
                turn += 1
