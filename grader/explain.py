"""What happened behind a mark, for the instructor: inputs, expected, received, error against tolerance.

Holds hidden numbers: nothing here reaches a learner unless ``feedback = cases`` says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from grader.exercise import Exercise, Group
from grader.judge import Judged, Verdict, error_in_tolerances, flaws_of, pairs
from grader.rules import flaw_of
from grader.sandbox.calls import Call
from grader.values import Tensor, Value, as_array, kind_of

if TYPE_CHECKING:
    from grader.grading import Grader
    from grader.notebook import Submission

SHOWN = 12  # entries of an array, unless everything is asked for


def explain(grader: Grader, submission: Submission, cases: bool = True, full: bool = False) -> Iterator[str]:
    """The lines of the explanation of a submission, exercise by exercise and group by group.

    Args:
        grader: runs and judges the submission as `Grader.grade` does.
        submission: what is explained.
        cases: every case with its numbers; without it only the flaws of each group.
        full: whole arrays, however long.
    """
    for exercise in submission.lesson.exercises:
        prepared = grader.prepared(submission.lesson, exercise)
        run = grader.run(submission.code, [Call(exercise.name, case) for _, case in prepared.cases])
        result = grader.exercise_result(submission, prepared, run.outcomes)
        yield f"{exercise.name}: {result.points:g} / {result.max_points:g} ({result.status})"
        yield from (f"  hint ({hint.misconception}): {hint.hint}" for hint in result.diagnosis)
        uncounted = {group.name for group in result.groups if not group.passed}
        flaw = flaw_of(exercise, submission.code)
        for verdict in prepared.verdicts(prepared.judged(run.outcomes), flaw):
            yield from _group(exercise, verdict, verdict.group.name not in uncounted, cases, full)


def _group(exercise: Exercise, verdict: Verdict, counted: bool, cases: bool, full: bool) -> Iterator[str]:
    """One group. ``counted``: whether its points were given, which those of a property are beside right values only."""
    group = verdict.group
    worth = f"weight {group.weight}" if group.weight else "stretch"
    failing = len({index for index, _ in verdict.flaws})
    passed = "passed" if counted else "passed, but not counted: it counts once at least one group of values is right"
    said = passed if verdict.passed else f"failed, {failing} of {len(verdict.judged)} cases"
    mark = "✗" if not verdict.passed else "✓" if counted else "–"
    yield f"  {mark} {group.name} ({worth}; looks at {', '.join(group.aspects)}): {said}"
    if not cases:
        yield from (f"      {text}" for text in dict.fromkeys(flaw.text for _, flaw in verdict.flaws))
        return
    yield from (f"      {flaw.text}" for _, flaw in verdict.flaws if flaw.aspect == "imports")
    for index, judged in enumerate(verdict.judged):
        source = "public" if judged.case.expected is not None else "hidden"
        note = f" “{judged.case.note}”" if judged.case.note else ""
        yield f"      case {index + 1} ({source}){note}"
        yield from (f"        {line}" for line in case_lines(exercise, group, judged, full))


def case_lines(exercise: Exercise, group: Group, judged: Judged, full: bool = False) -> Iterator[str]:
    """One case: the arguments, then expected, received and error per entry, then what is off."""
    tolerance = judged.case.tolerance or group.tolerance or exercise.tolerance
    for name, value in judged.case.args.items():
        yield f"{name} = {value_line(value, full)}"
    flaws = flaws_of(group.tolerance or exercise.tolerance, group.aspects, judged)
    if judged.received.status == "returned":
        entries = [
            (path or "result", path, a, b) for path, a, b in pairs(judged.expected.result, judged.received.result)
        ]
        for name, want in judged.expected.gradients.items():
            entries.append((f"gradient in {name}", f"gradient {name}", want, judged.received.gradients.get(name)))
        for label, path, want, got in entries:
            error = error_in_tolerances(tolerance, judged.case, path, want, got)
            yield f"{label}: expected {value_line(want, full)}"
            yield f"{' ' * len(label)}  received {value_line(got, full)}"
            yield f"{' ' * len(label)}  error {error:.3g} × tolerance “{tolerance.name}”" + (" ≠" if error > 1 else "")
    yield from (f"✗ {flaw.text}" for flaw in flaws)


def value_line(value: Value, full: bool = False) -> str:
    """A value on one line with every digit it has; long arrays cut in the middle unless ``full``."""
    numbers = as_array(value)
    if numbers is None or isinstance(value, bool | int | float):
        return kind_of(value) if numbers is None else repr(value)
    dtype = value.dtype if isinstance(value, Tensor) else str(numbers.dtype)
    threshold = numbers.size + 1 if full else SHOWN
    text = np.array2string(
        numbers, separator=", ", threshold=threshold, edgeitems=3, floatmode="unique", max_line_width=10**9
    )
    return f"{' '.join(text.split())} {dtype} {tuple(numbers.shape)}"
