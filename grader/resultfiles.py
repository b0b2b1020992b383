"""Stored results, wherever they are: the JSON of `grader grade`, or a gradebook with its autograded notebooks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader import report
from grader.report import ExerciseResult, SubmissionResult


class ResultsError(ValueError):
    """A file that holds no results; the message is one line."""


def read_results(path: Path) -> Iterator[SubmissionResult]:
    """The results in ``path``: a JSON file of `grader grade`, a ``gradebook.db``, or the folder of a course."""
    if path.is_dir() or path.suffix == ".db":
        yield from _of_course(path if path.is_dir() else path.parent, path / "gradebook.db" if path.is_dir() else path)
        return
    try:
        node = json.loads(path.read_text(encoding="utf-8"))
        if node.get("schema") != report.SCHEMA:
            raise ResultsError(f"{path.name}: results of another version of the grader; grade again")
        yield from [report.from_json(entry) for entry in node["results"]]
    except (OSError, UnicodeDecodeError, json.JSONDecodeError):
        raise ResultsError(f"{path.name}: no JSON; give what `grader grade --json` wrote, or a gradebook.db") from None
    except (KeyError, TypeError, AttributeError):
        raise ResultsError(f"{path.name}: JSON, but no results of `grader grade --json`") from None


def _of_course(folder: Path, database: Path) -> Iterator[SubmissionResult]:
    """What autograding left in ``folder/autograded``, with the scores that the gradebook has now."""
    notebooks = sorted((folder / "autograded").glob("*/*/*.ipynb"))
    if not notebooks:
        raise ResultsError(f"{folder / 'autograded'} holds no autograded notebook: give the JSON of `grader grade`")
    scores = _scores(database) if database.exists() else {}
    for path in notebooks:
        student, assignment = path.parts[-3], path.parts[-2]
        yield _autograded(path, folder, assignment, scores.get((student, assignment), {}))


def _scores(database: Path) -> dict[tuple[str, str], dict[str, float]]:
    """(student, assignment) -> graded cell -> score, a human's included."""
    from nbgrader.api import Gradebook

    found: dict[tuple[str, str], dict[str, float]] = {}
    with Gradebook(f"sqlite:///{database}") as book:
        for assignment in book.assignments:
            for submission in book.assignment_submissions(assignment.name):
                cells = {g.cell.name: float(g.score) for n in submission.notebooks for g in n.grades}
                found[submission.student.id, assignment.name] = cells
    return found


def _autograded(path: Path, folder: Path, assignment: str, scores: Mapping[str, float]) -> SubmissionResult:
    """The result in an autograded notebook: the reports under its graded cells."""
    shown = str(folder / "submitted" / path.relative_to(folder / "autograded"))
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        noted = notebook["metadata"].get("grader", {})
        exercises = tuple(_rescored(e, scores) for cell in notebook["cells"] if (e := _report_in(cell)))
    except (OSError, ValueError, KeyError, TypeError):
        return report.failed(shown, assignment, "its autograded notebook cannot be read")
    points, maximum = sum(e.points for e in exercises), sum(e.max_points for e in exercises)
    problems = tuple(map(str, noted.get("problems", ())))
    return SubmissionResult(shown, assignment, "graded", points, maximum, problems, exercises, noted.get("receipt", {}))


def _report_in(cell: Mapping[str, Any]) -> ExerciseResult | None:
    """The exercise report in a cell's outputs, or None."""
    from grader.marks import MIME

    for output in cell.get("outputs", []):
        if node := output.get("data", {}).get(MIME):
            whole = {"submission": "", "assignment": "", "status": "graded", "problems": [], "exercises": [node]}
            return report.from_json(whole).exercises[0]
    return None


def _rescored(exercise: ExerciseResult, scores: Mapping[str, float]) -> ExerciseResult:
    return replace(exercise, points=scores.get(f"check_{exercise.name}", exercise.points))
