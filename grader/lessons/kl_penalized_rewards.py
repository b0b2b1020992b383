"""Lesson 1, public: what `kl_penalized_rewards` is asked, and one worked example per thing that is asked.

D_i = Σ_t m_it (ℓπ_it − ℓref_it), r̃_i = r_i − β D_i, J = (1/B) Σ_i r̃_i. The numbers below are multiples of 1/8 or
so wherever possible: each can be redone by hand, and `tests/lessons/test_kl_penalized_rewards.py` does it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from grader.exercise import Case, Exercise, Group
from grader.tolerance import KL_SUM
from grader.values import Tensor, Value, tensor

LESSON = "01_kl_penalized_rewards"
NAN, INF = float("nan"), float("inf")
ARGUMENTS = ("policy_log_probs", "reference_log_probs", "rewards", "response_mask")


def _case(
    args: tuple[Any, Any, Any, Any, float], answer: tuple[Any, Any, Any], note: str, dtype: str = "float32"
) -> Case:
    """A case from nested lists; ``answer`` is (divergences, penalized rewards, objective)."""
    *numbers, mask, beta = args
    tensors = [*(tensor(x, dtype) for x in numbers), tensor(mask, "bool")]
    divergences, penalized, objective = (tensor(x) for x in answer)
    return Case(
        {**dict(zip(ARGUMENTS, tensors, strict=True)), "beta": beta},
        note,
        {"objective": objective, "penalized_rewards": penalized, "sampled_divergences": divergences},
    )


def _with(case: Case, note: str, **changes: Value) -> Case:
    return replace(case, args={**case.args, **changes}, note=note)


def _gradient(case: Case, of: str, expected: Any, note: str) -> Case:
    gradients: Mapping[str, Value] = {"policy_log_probs": tensor(expected)}
    return replace(case, note=note, differentiate=("policy_log_probs",), of=of, expected_gradients=gradients)


def _blank(*shape: int, dtype: str = "float32") -> Tensor:
    return Tensor(np.zeros(shape, dtype), dtype)


WORKED_ONE = _case(
    ([[-1, -2]], [[-1.5, -2.5]], [3], [[True, True]], 0.5),
    ([1], [2.5], 2.5),
    "The two selected differences sum to one, so the reward is lowered by 0.5.",
)
WORKED_TWO = _case(
    (
        [[-1, -2, -3], [-0.5, -0.5, -0.5]],
        [[-1.2, -2.1, -3.4], [-0.7, -0.4, -0.2]],
        [1, -1],
        [[True, True, False], [True, True, True]],
        0.2,
    ),
    ([0.3, -0.2], [0.94, -0.96], -0.01),
    "One divergence is positive, one negative.",
)
WORKED_THREE = _case(
    ([[-1, -2]], [[-3, -4]], [-2], [[False, False]], 3),
    ([0], [-2], -2),
    "Nothing is selected, so nothing is subtracted.",
)
WORKED_ONE, WORKED_TWO, WORKED_THREE = (replace(c, worked=True) for c in (WORKED_ONE, WORKED_TWO, WORKED_THREE))
TWO_ROWS = _case(
    (
        [[-1, -2.5, -0.5, -3], [-0.75, -1.5, -2, -0.25]],
        [[-2, -2.25, -4, -3.75], [-3, -1.25, -2.5, -1.75]],
        [0.5, -2],
        [[True, True, False, True], [False, False, True, True]],
        0.25,
    ),
    ([1.5, 2.0], [0.125, -2.5], -1.1875),
    "Two responses with masked positions inside and in front.",
)
THREE_ROWS = _case(
    (
        [[-1, -0.5], [-2, -3], [-0.5, -1.25]],
        [[-1.5, -1.25], [-1.75, -5], [-2, -1.5]],
        [4, -12.5, 0.75],
        [[True, True], [True, True], [True, False]],
        2,
    ),
    ([1.25, 1.75, 1.5], [1.5, -16, -2.25], -5.583333333333333),
    "A whole-number beta, three rewards far apart.",
)
RARE_TOKEN = _case(
    ([[-0.25, -1.5, -0.5]], [[-150.25, -1, -2]], [2], [[True, True, False]], 0.5),
    ([149.5], [-72.75], -72.75),
    "The reference finds one token all but impossible.",
)
NO_PENALTY = _case(
    ([[-1, -2]], [[-1.75, -2.5]], [1.5], [[True, True]], 0), ([1.25], [1.5], 1.5), "beta = 0 leaves the reward alone."
)
ALL_NEGATIVE = _case(
    ([[-3, -2.5]], [[-1, -2]], [1], [[True, True]], 0.5),
    ([-2.5], [2.25], 2.25),
    "The reference likes this response better than the policy does.",
)
MASKED_NAN = _case(
    ([[-1, NAN, -2, -INF]], [[-1.5, -1, -2.25, NAN]], [1.5], [[True, False, True, False]], 0.5),
    ([0.75], [1.125], 1.125),
    "What stands at masked positions is never looked at.",
)
MASKED_INF = _case(
    ([[-INF, -0.5, INF]], [[-INF, -2.5, -1]], [-1], [[False, True, False]], 0.25),
    ([2], [-1.5], -1.5),
    "Infinities at masked positions.",
)
SELECTED_NAN = _case(
    ([[-1, NAN], [-2, -1]], [[-1.5, -2], [-2.75, -3]], [1, 2], [[True, True], [True, True]], 0.5),
    ([NAN, 2.75], [NAN, 0.625], NAN),
    "A broken number inside a response must be seen, in its own row and in the objective.",
)
ONE_EMPTY_ROW = _case(
    (
        [[-1, -2, -0.5], [-3, -1, -2]],
        [[-2, -2.5, -1], [-1, -4, -3]],
        [0.5, 2.5],
        [[True, True, False], [False, False, False]],
        0.5,
    ),
    ([1.5, 0], [-0.25, 2.5], 1.125),
    "A response with nothing selected still counts in the objective.",
)
EMPTY_BATCH = _with(
    _case(([], [], [], [], 0.5), ([], [], 0), ""),
    "B = 0: an empty batch has objective 0.",
    policy_log_probs=_blank(0, 3),
    reference_log_probs=_blank(0, 3),
    response_mask=_blank(0, 3, dtype="bool"),
)
NO_TOKENS = _case(([[], []], [[], []], [1.5, -0.25], [[], []], 0.5), ([0, 0], [1.5, -0.25], 0.625), "T = 0.")
_T = np.arange(1000)
LONG_ROW = _case(
    ([-1 - _T % 7 / 8], [-1.25 - _T % 5 / 4], [20.5], [_T % 3 != 0], 0.125),
    ([250.25], [-10.78125], -10.78125),
    "T = 1000.",
)
ONE_TOKEN = _case(([[-1]], [[-1.5]], [1], [[True]], 0.5), ([0.5], [0.75], 0.75), "B = 1, T = 1.")
_MASKED_SLOPES = [[-0.125, -0.125, 0, -0.125], [0, 0, -0.125, -0.125]]
GRADIENTS = (
    _gradient(TWO_ROWS, "objective", _MASKED_SLOPES, "Of the objective."),
    _gradient(
        TWO_ROWS, "penalized_rewards", [[-0.25, -0.25, 0, -0.25], [0, 0, -0.25, -0.25]], "Of the penalized rewards."
    ),
    _gradient(TWO_ROWS, "sampled_divergences", [[1, 1, 0, 1], [0, 0, 1, 1]], "Of the divergences."),
    _gradient(MASKED_NAN, "objective", [[-0.5, 0, -0.5, 0]], "Zero at masked positions, whatever they hold."),
)


def _float64(case: Case) -> Case:
    found = {name: case.args[name].data for name in ARGUMENTS[:3]}
    return _with(case, "float64 in, float32 out.", **{name: tensor(data, "float64") for name, data in found.items()})


BFLOAT16 = _with(
    _case(([], [], [], [], 0.5), ([4.25390625], [0.873046875], 0.873046875), ""),
    "bfloat16 in, float32 out.",
    policy_log_probs=tensor([[-3.015625, -1]], "bfloat16"),
    reference_log_probs=tensor([[-8, -0.26953125]], "bfloat16"),
    rewards=tensor([3], "bfloat16"),
    response_mask=tensor([[True, True]], "bool"),
)
INTEGERS = _with(
    _case(([], [], [], [], 0.25), ([3, -1], [0.25, 2.25], 1.25), ""),
    "Whole numbers in, fractions out.",
    policy_log_probs=tensor([[-1, -2], [-4, -1]], "int64"),
    reference_log_probs=tensor([[-3, -3], [-3, -5]], "int64"),
    rewards=tensor([1, 2], "int64"),
    response_mask=tensor([[True, True], [True, False]], "bool"),
)
_MASK = TWO_ROWS.args["response_mask"].data
META = Case(
    {
        **{
            name: Tensor(np.zeros((2, 3) if name != "rewards" else 2, "float32"), "float32", "meta")
            for name in ARGUMENTS[:3]
        },
        "response_mask": Tensor(np.ones((2, 3), "bool"), "bool", "meta"),
        "beta": 0.5,
    },
    "Inputs on the meta device, which has shapes and no numbers.",
    {
        "objective": Tensor(np.zeros((), "float32"), "float32", "meta"),
        "penalized_rewards": Tensor(np.zeros(2, "float32"), "float32", "meta"),
        "sampled_divergences": Tensor(np.zeros(2, "float32"), "float32", "meta"),
    },
)

GROUPS = (
    Group(
        "sampled divergences",
        3,
        "A sampled divergence is the sum of policy minus reference log probability over the response's own tokens.",
        (WORKED_ONE, TWO_ROWS, RARE_TOKEN),
        ("value:sampled_divergences",),
    ),
    Group(
        "penalized rewards",
        3,
        "Every response keeps its own reward, lowered by beta times its own divergence.",
        (TWO_ROWS, THREE_ROWS, RARE_TOKEN, NO_PENALTY),
        ("value:penalized_rewards",),
    ),
    Group(
        "objective",
        2,
        "The objective is the plain mean of the penalized rewards over the batch.",
        (TWO_ROWS, THREE_ROWS),
        ("value:objective",),
    ),
    Group(
        "negative divergences",
        2,
        "The divergence of one sampled response may be negative, and then raises the reward.",
        (WORKED_TWO, ALL_NEGATIVE),
    ),
    Group(
        "masked NaN and inf",
        2,
        "A masked position adds exactly zero, even where it holds NaN or an infinity.",
        (MASKED_NAN, MASKED_INF),
    ),
    Group("selected NaN", 1, "A NaN at a selected position shows in the result and is not hidden.", (SELECTED_NAN,)),
    Group(
        "empty rows and batches",
        1,
        "Nothing selected means divergence 0, no tokens is legal, and an empty batch has objective 0.",
        (WORKED_THREE, ONE_EMPTY_ROW, EMPTY_BATCH, NO_TOKENS),
    ),
    Group("long rows", 1, "A response of a thousand tokens is summed to its end, in full precision.", (LONG_ROW,)),
    Group(
        "gradient",
        2,
        "The result stays differentiable: each selected log probability moves the objective by minus beta over B.",
        GRADIENTS,
        ("gradient",),
    ),
    Group(
        "float32 results",
        1,
        "All three results are float32, for float64 inputs as well.",
        (_float64(TWO_ROWS), TWO_ROWS, _float64(EMPTY_BATCH)),
        ("dtype",),
    ),
    Group(
        "shapes",
        1,
        "The results are tensors on the inputs' device: one number without axes, and two rows of B.",
        (ONE_TOKEN, TWO_ROWS, EMPTY_BATCH),
        ("kind", "shape", "device"),
    ),
    Group("inputs", 1, "The arguments are left as they were.", (TWO_ROWS, MASKED_NAN), ("inputs",)),
    Group(
        "bfloat16 inputs", 0, "bfloat16 inputs give float32 results of full precision.", (BFLOAT16,), ("value", "dtype")
    ),
    Group("integer inputs", 0, "Whole-number inputs do not cut the fractions off.", (INTEGERS,), ("value", "dtype")),
    Group(
        "integer and float masks",
        0,
        "A mask of ones and zeros works like one of trues and falses.",
        (
            _with(TWO_ROWS, "A mask of integers.", response_mask=tensor(_MASK, "int64")),
            _with(TWO_ROWS, "A mask of floats.", response_mask=tensor(_MASK, "float32")),
        ),
    ),
    Group("meta device", 0, "New tensors are made where the inputs are.", (META,), ("device",)),
)

EXERCISES = (
    Exercise(
        "kl_penalized_rewards",
        LESSON,
        (*ARGUMENTS, "beta"),
        GROUPS,
        KL_SUM,
        (
            "Start with one response: which positions belong to it, and what does each of them add? Do that on paper "
            "for the first worked example before writing any tensor operation.",
            "Go from the (B, T) table to one number per row, then to one penalized number per row, then to one number. "
            "Write down the shape after every step.",
            "Now the edges: choose what enters the sum before summing, rather than scaling it down afterwards; and ask "
            "what an average over no rows at all should be.",
        ),
    ),
)
