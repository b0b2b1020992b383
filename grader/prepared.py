"""Prepared exercises as bytes: cases with their expected outcomes travel to a cluster's workers, the secret does not.

What both sides have by name (exercises, groups, tolerances) travels as names, everything else as `grader.wire` values.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgpack

from grader import tolerance, wire
from grader.course import exercises
from grader.exercise import Case, Outcome
from grader.grading import Prepared
from grader.values import Tensor, Value

_TOLERANCES = {t.name: t for t in tolerance.ALL}


def pack(items: Iterable[Prepared]) -> bytes:
    """Prepared exercises as bytes. ValueError where a case has a tolerance without a name of its own."""
    packed: bytes = msgpack.packb([_plain(item) for item in items], use_bin_type=True)
    return packed


def unpack(data: bytes) -> list[Prepared]:
    """The exercises of `pack`."""
    return [_prepared(node) for node in msgpack.unpackb(data, raw=False)]


def _plain(item: Prepared) -> dict[str, Any]:
    cases = [[group.name, *_case(case)] for group, case in item.cases]
    return {"exercise": item.exercise.name, "cases": cases, "expected": [_outcome(o) for o in item.expected]}


def _outcome(outcome: Outcome) -> list[Any]:
    """An expected outcome; references return, and leave their arguments alone."""
    return [_encode(outcome.result), _encode(dict(outcome.gradients))]


def _encode(value: Value) -> list[Any]:
    """As `wire.encode`, but a tensor keeps its float64 numbers beside a smaller dtype (`grader.expected.merged`)."""
    if isinstance(value, Tensor) and value.device != "meta":
        return ["t", value.dtype, value.device, wire.encode(value.data)]
    if isinstance(value, dict):
        return ["d", [[key, _encode(item)] for key, item in value.items()]]
    if isinstance(value, tuple):
        return ["u", [_encode(item) for item in value]]
    return ["w", wire.encode(value)]


def _decode(node: list[Any]) -> Value:
    match node:
        case ["t", dtype, device, data]:
            return Tensor(wire.decode(data), dtype, device)
        case ["d", items]:
            return {key: _decode(item) for key, item in items}
        case ["u", items]:
            return tuple(_decode(item) for item in items)
    return wire.decode(node[1])


def _case(case: Case) -> list[Any]:
    if case.tolerance is not None and _TOLERANCES.get(case.tolerance.name) is not case.tolerance:
        raise ValueError(f"a case's tolerance is not listed in grader.tolerance.ALL: {case.tolerance.name}")
    return [
        [[name, wire.encode(value)] for name, value in case.args.items()],
        case.note,
        None if case.expected is None else wire.encode(case.expected),
        list(case.differentiate),
        case.of,
        [[name, wire.encode(value)] for name, value in case.expected_gradients.items()],
        case.tolerance.name if case.tolerance else "",
    ]


def _prepared(node: dict[str, Any]) -> Prepared:
    exercise = exercises()[node["exercise"]]
    cases = []
    for group, args, note, expected, differentiate, of, gradients, named in node["cases"]:
        case = Case(
            {name: wire.decode(value) for name, value in args},
            note,
            None if expected is None else wire.decode(expected),
            tuple(differentiate),
            of,
            {name: wire.decode(value) for name, value in gradients},
            _TOLERANCES[named] if named else None,
        )
        cases.append((exercise.group(group), case))
    return Prepared(exercise, tuple(cases), tuple(_expected(o) for o in node["expected"]))


def _expected(node: list[Any]) -> Outcome:
    result, gradients = map(_decode, node)
    return Outcome("returned", result, gradients)
