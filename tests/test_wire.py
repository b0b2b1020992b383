"""The wire: what goes in comes out, and hostile bytes raise `WireError` and nothing else."""

from __future__ import annotations

import struct
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader import wire
from grader.exercise import Error, Outcome
from grader.values import Opaque, Scalar, Tensor

settings.register_profile("course", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("course")

DTYPES = st.sampled_from("bool int8 int16 int32 int64 uint8 uint64 float16 float32 float64".split())
ARRAYS = DTYPES.flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)
TENSORS = ARRAYS.map(lambda data: Tensor(data, str(data.dtype)))
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(max_size=20),
    ARRAYS,
    TENSORS,
    st.builds(Scalar, st.just("float32"), st.floats(width=32)),
    st.builds(Opaque, st.text(max_size=20)),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=8), inner, max_size=3),
    ),
    max_leaves=6,
)


def same(a: Any, b: Any) -> bool:
    """Equal in type, dtype and bits; NaN is NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, Tensor):
        return (a.dtype, a.device) == (b.dtype, b.device) and same(a.data, b.data)
    if isinstance(a, Scalar):
        return a.kind == b.kind and same(a.number, b.number)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b) or (a != a and b != b)
    return bool(a == b)


def through(value: Any) -> Any:
    """Over the wire and back, bytes included."""
    return wire.decode(wire.loads(wire.dumps({"v": wire.encode(value)}))["v"])


@given(VALUES)
def test_values_come_back_as_they_went(value: Any) -> None:
    try:
        back = through(value)
    except wire.WireError:  # deeper than `MAX_DEPTH`: refused whole, never cut
        assert depth(value) > wire.MAX_DEPTH
    else:
        assert same(value, back)


def depth(value: Any) -> int:
    """Levels of nesting below a value."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else ()
    return max((1 + depth(item) for item in inner), default=0)


def test_bfloat16_and_meta_tensors() -> None:
    half = Tensor(np.array([0.5], "float32"), "bfloat16")
    assert same(half, through(half))
    meta = through(Tensor(np.zeros((2, 3), "float32"), "float64", "meta"))
    assert (meta.data.shape, meta.dtype, meta.device) == ((2, 3), "float64", "meta")


def test_a_meta_tensor_of_any_size_costs_nothing() -> None:
    # a broadcast view of one zero: 10**12 elements, 4 bytes
    meta = wire.decode(["t", "float32", "meta", [10**6, 10**6], b""])
    assert meta.data.size == 10**12
    assert meta.data.base is not None


def test_arrays_that_are_not_contiguous() -> None:
    strided = np.arange(12.0).reshape(3, 4)[::2, ::-1]
    assert np.array_equal(through(strided), strided)


def test_what_is_no_value_becomes_its_name() -> None:
    assert through(2**70) == Opaque("int of more than 64 bits")
    assert through(object()) == Opaque("object")
    assert len(through("x" * 5000)) == 1000


OUTCOME = Outcome(
    "returned",
    {"objective": 2.5},
    {"x": np.array([1.0]), "y": None},
    {"z": np.array([2.0])},
)


def test_outcomes_come_back() -> None:
    back = wire.decode_outcome(wire.loads(wire.dumps(wire.encode_outcome(OUTCOME))))
    assert (back.status, back.result, back.error) == ("returned", {"objective": 2.5}, None)
    assert same(dict(back.gradients), dict(OUTCOME.gradients))
    assert same(dict(back.changed), dict(OUTCOME.changed))
    raised = Outcome("raised", error=Error("ValueError", 3, 7, "why"))
    assert wire.decode_outcome(wire.encode_outcome(raised)).error == Error("ValueError", 3, 7, "why")


def test_error_texts_are_cut() -> None:
    error = wire.decode_error(["T" * 500, 1, 2, "m" * 5000])
    assert error is not None
    assert (len(error.type), len(error.message)) == (100, 1000)


BAD_NODES: list[Any] = [
    None,
    [],
    {},
    "z",
    ["?"],
    ["z", 1],
    ["f", "1.0"],
    ["f"],
    ["i", 1.5],
    ["b", 1],
    ["a", "float64", [2], b"12345678"],  # eight bytes are one float64, not two
    ["a", "float64", [-1], b""],
    ["a", "float64", [2.0], bytes(16)],
    ["a", "object", [1], bytes(8)],
    ["a", "U8", [1], bytes(32)],
    ["a", "float64", [1] * 9, bytes(8)],  # more axes than anybody needs
    ["a", "float64", [2**40, 2**40], b""],
    ["a", "float64", [0, 2**70], b""],
    ["a", ["float64"], [1], bytes(8)],
    ["t", "float32", "meta", [-1], b""],
    ["t", "float32", "meta", ["x"], b""],
    ["t", "float32", "meta", [2**70], b""],
    ["t", "complex64", "cpu", [1], bytes(8)],
    ["u", [["z"]] * (wire.MAX_ITEMS + 1)],
    ["d", [["k"]]],
    ["d", [[1, ["z"]]]],
    ["d", [["k", ["?"]]]],
    [["z"]],
    ["l", ["z"]],
]


@pytest.mark.parametrize("node", BAD_NODES, ids=lambda node: repr(node)[:40])
def test_malformed_nodes_are_refused(node: Any) -> None:
    with pytest.raises(wire.WireError):
        wire.decode(node)


def test_deep_nesting_is_refused() -> None:
    node: Any = ["z"]
    for _ in range(100_000):
        node = ["l", [node]]
    with pytest.raises(wire.WireError):
        wire.decode(node)


@pytest.mark.parametrize(
    "data",
    [b"", b"\xc1", b"\x00", b"\x91\x01", msgpack.packb("text"), b"\xdd\xff\xff\xff\xff", b"\x81\x01\x02",
     msgpack.packb(msgpack.ExtType(5, b"x")), msgpack.packb({"a": 1}) + b"tail", b"\x81\xa1a" + b"\x91" * 100_000],
    ids=lambda data: repr(data[:12]),
)  # fmt: skip
def test_bytes_that_are_no_message(data: bytes) -> None:
    with pytest.raises(wire.WireError):
        wire.loads(data)


JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(), st.text(max_size=8),
              st.binary(max_size=16), st.sampled_from(list("zbifsnoatuld"))),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=12,
)  # fmt: skip


@given(JUNK)
def test_any_tree_is_a_value_or_a_wire_error(node: Any) -> None:
    for read in (wire.decode, wire.decode_outcome, wire.decode_error):
        try:
            read(node)
        except wire.WireError:
            continue


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_wire_error(data: bytes) -> None:
    try:
        assert isinstance(wire.loads(data), dict)
    except wire.WireError:
        pass


@given(st.integers(0, 400), st.integers(0, 255))
def test_a_flipped_byte_never_raises_anything_else(position: int, byte: int) -> None:
    data = bytearray(wire.dumps(wire.encode_outcome(OUTCOME)))
    data[position % len(data)] = byte
    try:
        wire.decode_outcome(wire.loads(bytes(data)))
    except wire.WireError:
        pass


def test_frames_carry_their_length() -> None:
    assert wire.frame(b"abc") == b"\x00\x00\x00\x03abc"
    with pytest.raises(wire.WireError, match="too large"):
        wire.frame(bytes(wire.MAX_FRAME + 1))


def test_no_pickle_anywhere() -> None:
    # an object array would need pickle to cross
    assert wire.encode(np.array([object()], dtype=object))[1] == "object"
    with pytest.raises(wire.WireError):
        through(np.array([object()], dtype=object))
