"""Commands for who runs the course: new, release, dashboard, regrade, export, ingest.

Heavy imports happen inside the commands, so that `grader --help` is quick.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, exists=True)


def register(group: click.Group) -> None:
    """Put these commands into ``group``."""
    for command in (new, release, dashboard, regrade, export, ingest):
        group.add_command(command)


@click.command()
@click.argument("lesson")
@click.option("--exercise", default="", help="Name of the graded function; default: the lesson's name.")
def new(lesson: str, exercise: str) -> None:
    """Scaffold an exercise: it builds at once, and is full of TODOs.

    LESSON is a name like 05_my_lesson; one that exists gets the exercise at its end. docs/extending.md is a tutorial.
    """
    from grader import scaffold

    try:
        for path in scaffold.create(lesson, exercise):
            click.echo(f"wrote {os.path.relpath(path)}")
    except scaffold.ScaffoldError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"{len(scaffold.todos())} TODOs are open; next: `grader build`, then docs/extending.md")


@click.command()
@click.option("--output", type=PATH, help="The archive to write; default: course.zip, or solutions.zip.")
@click.option("--solutions", is_flag=True, help="The solution notebooks instead, to publish after the deadline.")
def release(output: Path | None, solutions: bool) -> None:
    """Pack what learners get: notebooks, environment, the public part of the grader. No solution, no hidden test."""
    from grader import bundle
    from grader.course import CourseError

    target = output or Path("solutions.zip" if solutions else "course.zip")
    try:
        names = bundle.write_solutions(target) if solutions else bundle.write_bundle(target)
    except (bundle.ReleaseError, CourseError) as error:
        raise click.ClickException(str(error)) from None
    for name in names:
        click.echo(f"  {name}")
    click.echo(f"wrote {target} ({target.stat().st_size / 2**20:.1f} MB)")


@click.command()
@click.argument("results", nargs=-1, required=True, type=FILE)
@click.option("--submissions", type=FILE, help="Where the submissions are, for the text of a typical wrong cell.")
@click.option("--output", type=PATH, default=Path("dashboard.html"), show_default=True, help="The page to write.")
@click.option("--json", "json_file", type=PATH, help="Write the numbers behind the page as JSON.")
def dashboard(results: tuple[Path, ...], submissions: Path | None, output: Path, json_file: Path | None) -> None:
    """Show what a class knows: one page from RESULTS (JSON of `grader grade`, or a gradebook.db with its folders)."""
    from grader import dashboard as board
    from grader.resultfiles import ResultsError, read_results

    try:
        view = board.summarize([r for path in results for r in read_results(path)], submissions)
    except ResultsError as error:
        raise click.ClickException(str(error)) from None
    if json_file:
        json_file.write_text(json.dumps(view, indent=1), encoding="utf-8")
    output.write_text(board.page(view), encoding="utf-8")
    click.echo(f"wrote {output}: {view['submissions']} submissions, {len(view['humans'])} for a human to look at")


@click.command()
@click.argument("results", type=FILE)
@click.argument("paths", nargs=-1, type=FILE)
@click.option("--diff", is_flag=True, help="Only show whose marks would move, by how much and why. Writes nothing.")
@click.option("--json", "json_file", type=PATH, help="Write the new results here.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1), help="Processes, one warm worker each.")
@click.option("--secret", default="", help="Course secret; default: GRADER_SECRET, else .grader/secret.")
@click.option("--isolation", type=click.Choice(["confined", "process"]), default="confined", show_default=True)
def regrade(
    results: Path, paths: tuple[Path, ...], diff: bool, json_file: Path | None, jobs: int, secret: str, isolation: str
) -> None:
    """Grade again what RESULTS (JSON of `grader grade`, or a gradebook.db with its folders) holds, and compare.

    PATHS: where the submissions are now; by default, where RESULTS says they were.
    """
    from grader import batch, report
    from grader import regrade as again
    from grader.resultfiles import ResultsError, read_results
    from grader.sandbox.client import SandboxError
    from grader.secret import secret_of

    if diff == bool(json_file):
        raise click.UsageError("say either --diff (look first) or --json NEW.json (write the new results)")
    try:
        stored = list(read_results(results))
        settings = batch.Settings(secret_of(secret), isolation)
        fresh = again.grade_again(stored, paths, settings, jobs)
    except (ResultsError, SandboxError) as error:
        raise click.ClickException(str(error)) from None
    for line in again.lines(again.compare(stored, fresh), len(fresh)):
        click.echo(line)
    if json_file:
        json_file.write_text(json.dumps(report.to_json(fresh), indent=1), encoding="utf-8")
        click.echo(f"wrote {json_file}")


@click.command()
@click.option("--format", "kind", type=click.Choice(["csv", "canvas", "moodle"]), required=True, help="Who reads it.")
@click.option("--db", default="gradebook.db", show_default=True, help="The gradebook: a file or an SQLAlchemy address.")
@click.option("--to", type=PATH, help="The file to write; default: grades.csv, canvas.csv or moodle.csv.")
@click.option("--assignment", multiple=True, help="Only this lesson; may be repeated.")
@click.option("--student", multiple=True, help="Only this student; may be repeated.")
@click.option("--column", multiple=True, metavar="LESSON=TITLE", help="Title of a lesson's column in the LMS.")
def export(
    kind: str, db: str, to: Path | None, assignment: tuple[str, ...], student: tuple[str, ...], column: tuple[str, ...]
) -> None:
    """Write the gradebook's marks for a spreadsheet, Canvas or Moodle."""
    from grader import exports

    if bad := [pair for pair in column if "=" not in pair]:
        raise click.UsageError(f"--column {bad[0]!r}: write LESSON=TITLE, as in 03_stable_dpo='Homework 3 (8821)'")
    titles = {pair.partition("=")[0]: pair.partition("=")[2] for pair in column}
    try:
        target, notes = exports.export_file(kind, db, to, assignment, student, titles)
    except exports.ExportError as error:
        raise click.ClickException(str(error)) from None
    for note in notes:
        click.echo(note, err=True)
    click.echo(f"wrote {target}")


@click.command()
@click.argument("archive", type=FILE)
@click.option("--assignment", required=True, help="The lesson that was handed in, e.g. 03_stable_dpo.")
@click.option("--to", type=PATH, default=Path("submitted"), show_default=True, help="nbgrader's submitted folder.")
@click.option("--db", default="", help="Gradebook whose lms_user_id says who is who (a file or an address).")
@click.option("--ids", type=FILE, help="CSV that says who is who, e.g. Moodle's grading worksheet; see the guide.")
def ingest(archive: Path, assignment: str, to: Path, db: str, ids: Path | None) -> None:
    """Turn a Moodle or Canvas download ARCHIVE (zip) into nbgrader's submitted/ folder, timestamps kept."""
    from grader import ingest as incoming
    from grader.course import graded_lessons

    if assignment not in graded_lessons():
        raise click.UsageError(f"unknown assignment {assignment!r}; the course has {', '.join(graded_lessons())}")
    try:
        taken, skipped = incoming.ingest(archive, assignment, to, incoming.identities(db, ids))
    except incoming.IngestError as error:
        raise click.ClickException(str(error)) from None
    for line in skipped:
        click.echo(line, err=True)
    click.echo(f"{taken} submissions in {to}, {len(skipped)} entries left out")
