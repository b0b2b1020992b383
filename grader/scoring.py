"""From verdicts to what a report says: points and messages per group, and where to look first."""

from __future__ import annotations

from collections.abc import Sequence

from grader.exercise import Exercise
from grader.explain import case_lines
from grader.judge import Verdict, is_property
from grader.notebook import Submission
from grader.report import GroupResult, Hint
from grader.sandbox.calls import Run


def group_results(
    exercise: Exercise, verdicts: Sequence[Verdict], total: float, disclosure: str
) -> tuple[GroupResult, ...]:
    """Points and messages per group. Property groups count once some group of numbers is right."""
    by_name = {v.group.name: v for v in verdicts}
    weights = sum(g.weight for g in exercise.groups)
    some_numbers = any(v.passed and v.group.weight and not is_property(v.group) for v in verdicts)
    results = []
    for group in exercise.groups:
        verdict = by_name.get(group.name)
        worth = round(total * group.weight / weights, 6)
        passed = verdict is not None and verdict.passed
        message = (
            "" if passed else "not attempted" if verdict is None else verdict.flaws[0][1].text if verdict.flaws else ""
        )
        if passed and is_property(group) and not some_numbers:
            passed, message = False, "counts once at least one group of values is right"
        shown = message if disclosure != "scores" else ""
        case = failing_case(exercise, verdict) if verdict and disclosure == "cases" else ""
        results.append(GroupResult(group.name, worth if passed else 0.0, worth, passed, shown, group.idea, case))
    return tuple(results)


def failing_case(exercise: Exercise, verdict: Verdict) -> str:
    """A group's first failing case (hidden ones first) with its numbers: for ``feedback = cases``."""
    failing = [verdict.judged[index] for index, flaw in verdict.flaws if verdict.judged and flaw.aspect != "imports"]
    if not failing:
        return ""
    shown = next((judged for judged in failing if judged.case.expected is None), failing[0])
    return "\n".join(case_lines(exercise, verdict.group, shown))


def advice(verdicts: Sequence[Verdict], hints: Sequence[Hint], disclosure: str) -> str:
    """Where to look when no misconception matches: the first group that costs points and fails on a public example.

    Not where a call was stopped: `check` knows no limits and would hang.
    """
    if hints or disclosure == "scores":
        return ""
    for verdict in verdicts:
        failing = [verdict.judged[i] for i, _ in verdict.flaws if verdict.judged]
        public = [j for j in failing if j.case.expected is not None and j.received.status in ("returned", "raised")]
        if public and verdict.group.weight:
            name = verdict.group.name
            return f"Run check in the notebook: its public example of “{name}” fails too, with numbers to compare."
    return ""


def cell_errors(submission: Submission, run: Run) -> list[str]:
    """One line per cell that raised while it was run: where, what, and the learner's own line."""
    lines = []
    for error in run.errors[:10]:
        source = submission.sources.get(error.cell, "").splitlines()
        quoted = source[error.line - 1].strip()[:120] if 0 < error.line <= len(source) else ""
        where = f"cell {error.cell}, line {error.line}" if error.line else f"cell {error.cell}"
        lines.append(f"{where}: {error.type}: {error.message[:200]}" + (f" in `{quoted}`" if quoted else ""))
    return lines
