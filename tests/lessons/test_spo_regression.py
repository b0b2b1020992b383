"""Where the public numbers of lesson 2 come from, and that its hidden cases stay inside the contract.

`logp_completion` is checked against a softmax in 50 digits (mpmath), token by token; `spo_loss` against exact
fractions. Neither uses torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, product

import mpmath
import numpy as np
import pytest

from grader.exercise import Case
from grader.hidden.logp_completion.cases import CASES as LOGP_CASES
from grader.hidden.spo_loss.cases import CASES as SPO_CASES
from grader.lessons import spo_regression as lesson

LOGP, SPO = lesson.EXERCISES
SEEDS = range(5)


def _examples(groups: object, wanted: str = "") -> list[object]:
    return [
        pytest.param(case, id=f"{group.name}-{i}")
        for group in groups  # type: ignore[attr-defined]
        for i, case in enumerate(group.examples)
        if not wanted or case.differentiate
    ]


def _softmax(row: np.ndarray) -> list[mpmath.mpf]:
    with mpmath.workdps(50):
        powers = [mpmath.exp(mpmath.mpf(float(x))) for x in row]
        total = mpmath.fsum(powers)
        return [p / total for p in powers]


def _sequences(case: Case) -> Iterator[tuple[tuple[int, ...], np.ndarray, np.ndarray, np.ndarray]]:
    logits, tokens, mask = (case.args[name].data for name in ("logits", "tokens", "mask"))
    for at in product(*map(range, tokens.shape[:-1])):
        yield at, logits[at], tokens[at], mask[at]


def _counted(tokens: np.ndarray, mask: np.ndarray) -> list[int]:
    return [t for t in range(1, len(tokens)) if mask[t]]


@pytest.mark.parametrize("case", _examples(LOGP.groups))
def test_public_log_probabilities_in_fifty_digits(case: Case) -> None:
    assert case.expected.data.shape == case.args["tokens"].data.shape[:-1]
    for at, logits, tokens, mask in _sequences(case):
        with mpmath.workdps(50):
            terms = [mpmath.log(_softmax(logits[t - 1])[tokens[t]]) for t in _counted(tokens, mask)]
            total = float(mpmath.fsum(terms))
        assert float(case.expected.data[at]) == pytest.approx(total, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("case", _examples(LOGP.groups, "gradient"))
def test_public_slopes_are_what_was_written_minus_the_softmax(case: Case) -> None:
    for at, logits, tokens, mask in _sequences(case):
        slopes = np.zeros(logits.shape)
        for t in _counted(tokens, mask):
            slopes[t - 1] = [float((k == tokens[t]) - p) for k, p in enumerate(_softmax(logits[t - 1]))]
        np.testing.assert_allclose(case.expected_gradients["logits"].data[at], slopes, rtol=1e-6, atol=1e-9)


def test_large_examples_by_hand() -> None:
    # one logit of each position leads by so much that log Z is that logit: each term is a distance to it
    first = (-10000 - 10000) + (0 - 300) + (-10000 + 9000)
    second = (-300 - 150) + (10000 - 10000) + (9960 - 10000)
    assert list(lesson.LARGE.expected.data) == [first, second]


def _fractions(case: Case) -> list[list[Fraction]]:
    columns = [np.ravel(case.args[name].data) for name in lesson.PAIR]
    return [[Fraction(float(x)) for x in row] for row in zip(*columns, strict=True)]


def _residuals(case: Case) -> list[Fraction]:
    beta = Fraction(case.args["beta"])
    return [
        ((first - reference_1) - (second - reference_2)) - (reward_1 - reward_2) / beta
        for first, second, reference_1, reference_2, reward_1, reward_2 in _fractions(case)
    ]


@pytest.mark.parametrize("case", _examples(SPO.groups))
def test_public_losses_are_beta_over_four_times_the_squared_residual(case: Case) -> None:
    losses = [float(Fraction(case.args["beta"]) / 4 * residual**2) for residual in _residuals(case)]
    expected = case.expected.data
    assert expected.shape == case.args["logp_1"].data.shape
    exact = 1e-12 if case.expected.dtype == "float64" else 1e-6
    np.testing.assert_allclose(np.ravel(expected), losses, rtol=exact)


@pytest.mark.parametrize("case", _examples(SPO.groups, "gradient"))
def test_public_slopes_are_beta_over_two_times_the_residual_and_opposite(case: Case) -> None:
    slopes = [float(Fraction(case.args["beta"]) / 2 * residual) for residual in _residuals(case)]
    np.testing.assert_allclose(np.ravel(case.expected_gradients["logp_1"].data), slopes, rtol=1e-6)
    np.testing.assert_allclose(np.ravel(case.expected_gradients["logp_2"].data), np.negative(slopes), rtol=1e-6)


def test_losses_by_hand() -> None:
    # log ratios -2 + 4 = 2 and -3.5 + 2.25 = -1.25; equal rewards; beta 0.5
    assert lesson.EQUAL.expected.data == 0.5 / 4 * (2 - -1.25) ** 2
    # the same ratios, a reward gap of 1.25 counted as 1.25 / 0.5 = 2.5
    assert lesson.GAP.expected.data == 0.5 / 4 * (3.25 - 2.5) ** 2
    # ratios -2.5 and 6.75, gap 7.5 / 10
    assert lesson.LARGE_BETA.expected.data == 10 / 4 * (-2.5 - 6.75 - 0.75) ** 2


@pytest.mark.parametrize(("exercise", "cases"), [(LOGP, LOGP_CASES), (SPO, SPO_CASES)])
def test_weights_and_groups(exercise: object, cases: dict[str, object]) -> None:
    groups = exercise.groups  # type: ignore[attr-defined]
    assert sum(group.weight for group in groups) == 20
    assert [group.name for group in groups] == list(cases)
    assert all(group.examples for group in groups)


def _logp_drawn(seed: int) -> list[tuple[str, Case]]:
    return [(name, case) for name, draw in LOGP_CASES.items() for case in draw(np.random.default_rng(seed))]


@pytest.mark.parametrize("seed", SEEDS)
def test_hidden_sequences_stay_inside_the_contract(seed: int) -> None:
    drawn = _logp_drawn(seed)
    assert 50 <= len(drawn) <= 100
    for name, case in drawn:
        logits, tokens, mask = (case.args[n].data for n in LOGP.signature)
        assert logits.shape[:-1] == tokens.shape == mask.shape
        assert tokens.ndim - 1 <= 3
        assert tokens.shape[-1] <= 64
        assert tokens.min() >= 0
        assert tokens.max() < logits.shape[-1]
        assert np.abs(logits).max() <= 1e4 or name == "masked inf"
        assert not mask[..., 0].any() or name in ("position 0", "nothing to count", "inputs")
        assert name in ("large logits", "gradient", "masked inf") or np.abs(logits).max() < 30


@pytest.mark.parametrize("seed", SEEDS)
def test_slopes_at_large_logits_are_asked_for_only_where_every_sound_form_has_them(seed: int) -> None:
    """logsumexp near 1e4 is rounded to 1e-3 in float32, which shows in the slopes unless one logit leads by far."""
    for case in LOGP_CASES["gradient"](np.random.default_rng(seed)):
        logits = case.args["logits"].data
        if np.abs(logits).max() > 100:
            assert all(
                b - a > 30 for row in np.sort(logits, -1).reshape(-1, logits.shape[-1]) for a, b in pairwise(row)
            )


def _spo_drawn(seed: int) -> list[tuple[str, Case]]:
    return [(name, case) for name, draw in SPO_CASES.items() for case in draw(np.random.default_rng(seed))]


@pytest.mark.parametrize("seed", SEEDS)
def test_hidden_pairs_stay_inside_the_contract(seed: int) -> None:
    drawn = _spo_drawn(seed)
    assert 40 <= len(drawn) <= 100
    for name, case in drawn:
        beta = case.args["beta"]
        assert 1e-3 <= beta <= 10
        for log_prob in lesson.PAIR[:4]:
            largest = np.abs(case.args[log_prob].data).max()
            assert largest <= 30
            assert beta * largest <= 100 * (1 + 1e-6)
        for residual in _residuals(case):
            assert abs(residual) >= 0.25
            assert min(abs(abs(residual) - x) for x in (Fraction(1, 2), 1, 2)) > 0.01
        equal = np.array_equal(case.args["reward_1"].data, case.args["reward_2"].data)
        assert equal == (name == "log ratios")
        assert np.all(case.args["reward_2"].data != 0)


@pytest.mark.parametrize("draw", [_logp_drawn, _spo_drawn])
def test_the_same_seed_draws_the_same_cases_and_another_does_not(draw: object) -> None:
    def numbers(seed: int) -> list[bytes]:
        return [v.data.tobytes() for _, c in draw(seed) for v in c.args.values() if hasattr(v, "data")]  # type: ignore[operator]

    assert numbers(1) == numbers(1)
    assert numbers(1) != numbers(2)
