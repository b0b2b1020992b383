"""Lesson 3: every authored number against 50-digit arithmetic, and the hidden cases against their stated domain.

The oracle takes the float64 inputs as exact numbers and follows the contract's formulas in mpmath: what it gives
owes nothing to any implementation under test.
"""

from __future__ import annotations

import importlib
import math
from types import ModuleType

import numpy as np
import pytest
from mpmath import exp, log1p, mp, mpf

from grader.exercise import Case, Exercise
from grader.judge import error_in_tolerances
from grader.lessons.stable_dpo import DPO_GRAD, DPO_LOSS, EXERCISES, IMPLICIT_REWARD, LOSSES, PAIRS, WEIGHTS, pair_args
from grader.tolerance import DYADIC, PRINTED
from grader.values import Value

pytestmark = pytest.mark.dpo
mp.dps = 50
SMALLEST = 1e-300  # below it the contract asks only for a result that is no larger
SECRETS = range(5)


def margins(args: dict[str, Value]) -> list[mpf]:
    """z_i = beta ((log pi_w - log ref_w) - (log pi_l - log ref_l)), exact in the inputs."""
    *arrays, beta = args.values()
    columns = zip(*([mpf(float(x)) for x in array] for array in arrays), strict=True)
    return [mpf(float(beta)) * ((w - ref_w) - (lose - ref_l)) for w, lose, ref_w, ref_l in columns]


def softplus(x: mpf) -> mpf:
    """log(1 + e^x), by the symmetric form, so that 50 digits are enough for any size of x."""
    return x + log1p(exp(-x)) if x > 0 else log1p(exp(x))


def oracle(exercise: Exercise, args: dict[str, Value]) -> Value:
    """The contract's result in 50 digits, rounded to float64."""
    if exercise is IMPLICIT_REWARD:
        policy, ref, beta = args.values()
        return np.array(
            [float(mpf(float(beta)) * (mpf(float(p)) - mpf(float(r)))) for p, r in zip(policy, ref, strict=True)]
        )
    z = margins(args)
    if exercise is DPO_LOSS:
        return float(sum(softplus(-x) for x in z) / len(z))
    weight = np.array([float(mpf(float(args["beta"])) * exp(-softplus(x)) / len(z)) for x in z])
    return -weight, weight


def close(exercise: Exercise, case: Case, expected: Value, received: Value) -> bool:
    """Whether ``received`` is within the case's tolerance, element by element."""
    tolerance = case.tolerance or exercise.tolerance
    if isinstance(expected, tuple):
        return all(error_in_tolerances(tolerance, case, str(i), expected[i], received[i]) <= 1 for i in (0, 1))
    return error_in_tolerances(tolerance, case, "", expected, received) <= 1


def hidden(exercise: Exercise, part: str) -> ModuleType:
    return importlib.import_module(f"grader.hidden.{exercise.name}.{part}")


def hidden_cases(exercise: Exercise) -> list[Case]:
    """Five secrets' worth of hidden cases."""
    families = hidden(exercise, "cases").CASES
    return [case for seed in SECRETS for draw in families.values() for case in draw(np.random.default_rng(seed))]


def arrays_of(case: Case) -> list[np.ndarray]:
    return [value for value in case.args.values() if isinstance(value, np.ndarray)]


by_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)


@by_exercise
def test_authored_examples_agree_with_fifty_digits(exercise: Exercise) -> None:
    for group in exercise.groups:
        assert group.examples, group.name
        for case in group.examples:
            assert close(exercise, case, oracle(exercise, case.args), case.expected), (group.name, case.note)


def test_authored_literals_are_correctly_rounded() -> None:
    # stricter than any tolerance: all but the worked examples are the nearest float64, or its neighbour
    for name in PAIRS:
        args = pair_args(name)
        if name != "worked":
            weight = oracle(DPO_GRAD, args)[1]
            weight[weight < SMALLEST] = 0.0
            np.testing.assert_allclose(WEIGHTS[name], weight, rtol=3e-16, atol=0, err_msg=name)
        loss = oracle(DPO_LOSS, args)
        assert LOSSES[name] == pytest.approx(loss if loss >= SMALLEST else 0.0, rel=3e-16, abs=0), name


def test_worked_examples() -> None:
    # the printed numbers, typed here a second time
    worked = pair_args("worked")
    assert [list(x) for x in arrays_of(Case(worked))] == [
        [-12.0, -20.0, -8.0], [-15.0, -18.0, -9.0], [-13.0, -19.0, -8.5], [-14.0, -19.0, -8.5]
    ]  # fmt: skip
    assert worked["beta"] == 0.1
    assert LOSSES["worked"] == 0.6802247996122515
    assert WEIGHTS["worked"] == [0.01500553, 0.0183278, 0.01583403]
    rewards = [c for g in IMPLICIT_REWARD.groups if g.name == "every completion" for c in g.examples][:2]
    assert [list(c.expected) for c in rewards] == [[0.1, -0.1, 0.05], [-0.1, 0.1, -0.05]]
    printed = [c for g in DPO_GRAD.groups for c in g.examples if c.note == "worked"]
    assert printed
    assert all(case.tolerance is PRINTED for case in printed)


