"""Lesson 3 in the open: implicit reward, DPO loss and DPO gradient, with one authored example per kind of test.

Every expected number is checked against 50-digit arithmetic in ``tests/lessons/test_stable_dpo.py``.
"""

from __future__ import annotations

import numpy as np

from grader.exercise import Case, Exercise, Group
from grader.tolerance import DYADIC, EXACT, PRINTED, SIX_DIGITS, WORKED_LOSS, Tolerance
from grader.values import Value

LESSON = "03_stable_dpo"
REWARD_ARGS = ("policy_logprob", "ref_logprob", "beta")
PAIR_ARGS = (
    "policy_logprob_preferred",
    "policy_logprob_rejected",
    "ref_logprob_preferred",
    "ref_logprob_rejected",
    "beta",
)
NUMPY = frozenset({"numpy"})
Numbers = list[float]

#: Preferred, rejected, reference preferred, reference rejected, beta: z = β((πw - refw) - (πl - refl)).
PAIRS: dict[str, tuple[Numbers, Numbers, Numbers, Numbers, float]] = {
    "ordinary": ([-11.3], [-14.9], [-12.6], [-13.2], 0.35),
    "swapped": ([-14.9], [-11.3], [-13.2], [-12.6], 0.35),
    "int beta": ([-20.4], [-8.75], [-19.1], [-9.6], 2),
    "models agree": ([-7.2], [-9.9], [-7.2], [-9.9], 0.1),
    "two pairs": ([-3.1, -38.7], [-4.5, -41.2], [-2.8, -40.3], [-6.6, -39.9], 0.7),
    "four pairs": ([-12.3, -7.4, -30.1, -5.2], [-10.9, -9.8, -28.8, -5.9], [-11.7, -8.1, -33.6, -4.6],
                   [-12.2, -7.7, -29.3, -6.1], 1.3),
    "worked": ([-12.0, -20.0, -8.0], [-15.0, -18.0, -9.0], [-13.0, -19.0, -8.5], [-14.0, -19.0, -8.5], 0.1),
    "eighths": ([-10.5], [-12.125], [-11.25], [-12.0], 0.5),
    "eighths, two pairs": ([-3.25, -17.5], [-4.0, -16.875], [-3.5, -17.125], [-4.5, -16.75], 4.0),
    "deep": ([-4991.3], [-4987.6], [-4990.2], [-4985.1], 0.3),
    "lost by 20.5": ([-31.25], [-9.5], [-20.25], [-19.0], 1.0),
    "lost by 745": ([-812.5], [-50.5], [-86.75], [-69.75], 1.0),
    "lost by 3000": ([-3000.0], [0.0], [0.0], [0.0], 1.0),
    "lost by 67560": ([-4810.5], [-35.25], [-60.75], [-2041.5], 10.0),
    "lost and won": ([-3000.0, -4.1, -22.6], [-11.8, -5.7, -1893.2], [-14.3, -4.9, -950.5], [-9.4, -5.2, -26.1], 1.0),
    "lost among others": ([-3000.0, -4.1, -22.6], [-11.8, -5.7, -24.4], [-14.3, -4.9, -23.1], [-9.4, -5.2, -23.5], 1.0),
    "won by 20.5": ([-9.5], [-31.25], [-19.0], [-20.25], 1.0),
    "won by 37": ([-3.5], [-38.25], [-20.5], [-18.25], 1.0),
    "won by 40": ([0.0], [-40.0], [0.0], [0.0], 1.0),
    "won by 100": ([-20.3], [-182.9], [-61.6], [-24.2], 0.5),
    "won by 690": ([-7.5], [-95.25], [-15.25], [-16.75], 8.0),
    "won by 745": ([-50.5], [-812.5], [-69.75], [-86.75], 1.0),
    "won by 3000": ([0.0], [-3000.0], [0.0], [0.0], 1.0),
}  # fmt: skip
LOSSES: dict[str, float] = {
    "ordinary": 0.3000584796176432,
    "swapped": 1.3500584796176431,
    "int beta": 4.31347733041602,
    "models agree": 0.6931471805599453,
    "two pairs": 0.9871501941738607,
    "four pairs": 0.984952768948505,
    "worked": 0.6802247996122515,
    "eighths": 0.49813454751437536,
    "eighths, two pairs": 1.3132616875182228,
    "deep": 0.505036993817797,
    "lost by 20.5": 20.500000001250154,
    "lost by 745": 745.0,
    "lost by 3000": 3000.0,
    "lost by 67560": 67560.0,
    "lost and won": 994.513669484611,
    "lost among others": 994.5871419545838,
    "won by 20.5": 1.2501528656053015e-09,
    "won by 37": 8.533047625744066e-17,
    "won by 40": 4.248354255291589e-18,
    "won by 100": 3.7200759760208227e-44,
    "won by 690": 2.171738281389827e-300,
    "won by 745": 0.0,
    "won by 3000": 0.0,
}
#: β σ(-z)/N per pair: the gradient in the rejected log probability; in the preferred one it is the negative.
WEIGHTS: dict[str, Numbers] = {
    "ordinary": [0.0907287852862461],
    "swapped": [0.25927121471375386],
    "int beta": [1.9732261643446702],
    "models agree": [0.05],
    "two pairs": [0.2950165858900915, 0.04063112272414823],
    "four pairs": [0.29965382358295595, 0.008313756201402499, 0.006448099363575189, 0.2401262519773809],
    "worked": [0.01500553, 0.0183278, 0.01583403],
    "eighths": [0.19616841508355418],
    "eighths, two pairs": [1.4621171572600098, 1.4621171572600098],
    "deep": [0.11895502504058994],
    "lost by 20.5": [0.9999999987498471],
    "lost by 745": [1.0],
    "lost by 3000": [1.0],
    "lost by 67560": [10.0],
    "lost and won": [0.3333333333333333, 0.07138833898581376, 0.0],
    "lost among others": [0.3333333333333333, 0.07138833898581376, 0.06593870381380616],
    "won by 20.5": [1.2501528648238605e-09],
    "won by 37": [8.533047625744065e-17],
    "won by 40": [4.248354255291589e-18],
    "won by 100": [1.8600379880104113e-44],
    "won by 690": [1.7373906251118617e-299],
    "won by 745": [0.0],
    "won by 3000": [0.0],
}
TIGHT = ("eighths", "eighths, two pairs", "lost by 20.5", "lost by 745", "won by 20.5", "won by 37", "won by 40",
         "won by 690")  # fmt: skip
