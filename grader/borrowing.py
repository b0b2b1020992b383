"""Take a function from the learner's own notebook of an earlier lesson, for use in the capstone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from grader.course import defined_names, exercises
from grader.magics import to_python
from grader.notebook import SubmissionError, code_cells, notebook_json
from grader.sandbox.calls import definitions


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
    places = [
        folder / f"{lesson}.ipynb",
        folder.parent / lesson / f"{lesson}.ipynb",
        folder / lesson / f"{lesson}.ipynb",
    ]
    return next((place for place in places if place.exists()), None)


def _defined(path: Path) -> dict[str, Any]:
    """Names that the setup and answer cells of a notebook define. It is the learner's own code, run in their kernel."""
    names: dict[str, Any] = {"__name__": path.stem}
    for source in _wanted(path):
        try:
            exec(compile(source, str(path), "exec"), names)
        except (Exception, SystemExit):  # noqa: BLE001 - a broken cell of another exercise is no reason to lose this one
            continue
    return names


def _wanted(path: Path) -> Iterator[str]:
    """What to run of a notebook: setup and answers whole, of the learner's other cells the definitions; no pictures."""
    try:
        cells = code_cells(notebook_json(path.read_text(encoding="utf-8-sig", errors="replace"), path.name))
    except (OSError, SubmissionError):
        return
    for cell in cells:
        source = to_python(cell.source)
        if cell.grade_id == "setup" or exercises().keys() & set(defined_names(source)):
            yield source
        elif "@picture" not in source and not cell.grade_id.startswith(("figure_", "demo_", "check_")):
            yield definitions(source)


def _missing(name: str, lesson: str) -> Callable[..., Any]:
    def stand_in(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"`{name}` comes from lesson {lesson}: solve it there first, then restart this notebook"
        )

    stand_in.__name__ = name
    return stand_in
