"""`grader check NOTEBOOK`: a learner's public checks in the terminal, on their own code, in their own process."""

from __future__ import annotations

from typing import Any

import click

from grader import render
from grader.attempts import record
from grader.checks import run_checks, summary
from grader.notebook import Submission
from grader.observe import CELL
from grader.sandbox.child import execute, install_stubs, notebook_compiler


def check_submission(submission: Submission) -> bool:
    """Print the public checks of every exercise of the submission's lesson. Whether all of them pass."""
    names = run_cells(submission)
    all_pass = True
    for exercise in submission.lesson.exercises:
        function = names.get(exercise.name)
        checked = run_checks(exercise, function if callable(function) else _missing)
        record(exercise.name, checked.share if checked.attempted else None)
        click.echo(render.check_text(checked) if checked.attempted else summary(checked))
        all_pass = all_pass and checked.passed
    return all_pass


def _missing(*args: Any) -> Any:
    raise NotImplementedError


def run_cells(submission: Submission) -> dict[str, Any]:
    """The names the submission's cells define. A cell that raises is reported and the next one runs."""
    import matplotlib

    matplotlib.use("Agg")
    names: dict[str, Any] = {}
    install_stubs(submission.code.modules, names)
    compiler = notebook_compiler()
    for number, source in submission.code.cells:
        try:
            execute(compiler, source, f"{CELL}{number}>", names)
        except BaseException as error:  # noqa: BLE001 - the learner's code may raise anything
            click.echo(f"cell {number}: {type(error).__name__}: {error}", err=True)
    return names
