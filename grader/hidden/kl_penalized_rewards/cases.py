"""Hidden cases of `kl_penalized_rewards`, by group.

Numbers are drawn so that no mistake hides behind a coincidence: all entries differ, row lengths differ, selections
have holes, the first and the last position are in for some rows and out for others, differences of both signs meet
in one row. Groups that are not about negative divergences have positive ones only, so that clamping costs that
group alone; masked NaN stands in its own group (and under the gradient, which multiplying by the mask gets right).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from grader.exercise import Case
from grader.values import Tensor, tensor

Rng = np.random.Generator
OF = ("objective", "penalized_rewards", "sampled_divergences")


def _mask(rng: Rng, b: int, t: int) -> np.ndarray:
    """Selections of different sizes, with holes; rows take turns at including the first and the last position."""
    mask = np.zeros((b, t), bool)
    for i in range(b):
        mask[i, 0], mask[i, -1] = i % 2 == 0, i % 4 in (0, 3)
        inside = rng.permutation(np.arange(1, t - 1))
        mask[i, inside[: 2 + i % max(1, t - 4)]] = True
    return mask


def _differences(rng: Rng, mask: np.ndarray, negative: bool) -> np.ndarray:
    """Per-token differences of both signs whose selected sum is at least 0.4 away from zero on the wanted side."""
    d = rng.uniform(-1.5, 2.5, mask.shape)
    while True:
        sums = np.where(mask, d, 0).sum(-1)
        mixed = (np.where(mask, d, 1).min(-1) < -0.1) & (np.where(mask, d, -1).max(-1) > 0.1)
        fair = (sums > 0.4) & mixed & (np.abs(sums - 1) > 0.05)
        if np.all(fair):
            return -d if negative else d
        d[~fair] = rng.uniform(-1.5, 2.5, (int((~fair).sum()), mask.shape[1]))


def _case(
    rng: Rng, b: int, t: int, beta: float, dtype: str = "float32", *, negative: bool = False, note: str = ""
) -> Case:
    mask = _mask(rng, b, t)
    policy = rng.uniform(-6, -0.05, (b, t))
    reference = policy - _differences(rng, mask, negative)
    rewards = rng.permutation(np.linspace(-8, 9, b + 1))[:b] + rng.uniform(0.1, 0.9, b)
    return Case(
        {
            "policy_log_probs": tensor(policy, dtype),
            "reference_log_probs": tensor(reference, dtype),
            "rewards": tensor(rewards, dtype),
            "response_mask": tensor(mask, "bool"),
            "beta": beta,
        },
        note,
    )


def _edited(case: Case, name: str, at: tuple[int, ...] | np.ndarray, value: float | np.ndarray) -> Case:
    """``case`` with one entry (or a boolean selection) of one argument replaced."""
    old = case.args[name]
    data = old.data.copy()
    data[at] = value
    return replace(case, args={**case.args, name: Tensor(data, old.dtype, old.device)})


def _rare(rng: Rng, beta: float) -> Case:
    """A token that the reference finds one time in e^90 to e^1500, and a reward of matching size."""
    case = _case(rng, 2, 6, beta)
    at = (1, int(np.flatnonzero(case.args["response_mask"].data[1])[0]))
    case = _edited(case, "reference_log_probs", at, -float(rng.uniform(95, 160)))
    row = (0, int(np.flatnonzero(case.args["response_mask"].data[0])[-1]))
    return _edited(case, "reference_log_probs", row, -float(rng.uniform(900, 1500)))


def _core(rng: Rng) -> list[Case]:
    sizes = ((2, 5), (3, 4), (4, 4), (5, 8), (3, 7))
    return [_case(rng, b, t, float(rng.uniform(0.05, 0.9))) for b, t in sizes]


def _divergences(rng: Rng) -> list[Case]:
    return [*_core(rng), _rare(rng, 0.3), _case(rng, 1, 6, 1.7)]


def _penalized(rng: Rng) -> list[Case]:
    betas = (0, 3, float(rng.uniform(1.2, 4)), float(rng.uniform(0.002, 0.01)))
    spread = _case(rng, 2, 6, 0.15)
    spread = _edited(spread, "rewards", (0,), float(rng.uniform(120, 170)))
    return [*_core(rng), _rare(rng, 0.3), *(_case(rng, 3, 5, beta) for beta in betas), spread]


def _objective(rng: Rng) -> list[Case]:
    return [*_core(rng), _case(rng, 7, 5, 2.2), _case(rng, 2, 9, 5), _case(rng, 40, 6, 0.8)]


def _negative(rng: Rng) -> list[Case]:
    cases = [_case(rng, b, t, float(rng.uniform(0.2, 2)), negative=True) for b, t in ((1, 5), (1, 7), (2, 6), (3, 5))]
    mixed = _case(rng, 3, 6, 0.7)
    row = np.zeros((3, 6), bool)
    row[1] = True
    low = mixed.args["policy_log_probs"].data[row] - rng.uniform(3, 5, 6)
    rare = _case(rng, 1, 6, 0.3, negative=True)
    at = (0, int(np.flatnonzero(rare.args["response_mask"].data[0])[1]))
    rare = _edited(rare, "policy_log_probs", at, -float(rng.uniform(95, 160)))
    return [*cases, _edited(mixed, "policy_log_probs", row, low), rare]


def _masked(rng: Rng) -> list[Case]:
    """NaN and infinities only where nothing is selected: scattered, in one argument or in both."""
    cases = []
    for b, t, value in ((1, 6, np.nan), (1, 7, -np.inf), (2, 6, np.inf), (3, 7, np.nan)):
        case = _case(rng, b, t, float(rng.uniform(0.2, 0.9)))
        out = ~case.args["response_mask"].data
        some = out & (rng.random(out.shape) < 0.6)
        some[0, np.flatnonzero(out[0])[0]] = True
        case = _edited(case, "policy_log_probs", some, value)
        cases += [case, _edited(_edited(case, "policy_log_probs", out, -np.inf), "reference_log_probs", out, -np.inf)]
        other = _case(rng, b, t, float(rng.uniform(0.2, 0.9)))
        cases.append(_edited(other, "reference_log_probs", ~other.args["response_mask"].data, value))
    return cases


def _selected(rng: Rng) -> list[Case]:
    cases = []
    for b, name in (
        (1, "policy_log_probs"),
        (2, "reference_log_probs"),
        (3, "policy_log_probs"),
        (3, "reference_log_probs"),
    ):
        case = _case(rng, b, 6, float(rng.uniform(0.2, 0.9)))
        row = int(rng.integers(b))
        column = int(rng.choice(np.flatnonzero(case.args["response_mask"].data[row])))
        cases.append(_edited(case, name, (row, column), np.nan))
    both = _edited(_case(rng, 2, 5, 0.5), "policy_log_probs", (0, 0), np.nan)
    return [*cases, _edited(both, "reference_log_probs", (0, 0), np.nan)]


def _empty_batch(t: int, beta: float, dtype: str = "float32") -> Case:
    empty, mask = Tensor(np.zeros((0, t), dtype), dtype), Tensor(np.zeros((0, t), bool), "bool")
    args = {"policy_log_probs": empty, "reference_log_probs": empty, "rewards": Tensor(np.zeros(0, dtype), dtype)}
    return Case({**args, "response_mask": mask, "beta": beta})


def _no_tokens(rng: Rng, b: int) -> Case:
    empty, mask = Tensor(np.zeros((b, 0), "float32"), "float32"), Tensor(np.zeros((b, 0), bool), "bool")
    rewards = tensor(rng.uniform(-3, 3, b))
    args = {"policy_log_probs": empty, "reference_log_probs": empty, "rewards": rewards}
    return Case({**args, "response_mask": mask, "beta": float(rng.uniform(0.2, 2))})


def _empty(rng: Rng) -> list[Case]:
    cases = [_empty_batch(t, float(rng.uniform(0.2, 2))) for t in (0, 1, 4)] + [_no_tokens(rng, b) for b in (1, 3)]
    for b, row in ((1, 0), (3, 1), (4, 0)):
        cases.append(_edited(_case(rng, b, 5, float(rng.uniform(0.2, 2))), "response_mask", (row,), False))
    return cases


def _long(rng: Rng) -> list[Case]:
    """T up to 1024, log probabilities that do not fit half precision, selected nearly everywhere or in a stretch."""
    cases = []
    for b, t in ((1, 1024), (1, 700), (2, 1024)):
        policy = rng.uniform(-9, -0.05, (b, t))
        reference = policy - rng.uniform(-0.7, 1.1, (b, t))
        mask = rng.random((b, t)) < 0.85
        mask[:, -1] = True
        args = {"policy_log_probs": tensor(policy), "reference_log_probs": tensor(reference)}
        args |= {"rewards": tensor(rng.uniform(20, 40, b)), "response_mask": tensor(mask, "bool")}
        cases.append(Case({**args, "beta": float(rng.uniform(0.3, 0.6))}))
    return cases


def _gradients(rng: Rng) -> list[Case]:
    cases = []
    for b, t, of in (
        (2, 5, OF[0]),
        (3, 6, OF[0]),
        (1, 4, OF[0]),
        (2, 5, OF[1]),
        (3, 4, OF[1]),
        (2, 5, OF[2]),
        (3, 6, OF[2]),
    ):
        cases.append(
            replace(_case(rng, b, t, float(rng.uniform(0.3, 2.7))), differentiate=("policy_log_probs",), of=of)
        )
    broken = _case(rng, 2, 6, float(rng.uniform(0.3, 2.7)))
    out = ~broken.args["response_mask"].data
    broken = _edited(broken, "policy_log_probs", out, np.nan)
    return [*cases, *(replace(broken, differentiate=("policy_log_probs",), of=of) for of in OF)]


def _dtypes(rng: Rng) -> list[Case]:
    return [
        _case(rng, 3, 5, 0.3, "float64"),
        _case(rng, 1, 4, 0.8, "float64"),
        _case(rng, 2, 5, 0.3),
        _empty_batch(3, 1.5, "float64"),
        _no_tokens_float64(rng),
    ]


def _no_tokens_float64(rng: Rng) -> Case:
    """Two responses of no tokens at all: nothing to sum, and still float32 out."""
    empty = tensor(np.zeros((2, 0)), "float64")
    return Case(
        {
            "policy_log_probs": empty,
            "reference_log_probs": empty,
            "rewards": tensor(rng.uniform(0.3, 2.0, 2), "float64"),
            "response_mask": tensor(np.zeros((2, 0)), "bool"),
            "beta": 0.7,
        }
    )


def _shapes(rng: Rng) -> list[Case]:
    return [_case(rng, b, t, 0.4) for b, t in ((1, 5), (4, 4), (2, 7))] + [_empty_batch(2, 0.4)]


def _inputs(rng: Rng) -> list[Case]:
    broken = _case(rng, 2, 6, 0.6)
    out = ~broken.args["response_mask"].data
    broken = _edited(_edited(broken, "policy_log_probs", out, np.nan), "reference_log_probs", out, -np.inf)
    return [_case(rng, 2, 5, 0.3), _case(rng, 3, 6, 1.3, "float64"), broken]


def _bfloat16(rng: Rng) -> list[Case]:
    cases = []
    for b, t in ((2, 5), (3, 6)):
        case = _case(rng, b, t, 0.3)
        rounded = {}
        for name in ("policy_log_probs", "reference_log_probs", "rewards"):
            bits = case.args[name].data.view("uint32") & np.uint32(0xFFFF0000)  # bfloat16 is the upper half of float32
            rounded[name] = tensor(bits.view("float32"), "bfloat16")
        cases.append(replace(case, args={**case.args, **rounded}))
    return cases


def _integers(rng: Rng) -> list[Case]:
    cases = []
    for b, t in ((2, 5), (3, 6)):
        numbers = {n: tensor(rng.integers(-9, 0, (b, t)), "int64") for n in ("policy_log_probs", "reference_log_probs")}
        mask = tensor(_mask(rng, b, t), "bool")
        cases.append(
            Case({**numbers, "rewards": tensor(rng.integers(1, 9, b), "int64"), "response_mask": mask, "beta": 0.3})
        )
    return cases


def _masks(rng: Rng) -> list[Case]:
    cases = []
    for dtype in ("int64", "float32", "uint8"):
        case = _case(rng, 2, 6, 0.4)
        cases.append(replace(case, args={**case.args, "response_mask": tensor(case.args["response_mask"].data, dtype)}))
    return cases


def _meta(rng: Rng) -> list[Case]:
    case = _case(rng, 3, 5, 0.4)
    args = {n: replace(x, device="meta") if isinstance(x, Tensor) else x for n, x in case.args.items()}
    return [replace(case, args=args)]


CASES: dict[str, Callable[[Rng], list[Case]]] = {
    "sampled divergences": _divergences,
    "penalized rewards": _penalized,
    "objective": _objective,
    "negative divergences": _negative,
    "masked NaN and inf": _masked,
    "selected NaN": _selected,
    "empty rows and batches": _empty,
    "long rows": _long,
    "gradient": _gradients,
    "float32 results": _dtypes,
    "shapes": _shapes,
    "inputs": _inputs,
    "bfloat16 inputs": _bfloat16,
    "integer inputs": _integers,
    "integer and float masks": _masks,
    "meta device": _meta,
}
