"""Lesson 2, public: what `logp_completion` and `spo_loss` are asked, and authored examples for all of it.

The expected numbers of `logp_completion` were computed with mpmath at 50 digits, those of `spo_loss` by hand
(mostly exact binary fractions); `tests/lessons/test_spo_regression.py` derives both again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from grader.exercise import Case, Exercise, Group
from grader.tolerance import LOGP, SPO
from grader.values import as_array, tensor

LESSON = "02_spo_regression"
T, F = True, False
INF = float("inf")
PAIR = ("logp_1", "logp_2", "logp_ref_1", "logp_ref_2", "reward_1", "reward_2")


def _score(logits: Any, tokens: Any, mask: Any, expected: Any, note: str) -> Case:
    args = {"logits": tensor(logits), "tokens": tensor(tokens, "int64"), "mask": tensor(mask, "bool")}
    return Case(args, note, tensor(expected, "float32"))


def _slopes(case: Case, expected: Any, note: str) -> Case:
    return replace(case, note=note, differentiate=("logits",), expected_gradients={"logits": tensor(expected)})


ROWS = [[0.5, -1, 2], [1.5, 0, -0.5], [-2, 0.25, 1], [0.75, 3, -1]]
TWO = [
    [[1, -0.5, 0.25, 2], [0.5, 3, -1, 0], [-2, 1.5, 0.75, 1], [0, 0.25, -1.5, 2.5], [1.25, -3, 2, 0.5]],
    [[-1, 2.5, 0, 0.5], [2, -0.25, 1, -1.5], [0.5, 1, -2, 3], [1.5, 0, 0.75, -0.75], [-0.5, 2.25, 1, 0]],
]
TWO_TOKENS = [[3, 1, 0, 2, 1], [2, 0, 3, 1, 0]]
ONE = _score([ROWS], [[1, 2, 0, 1]], [[F, T, T, T]], [-1.7177931969438174], "Three tokens, one sequence.")
ALL = _score(
    TWO,
    TWO_TOKENS,
    [[F, T, T, T, T]] * 2,
    [-9.558058172867671, -10.419553390100726],
    "Two sequences, all but position 0.",
)
DOUBLE = replace(ALL, args={**ALL.args, "logits": tensor(TWO, "float64")}, note="The logits are float64.")
PROMPTS = _score(
    TWO,
    TWO_TOKENS,
    [[F, F, T, T, F], [F, T, F, T, T]],
    [-4.1361839054776, -6.511773596840607],
    "Prompt in front, padding behind, a gap inside.",
)
FIRST = _score([ROWS], [[1, 2, 0, 1]], [[T, T, F, T]], [-1.411437484714671], "The mask selects position 0 too.")
FIRST_TWO = _score(
    TWO,
    TWO_TOKENS,
    [[T, T, T, F, F], [T, F, T, T, F]],
    [-5.624656286262563, -6.110033240939469],
    "The mask selects position 0 of both sequences.",
)
LARGE = _score(
    [
        [[10000, -10000, 0], [-800, 300, 0], [-9000, -10000, -9120], [0, 1, 2]],
        [[-300, 0, 150], [-10000, 10000, 9000], [9960, 10000, -10000], [3, 4, 5]],
    ],
    [[0, 1, 2, 1], [2, 0, 1, 0]],
    [[F, T, T, T], [F, T, T, T]],
    [-21300, -490],
    "One logit stands far above the others.",
)
NEAR = _score(
    [[[10000, 9999, 9998.5], [-10000, -9998, -9999], [0, 0.5, 1]]],
    [[0, 1, 2]],
    [[F, T, T]],
    [-2.8719747485523253],
    "Large logits close to each other.",
)
FLAT = _score(ROWS, [1, 2, 0, 1], [F, T, T, F], -0.5476670088863036, "No leading axis.")
CUBE = _score(
    [[[ROWS[:3], ROWS[1:]]], [[[ROWS[3], ROWS[0], ROWS[2]], [ROWS[2], ROWS[3], ROWS[1]]]]],
    [[[[0, 2, 1], [1, 0, 2]]], [[[2, 1, 0], [0, 1, 2]]]],
    [[[[F, T, T], [F, T, F]]], [[[F, F, T], [F, T, T]]]],
    [[[-2.0476670088863034, -0.30635571222914654]], [[-1.7413112966571571, -5.286766227142653]]],
    "Three leading axes, (2, 1, 2).",
)
SINGLE = _score([[[0.5, -1, 2]], [[1.5, 0, -0.5]]], [[2], [0]], [[T], [F]], [0, 0], "T = 1.")
SINGLE_FLAT = _score([[0.5, -1, 2]], [2], [T], 0, "T = 1 without leading axes.")
NONE_SELECTED = _score([ROWS[:3]], [[1, 2, 0]], [[F, F, F]], [0], "The mask selects nothing.")
SLOPES = _score(
    [[[0.5, -1, 2], [1.5, 0, -0.5], [-2, 0.25, 1]], [[0, 1, -1], [2, 0.5, -0.5], [1, 0, 0.25]]],
    [[1, 2, 0], [0, 0, 2]],
    [[F, T, T], [F, F, T]],
    [-0.5476670088863036, -2.7663678998071335],
    "",
)
SCORE_GRADIENTS = (
    _slopes(
        SLOPES,
        [
            [
                [-0.1752903921400367, -0.03911257327068745, 0.21440296541072415],
                [0.26387527568740615, -0.16425162762508783, -0.09962364806231833],
                [0, 0, 0],
            ],
            [[0, 0, 0], [-0.7661572065563422, -0.17095278019779028, 0.9371099867541325], [0, 0, 0]],
        ],
        "What was written minus what was expected, at the positions that predict it.",
    ),
    _slopes(
        LARGE,
        [[[-1, 1, 0], [0, -1, 1], [-1, 1, 0], [0, 0, 0]], [[1, 0, -1], [0, 0, 0], [1, -1, 0], [0, 0, 0]]],
        "The same at large logits.",
    ),
)
MASKED_INF = _score(
    [[[0.5, 1, -INF], [1.5, 0, -0.5], [-2, 0.25, 1]]],
    [[0, 2, 0]],
    [[F, F, T]],
    [-0.30635571222914654],
    "A prompt token that the model holds for impossible.",
)


def _masked_as(case: Case, dtype: str) -> Case:
    args = {**case.args, "mask": tensor(case.args["mask"].data, dtype)}
    return replace(case, args=args, note=f"A mask of dtype {dtype}.")


LOGP_GROUPS = (
    Group(
        "shift by one",
        5,
        "The logits at a position predict the token at the next position.",
        (ONE, ALL, DOUBLE),
    ),
    Group(
        "prompt and padding out",
        4,
        "Only the tokens that the mask selects count: all of the completion, neither prompt nor padding.",
        (PROMPTS,),
    ),
    Group(
        "position 0", 2, "Nothing predicts the first token, so it never counts, even when selected.", (FIRST, FIRST_TWO)
    ),
    Group("large logits", 2, "Logits up to 10,000 either way give the exact log probability.", (LARGE, NEAR)),
    Group("leading axes", 2, "Any number of axes may stand in front of time, none included.", (FLAT, CUBE)),
    Group(
        "nothing to count", 1, "T = 1, or a mask that selects nothing, gives 0.", (SINGLE, SINGLE_FLAT, NONE_SELECTED)
    ),
    Group(
        "shapes",
        1,
        "The result is a tensor with the leading axes of the tokens, one number per sequence.",
        (ONE, ALL, FLAT, CUBE),
        ("kind", "shape", "device"),
    ),
    Group(
        "gradient",
        2,
        "The result is differentiable in the logits, large ones included.",
        SCORE_GRADIENTS,
        ("gradient",),
    ),
    Group("inputs", 1, "The arguments are left as they were.", (PROMPTS, FIRST), ("inputs",)),
    Group("masked inf", 0, "An infinite logit where nothing is selected does not spoil the result.", (MASKED_INF,)),
    Group(
        "integer and float masks",
        0,
        "A mask of ones and zeros works like one of trues and falses.",
        (_masked_as(PROMPTS, "int64"), _masked_as(PROMPTS, "float32")),
    ),
)


def _pair(args: tuple[Any, ...], beta: float, expected: Any, note: str, dtype: str = "float32") -> Case:
    """``args``: logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2."""
    tensors = {name: tensor(x, dtype) for name, x in zip(PAIR, args, strict=True)}
    return Case({**tensors, "beta": beta}, note, tensor(expected, dtype))


def _numbers(case: Case, name: str) -> np.ndarray:
    found = as_array(case.args[name])
    assert found is not None, name
    return found


def _pull(case: Case, first: Any, second: Any) -> Case:
    slopes = {"logp_1": tensor(first), "logp_2": tensor(second)}
    return replace(case, differentiate=("logp_1", "logp_2"), expected_gradients=slopes)


EQUAL = _pair(([-2], [-3.5], [-4], [-2.25], [1.5], [1.5]), 0.5, [1.3203125], "Equal rewards: log ratios 2 and -1.25.")
EQUAL_LOW = _pair(
    ([-6.5], [-1.75], [-4.75], [-3], [-0.75], [-0.75]),
    2,
    [4.5],
    "Equal rewards: log ratios -1.75 and 1.25; a whole beta.",
)
GAP = _pair(([-2], [-3.5], [-4], [-2.25], [1.75], [0.5]), 0.5, [0.0703125], "A reward gap of 1.25, counted as 2.5.")
GAP_LOW = _pair(
    ([-1.75], [-1.5], [-2], [-1.25], [-0.5], [1.25]),
    2,
    [0.9453125],
    "The second completion earns more; residual 1.375.",
)
SMALL_BETA = _pair(
    ([-29], [-3], [-2], [-28.5], [0.75], [0.375]),
    0.0009765625,
    [46.51666259765625],
    "beta = 1/1024, so that rewards weigh most.",
)
LARGE_BETA = _pair(([-8.5], [-2.5], [-6], [-9.25], [3], [-4.5]), 10, [250], "beta = 10: residual -9.25 - 0.75 = -10.")
THREE = _pair(
    (
        [-2, -1.75, -5],
        [-3.5, -1.5, -2.5],
        [-4, -2, -3.5],
        [-2.25, -1.25, -4.25],
        [1.75, -0.5, 3],
        [0.5, 0.375, 0.75],
    ),
    0.5,
    [0.0703125, 0.6328125, 7.5078125],
    "Three pairs, three losses.",
)
GRID = _pair(
    (
        [[-2, -1.75], [-5, -3]],
        [[-3.5, -1.5], [-2.5, -7]],
        [[-4, -2], [-3.5, -1.25]],
        [[-2.25, -1.25], [-4.25, -2.5]],
        [[1.75, -0.5], [3, 2.5]],
        [[0.5, 0.375], [0.75, -1.5]],
    ),
    0.5,
    [[0.0703125, 0.6328125], [7.5078125, 3.4453125]],
    "A (2, 2) grid of pairs.",
)
BLOCK = _pair(
    tuple(_numbers(GRID, name)[:, None, :] for name in PAIR),
    0.5,
    [[[0.0703125, 0.6328125]], [[7.5078125, 3.4453125]]],
    "The same pairs as a (2, 1, 2) block.",
)
NO_AXES = _pair((-2, -3.5, -4, -2.25, 1.75, 0.5), 0.5, 0.0703125, "One pair without axes.")
PRECISE = _pair(
    ([-1.1], [-2.3], [-1.7], [-0.9], [0.7], [-0.4]), 0.3, [0.20833333333333334], "float64 in: nine digits.", "float64"
)
PRECISE_SMALL = _pair(
    ([-12.1], [-2.3], [-11.7], [-0.9], [1.7], [-0.4]), 0.001, [1101.45025], "float64 at beta = 0.001.", "float64"
)

SPO_GROUPS = (
    Group(
        "log ratios",
        4,
        "Each completion enters as policy minus reference, the second is subtracted from the first.",
        (EQUAL, EQUAL_LOW),
    ),
    Group(
        "reward gap",
        4,
        "The target is the first reward minus the second, divided by beta.",
        (GAP, GAP_LOW),
    ),
    Group(
        "range of beta",
        2,
        "The formula holds for beta from 0.001 to 10 and for any residual.",
        (SMALL_BETA, LARGE_BETA),
    ),
    Group("one loss per pair", 3, "Every pair has its own loss: nothing is averaged or summed.", (THREE,)),
    Group("any shape", 1, "Pairs may come without axes, in a row, in a table or in a block.", (NO_AXES, GRID, BLOCK)),
    Group(
        "shapes",
        1,
        "The result is a tensor of the arguments' own shape.",
        (NO_AXES, GAP, THREE, GRID, BLOCK),
        ("kind", "shape", "device"),
    ),
    Group(
        "gradient",
        3,
        "The loss is differentiable in both log probabilities, with opposite slopes.",
        (_pull(GAP, [0.1875], [-0.1875]), _pull(EQUAL_LOW, [-3], [3]), _pull(NO_AXES, 0.1875, -0.1875)),
        ("gradient",),
    ),
    Group("float64", 1, "float64 arguments give a result of float64 precision.", (PRECISE, PRECISE_SMALL)),
    Group("inputs", 1, "The arguments are left as they were.", (GAP, THREE), ("inputs",)),
)

EXERCISES = (
    Exercise(
        "logp_completion",
        LESSON,
        ("logits", "tokens", "mask"),
        LOGP_GROUPS,
        LOGP,
        (
            "Write the tokens in one line, logits below. Draw an arrow from each vector of logits to the token "
            "it predicts: which logits and which tokens have no partner?",
            "First get one log probability per predicted token. Then ask which of them the mask keeps, and remember "
            "to move the mask along with the tokens.",
            "Ask three things: do probabilities at one position sum to one? Does it survive logits of ten "
            "thousand? Does it work for a single sequence without a batch axis?",
        ),
    ),
    Exercise(
        "spo_loss",
        LESSON,
        (*PAIR, "beta"),
        SPO_GROUPS,
        SPO,
        (
            "Build the residual first: how far is the difference of the log ratios from what the rewards ask for?",
            "Check the target alone: at which difference of log ratios is the loss zero, and how does beta move it?",
            "Then look at what comes out: how many numbers for N pairs? Does a gradient reach both log probabilities?",
        ),
    ),
)
