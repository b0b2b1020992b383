"""Hidden cases of `logp_completion`, by group.

Every group has one idea: `shift by one` selects everything after position 0, `position 0` alone selects it, `large
logits` alone has large ones, and all but `leading axes`, `shapes` and `nothing to count` have one leading axis. The
first and the last token id occur among the selected tokens and selections have holes, so that treating an id as
padding or a selection as a stretch shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from grader.exercise import Case
from grader.values import tensor

Rng = np.random.Generator


def _tokens(rng: Rng, lead: tuple[int, ...], t: int, v: int) -> np.ndarray:
    """Token ids without immediate repeats along time, ids 0 and V - 1 among them."""
    steps = rng.integers(1, v, (*lead, t))
    return (rng.integers(0, v, (*lead, 1)) + np.cumsum(steps, -1)) % v


def _completion(rng: Rng, lead: tuple[int, ...], t: int) -> np.ndarray:
    """A prompt of at least one token, a completion with a gap, sometimes padding; row by row of other lengths."""
    mask = np.zeros((int(np.prod(lead)), t), bool)
    for i, row in enumerate(mask):
        start = 1 + i % max(1, t - 4) + int(rng.integers(0, 2)) * (t > 6)
        stop = t if i % 2 else t - 1
        row[start:stop] = True
        if stop - start > 3:
            row[start + 1 + int(rng.integers(0, stop - start - 2))] = False
    return mask.reshape(*lead, t)


def _case(
    rng: Rng, lead: tuple[int, ...], t: int, v: int, mask: np.ndarray | None = None, dtype: str = "float32"
) -> Case:
    mask = _completion(rng, lead, t) if mask is None else mask
    tokens = _tokens(rng, lead, t, v)
    first = (0,) * len(lead)
    chosen = np.flatnonzero(mask[first][1:]) + 1
    if len(chosen) > 1:  # the extreme ids at selected positions of the first row
        tokens[(*first, chosen[0])], tokens[(*first, chosen[-1])] = 0, v - 1
    logits = rng.normal(0, 2.5, (*lead, t, v)) + rng.uniform(-4, 4, (*lead, t, 1))
    return Case({"logits": tensor(logits, dtype), "tokens": tensor(tokens, "int64"), "mask": tensor(mask, "bool")})


def _after_first(lead: tuple[int, ...], t: int) -> np.ndarray:
    mask = np.ones((*lead, t), bool)
    mask[..., 0] = False
    return mask


def _shift(rng: Rng) -> list[Case]:
    sizes = ((1, 4, 5), (2, 6, 5), (3, 5, 5), (4, 9, 7), (2, 2, 6), (3, 64, 11), (2, 7, 2))
    cases = [_case(rng, (b,), t, v, _after_first((b,), t)) for b, t, v in sizes]
    return [*cases, _case(rng, (2,), 6, 8, _after_first((2,), 6), "float64")]


def _prompt(rng: Rng) -> list[Case]:
    sizes = ((1, 7, 5), (2, 6, 4), (3, 8, 8), (4, 9, 6), (2, 40, 13), (3, 7, 5))
    cases = [_case(rng, (b,), t, v) for b, t, v in sizes]
    single = np.zeros((3, 6), bool)
    single[0, 1] = single[1, 5] = single[2, 3] = True
    return [*cases, _case(rng, (3,), 6, 7, single)]


def _position_zero(rng: Rng) -> list[Case]:
    cases = []
    for b, t, v in ((1, 5, 5), (2, 6, 4), (3, 8, 6), (2, 2, 5)):
        mask = _completion(rng, (b,), t) if t > 2 else _after_first((b,), t)
        mask[:, 0] = True
        cases.append(_case(rng, (b,), t, v, mask))
    everything = np.ones((2, 5), bool)
    return [*cases, _case(rng, (2,), 5, 4, everything)]


def _apart(rng: Rng, b: int, t: int, v: int, scale: float) -> Case:
    """One logit per position stands at least ``scale`` / 40 above the rest; positions lie at different levels."""
    case = _case(rng, (b,), t, v)
    levels = rng.uniform(-0.4, 0.4, (b, t, 1)) * scale
    steps = np.argsort(rng.random((b, t, v)), axis=-1)
    logits = levels + (steps - v / 2) * scale / (2 * v) + rng.uniform(0, 0.01, (b, t, v)) * scale
    return replace(case, args={**case.args, "logits": tensor(np.clip(logits, -1e4, 1e4))})


def _close(rng: Rng, b: int, t: int, v: int) -> Case:
    """Logits near the limits, a few units apart at each position, at levels far apart between positions."""
    case = _case(rng, (b,), t, v)
    levels = rng.permutation(np.linspace(-9980, 9980, b * t)).reshape(b, t, 1)
    return replace(case, args={**case.args, "logits": tensor(levels + rng.uniform(-4, 4, (b, t, v)))})


def _edge(rng: Rng) -> Case:
    """The limits themselves: +1e4 against -1e4."""
    case = _case(rng, (2,), 5, 4)
    logits = np.where(rng.random((2, 5, 4)) < 0.5, -1e4, rng.uniform(-9e3, 9e3, (2, 5, 4)))
    logits[..., 0] = 1e4
    return replace(case, args={**case.args, "logits": tensor(logits)})


def _large(rng: Rng) -> list[Case]:
    return [
        _apart(rng, 2, 6, 5, 1e4),
        _apart(rng, 3, 7, 4, 3e3),
        _apart(rng, 2, 5, 6, 900.0),
        _close(rng, 2, 6, 5),
        _close(rng, 3, 5, 4),
        _edge(rng),
    ]


def _axes(rng: Rng) -> list[Case]:
    leads: tuple[tuple[int, ...], ...] = ((), (), (2, 3), (3, 1), (2, 2, 3), (1, 3, 2))
    return [_case(rng, lead, 5 + i % 3, 4 + i % 2) for i, lead in enumerate(leads)]


def _nothing(rng: Rng) -> list[Case]:
    cases = []
    for lead in ((), (3,), (2, 2)):
        cases += [_case(rng, lead, 1, 5, np.full((*lead, 1), chosen)) for chosen in (True, False)]
    blank = _case(rng, (2,), 5, 4)
    mask = blank.args["mask"].data.copy()
    mask[0] = False
    first_only = np.zeros((2, 5), bool)
    first_only[0, 0] = first_only[1, 2] = True
    return [
        *cases,
        _case(rng, (2,), 5, 4, first_only),
        replace(blank, args={**blank.args, "mask": tensor(mask, "bool")}),
    ]


def _shapes(rng: Rng) -> list[Case]:
    return [_case(rng, lead, 5, 4) for lead in ((), (1,), (3,), (4,), (2, 1), (1, 2, 3))] + [
        _case(rng, (1,), 2, 3, _after_first((1,), 2))
    ]


def _gradients(rng: Rng) -> list[Case]:
    cases = [_case(rng, (b,), t, v) for b, t, v in ((1, 5, 4), (2, 6, 5), (3, 7, 4), (2, 12, 6))]
    cases += [_apart(rng, 2, 5, 4, 1e4), _apart(rng, 1, 6, 5, 3e3)]
    return [replace(case, differentiate=("logits",)) for case in cases]


def _inputs(rng: Rng) -> list[Case]:
    first = _completion(rng, (2,), 6)
    first[:, 0] = True
    plain = _case(rng, (3,), 6, 5)
    tokens = plain.args["tokens"].data % 4 + 1  # no id 0, so that writing zeros shows
    return [replace(plain, args={**plain.args, "tokens": tensor(tokens, "int64")}), _case(rng, (2,), 6, 5, first)]


def _masked_inf(rng: Rng) -> list[Case]:
    cases = []
    for b, t, v in ((2, 6, 5), (3, 7, 4)):
        case = _case(rng, (b,), t, v)
        logits, tokens, mask = (case.args[name].data.copy() for name in ("logits", "tokens", "mask"))
        out = ~mask[:, 1:]
        rows, columns = np.nonzero(out)
        logits[rows, columns, tokens[:, 1:][rows, columns]] = -np.inf
        logits[:, -1] = -np.inf  # predicts nothing
        cases.append(replace(case, args={**case.args, "logits": tensor(logits)}))
    return cases


def _masks(rng: Rng) -> list[Case]:
    cases = [_case(rng, (2,), 6, 5) for _ in range(3)]
    dtypes = ("int64", "float32", "uint8")
    return [
        replace(c, args={**c.args, "mask": tensor(c.args["mask"].data, d)}) for c, d in zip(cases, dtypes, strict=True)
    ]


CASES: dict[str, Callable[[Rng], list[Case]]] = {
    "shift by one": _shift,
    "prompt and padding out": _prompt,
    "position 0": _position_zero,
    "large logits": _large,
    "leading axes": _axes,
    "nothing to count": _nothing,
    "shapes": _shapes,
    "gradient": _gradients,
    "inputs": _inputs,
    "masked inf": _masked_inf,
    "integer and float masks": _masks,
}
