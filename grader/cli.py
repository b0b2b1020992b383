"""The `grader` command. Heavy imports happen inside the commands, so that `--help` is quick."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader import instructor

if TYPE_CHECKING:
    pass

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
    from grader.course import CourseError

    builder.venv_first()
    try:
        if check:
            off = builder.stale()
            for name in off:
                click.echo(f"stale: {name}", err=True)
            if off:
                raise click.ClickException("run `grader build` and commit what it writes")
            click.echo("notebooks/ is up to date")
            return
        built = builder.build()
        for path in built.notebooks:
            click.echo(f"built {os.path.relpath(path)}")
        if built.unchanged:
            click.echo(f"{built.unchanged} {'others' if built.notebooks else 'notebooks'} unchanged")
        for path in built.fingerprints:
            click.echo(f"wrote {os.path.relpath(path)}")
    except CourseError as error:
        raise click.ClickException(str(error)) from None


@main.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--assignment", default="", help="The lesson, where a submission does not tell (e.g. 03_stable_dpo).")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the results as JSON.")
@click.option("--feedback", type=click.Path(path_type=Path), help="Write a feedback page per submission here.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1), help="Processes, one warm worker each.")
@click.option(
    "--gradebook", is_flag=True, help="Record marks in nbgrader's gradebook and autograded/, as autograde does."
)
@click.option("--db", default="", help="The gradebook's address, where it is not the course's (postgresql://...).")
@click.option(
    "--only-changed", is_flag=True, help="Skip what is recorded and unchanged; also: go on where a run ended."
)
@click.option("--scheduler", default="", help="Grade on a Dask cluster (tcp://HOST:8786); see docs/cluster.md.")
@SECRET
@ISOLATION
def grade(json_file: Path | None, secret: str, isolation: str, **options: Any) -> None:
    """Grade notebooks, .py files or folders (an nbgrader submitted/ tree included).

    Exit code 0: all graded, whatever the marks; 1: at least one could not be graded; 2: wrong usage.
    """
    from grader import console, report
    from grader.classroom import Order, grade_class
    from grader.course import CourseError, graded_lessons
    from grader.files import RecordingError, write_whole
    from grader.sandbox.client import SandboxError
    from grader.secret import secret_of
    from grader.task import Settings

    if options["assignment"] not in ("", *graded_lessons()):
        raise click.UsageError(
            f"unknown assignment {options['assignment']!r}; the course has {', '.join(graded_lessons())}"
        )
    if not options["gradebook"] and (options["only_changed"] or options["db"]):
        raise click.UsageError("--only-changed and --db go with --gradebook, where it stands what is recorded already")
    try:
        with console.progress() as progress:
            done = grade_class(Order(settings=Settings(secret_of(secret), isolation), progress=progress, **options))
        if json_file:
            write_whole(json_file, json.dumps(report.to_json(done.results), indent=1).encode())
    except (CourseError, SandboxError, RecordingError) as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{error.filename}: cannot be written ({error.strerror})") from None
    console.print_results(done.results, done.skipped, console.summary(done.results) if len(done.results) > 1 else [])
    sys.exit(1 if any(result.status == "failed" for result in done.results) else 0)


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


@main.command()
def doctor() -> None:
    """Say what this machine can enforce on learners' code, layer by layer, and how to get the rest."""
    from grader.sandbox import doctor as examination

    layers = examination.report()
    for layer in layers:
        click.echo(f"{'✓' if layer.works else '✗'} {layer.name}: {layer.detail}")
        if not layer.works and layer.remedy:
            click.echo(f"    {layer.remedy}")
    if not examination.confined(layers):
        click.echo("Grading others' code refuses here; --isolation process accepts less, knowingly.")
        sys.exit(1)
    click.echo("Other people's code can be graded here.")


instructor.register(main)


@main.command()
@click.argument("functions", nargs=-1)
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path),
    default=Path("build/kill-matrix.html"),
    show_default=True,
    help="Where the kill matrix goes as a page.",
)
@click.option("--secrets", default=20, show_default=True, type=click.IntRange(1), help="To grade sound variants under.")
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(1), help="Processes, a function at a time.")
@ISOLATION
def verify(functions: tuple[str, ...], page: Path, secrets: int, jobs: int, isolation: str) -> None:
    """Prove the hidden tests of FUNCTIONS, or of the whole course.

    References pass, known mistakes are caught and named, sound variants lose nothing.

    Exit code 1 when anything does not hold; every defect stands on a line of its own with the culprit's name.
    """
    from rich.console import Console

    from grader.course import CourseError, exercises
    from grader.proofs import killmatrix
    from grader.proofs.model import counted
    from grader.sandbox.client import SandboxError
    from grader.verify import verify as prove

    if unknown := [name for name in functions if name not in exercises()]:
        raise click.UsageError(f"no exercise {unknown[0]!r}; the course has {', '.join(exercises())}")
    try:
        proof = prove(secrets=secrets, isolation=isolation, jobs=jobs, functions=functions)
    except (CourseError, SandboxError) as error:
        raise click.ClickException(str(error)) from None
    killmatrix.show(proof, Console(width=None if sys.stdout.isatty() else 140))
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(killmatrix.page(proof), encoding="utf-8")
    click.echo(f"kill matrix: {os.path.relpath(page)}")
    for defect in proof.defects:
        click.echo(f"defect: {' '.join(str(defect).split())}", err=True)
    click.echo(counted(len(proof.defects), "defect") if proof.defects else "everything holds")
    sys.exit(1 if proof.defects else 0)


@main.command()
@click.argument("submission", type=click.Path(path_type=Path))
@click.option("--cases", is_flag=True, help="Every case: inputs, expected, received, error against tolerance.")
@click.option("--full", is_flag=True, help="Whole arrays, however long.")
@click.option("--assignment", default="", help="The lesson, where the submission does not tell (e.g. 03_stable_dpo).")
@SECRET
@ISOLATION
def explain(submission: Path, cases: bool, full: bool, assignment: str, secret: str, isolation: str) -> None:
    """Show the instructor what stands behind a mark. The output holds hidden numbers: keep it from learners."""
    from grader.console import printable
    from grader.course import CourseError
    from grader.explain import explain as lines
    from grader.grading import Grader
    from grader.notebook import SubmissionError, load
    from grader.sandbox.client import SandboxError
    from grader.secret import secret_of

    try:
        with Grader(secret_of(secret), isolation) as grader:
            for line in lines(grader, load(submission, assignment), cases, full):
                click.echo(printable(line))
    except (SubmissionError, CourseError, SandboxError) as error:
        raise click.ClickException(str(error)) from None
