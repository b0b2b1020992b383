"""`grader grade` in a terminal: a progress bar, a table, a summary."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.report import SubmissionResult

ROWS = 100  # of a larger class only what failed is listed


@contextmanager
def progress() -> Iterator[Callable[[int, int], None]]:
    """A function of (done, total) that draws a bar with rate and remaining time, on a terminal; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]} per second,"), TimeRemainingColumn())
    with Progress(*columns, TextColumn("left"), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("grading", total=None, rate="–")

        def update(done: int, total: int) -> None:
            speed = bar.tasks[0].speed
            bar.update(task, completed=done, total=total, rate=f"{speed:.1f}" if speed else "–")

        yield update


def printable(text: str) -> str:
    """``text`` without control characters: file names come from strangers."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _path(text: str) -> str:
    """The end of a path, which says whose it is."""
    clean = printable(text)
    return clean if len(clean) <= 120 else f"…{clean[-119:]}"


def _reason(text: str) -> str:
    """The beginning of what is wrong; the whole stands on the page."""
    clean = printable(text)
    return clean if len(clean) <= 160 else f"{clean[:159]}…"


def print_results(results: Sequence[SubmissionResult], skipped: int = 0, summary: Sequence[str] = ()) -> None:
    """The results as a table with a row per submission, and what the class is missing."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from grader.render import points_text

    table = Table(box=None, pad_edge=False)
    table.add_column("submission", overflow="fold")
    table.add_column("points", justify="right")
    table.add_column("exercises", overflow="fold")
    shown = results if len(results) <= ROWS else [r for r in results if r.status == "failed"]
    for r in shown:
        marks = ", ".join(f"{e.name} {points_text(e.points)}/{points_text(e.max_points)}" for e in r.exercises)
        points = f"{points_text(r.points)} / {points_text(r.max_points)}" if r.status == "graded" else "failed"
        table.add_row(Text(_path(r.submission)), points, Text(marks or _reason(" ".join(r.problems))))
    console = Console(width=None if sys.stdout.isatty() else 160)
    if shown:
        console.print(table)
    for line in summary:
        console.print(line, highlight=False, markup=False)
    broken = sum(r.status == "failed" for r in results)
    unchanged = f", {skipped} unchanged" if skipped else ""
    console.print(
        f"{len(results)} submissions: {len(results) - broken} graded, {broken} failed{unchanged}", highlight=False
    )


def summary(results: Sequence[SubmissionResult]) -> list[str]:
    """What the class is missing: groups that not all have passed, and how many hold which misconception."""
    from grader.course import graded_lessons

    lines = []
    for lesson in graded_lessons():
        graded = [r for r in results if r.assignment == lesson and r.status == "graded"]
        tried: Counter[tuple[str, str]] = Counter()
        passed: Counter[tuple[str, str]] = Counter()
        held: Counter[tuple[str, str]] = Counter()
        for exercise in (e for r in graded for e in r.exercises if e.status != "not attempted"):
            tried.update((exercise.name, group.name) for group in exercise.groups)
            passed.update((exercise.name, group.name) for group in exercise.groups if group.passed)
            held.update((exercise.name, hint.misconception) for hint in exercise.diagnosis)
        if graded:
            mean = sum(r.points for r in graded) / len(graded)
            lines.append(f"{lesson}: {len(graded)} graded, mean {mean:.2f} of {graded[0].max_points:g}")
        missing = {key: n for key, n in tried.items() if passed[key] < n}
        lines += [f"  {name}: {group}: {passed[name, group]} of {n} passed" for (name, group), n in missing.items()]
        lines += [f"  {name}: {n} × {idea}" for (name, idea), n in held.most_common()]
    return lines
