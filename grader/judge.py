"""Expected against received: flaws of one call, verdicts per group, points, diagnosis.

Only numbers that came over the wire are compared, on the trusted side. A flaw's text names the property that is
off and never a value, so that it may be shown for hidden cases too.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.exercise import Case, Exercise, Group, Outcome
from grader.tolerance import Tolerance
from grader.values import Opaque, Scalar, Tensor, Value, as_array, dtype_of, kind_of, leaves

ORDINALS = ("the first", "the second", "the third", "the fourth")


@dataclass(frozen=True)
class Flaw:
    """One property of one call that is off. ``path`` names the entry of the result; ``error`` is in tolerances."""

    aspect: str
    path: str
    text: str
    error: float = np.inf


@dataclass(frozen=True)
class Judged:
    """A case with its expected and received outcome. ``stretch``: of a group without points."""

    case: Case
    expected: Outcome
    received: Outcome
    stretch: bool = False


@dataclass(frozen=True)
class Verdict:
    """A group's verdict: its first flaw (None: passed) and the judged cases behind it."""

    group: Group
    judged: tuple[Judged, ...]
    flaws: tuple[tuple[int, Flaw], ...]  # (index of the case, flaw)

    @property
    def passed(self) -> bool:
        """Whether no case of the group shows a flaw in what the group looks at."""
        return not self.flaws and bool(self.judged)


def error_in_tolerances(tolerance: Tolerance, case: Case, path: str, expected: Value, received: Value) -> float:
    """Largest |received - expected| / bound; 0 when equal (NaN equals NaN), inf where shapes or finiteness differ."""
    want, got = as_array(expected), as_array(received)
    if want is None or got is None or (want.shape != got.shape and np.squeeze(want).shape != np.squeeze(got).shape):
        return np.inf
    if want.size == 0:
        return 0.0
    want, bound = _target(tolerance, _Identity(case), path, _Identity(expected))
    got = got.astype(np.float64).reshape(want.shape)
    with np.errstate(all="ignore"):
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        ratio = np.where(same, 0.0, np.abs(got - want) / bound)
    worst = float(ratio.max())
    return np.inf if np.isnan(worst) else worst


def within(tolerance: Tolerance, case: Case, path: str, expected: Value, received: Value) -> bool:
    """Whether `error_in_tolerances` is at most 1: what a mark hangs on, and much quicker where all is well."""
    want, got = as_array(expected), as_array(received)
    if want is not None and got is not None and want.shape == got.shape:
        numbers, bound = _target(tolerance, _Identity(case), path, _Identity(expected))
        with np.errstate(all="ignore"):
            off = np.abs(got.reshape(numbers.shape) - numbers)  # float64
            if ((off <= bound) & (off < np.inf)).all():  # the bound of an infinite number is infinite as well
                return True
    return error_in_tolerances(tolerance, case, path, expected, received) <= 1


