"""Hidden cases of `reward_kl_frontier`.

Ordinary groups keep the KL above about 1e-3, where every sound form is good to 1e-9. At the far end, where it
vanishes as Var(r)/(2 beta²), the tolerance allows for the rounding of the terms that cancel. Near ties stay at tilts
of 800: E[r]/beta - log Z is a sound way to the KL, and loses the square of the tilt in rounding where both answers
count. Tilts of 10000 come with one clear best answer, where it loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from grader.exercise import Case
from grader.hidden.optimal_policy.cases import rare, reference, very_rare

Rng = np.random.Generator


def _case(log_ref: np.ndarray, rewards: np.ndarray, betas: Sequence[float] | np.ndarray) -> Case:
    return Case({"log_ref": log_ref, "rewards": rewards, "betas": np.asarray(betas)})


def _rewards(rng: Rng, count: int) -> np.ndarray:
    """Rewards of either sign, at least some way apart, with a mean away from zero."""
    spread = np.linspace(-1.0, 2.5, count) if count > 1 else np.array([1.0])
    return np.asarray(rng.choice([-1.0, 1.0]) * rng.permutation(spread + rng.uniform(0.0, 0.3, count)))


def curves(rng: Rng) -> list[Case]:
    """Rising betas from 0.05 to 10, K from 2 to 40."""
    found = []
    for count in (2, 3, 3, 5, 5, 8, 20, 40):
        betas = np.sort(np.exp(rng.uniform(np.log(0.05), np.log(10.0), int(rng.integers(2, 7)))))
        found.append(_case(reference(rng, count), _rewards(rng, count), betas))
    found += [_case(rare(rng), np.array([3.0, 0.5, -1.0]) * rng.uniform(0.8, 1.2), [0.1, 0.4, 2.0]) for _ in range(2)]
    offset = float(rng.choice([-5.0, 5.0]))
    return [*found, _case(reference(rng, 6), offset + _rewards(rng, 6), [0.3, 1.0, 3.0])]


def order(rng: Rng) -> list[Case]:
    """Falling and shuffled betas, a repeated one, one alone, thirty; as many betas as answers."""
    found = []
    for betas in ([4.0, 1.5, 0.6, 0.2], [0.9, 3.0, 0.3, 3.0, 0.12], [0.7], [2.5], np.exp(rng.uniform(-2, 2, 30))):
        shaken = np.asarray(betas) * float(rng.uniform(0.8, 1.2))
        found.append(_case(reference(rng, 5), _rewards(rng, 5), shaken))
    square = rng.permutation([0.2, 0.5, 1.1, 2.3])
    return [*found, _case(reference(rng, 4), _rewards(rng, 4), square)]


def ends(rng: Rng) -> list[Case]:
    """Tilts of 700 to 10000, betas up to 1000, both in one call, equal rewards, one answer."""
    found = [_case(reference(rng, 4), _rewards(rng, 4), betas) for betas in ([3e-4], [0.002, 0.001], [100.0, 1000.0])]
    found.append(_case(reference(rng, 5), _rewards(rng, 5), [300.0, 3e-4, 1.0, 30.0, 0.003]))
    top = np.array([8.0, 8.0 - 0.01 * rng.uniform(0.5, 2.0), -8.0])
    for scale in (1.0, -1.0, 0.1, 0.02):
        found.append(_case(reference(rng, 3), scale * top, abs(scale) * np.array([0.01, 0.1])))
    found.append(_case(reference(rng, 4), np.full(4, rng.uniform(0.5, 2.0)), [0.2, 2.0]))
    found.append(_case(very_rare(rng), np.array([3.0, 0.5, -1.0]), [0.01, 0.05]))
    return [*found, _case(np.zeros(1), rng.uniform(0.5, 2.0, 1), [0.1, 1.0])]


def properties(rng: Rng) -> list[Case]:
    """One, two, three and ten betas."""
    return [_case(reference(rng, 4), _rewards(rng, 4), rng.uniform(0.2, 3.0, count)) for count in (1, 2, 3, 10)]


def integers(rng: Rng) -> list[Case]:
    """Whole rewards and betas in int64 arrays."""
    return [_case(reference(rng, count), rng.permutation(count + 1)[1:], np.array([3, 1])) for count in (3, 4)]


CASES: dict[str, Callable[[Rng], list[Case]]] = {
    "expected reward": curves,
    "divergence": curves,
    "order of betas": order,
    "ends of the frontier": ends,
    "return type": properties,
    "inputs untouched": properties,
    "integer rewards": integers,
}
