"""Many submissions: find them, grade them on local workers, give the results back in order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from grader.course import CourseError, graded_lessons, ungraded_lessons
from grader.grading import Grader
from grader.notebook import SubmissionError, load
from grader.report import SubmissionResult, failed

SUFFIXES = (".ipynb", ".py")


@dataclass(frozen=True)
class Item:
    """A submission to grade. ``student`` is empty outside an nbgrader tree; ``problem``: why it cannot be graded."""

    path: Path
    shown_as: str
    assignment: str = ""
    student: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Settings:
    """What every worker of a batch needs to know."""

    secret: str
    isolation: str = "confined"
    disclosure: str = "hints"


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
    problem = f"{path.name}: a symbolic link, which is not followed; submit the file itself" if path.is_symlink() else ""
    return Item(path, str(path), named, path.parent.parent.name if in_tree else "", problem)


def grade_item(grader: Grader, item: Item) -> SubmissionResult:
    """The result of one submission; what cannot be graded becomes a failed result with its reason."""
    if item.problem:
        return failed(item.shown_as, item.assignment, item.problem)
    try:
        return grader.grade(load(item.path, item.assignment, item.shown_as))
    except (SubmissionError, CourseError) as error:
        return failed(item.shown_as, item.assignment, str(error))


_grader: Grader | None = None  # of this worker process


def _start(settings: Settings) -> None:
    global _grader
    _grader = Grader(settings.secret, settings.isolation, settings.disclosure)


def _work(item: Item) -> SubmissionResult:
    assert _grader is not None
    return grade_item(_grader, item)


def grade_all(items: Iterable[Item], settings: Settings, jobs: int = 1) -> Iterator[tuple[Item, SubmissionResult]]:
    """(item, result) in the order of ``items``. With ``jobs`` > 1 in as many processes, a warm worker each."""
    if jobs <= 1:
        with Grader(settings.secret, settings.isolation, settings.disclosure) as grader:
            for item in items:
                yield item, grade_item(grader, item)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), _start, (settings,)) as pool:
        todo = iter(items)
        while chunk := list(islice(todo, 64 * jobs)):  # bounded: results of a large class do not pile up
            yield from zip(chunk, pool.map(_work, chunk, chunksize=4), strict=True)
