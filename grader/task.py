"""Grading as a function of bytes: what a worker is told of a submission, and what it answers.

The same function runs in this process, in local worker processes and on a cluster: a task holds no path and no
secret, and an answer is plain data.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from grader import marks
from grader.config import feedback
from grader.course import CourseError, Lesson, graded_lessons, lesson
from grader.grading import Grader
from grader.notebook import SubmissionError, grade_id_of, loads
from grader.receipt import receipt
from grader.report import SubmissionResult, failed, from_json
from grader.sandbox.client import SandboxError, WorkerGone


@dataclass(frozen=True)
class Settings:
    """What every worker of a batch needs to know."""

    secret: str
    isolation: str = "confined"
    disclosure: str = field(default_factory=feedback)


@dataclass(frozen=True)
class Task:
    """What a worker is told of a submission: bytes, and names to show. ``marked``: also as a marked notebook."""

    data: bytes
    name: str
    assignment: str
    shown_as: str
    timestamp: str = ""
    marked: bool = False
    problem: str = ""

    @property
    def digest(self) -> str:
        """The hash of the submission in its receipt."""
        return hashlib.sha256(self.data).hexdigest()[:16]


@dataclass(frozen=True)
class Graded:
    """What a worker answers. ``notebook`` is the marked notebook as text, empty where nothing is to be recorded.

    ``comments``: grade_id of each solution cell -> nbgrader's automatic comment. ``code``: grade_id -> its text.
    """

    result: SubmissionResult
    notebook: str = ""
    comments: Mapping[str, str | None] = field(default_factory=dict)
    code: Mapping[str, str] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """This answer in JSON's types."""
        return asdict(self)

    @classmethod
    def from_plain(cls, node: Mapping[str, Any]) -> Graded:
        """The answer that `plain` gave."""
        return cls(**{**node, "result": from_json(node["result"])})


def grade_task(grader: Grader, task: Task) -> Graded:
    """One submission, graded. Raises SandboxError alone: this machine cannot grade, and the next would meet it too."""
    try:
        if task.problem:
            raise SubmissionError(task.problem)
        return _graded(grader, task)
    except (SubmissionError, CourseError) as error:
        return ungradable(task, str(error), Settings(grader.secret, grader.isolation, grader.disclosure))
    except WorkerGone:
        return lost(task, Settings(grader.secret, grader.isolation, grader.disclosure))
    except SandboxError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a submission finds in us, it does not stop the others
        said = f"the grader failed on this submission ({type(error).__name__}); please report it, with the file"
        return Graded(failed(task.shown_as, task.assignment, said))


def _graded(grader: Grader, task: Task) -> Graded:
    data, name = task.data, task.name
    if task.marked and name.endswith(".py"):  # as nbgrader would see it
        made = marks.wrapped(data.decode("utf-8-sig", errors="replace"))
        data, name = json.dumps(made).encode(), f"{name.removesuffix('.py')}.ipynb"
    submission = loads(data, name, task.assignment, task.shown_as)
    result = grader.grade(submission)
    noted = {**result.receipt, "submission": task.digest, "timestamp": task.timestamp}
    result = replace(result, receipt=noted)
    return _marked(task, result, submission.lesson) if task.marked else Graded(result)


def ungradable(task: Task, problem: str, settings: Settings) -> Graded:
    """A submission that cannot be graded: 0 points, and a notebook of our graded cells for a human to look at."""
    result = failed(task.shown_as, task.assignment, problem)
    if task.assignment not in graded_lessons():
        return Graded(result)
    noted = receipt(task.assignment, settings.secret, settings.isolation, settings.disclosure)
    noted |= {"submission": task.digest, "timestamp": task.timestamp}
    result = replace(result, receipt=noted)
    return _marked(task, result, lesson(task.assignment)) if task.marked else Graded(result)


def lost(task: Task, settings: Settings) -> Graded:
    """A submission that ended two workers: graded as failed."""
    return ungradable(task, "grading it ended the worker twice; look at it by hand", settings)


def _marked(task: Task, result: SubmissionResult, chosen: Lesson) -> Graded:
    nb = marks.marked(task.data, task.name, chosen, result)
    comments = marks.unanswered(nb, marks.templates(chosen.name))
    code = {grade_id_of(cell): cell["source"] for cell in nb["cells"]}
    text = json.dumps(nb, ensure_ascii=False)  # on one line: json is ten times as quick then
    return Graded(result, text, comments, {name: code[name] for name in comments})
