"""Every tolerance of the course, by name. Lessons quote `Tolerance.text`; the judge calls `Tolerance.bound`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from grader.values import Value, as_array, dtype_of

Args = Mapping[str, Value]
TINY = 1e-300


@dataclass(frozen=True)
class Tolerance:
    """``bound(args, path, expected)`` is the largest accepted |received - expected|, elementwise.

    ``path`` is the key or position in the result, or ``gradient NAME`` for a gradient.
    """

    name: str
    text: str
    bound: Callable[[Args, str, np.ndarray], np.ndarray]


def relative(rtol: float, name: str, text: str) -> Tolerance:
    """Relative error only: where |expected| <= 1e-300, |received| must not exceed 1e-300."""

    def bound(args: Args, path: str, expected: np.ndarray) -> np.ndarray:
        size = np.abs(expected)
        return np.asarray(np.where(size > TINY, rtol * size, TINY + size))

    return Tolerance(name, text, bound)


def mixed(rtol: float, atol: float, name: str, text: str) -> Tolerance:
    """|error| <= atol + rtol |expected|."""
    return Tolerance(name, text, lambda args, path, expected: atol + rtol * np.abs(expected))


def _numbers(args: Args, name: str) -> np.ndarray:
    found = as_array(args[name])
    assert found is not None, name
    return np.asarray(found.astype(np.float64))


def _masked_size(args: Args) -> np.ndarray:
    """S_i = sum of |log pi| + |log ref| over the selected positions of row i."""
    size = np.abs(_numbers(args, "policy_log_probs")) + np.abs(_numbers(args, "reference_log_probs"))
    return np.asarray(np.where(_numbers(args, "response_mask") != 0, size, 0.0).sum(-1))


def _fit(size: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """``size`` in the shape of ``expected``; its largest entry where a misconception answers in another size."""
    return size.reshape(expected.shape) if size.size == expected.size else np.asarray(size.max(initial=0.0))


def _kl_bound(args: Args, path: str, expected: np.ndarray) -> np.ndarray:
    plain = 1e-5 * np.maximum(1.0, np.abs(expected))
    if path.startswith("gradient"):
        return np.asarray(1e-5 * np.abs(expected) + 1e-12)
    size = _masked_size(args)
    if path != "sampled_divergences":
        size = np.abs(_numbers(args, "rewards")) + abs(float(_numbers(args, "beta"))) * size
    if path == "objective":
        size = np.asarray(size.mean() if size.size else 0.0)
    return np.asarray(np.maximum(plain, 4e-6 * np.nan_to_num(_fit(size, expected), nan=0.0, posinf=0.0)))


def _logp_bound(args: Args, path: str, expected: np.ndarray) -> np.ndarray:
    if path.startswith("gradient"):
        return np.asarray(1e-5 * (1 + np.abs(expected)))
    largest = np.abs(np.nan_to_num(_numbers(args, "logits"), neginf=0.0)).max(-1, initial=0.0)
    counted = np.asarray((_numbers(args, "mask")[..., 1:] * largest[..., :-1]).sum(-1))
    return np.asarray(1e-5 * (1 + np.abs(expected)) + 2 * float(np.finfo(np.float32).eps) * _fit(counted, expected))


def _spo_bound(args: Args, path: str, expected: np.ndarray) -> np.ndarray:
    if dtype_of(args["logp_1"]) == "float64":
        return np.asarray(1e-9 * np.abs(expected))
    return np.asarray(1e-5 + 1e-4 * np.abs(expected))


KL_SUM = Tolerance(
    "summation order",
    "max(1e-5 · max(1, ∣x∣), 4e-6 · S), with S = Σ m(∣ℓπ∣ + ∣ℓref∣) for a divergence, ∣r∣ + βS for a penalized "
    "reward and its mean for the objective; gradients 1e-5 relative",
    _kl_bound,
)
LOGP = Tolerance(
    "log-softmax rounding",
    "1e-5 · (1 + ∣x∣) + 2 · eps32 · Σ mask · max∣logits∣; gradients 1e-5 · (1 + ∣x∣)",
    _logp_bound,
)
SPO = Tolerance("pair regression", "float32: 1e-5 + 1e-4 · ∣x∣; float64: 1e-9 · ∣x∣", _spo_bound)
SIX_DIGITS = relative(1e-6, "six digits", "relative error ≤ 1e-6")
EXACT = relative(1e-9, "exact", "relative error ≤ 1e-9 wherever ∣x∣ > 1e-300, no absolute tolerance")
DYADIC = relative(1e-12, "dyadic", "relative error ≤ 1e-12 where every input is a multiple of 1/8 and β a power of two")
WORKED_LOSS = relative(1e-12, "worked loss", "relative error ≤ 1e-12")
PRINTED = mixed(0.0, 5e-9, "printed digits", "absolute error ≤ 5e-9 (the example is printed to 8 decimals)")


def _tilted_size(args: Args, betas: str) -> np.ndarray:
    """max over k of |log pi_ref| + |r| / beta, one per beta: the size of the terms that cancel."""
    beta = _numbers(args, betas)[..., None]
    return np.asarray((np.abs(_numbers(args, "log_ref")) + np.abs(_numbers(args, "rewards")) / beta).max(-1))


def _optimal_bound(args: Args, path: str, expected: np.ndarray) -> np.ndarray:
    return np.asarray(1e-9 * np.abs(expected) + 1e-14 * _tilted_size(args, "beta"))


def _frontier_bound(args: Args, path: str, expected: np.ndarray) -> np.ndarray:
    terms = np.abs(_numbers(args, "rewards")).max() if path == "0" else _tilted_size(args, "betas")
    if terms.shape != expected.shape:  # two wrong results compared with each other
        terms = terms.max()
    return np.asarray(1e-9 * np.abs(expected) + 4e-14 * terms)


OPTIMAL = Tolerance(
    "normalized log probabilities",
    "1e-9 · ∣x∣ + 1e-14 · max(∣log π_ref∣ + ∣r∣/β): the second term is the rounding of what cancels where π* is near 1",
    _optimal_bound,
)
FRONTIER = Tolerance(
    "frontier",
    "1e-9 · ∣x∣ + 4e-14 · S, with S = max∣r∣ for the expected reward and max(∣log π_ref∣ + ∣r∣/β) for the KL: the "
    "second term is the rounding of what cancels where the KL is near 0",
    _frontier_bound,
)
#: Every tolerance of this file: those of a cluster's workers are found by their names.
ALL = tuple(value for value in list(globals().values()) if isinstance(value, Tolerance))
