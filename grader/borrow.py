"""Take a function from the learner's own notebook of an earlier lesson, for use in the capstone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grader.course import exercises


def borrow(name: str, folder: Path | None = None) -> Callable[..., Any]:
    """The learner's ``name`` from its lesson's notebook beside this one.

    Where the notebook is missing, or the exercise is not attempted or broken, a function that raises
    NotImplementedError saying which lesson to do first.
    """
    exercise = exercises().get(name)
    if exercise is None:
        raise ValueError(f"borrow knows no exercise {name!r}; it knows {', '.join(exercises())}")
    path = _notebook(exercise.lesson, folder or Path.cwd())
    found = _defined(path).get(name) if path else None
    return found if callable(found) else _missing(name, exercise.lesson)


def _notebook(lesson: str, folder: Path) -> Path | None:
    places = [folder / f"{lesson}.ipynb", folder.parent / lesson / f"{lesson}.ipynb", folder / lesson / f"{lesson}.ipynb"]
    return next((place for place in places if place.exists()), None)


def _defined(path: Path) -> dict[str, Any]:
    """Names that the setup and answer cells of a notebook define. It is the learner's own code, run in their kernel."""
    names: dict[str, Any] = {"__name__": path.stem}
    for cell in json.loads(path.read_text(encoding="utf-8")).get("cells", []):
        meta = cell.get("metadata", {}).get("nbgrader", {})
        if cell.get("cell_type") == "code" and (meta.get("solution") or meta.get("grade_id") == "setup"):
            try:
                exec(compile("".join(cell["source"]), str(path), "exec"), names)
            except Exception:  # a broken cell of another exercise is no reason to lose this one
                continue
    return names


def _missing(name: str, lesson: str) -> Callable[..., Any]:
    def stand_in(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"`{name}` comes from lesson {lesson}: solve it there first, then restart this notebook")

    stand_in.__name__ = name
    return stand_in
