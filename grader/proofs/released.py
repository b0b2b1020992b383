"""Whether a lesson builds, and whether its released notebook is what its file gives: the cheap part of a build."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from grader.build import source_notebook
from grader.course import CourseError, solution_source
from grader.macros import lesson_files, title_of
from grader.proofs.model import Defect
from grader.proofs.places import reason

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"


def lesson_defect(exercise: str, lesson: str, root: Path) -> tuple[Defect | None, bool]:
    """What is off with the lesson of ``exercise``, and whether there is something to prove in spite of it."""
    source, released = solution_source(lesson, root), root / "notebooks" / lesson / f"{lesson}.ipynb"
    shown = f"notebooks/{lesson}/{lesson}.ipynb"
    if not source.exists():
        return Defect(exercise, f"its lesson solutions/{lesson}.py is missing"), False
    try:
        made = json.loads(source_notebook(source, {path.stem: title_of(path) for path in lesson_files(root)}))
    except Exception as error:  # noqa: BLE001 - whatever is wrong with the lesson's file
        text = f"its lesson does not build: {reason(error, root)}"
        named = isinstance(error, CourseError) and source.name in text
        return Defect(exercise, text, "" if named else f"solutions/{lesson}.py"), False
    if not released.exists():
        return Defect(exercise, f"{shown} is missing: run `grader build`"), False
    there = json.loads(released.read_text(encoding="utf-8"))["cells"]
    if len(there) != len(made["cells"]) or not all(map(_released_from, made["cells"], there)):
        return Defect(exercise, f"{shown} is not what solutions/ gives: run `grader build`"), True
    return None, True


def _released_from(made: dict[str, Any], there: dict[str, Any]) -> bool:
    """Whether a released cell comes from this one: nbgrader replaces solutions and adds to its metadata."""
    before, solution, rest = "".join(made["source"]).partition(BEGIN)
    text = "".join(there["source"])
    after = rest.rpartition(END)[2]
    same = text.startswith(before.rstrip()) and text.endswith(after.rstrip()) if solution else text == before
    mine, theirs = (dict(cell["metadata"].get("nbgrader", {})) for cell in (made, there))
    return bool(same and made["cell_type"] == there["cell_type"] and mine.items() <= theirs.items())
