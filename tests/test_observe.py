"""What one call did, written down as plain values."""

from __future__ import annotations

import collections
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from grader.observe import freeze, locate, observe, thaw
from grader.values import Opaque, Scalar, Tensor, tensor
from grader.wire import MAX_DEPTH, MAX_ITEMS

X = tensor([1.0, 2.0])


def test_arguments_come_in_order_and_fresh() -> None:
    seen = []
    args = {"x": X, "n": 3}
    for _ in range(2):
        observe(lambda x, n: seen.append((x, n)), args)
    assert seen[0][0] is not seen[1][0]
    assert seen[0][0].tolist() == [1.0, 2.0]
    assert seen[0][1] == 3


@pytest.mark.parametrize(
    ("live", "value"),
    [
        (np.float64(0.5), 0.5),  # np.float64 is a Python float
        (np.float32(0.5), Scalar("float32", 0.5)),
        (np.int64(3), Scalar("int64", 3.0)),
        (np.bool_(True), Scalar("bool", 1.0)),
        (True, True),
        (None, None),
        ([1.0, (2.0,)], [1.0, (2.0,)]),
        (collections.OrderedDict(a=1.0), {"a": 1.0}),
        (collections.namedtuple("P", "x y")(1.0, 2.0), (1.0, 2.0)),
        ({1: 2.0}, {"1": 2.0}),
        (1j, Opaque("complex")),
        (np.complex128(1j), Opaque("numpy.complex128")),
        ({1.0, 2.0}, Opaque("set")),
    ],
    ids=lambda x: repr(x)[:30],
)
def test_live_objects_as_values(live: Any, value: Any) -> None:
    frozen = freeze(live)
    assert frozen == value
    assert type(frozen) is type(value)


def test_arrays_and_tensors() -> None:
    array = freeze(np.arange(4, dtype=">i4")[::2])  # foreign byte order, strided
    assert array.dtype == np.int32
    assert array.tolist() == [0, 2]
    half = freeze(torch.tensor([0.5], dtype=torch.bfloat16, requires_grad=True))
    assert (half.dtype, half.data.tolist()) == ("bfloat16", [0.5])
    assert freeze(torch.zeros(2, 3, device="meta")).data.shape == (2, 3)
    assert freeze(np.array(["a"])) == Opaque("numpy.ndarray of dtype <U1")
    assert freeze(torch.tensor([1j])) == Opaque("torch.Tensor of complex64")


def test_a_returned_array_is_measured_before_it_is_copied() -> None:
    # views of 10**12 elements that occupy a few bytes: copying either would need 8 TB
    assert freeze(np.broadcast_to(0.0, (10**6, 10**6))) == Opaque(f"numpy.ndarray of {10**12} elements, too large")
    assert freeze(torch.zeros(1).expand(10**6, 10**6)) == Opaque(f"torch.Tensor of {10**12} elements, too large")


def test_containers_are_bounded() -> None:
    endless: list[Any] = []
    endless.append(endless)
    inner = freeze(endless)
    for _ in range(MAX_DEPTH):
        inner = inner[0]
    assert isinstance(inner, Opaque)
    assert freeze([0.0] * (MAX_ITEMS + 1)) == Opaque("list, nested too deep or too long")
    assert isinstance(freeze(dict.fromkeys(range(MAX_ITEMS + 1))), Opaque)


class Liar(float):
    """A float that says it is whatever is asked."""

    def __eq__(self, other: object) -> bool:
        return True

    def __float__(self) -> float:
        raise RuntimeError("read me not")

    __hash__ = None  # type: ignore[assignment]


class Pretender:
    @property
    def __class__(self) -> Any:
        return float


def test_objects_with_methods_of_their_own_have_no_say() -> None:
    frozen = freeze(Liar(0.5))
    assert type(frozen) in (float, Opaque)
    assert not isinstance(frozen, Liar)
    assert freeze(Pretender()) == Opaque("Pretender")


def test_gradient_of_the_sum() -> None:
    # d/dx sum(x^2) = 2x
    outcome = observe(lambda x: x**2, {"x": X}, ("x",))
    assert outcome.gradients["x"].data.tolist() == [2.0, 4.0]
    assert outcome.changed == {}


def test_gradient_of_one_entry() -> None:
    outcome = observe(lambda x: {"a": 3 * x, "b": x}, {"x": X}, ("x",), of="a")
    assert outcome.gradients["x"].data.tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x.detach(),
        lambda x, y: y * 2,
        lambda x, y: x.sum().item(),
        lambda x, y: x.tolist(),
        lambda x, y: None,
    ],
)
def test_no_gradient_reaches_the_argument(function: Any) -> None:
    outcome = observe(function, {"x": X, "y": X}, ("x",))
    assert outcome.status == "returned"
    assert outcome.gradients == {"x": None}


def test_a_missing_entry_has_no_gradient() -> None:
    assert observe(lambda x: {"a": x}, {"x": X}, ("x",), of="b").gradients == {"x": None}


def _overwrite(x: Any, y: Any) -> None:
    y -= 1


def test_overwritten_arguments_are_named() -> None:
    outcome = observe(_overwrite, {"x": np.ones(2), "y": np.array([1.0, 2.0])})
    assert list(outcome.changed) == ["y"]
    assert outcome.changed["y"].tolist() == [0.0, 1.0]


def _widen(x: torch.Tensor) -> None:
    x.data = x.double()


def test_a_changed_dtype_counts_as_overwritten() -> None:
    assert list(observe(_widen, {"x": X}).changed) == ["x"]


def test_nan_left_alone_is_not_a_change() -> None:
    # NaN != NaN: compared as bytes
    assert observe(lambda x: 0.0, {"x": np.array([np.nan, np.inf])}).changed == {}


@pytest.mark.parametrize(
    "error", [ValueError("why"), SystemExit(0), KeyboardInterrupt(), RecursionError(), MemoryError()]
)
def test_exceptions_become_the_outcome(error: BaseException) -> None:
    def function(x: Any) -> None:
        raise error

    outcome = observe(function, {"x": 1})
    assert outcome.status == "raised"
    assert outcome.error is not None
    assert outcome.error.type == type(error).__name__


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def test_the_place_is_the_learners_own_line() -> None:
    names: dict[str, Any] = {"np": np}
    exec(compile("\n\ndef f(x):\n    return np.linalg.inv(x)\n", "<cell 7>", "exec"), names)
    error = observe(names["f"], {"x": np.zeros((2, 2))}).error
    assert error is not None
    assert (error.type, error.cell, error.line) == ("LinAlgError", 7, 4)
    assert locate(Mute()).message == ""


def test_lesson_3_needs_no_torch() -> None:
    text = Path(observe.__code__.co_filename).read_text(encoding="utf-8")
    assert "\nimport torch" not in text  # only inside the functions that meet a tensor


def test_thaw_of_meta_and_bfloat16() -> None:
    assert thaw(Tensor(np.zeros((2, 3), "float32"), "float64", "meta")).device.type == "meta"
    assert thaw(tensor([0.5], "bfloat16")).dtype == torch.bfloat16
