"""Lesson 4: every authored number against 50-digit arithmetic, and the hidden cases against their stated domain.

The oracle takes the float64 inputs as exact numbers: log pi* = log ref + r/beta - log Z with
Z = sum of ref e^(r/beta); E[r] and the KL are sums over the answers under pi*.
"""

from __future__ import annotations

import importlib
from types import ModuleType

import numpy as np
import pytest
from mpmath import exp, log, mp, mpf

from grader.exercise import Case, Exercise
from grader.judge import error_in_tolerances
from grader.lessons.reward_kl_frontier import EXERCISES, OPTIMAL_POLICY, REWARD_KL_FRONTIER
from grader.values import Value

pytestmark = pytest.mark.frontier
mp.dps = 50
SECRETS = range(5)


def log_optimal(args: dict[str, Value], beta: float) -> tuple[list[mpf], mpf]:
    """log pi* and log Z for one beta."""
    tilted = [
        mpf(float(a)) + mpf(float(r)) / mpf(float(beta)) for a, r in zip(args["log_ref"], args["rewards"], strict=True)
    ]
    top = max(tilted)
    log_z = top + log(sum(exp(x - top) for x in tilted))
    return [x - log_z for x in tilted], log_z


def point(args: dict[str, Value], beta: float) -> tuple[mpf, mpf, mpf]:
    """Expected reward, KL and log Z for one beta."""
    log_policy, log_z = log_optimal(args, beta)
    reward = sum(exp(p) * mpf(float(r)) for p, r in zip(log_policy, args["rewards"], strict=True))
    kl = sum(exp(p) * (p - mpf(float(a))) for p, a in zip(log_policy, args["log_ref"], strict=True))
    return reward, kl, log_z


def oracle(exercise: Exercise, args: dict[str, Value]) -> Value:
    """The contract's result in 50 digits, rounded to float64."""
    if exercise is OPTIMAL_POLICY:
        return np.array([float(x) for x in log_optimal(args, args["beta"])[0]])
    points = [point(args, beta) for beta in args["betas"]]
    return tuple(np.array([float(p[i]) for p in points]) for i in (0, 1))


def errors(exercise: Exercise, case: Case, expected: Value, received: Value) -> list[float]:
    """Errors in tolerances, entry by entry."""
    tolerance = case.tolerance or exercise.tolerance
    if isinstance(expected, tuple):
        return [error_in_tolerances(tolerance, case, str(i), expected[i], received[i]) for i in (0, 1)]
    return [error_in_tolerances(tolerance, case, "", expected, received)]


def hidden(exercise: Exercise, part: str) -> ModuleType:
    return importlib.import_module(f"grader.hidden.{exercise.name}.{part}")


def hidden_cases(exercise: Exercise, group: str = "") -> list[Case]:
    """Five secrets' worth of hidden cases, of one group or of all."""
    families = hidden(exercise, "cases").CASES
    draws = [families[group]] if group else families.values()
    return [case for seed in SECRETS for draw in draws for case in draw(np.random.default_rng(seed))]


by_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)


@by_exercise
def test_authored_examples_agree_with_fifty_digits(exercise: Exercise) -> None:
    for group in exercise.groups:
        assert group.examples, group.name
        for case in group.examples:
            expected = oracle(exercise, case.args)
            assert max(errors(exercise, case, expected, case.expected)) <= 1, (group.name, case.note)
            # and far closer than the tolerance: only what is 0 but for the rounding of log ref differs
            np.testing.assert_allclose(case.expected, expected, rtol=1e-15, atol=1e-16, err_msg=case.note)


def test_tilting_by_hand() -> None:
    # probabilities 1/2, 3/10, 1/5 and rewards 1, 0, 2 at beta = 1/2: weights e^2/2, 3/10, e^4/5
    weights = np.array([np.exp(2) / 2, 0.3, np.exp(4) / 5])
    (case, *_) = OPTIMAL_POLICY.group("tilt").examples
    np.testing.assert_allclose(case.expected, np.log(weights / weights.sum()), rtol=1e-13)


def test_objective_at_the_optimum_is_beta_times_log_normalizer() -> None:
    # J*(beta) = beta log Z = E[r] - beta KL
    for case in (case for group in REWARD_KL_FRONTIER.groups for case in group.examples):
        for beta, reward, kl in zip(case.args["betas"], *case.expected, strict=True):
            log_z = point(case.args, beta)[2]
            assert reward - beta * kl == pytest.approx(float(beta * log_z), rel=1e-12)


def test_higher_beta_keeps_the_optimum_closer() -> None:
    for case in REWARD_KL_FRONTIER.group("divergence").examples:
        reward, kl = case.expected
        assert (np.diff(case.args["betas"]) > 0).all()
        assert (np.diff(kl) < 0).all()
        assert (np.diff(reward) < 0).all()


@by_exercise
def test_shape_of_the_exercise(exercise: Exercise) -> None:
    weights = {group.name: group.weight for group in exercise.groups}
    assert sum(weights.values()) == 20
    assert sum(weights.get(name, 0) for name in ("large tilts", "ends of the frontier")) <= 6
    assert weights["integer rewards"] == 0
    assert list(hidden(exercise, "cases").CASES) == list(weights)


@by_exercise
def test_hidden_references_are_normalized_and_tilts_in_range(exercise: Exercise) -> None:
    for case in hidden_cases(exercise):
        assert np.exp(case.args["log_ref"]).sum() == pytest.approx(1.0, rel=1e-14)
        betas = np.atleast_1d(case.args.get("betas", case.args.get("beta")))
        assert (betas > 0).all()
        assert (np.abs(case.args["rewards"])[:, None] / betas).max() <= 10_050


def test_hidden_tilts_reach_ten_thousand() -> None:
    for exercise, group in ((OPTIMAL_POLICY, "large tilts"), (REWARD_KL_FRONTIER, "ends of the frontier")):
        largest = [
            np.abs(c.args["rewards"]).max() / np.min(c.args.get("betas", c.args.get("beta")))
            for c in hidden_cases(exercise, group)
        ]
        assert max(largest) > 7000, exercise.name


@pytest.mark.parametrize("group", ["expected reward", "divergence", "order of betas"])
def test_one_part_in_a_billion_governs_the_ordinary_groups(group: str) -> None:
    # there the rounding term of the tolerance stays well below what 1e-9 allows
    for case in hidden_cases(REWARD_KL_FRONTIER, group):
        expected = oracle(REWARD_KL_FRONTIER, case.args)
        for path, values in enumerate(expected):
            bound = REWARD_KL_FRONTIER.tolerance.bound(case.args, str(path), values)
            assert (bound <= 1.5e-9 * np.abs(values) + (1e-12 if path == 0 else 0)).all(), (case, path)


@by_exercise
def test_sound_variants_agree_with_fifty_digits_on_hidden_cases(exercise: Exercise) -> None:
    module = hidden(exercise, "sound")
    names = [n for n, f in vars(module).items() if getattr(f, "__module__", "") == module.__name__ and n[0] != "_"]
    assert len(names) >= 6
    for case in hidden_cases(exercise):
        expected = oracle(exercise, case.args)
        for name in names:
            fresh = [np.array(v) if isinstance(v, np.ndarray) else v for v in case.args.values()]
            with np.errstate(all="ignore"):  # zero times minus infinity, dropped by nansum
                received = getattr(module, name)(*fresh)
            assert max(errors(exercise, case, expected, received)) <= 1, (name, case)
