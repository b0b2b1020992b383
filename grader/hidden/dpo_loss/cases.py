"""Hidden cases of `dpo_loss`, and the batches of pairs that `dpo_grad` shares.

Margins are asked for and log probabilities drawn around them, so that every range of the margin is met at every
depth, with references away from zero. Extremes stand alone (N = 1): a batch mean hides a small term.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from grader.exercise import Case
from grader.tolerance import DYADIC, Tolerance

Rng = np.random.Generator
FLOOR = -5000.0
NAMES = ("policy_logprob_preferred", "policy_logprob_rejected", "ref_logprob_preferred", "ref_logprob_rejected")


def _case(policy: Sequence[np.ndarray], ref: Sequence[np.ndarray], beta: float, tight: Tolerance | None = None) -> Case:
    arrays = dict(zip(NAMES, (*policy, *ref), strict=True))
    return Case({**{k: np.clip(v, FLOOR, 0.0) + 0.0 for k, v in arrays.items()}, "beta": beta}, tolerance=tight)


def _reference(rng: Rng, shift: np.ndarray, deep: bool) -> np.ndarray:
    """Reference log probabilities such that they and they + ``shift`` lie in [-5000, 0], near one of the ends."""
    low, high = np.maximum(FLOOR, FLOOR - shift), np.minimum(0.0, -shift)
    step = np.minimum(rng.uniform(0.5, 30.0, shift.shape), high - low)
    return np.asarray(low + step if deep else high - step)


def pairs(rng: Rng, margins: Sequence[float], beta: float, deep: bool = False) -> Case:
    """Pairs with about these ``margins`` (z, not divided by beta), ordinary decimals, non-zero references."""
    gap = np.asarray(margins, dtype=np.float64) / beta
    shift_w = gap * rng.uniform(0.3, 0.7, gap.shape)
    shift_l = shift_w - gap
    ref_w, ref_l = _reference(rng, shift_w, deep), _reference(rng, shift_l, deep)
    return _case((ref_w + shift_w, ref_l + shift_l), (ref_w, ref_l), beta)


def eighths(rng: Rng, margins: Sequence[float], beta: float) -> Case:
    """Pairs with exactly these ``margins``; every input a multiple of 1/8, beta a power of two."""
    gap = np.asarray(margins, dtype=np.float64) / beta
    shift_w = np.round(gap * rng.uniform(0.3, 0.7, gap.shape) * 8) / 8
    shift_l = shift_w - gap
    ref_w, ref_l = (np.round(_reference(rng, s, False) * 8) / 8 for s in (shift_w, shift_l))
    ref_w, ref_l = np.minimum(ref_w, -np.maximum(shift_w, 0.0)), np.minimum(ref_l, -np.maximum(shift_l, 0.0))
    return _case((ref_w + shift_w, ref_l + shift_l), (ref_w, ref_l), beta, DYADIC)


def bare(margin: float, beta: float) -> Case:
    """All of the margin in one policy log probability, the rest 0."""
    gap = abs(margin) / beta
    zero, moved = np.zeros(1), np.array([-gap])
    return _case((zero, moved) if margin > 0 else (moved, zero), (zero, zero), beta)


def margin(rng: Rng) -> list[Case]:
    """One pair, |z| up to 8, beta from 0.001 to 10, ints among them; policy = reference; a pair and its swap."""
    betas = (0.001, 0.01, 0.03, 0.1, 0.25, 1, 2, 5.0, 10.0, float(rng.uniform(0.05, 3.0)))
    signs = rng.permutation([1, -1] * 5)
    found = [pairs(rng, [sign * rng.uniform(0.5, 5.0)], beta) for beta, sign in zip(betas, signs, strict=True)]
    found += [pairs(rng, [float(z)], 0.7) for z in (1.0, -1.0, rng.uniform(5, 8), -rng.uniform(5, 8))]
    args = dict(found[-3].args)
    swapped = (NAMES[1], NAMES[0], NAMES[3], NAMES[2])
    found.append(Case({**dict(zip(NAMES, (args[name] for name in swapped), strict=True)), "beta": args["beta"]}))
    same = [-rng.uniform(0.5, 30.0, 1) for _ in range(2)]
    found += [pairs(rng, [sign * rng.uniform(0.2, 0.35)], 1e-4) for sign in (1.0, -1.0)]
    return [*found, _case(same, same, 0.4)]


def batch_mean(rng: Rng) -> list[Case]:
    """N = 2, 3, 5 and 1000 pairs of either sign."""
    found = []
    for count in (2, 2, 3, 3, 5, 1000):
        size = rng.uniform(0.3, 5.0, count)
        signs = np.where(rng.permutation(count) % 2 == 0, 1.0, -1.0)
        found.append(pairs(rng, list(size * signs), float(rng.choice([0.1, 0.3, 0.7, 1.5, 4.0]))))
    return found


def exact_digits(rng: Rng) -> list[Case]:
    """Multiples of 1/8 and every power of two for beta, margins within ±4 and 0 among them; then ordinary decimals."""
    found = []
    for i, beta in enumerate((0.125, 0.25, 0.5, 1, 2.0, 4.0, 8.0)):
        reach = int(32 / beta)
        found.append(eighths(rng, list(beta / 8 * rng.integers(-reach, reach, 1 + i % 2)), beta))
    found += [eighths(rng, [0.0], 0.5), eighths(rng, [0.0, 1.0, -1.0], 1.0)]
    return found + margin(rng)[::2] + batch_mean(rng)[1:4]


def deep(rng: Rng) -> list[Case]:
    """Ordinary margins out of log probabilities near -5000."""
    betas = (0.01, 0.1, 0.5, 1.0, 3.0, 10.0)
    signs = rng.permutation([1, -1] * 3)
    return [pairs(rng, [s * rng.uniform(0.3, 4.0)], b, deep=True) for b, s in zip(betas, signs, strict=True)]


def _both_ways(rng: Rng, sign: int) -> list[Case]:
    """Margins of size 8 to 690 on a grid and drawn, near the floor and away from it."""
    ranges = ((8, 20), (8, 20), (20, 100), (20, 100), (100, 660), (672, 690))
    drawn = [8.0, *(rng.uniform(*ends) for ends in ranges)]
    found = [pairs(rng, [sign * z], float(rng.choice([0.3, 1.0, 2.5])), bool(i % 2)) for i, z in enumerate(drawn)]
    steps = (20.5, 24.25, 26.5, 37.0, 40.0, 100.0, 600.0, 680.5, 690.0)
    betas = {z: [0.25, 1.0, 8.0] if z == int(z) else [0.25, 1.0] for z in steps}  # z / beta stays a multiple of 1/8
    return found + [eighths(rng, [sign * z], float(rng.choice(betas[z]))) for z in steps]


def _beyond(rng: Rng, sign: int) -> list[Case]:
    """Margins of 700 to 5000 beta and more: the exponential of one sign overflows, the other underflows."""
    found = [bare(sign * z, 1.0) for z in (20.0, 700.0, 745.0, 3000.0)]
    found += [pairs(rng, [sign * z], beta) for z, beta in ((700.0, 4.0), (745.0, 1.0), (3000.0, 4.0))]
    found += [pairs(rng, [sign * 5000.0 * beta], beta, deep=True) for beta in (0.01, 1.0, 10.0)]
    return [*found, eighths(rng, [sign * 712.0], 8.0), bare(sign * 50000.0, 10.0)]


def only_lost(rng: Rng) -> list[Case]:
    """z from -8 to -50000, and batches without a pair that is clearly won: its tiny gradient is `won`'s affair."""
    mixed = [pairs(rng, [-3000.0, float(rng.uniform(0.5, 2.0)), -2500.0], 1.0), pairs(rng, [-800.0, -900.0], 0.5)]
    return _both_ways(rng, -1) + _beyond(rng, -1) + mixed


