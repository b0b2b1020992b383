"""Sound variants: differently written right answers, graded under every secret."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from grader import hidden
from grader.exercise import Exercise
from grader.judge import Verdict
from grader.proofs.model import Defect, counted
from grader.proofs.places import hidden_file
from grader.proofs.runs import Bench, errors_of, largest_error
from grader.sample import wrong_answer


@dataclass
class Loss:
    """What a variant lost in one group: under how many secrets, and the largest error that made it fail."""

    secrets: int = 0
    error: float = 0.0
    tolerance: str = ""
    flaw: str = ""

    def count(self, exercise: Exercise, verdict: Verdict) -> None:
        """Count one more secret under which the group fails."""
        self.secrets += 1
        self.flaw = self.flaw or (verdict.flaws[0][1].text if verdict.flaws else "no case")
        group = verdict.group
        for item in verdict.judged:
            error = max(errors_of(exercise, group, item), default=0.0)
            if error > self.error:
                tolerance = item.case.tolerance or group.tolerance or exercise.tolerance
                self.error, self.tolerance = error, tolerance.name

    def text(self, group: str, secrets: int) -> str:
        """The loss in words; of an error that no tolerance could mend, only what is off."""
        text = f"fails group “{group}” under {self.secrets} of {counted(secrets, 'secret')}"
        if not 1 < self.error < math.inf:
            return f"{text}: {self.flaw}"
        blame = f"the tolerance `{self.tolerance}` is too tight, or the variant is wrong"
        return f"{text}, worst error {self.error:.3g} tolerances: {blame}"


def prove_sound(bench: Bench, secrets: Sequence[str]) -> tuple[float, str]:
    """Grade every sound variant under every secret; the worst error and whose it is. Defects go to the bench.

    Under the first secret each is a submission of its own; under the others all run in one child.
    """
    exercise, worst = bench.exercise, (0.0, "")
    ids = list(hidden.implementations(exercise.name, "sound"))
    losses: dict[tuple[str, str], Loss] = {}
    for position, secret in enumerate(secrets):
        alone = position == 0 and secret == bench.grader.secret
        everyone = _alone(bench, ids) if alone else _together(bench, ids, secret)
        for name, verdicts in everyone:
            for v in (v for v in verdicts if v.group.weight and not v.passed):
                losses.setdefault((name, v.group.name), Loss()).count(exercise, v)
            errors = (largest_error(exercise, v) for v in verdicts if v.group.weight)
            worst = max(worst, (max(errors, default=0.0), name))
    for (name, group), loss in losses.items():
        culprit, where = f"{exercise.name}, sound variant {name}", hidden_file(exercise.name, "sound", name)
        bench.defects.append(Defect(culprit, loss.text(group, len(secrets)), where))
    return worst


def _alone(bench: Bench, ids: Sequence[str]) -> Iterator[tuple[str, tuple[Verdict, ...]]]:
    for name in ids:
        yield name, bench.mark(bench.submission(wrong_answer(bench.exercise.name, name, "sound"))).verdicts


def _together(bench: Bench, ids: Sequence[str], secret: str) -> Iterator[tuple[str, tuple[Verdict, ...]]]:
    drawing = replace(bench.grader, secret=secret, _prepared={}, _wrong={})  # shares the warm worker
    prepared = drawing.prepared(bench.lesson, bench.exercise)
    outcomes = drawing.implementations(bench.lesson, prepared, "sound")
    for name in ids:
        yield name, prepared.verdicts(prepared.judged(outcomes[name]))
