"""Values to bytes and back: msgpack of plain lists, never pickle.

Each value is a tagged list (``["t", dtype, device, shape, bytes]`` for a tensor). Decoding assumes a hostile
sender: unknown tags, wrong sizes, deep nesting and foreign dtypes raise `WireError`, and nothing else.
"""

from __future__ import annotations

import functools
import struct
from typing import Any

import msgpack
import numpy as np

from grader.exercise import Error, Outcome
from grader.values import Opaque, Scalar, Tensor, Value

MAX_FRAME = 80 * 2**20
MAX_DEPTH = 6
MAX_ITEMS = 4096
MAX_LENGTH = 2**14  # of one container in a message, and
MAX_ENTRIES = 2**17  # of all together: 80 MB of empty containers would become 5 GB of objects
_NUMERIC = frozenset("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split())
_DTYPES = {name: np.dtype(name) for name in _NUMERIC}
_NOTHING: list[Any] = ["d", []]
_HEADER = struct.Struct(">I")


class WireError(ValueError):
    """Bytes that are not a message of this protocol."""


dtype_name = functools.cache(str)  # of a dtype or a device: numpy spells it anew each time, in 30 µs


def _encode(value: Value) -> list[Any]:
    kind = type(value)
    if kind is np.ndarray:  # most of all there is, first
        return ["a", dtype_name(value.dtype), list(value.shape), value.tobytes()]
    if kind is Tensor:
        data = b"" if value.device == "meta" else value.data.tobytes()
        return ["t", value.dtype, value.device, list(value.data.shape), data]
    if value is None:
        return ["z"]
    if isinstance(value, bool):
        return ["b", value]
    if isinstance(value, int):
        return ["i", value] if -(2**63) <= value < 2**63 else ["o", "int of more than 64 bits"]
    if isinstance(value, float):
        return ["f", float(value)]
    if isinstance(value, str):
        return ["s", value[:1000]]
    if isinstance(value, Scalar):
        return ["n", value.kind, value.number]
    if isinstance(value, dict):
        return ["d", [[key, _encode(item)] for key, item in value.items()]]
    if isinstance(value, tuple | list):
        return ["u" if isinstance(value, tuple) else "l", [_encode(item) for item in value]]
    return ["o", value.what if isinstance(value, Opaque) else type(value).__name__]


def _array(dtype: str, shape: list[int], data: bytes) -> np.ndarray:
    kind = _DTYPES.get(dtype)
    size = kind.itemsize if kind is not None and len(shape) <= 8 else -1
    for length in shape:
        if type(length) is not int or length < 0:
            size = -1
        size *= length
    if size != len(data):
        raise WireError(f"not a numeric array: {len(data)} bytes for {dtype[:20]} {shape[:9]}")
    return np.ndarray(shape, kind, data)


def _tensor(dtype: str, device: str, shape: list[int], data: bytes) -> Tensor:
    stored = "float32" if dtype == "bfloat16" else dtype
    if device == "meta":
        return Tensor(np.broadcast_to(np.zeros((), "float32"), shape), str(dtype), "meta")
    return Tensor(_array(stored, shape, data), dtype, str(device))


def _decode(node: Any, depth: int = 0) -> Value:
    if depth > MAX_DEPTH or type(node) is not list or not node:
        raise WireError("malformed or too deeply nested value")
    match node[0], len(node):  # most of all there is, first
        case "t", 5:
            _, dtype, device, shape, data = node
            if type(dtype) is type(device) is str and type(shape) is list and type(data) is bytes:
                return _tensor(dtype, device, shape, data)
        case "a", 4:
            _, dtype, shape, data = node
            if type(dtype) is str and type(shape) is list and type(data) is bytes:
                return _array(dtype, shape, data)
    tag, *body = node
    match tag, body:
        case "z", []:
            return None
        case "b", [bool(x)]:
            return x
        case "i", [int(x)]:
            return x
        case "f", [float(x)]:
            return x
        case "s", [str(x)]:
            return x
        case "n", [str(kind), float(x)]:
            return Scalar(kind, x)
        case "o", [str(what)]:
            return Opaque(what[:200])
        case (("u" | "l"), [list(items)]) if len(items) <= MAX_ITEMS:
            decoded = [_decode(item, depth + 1) for item in items]
            return tuple(decoded) if tag == "u" else decoded
        case "d", [list(items)] if len(items) <= MAX_ITEMS:
            return {_key(item): _decode(item[1], depth + 1) for item in items}
    raise WireError(f"unknown value tag {str(tag)[:20]!r}")


def _key(item: Any) -> str:
    if not isinstance(item, list) or len(item) != 2 or not isinstance(item[0], str):
        raise WireError("malformed dict entry")
    return item[0][:200]


def dumps(message: dict[str, Any]) -> bytes:
    """A message (dict of plain msgpack types) as bytes."""
    packed: bytes = msgpack.packb(message, use_bin_type=True)
    return packed


def loads(data: bytes | bytearray) -> dict[str, Any]:
    """The message in ``data``. Raises `WireError` for anything that is not one."""
    left = MAX_ENTRIES

    def count(container: Any) -> Any:
        nonlocal left
        left -= len(container) + 1
        if left < 0:
            raise WireError("too many entries")
        return container

    # an entry takes a byte at least: a short message cannot hold too many
    hooks: dict[str, Any] = {"list_hook": count, "object_hook": count} if len(data) > MAX_ENTRIES else {}
    try:
        message = msgpack.unpackb(
            data,
            raw=False,
            strict_map_key=True,
            max_ext_len=0,
            max_array_len=MAX_LENGTH,
            max_map_len=MAX_LENGTH,
            **hooks,
        )
    except Exception as error:  # noqa: BLE001 - msgpack raises a zoo of types on hostile bytes
        raise WireError(f"not a message: {type(error).__name__}") from None
    if not isinstance(message, dict):
        raise WireError("a message is a map")
    return message


def frame(payload: bytes) -> bytes:
    """``payload`` behind its length (4 bytes, big endian). ValueError over `MAX_FRAME`."""
    if len(payload) > MAX_FRAME:
        raise WireError("frame too large")
    return _HEADER.pack(len(payload)) + payload


def encode(value: Value) -> list[Any]:
    """A value as a tagged list of msgpack types."""
    return _encode(value)


def decode(node: Any) -> Value:
    """The value of a tagged list. Raises `WireError` for anything malformed."""
    try:
        return _decode(node)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise error if isinstance(error, WireError) else WireError(str(error)) from None


def encode_outcome(outcome: Outcome) -> dict[str, Any]:
    """An `Outcome` as a map of msgpack types."""
    error = outcome.error
    return {
        "status": outcome.status,
        "result": encode(outcome.result),
        "gradients": encode(dict(outcome.gradients)) if outcome.gradients else _NOTHING,
        "changed": encode(dict(outcome.changed)) if outcome.changed else _NOTHING,
        "error": [error.type, error.cell, error.line, error.message] if error else None,
    }


def decode_outcome(node: Any) -> Outcome:
    """The `Outcome` of a map from `encode_outcome`. Raises `WireError` for anything malformed."""
    match node:
        case {"status": "returned" | "raised" as status, "result": result, "gradients": gradients, "changed": changed}:
            grads, overwritten = (decode(part) if part != _NOTHING else {} for part in (gradients, changed))
            if isinstance(grads, dict) and isinstance(overwritten, dict):
                return Outcome(status, decode(result), grads, overwritten, decode_error(node.get("error")))
    raise WireError("malformed outcome")


def decode_error(node: Any) -> Error | None:
    """The `Error` of ``[type, cell, line, message]``; None stays None. Raises `WireError`."""
    match node:
        case None:
            return None
        case [str(name), int(cell), int(line), str(message)]:
            return Error(name[:100], cell, line, message[:1000])
    raise WireError("malformed error")
