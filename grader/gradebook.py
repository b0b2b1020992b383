"""nbgrader stays the system of record: our preprocessors for its autograde, our page for its feedback.

`Repair` gives a submitted notebook back what editors lost, so that nbgrader can file the marks. `Grade` takes the
place of the executing preprocessor: it grades in the sandbox and writes, under each graded cell, the report and the
points, which nbgrader reads as partial credit. `FeedbackExporter` renders `nbgrader generate_feedback`.
"""

from __future__ import annotations

import atexit
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_output
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Unicode

from grader import notebook, render, report
from grader.course import ROOT, CourseError, Lesson, defined_names, lesson
from grader.grading import Grader
from grader.magics import to_python
from grader.report import ExerciseResult, SubmissionResult
from grader.secret import secret_of

MIME = "application/vnd.preference-optimization-course.report+json"
_lock = threading.Lock()
_graders: dict[tuple[str, str], Grader] = {}


def shared_grader(secret: str, isolation: str) -> Grader:
    """One warm grader per process: formgrader's server keeps it between clicks."""
    key = (secret, isolation)
    if key not in _graders:
        _graders[key] = Grader(secret, isolation)
        atexit.register(_graders[key].__exit__)
    return _graders[key]


class Repair(NbGraderPreprocessor):  # type: ignore[misc]
    """Before nbgrader looks: metadata restored, duplicates and foreign ids dropped, missing graded cells put back."""

    def preprocess(self, nb: NotebookNode, resources: Mapping[str, Any]) -> tuple[NotebookNode, Mapping[str, Any]]:
        """The repaired notebook."""
        repair(nb, lesson(resources["nbgrader"]["assignment"]), templates(resources["nbgrader"]["assignment"]))
        return nb, resources


class Grade(NbGraderPreprocessor):  # type: ignore[misc]
    """Grades a notebook in the sandbox and writes the marks where nbgrader reads them."""

    isolation = Unicode("confined", help="'confined', or 'process' to accept less knowingly").tag(config=True)
    secret = Unicode("", help="course secret; empty: GRADER_SECRET, else .grader/secret").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Mapping[str, Any]) -> tuple[NotebookNode, Mapping[str, Any]]:
        """The notebook with reports and points under its graded cells."""
        name = resources["nbgrader"]["assignment"]
        data = json.dumps(nb).encode()
        with _lock:
            grader = shared_grader(secret_of(self.secret), self.isolation)
            result = grader.grade(notebook.loads(data, f"{resources['nbgrader']['notebook']}.ipynb", name))
        write_marks(nb, result)
        return nb, resources


def templates(name: str, root: Path = ROOT) -> dict[str, NotebookNode]:
    """Our released code cells by grade_id, as notebook cells."""
    path = root / "notebooks" / name / f"{name}.ipynb"
    if not path.exists():
        raise CourseError(f"{path} is missing: run `grader build` first")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    marked = [cell for cell in cells if "nbgrader" in cell["metadata"]]
    found = {}
    for cell in marked:
        source = "".join(cell["source"])
        found[cell["metadata"]["nbgrader"]["grade_id"]] = new_code_cell(source, metadata=cell["metadata"], id=cell["id"])
    return found


def repair(nb: NotebookNode, chosen: Lesson, ours: Mapping[str, NotebookNode]) -> None:
    """Give the cells of ``nb`` their nbgrader metadata back, in place; see `Repair`."""
    by_text = {cell.source.strip(): grade_id for grade_id, cell in ours.items()}
    seen: set[str] = set()
    for cell in reversed(nb.cells):  # of duplicates the last keeps the id, as in nbgrader
        grade_id = _identity(cell, chosen, ours, by_text)
        cell.metadata.pop("nbgrader", None)
        if grade_id and grade_id not in seen:
            seen.add(grade_id)
            cell.metadata["nbgrader"] = dict(ours[grade_id].metadata["nbgrader"])
    for grade_id, cell in ours.items():
        if grade_id not in seen and cell.metadata["nbgrader"]["grade"]:
            nb.cells.append(cell)
    nb.nbformat, nb.nbformat_minor = 4, 5
    for number, cell in enumerate(nb.cells):
        cell["id"] = f"cell-{number}"  # duplicated cells bring duplicated ids


