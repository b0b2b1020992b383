"""A lesson's rows in nbgrader's gradebook, entered where `nbgrader generate_assignment` has not done so."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from nbgrader import api
from sqlalchemy import inspect, select, text
from sqlalchemy.orm import Session

from grader.marks import released, templates


@dataclass(frozen=True)
class Cells:
    """A lesson in the gradebook: ids of its rows. ``graded``: name -> (id, points); ``solutions``: name -> id."""

    assignment: str
    notebook: str
    graded: dict[str, tuple[str, float]]
    solutions: dict[str, str]


def enter_version(session: Session) -> None:
    """Enter the version of the tables where their maker was ended before that, or nbgrader asks for an upgrade."""
    if not inspect(session.connection()).has_table("alembic_version"):
        session.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
        insert = text("INSERT INTO alembic_version (version_num) VALUES (:version)")
        session.execute(insert, {"version": api.get_alembic_version()})
    session.commit()


def cells_of(session: Session, course: str, lesson: str) -> Cells:
    """The lesson's rows; entered from the released notebook when there are none."""
    by_name = (
        select(api.Notebook).join(api.Assignment).where(api.Assignment.name == lesson, api.Notebook.name == lesson)
    )
    notebook = session.scalars(by_name).one_or_none() or _enter(session, course, lesson)
    order = {name: number for number, name in enumerate(templates(lesson))}
    solutions = sorted(notebook.solution_cells, key=lambda cell: order.get(cell.name, len(order)))
    graded = {cell.name: (cell.id, float(cell.max_score)) for cell in notebook.grade_cells}
    return Cells(notebook.assignment_id, notebook.id, graded, {cell.name: cell.id for cell in solutions})


def _enter(session: Session, course: str, lesson: str) -> Any:
    """Enter a lesson as generate_assignment does, in one transaction: nobody sees half of it."""
    found = session.scalars(select(api.Assignment).where(api.Assignment.name == lesson)).one_or_none()
    assignment = found or api.Assignment(name=lesson, course_id=course)
    kernel = json.dumps(released(lesson)["metadata"].get("kernelspec", {}))
    notebook = api.Notebook(name=lesson, assignment=assignment, kernelspec=kernel)
    session.add(notebook)
    for name, cell in templates(lesson).items():
        meta = cell["metadata"]["nbgrader"]
        kind = cell["cell_type"]
        if meta["grade"]:
            session.add(api.GradeCell(name=name, notebook=notebook, max_score=float(meta["points"]), cell_type=kind))
        if meta["solution"]:
            session.add(api.SolutionCell(name=name, notebook=notebook))
        text_of = {"source": cell["source"], "checksum": meta.get("checksum")}
        session.add(api.SourceCell(name=name, notebook=notebook, cell_type=kind, locked=meta["locked"], **text_of))
    session.commit()
    return notebook
