"""Hidden cases of `dpo_grad`: the batches of `dpo_loss`, since the gradient has the same domain."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grader.exercise import Case
from grader.hidden.dpo_loss import cases as loss

CASES: dict[str, Callable[[np.random.Generator], list[Case]]] = {
    "gradient": loss.margin,
    "batch mean": loss.batch_mean,
    "exact digits": loss.exact_digits,
    "deep log probabilities": loss.deep,
    "lost pairs": loss.only_lost,
    "won pairs": loss.won,
    "return type": loss.properties,
    "inputs untouched": loss.untouched,
    "numpy only": lambda rng: [],
    "integer arrays": loss.integers,
}