WHOLE = dict(zip(PAIR_ARGS, (np.array(x) for x in ([-2, -9], [-5, -7], [-3, -8], [-4, -8])), strict=False))


def pair_args(name: str) -> dict[str, Value]:
    """The arguments called ``name`` in `PAIRS`: four (N,) float64 arrays and beta."""
    *arrays, beta = PAIRS[name]
    return dict(zip(PAIR_ARGS, [*(np.array(x, dtype=np.float64) for x in arrays), beta], strict=True))


def _losses(*names: str) -> tuple[Case, ...]:
    tight: dict[str, Tolerance] = {"worked": WORKED_LOSS, **dict.fromkeys(TIGHT, DYADIC)}
    return tuple(
        Case(pair_args(name), name, LOSSES[name], tolerance=tight.get(name), worked=name == "worked") for name in names
    )


def _grads(*names: str) -> tuple[Case, ...]:
    tight: dict[str, Tolerance] = {"worked": PRINTED, **dict.fromkeys(TIGHT, DYADIC)}
    sides = {name: (-np.array(WEIGHTS[name]), np.array(WEIGHTS[name])) for name in names}
    return tuple(
        Case(pair_args(name), name, sides[name], tolerance=tight.get(name), worked=name == "worked") for name in names
    )


def _rewards(note: str, policy: Numbers, ref: Numbers, beta: float, right: Numbers, exact: bool = False) -> Case:
    args = dict(zip(REWARD_ARGS, (np.array(policy), np.array(ref), beta), strict=True))
    return Case(
        args,
        note,
        np.array(right, dtype=np.float64),
        tolerance=DYADIC if exact else None,
        worked=note.startswith("worked"),
    )


