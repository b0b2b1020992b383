"""Hidden cases of `spo_loss`, by group.

|log prob| <= 30, beta |log prob| <= 100, 0.001 <= beta <= 10 and |residual| >= 1/4, away from 1/2, 1 and 2 (where
absolute and squared losses meet). The groups about the formula have one pair a case, so that averaging costs
`one loss per pair` and the shapes only; `log ratios` has equal rewards, so that the reward gap cannot spoil it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from grader.exercise import Case
from grader.values import Tensor, tensor

Rng = np.random.Generator
NAMES = ("logp_1", "logp_2", "logp_ref_1", "logp_ref_2", "reward_1", "reward_2")
MEETING = np.array([0.0, 0.5, 1.0, 2.0])  # sizes of a residual at which other losses coincide with this one


def _residual(values: list[np.ndarray], beta: float) -> np.ndarray:
    first, second, reference_1, reference_2, reward_1, reward_2 = values
    residual: np.ndarray = (first - reference_1) - (second - reference_2) - (reward_1 - reward_2) / beta
    return residual


def _values(rng: Rng, n: int, beta: float, low: float, equal: bool) -> list[np.ndarray]:
    """``n`` pairs, each drawn until its residual and its reward gap are away from coincidences."""
    found: list[list[float]] = []
    while len(found) < n:
        logs = rng.uniform(low, -0.1, 4)
        rewards = rng.uniform(-3, 3, 2)
        if equal:
            rewards[1] = rewards[0]
        size = abs(float(_residual([*logs, *rewards], beta)))
        gap = abs(rewards[0] - rewards[1])
        fair = equal or (gap > 0.3 and abs(gap - 1) > 0.1 and gap / beta > 0.3)
        ratios = np.abs(logs[:2] - logs[2:])
        if (
            fair
            and size >= 0.3
            and np.abs(size - MEETING).min() > 0.06
            and ratios.min() > 0.2
            and np.abs(rewards).min() > 0.2
        ):
            found.append([*logs, *rewards])
    return list(np.array(found).T)


def _case(
    rng: Rng, shape: tuple[int, ...], beta: float, dtype: str = "float32", *, low: float = -6.0, equal: bool = False
) -> Case:
    low = max(low, -30.0, -100 / beta)
    drawn = _values(rng, int(np.prod(shape)), beta, low, equal)
    args: dict[str, Tensor] = {n: tensor(x.reshape(shape), dtype) for n, x in zip(NAMES, drawn, strict=True)}
    return Case({**args, "beta": beta})


def _ratios(rng: Rng) -> list[Case]:
    betas = (*rng.uniform(0.2, 1.8, 6), 3)
    return [_case(rng, (1,), b if b == 3 else float(b), equal=True) for b in betas]


def _rewards(rng: Rng) -> list[Case]:
    cases = [_case(rng, (1,), float(b)) for b in (*rng.uniform(0.2, 0.9, 4), *rng.uniform(1.2, 3, 3))]
    return [*cases, _case(rng, (1,), 2), _small(rng, 0.8)]


def _small(rng: Rng, beta: float) -> Case:
    """A residual between 0.3 and 0.45, where a linear loss is steeper than the squared one."""
    while True:
        case = _case(rng, (1,), beta, low=-2.5)
        values = [case.args[name].data.astype(float) for name in NAMES]
        if 0.3 < abs(float(_residual(values, beta)[0])) < 0.45:
            return case


def _betas(rng: Rng) -> list[Case]:
    spread = [_case(rng, (1,), b, low=-30) for b in (0.001, 0.01, 10, 7.5, float(rng.uniform(0.002, 0.006)))]
    return [*spread, _case(rng, (1,), float(rng.uniform(0.2, 0.6)), low=-30), _far(rng, 1.0), _far(rng, -1.0)]


def _far(rng: Rng, sign: float) -> Case:
    """Log ratios near the limit of 30 either way, of opposite signs."""
    high, low = rng.uniform(-3, -0.5, 2), rng.uniform(-30, -27, 2)
    logs = [high[0], low[0], low[1], high[1]] if sign > 0 else [low[0], high[0], high[1], low[1]]
    rewards = rng.uniform(0.4, 1.4) * sign, rng.uniform(-2, -1) * sign
    args = {n: tensor([x]) for n, x in zip(NAMES, (*logs, *rewards), strict=True)}
    return Case({**args, "beta": float(rng.uniform(0.3, 0.7))})


def _pairs(rng: Rng) -> list[Case]:
    return [_case(rng, (n,), float(rng.uniform(0.3, 2))) for n in (2, 3, 5, 16)]


def _any_shape(rng: Rng) -> list[Case]:
    shapes: tuple[tuple[int, ...], ...] = ((), (2, 3), (3, 3), (4, 1), (2, 3, 2), ())
    return [_case(rng, shape, float(rng.uniform(0.3, 2))) for shape in shapes]


def _shapes(rng: Rng) -> list[Case]:
    shapes: tuple[tuple[int, ...], ...] = ((), (1,), (4,), (2, 3), (1, 3), (3, 3), (2, 3, 2))
    return [_case(rng, shape, float(rng.uniform(0.3, 2))) for shape in shapes]


def _gradients(rng: Rng) -> list[Case]:
    cases = [_case(rng, (1,), float(b)) for b in rng.uniform(0.3, 2.5, 4)]
    cases += [_case(rng, (), 0.7), _case(rng, (1,), 0.001, low=-20), _case(rng, (1,), 10)]
    return [replace(case, differentiate=("logp_1", "logp_2")) for case in cases]


def _precise(rng: Rng) -> list[Case]:
    betas = (0.001, 0.05, float(rng.uniform(0.3, 0.9)), 3, 10)
    return [_case(rng, (1,), beta, "float64", low=-30) for beta in betas]


def _inputs(rng: Rng) -> list[Case]:
    return [_case(rng, (3,), 0.4), _case(rng, (), 1.7), _case(rng, (2, 2), 3, "float64")]


CASES: dict[str, Callable[[Rng], list[Case]]] = {
    "log ratios": _ratios,
    "reward gap": _rewards,
    "range of beta": _betas,
    "one loss per pair": _pairs,
    "any shape": _any_shape,
    "shapes": _shapes,
    "gradient": _gradients,
    "float64": _precise,
    "inputs": _inputs,
}
