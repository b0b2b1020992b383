"""What a child says, reduced to numbers and a fixed vocabulary.

A child sees the hidden arguments, and every word it chooses reaches the feedback of its author: the name of an
exception's class, of a returned object's class, a dtype, a line number. So only words from fixed lists and places
that exist get through. What remains to choose is one of a hundred words, not a message.
"""

from __future__ import annotations

import builtins
import math
import re
from collections.abc import Sequence
from dataclasses import replace

from grader.exercise import Case, Error, Outcome
from grader.values import Opaque, Scalar, Tensor, Value

_BUILTINS = [item for item in vars(builtins).values() if isinstance(item, type)]
_EXCEPTIONS = frozenset(
    [kind.__name__ for kind in _BUILTINS if issubclass(kind, BaseException)]
    + "LinAlgError AxisError UFuncTypeError OutOfMemoryError CheckFailed JSONDecodeError InvalidOperation".split()
)
_KINDS = frozenset(
    [kind.__name__ for kind in _BUILTINS]
    + "NoneType function method module generator coroutine ellipsis mappingproxy".split()
    + "dict_keys dict_values dict_items defaultdict OrderedDict Counter deque Fraction Decimal mpf mpc".split()
    + "Figure Axes DataFrame Series Size dtype device Generator".split()
)
_NUMBERS = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
_SCALARS = frozenset([*_NUMBERS, "longdouble", "float128", "bool_"])
_DTYPES = frozenset([*_NUMBERS, "bfloat16", "complex64", "complex128"])
_PHRASES = (
    ("missing", "missing"),
    ("dict, nested", "dict, nested too deep or too long"),
    ("list, nested", "list, nested too deep or too long"),
    ("tuple, nested", "tuple, nested too deep or too long"),
    ("int of more", "int of more than 64 bits"),
    ("numpy.ndarray of dtype object", "numpy.ndarray of dtype object"),
    ("numpy.ndarray of dtype complex", "numpy.ndarray of complex numbers"),
    ("numpy.ndarray of dtype", "numpy.ndarray of no numbers"),
    ("numpy.ndarray of", "numpy.ndarray, too large"),
    ("torch.Tensor of complex", "torch.Tensor of complex numbers"),
    ("torch.Tensor of", "torch.Tensor, too large or of no numbers"),
    ("numpy.", "numpy scalar of no real number"),
)
OTHER_KIND, OTHER_EXCEPTION = "an object of another class", "an exception of another class"
_LARGEST = 2**24  # elements of a tensor that holds no data

Cells = Sequence[tuple[int, str]]


def plain_outcome(outcome: Outcome, case: Case, cells: Cells) -> Outcome:
    """``outcome`` of a call with hidden arguments, without a word of the child's own."""
    return Outcome(
        outcome.status,
        plain_value(outcome.result),
        {n: plain_value(outcome.gradients[n]) for n in case.differentiate if n in outcome.gradients},
        {name: None for name in case.args if name in outcome.changed},
        _plain_call_error(outcome.error, cells) if outcome.error else None,
    )


def plain_value(value: Value) -> Value:
    """``value`` with its numbers as they are, and its words from the fixed lists."""
    if isinstance(value, str):
        return Opaque("str")
    if isinstance(value, Opaque):
        return Opaque(_known_kind(value.what))
    if isinstance(value, Scalar):
        return value if value.kind in _SCALARS else Opaque("numpy scalar of no real number")
    if isinstance(value, Tensor):
        return _plain_tensor(value)
    if isinstance(value, tuple | list):
        return type(value)(plain_value(item) for item in value)
    if isinstance(value, dict):
        return {key: plain_value(item) for key, item in value.items()}
    return value


def _plain_tensor(value: Tensor) -> Value:
    if value.dtype not in _DTYPES or math.prod(value.data.shape) > _LARGEST:
        return Opaque("torch.Tensor, too large or of no numbers")
    device = value.device if re.fullmatch(r"cpu|meta|mps|cuda(:\d)?", value.device) else "another device"
    return replace(value, device=device)


def _known_kind(what: str) -> str:
    if what in _KINDS:
        return what
    return next((phrase for start, phrase in _PHRASES if what.startswith(start)), OTHER_KIND)


def _plain_call_error(error: Error, cells: Cells) -> Error:
    known = error.type if error.type in _EXCEPTIONS else OTHER_EXCEPTION
    return Error(known, *_place(error, cells))


def plain_cell_error(error: Error, cells: Cells) -> Error:
    """An error of a cell that ran before any hidden argument was there: its words may be shown, on one line."""
    return Error(one_line(error.type, 100), *_place(error, cells), one_line(error.message, 1000))


def _place(error: Error, cells: Cells) -> tuple[int, int]:
    """The cell and line, (0, 0) when there is no such place in the submission."""
    lines = max((source.count("\n") + 1 for number, source in cells if number == error.cell), default=0)
    return (error.cell, error.line) if 0 < error.line <= lines else (0, 0)


def one_line(text: str, length: int) -> str:
    """``text`` on one line, without control characters (a terminal obeys them), cut to ``length``."""
    return "".join(c if c.isprintable() else " " for c in text[:length])
