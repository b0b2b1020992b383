"""Hidden cases of `optimal_policy`: K from 1 to 40 answers, normalized references, tilts up to ±10000."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grader.exercise import Case

Rng = np.random.Generator


def reference(rng: Rng, count: int) -> np.ndarray:
    """A normalized log distribution whose probabilities span a few powers of ten."""
    logits = rng.normal(0.0, 1.5, count)
    logits -= logits.max()
    return np.asarray(logits - np.log(np.exp(logits).sum()))


def rare(rng: Rng) -> np.ndarray:
    """A normalized log distribution of three answers that gives the first about one part in 10⁷."""
    first, share = 10.0 ** rng.uniform(-8.0, -6.0), float(rng.uniform(0.3, 0.7))
    return np.asarray(np.log([first, (1.0 - first) * share, (1.0 - first) * (1.0 - share)]))


def very_rare(rng: Rng) -> np.ndarray:
    """A log distribution whose first answer has a log probability of -60 to -200: still an answer, and it may win."""
    share = float(rng.uniform(0.3, 0.7))
    return np.array([-float(rng.uniform(60.0, 200.0)), np.log(share), np.log1p(-share)])


def _case(log_ref: np.ndarray, rewards: np.ndarray, beta: float) -> Case:
    return Case({"log_ref": log_ref, "rewards": rewards, "beta": beta})


def _draw(rng: Rng, count: int, beta: float, tilt: float) -> Case:
    """Rewards such that rewards / beta spread over ±``tilt``."""
    rewards = beta * tilt * rng.permutation(np.linspace(-1.0, 1.0, count) + rng.uniform(-0.2, 0.2, count))
    return _case(reference(rng, count), rewards, beta)


def tilt(rng: Rng) -> list[Case]:
    """Ordinary tilts, beta from 0.05 to 10 (an int among them), rewards far from zero, equal rewards."""
    betas = (0.05, 0.1, 0.25, 0.5, 1, 2, 3.3, 10.0)
    found = [_draw(rng, count, beta, float(rng.uniform(1.0, 3.0))) for beta in betas for count in (2, 5)]
    for count in (3, 20, 40):
        log_ref, offset = reference(rng, count), float(rng.choice([-8.0, 8.0]))
        found.append(_case(log_ref, offset + rng.normal(0.0, 1.0, count), float(rng.uniform(0.5, 3.0))))
    found.append(_case(rare(rng), np.array([9.0, 0.5, -1.0]) * rng.uniform(0.8, 1.2), 0.5))
    found.append(_case(very_rare(rng), np.array([3.0, 0.5, -1.0]), 0.05))
    return [*found, _case(reference(rng, 4), np.full(4, rng.uniform(0.5, 2.0)), 0.4)]


def ends(rng: Rng) -> list[Case]:
    """beta from 0.0005 to 3000 at rewards of about 1: tilts from 5000 down to 1/3000."""
    betas = (0.0005, 0.01, 0.015, 0.02, 0.05, 30.0, 100.0, 300.0, 1000.0, 3000.0)
    return [_case(reference(rng, 5), rng.uniform(-1.5, 2.5, 5), beta) for beta in betas]


def far(rng: Rng) -> list[Case]:
    """Tilts of ±700 to ±10000: spread out, all large, all very negative, and nearly tied at the top."""
    found = [_draw(rng, count, beta, t) for count, beta in ((2, 0.001), (5, 0.01), (20, 1.0)) for t in (800.0, 8000.0)]
    for sign in (1.0, -1.0):
        for level in (720.0, 3000.0, 9990.0):
            beta = float(rng.choice([1e-3, 0.1]))
            found.append(_case(reference(rng, 4), beta * (sign * level + rng.uniform(-3.0, 3.0, 4)), beta))
    top = np.array([10.0, 10.0 - 0.001 * rng.uniform(0.5, 2.0), -10.0])
    return [*found, _case(reference(rng, 3), top, 1e-3), _case(reference(rng, 3), -top, 1e-3)]


def properties(rng: Rng) -> list[Case]:
    """K = 1, 2, 3 and 20."""
    return [_case(reference(rng, count), rng.uniform(-1.0, 2.0, count), 0.5) for count in (1, 2, 3, 20)]


def integers(rng: Rng) -> list[Case]:
    """Whole rewards in int64 arrays."""
    return [_case(reference(rng, count), rng.permutation(count + 1)[1:], 0.5) for count in (2, 4)]


CASES: dict[str, Callable[[Rng], list[Case]]] = {
    "tilt": tilt,
    "both ends of beta": ends,
    "large tilts": far,
    "return type": properties,
    "inputs untouched": properties,
    "integer rewards": integers,
}
