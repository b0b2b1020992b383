"""What every proof that grades something shares: a bench with a grader of its own, marks, and errors in tolerances."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from grader import hidden
from grader.course import ROOT, Lesson, lesson
from grader.exercise import Case, Exercise, Group
from grader.grading import Grader, Prepared
from grader.judge import Judged, Verdict, error_in_tolerances, pairs
from grader.notebook import Submission, assemble, code_cells
from grader.proofs.model import Defect
from grader.report import ExerciseResult
from grader.rules import flaw_of
from grader.sample import answered
from grader.sandbox.calls import Call
from grader.sandbox.limits import LIMITS
from grader.tolerance import Tolerance

#: Many variants run in one child here: the limits of one submission are not theirs.
WIDE = replace(LIMITS, call=20.0, cell=20.0, submission=900.0, answers=2**33)


@dataclass
class Bench:
    """One exercise under proof: its lesson, and a grader of its own whose worker all runs share."""

    exercise: Exercise
    grader: Grader
    root: Path = ROOT
    defects: list[Defect] = field(default_factory=list)

    @cached_property
    def lesson(self) -> Lesson:
        """The lesson as released."""
        return lesson(self.exercise.lesson, self.root)

    @cached_property
    def drawn(self) -> dict[str, list[Case]]:
        """The hidden cases under the grader's secret, by group."""
        return hidden.hidden_cases(self.exercise, self.grader.secret)

    @cached_property
    def prepared(self) -> Prepared:
        """Cases and expected outcomes under the grader's secret."""
        return self.grader.prepared(self.lesson, self.exercise)

    def submission(self, answer: str) -> Submission:
        """The released notebook with ``answer`` as the exercise's solution cell; untouched where it is empty."""
        answers = {self.exercise.name: answer} if answer else {}
        cells = code_cells(answered(self.lesson.name, answers, self.root))
        return Submission(f"{self.exercise.name}.ipynb", self.lesson, *assemble(cells, self.lesson))

    def mark(self, submission: Submission) -> Marked:
        """Run and judge a submission's answer to this exercise."""
        prepared = self.prepared
        run = self.grader.run(submission.code, [Call(self.exercise.name, case) for _, case in prepared.cases])
        result = self.grader.exercise_result(submission, prepared, run.outcomes)
        flaw = flaw_of(self.exercise, submission.code)
        return Marked(result, prepared.verdicts(prepared.judged(run.outcomes), flaw))


@dataclass(frozen=True)
class Marked:
    """A graded answer: what its author is told, and the verdicts behind it."""

    result: ExerciseResult
    verdicts: tuple[Verdict, ...]

    @property
    def first_flaw(self) -> str:
        """The first failing group of points with its flaw, in words."""
        failing = [v for v in self.verdicts if v.group.weight and not v.passed]
        if not failing:
            return "no group of points fails"
        index, flaw = failing[0].flaws[0] if failing[0].flaws else (0, None)
        note = failing[0].judged[index].case.note if failing[0].judged else ""
        which = f"example “{note}”" if note else f"case {index + 1}"
        return f"group “{failing[0].group.name}”, {which}: {flaw.text if flaw else 'no case'}"


def largest_error(exercise: Exercise, verdict: Verdict) -> float:
    """The largest error of numbers and gradients that the group looks at, in tolerances."""
    return max((e for item in verdict.judged for e in errors_of(exercise, verdict.group, item)), default=0.0)


def errors_of(exercise: Exercise, group: Group, item: Judged) -> Iterator[float]:
    """The errors of one call's numbers and gradients that the group looks at, in tolerances."""
    tolerance = item.case.tolerance or group.tolerance or exercise.tolerance
    for aspect in group.aspects:
        name, _, only = aspect.partition(":")
        if name not in ("value", "gradient"):
            continue
        if item.received.status != "returned":
            yield math.inf
        elif name == "gradient":
            for key, want in item.expected.gradients.items():
                got = item.received.gradients.get(key)
                yield error_in_tolerances(tolerance, item.case, f"gradient {key}", want, got)
        else:
            yield from _value_errors(tolerance, item, only)


def _value_errors(tolerance: Tolerance, item: Judged, only: str) -> Iterator[float]:
    for path, want, got in pairs(item.expected.result, item.received.result):
        if only in ("", path):
            yield error_in_tolerances(tolerance, item.case, path, want, got)
