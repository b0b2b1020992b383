"""Every tolerance against the contract's formula, written out by hand on small numbers."""

from __future__ import annotations

import numpy as np
import pytest

from grader import tolerance
from grader.course import exercises
from grader.values import tensor

KL_ARGS = {
    "policy_log_probs": tensor([[-1000.0, -2.0]]),
    "reference_log_probs": tensor([[-3000.0, -9.0]]),
    "rewards": tensor([3.0]),
    "response_mask": tensor([[True, False]], "bool"),
    "beta": 0.5,
}


def at(found: tolerance.Tolerance, args: dict, path: str, x: object) -> list[float]:
    return np.ravel(found.bound(args, path, np.asarray(x, dtype=float))).tolist()


def test_kl_bound_is_the_larger_of_two() -> None:
    # S = 1000 + 3000, over the selected position only: 4e-6 S = 0.016, above 1e-5 |x| = 0.02? no: 1e-5 * 2000 = 0.02
    assert at(tolerance.KL_SUM, KL_ARGS, "sampled_divergences", [2000.0]) == pytest.approx([0.02])
    assert at(tolerance.KL_SUM, KL_ARGS, "sampled_divergences", [1.0]) == pytest.approx([0.016])
    # |r| + beta S = 3 + 2000
    assert at(tolerance.KL_SUM, KL_ARGS, "penalized_rewards", [1.0]) == pytest.approx([4e-6 * 2003])
    assert at(tolerance.KL_SUM, KL_ARGS, "objective", 1.0) == pytest.approx([4e-6 * 2003])
    assert at(tolerance.KL_SUM, KL_ARGS, "gradient policy_log_probs", [0.5]) == pytest.approx([5e-6])


def test_logp_bound() -> None:
    args = {
        "logits": tensor([[1e4, -2e4], [5.0, 0.0], [7.0, 7.0]]),
        "tokens": tensor([0, 1, 0], "int64"),
        "mask": tensor([True, True, False], "bool"),
    }
    # one counted token, scored by the row before it, whose largest |logit| is 2e4; eps32 = 2^-23
    assert at(tolerance.LOGP, args, "", 3.0) == pytest.approx([4e-5 + 2 * 2**-23 * 2e4])


def test_spo_bound_depends_on_the_dtype() -> None:
    assert at(tolerance.SPO, {"logp_1": tensor([0.0])}, "", [2.0]) == pytest.approx([1e-5 + 2e-4])
    assert at(tolerance.SPO, {"logp_1": tensor([0.0], "float64")}, "", [2.0]) == pytest.approx([2e-9])


def test_exact_has_no_absolute_part() -> None:
    assert at(tolerance.EXACT, {}, "", [1e-200, -5.0]) == pytest.approx([1e-209, 5e-9], rel=1e-12, abs=0)
    # at or below 1e-300 only the size of the result is limited
    assert at(tolerance.EXACT, {}, "", [0.0]) == [1e-300]


def test_worked_tolerances() -> None:
    assert at(tolerance.WORKED_LOSS, {}, "", [0.5]) == pytest.approx([5e-13], rel=1e-12, abs=0)
    assert at(tolerance.DYADIC, {}, "", [0.5]) == pytest.approx([5e-13], rel=1e-12, abs=0)
    assert at(tolerance.PRINTED, {}, "0", [0.015]) == [5e-9]


def test_frontier_bounds() -> None:
    args = {"log_ref": np.array([-1.0, -2.0]), "rewards": np.array([4.0, -1.0]), "betas": np.array([1.0, 0.5])}
    # max |log ref| + |r|/beta: 1 + 4 = 5, 1 + 8 = 9
    assert at(tolerance.FRONTIER, args, "1", [0.0, 1.0]) == pytest.approx(
        [4 * 5e-14, 1e-9 + 4 * 9e-14], rel=1e-12, abs=0
    )
    assert at(tolerance.FRONTIER, args, "0", [0.0, 0.0]) == pytest.approx([4 * 4e-14, 4 * 4e-14], rel=1e-12, abs=0)
    args = {"log_ref": np.array([-1.0, -2.0]), "rewards": np.array([4.0, -1.0]), "beta": 0.5}
    assert at(tolerance.OPTIMAL, args, "", [0.0, -1.0]) == pytest.approx([9e-14, 1e-9 + 9e-14], rel=1e-12, abs=0)


def test_every_exercise_uses_a_named_tolerance_that_says_what_it_is() -> None:
    assert {e.tolerance for e in exercises().values()} <= set(tolerance.ALL)
    assert len({t.name for t in tolerance.ALL}) == len(tolerance.ALL)
    assert all(any(c.isdigit() for c in t.text) for t in tolerance.ALL)
