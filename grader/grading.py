"""Grade one submission: run it in the sandbox beside nothing it could learn from, judge the values it returns.

`Grader` holds what a batch shares: one warm worker, and per exercise the hidden cases with the reference's
answers and (only once a submission fails) the misconceptions' answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader import fingerprints, hidden
from grader.config import feedback
from grader.course import ROOT, Lesson
from grader.diagnosis import diagnose, same_values
from grader.exercise import Case, Exercise, Group, Misconception, Outcome
from grader.expected import merged, reference_code, upcast
from grader.judge import Judged, Verdict, judge_group, not_attempted
from grader.notebook import Submission
from grader.receipt import is_absent, receipt
from grader.report import ExerciseResult, Hint, SubmissionResult
from grader.rules import flaw_of
from grader.sandbox.calls import Call, Code, Run
from grader.sandbox.client import Worker, WorkerGone
from grader.sandbox.limits import LIMITS, Limits
from grader.scoring import advice, cell_errors, group_results

CALLS = 1000  # of known implementations in one child
ALIKE = 256  # results of an exercise that are kept for submissions with the very same answers


@dataclass(frozen=True)
class Prepared:
    """An exercise with its cases (public examples, then hidden ones) group by group, and their expected outcomes."""

    exercise: Exercise
    cases: tuple[tuple[Group, Case], ...]
    expected: tuple[Outcome, ...]

    def judged(self, received: Sequence[Outcome]) -> list[Judged]:
        """The cases with what was expected and what the calls did."""
        return [
            Judged(case, want, got, not group.weight)
            for (group, case), want, got in zip(self.cases, self.expected, received, strict=True)
        ]

    def verdicts(self, judged: Sequence[Judged], flaw: str = "") -> tuple[Verdict, ...]:
        """The verdict on every group. ``flaw``: what the import rule found."""
        owned = list(zip(judged, (group for group, _ in self.cases), strict=True))
        groups = self.exercise.groups
        return tuple(judge_group(self.exercise, g, [j for j, of in owned if of is g], flaw) for g in groups)


Alike = dict[tuple[Any, ...], tuple[Prepared, Sequence[Outcome], ExerciseResult]]


@dataclass
class Grader:
    """Grades submissions of any lesson. Close it, or use it in a ``with`` block.

    ``disclosure``: ``scores`` (verdicts only), ``hints`` (also the failed property and the hint), ``cases`` (also a
    failing case's numbers); the course's setting where it is not given. ``ahead``: see `Worker`; for a batch.
    """

    secret: str
    isolation: str = "confined"
    disclosure: str = field(default_factory=feedback)
    root: Path = ROOT
    limits: Limits = LIMITS
    worker: Worker | None = None
    ahead: bool = False
    _prepared: dict[str, Prepared] = field(default_factory=dict)
    _calls: dict[str, list[Call]] = field(default_factory=dict)  # of a lesson
    _wrong: dict[str, dict[str, list[Outcome]]] = field(default_factory=dict)
    _alike: Alike = field(default_factory=dict)

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, *error: object) -> None:
        if self.worker:
            self.worker.close()
            self.worker = None

    def warm_up(self) -> None:
        """Start the warm worker, without waiting for it."""
        if self.worker is None:
            self.worker = Worker(self.isolation, self.limits, self.ahead)

    def give(self, prepared: Prepared) -> None:
        """Take over an exercise's cases from a grader that knows the secret."""
        self._prepared[prepared.exercise.name] = prepared

    def run(self, code: Code, calls: Sequence[Call]) -> Run:
        """Run calls in the sandbox, starting the warm worker on first use."""
        self.warm_up()
        assert self.worker is not None
        try:
            return self.worker.run(code, calls)
        except WorkerGone:  # not this submission's doing, most likely: once more, with a new one
            self.worker.close()
            self.worker = Worker(self.isolation, self.limits, self.ahead)
            return self.worker.run(code, calls)

    def prepared(self, lesson: Lesson, exercise: Exercise) -> Prepared:
        """The exercise's cases with expected outcomes; the reference runs once per exercise."""
        if exercise.name not in self._prepared:
            if is_absent(self.secret):
                raise RuntimeError(f"the cases of {exercise.name} are missing here, and so is the secret to draw them")
            self._prepared[exercise.name] = self._prepare(lesson, exercise)
        return self._prepared[exercise.name]

    def _prepare(self, lesson: Lesson, exercise: Exercise) -> Prepared:
        drawn = hidden.hidden_cases(exercise, self.secret)
        cases = tuple((g, c) for g in exercise.groups for c in (*g.examples, *drawn.get(g.name, ())))
        hidden_only = [case for _, case in cases if case.expected is None]
        calls = [Call(exercise.name, c) for case in hidden_only for c in (case, upcast(case))]
        run = self.run(reference_code(lesson, self.root), calls)
        answers = iter(run.outcomes)
        expected = tuple(
            Outcome("returned", case.expected, dict(case.expected_gradients))
            if case.expected is not None
            else merged(next(answers), next(answers))
            for _, case in cases
        )
        bad = next((o for o in expected if o.status != "returned"), None)
        if bad is not None:
            raise RuntimeError(f"the reference of {exercise.name} does not answer a hidden case: {bad}")
        return Prepared(exercise, cases, expected)

    def wrong(self, lesson: Lesson, prepared: Prepared, ids: Sequence[str]) -> dict[str, list[Outcome]]:
        """What the misconceptions ``ids`` do on the exercise's cases; each runs once per exercise."""
        known = self._wrong.setdefault(prepared.exercise.name, {})
        new = [i for i in ids if i not in known]
        if new:
            known.update(self.implementations(lesson, prepared, "wrong", new))
        return {i: known[i] for i in ids}

    def implementations(
        self, lesson: Lesson, prepared: Prepared, which: str, chosen: Sequence[str] = ()
    ) -> dict[str, list[Outcome]]:
        """Outcomes of the functions (``chosen``, or all) in the exercise's ``wrong.py`` or ``sound.py``, by id."""
        name, cases = prepared.exercise.name, [case for _, case in prepared.cases]
        code = Code([(0, lesson.setup), (1, hidden.source_path(name, which).read_text(encoding="utf-8"))])
        ids = list(chosen or hidden.implementations(name, which))
        many = max(1, CALLS // max(1, len(cases)))  # in one child, within the limits of one submission
        found: dict[str, list[Outcome]] = {}
        for some in (ids[start : start + many] for start in range(0, len(ids), many)):
            outcomes = self.run(code, [Call(i, case) for i in some for case in cases]).outcomes
            found |= {i: outcomes[k * len(cases) : (k + 1) * len(cases)] for k, i in enumerate(some)}
        return found

    def grade(self, submission: Submission) -> SubmissionResult:
        """The submission's mark. Never raises for anything the submission does."""
        lesson = submission.lesson
        prepared = [self.prepared(lesson, e) for e in lesson.exercises]
        if lesson.name not in self._calls:
            self._calls[lesson.name] = [Call(p.exercise.name, case) for p in prepared for _, case in p.cases]
        calls = self._calls[lesson.name]
        run = self.run(submission.code, calls)
        results, position = [], 0
        for item in prepared:
            span = slice(position, position + len(item.cases))
            position, received = span.stop, run.outcomes[span]
            kept = all(call.keeps(outcome) for call, outcome in zip(calls[span], received, strict=True))
            results.append(self.exercise_result(submission, item, received, kept))
        problems = (*submission.problems, *run.problems, *cell_errors(submission, run))
        points = round(sum(r.points for r in results), 6)
        maximum = sum(r.max_points for r in results)
        noted = receipt(lesson.name, self.secret, self.isolation, self.disclosure)
        noted |= {"submission": submission.digest, "seconds": round(run.seconds, 1)}
        return SubmissionResult(
            submission.path, lesson.name, "graded", points, maximum, problems, tuple(results), noted
        )

    def exercise_result(
        self, submission: Submission, prepared: Prepared, received: Sequence[Outcome], kept: bool = False
    ) -> ExerciseResult:
        """The mark of one exercise from what its calls did. ``kept``: they are objects that live as long as we do."""
        flaw = flaw_of(prepared.exercise, submission.code)
        if not kept:
            return self._exercise_result(submission.lesson, prepared, received, flaw)
        key = (id(prepared), self.disclosure, flaw, *map(id, received))
        if key not in self._alike:
            if len(self._alike) >= ALIKE:
                self._alike.clear()
            # what the ids belong to is kept beside the result, so that no other object can get one of them
            self._alike[key] = prepared, received, self._exercise_result(submission.lesson, prepared, received, flaw)
        return self._alike[key][2]

    def _exercise_result(
        self, lesson: Lesson, prepared: Prepared, received: Sequence[Outcome], flaw: str
    ) -> ExerciseResult:
        exercise = prepared.exercise
        judged = prepared.judged(received)
        total = lesson.points(exercise.name)
        if not_attempted(judged):
            groups = group_results(exercise, [], total, self.disclosure)
            return ExerciseResult(exercise.name, "not attempted", 0.0, total, groups)
        verdicts = prepared.verdicts(judged, flaw)
        groups = group_results(exercise, verdicts, total, self.disclosure)
        points = round(sum(g.points for g in groups), 6)
        whole = all(v.passed for v in verdicts if v.group.weight)
        status = "passed" if whole else "partial" if points else "failed"
        points = total if whole else points
        found = [] if all(v.passed for v in verdicts) else self.diagnosis(lesson, prepared, judged)
        hints = tuple(Hint(m.id, m.hints[0]) for m in found) if self.disclosure != "scores" else ()
        return ExerciseResult(
            exercise.name, status, points, total, groups, hints, advice(verdicts, hints, self.disclosure)
        )

    def diagnosis(self, lesson: Lesson, prepared: Prepared, judged: Sequence[Judged]) -> list[Misconception]:
        """The misconceptions a failing submission holds."""
        exercise = prepared.exercise
        public = [j for j in judged if j.case.expected is not None]
        known, prints = fingerprints.load(exercise.name)
        # few agree on the public examples, where what they do is known: only those need to run on the hidden cases
        likely = [
            m
            for m in known
            if all(j.stretch or same_values(exercise, j, w) for j, w in zip(public, prints[m.id], strict=True))
        ]
        if not likely:
            return []
        wrong = self.wrong(lesson, prepared, [m.id for m in likely])
        return diagnose(exercise, judged, known, wrong)