def lost(rng: Rng) -> list[Case]:
    """As `only_lost`, and extremes of both signs in one batch: the mean shows the lost ones only."""
    both = [pairs(rng, [-3000.0, float(rng.uniform(0.5, 2.0)), 2500.0], 1.0), pairs(rng, [800.0, -900.0], 0.5)]
    return only_lost(rng) + both


def won(rng: Rng) -> list[Case]:
    """z from 8 to 50000, and a batch of won pairs."""
    return [*_both_ways(rng, 1), *_beyond(rng, 1), pairs(rng, [45.0, 700.0, 300.0], 0.5)]


def properties(rng: Rng) -> list[Case]:
    """N = 1, 2, 3 and 1000, ordinary margins."""
    return [pairs(rng, list(rng.uniform(-3.0, 3.0, count)), 0.3) for count in (1, 2, 3, 1000)]


def lopsided(rng: Rng) -> Case:
    """Sizes far apart: what is subtracted from an argument and added back does not give it back."""
    policy = [-rng.uniform(5.0, 20.0, 3), -rng.uniform(1500.0, 2500.0, 3)]
    ref = [-rng.uniform(1500.0, 2500.0, 3), -rng.uniform(5.0, 20.0, 3)]
    return _case(policy, ref, 0.013)


def untouched(rng: Rng) -> list[Case]:
    """As `properties`, and arguments that no round trip restores."""
    return [*properties(rng), lopsided(rng), lopsided(rng)]


def integers(rng: Rng) -> list[Case]:
    """Whole log probabilities in int64 arrays."""
    draws = [[-rng.integers(1, 9, count) for _ in NAMES] for count in (1, 3)]
    return [Case({**dict(zip(NAMES, arrays, strict=True)), "beta": 0.5}) for arrays in draws]


CASES: dict[str, Callable[[Rng], list[Case]]] = {
    "margin": margin,
    "batch mean": batch_mean,
    "exact digits": exact_digits,
    "deep log probabilities": deep,
    "lost pairs": lost,
    "won pairs": won,
    "return type": properties,
    "inputs untouched": untouched,
    "numpy only": lambda rng: [],
    "integer arrays": integers,
}
