"""Hidden cases of `implicit_reward`: the log probabilities are equal or at least 0.01 apart.

A closer pair could not be judged to 1e-9: beta times each log probability first is a sound order too. Equal ones
come with a power of two for beta, so that a fused multiply-add leaves no dust.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grader.exercise import Case
from grader.tolerance import DYADIC

Rng = np.random.Generator


def _case(policy: np.ndarray, ref: np.ndarray, beta: float, exact: bool = False) -> Case:
    args = {"policy_logprob": policy, "ref_logprob": ref, "beta": beta}
    return Case(args, tolerance=DYADIC if exact else None)


def _near(rng: Rng, count: int, beta: float, depth: float = 0.0) -> Case:
    """References a little below ``depth``; policies 0.05 to 4 away, both ways."""
    ref = depth - rng.uniform(5.0, 60.0, count)
    signs = np.where(rng.permutation(count) % 2 == 0, 1.0, -1.0) * rng.choice([-1.0, 1.0])
    return _case(ref + signs * rng.uniform(0.05, 4.0, count), ref, beta)


def formula(rng: Rng) -> list[Case]:
    """One completion, either sign, beta from 0.001 to 10 (ints among them), and equal models."""
    betas = (0.001, 0.01, 0.03, 0.1, 0.25, 0.5, 1, 2, 3.3, 5.0, 10.0, float(rng.uniform(0.05, 3.0)))
    same = -rng.uniform(1.0, 40.0, 1)
    tiny = _case(-rng.uniform(1500.0, 2500.0, 1), -rng.uniform(5.0, 20.0, 1), 1e-4)
    return [*(_near(rng, 1, beta) for beta in betas), tiny, _case(same, same.copy(), 0.5)]


def every(rng: Rng) -> list[Case]:
    """N = 2, 3, 5 and 1000; entries of both signs, one of them exactly zero."""
    found = [_near(rng, count, float(rng.choice([0.1, 0.3, 0.7, 2.5]))) for count in (2, 2, 3, 3, 5, 1000)]
    policy = -rng.uniform(1.0, 40.0, 4)
    return [*found, _case(policy, policy + np.array([0.0, 0.5, -0.75, 0.01]), 0.5)]


def far(rng: Rng) -> list[Case]:
    """Near -5000; thousands apart; 0.01 apart; a log probability of 0; multiples of 1/8 to twelve digits."""
    found = [_near(rng, count, beta, -4930.0) for count in (1, 3) for beta in (0.01, 0.3, 1.0, 10.0)]
    for count, beta in ((1, 10.0), (3, 0.3)):
        high, low = -rng.uniform(0.0, 2400.0, count), -rng.uniform(2600.0, 5000.0, count)
        found += [_case(high, low, beta), _case(low, high, beta)]
    ends = np.array([0.0, -5000.0])
    found += [_case(ends, ends[::-1].copy(), beta) for beta in (0.01, 10.0)]
    close = -rng.uniform(4900.0, 4999.0, 2)
    found.append(_case(close, close + np.array([0.011, -0.011]), 0.1))
    for beta in (0.125, 0.5, 1, 2.0, 8.0):
        policy, ref = (-rng.integers(0, 40000, 3) / 8 for _ in range(2))
        found.append(_case(policy, ref, beta, exact=True))
    return found


def properties(rng: Rng) -> list[Case]:
    """N = 1, 2, 3 and 1000."""
    return [_near(rng, count, 0.3) for count in (1, 2, 3, 1000)]


def untouched(rng: Rng) -> list[Case]:
    """As `properties`, and sizes so far apart that subtracting and adding back does not restore an argument."""
    far_apart = [(-rng.uniform(5.0, 20.0, 3), -rng.uniform(1500.0, 2500.0, 3)) for _ in range(2)]
    return [
        *properties(rng),
        *(_case(*pair, 0.013) for pair in far_apart),
        *(_case(*pair[::-1], 3.1) for pair in far_apart),
    ]


def integers(rng: Rng) -> list[Case]:
    """Whole log probabilities in int64 arrays; beta makes the reward fractional."""
    draws = [(-rng.integers(1, 30, n), -rng.integers(31, 60, n)) for n in (1, 3)]
    return [_case(policy, ref, 0.3) for policy, ref in draws]


CASES: dict[str, Callable[[Rng], list[Case]]] = {
    "formula": formula,
    "every completion": every,
    "far range": far,
    "return type": properties,
    "inputs untouched": untouched,
    "numpy only": lambda rng: [],
    "integer arrays": integers,
}
