"""The one writer of a batch: nbgrader's gradebook through one open session, then feedback, then autograded/.

It leaves what `nbgrader autograde` and `nbgrader generate_feedback` leave. The order makes a kill harmless at any
moment: the gradebook commits first, and writing the same marks again changes nothing; the autograded notebook comes
last, and its receipt says that all of it is done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from nbgrader import api
from nbgrader.api import Gradebook
from nbgrader.preprocessors import AssignLatePenalties
from nbgrader.utils import parse_utc
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.orm import Session

from grader import render
from grader.build import venv_first
from grader.coursefolder import CourseFolder
from grader.files import RecordingError, write_whole
from grader.lessonrows import Cells, cells_of, enter_version
from grader.marks import UNANSWERED
from grader.task import Graded

ATTEMPTS = 5  # at one submission, when another writer is in the way


@dataclass(frozen=True)
class Record:
    """A graded submission on its way to the gradebook. ``files``: what to copy beside it, by relative name."""

    student: str
    lesson: str
    timestamp: str
    graded: Graded
    files: tuple[tuple[str, Path], ...] = ()


@dataclass(frozen=True)
class Facts:
    """What counts after a record was stored, humans' marks included."""

    scores: dict[str, float]
    comments: tuple[str, ...]
    max_score: float
    penalty: float


