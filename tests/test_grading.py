"""Answers that are equal to the byte are read and judged once; what that could confuse is kept apart.

The same submission, graded by a grader that has met nothing else, gives the result that is asked for.
"""

from __future__ import annotations

from typing import Any

import pytest
from support import functions, grade

from grader import grading, sample, wire
from grader.exercise import Case, Error, Outcome
from grader.grading import Grader
from grader.sandbox import calls
from grader.sandbox.calls import Call

DPO = "03_stable_dpo"


def answer(result: Any, error: Error | None = None) -> bytes:
    outcome = Outcome("raised" if error else "returned", result, error=error)
    return wire.dumps({"index": 0, "outcome": wire.encode_outcome(outcome)})


def read(data: bytes) -> Outcome:
    return wire.decode_outcome(wire.loads(data)["outcome"])


def test_equal_answers_are_read_once() -> None:
    call = Call("f", Case({"x": 1}))
    first, other = call.outcome(answer(1.5), read), call.outcome(answer(2.5), read)
    assert call.outcome(answer(1.5), read) is first
    assert (first.result, other.result) == (1.5, 2.5)
    assert call.keeps(first)
    assert call.keeps(other)


@pytest.mark.parametrize("data", [answer(None, Error("ValueError", 3, 1)), answer([0.0] * 3 + ["x" * 999] * 80)])
def test_errors_and_large_answers_are_not_kept(data: bytes) -> None:
    """An error names a line of its own submission, and large answers would fill the memory."""
    call = Call("f", Case({"x": 1}))
    outcome = call.outcome(data, read)
    assert call.outcome(data, read) is not outcome
    assert not call.keeps(outcome)


def test_only_so_many_answers_are_kept() -> None:
    call = Call("f", Case({"x": 1}))
    for number in range(3 * calls.KNOWN):
        outcome = call.outcome(answer(float(number)), read)
        assert outcome.result == number
        assert len(call._known) == len(call._kept) <= calls.KNOWN


def answers() -> dict[str, dict[str, str]]:
    """Submissions by name: right in several ways, and with one mistake each."""
    right = sample.right_answers(DPO)
    found = {f"right {number}": way for number, way in enumerate(right[:3])}
    for name in functions(DPO):
        for wrong in grading.hidden.implementations(name, "wrong"):
            found[wrong] = {**right[0], name: sample.wrong_answer(name, wrong)}
            if len(found) % 4 == 0:
                break
    return found


def test_a_class_gets_the_marks_that_each_would_get_alone(warm: Grader) -> None:
    """A grader that has met them all before gives what one gives that remembers nothing."""
    made = {name: sample.answered(DPO, given) for name, given in answers().items()}
    met = [{name: grade(warm, one).exercises for name, one in made.items()} for _ in range(2)]
    alone = {}
    for name, one in made.items():
        warm._alike.clear()
        warm._calls.clear()  # the calls hold the answers
        alone[name] = grade(warm, one).exercises
    assert met == [alone, alone]


def test_the_same_answers_are_judged_once(warm: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    made = sample.answered(DPO, sample.right_answers(DPO)[1])
    first = grade(warm, made)
    monkeypatch.setattr(grading, "judge_group", lambda *_: pytest.fail("judged again"))
    assert grade(warm, made).exercises == first.exercises


def test_a_used_module_still_costs_points_where_the_answers_are_equal(warm: Grader) -> None:
    """The import rule looks at the text: equal numbers do not hide it."""
    right = sample.right_answers(DPO)[0]
    groups = [
        {group.name: group.points for group in grade(warm, sample.answered(DPO, given)).exercises[0].groups}
        for given in (right, {**right, functions(DPO)[0]: "import torch\n" + uses_torch(right[functions(DPO)[0]])})
    ]
    lost = {name for name in groups[0] if groups[0][name] > groups[1][name]}
    assert lost == {"numpy only"}


def uses_torch(source: str) -> str:
    head, body = source.split(":\n", 1)
    return f"{head}:\n    torch.tensor(0)\n{body}"


def test_results_are_forgotten_before_they_fill_the_memory(warm: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "ALIKE", 2)
    warm._alike.clear()
    for given in sample.right_answers(DPO)[:4]:
        assert grade(warm, sample.answered(DPO, given)).points == 10.0
        assert len(warm._alike) <= 2


def test_a_loop_without_end_is_not_sent_to_check(warm: Grader) -> None:
    """In a notebook nothing would stop it."""
    name = functions(DPO)[0]
    (first, *_) = grade(warm, sample.answered(DPO, {name: sample.ENDLESS.format(name=name)})).exercises
    assert "took too long" in first.groups[0].message
    assert first.advice == ""
