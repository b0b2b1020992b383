"""Lesson 4 in the open: the optimal policy and the reward-KL frontier, with one authored example per kind of test.

Every expected number is checked against 50-digit arithmetic in ``tests/lessons/test_reward_kl_frontier.py``.
"""

from __future__ import annotations

import numpy as np

from grader.exercise import Case, Exercise, Group
from grader.tolerance import FRONTIER, OPTIMAL
from grader.values import Value

LESSON = "04_reward_kl_frontier"
POLICY_ARGS = ("log_ref", "rewards", "beta")
FRONTIER_ARGS = ("log_ref", "rewards", "betas")
Numbers = list[float]

THREE = np.log([0.5, 0.3, 0.2])
FOUR = np.log([0.1, 0.6, 0.05, 0.25])
QUARTERS = np.log([0.25, 0.5, 0.25])
RARE = np.log([1e-6, 0.6, 1 - 0.6 - 1e-6])
LIKED: Numbers = [1.0, 0.0, 2.0]
MIXED: Numbers = [-1.5, 0.4, 2.2, -0.3]
FAR: Numbers = [10.0, -10.0, 9.999]
NEAR_TIE: Numbers = [10.0, -10.0, 9.99]


def _policy(note: str, log_ref: Value, rewards: list[float], beta: float, right: Numbers) -> Case:
    args = dict(zip(POLICY_ARGS, (np.array(log_ref), np.array(rewards), beta), strict=True))
    return Case(args, note, np.array(right))


def _curve(note: str, log_ref: Value, rewards: list[float], betas: list[float], reward: Numbers, kl: Numbers) -> Case:
    args = dict(zip(FRONTIER_ARGS, (np.array(log_ref), np.array(rewards), np.array(betas)), strict=True))
    return Case(args, note, (np.array(reward), np.array(kl)))


TILTED = (
    _policy("three answers", THREE, LIKED, 0.5, [-1.3954581474592507, -3.9062837712252416, -0.3117488793334058]),
    _policy("four answers; beta is an int", FOUR, MIXED, 2,
            [-3.188394543662437, -0.4466350744343821, -2.0315417242223823, -1.672103811788282]),
    _policy("equal rewards move nothing", THREE, [0.7] * 3, 0.3,
            [-0.6931471805599453, -1.2039728043259361, -1.6094379124341003]),
)  # fmt: skip
BETAS = (
    _policy("small beta", THREE, [1.0, 0.6, 2.0], 0.02, [-49.083709268125844, -69.59453489189184, 0.0]),
    _policy("large beta", FOUR, MIXED, 50.0,
            [-2.3351990869483354, -0.5054396177202808, -2.954346267508281, -1.3949083550741805]),
)  # fmt: skip
TILTED_FAR = (
    _policy("tilts of ±10000", QUARTERS, FAR, 1e-3, [-0.3132616875183719, -19999.620114506957, -1.3132616875178176]),
    _policy("all tilts near -10000", QUARTERS, [-10.0, -9.9985, -9.999], 1e-3,
            [-2.5401568528330856, -0.3470096722730836, -1.54015685283364]),
)  # fmt: skip
LONE = _policy("one answer", [0.0], [3.5], 0.2, [0.0])
INTEGERS = Case(
    dict(zip(POLICY_ARGS, (THREE, np.array([1, 0, 2]), 0.5), strict=True)), "integer rewards", TILTED[0].expected
)
CURVES = (
    _curve("three answers", THREE, LIKED, [0.2, 0.5, 1.0, 2.0, 5.0],
           [1.9833013563289048, 1.7120502522963066, 1.3754635612748094, 1.1460754689788035, 0.9986476668429339],
           [1.5091731584594812, 0.7217895376933076, 0.23221189070494636, 0.061402238133642685, 0.00988110913917213]),
    _curve("four answers", FOUR, MIXED, [0.1, 1.0, 10.0],
           [2.199999670858898, 0.8120139737075064, 0.18215502434198863],
           [2.995728799313788, 0.371269843571471, 0.0028614986710427956]),
    _curve("the best answer is rare under the reference", RARE, [3.0, 0.5, -1.0], [0.1, 0.5, 2.0],
           [2.9999791682509915, 0.45242237584181944, 0.1407749199676981],
           [13.815293907740886, 0.38277863730537537, 0.05744024896231299]),
)  # fmt: skip
ORDERED = (
    _curve("betas in no order, one of them twice", FOUR, MIXED, [3.0, 0.25, 0.7, 0.25],
           [0.319922671811172, 2.1834554734252394, 1.2135881036479692, 2.1834554734252394],
           [0.03288743107496867, 2.920409332400645, 0.8600772332581992, 2.920409332400645]),
    _curve("one beta", THREE, LIKED, [0.8], [1.4767193173551294], [0.34590334143066925]),
)  # fmt: skip
ENDS = (
    _curve("both ends", QUARTERS, NEAR_TIE, [0.01, 1000.0], [9.9973105857863, 0.09744668906932116],
           [0.8040912522316684, 4.997251210992813e-05]),
    _curve("tilts of 10000", FOUR, MIXED, [2.2e-4, 0.002], [2.2, 2.2], [2.995732273553991, 2.995732273553991]),
    _curve("equal rewards", THREE, [0.7] * 3, [0.1, 1.0], [0.7, 0.7], [0.0, 0.0]),
)  # fmt: skip
WHOLE = Case(
    dict(zip(FRONTIER_ARGS, (THREE, np.array([1, 0, 2]), np.array([1, 2])), strict=True)),
    "integer rewards and betas",
    (np.array([1.3754635612748094, 1.1460754689788035]), np.array([0.23221189070494636, 0.061402238133642685])),
)
INPUTS_IDEA = "The caller's arrays are as they were after the call."

