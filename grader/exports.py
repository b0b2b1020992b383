"""Marks for others: nbgrader's CSV, and the gradebook imports of Canvas and Moodle, matched by ``lms_user_id``.

The exporters are nbgrader plugins (``nbgrader export --exporter=grader.exports.CanvasExporter --to canvas.csv``) and
stand behind `grader export`. Every text that a spreadsheet would run as a formula is made harmless.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.plugins import ExportPlugin
from traitlets import Dict, Unicode

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
Rows = Iterator[Sequence[Any]]


class ExportError(RuntimeError):
    """A gradebook that cannot be exported; the message is one line."""


@dataclass(frozen=True)
class Mark:
    """What one student has in one assignment. ``score`` is after the late penalty; None where nothing was handed in."""

    raw: float = 0.0
    penalty: float = 0.0
    score: float | None = None
    timestamp: str = ""
    open: bool = False  # a human still has to grade something


@dataclass(frozen=True)
class Book:
    """What the exporters need of a gradebook: its assignments, students and marks by (assignment, student id)."""

    assignments: tuple[Any, ...]
    students: tuple[Any, ...]
    marks: dict[tuple[str, str], Mark]


def harmless(value: Any) -> Any:
    """``value`` as a cell that no spreadsheet runs: text that begins like a formula gets a ' in front; numbers stay."""
    if value is None:
        return ""
    if isinstance(value, str) and value.lstrip(" \n")[:1] in tuple("=+-@\t\r＝＋－＠") and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def read(gradebook: Gradebook, assignments: Sequence[str] = (), students: Sequence[str] = ()) -> Book:
    """The chosen assignments and students (all by default); ExportError on a name that the gradebook does not have."""
    chosen = [a for a in gradebook.assignments if not assignments or a.name in assignments]
    people = [s for s in gradebook.students if not students or s.id in students]
    for asked, there, what in (
        (assignments, [a.name for a in chosen], "assignment"),
        (students, [s.id for s in people], "student"),
    ):
        if missing := set(asked) - set(there):
            raise ExportError(f"the gradebook has no {what} {', '.join(sorted(missing))}")
    marks = {}
    for assignment in chosen:
        for submission in gradebook.assignment_submissions(assignment.name):
            marks[assignment.name, submission.student.id] = _mark(submission)
    ordered = sorted(people, key=lambda s: (s.last_name or "", s.first_name or "", s.id))
    return Book(tuple(sorted(chosen, key=lambda a: str(a.name))), tuple(ordered), marks)


def _mark(submission: Any) -> Mark:
    raw, penalty = float(submission.score), float(submission.late_submission_penalty or 0.0)
    stamp = str(submission.timestamp or "")
    return Mark(raw, penalty, max(0.0, raw - penalty), stamp, bool(submission.needs_manual_grade))


def _short(score: float | None) -> float | int | str:
    """A score without binary dust: 7.5, 10; empty where nothing was handed in."""
    if score is None:
        return ""
    rounded = round(score, 4)
    return int(rounded) if rounded == int(rounded) else rounded


class _Exporter(ExportPlugin):  # type: ignore[misc]
    """Common to all: where to write, for whom, and under which column titles."""

    default = "grades.csv"
    columns = Dict(
        key_trait=Unicode(), value_trait=Unicode(), help="assignment -> title of its column in the other gradebook"
    ).tag(config=True)

    def rows(self, book: Book) -> Rows:
        """The rows of the file, header first."""
        raise NotImplementedError

    def export(self, gradebook: Gradebook) -> None:
        """Write the file ``to``; nbgrader calls this."""
        book = read(gradebook, list(map(str, self.assignment)), list(map(str, self.student)))
        self.write(book, Path(self.to or self.default))

    def write(self, book: Book, target: Path) -> None:
        """Write ``book`` to ``target``, whole or not at all."""
        beside = target.with_name(f".{target.name}.new")
        with beside.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([harmless(cell) for cell in row] for row in self.rows(book))
        os.replace(beside, target)

    def title(self, assignment: Any) -> str:
        """The column title of an assignment."""
        return str(self.columns.get(assignment.name, assignment.name))