class Writer:
    """Writes records into a course's gradebook and folders. Close it, or use it in a ``with`` block."""

    def __init__(self, course: CourseFolder, feedback: Path | None = None) -> None:
        self.course, self.feedback = course, feedback
        venv_first()  # a new gradebook asks `alembic` for its version
        self.gradebook = self._tried(lambda: Gradebook(course.db_url, course.course_id))
        self.session: Session = self.gradebook.db()
        self._tried(lambda: enter_version(self.session))
        self._late = AssignLatePenalties(config=course.config)
        self._late.init_plugin()
        self._lessons: dict[str, Cells] = {}
        self._rows: dict[tuple[Any, ...], Any] = {}  # of the submissions at hand, by table and unique key

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *error: object) -> None:
        self.gradebook.close()

    def known(self) -> set[tuple[str, str]]:
        """(student, lesson) of every submission in the gradebook."""
        both = select(api.SubmittedAssignment.student_id, api.Assignment.name).join(api.Assignment)
        return {(student, name) for student, name in self._tried(lambda: self.session.execute(both).all())}

    def write(self, records: Sequence[Record]) -> None:
        """Record a group of submissions: all in one transaction, or one by one when another writer is in the way.

        Raises:
            RecordingError: locked, full or not there. Every record is then wholly in, or to be written again.
        """
        facts: list[Facts] = []
        try:
            facts = self._stored(records)
        except DBAPIError:
            self.session.rollback()
            facts = [self._tried(lambda r=record: self._stored([r]))[0] for record in records]  # type: ignore[misc]
        try:
            for record, fact in zip(records, facts, strict=True):
                self._write_files(record, fact)
        except OSError as error:
            raise RecordingError(f"{error.filename or 'a file'}: {error.strerror}. {_AGAIN}") from None

    def _tried(self, action: Callable[[], Any]) -> Any:
        """The result of a database action, tried again when it meets another writer."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return action()
            except SQLAlchemyError as error:
                if hasattr(self, "session"):
                    self.session.rollback()
                if attempt == ATTEMPTS:
                    raise RecordingError(f"the gradebook refuses: {_short(error)}. {_AGAIN}") from None
                time.sleep(0.05 * 2**attempt)
        raise AssertionError

    def _stored(self, records: Sequence[Record]) -> list[Facts]:
        for lesson in {record.lesson for record in records}:
            self._cells(lesson)
        with self.session.no_autoflush:
            self._load(records)
            facts = [self._store(record) for record in records]
        self.session.commit()
        self.session.expunge_all()
        return facts

    def _load(self, records: Sequence[Record]) -> None:
        """Read the rows of these submissions: a query a table, however many they are.

        By both columns of a unique key: the gradebook has no other index, and must not slow down as it fills.
        """
        self._rows = {}
        lessons = [self._lessons[record.lesson] for record in records]
        students = [record.student for record in records]
        self._fetch(api.Student, id=students)
        found = self._fetch(api.SubmittedAssignment, assignment_id=[c.assignment for c in lessons], student_id=students)
        found = self._fetch(api.SubmittedNotebook, notebook_id=[c.notebook for c in lessons], assignment_id=found)
        graded = [cell for c in lessons for cell, _ in c.graded.values()]
        self._fetch(api.Grade, cell_id=graded, notebook_id=found)
        self._fetch(api.Comment, cell_id=[cell for c in lessons for cell in c.solutions.values()], notebook_id=found)

    def _fetch(self, kind: Any, **keys: Sequence[str]) -> list[str]:
        """Load the rows of a table whose columns have one of the values; their ids."""
        query = select(kind).where(*(getattr(kind, column).in_(set(values)) for column, values in keys.items()))
        found = list(self.session.scalars(query)) if all(keys.values()) else []
        self._rows |= {(kind, *(getattr(row, column) for column in keys)): row for row in found}
        return [row.id for row in found]

    def _store(self, record: Record) -> Facts:
        """One submission's rows, as autograde leaves them; not yet committed."""
        cells = self._cells(record.lesson)
        self._one(api.Student, id=record.student)
        submission = self._submission(record, cells)
        nb = self._one(api.SubmittedNotebook, notebook_id=cells.notebook, assignment_id=submission.id)
        failed = record.graded.result.status == "failed"
        points = {f"check_{e.name}": e.points for e in record.graded.result.exercises}
        scores = {}
        for name, (cell, maximum) in cells.graded.items():
            grade = self._one(api.Grade, cell_id=cell, notebook_id=nb.id)
            grade.auto_score = min(max(points.get(name, 0.0), 0.0), maximum)
            grade.needs_manual_grade = grade.manual_score is not None or failed  # as SaveAutoGrades: look at it again
            human = grade.auto_score if grade.manual_score is None else grade.manual_score
            scores[name] = human + (grade.extra_credit or 0.0)
        comments = []
        for name, cell in cells.solutions.items():
            comment = self._one(api.Comment, cell_id=cell, notebook_id=nb.id)
            if name in record.graded.comments:
                comment.auto_comment = record.graded.comments[name]
                comments.append(comment.manual_comment if comment.manual_comment is not None else comment.auto_comment)
        nb.late_submission_penalty = self._penalty(record, submission, sum(scores.values()))
        maximum = sum(points for _, points in cells.graded.values())
        said = tuple(c for c in comments if c not in (None, "", UNANSWERED))
        return Facts(scores, said, maximum, nb.late_submission_penalty or 0.0)

    def _submission(self, record: Record, cells: Cells) -> Any:
        submission = self._one(api.SubmittedAssignment, assignment_id=cells.assignment, student_id=record.student)
        if record.timestamp:
            submission.timestamp = parse_utc(record.timestamp)
        return submission

    def _one(self, kind: Any, **key: str) -> Any:
        """The loaded row with this unique key, made where there is none."""
        place = (kind, *key.values())
        if place not in self._rows:
            self._rows[place] = kind(**{"id": api.new_uuid(), **key})
            self.session.add(self._rows[place])
        return self._rows[place]

    def _penalty(self, record: Record, submission: Any, score: float) -> float | None:
        """The late penalty by nbgrader's configured plugin, None for none."""
        place = (api.Assignment, submission.assignment_id)
        if place not in self._rows:  # held for the group: the session itself forgets it at once
            self._rows[place] = self.session.get(*place)
        due = self._rows[place].duedate if self._rows[place] is not None else None
        if due is None or submission.timestamp is None:
            return None
        due = due + submission.extension if submission.extension is not None else due
        late = max(0.0, (submission.timestamp - due).total_seconds())
        penalty = self._late.plugin_inst.late_submission_penalty(record.student, score, late) if late else None
        return None if penalty is None else float(self._late._check_late_penalty(SimpleNamespace(score=score), penalty))

    def _cells(self, lesson: str) -> Cells:
        if lesson not in self._lessons:
            self._lessons[lesson] = cells_of(self.session, self.course.course_id, lesson)
        return self._lessons[lesson]

    def _write_files(self, record: Record, facts: Facts) -> None:
        folder = self.course.autograded(record.student, record.lesson)
        copies = [(name, path.read_bytes()) for name, path in record.files]
        if self.feedback is not None:
            place = self.feedback / record.student / record.lesson
            write_whole(place / f"{record.lesson}.html", page(record.graded, facts).encode("utf-8", "replace"))
            for name, data in copies:
                write_whole(place / name, data)
        for name, data in copies:
            write_whole(folder / name, data, 0o444)
        write_whole(folder / f"{record.lesson}.ipynb", record.graded.notebook.encode("utf-8", "replace"), 0o444)


_AGAIN = "What was recorded stays; run the command again with --only-changed to go on"


def _short(error: SQLAlchemyError) -> str:
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]


def page(graded: Graded, facts: Facts) -> str:
    """The feedback page, as `grader.marks.feedback_of` makes it from an autograded notebook."""
    scored = tuple(replace(e, points=facts.scores.get(f"check_{e.name}", e.points)) for e in graded.result.exercises)
    total = sum(facts.scores.values()) - facts.penalty
    result = replace(
        graded.result, submission="", status="graded", points=total, max_points=facts.max_score, exercises=scored
    )
    late = [f"Late submission penalty: {render.points_text(facts.penalty)}"] if facts.penalty else []
    return render.feedback_html(result, graded.code, facts.comments, late)