OPTIMAL_POLICY = Exercise(
    "optimal_policy",
    LESSON,
    POLICY_ARGS,
    (
        Group("tilt", 10, "The reference, tilted towards reward, and normalized: its probabilities add up to one.",
              TILTED),
        Group("both ends of beta", 3, "A small beta follows the reward; a large one stays close to the reference.",
              BETAS),
        Group("large tilts", 4, "Rewards of ±10000 beta neither overflow nor turn a log probability into -inf.",
              TILTED_FAR),
        Group("return type", 2, "The result is a float64 array of shape (K,), also for K = 1.",
              (TILTED[0], LONE), ("kind", "shape", "dtype")),
        Group("inputs untouched", 1, INPUTS_IDEA, TILTED[:2], ("inputs",)),
        Group("integer rewards", 0, "Stretch: whole numbers in an integer array give the same policy.", (INTEGERS,)),
    ),
    OPTIMAL,
    (
        "What should come back when every answer has the same reward?",
        "Work with logarithms from the first line to the last: tilting is then one addition, normalizing one "
        "subtraction.",
        "The normalizer is a sum of exponentials. Take the largest exponent out of it before any exponential is taken.",
    ),
)  # fmt: skip

REWARD_KL_FRONTIER = Exercise(
    "reward_kl_frontier",
    LESSON,
    FRONTIER_ARGS,
    (
        Group("expected reward", 5, "The mean reward under the optimal policy of each beta, not under the reference.",
              CURVES, ("value:0",)),
        Group("divergence", 6, "KL from the optimal policy to the reference, averaged under the optimal policy.",
              CURVES, ("value:1",)),
        Group("order of betas", 3, "One point per beta, in the caller's order, however many there are.", ORDERED),
        Group("ends of the frontier", 3, "Finite and right from greed (tiny beta) to standstill (huge beta).", ENDS),
        Group("return type", 2, "The result is a pair of float64 arrays, one entry per beta.",
              (CURVES[0], ORDERED[1]), ("kind", "shape", "dtype")),
        Group("inputs untouched", 1, INPUTS_IDEA, (CURVES[0], ORDERED[0]), ("inputs",)),
        Group("integer rewards", 0, "Stretch: whole numbers in integer arrays give the same frontier.", (WHOLE,)),
    ),
    FRONTIER,
    (
        "Take one beta first: which distribution do both averages run over?",
        "The divergence is an average of a difference of log probabilities. Whose log probability comes first?",
        "Where a probability underflows to zero its term must be zero as well: keep the log probabilities and weigh "
        "them, rather than taking the logarithm of a probability.",
    ),
)  # fmt: skip

EXERCISES: tuple[Exercise, ...] = (OPTIMAL_POLICY, REWARD_KL_FRONTIER)