def _identity(cell: NotebookNode, chosen: Lesson, ours: Mapping[str, NotebookNode], by_text: Mapping[str, str]) -> str:
    """The grade_id of a submitted cell: its own when it is one of ours, else by its text or the function it defines."""
    own = notebook.grade_id_of(cell)
    if own in ours:
        return own
    source = notebook.source_of(cell)
    if source.strip() in by_text:
        return by_text[source.strip()]
    if cell.cell_type == "code":
        defined = set(defined_names(to_python(source)))
        return next((e.name for e in chosen.exercises if e.name in defined), "")
    return ""


def write_marks(nb: NotebookNode, result: SubmissionResult) -> None:
    """Clear stale outputs; put each exercise's report and its points, clamped to 0..max, under its graded cell."""
    by_cell = {f"check_{exercise.name}": exercise for exercise in result.exercises}
    for cell in nb.cells:
        if cell.cell_type != "code":
            continue
        cell.outputs, cell.execution_count = [], None
        exercise = by_cell.get(notebook.grade_id_of(cell))
        if exercise is not None:
            maximum = float(cell.metadata["nbgrader"]["points"])
            cell.outputs = outputs_of(exercise, min(max(exercise.points, 0.0), maximum))
    nb.metadata["grader"] = {
        "assignment": result.assignment,
        "problems": list(result.problems),
        "receipt": dict(result.receipt),
        "points": result.points,
        "max_points": result.max_points,
    }


def outputs_of(exercise: ExerciseResult, points: float) -> list[NotebookNode]:
    """The outputs of a graded cell: the report for people, its data, and the points for nbgrader."""
    alone = SubmissionResult("", "", "graded", exercises=(exercise,))
    data = {
        "text/html": render.report_html(exercise),
        "text/plain": f"{exercise.name}: {render.points_text(points)} / {render.points_text(exercise.max_points)}",
        MIME: report.to_json([alone])["results"][0]["exercises"][0],
    }
    return [
        new_output("display_data", data=data),
        new_output("execute_result", data={"text/plain": repr(float(points))}, execution_count=None),
    ]


class FeedbackExporter(HTMLExporter):  # type: ignore[misc]
    """The feedback page of an autograded notebook, with scores and comments as the gradebook has them."""

    def from_notebook_node(
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **kwargs: Any
    ) -> tuple[str, dict[str, Any]]:
        """The page and the resources; nbgrader's preprocessors have put scores and comments into ``nb``."""
        nb, resources = self._preprocess(nb, self._init_resources(resources))
        facts = resources["nbgrader"]
        page = feedback_of(nb, facts["score"], facts["max_score"], facts["late_penalty"])
        return page, resources


def feedback_of(nb: NotebookNode, score: float, max_score: float, late_penalty: float = 0.0) -> str:
    """The feedback page of an autograded notebook."""
    noted = nb.metadata.get("grader", {})
    exercises, comments, code = [], [], {}
    for cell in nb.cells:
        meta = cell.metadata.get("nbgrader", {})
        exercises += [_reported(output, meta) for output in cell.get("outputs", []) if MIME in output.get("data", {})]
        if meta.get("comment"):
            comments.append(str(meta["comment"]))
        if meta.get("solution"):
            code[meta["grade_id"]] = cell.source
    result = SubmissionResult(
        "", noted.get("assignment", ""), "graded", score, max_score,
        tuple(noted.get("problems", ())), tuple(exercises), noted.get("receipt", {}),
    )  # fmt: skip
    late = [f"Late submission penalty: {render.points_text(late_penalty)}"] if late_penalty else []
    return render.feedback_html(result, code, comments, late)


def _reported(output: Mapping[str, Any], meta: Mapping[str, Any]) -> ExerciseResult:
    """The exercise in a graded cell's output, with the score that counts now (a human may have changed it)."""
    node = dict(output["data"][MIME], points=meta.get("score", output["data"][MIME]["points"]))
    whole = {"submission": "", "assignment": "", "status": "graded", "problems": [], "exercises": [node]}
    return report.from_json(whole).exercises[0]