WORKED_REWARDS = (
    _rewards("worked, preferred", [-12.0, -20.0, -8.0], [-13.0, -19.0, -8.5], 0.1, [0.1, -0.1, 0.05]),
    _rewards("worked, rejected", [-15.0, -18.0, -9.0], [-14.0, -19.0, -8.5], 0.1, [-0.1, 0.1, -0.05]),
)
LONE_REWARDS = (
    _rewards("more likely than before", [-11.3], [-12.6], 0.35, [0.455]),
    _rewards("less likely; beta is an int", [-20.4], [-19.1], 2, [-2.6]),
    _rewards("the models agree", [-7.2], [-7.2], 8.0, [0.0]),
)
FAR_REWARDS = (
    _rewards("deep", [-4991.3, -4987.62], [-4990.2, -4987.6], 0.3, [-0.33, -0.006]),
    _rewards("far apart", [-4810.5, -35.25], [-60.7, -2041.5], 10.0, [-47498.0, 20062.5]),
    _rewards("multiples of 1/8", [-4987.625, -0.125, -3.0], [-4985.5, -5000.0, -3.0], 0.125,
             [-0.265625, 624.984375, 0.0], exact=True),
)  # fmt: skip
IMPORTS_IDEA = "numpy and the standard library do all of it: no torch, no scipy."
INPUTS_IDEA = "The caller's arrays are as they were after the call."

IMPLICIT_REWARD = Exercise(
    "implicit_reward",
    LESSON,
    REWARD_ARGS,
    (
        Group("formula", 7, "Beta times how much more likely the policy makes the completion than the reference does.",
              LONE_REWARDS),
        Group("every completion", 4, "One implicit reward per completion, each from its own two log probabilities.",
              (*WORKED_REWARDS, _rewards("two", [-3.1234567, -38.7], [-4.5, -41.2], 0.7, [0.96358031, 1.75]))),
        Group("far range", 4, "Long completions: log probabilities down to -5000, without losing digits.",
              FAR_REWARDS),
        Group("return type", 2, "The result is a float64 array of shape (N,), also for N = 1.",
              (LONE_REWARDS[0], WORKED_REWARDS[0]), ("kind", "shape", "dtype")),
        Group("inputs untouched", 1, INPUTS_IDEA, (LONE_REWARDS[1], WORKED_REWARDS[0]), ("inputs",)),
        Group("numpy only", 2, IMPORTS_IDEA, WORKED_REWARDS[:1], ("imports",)),
        Group("integer arrays", 0, "Stretch: whole numbers in an integer array give the same rewards.",
              (Case({"policy_logprob": np.array([-1, -6]), "ref_logprob": np.array([-4, -5]), "beta": 0.5},
                    "integers", np.array([1.5, -0.5])),)),
    ),
    EXACT,
    (
        "What should the reward of a completion be when policy and reference give it the same probability?",
        "You are handed logarithms already. Which operation on logarithms belongs to a ratio of probabilities?",
        "There is one number per completion and no batch average: compare that number across two completions whose "
        "only difference is beta.",
    ),
    NUMPY,
)  # fmt: skip