def test_swapping_a_pair_changes_the_loss_by_its_margin() -> None:
    # log(1 + e^z) - log(1 + e^-z) = z, and the two weights add up to beta / N
    (z,) = margins(pair_args("ordinary"))
    assert LOSSES["swapped"] - LOSSES["ordinary"] == pytest.approx(float(z), rel=1e-14)
    assert WEIGHTS["swapped"][0] + WEIGHTS["ordinary"][0] == pytest.approx(0.35, rel=1e-14)


def test_models_that_agree_lose_log_two() -> None:
    assert LOSSES["models agree"] == math.log(2)
    assert WEIGHTS["models agree"] == [0.1 / 2]


@pytest.mark.parametrize("name", [n for n in PAIRS if not n.startswith(("lost by", "won by", "lost and"))])
def test_gradients_agree_with_autograd(name: str) -> None:
    # float64 autograd through torch's log-sigmoid, at margins where it is exact enough
    torch = pytest.importorskip("torch")
    *arrays, beta = pair_args(name).values()
    w, lose, ref_w, ref_l = (torch.tensor(x, requires_grad=True) for x in arrays)
    loss = -torch.nn.functional.logsigmoid(beta * ((w - ref_w) - (lose - ref_l))).mean()
    preferred, rejected = torch.autograd.grad(loss, [w, lose])
    assert loss.item() == pytest.approx(LOSSES[name], rel=1e-12)
    digits = {"rtol": 0.0, "atol": 5e-9} if name == "worked" else {"rtol": 1e-10, "atol": 0.0}
    np.testing.assert_allclose(preferred.numpy(), -np.array(WEIGHTS[name]), **digits)
    np.testing.assert_allclose(rejected.numpy(), np.array(WEIGHTS[name]), **digits)


@by_exercise
def test_shape_of_the_exercise(exercise: Exercise) -> None:
    weights = {group.name: group.weight for group in exercise.groups}
    assert sum(weights.values()) == 20
    assert weights["numpy only"] <= 2
    assert weights["integer arrays"] == 0
    extremes = ("lost pairs", "won pairs", "deep log probabilities", "far range")
    assert sum(weights.get(name, 0) for name in extremes) <= 6
    assert list(hidden(exercise, "cases").CASES) == list(weights)


@by_exercise
def test_hidden_cases_lie_in_the_stated_domain(exercise: Exercise) -> None:
    for case in hidden_cases(exercise):
        arrays = arrays_of(case)
        assert 1 <= len(arrays[0]) <= 1000
        assert len({x.shape for x in arrays}) == 1
        assert all((x <= 0).all() and (x >= -5000).all() for x in arrays)
        assert 0 < case.args["beta"] <= 10
        if case.tolerance is DYADIC:
            assert all((x * 8 == np.round(x * 8)).all() for x in arrays)
            assert math.frexp(case.args["beta"])[0] == 0.5
            assert 1 / 8 <= case.args["beta"] <= 8


def test_hidden_rewards_are_zero_or_large_enough_to_judge() -> None:
    for case in hidden_cases(IMPLICIT_REWARD):
        gap = np.abs(case.args["policy_logprob"] - case.args["ref_logprob"])
        assert ((gap == 0) | (gap >= 0.0099)).all()


@pytest.mark.parametrize("exercise", [DPO_LOSS, DPO_GRAD], ids=lambda e: e.name)
def test_hidden_margins_meet_every_size(exercise: Exercise) -> None:
    lone = [float(z) for c in hidden_cases(exercise) for z in margins(c.args) if len(arrays_of(c)[0]) == 1]
    for size in (1, 20, 37, 40, 100, 700, 745, 3000, 5000 * 0.01, 5000, 50000):
        for sign in (1, -1):
            assert any(abs(z - sign * size) <= 1e-6 * size for z in lone), sign * size
    counts = {len(arrays_of(case)[0]) for case in hidden_cases(exercise)}
    assert {1, 2, 3, 1000} <= counts


@by_exercise
def test_sound_variants_agree_with_fifty_digits_on_hidden_cases(exercise: Exercise) -> None:
    module = hidden(exercise, "sound")
    variants = [
        f for name, f in vars(module).items() if callable(f) and getattr(f, "__module__", "") == module.__name__
    ]
    assert len(variants) >= 6
    for case in hidden_cases(exercise):
        expected = oracle(exercise, case.args)
        for variant in variants:
            fresh = [np.array(v) if isinstance(v, np.ndarray) else v for v in case.args.values()]
            with np.errstate(all="ignore"):  # the branch not taken may warn
                received = variant(*fresh)
            assert close(exercise, case, expected, received), (variant.__name__, case)