class _Identity:
    """A key for what is not hashable: equal when it wraps the very same object."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of

    def __hash__(self) -> int:
        return id(self.of)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.of is self.of


@functools.lru_cache(2**15)  # the same expected values for a whole class
def _target(tolerance: Tolerance, case: _Identity, path: str, expected: _Identity) -> tuple[np.ndarray, np.ndarray]:
    """Expected numbers as float64, and the bound for each."""
    numbers = np.asarray(as_array(expected.of), dtype=np.float64)
    want = np.squeeze(numbers)
    try:
        return want, np.broadcast_to(np.squeeze(tolerance.bound(case.of.args, path, numbers)), want.shape)
    except ValueError:  # a misconception's result, of a shape the formula of the bound does not know
        return want, 1e-6 * np.abs(want)


def _entry(value: Value, path: str) -> Value:
    """The entry of a dict at ``path``, or Opaque("missing")."""
    return value.get(path, Opaque("missing")) if isinstance(value, dict) else Opaque("missing")


def pairs(expected: Value, received: Value) -> Iterator[tuple[str, Value, Value]]:
    """Leaves side by side. As far as numbers go, a list of numbers is an array, and a (2, N) array a pair."""
    if isinstance(expected, tuple):
        stacked = as_array(received)
        if stacked is not None and stacked.ndim and len(stacked) == len(expected):
            received = tuple(stacked)
        parts = received if isinstance(received, tuple | list) and len(received) == len(expected) else ()
        for position, want in enumerate(expected):
            yield str(position), want, _numbers(parts[position]) if parts else Opaque("missing")
    elif isinstance(expected, dict):
        for path, want in leaves(expected):
            yield path, want, _numbers(_entry(received, path))
    else:
        yield "", expected, _numbers(received)


def _numbers(value: Value) -> Value:
    """A list or tuple of numbers as an array; anything else as it is."""
    if isinstance(value, tuple | list):
        parts = [as_array(_numbers(item)) for item in value]
        if parts and all(part is not None and part.shape == parts[0].shape for part in parts if parts[0] is not None):
            return np.array(parts, dtype=np.float64) if parts[0] is not None else value
    return value


def _value_flaws(tolerance: Tolerance, judged: Judged, only: str) -> Iterator[Flaw]:
    for path, want, got in pairs(judged.expected.result, judged.received.result):
        if only not in ("", path):
            continue
        if not within(judged.case.tolerance or tolerance, judged.case, path, want, got):
            error = error_in_tolerances(judged.case.tolerance or tolerance, judged.case, path, want, got)
            yield Flaw("value", path, _value_text(path, want, got), error)


def _value_text(path: str, want: Value, got: Value) -> str:
    name = f"`{path}` " if path and not path.isdigit() else f"{ORDINALS[int(path)]} array " if path else "the result "
    wanted, numbers = as_array(want), as_array(got)
    if isinstance(got, Opaque) and got.what == "missing":
        return name + "is missing"
    if wanted is None or numbers is None:
        return f"{name}is {kind_of(got)}, not numbers"
    if np.squeeze(wanted).shape != np.squeeze(numbers).shape:
        return f"{name}has another shape than asked for"
    lost = np.isfinite(wanted).all() and not np.isfinite(numbers).all()
    return name + ("is not finite where it should be" if lost else "differs from the expected value")


def _kind_text(expected: Value, received: Value) -> str | None:
    if isinstance(expected, tuple) and isinstance(received, tuple | list) and len(expected) == len(received):
        for want, got in zip(expected, received, strict=True):
            if text := _kind_text(want, got):
                return text
        return None
    if isinstance(expected, dict) and isinstance(received, dict):
        texts = (_kind_text(want, received.get(key, Opaque("missing"))) for key, want in expected.items())
        return next((text for text in texts if text), None)
    if kind_of(expected) == kind_of(received) and type(expected) is type(received):
        return None
    return f"returned {kind_of(received)}, expected {kind_of(expected)}"


def _leaf_flaws(aspect: str, judged: Judged) -> Iterator[Flaw]:
    for path, want, got in pairs(judged.expected.result, judged.received.result):
        if isinstance(got, Opaque):
            yield Flaw(aspect, path, f"{path or 'the result'} is {got.what}")
        elif aspect == "shape" and _shape(want) != _shape(got):
            yield Flaw(aspect, path, f"{path or 'the result'} has the wrong shape")
        elif aspect == "dtype" and dtype_of(want) != dtype_of(got):
            yield Flaw(aspect, path, f"{path or 'the result'} has dtype {dtype_of(got)}, expected {dtype_of(want)}")
        elif aspect == "device" and _device(want) != _device(got):
            yield Flaw(aspect, path, f"{path or 'the result'} is on device {_device(got)}, expected {_device(want)}")


def _shape(value: Value) -> tuple[int, ...] | None:
    numbers = as_array(value)
    return None if numbers is None else numbers.shape


def _device(value: Value) -> str:
    return value.device if isinstance(value, Tensor) else "cpu"


def _gradient_flaws(tolerance: Tolerance, judged: Judged) -> Iterator[Flaw]:
    case = judged.case
    for name, want in judged.expected.gradients.items():
        got = judged.received.gradients.get(name)
        if got is None:
            yield Flaw("gradient", name, f"no gradient reaches `{name}`: the result is cut off from the graph")
            continue
        if not within(case.tolerance or tolerance, case, f"gradient {name}", want, got):
            error = error_in_tolerances(case.tolerance or tolerance, case, f"gradient {name}", want, got)
            yield Flaw("gradient", name, f"the gradient in `{name}` differs from the expected one", error)


def flaws_of(tolerance: Tolerance, aspects: Sequence[str], judged: Judged) -> list[Flaw]:
    """Every flaw of one call in what ``aspects`` look at."""
    received = judged.received
    if received.status == "raised" and _on_meta(judged.case):
        return []  # no numbers there: a loop or an `if` may well raise, which means nothing
    if received.status != "returned":
        return [Flaw("call", "", _call_text(received))]
    found: list[Flaw] = []
    for aspect in aspects:
        name, _, only = aspect.partition(":")
        if name == "value":
            found += _value_flaws(tolerance, judged, only)
        elif name == "gradient":
            found += _gradient_flaws(tolerance, judged)
        elif name == "kind" and (text := _kind_text(judged.expected.result, received.result)):
            found.append(Flaw("kind", "", text))
        elif name == "inputs" and received.changed:
            found.append(Flaw("inputs", "", f"the call changed its argument `{next(iter(received.changed))}`"))
        elif name in ("shape", "dtype", "device"):
            found += _leaf_flaws(name, judged)
    return found


def _on_meta(case: Case) -> bool:
    return any(isinstance(value, Tensor) and value.device == "meta" for value in case.args.values())


def _call_text(outcome: Outcome) -> str:
    if outcome.status == "raised" and outcome.error:
        where = f" (cell {outcome.error.cell}, line {outcome.error.line})" if outcome.error.cell else ""
        return f"the call raised {outcome.error.type}{where}"
    return {
        "timeout": "the call took too long and was stopped",
        "died": "the process died during the call",
        "not run": "not run, after two calls that took too long or died",
        "missing": "the function is not defined",
    }.get(outcome.status, outcome.status)


def judge_group(exercise: Exercise, group: Group, judged: Sequence[Judged], import_flaw: str = "") -> Verdict:
    """The verdict on a group. ``import_flaw`` is what the static import rule found, or empty."""
    tolerance = group.tolerance or exercise.tolerance
    flaws = [(index, flaw) for index, item in enumerate(judged) for flaw in flaws_of(tolerance, group.aspects, item)]
    if import_flaw and "imports" in group.aspects:
        flaws.append((0, Flaw("imports", "", import_flaw)))
    return Verdict(group, tuple(judged), tuple(flaws))


def is_property(group: Group) -> bool:
    """Whether the group looks at no numbers: such points need at least one group of right values beside them."""
    return not any(aspect.startswith(("value", "gradient")) for aspect in group.aspects)


def not_attempted(judged: Sequence[Judged]) -> bool:
    """Whether every call says so: the function is missing or still raises the stub's NotImplementedError."""
    return all(
        item.received.status == "missing"
        or (item.received.error is not None and item.received.error.type == "NotImplementedError")
        for item in judged
    )


def same_type(a: Value, b: Value) -> bool:
    """Whether two leaves have the same kind and dtype."""
    return kind_of(a) == kind_of(b) and (isinstance(a, Scalar) or dtype_of(a) == dtype_of(b))