DPO_LOSS = Exercise(
    "dpo_loss",
    LESSON,
    PAIR_ARGS,
    (
        Group("margin", 5, "The loss of one pair falls with its margin: the difference of the two implicit rewards.",
              _losses("ordinary", "swapped", "int beta", "models agree"), tolerance=SIX_DIGITS),
        Group("batch mean", 4, "Each preferred completion meets its own rejected one, and the losses are averaged.",
              _losses("two pairs", "four pairs"), tolerance=SIX_DIGITS),
        Group("exact digits", 2, "Nine digits always, twelve where the inputs are exact in binary.",
              _losses("worked", "eighths", "eighths, two pairs", "ordinary", "two pairs")),
        Group("deep log probabilities", 1, "Long completions: only differences of log probabilities matter.",
              _losses("deep")),
        Group("lost pairs", 3, "A pair that is badly wrong has a large loss, not an infinite or a capped one.",
              _losses("lost by 20.5", "lost by 745", "lost by 3000", "lost by 67560", "lost and won")),
        Group("won pairs", 2, "A pair that is clearly right has a tiny loss, and all of its digits count.",
              _losses("won by 20.5", "won by 37", "won by 40", "won by 100", "won by 690", "won by 745",
                      "won by 3000")),
        Group("return type", 1, "The result is a Python float (np.float64 is one; a 0-d array is not).",
              _losses("ordinary", "four pairs"), ("kind",)),
        Group("inputs untouched", 1, INPUTS_IDEA, _losses("ordinary", "two pairs"), ("inputs",)),
        Group("numpy only", 1, IMPORTS_IDEA, _losses("worked"), ("imports",)),
        Group("integer arrays", 0, "Stretch: whole numbers in integer arrays give the same loss.",
              (Case({**WHOLE, "beta": 0.5}, "integers", 0.8132616875182228),)),
    ),
    EXACT,
    (
        "Write the margin of one pair first, and look at its sign when the preferred completion wins.",
        "The negative logarithm of a sigmoid is a softplus. Where does the exponential inside it leave float64?",
        "Treat positive and negative margins so that no exponential is ever taken of a large positive number, and "
        "so that a tiny number is never added to one before the logarithm sees it.",
    ),
    NUMPY,
)  # fmt: skip

DPO_GRAD = Exercise(
    "dpo_grad",
    LESSON,
    PAIR_ARGS,
    (
        Group("gradient", 5, "For one pair: down in the preferred, up in the rejected, weighted by how wrong it is.",
              _grads("ordinary", "swapped", "int beta", "models agree"), tolerance=SIX_DIGITS),
        Group("batch mean", 4, "One gradient per pair, and each carries the 1/N of the mean.",
              _grads("worked", "two pairs", "four pairs"), tolerance=SIX_DIGITS),
        Group("exact digits", 2, "Nine digits always, twelve where the inputs are exact in binary.",
              _grads("eighths", "eighths, two pairs", "ordinary", "two pairs")),
        Group("deep log probabilities", 1, "Long completions: only differences of log probabilities matter.",
              _grads("deep")),
        Group("lost pairs", 2, "A pair that is badly wrong pulls with its full weight, and stays finite.",
              _grads("lost by 20.5", "lost by 745", "lost by 3000", "lost by 67560", "lost among others")),
        Group("won pairs", 3, "A pair that is clearly right pulls very little, but not zero: all digits count.",
              _grads("won by 20.5", "won by 37", "won by 40", "won by 100", "won by 690", "won by 745",
                      "won by 3000")),
        Group("return type", 1, "The result is a pair of float64 arrays of shape (N,), also for N = 1.",
              _grads("ordinary", "four pairs"), ("kind", "shape", "dtype")),
        Group("inputs untouched", 1, INPUTS_IDEA, _grads("ordinary", "two pairs"), ("inputs",)),
        Group("numpy only", 1, IMPORTS_IDEA, _grads("worked"), ("imports",)),
        Group("integer arrays", 0, "Stretch: whole numbers in integer arrays give the same gradients.",
              (Case({**WHOLE, "beta": 0.5}, "integers", (np.array([-0.06723535534249878, -0.18276464465750122]),
                                                        np.array([0.06723535534249878, 0.18276464465750122]))),)),
    ),
    EXACT,
    (
        "Differentiate the loss in the margin first, then ask how each log probability moves the margin.",
        "The weight of a pair is large while it is lost and shrinks as it is won. Which of the two sigmoids does so?",
        "That small sigmoid must be computed directly: nearly one subtracted from one has no digits left. Then check "
        "what the mean over the batch does to each entry.",
    ),
    NUMPY,
)  # fmt: skip

EXERCISES: tuple[Exercise, ...] = (IMPLICIT_REWARD, DPO_LOSS, DPO_GRAD)
