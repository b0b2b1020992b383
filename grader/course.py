"""The course as the grader sees it: lessons with their cells and points, from `notebooks/`, and the references.

Points stand once, in a lesson's graded cell; this module reads them from there.
"""

from __future__ import annotations

import ast
import functools
import importlib
import json
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.exercise import Exercise

ROOT = Path(__file__).resolve().parents[1]


class CourseError(Exception):
    """The course on disk is not as the grader needs it; the message says what to do."""


@dataclass(frozen=True)
class TemplateCell:
    """A code cell of ours. ``role``: setup, locked, solution or graded."""

    grade_id: str
    role: str
    source: str
    points: float = 0.0


@dataclass(frozen=True)
class Lesson:
    """A lesson: its graded exercises in order, its own code cells, points per exercise."""

    name: str
    exercises: tuple[Exercise, ...]
    cells: tuple[TemplateCell, ...]

    @property
    def setup(self) -> str:
        """The source of the setup cell."""
        return next((cell.source for cell in self.cells if cell.role == "setup"), "")

    def points(self, function: str) -> float:
        """Points of an exercise, from its graded cell; CourseError where the lesson has no such cell."""
        for cell in self.cells:
            if cell.role == "graded" and cell.grade_id == f"check_{function}":
                return cell.points
        raise CourseError(f"{self.name} has no graded cell check_{function}")

    def cell(self, grade_id: str) -> TemplateCell | None:
        """Our cell with this nbgrader id, or None."""
        return next((cell for cell in self.cells if cell.grade_id == grade_id), None)


@functools.cache
def exercises() -> dict[str, Exercise]:
    """Every exercise of the course by function name, in course order."""
    import grader.lessons

    modules = [
        importlib.import_module(f"grader.lessons.{m.name}") for m in pkgutil.iter_modules(grader.lessons.__path__)
    ]
    ordered = sorted((m for m in modules if hasattr(m, "EXERCISES")), key=lambda m: str(m.LESSON))
    return {exercise.name: exercise for module in ordered for exercise in module.EXERCISES}


@functools.cache
def graded_lessons() -> tuple[str, ...]:
    """Names of the lessons with graded exercises, in order."""
    return tuple(dict.fromkeys(exercise.lesson for exercise in exercises().values()))


@functools.cache
def ungraded_lessons(root: Path = ROOT) -> frozenset[str]:
    """Names of released lessons without graded exercises."""
    return frozenset(p.stem for p in (root / "notebooks").glob("*/*.ipynb")) - set(graded_lessons())


@functools.cache
def lesson(name: str, root: Path = ROOT) -> Lesson:
    """The lesson ``name`` as released in ``notebooks/``. CourseError where it is unknown or not built."""
    mine = tuple(e for e in exercises().values() if e.lesson == name)
    path = root / "notebooks" / name / f"{name}.ipynb"
    if not mine:
        raise CourseError(f"unknown assignment {name!r}; the course has {', '.join(graded_lessons())}")
    if not path.exists():
        raise CourseError(f"{path} is missing: run `grader build` first")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return Lesson(name, mine, tuple(c for cell in cells if (c := template_cell(cell))))


def template_cell(cell: dict[str, Any]) -> TemplateCell | None:
    """Our code cell as a `TemplateCell`; None for a cell without nbgrader metadata."""
    meta = cell.get("metadata", {}).get("nbgrader")
    if cell.get("cell_type") != "code" or not meta:
        return None
    source = "".join(cell["source"])
    grade_id = str(meta["grade_id"])
    role = "graded" if meta["grade"] else "solution" if meta["solution"] else "locked"
    return TemplateCell(grade_id, "setup" if grade_id == "setup" else role, source, float(meta.get("points") or 0))


@functools.lru_cache(1024)  # our own cells come back with every submission
def defined_names(source: str) -> Sequence[str]:
    """Names a cell binds at its top level: functions, classes, assignments, imports. Empty when it does not parse."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(name for node in body for name in bound_names(node))


def bound_names(node: ast.stmt) -> list[str]:
    """Names one top-level statement binds."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).split(".")[0] for alias in node.names]
    found: list[str] = []
    for inner in ast.walk(node):  # also what an `if` or `try` binds
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            found.append(inner.id)
        elif isinstance(inner, ast.FunctionDef | ast.ClassDef):
            found.append(inner.name)
        elif isinstance(inner, ast.Import | ast.ImportFrom):
            found += bound_names(inner)
    return found


def solution_source(name: str, root: Path = ROOT) -> Path:
    """The percent file of a lesson."""
    return root / "solutions" / f"{name}.py"
