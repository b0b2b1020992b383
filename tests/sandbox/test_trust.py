"""The words of a child: which of them reach its author."""

from __future__ import annotations

import numpy as np
import pytest

from grader.exercise import Case, Error, Outcome
from grader.sandbox import trust
from grader.values import Opaque, Scalar, Tensor, as_array

CELLS = [(1, "a\nb\nc"), (2, "x"), (2, "\n\n\ny")]  # the pieces of a script share a number


def call_error(error: Error) -> Error | None:
    return trust.plain_outcome(Outcome("raised", error=error), Case({}), CELLS).error


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (Error("ValueError", 1, 3, "0.123"), Error("ValueError", 1, 3)),
        (Error("E_0_123", 2, 4), Error(trust.OTHER_EXCEPTION, 2, 4)),
        (Error("KeyError", 1, 4), Error("KeyError")),
        (Error("KeyError", 99, 1), Error("KeyError")),
        (Error("KeyError", 1, -1), Error("KeyError")),
    ],
)
def test_errors_of_calls(said: Error, kept: Error) -> None:
    assert call_error(said) == kept


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("hidden words", Opaque("str")),
        (Opaque("function"), Opaque("function")),
        (Opaque("numpy.ndarray of 123456 elements, too large"), Opaque("numpy.ndarray, too large")),
        (Opaque("numpy.ndarray of dtype [('0.123', 'f8')]"), Opaque("numpy.ndarray of no numbers")),
        (Opaque("Leak_0_123"), Opaque(trust.OTHER_KIND)),
        (Scalar("float32", 0.5), Scalar("float32", 0.5)),
        (Scalar("0.123", 0.5), Opaque("numpy scalar of no real number")),
        ([1, ("x", None)], [1, (Opaque("str"), None)]),
        ({"k": "x"}, {"k": Opaque("str")}),
    ],
)
def test_values(said: object, kept: object) -> None:
    assert trust.plain_value(said) == kept


def test_tensors_keep_their_numbers_and_no_words() -> None:
    data = np.array([1.0, 2.0], "float32")
    assert as_array(trust.plain_value(Tensor(data, "float32"))) is data
    assert trust.plain_value(Tensor(data, "float32", "cuda:0")).device == "cuda:0"
    assert trust.plain_value(Tensor(data, "float32", "0.123")).device == "another device"
    assert isinstance(trust.plain_value(Tensor(data, "0.123")), Opaque)
    huge = np.broadcast_to(np.zeros((), "float32"), (10**6, 10**6))
    assert isinstance(trust.plain_value(Tensor(huge, "float32", "meta")), Opaque)


def test_only_arguments_of_the_case_can_be_changed_or_differentiated() -> None:
    case = Case({"x": 1.0}, differentiate=("x",))
    said = Outcome("returned", 1.0, {"x": 1.0, "0.123": 2.0}, {"x": 2.0, "0.123": 3.0})
    kept = trust.plain_outcome(said, case, CELLS)
    assert dict(kept.gradients) == {"x": 1.0}
    assert set(kept.changed) == {"x"}


def test_errors_of_cells_are_one_printable_line() -> None:
    error = trust.plain_cell_error(Error("My\x1b[2JError", 2, 4, "a\r\nb\x07" + "c" * 2000), CELLS)
    assert error.type.isprintable()
    assert error.message.isprintable()
    assert len(error.message) <= 1000
    assert (error.cell, error.line) == (2, 4)