class CsvExporter(_Exporter):
    """nbgrader's own columns, one row per assignment and student, quoted where quoting is needed."""

    def rows(self, book: Book) -> Rows:
        """See the class; who handed nothing in has 0, as in nbgrader."""
        yield (
            "assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email", "raw_score",
            "late_submission_penalty", "score", "max_score",
        )  # fmt: skip
        for a in book.assignments:
            for s in book.students:
                mark = book.marks.get((a.name, s.id), Mark())
                due = str(a.duedate or "")
                person = (s.id, s.last_name, s.first_name, s.email)
                yield (a.name, due, mark.timestamp, *person, mark.raw, mark.penalty, mark.score or 0.0, a.max_score)


class CanvasExporter(_Exporter):
    """Canvas's gradebook import. ``ID`` is ``lms_user_id``; without one Canvas matches the login, our student id.

    An assignment that exists in Canvas is matched by its title, best with its number: ``Homework 3 (8821)``. A blank
    cell leaves the mark in Canvas as it is.
    """

    default = "canvas.csv"

    def rows(self, book: Book) -> Rows:
        """The header, the row of points possible, and a row per student."""
        yield ("Student", "ID", "SIS User ID", "SIS Login ID", "Section", *map(self.title, book.assignments))
        yield ("Points Possible", "", "", "", "", *(_short(a.max_score) for a in book.assignments))
        for s in book.students:
            name = ", ".join(part for part in (s.last_name, s.first_name) if part) or s.id
            marks = (_short(book.marks.get((a.name, s.id), Mark()).score) for a in book.assignments)
            yield (name, s.lms_user_id or "", "", s.id, "", *marks)


class MoodleExporter(_Exporter):
    """Moodle's CSV grade import: map *ID number* (our ``lms_user_id``) to ``useridnumber``, or map the addresses.

    Who has no ``lms_user_id`` gets the student id there.
    """

    default = "moodle.csv"

    def rows(self, book: Book) -> Rows:
        """The header and a row per student."""
        yield ("First name", "Last name", "ID number", "Email address", *map(self.title, book.assignments))
        for s in book.students:
            marks = (_short(book.marks.get((a.name, s.id), Mark()).score) for a in book.assignments)
            yield (s.first_name or "", s.last_name or "", s.lms_user_id or s.id, s.email or "", *marks)


EXPORTERS = {"csv": CsvExporter, "canvas": CanvasExporter, "moodle": MoodleExporter}


def address(db: str) -> str:
    """The SQLAlchemy address of ``db``, a file or an address. ExportError where there is no such file."""
    if "://" in db:
        return db
    if not Path(db).is_file():
        raise ExportError(f"no gradebook {db}: grade first, or name it with --db")
    return f"sqlite:///{Path(db).resolve()}"


def export_file(
    kind: str,
    db: str,
    to: Path | None,
    assignments: Sequence[str],
    students: Sequence[str],
    titles: dict[str, str] | None = None,
) -> tuple[Path, list[str]]:
    """Write the file for `grader export`; where it is, and what a person should know about it."""
    exporter = EXPORTERS[kind](columns=titles or {})
    target = to or Path(exporter.default)
    try:
        with Gradebook(address(db)) as gradebook:
            book = read(gradebook, assignments, students)
            exporter.write(book, target)
            return target, list(_notes(kind, book))
    except OSError as error:
        raise ExportError(f"{target} cannot be written: {error.strerror}") from None


def _notes(kind: str, book: Book) -> Iterator[str]:
    waiting = sum(mark.open for mark in book.marks.values())
    if waiting:
        yield f"note: {waiting} submissions still wait for a human; their marks are not final"
    unknown = [s.id for s in book.students if not s.lms_user_id]
    if unknown and kind != "csv":
        yield f"note: {len(unknown)} students have no lms_user_id, {unknown[0]} for one; their student id stands in"
