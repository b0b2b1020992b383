"""Diagnosis: a listed mistake comes back under its own id, a double one as its parts, and anything else as nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support import grade, solved

from grader.checks import run_checks
from grader.course import exercises
from grader.diagnosis import diagnose
from grader.exercise import Case, Exercise, Group, Misconception, Outcome
from grader.grading import Grader
from grader.judge import Judged
from grader.report import ExerciseResult
from grader.sample import reference, wrong_answer
from grader.tolerance import relative

PAIR = "policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta"
Z = "beta * ((policy_logprob_preferred - ref_logprob_preferred) - (policy_logprob_rejected - ref_logprob_rejected))"


def result_of(grader: Grader, function: str, answer: str) -> ExerciseResult:
    lesson = exercises()[function].lesson
    return next(e for e in grade(grader, solved(lesson, **{function: answer})).exercises if e.name == function)


def ids(grader: Grader, function: str, answer: str) -> list[str]:
    return [hint.misconception for hint in result_of(grader, function, answer).diagnosis]


# Ten wrong ways that are on no list -----------------------------------------------------------------------------------

UNLISTED = {
    "seven halves": "float(np.mean(np.logaddexp(0, -z)) * 3.5)",
    "shifted": "float(np.mean(np.logaddexp(0.125, -z)))",
    "other curve": "float(np.mean(np.arctan(np.exp(-np.clip(z, -50, 50)))))",
    "a constant": "0.6802247996122515",
    "sine": "float(np.mean(np.logaddexp(0, -z) + np.sin(z) / 9))",
    "rounded margins": "float(np.mean(np.logaddexp(0, -np.round(z / 3) * 3)))",
    "trimmed above two": "float(np.mean(np.minimum(np.logaddexp(0, -z), 2.0)))",
    "root": "float(np.sqrt(np.mean(np.logaddexp(0, -z)) + 1))",
    "two thirds and a bit": "float(np.mean(np.logaddexp(0, -z)) * 2 / 3 + 0.01)",
    "beta twice, once rooted": "float(np.mean(np.logaddexp(0, -z * np.sqrt(beta) / 3)))",
}


@pytest.mark.dpo
@pytest.mark.parametrize("name", list(UNLISTED))
def test_what_agrees_with_no_misconception_gets_no_diagnosis(warm: Grader, name: str) -> None:
    answer = f"def dpo_loss({PAIR}):\n    z = {Z}\n    return {UNLISTED[name]}\n"
    result = result_of(warm, "dpo_loss", answer)
    assert result.points < 4
    assert [hint.misconception for hint in result.diagnosis] == []
    failing = [group.message for group in result.groups if not group.passed and group.max_points]
    assert failing  # what is known is said instead: which groups fail, and which property
    assert all(failing)


def test_without_a_match_a_public_example_is_pointed_at(warm: Grader) -> None:
    answer = f"def dpo_loss({PAIR}):\n    z = {Z}\n    return {UNLISTED['shifted']}\n"
    result = result_of(warm, "dpo_loss", answer)
    first = next(group.name for group in result.groups if not group.passed)
    assert "public example of" in result.advice
    assert any(f"“{group.name}”" in result.advice for group in result.groups if not group.passed), first


# Listed ones ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "answer", "expected"),
    [
        # written anew: the diagnosis is by behaviour, not by text
        ("kl_penalized_rewards", "rewards.float() + beta * d", {"penalty_added"}),
        ("kl_penalized_rewards", "rewards.float() - d", {"beta_forgotten"}),
        ("kl_penalized_rewards", "rewards.float() + d", {"penalty_added", "beta_forgotten"}),
    ],
)
@pytest.mark.kl
def test_single_and_double_mistakes_by_behaviour(warm: Grader, function: str, answer: str, expected: set[str]) -> None:
    source = (
        "def kl_penalized_rewards(policy, ref, rewards, mask, beta):\n"
        "    d = torch.where(mask, policy.float() - ref.float(), torch.tensor(0.0)).sum(1)\n"
        f"    p = {answer}\n"
        "    j = p.mean() if len(p) else torch.tensor(0.0)\n"
        "    return dict(objective=j, penalized_rewards=p, sampled_divergences=d)\n"
    )
    assert set(ids(warm, function, source)) == expected


@pytest.mark.parametrize("wrong", ["graph_cut", "float64_out", "policy_overwritten"])
@pytest.mark.kl
def test_property_failures_keep_the_values_and_are_named(warm: Grader, wrong: str) -> None:
    result = result_of(warm, "kl_penalized_rewards", wrong_answer("kl_penalized_rewards", wrong))
    assert [hint.misconception for hint in result.diagnosis] == [wrong]
    assert result.points >= 6  # of 10: the values are right


@pytest.mark.kl
def test_an_unlisted_way_of_the_same_property_failure(warm: Grader) -> None:
    right = reference("kl_penalized_rewards").replace("def kl_penalized_rewards(", "def _right(")
    source = right + (
        "\ndef kl_penalized_rewards(policy, ref, rewards, mask, beta):\n"
        "    answer = _right(policy, ref, rewards, mask, beta)\n"
        "    return {k: torch.from_numpy(v.detach().numpy().copy()) for k, v in answer.items()}\n"
    )
    assert ids(warm, "kl_penalized_rewards", source) == ["graph_cut"]


@pytest.mark.dpo
def test_check_names_it_too_on_public_examples_alone() -> None:
    names: dict[str, object] = {"np": np}
    exec("def implicit_reward(p, r, beta):\n    return beta * (r - p)\n", names)
    checked = run_checks(exercises()["implicit_reward"], names["implicit_reward"])  # type: ignore[arg-type]
    assert len(checked.misconceptions) == 1
    exec("def implicit_reward(p, r, beta):\n    return beta * (p - r) * 1.0625\n", names)
    assert run_checks(exercises()["implicit_reward"], names["implicit_reward"]).misconceptions == ()  # type: ignore[arg-type]


# The rule itself, on a toy --------------------------------------------------------------------------------------------

TOY = Exercise(
    "f", "03_stable_dpo", ("x",), (Group("idea", 1, "An idea."),), relative(1e-9, "exact", "1e-9"), ("a", "b", "c")
)
KNOWN = [
    Misconception("double", "Twice.", ("1", "2", "3")),
    Misconception("negative", "Minus.", ("1", "2", "3")),
    Misconception("both", "Both.", (), ("double", "negative")),
]


def toy(*received: float, wrong: dict[str, tuple[float, ...]]) -> list[str]:
    """Right is 1 and 0: at 0, doubling and negating change nothing."""
    right = (1.0, 0.0)
    judged = [
        Judged(Case({"x": x}), Outcome("returned", x), Outcome("returned", got))
        for x, got in zip(right, received, strict=True)
    ]
    outcomes = {name: [Outcome("returned", value) for value in values] for name, values in wrong.items()}
    return [m.id for m in diagnose(TOY, judged, KNOWN, outcomes)]


WRONG = {"double": (2.0, 0.0), "negative": (-1.0, 0.0), "both": (-2.0, 0.0)}


def test_agreement_on_failing_and_on_coinciding_cases() -> None:
    assert toy(2.0, 0.0, wrong=WRONG) == ["double"]
    assert toy(-2.0, 0.0, wrong=WRONG) == ["double", "negative"]  # a double mistake is told as its parts


def test_one_case_of_disagreement_is_no_match() -> None:
    assert toy(2.0, 0.5, wrong=WRONG) == []
    assert toy(2.0 + 1e-6, 0.0, wrong=WRONG) == []
    assert toy(3.0, 0.0, wrong=WRONG) == []


def test_without_a_record_of_what_a_misconception_does_it_is_not_named() -> None:
    assert toy(2.0, 0.0, wrong={"negative": (-1.0, 0.0)}) == []


def test_the_same_exception_is_agreement_another_is_not() -> None:
    from grader.exercise import Error

    judged = [Judged(Case({"x": 1.0}), Outcome("returned", 1.0), Outcome("raised", error=Error("ValueError", 3, 1)))]
    outcome = Outcome("raised", error=Error("ValueError"))
    assert [m.id for m in diagnose(TOY, judged, KNOWN, {"double": [outcome]})] == ["double"]
    other = replace(outcome, error=Error("TypeError"))
    assert diagnose(TOY, judged, KNOWN, {"double": [other]}) == []
