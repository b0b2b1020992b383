"""References, stubs, misconceptions and sound variants, graded as learners' submissions would be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from grader import fingerprints, hidden
from grader.checks import run_checks
from grader.course import ROOT, Lesson, lesson
from grader.diagnosis import same_everything
from grader.exercise import Exercise, Group, Misconception, Outcome
from grader.expected import reference_code
from grader.grading import Grader, Prepared
from grader.judge import Judged, Verdict, error_in_tolerances, judge_group, pairs
from grader.notebook import Submission, assemble, code_cells
from grader.proofs.model import Defect, Row
from grader.report import ExerciseResult
from grader.rules import import_flaw
from grader.sample import answered, wrong_answer
from grader.sandbox.calls import Call
from grader.sandbox.limits import LIMITS
from grader.tolerance import Tolerance

#: Many variants run in one child here: the limits of one submission are not theirs.
WIDE = replace(LIMITS, call=20.0, cell=20.0, submission=900.0, answers=2**33)
EMPTY = "def {name}(*arguments):\n    pass\n"


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
        flaw = (
            import_flaw(submission.code.cells, self.exercise.name, self.exercise.imports)
            if self.exercise.imports
            else ""
        )
        return Marked(result, verdicts_of(prepared, run.outcomes, flaw))


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


def verdicts_of(prepared: Prepared, received: Sequence[Outcome], flaw: str = "") -> tuple[Verdict, ...]:
    """The verdicts on every group from what the calls did."""
    judged = [Judged(c, e, r) for (_, c), e, r in zip(prepared.cases, prepared.expected, received, strict=True)]
    return tuple(
        judge_group(
            prepared.exercise, g, [j for j, (of, _) in zip(judged, prepared.cases, strict=True) if of is g], flaw
        )
        for g in prepared.exercise.groups
    )


def largest_error(exercise: Exercise, verdict: Verdict) -> float:
    """The largest error of numbers and gradients that the group looks at, in tolerances."""
    return max((e for item in verdict.judged for e in _errors(exercise, verdict.group, item)), default=0.0)


def _errors(exercise: Exercise, group: Group, item: Judged) -> Iterator[float]:
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


def prove_reference(bench: Bench) -> Iterator[Defect]:
    """The reference earns full marks; untouched, blank and empty answers earn nothing."""
    name = bench.exercise.name
    code = reference_code(bench.lesson, bench.root)
    marked = bench.mark(Submission("reference", bench.lesson, code))
    if marked.result.status != "passed":
        yield Defect(f"{name}, reference", f"misses full marks: {marked.first_flaw}")
    stub = bench.lesson.cell(name)
    answers = {
        "untouched notebook": "",
        "blank stub": stub.source if stub else "",
        "empty function": EMPTY.format(name=name),
    }
    for what, answer in answers.items():
        earned = bench.mark(bench.submission(answer)).result.points
        if earned:
            yield Defect(f"{name}, {what}", f"earns {earned:g} points")


def prove_misconception(bench: Bench, m: Misconception) -> Row:
    """Grade a misconception; what is wrong with the outcome goes to ``bench.defects``."""
    exercise, culprit = bench.exercise, f"{bench.exercise.name}, misconception {m.id}"
    source = wrong_answer(exercise.name, m.id)
    marked = bench.mark(bench.submission(source))
    killed = frozenset(v.group.name for v in marked.verdicts if not v.passed)
    errors = [largest_error(exercise, v) for v in marked.verdicts if v.group.weight]
    expected = frozenset(m.parts or (m.id,))
    found = tuple(hint.misconception for hint in marked.result.diagnosis)
    checked = check_diagnosis(bench, m, source)
    if not killed:
        bench.defects.append(Defect(culprit, "survives every group"))
    elif found and set(found) != expected:
        bench.defects.append(Defect(culprit, f"is diagnosed as {', '.join(found)}"))
    if checked and set(checked) != expected:
        bench.defects.append(Defect(culprit, f"is diagnosed as {', '.join(checked)} by check"))
    share = marked.result.points / marked.result.max_points
    return Row(m.id, m.description, killed, share, max(errors, default=0.0), expected, found, checked)


def check_diagnosis(bench: Bench, m: Misconception, source: str) -> tuple[str, ...] | None:
    """The ids `check` gives, or None where the public examples show no failure or cannot tell ``m`` from another."""
    names: dict[str, object] = {"__name__": "__main__"}
    exec(compile(bench.lesson.setup, "<setup>", "exec"), names)
    exec(compile(source, f"<{m.id}>", "exec"), names)
    checked = run_checks(bench.exercise, names[bench.exercise.name])  # type: ignore[arg-type]
    if all(v.passed for v in checked.verdicts):
        return None
    known, wrong = fingerprints.load(bench.exercise.name)
    judged = [item for v in checked.verdicts for item in v.judged]
    shown = {v.group.name for v in checked.verdicts}  # `check` leaves groups out that would keep a learner waiting
    names_of = [g.name for g in bench.exercise.groups for _ in g.examples]
    wrong = {k: [o for o, name in zip(seen, names_of, strict=True) if name in shown] for k, seen in wrong.items()}
    right = [Outcome("returned", item.case.expected, dict(item.case.expected_gradients)) for item in judged]
    twins = [
        k for k, outcomes in {**wrong, "": right}.items() if k != m.id and _agrees(bench.exercise, judged, outcomes)
    ]
    return None if twins or m.id not in {k.id for k in known} else tuple(found.id for found in checked.misconceptions)


def _agrees(exercise: Exercise, judged: Sequence[Judged], outcomes: Sequence[Outcome]) -> bool:
    return all(same_everything(exercise, item, outcome) for item, outcome in zip(judged, outcomes, strict=True))


def prove_sound(bench: Bench, secrets: Sequence[str]) -> tuple[float, str]:
    """Grade every sound variant under every secret; the worst error and whose it is. Defects go to the bench.

    Under the first secret each is a submission of its own; under the others all run in one child.
    """
    exercise, worst = bench.exercise, (0.0, "")
    ids = list(hidden.implementations(exercise.name, "sound"))
    for position, secret in enumerate(secrets):
        alone = position == 0 and secret == bench.grader.secret
        everyone = _alone(bench, ids) if alone else _together(bench, ids, secret)
        for name, verdicts in everyone:
            lost = [v for v in verdicts if v.group.weight and not v.passed]
            for v in lost[:1]:
                text = v.flaws[0][1].text if v.flaws else "no case"
                bench.defects.append(
                    Defect(
                        f"{exercise.name}, sound variant {name}",
                        f"loses group “{v.group.name}” under secret “{secret}”: {text}",
                    )
                )
            errors = (largest_error(exercise, v) for v in verdicts if v.group.weight)
            worst = max(worst, (max(errors, default=0.0), name))
    return worst


def _alone(bench: Bench, ids: Sequence[str]) -> Iterator[tuple[str, tuple[Verdict, ...]]]:
    for name in ids:
        yield name, bench.mark(bench.submission(wrong_answer(bench.exercise.name, name, "sound"))).verdicts


def _together(bench: Bench, ids: Sequence[str], secret: str) -> Iterator[tuple[str, tuple[Verdict, ...]]]:
    drawing = replace(bench.grader, secret=secret, _prepared={}, _wrong={})  # shares the warm worker
    prepared = drawing.prepared(bench.lesson, bench.exercise)
    outcomes = drawing.implementations(bench.lesson, prepared, "sound")
    for name in ids:
        yield name, verdicts_of(prepared, outcomes[name])
