"""`grader demo`: a sample class through the real nbgrader: gradebook, autograded notebooks, feedback, CSV."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import time
import warnings
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader import sample
from grader.build import venv_first, write_sources
from grader.classroom import ingest as wrap
from grader.course import ROOT, graded_lessons

if TYPE_CHECKING:
    from nbgrader.apps import NbGraderAPI

SECRET = "demo"


def run_demo(folder: Path, isolation: str = "confined") -> None:
    """Make the class in ``folder``, grade it, write feedback and ``grades.csv``, print the table."""
    warnings.filterwarnings("ignore", message="Object of type .* not in session")  # nbgrader's, harmless
    started, shown, folder = time.monotonic(), folder, folder.resolve()
    venv_first()
    os.environ["GRADER_SECRET"] = SECRET
    new_course(folder)
    students = list(sample.sample_class())
    for student in students:
        ingest(sample.write(student, folder / "submitted"))
    click.echo(f"{len(students)} submissions in {shown / 'submitted'}")
    with chdir(folder):
        api = course_api(folder, isolation)
        grade_class(api, students)
        export(folder, folder.resolve() / "grades.csv")
    print_gradebook(api, students)
    click.echo(f"feedback  {shown}/feedback/STUDENT/LESSON/LESSON.html\nmarks     {shown}/grades.csv")
    click.echo(f"gradebook {shown}/gradebook.db (look at it with `nbgrader formgrader` from there)")
    click.echo(f"{time.monotonic() - started:.0f} seconds")


def new_course(folder: Path) -> None:
    """An nbgrader course directory in ``folder``: our configuration and sources, no submissions, an empty gradebook."""
    for name in ("submitted", "autograded", "feedback"):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / "gradebook.db").unlink(missing_ok=True)
    write_sources(ROOT, folder / "build" / "source")
    shutil.copy(ROOT / "nbgrader_config.py", folder / "nbgrader_config.py")


def ingest(path: Path) -> Path:
    """Wrap a submitted .py into a notebook beside it, since nbgrader grades notebooks only; the original stays."""
    if path.suffix != ".py":
        return path
    wrapped = path.with_suffix(".ipynb")
    wrap(path, wrapped.name)
    return wrapped


def course_api(folder: Path, isolation: str) -> NbGraderAPI:
    """nbgrader's own API on the course in ``folder``, with its configuration file."""
    from nbgrader.apps import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config.loader import PyFileConfigLoader

    config = PyFileConfigLoader(str(folder / "nbgrader_config.py")).load_config()
    config.Grade.isolation = isolation
    api = NbGraderAPI(CourseDirectory(config=config), config=config)
    api.log.setLevel(logging.CRITICAL)
    return api


def grade_class(api: Any, students: list[sample.Student]) -> None:
    """Register the lessons in the gradebook, autograde each submission, write its feedback."""
    for name in graded_lessons():
        _demand(api.generate_assignment(name, force=True), f"nbgrader generate_assignment {name}")
    with click.progressbar(students, label="autograding", file=sys.stderr) as bar:
        for student in bar:
            _demand(api.autograde(student.lesson, student.name), f"nbgrader autograde {student.lesson} {student.name}")
            _demand(api.generate_feedback(student.lesson, student.name), f"feedback for {student.name}")


def _demand(answer: dict[str, Any], what: str) -> None:
    """Stop with nbgrader's own last words when it reports an error."""
    if not answer["success"]:
        lines = (answer.get("error") or answer.get("log") or "no message").strip().splitlines()
        raise click.ClickException(f"{what} failed: {lines[-1]}")


def export(folder: Path, target: Path) -> None:
    """nbgrader's CSV of all marks."""
    from nbgrader.api import Gradebook
    from nbgrader.plugins import CsvExportPlugin

    with Gradebook(f"sqlite:///{folder}/gradebook.db") as gradebook:
        plugin = CsvExportPlugin()
        plugin.to = str(target)
        plugin.export(gradebook)


def print_gradebook(api: Any, students: list[sample.Student]) -> None:
    """The marks as the gradebook has them: a row per submission."""
    from rich.console import Console
    from rich.table import Table

    from grader.render import points_text

    table = Table(box=None, pad_edge=False)
    for heading in ("student", "lesson", "points", "exercises"):
        table.add_column(heading, justify="right" if heading == "points" else "left")
    with api.gradebook as gradebook:
        for student in students:
            submission = gradebook.find_submission(student.lesson, student.name)
            parts = [
                f"{g.cell.name.removeprefix('check_')} {points_text(g.score)}"
                for n in submission.notebooks
                for g in n.grades
            ]
            total = f"{points_text(submission.score)} / {points_text(submission.max_score)}"
            table.add_row(student.name, student.lesson, total, ", ".join(parts))
    Console(width=None if sys.stdout.isatty() else 140).print(table)
