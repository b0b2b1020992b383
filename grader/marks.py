"""A submitted notebook becomes a marked one: metadata repaired, reports and points under the graded cells.

Pure functions on a notebook's JSON, shared by nbgrader's autograde (`grader.gradebook`) and the batch path
(`grader.batch`), so that both leave the same notebook and the same feedback page. A notebook here is a plain dict or
nbformat's own kind of dict.
"""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader import notebook, render, report
from grader.course import ROOT, CourseError, Lesson, defined_names
from grader.magics import to_python
from grader.report import ExerciseResult, SubmissionResult

UNANSWERED = "No response."  # what nbgrader puts beside an untouched stub
MIME = "application/vnd.preference-optimization-course.report+json"
Node = dict[str, Any]


@functools.cache
def released(name: str, root: Path = ROOT) -> Node:
    """The lesson's notebook as released. CourseError where it is not built."""
    path = root / "notebooks" / name / f"{name}.ipynb"
    if not path.exists():
        raise CourseError(f"{path} is missing: run `grader build` first")
    found: Node = json.loads(path.read_text(encoding="utf-8"))
    return found


@functools.cache
def templates(name: str, root: Path = ROOT) -> Mapping[str, Node]:
    """Our released code cells by grade_id. Copy one before you change it."""
    cells = [dict(cell, source="".join(cell["source"])) for cell in released(name, root)["cells"]]
    return {cell["metadata"]["nbgrader"]["grade_id"]: cell for cell in cells if "nbgrader" in cell["metadata"]}


def repair(nb: Node, chosen: Lesson, ours: Mapping[str, Node]) -> None:
    """Metadata restored, duplicates and foreign ids dropped, missing graded cells put back; in place."""
    by_text = {cell["source"].strip(): grade_id for grade_id, cell in ours.items()}
    seen: set[str] = set()
    for cell in reversed(nb["cells"]):  # of duplicates the last keeps the id, as in nbgrader
        grade_id = _identity(cell, chosen, ours, by_text)
        cell["metadata"].pop("nbgrader", None)
        if grade_id and grade_id not in seen:
            seen.add(grade_id)
            cell["metadata"]["nbgrader"] = dict(ours[grade_id]["metadata"]["nbgrader"])
    for grade_id, cell in ours.items():
        if grade_id not in seen and cell["metadata"]["nbgrader"]["grade"]:
            nb["cells"].append(copy.deepcopy(cell))
    nb["nbformat"], nb["nbformat_minor"] = 4, 5
    for number, cell in enumerate(nb["cells"]):
        cell["id"] = f"cell-{number}"  # duplicated cells bring duplicated ids


def _identity(cell: Node, chosen: Lesson, ours: Mapping[str, Node], by_text: Mapping[str, str]) -> str:
    """The grade_id of a submitted cell: its own when it is one of ours, else by its text or the function it defines."""
    own = notebook.grade_id_of(cell)
    if own in ours:
        return own
    source = notebook.source_of(cell)
    if source.strip() in by_text:
        return by_text[source.strip()]
    if cell["cell_type"] == "code":
        defined = set(defined_names(to_python(source)))
        return next((e.name for e in chosen.exercises if e.name in defined), "")
    return ""


def restore(nb: Node, ours: Mapping[str, Node]) -> None:
    """What nbgrader's OverwriteCells does after `repair`: our cells get our type, locked ones our text; in place."""
    for cell in nb["cells"]:
        template = ours.get(notebook.grade_id_of(cell))
        if template is not None:
            cell["cell_type"] = template["cell_type"]
            cell.pop("attachments", None)
            if not template["metadata"]["nbgrader"]["solution"]:
                cell["source"] = template["source"]
        if cell["cell_type"] != "code":
            cell.pop("outputs", None)
            cell.pop("execution_count", None)


def write_marks(nb: Node, result: SubmissionResult) -> None:
    """Clear stale outputs; put each exercise's report and its points, clamped to 0..max, under its graded cell."""
    by_cell = {f"check_{exercise.name}": exercise for exercise in result.exercises}
    for cell in nb["cells"]:
        if cell["cell_type"] != "code":
            continue
        cell["outputs"], cell["execution_count"] = [], None
        meta = cell["metadata"].get("nbgrader", {})
        if meta.get("grade"):
            maximum = float(meta["points"])
            exercise = by_cell.get(meta["grade_id"])
            points = min(max(exercise.points, 0.0), maximum) if exercise else 0.0  # a NaN would become full marks
            cell["outputs"] = outputs_of(exercise, points)
    nb["metadata"]["grader"] = {
        "assignment": result.assignment,
        "problems": list(result.problems),
        "receipt": dict(result.receipt),
        "points": result.points,
        "max_points": result.max_points,
    }


