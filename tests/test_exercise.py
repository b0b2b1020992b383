"""The exercises as a whole: what holds for each of them, whoever adds the next one."""

from __future__ import annotations

import pytest

from grader import hidden
from grader.course import exercises, lesson
from grader.exercise import ASPECTS
from grader.judge import is_property

NAMES = list(exercises())
POINTS = {  # the contract's, as it prints them; a lesson that an instructor adds has its own
    "kl_penalized_rewards": 10, "logp_completion": 5, "spo_loss": 5,
    "implicit_reward": 2, "dpo_loss": 4, "dpo_grad": 4, "optimal_policy": 5, "reward_kl_frontier": 5,
}  # fmt: skip
SIGNATURES = {
    "kl_penalized_rewards": "policy_log_probs reference_log_probs rewards response_mask beta",
    "logp_completion": "logits tokens mask",
    "spo_loss": "logp_1 logp_2 logp_ref_1 logp_ref_2 reward_1 reward_2 beta",
    "implicit_reward": "policy_logprob ref_logprob beta",
    "dpo_loss": "policy_logprob_preferred policy_logprob_rejected ref_logprob_preferred ref_logprob_rejected beta",
    "dpo_grad": "policy_logprob_preferred policy_logprob_rejected ref_logprob_preferred ref_logprob_rejected beta",
    "optimal_policy": "log_ref rewards beta",
    "reward_kl_frontier": "log_ref rewards betas",
}


def test_the_course_has_these_exercises_in_this_order() -> None:
    assert [name for name in exercises() if name in POINTS] == list(POINTS)


@pytest.mark.parametrize("name", POINTS)
def test_points_and_signature(name: str) -> None:
    exercise = exercises()[name]
    assert lesson(exercise.lesson).points(name) == POINTS[name]
    assert exercise.signature == tuple(SIGNATURES[name].split())


@pytest.mark.parametrize("name", NAMES)
def test_groups(name: str) -> None:
    groups = exercises()[name].groups
    assert len({g.name for g in groups}) == len(groups)
    assert sum(g.weight for g in groups) == 20
    for group in groups:
        assert group.idea.strip()
        assert group.examples, f"{group.name} tests a kind of thing that check never shows"
        assert group.aspects
        assert {a.partition(":")[0] for a in group.aspects} <= set(ASPECTS)
    # an answer with right numbers must be able to earn something
    assert any(not is_property(g) and g.weight for g in groups)


@pytest.mark.parametrize("name", NAMES)
def test_examples(name: str) -> None:
    exercise = exercises()[name]
    for group in exercise.groups:
        for case in group.examples:
            assert tuple(case.args) == exercise.signature
            assert case.expected is not None
            assert set(case.differentiate) == set(case.expected_gradients)
            assert case.differentiate or "gradient" not in group.aspects


@pytest.mark.parametrize("name", NAMES)
def test_hints_grow_and_are_not_empty(name: str) -> None:
    assert len(exercises()[name].hints) == 3
    assert all(len(hint) > 20 for hint in exercises()[name].hints)


@pytest.mark.parametrize("name", NAMES)
def test_hidden_cases_are_reproducible_and_belong_to_groups(name: str) -> None:
    exercise = exercises()[name]
    one, two = hidden.hidden_cases(exercise, "a"), hidden.hidden_cases(exercise, "a")
    assert set(one) <= {g.name for g in exercise.groups}
    assert repr(one) == repr(two)
    assert repr(one) != repr(hidden.hidden_cases(exercise, "b"))
    assert all(
        case.expected is None and tuple(case.args) == exercise.signature for cases in one.values() for case in cases
    )


def test_unknown_group() -> None:
    with pytest.raises(KeyError):
        exercises()["dpo_loss"].group("no such group")
