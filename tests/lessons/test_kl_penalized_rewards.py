"""Where the public numbers of lesson 1 come from, and that its hidden cases stay inside the contract.

The oracle is the contract's formula in exact fractions of the stored numbers, one token at a time, without torch.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from grader.exercise import Case, Outcome
from grader.hidden.kl_penalized_rewards.cases import CASES
from grader.judge import Judged, judge_group
from grader.lessons import kl_penalized_rewards as lesson
from grader.observe import observe
from grader.values import Tensor

(EXERCISE,) = lesson.EXERCISES
EXAMPLES = [
    pytest.param(case, id=f"{group.name}-{i}")
    for group in EXERCISE.groups
    if group.name != "meta device"
    for i, case in enumerate(group.examples)
]
SEEDS = range(5)


def _rows(case: Case) -> list[list[tuple[float, float]]]:
    """(policy, reference) at the selected positions of each row."""
    policy, reference, _, mask = (case.args[name].data for name in lesson.ARGUMENTS)
    return [
        [(float(p), float(q)) for p, q, keep in zip(*row, strict=True) if keep]
        for row in zip(policy, reference, mask, strict=True)
    ]


def _divergence(row: list[tuple[float, float]]) -> float:
    if any(math.isnan(x) for pair in row for x in pair):
        return math.nan
    return float(sum((Fraction(p) - Fraction(q) for p, q in row), Fraction(0)))


def _oracle(case: Case) -> dict[str, object]:
    divergences = [_divergence(row) for row in _rows(case)]
    rewards = [float(r) for r in case.args["rewards"].data]
    penalized = [r - case.args["beta"] * d for r, d in zip(rewards, divergences, strict=True)]
    objective = sum(penalized) / len(penalized) if penalized else 0.0
    return {"objective": objective, "penalized_rewards": penalized, "sampled_divergences": divergences}


@pytest.mark.parametrize("case", EXAMPLES)
def test_public_values_follow_from_the_formula(case: Case) -> None:
    for key, value in _oracle(case).items():
        stored = case.expected[key]
        assert stored.dtype == "float32"
        # decimals such as 0.2 are stored as float32: equal to a few units of its last place
        np.testing.assert_allclose(stored.data, value, rtol=1e-6, atol=2e-7, equal_nan=True)


@pytest.mark.parametrize("case", [c for g in EXERCISE.groups for c in g.examples if c.differentiate])
def test_public_gradients_are_minus_beta_times_mask_over_b(case: Case) -> None:
    mask = case.args["response_mask"].data.astype(float)
    beta, count = case.args["beta"], len(mask)
    factor = {"objective": -beta / count, "penalized_rewards": -beta, "sampled_divergences": 1.0}[case.of]
    np.testing.assert_array_equal(case.expected_gradients["policy_log_probs"].data, (factor * mask).astype("float32"))


def test_worked_examples_by_hand() -> None:
    shown = [case for group in EXERCISE.groups for case in group.examples if group.weight]
    assert all(any(case is c for c in shown) for case in (lesson.WORKED_ONE, lesson.WORKED_TWO, lesson.WORKED_THREE))
    one, two, three = (c.expected for c in (lesson.WORKED_ONE, lesson.WORKED_TWO, lesson.WORKED_THREE))
    assert one["sampled_divergences"].data == (-1 + 1.5) + (-2 + 2.5) == 1
    assert one["penalized_rewards"].data == one["objective"].data == 3 - 0.5 * 1
    first, second = (-1 + 1.2) + (-2 + 2.1), (-0.5 + 0.7) + (-0.5 + 0.4) + (-0.5 + 0.2)
    assert two["sampled_divergences"].data == pytest.approx([first, second], abs=1e-7)
    assert two["penalized_rewards"].data == pytest.approx([1 - 0.2 * first, -1 - 0.2 * second], abs=1e-7)
    assert two["objective"].data == pytest.approx((0.94 - 0.96) / 2, abs=1e-7)
    assert three["sampled_divergences"].data == 0
    assert three["penalized_rewards"].data == three["objective"].data == -2


def test_long_row_by_hand() -> None:
    steps = [Fraction(1, 4) + Fraction(t % 5, 4) - Fraction(t % 7, 8) for t in range(1000) if t % 3]
    assert lesson.LONG_ROW.expected["sampled_divergences"].data == float(sum(steps)) == 250.25
    assert lesson.LONG_ROW.expected["penalized_rewards"].data == 20.5 - 250.25 / 8


def test_bfloat16_example_is_stored_without_rounding() -> None:
    for name in lesson.ARGUMENTS[:3]:
        bits = lesson.BFLOAT16.args[name].data.view("uint32")
        assert lesson.BFLOAT16.args[name].dtype == "bfloat16"
        assert not np.any(bits & 0xFFFF)  # the lower half of a float32 that bfloat16 can hold


def test_weights_and_groups() -> None:
    weights = {group.name: group.weight for group in EXERCISE.groups}
    assert sum(weights.values()) == 20
    assert weights["masked NaN and inf"] <= 2  # at most 10 % of the points
    assert weights.keys() == CASES.keys()
    assert all(group.examples for group in EXERCISE.groups)


def test_multiplying_by_the_mask_costs_the_masked_nan_group_and_nothing_else() -> None:
    torch = pytest.importorskip("torch")

    def multiplied(policy, reference, rewards, mask, beta):  # type: ignore[no-untyped-def]
        divergences = ((policy.float() - reference.float()) * mask).sum(-1)
        penalized = rewards.float() - beta * divergences
        objective = penalized.mean() if len(penalized) else torch.zeros(())
        return {"objective": objective, "penalized_rewards": penalized, "sampled_divergences": divergences}

    lost = []
    for group in EXERCISE.groups:
        judged = [
            Judged(
                case,
                Outcome("returned", case.expected, dict(case.expected_gradients)),
                observe(multiplied, case.args, case.differentiate, case.of),
            )
            for case in group.examples
        ]
        if group.weight and not judge_group(EXERCISE, group, judged).passed:
            lost.append(group.name)
    assert lost == ["masked NaN and inf"]


def _drawn(seed: int) -> list[tuple[str, Case]]:
    return [(name, case) for name, draw in CASES.items() for case in draw(np.random.default_rng(seed))]


@pytest.mark.parametrize("seed", SEEDS)
def test_hidden_cases_stay_inside_the_contract(seed: int) -> None:
    drawn = _drawn(seed)
    assert 60 <= len(drawn) <= 110
    for name, case in drawn:
        assert tuple(case.args) == EXERCISE.signature
        assert case.expected is None
        policy, reference, rewards, mask = (case.args[n] for n in lesson.ARGUMENTS)
        assert policy.data.shape == reference.data.shape == mask.data.shape
        assert rewards.data.shape == policy.data.shape[:1]
        assert policy.data.shape[1] <= 1024
        broken = ~np.isfinite(policy.data) | ~np.isfinite(reference.data)
        if name == "selected NaN":
            assert np.any(broken)
            assert not np.any(broken & ~mask.data)
        else:
            assert not np.any(broken & (mask.data != 0))


@pytest.mark.parametrize("seed", SEEDS)
def test_only_one_group_has_negative_divergences_and_masked_nan_has_its_own(seed: int) -> None:
    for name, case in _drawn(seed):
        divergences = [_divergence(row) for row in _rows(case)]
        if name == "negative divergences":
            assert min(divergences) < -0.4
        elif EXERCISE.group(name).weight:
            assert all(math.isnan(d) or d >= 0 for d in divergences)
        broken = not all(np.isfinite(case.args[n].data).all() for n in lesson.ARGUMENTS[:2])
        assert broken == (name in ("masked NaN and inf", "selected NaN")) or name in ("gradient", "inputs")


def test_the_same_seed_draws_the_same_cases_and_another_does_not() -> None:
    def numbers(seed: int) -> list[bytes]:
        return [v.data.tobytes() for _, c in _drawn(seed) for v in c.args.values() if isinstance(v, Tensor)]

    assert numbers(1) == numbers(1)
    assert numbers(1) != numbers(2)