def outputs_of(exercise: ExerciseResult | None, points: float) -> list[Node]:
    """The outputs of a graded cell: the report for people, its data, and the points for nbgrader."""
    shown = []
    if exercise is not None:
        data = {
            "text/html": render.report_html(exercise),
            "text/plain": f"{exercise.name}: {render.points_text(points)} / {render.points_text(exercise.max_points)}",
            MIME: report.exercise_node(exercise),
        }
        shown = [{"output_type": "display_data", "data": data, "metadata": {}}]
    said = {"text/plain": repr(float(points))}
    return [*shown, {"output_type": "execute_result", "data": said, "execution_count": None, "metadata": {}}]


def feedback_of(nb: Node, score: float, max_score: float, late_penalty: float = 0.0) -> str:
    """The feedback page of a marked notebook; scores and comments are where GetGrades puts them."""
    noted = nb["metadata"].get("grader", {})
    exercises: list[ExerciseResult] = []
    comments: list[str] = []
    code: dict[str, str] = {}
    for cell in nb["cells"]:
        meta = cell["metadata"].get("nbgrader", {})
        exercises += [_reported(output) for output in cell.get("outputs", []) if MIME in output.get("data", {})]
        if "score" in meta and exercises and meta["grade_id"] == f"check_{exercises[-1].name}":
            exercises[-1] = replace(exercises[-1], points=meta["score"])  # a human may have changed it
        if meta.get("comment") not in (None, "", UNANSWERED):  # the report says so, and optional cells need no answer
            comments.append(str(meta["comment"]))
        if meta.get("solution"):
            code[meta["grade_id"]] = notebook.source_of(cell)
    result = SubmissionResult(
        "", noted.get("assignment", ""), "graded", score, max_score,
        tuple(noted.get("problems", ())), tuple(exercises), noted.get("receipt", {}),
    )  # fmt: skip
    late = [f"Late submission penalty: {render.points_text(late_penalty)}"] if late_penalty else []
    return render.feedback_html(result, code, comments, late)


def _reported(output: Mapping[str, Any]) -> ExerciseResult:
    """The exercise in a graded cell's output."""
    whole = {
        "submission": "",
        "assignment": "",
        "status": "graded",
        "problems": [],
        "exercises": [output["data"][MIME]],
    }
    return report.from_json(whole).exercises[0]


def marked(data: bytes, name: str, chosen: Lesson, result: SubmissionResult) -> Node:
    """The submission ``data`` as nbgrader's autograde would leave it: repaired, restored, marked.

    A .py becomes a notebook of one cell; what is no notebook at all becomes one that holds our graded cells.
    """
    ours = templates(chosen.name)
    nb: Node = {"cells": [], "metadata": {}}
    for cell in _cells(data, name):
        kind = cell.get("cell_type")
        metadata = cell.get("metadata")
        kept: Node = {"cell_type": kind if kind in ("code", "markdown") else "raw", "id": ""}
        kept |= {"metadata": metadata if isinstance(metadata, dict) else {}, "source": notebook.source_of(cell)}
        if kind != "code" and isinstance(cell.get("attachments"), dict):
            kept["attachments"] = cell["attachments"]
        nb["cells"].append(kept)
    repair(nb, chosen, ours)
    restore(nb, ours)
    kernel = released(chosen.name)["metadata"]
    nb["metadata"] = {key: kernel[key] for key in ("kernelspec", "language_info") if key in kernel}
    write_marks(nb, result)
    return nb


def _cells(data: bytes, name: str) -> list[Node]:
    text = data.decode("utf-8-sig", errors="replace")
    if name.endswith(".py"):
        return list(wrapped(text)["cells"])
    try:
        return [cell for cell in notebook.notebook_json(text, name)["cells"] if isinstance(cell, dict)]
    except notebook.SubmissionError:
        return []


def wrapped(text: str) -> Node:
    """A script as a notebook, which nbgrader can grade: a cell for each of its cells, or statements."""
    sources = [cell.source.strip("\n") for cell in notebook.script_cells(text)]
    cells: list[Node] = [
        {
            "cell_type": "code",
            "id": f"cell-{number}",
            "metadata": {},
            "source": source,
            "outputs": [],
            "execution_count": None,
        }
        for number, source in enumerate(sources)
    ]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def unanswered(nb: Node, ours: Mapping[str, Node]) -> dict[str, str | None]:
    """grade_id of each solution cell -> nbgrader's automatic comment: "No response." where the stub is untouched."""
    found: dict[str, str | None] = {}
    for cell in nb["cells"]:
        grade_id = notebook.grade_id_of(cell)
        if grade_id in ours and ours[grade_id]["metadata"]["nbgrader"]["solution"]:
            found[grade_id] = UNANSWERED if cell["source"] == ours[grade_id]["source"] else None
    return found
