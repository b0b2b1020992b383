"""`grader regrade`: grade stored results again, and say whose marks would move, by how much and why.

Nothing is written here; the command writes the new results only when it is asked to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader import batch
from grader.batch import Item, Settings
from grader.console import printable
from grader.render import points_text
from grader.report import ExerciseResult, SubmissionResult
from grader.resultfiles import ResultsError
from grader.typical import find

#: Entries of a receipt, and what it means when they differ.
CAUSES = {
    "submission": "the submission itself changed",
    "exercises": "the exercises changed",
    "secret": "another course secret, so other hidden cases",
    "isolation": "another isolation",
    "versions": "other versions",
}


@dataclass(frozen=True)
class Move:
    """A result whose mark moves. ``why``: the groups that flipped; ``causes``: what the receipts say has changed."""

    submission: str
    lesson: str
    before: float
    after: float
    why: tuple[str, ...]
    causes: tuple[str, ...] = ()


def grade_again(
    stored: Sequence[SubmissionResult], paths: Sequence[Path], settings: Settings, jobs: int = 1
) -> list[SubmissionResult]:
    """The results that grading now gives for the submissions of ``stored``, in their order.

    Args:
        stored: earlier results.
        paths: folders (or files) in which the submissions are now; empty: where the results say.
        settings: as for any batch.
        jobs: processes.

    Raises:
        ResultsError: a submission cannot be found.
    """
    items = [Item(_where(result.submission, paths), result.submission, result.assignment) for result in stored]
    return [result for _, result in batch.grade_all(items, settings, jobs)]


def _where(submission: str, paths: Sequence[Path]) -> Path:
    """The file of a stored result: one of ``paths`` itself, below one of them, or where the result says."""
    for path in paths:
        if path.is_file() and path.name == Path(submission).name:
            return path
        if path.is_dir() and (found := find(submission, path)):
            return found
    if not paths and Path(submission).exists():
        return Path(submission)
    raise ResultsError(
        f"{submission} is not there: name the folder it is in, as in `grader regrade RESULTS.json submitted/`"
    )


def compare(stored: Sequence[SubmissionResult], fresh: Sequence[SubmissionResult]) -> list[Move]:
    """What moves from ``stored`` to ``fresh``, the largest first; pairs stand at the same places."""
    moves = [move for old, new in zip(stored, fresh, strict=True) if (move := _move(old, new))]
    return sorted(moves, key=lambda m: (-abs(m.after - m.before), m.submission))


def _move(old: SubmissionResult, new: SubmissionResult) -> Move | None:
    why = tuple(_why(old, new))
    if not why and abs(old.points - new.points) < 1e-6:
        return None
    return Move(new.submission, new.assignment, old.points, new.points, why, tuple(_causes(old.receipt, new.receipt)))


def _why(old: SubmissionResult, new: SubmissionResult) -> Iterator[str]:
    if old.status != new.status:
        yield f"{old.status} before, {new.status} now" + (
            f": {'; '.join(new.problems)}" if new.status == "failed" else ""
        )
    before = {e.name: e for e in old.exercises}
    after = {e.name: e for e in new.exercises}
    for name in dict.fromkeys([*before, *after]):
        if name not in before or name not in after:
            yield f"{name}: {'new' if name in after else 'gone'}"
        elif before[name] != after[name]:
            yield from (f"{name}: {text}" for text in _groups(before[name], after[name]))


def _groups(before: ExerciseResult, after: ExerciseResult) -> Iterator[str]:
    """Groups that flipped, were weighed anew, came or went."""
    old, new = {g.name: g for g in before.groups}, {g.name: g for g in after.groups}
    for name in dict.fromkeys([*old, *new]):
        if name not in old or name not in new:
            yield f"group “{name}” is {'new' if name in new else 'gone'}"
        elif old[name].passed != new[name].passed:
            said = f" ({new[name].message})" if new[name].message else ""
            yield f"“{name}” {'passes now' if new[name].passed else 'fails now'}{said}"
        elif abs(old[name].max_points - new[name].max_points) > 1e-6:
            yield f"“{name}” is worth {points_text(new[name].max_points)}, not {points_text(old[name].max_points)}"


def _causes(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[str]:
    """What the receipts say has changed in between."""
    for key, text in CAUSES.items():
        if key in old and key in new and old[key] != new[key]:
            yield text


def lines(moves: Sequence[Move], total: int) -> Iterator[str]:
    """The comparison for a terminal. ``total``: how many were graded again."""
    for move in moves:
        change = f"{points_text(move.before)} → {points_text(move.after)} ({_signed(move.after - move.before)})"
        yield f"{printable(move.submission)}  {move.lesson}  {change}"
        yield from (f"    {printable(reason)}" for reason in move.why)
        if move.causes:
            yield f"    because: {'; '.join(move.causes)}"
    up, down = sum(m.after > m.before for m in moves), sum(m.after < m.before for m in moves)
    yield f"{total} graded again: {up} would rise, {down} would fall, {total - up - down} keep their mark"


def _signed(change: float) -> str:
    return f"{'+' if change > 0 else '−' if change < 0 else '±'}{points_text(abs(change))}"
