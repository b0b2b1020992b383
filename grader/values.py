"""Plain values: the only things that cross the trust boundary.

A *value* is ``None``, ``bool``, ``int``, ``float``, ``str``, ``numpy.ndarray``, a `Tensor`, a `Scalar`,
an `Opaque`, or a ``tuple``, ``list`` or ``dict`` (string keys) of values. A torch tensor is carried as a
numpy array with its dtype and device beside it, so the trusted side never imports torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Value = Any


@dataclass(frozen=True, eq=False)
class Tensor:
    """A torch tensor as a value: ``data`` on the CPU, the torch ``dtype`` by name, and its ``device``.

    A bfloat16 tensor carries float32 data, since numpy has no such type.
    """

    data: np.ndarray
    dtype: str
    device: str = "cpu"


@dataclass(frozen=True)
class Scalar:
    """A numpy scalar other than float64, e.g. ``Scalar("float32", 0.5)``: a number, but not a Python float."""

    kind: str
    number: float


@dataclass(frozen=True)
class Opaque:
    """Something that is not a value; only the name of its type, or the reason, crosses."""

    what: str


def tensor(data: Any, dtype: str = "float32") -> Tensor:
    """A `Tensor` of ``data`` (nested lists or an array) with torch dtype ``dtype``."""
    stored = "float32" if dtype == "bfloat16" else dtype
    return Tensor(np.array(data, dtype=stored), dtype)


def kind_of(value: Value) -> str:
    """What a learner calls the type of ``value``, e.g. ``torch.Tensor`` or ``tuple of 2``."""
    if isinstance(value, Tensor):
        return "torch.Tensor"
    if isinstance(value, np.ndarray):
        return "numpy.ndarray" if value.shape else "0-d numpy.ndarray"
    if isinstance(value, Scalar):
        return f"numpy.{value.kind}"
    if isinstance(value, Opaque):
        return value.what
    if isinstance(value, tuple | list):
        return f"{type(value).__name__} of {len(value)}"
    return "None" if value is None else type(value).__name__


def as_array(value: Value) -> np.ndarray | None:
    """The numbers in a leaf value as an array, or None where there are none."""
    if isinstance(value, Tensor):
        return value.data
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, Scalar):
        return np.asarray(value.number)
    if isinstance(value, bool | int | float):
        try:
            return np.asarray(float(value))
        except OverflowError:
            return np.asarray(np.inf if value > 0 else -np.inf)
    return None


def dtype_of(value: Value) -> str:
    """The dtype name of a leaf value, e.g. ``float32``."""
    if isinstance(value, Tensor):
        return value.dtype
    if isinstance(value, np.ndarray):
        return str(value.dtype)
    return kind_of(value)


def leaves(value: Value, path: str = "") -> Iterator[tuple[str, Value]]:
    """(path, leaf) pairs of ``value``: dict keys and sequence positions joined by dots; ``""`` for a lone leaf."""
    if isinstance(value, dict):
        items: Any = value.items()
    elif isinstance(value, tuple | list):
        items = enumerate(value)
    else:
        yield path, value
        return
    for key, item in items:
        yield from leaves(item, f"{path}.{key}" if path else str(key))
