"""Expected against received. The expected outcomes are small numbers written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.exercise import Case, Error, Exercise, Group, Outcome
from grader.judge import (
    Judged,
    Verdict,
    error_in_tolerances,
    flaws_of,
    is_property,
    judge_group,
    not_attempted,
    same_type,
    within,
)
from grader.scoring import group_results
from grader.tolerance import EXACT, mixed
from grader.values import Opaque, Scalar, Tensor, tensor

LOOSE = mixed(0.0, 0.1, "loose", "0.1")
CASE = Case({"x": np.array([1.0])})
F32 = tensor([1.0, 2.0])


def judged(expected: Any, received: Any, case: Case = CASE, **outcome: Any) -> Judged:
    return Judged(case, Outcome("returned", expected), Outcome("returned", received, **outcome))


def texts(aspect: str, expected: Any, received: Any, **outcome: Any) -> list[str]:
    return [flaw.text for flaw in flaws_of(LOOSE, (aspect,), judged(expected, received, **outcome))]


@pytest.mark.filterwarnings("ignore:invalid value")  # 0 * inf, in a bound without a relative part
@pytest.mark.parametrize(
    ("expected", "received", "size"),
    [
        (1.0, 1.05, 0.5),
        (1.0, 1.2, 2.0),
        ([1.0, 2.0], [1.0, 2.4], 4.0),
        (np.nan, np.nan, 0.0),
        (np.inf, np.inf, 0.0),
        (np.inf, -np.inf, np.inf),
        (np.nan, 1.0, np.inf),
        (1.0, np.nan, np.inf),
        ([[1.0]], 1.0, 0.0),  # axes of size 1 do not matter for the value
        ([1.0, 2.0], [1.0], np.inf),
        (np.zeros((0,)), np.zeros((0,)), 0.0),
    ],
)
def test_error_is_counted_in_tolerances(expected: Any, received: Any, size: float) -> None:
    found = error_in_tolerances(LOOSE, CASE, "", np.asarray(expected), np.asarray(received))
    assert found == pytest.approx(size)


def test_a_case_may_be_stricter_than_its_exercise() -> None:
    strict = Case({"x": 1.0}, tolerance=EXACT)
    item = Judged(strict, Outcome("returned", 1.0), Outcome("returned", 1.01))
    assert [flaw.aspect for flaw in flaws_of(LOOSE, ("value",), item)] == ["value"]


@pytest.mark.parametrize(
    "received",
    [F32, tensor([1.0, 2.0], "float64"), np.array([1, 2]), [1, 2], (1.0, 2.0), tensor([[1.0], [2.0]]),
     [tensor(1.0), np.float64(2.0)]],
    ids=repr,
)  # fmt: skip
def test_value_ignores_dtype_and_kind(received: Any) -> None:
    assert texts("value", F32, received) == []


@pytest.mark.parametrize(
    ("received", "said"),
    [
        (tensor([1.0, 2.5]), "the result differs from the expected value"),
        (tensor([1.0, np.nan]), "the result is not finite where it should be"),
        (tensor([1.0]), "the result has another shape than asked for"),
        (None, "the result is None, not numbers"),
        ("1 2", "the result is str, not numbers"),
        (Opaque("generator"), "the result is generator, not numbers"),
        ([1.0, None], "the result is list of 2, not numbers"),
        ({"a": 1.0}, "the result is dict, not numbers"),
    ],
)
def test_value_flaws_name_the_property_and_no_number(received: Any, said: str) -> None:
    assert texts("value", F32, received) == [said]


def test_entries_of_a_dict() -> None:
    expected = {"a": 1.0, "b": 2.0}
    assert texts("value", expected, {"a": 1.0, "b": 2.0, "extra": 9.0}) == []  # extra keys are ignored
    assert texts("value", expected, {"a": 1.0}) == ["`b` is missing"]
    assert texts("value", expected, 1.0) == ["`a` is missing", "`b` is missing"]
    assert texts("value:a", expected, {"a": 1.0}) == []
    assert texts("value:b", expected, {"a": 5.0, "b": 3.0}) == ["`b` differs from the expected value"]


@pytest.mark.parametrize(
    "received", [(np.ones(2), np.zeros(2)), [np.ones(2), np.zeros(2)], np.array([[1.0, 1.0], [0.0, 0.0]])], ids=str
)
def test_a_pair_may_be_a_tuple_a_list_or_one_array(received: Any) -> None:
    assert texts("value", (np.ones(2), np.zeros(2)), received) == []


def test_a_pair_with_a_part_missing() -> None:
    assert texts("value", (1.0, 2.0), (1.0,)) == ["the first array is missing", "the second array is missing"]
    assert texts("value", (1.0, 2.0), (2.0, 1.0)) == [
        "the first array differs from the expected value",
        "the second array differs from the expected value",
    ]


@pytest.mark.parametrize(
    ("expected", "received", "said"),
    [
        (1.0, 1.0, []),
        (1.0, Scalar("float32", 1.0), ["returned numpy.float32, expected float"]),
        (1.0, np.zeros(()), ["returned 0-d numpy.ndarray, expected float"]),
        (1.0, 1, ["returned int, expected float"]),
        (F32, np.ones(2), ["returned numpy.ndarray, expected torch.Tensor"]),
        ((np.ones(1), np.ones(1)), [np.ones(1), np.ones(1)], []),  # a list of two is as good as a tuple of two
        ((np.ones(1), np.ones(1)), (np.ones(1), 1.0), ["returned float, expected numpy.ndarray"]),
        ({"a": F32}, {"a": F32, "b": 1}, []),
        ({"a": F32}, {"a": 1.0}, ["returned float, expected torch.Tensor"]),
        ({"a": F32}, {}, ["returned missing, expected torch.Tensor"]),
    ],
)
def test_kind(expected: Any, received: Any, said: list[str]) -> None:
    assert texts("kind", expected, received) == said


def test_shape_dtype_device() -> None:
    assert texts("shape", F32, tensor([[1.0, 2.0]])) == ["the result has the wrong shape"]
    assert texts("shape", F32, F32) == []
    wide = tensor([1.0, 2.0], "float64")
    assert texts("dtype", F32, wide) == ["the result has dtype float64, expected float32"]
    assert texts("dtype", {"a": F32}, {"a": wide}) == ["a has dtype float64, expected float32"]
    meta = Tensor(F32.data, "float32", "meta")
    assert texts("device", F32, meta) == ["the result is on device meta, expected cpu"]
    assert texts("shape", F32, Opaque("generator")) == ["the result is generator"]


def test_gradient_is_judged_alone() -> None:
    wanted = Outcome("returned", F32, {"x": tensor([1.0])})

    def flaws(result: Any, gradient: Any) -> list[str]:
        item = Judged(CASE, wanted, Outcome("returned", result, {"x": gradient}))
        return [flaw.text for flaw in flaws_of(LOOSE, ("gradient",), item)]

    assert flaws(None, tensor([1.05])) == []
    assert flaws(F32, tensor([2.0])) == ["the gradient in `x` differs from the expected one"]
    assert flaws(F32, None) == ["no gradient reaches `x`: the result is cut off from the graph"]


def test_overwritten_inputs() -> None:
    assert texts("inputs", 1.0, 5.0) == []
    assert texts("inputs", 1.0, 1.0, changed={"x": None}) == ["the call changed its argument `x`"]


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Outcome("raised", error=Error("ValueError", 3, 7, "secret")), "the call raised ValueError (cell 3, line 7)"),
        (Outcome("raised", error=Error("ValueError")), "the call raised ValueError"),
        (Outcome("timeout"), "the call took too long and was stopped"),
        (Outcome("died"), "the process died during the call"),
        (Outcome("not run"), "not run, after two calls that took too long or died"),
        (Outcome("missing"), "the function is not defined"),
    ],
)
def test_calls_that_gave_nothing(outcome: Outcome, said: str) -> None:
    flaws = flaws_of(LOOSE, ("value", "inputs"), Judged(CASE, Outcome("returned", 1.0), outcome))
    assert [flaw.text for flaw in flaws] == [said]


def exercise(*groups: Group) -> Exercise:
    return Exercise("f", "lesson", ("x",), groups, LOOSE, ("a", "b", "c"))


VALUES = Group("numbers", 3, "numbers", aspects=("value",))
KIND = Group("kind", 1, "kind", aspects=("kind",))
STRETCH = Group("stretch", 0, "stretch", aspects=("value",))


def verdict(group: Group, *received: Any) -> Verdict:
    return judge_group(exercise(group), group, [judged(1.0, value) for value in received])


def test_a_group_stands_or_falls_together() -> None:
    assert verdict(VALUES, 1.0, 1.05).passed
    assert not verdict(VALUES, 1.0, 2.0).passed
    assert not verdict(VALUES).passed  # nothing judged is nothing passed


def test_import_flaw_counts_where_the_group_looks() -> None:
    rule = Group("imports", 1, "imports", aspects=("imports",))
    items = [judged(1.0, 1.0)]
    assert not judge_group(exercise(rule), rule, items, "uses torch").passed
    assert judge_group(exercise(VALUES), VALUES, items, "uses torch").passed


def test_points_follow_the_weights() -> None:
    made = exercise(VALUES, KIND, STRETCH)
    results = group_results(
        made, [verdict(VALUES, 1.0), verdict(KIND, np.ones(1)), verdict(STRETCH, 7.0)], 10.0, "hints"
    )
    assert [(r.points, r.max_points, r.passed) for r in results] == [
        (7.5, 7.5, True),
        (0.0, 2.5, False),
        (0.0, 0.0, False),
    ]


def test_properties_count_once_some_numbers_are_right() -> None:
    made = exercise(VALUES, KIND)
    results = group_results(made, [verdict(VALUES, 7.0), verdict(KIND, 7.0)], 10.0, "hints")
    assert [r.points for r in results] == [0.0, 0.0]
    assert results[1].message == "counts once at least one group of values is right"
    assert [is_property(g) for g in (VALUES, KIND, Group("g", 1, "", aspects=("gradient",)))] == [False, True, False]


def test_scores_disclose_no_message() -> None:
    results = group_results(exercise(VALUES), [verdict(VALUES, 7.0)], 10.0, "scores")
    assert [r.message for r in results] == [""]


def test_not_attempted() -> None:
    stub = Judged(CASE, Outcome("returned", 1.0), Outcome("raised", error=Error("NotImplementedError")))
    missing = Judged(CASE, Outcome("returned", 1.0), Outcome("missing"))
    other = Judged(CASE, Outcome("returned", 1.0), Outcome("raised", error=Error("ValueError")))
    assert not_attempted([stub, stub])
    assert not_attempted([missing])
    assert not not_attempted([stub, other])
    assert not not_attempted([judged(1.0, 1.0)])


def test_same_type() -> None:
    assert same_type(F32, tensor([5.0]))
    assert not same_type(F32, tensor([5.0], "float64"))
    assert not same_type(1.0, Scalar("float32", 1.0))
    assert same_type(Scalar("float32", 1.0), Scalar("float32", 2.0))


SPECIAL = st.lists(st.sampled_from([0.0, 1.0, 1 + 5e-10, 1 + 2e-9, -1.0, 1e300, np.inf, -np.inf, np.nan]), max_size=4)


@pytest.mark.filterwarnings("ignore:invalid value")  # 0 * inf, in a bound
@given(SPECIAL, SPECIAL)
def test_the_quick_verdict_is_the_exact_one(want: list[float], got: list[float]) -> None:
    """`within` says what the error in tolerances says, for every pair of numbers that compares in a way of its own."""
    case = Case({"x": 1.0})
    expected, received = np.array(want), np.array(got)
    assert within(EXACT, case, "", expected, received) == (
        error_in_tolerances(EXACT, case, "", expected, received) <= 1
    )
