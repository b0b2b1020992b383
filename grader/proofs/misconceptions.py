"""Misconceptions, graded as learners' submissions would be: each is caught, and named as itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from grader import fingerprints
from grader.checks import Checked, run_checks
from grader.diagnosis import same_everything
from grader.exercise import Exercise, Misconception, Outcome
from grader.judge import Judged, Verdict
from grader.proofs.model import Defect, Row
from grader.proofs.places import hidden_file
from grader.proofs.runs import Bench, largest_error
from grader.sample import wrong_answer

#: What a misconception that is meant as one does not raise on most of its calls.
UNMEANT = ("NameError", "UnboundLocalError", "TypeError", "AttributeError", "ImportError", "ModuleNotFoundError")
MOST = 0.5


def prove_misconception(bench: Bench, m: Misconception) -> Row:
    """Grade a misconception; what is wrong with the outcome goes to ``bench.defects``."""
    exercise = bench.exercise
    source = wrong_answer(exercise.name, m.id)
    marked = bench.mark(bench.submission(source))
    killed = frozenset(v.group.name for v in marked.verdicts if not v.passed)
    errors = [largest_error(exercise, v) for v in marked.verdicts if v.group.weight]
    expected = frozenset(m.parts or (m.id,))
    found = tuple(hint.misconception for hint in marked.result.diagnosis)
    public = check_of(bench, m, source)
    checked, raised = check_diagnosis(bench, m, public), raised_by(marked.verdicts, public.verdicts)
    texts = [] if killed else ["survives every group"]
    if killed and found and set(found) != expected:
        texts.append(f"is diagnosed as {', '.join(found)}")
    if checked and set(checked) != expected:
        texts.append(f"is diagnosed as {', '.join(checked)} by check")
    if re.search(rf"raises? ({'|'.join(UNMEANT)})\b", raised):
        texts.append(raised)
    where = hidden_file(exercise.name, "wrong", m.id)
    bench.defects += [Defect(f"{exercise.name}, misconception {m.id}", text, where) for text in texts]
    share = marked.result.points / marked.result.max_points
    return Row(m.id, m.description, killed, share, max(errors, default=0.0), expected, found, checked, raised)


def raised_by(verdicts: Sequence[Verdict], public: Sequence[Verdict]) -> str:
    """What most calls raise, in words; empty where most return. Messages come from public examples only."""
    received = [item.received for v in verdicts for item in v.judged]
    raised = Counter(outcome.error.type for outcome in received if outcome.status == "raised" and outcome.error)
    kind, times = raised.most_common(1)[0] if raised else ("", 0)
    if not times or times < MOST * len(received):
        return ""
    errors = [item.received.error for v in public for item in v.judged]
    message = next((error.message for error in errors if error and error.type == kind and error.message), "")
    text = f"every call raises {kind}" if times == len(received) else f"{times} of {len(received)} calls raise {kind}"
    text += f": {message}" if message else ""
    if kind == "NameError":
        text += "; misconceptions cannot call each other: put shared code into a _helper"
    return text


def check_of(bench: Bench, m: Misconception, source: str) -> Checked:
    """What `check` shows an author of the misconception."""
    names: dict[str, object] = {"__name__": "__main__"}
    exec(compile(bench.lesson.setup, "<setup>", "exec"), names)
    exec(compile(source, f"<{m.id}>", "exec"), names)
    return run_checks(bench.exercise, names[bench.exercise.name])  # type: ignore[arg-type]


def check_diagnosis(bench: Bench, m: Misconception, checked: Checked) -> tuple[str, ...] | None:
    """The ids `check` gives, or None where the public examples show no failure or cannot tell ``m`` from another."""
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
