"""Values: what a learner calls a type, and how nested results are walked. Expected names are written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from grader.values import Opaque, Scalar, Tensor, as_array, dtype_of, kind_of, leaves, tensor


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "None"),
        (True, "bool"),
        (3, "int"),
        (0.5, "float"),
        ("text", "str"),
        (np.zeros(2), "numpy.ndarray"),
        (np.zeros(()), "0-d numpy.ndarray"),
        (Scalar("float32", 0.5), "numpy.float32"),
        (tensor([1.0]), "torch.Tensor"),
        ((1.0, 2.0), "tuple of 2"),
        ([], "list of 0"),
        ({"a": 1.0}, "dict"),
        (Opaque("generator"), "generator"),
    ],
)
def test_kind_is_what_a_learner_calls_it(value: object, kind: str) -> None:
    assert kind_of(value) == kind


def test_tensor_keeps_the_asked_dtype() -> None:
    made = tensor([[1, 2]], "float64")
    assert (made.dtype, made.data.dtype, made.device) == ("float64", np.float64, "cpu")


def test_bfloat16_is_carried_as_float32() -> None:
    # numpy has no bfloat16
    made = tensor([0.5], "bfloat16")
    assert (made.dtype, made.data.dtype) == ("bfloat16", np.float32)


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        (2, 2.0),
        (True, 1.0),
        (Scalar("float16", 0.25), 0.25),
        (tensor([1.0, 2.0]), [1.0, 2.0]),
        (np.array([3]), [3]),
        (10**400, np.inf),  # larger than the largest float64, 1.8e308
        (-(10**400), -np.inf),
    ],
)
def test_numbers_in_a_leaf(value: object, numbers: object) -> None:
    found = as_array(value)
    assert found is not None
    assert np.array_equal(found, numbers)


@pytest.mark.parametrize("value", [None, "1.0", (1.0,), [1.0], {"a": 1.0}, Opaque("x")])
def test_no_numbers(value: object) -> None:
    assert as_array(value) is None


def test_dtype_of_leaves() -> None:
    values = [tensor([0.0], "bfloat16"), np.zeros(1, "int32"), Scalar("float32", 0.0), 0.5]
    assert [dtype_of(value) for value in values] == ["bfloat16", "int32", "numpy.float32", "float"]


def test_leaves_name_their_place() -> None:
    nested = {"a": (1.0, [2.0, 3.0]), "b": 4.0}
    assert list(leaves(nested)) == [("a.0", 1.0), ("a.1.0", 2.0), ("a.1.1", 3.0), ("b", 4.0)]
    assert list(leaves(5.0)) == [("", 5.0)]
    assert list(leaves(())) == []


def test_tensors_compare_by_identity() -> None:
    # eq=False: `==` between arrays would give an array where a truth value is asked for
    assert Tensor(np.zeros(2), "float64") != Tensor(np.zeros(2), "float64")
