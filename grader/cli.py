"""The `grader` command. Heavy imports happen inside the commands, so that `--help` is quick."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from grader.report import SubmissionResult

ISOLATION = click.option(
    "--isolation",
    type=click.Choice(["confined", "process"]),
    default="confined",
    show_default=True,
    help="'process' accepts plain process isolation, knowingly; the report says so.",
)
SECRET = click.option("--secret", default="", help="Course secret; default: GRADER_SECRET, else .grader/secret.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="preference-optimization-course")
def main() -> None:
    """Build the course, check your own work, grade a class."""


@main.command()
@click.option("--check", is_flag=True, help="Write nothing; fail when notebooks/ is not what solutions/ gives.")
def build(check: bool) -> None:
    """Generate notebooks/ from solutions/."""
    from grader import build as builder

    builder.venv_first()
    try:
        if check:
            off = builder.stale()
            for path in off:
                click.echo(f"stale: {path}", err=True)
            if off:
                raise click.ClickException("run `grader build` and commit what it writes")
            click.echo("notebooks/ is up to date")
            return
        for path in builder.build():
            click.echo(f"built {os.path.relpath(path)}")
    except builder.BuildError as error:
        raise click.ClickException(str(error)) from None


@main.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--assignment", default="", help="The lesson, where a submission does not tell (e.g. 03_stable_dpo).")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the results as JSON.")
@click.option("--feedback", type=click.Path(path_type=Path), help="Write a feedback page per submission here.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1), help="Processes, one warm worker each.")
@SECRET
@ISOLATION
def grade(
    paths: tuple[Path, ...],
    assignment: str,
    json_file: Path | None,
    feedback: Path | None,
    jobs: int,
    secret: str,
    isolation: str,
) -> None:
    """Grade notebooks, .py files or folders (an nbgrader submitted/ tree included).

    Exit code 0: all graded, whatever the marks; 1: at least one could not be graded; 2: wrong usage.
    """
    from grader import batch, report
    from grader.course import graded_lessons
    from grader.sandbox.client import SandboxError
    from grader.secret import secret_of

    if assignment and assignment not in graded_lessons():
        raise click.UsageError(f"unknown assignment {assignment!r}; the course has {', '.join(graded_lessons())}")
    settings = batch.Settings(secret_of(secret), isolation)
    results: list[SubmissionResult] = []
    try:
        for item, result in batch.grade_all(batch.discover(paths, assignment), settings, jobs):
            results.append(result)
            if feedback:
                write_feedback(feedback, item, result)
    except SandboxError as error:
        raise click.ClickException(str(error)) from None
    if json_file:
        json_file.write_text(json.dumps(report.to_json(results), indent=1), encoding="utf-8")
    print_table(results)
    sys.exit(1 if any(result.status == "failed" for result in results) else 0)


def write_feedback(folder: Path, item: Any, result: SubmissionResult) -> None:
    """One page per submission, in nbgrader's layout where the student is known."""
    from grader import render

    target = folder / item.student / result.assignment if item.student else folder
    target.mkdir(parents=True, exist_ok=True)
    name = f"{result.assignment}.html" if item.student else f"{item.path.stem[:100]}.html"
    (target / name).write_text(render.feedback_html(result), encoding="utf-8")


def printable(text: str, width: int = 60) -> str:
    """``text`` without control characters, its middle cut: file names come from strangers."""
    clean = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return clean if len(clean) <= width else f"…{clean[1 - width :]}"


def print_table(results: list[SubmissionResult]) -> None:
    """The results as a table: a row per submission, a column per exercise."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from grader.render import points_text

    table = Table(box=None, pad_edge=False)
    table.add_column("submission", overflow="fold")
    table.add_column("points", justify="right")
    table.add_column("exercises", overflow="fold")
    for r in results:
        marks = ", ".join(f"{e.name} {points_text(e.points)}/{points_text(e.max_points)}" for e in r.exercises)
        points = f"{points_text(r.points)} / {points_text(r.max_points)}" if r.status == "graded" else "failed"
        table.add_row(Text(printable(r.submission)), points, Text(marks or printable(" ".join(r.problems), 160)))
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table)
    broken = sum(r.status == "failed" for r in results)
    console.print(f"{len(results)} submissions: {len(results) - broken} graded, {broken} failed", highlight=False)


@main.command()
@click.argument("notebook", type=click.Path(path_type=Path))
def check(notebook: Path) -> None:
    """Run the public checks on your own NOTEBOOK (or .py file), as the check cells do."""
    from grader.notebook import SubmissionError, load
    from grader.owncheck import check_submission

    try:
        sys.exit(0 if check_submission(load(notebook)) else 1)
    except SubmissionError as error:
        raise click.ClickException(str(error)) from None


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@ISOLATION
def demo(folder: Path, isolation: str) -> None:
    """Make a sample class in FOLDER and grade it through nbgrader's gradebook."""
    from grader.demo import run_demo

    run_demo(folder, isolation)
