"""Which idea is missing: match what a submission did against what each known misconception does.

A match needs agreement on *every* case, so a submission that agrees with no misconception gets no diagnosis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from grader.exercise import Exercise, Misconception, Outcome
from grader.judge import Judged, flaws_of, same_type, within
from grader.values import Opaque, Value, as_array, leaves

Wrong = Mapping[str, Sequence[Outcome]]  # misconception id -> what it does on each case
_PROPERTIES = ("kind", "shape", "dtype", "device", "gradient", "inputs")


def _properties(exercise: Exercise) -> tuple[str, ...]:
    """The properties that some group of the exercise asks for."""
    asked = {aspect for group in exercise.groups for aspect in group.aspects}
    return tuple(name for name in _PROPERTIES if name in asked)


def same_values(exercise: Exercise, judged: Judged, wrong: Outcome) -> bool:
    """Whether the received result has the numbers of ``wrong`` (or fails the same way)."""
    received = judged.received
    if received.status != wrong.status:
        return False
    if wrong.status != "returned":
        return wrong.error is not None and received.error is not None and wrong.error.type == received.error.type
    mine, theirs = dict(leaves(received.result)), dict(leaves(wrong.result))
    return mine.keys() == theirs.keys() and all(_same(exercise, judged, p, theirs[p], mine[p]) for p in theirs)


def _same(exercise: Exercise, judged: Judged, path: str, want: Value, got: Value) -> bool:
    if isinstance(want, Opaque) or isinstance(got, Opaque) or as_array(want) is None or as_array(got) is None:
        return type(want) is type(got) and bool(want == got)  # an array beside no array: no comparison of entries
    tolerance = judged.case.tolerance or exercise.tolerance
    return within(tolerance, judged.case, path, want, got)


def same_everything(exercise: Exercise, judged: Judged, wrong: Outcome) -> bool:
    """Whether values, kinds, dtypes, shapes, gradients and overwritten inputs all agree with ``wrong``."""
    received = judged.received
    if not same_values(exercise, judged, wrong):
        return False
    pairs = zip(leaves(received.result), leaves(wrong.result), strict=True)
    if not all(same_type(a, b) and _shape(a) == _shape(b) for (_, a), (_, b) in pairs):
        return False
    if received.changed.keys() != wrong.changed.keys():
        return False
    return all(
        _same(exercise, judged, f"gradient {name}", want, received.gradients.get(name))
        if want is not None
        else received.gradients.get(name) is None
        for name, want in wrong.gradients.items()
    )


def _shape(value: Value) -> tuple[int, ...] | None:
    numbers = as_array(value)
    return None if numbers is None else numbers.shape


def _aspects_off(exercise: Exercise, items: Iterable[Judged], aspects: tuple[str, ...]) -> frozenset[tuple[int, str]]:
    return frozenset(
        (index, flaw.aspect) for index, item in enumerate(items) for flaw in flaws_of(exercise.tolerance, aspects, item)
    )


def diagnose(
    exercise: Exercise, judged: Sequence[Judged], misconceptions: Sequence[Misconception], wrong: Wrong
) -> list[Misconception]:
    """The misconceptions a failing submission holds, both parts of a double mistake; empty when none agrees.

    ``wrong`` may leave out misconceptions that are known not to agree.

    First a misconception that agrees in everything; else one that agrees in every value; else, where all values are
    right, a property misconception (dtype, gradient, overwritten inputs) that shows the same property flaws. Where
    none does and points are lost, stretch cases are left out: how a mistake meets them depends on its wording.
    """
    found = _matches(exercise, judged, misconceptions, wrong)
    graded = [index for index, item in enumerate(judged) if not item.stretch]
    kept = [judged[index] for index in graded]
    if not found and len(kept) < len(judged) and _aspects_off(exercise, kept, ("value", *_properties(exercise))):
        found = _matches(exercise, kept, misconceptions, {i: [each[k] for k in graded] for i, each in wrong.items()})
    return _unfold(found[:1], {m.id: m for m in misconceptions})


def _matches(
    exercise: Exercise, judged: Sequence[Judged], misconceptions: Sequence[Misconception], wrong: Wrong
) -> list[Misconception]:
    known = {m.id: m for m in misconceptions if m.id in wrong}
    matches = [m for m in known.values() if all(map(lambda j, w: same_everything(exercise, j, w), judged, wrong[m.id]))]
    if not matches:
        matches = _by_value(exercise, judged, known, wrong) + _by_property(exercise, judged, known, wrong)
    return matches


def _by_value(
    exercise: Exercise, judged: Sequence[Judged], known: Mapping[str, Misconception], wrong: Wrong
) -> list[Misconception]:
    if not _aspects_off(exercise, judged, ("value",)):
        return []
    agreeing = [m for m in known.values() if all(map(lambda j, w: same_values(exercise, j, w), judged, wrong[m.id]))]
    mine = _aspects_off(exercise, judged, _properties(exercise))
    return [m for m in agreeing if _aspects_off(exercise, _as(judged, wrong[m.id]), _properties(exercise)) <= mine][:1]


def _as(judged: Sequence[Judged], wrong: Sequence[Outcome]) -> list[Judged]:
    """The same cases as the misconception meets them."""
    return [replace(item, received=outcome) for item, outcome in zip(judged, wrong, strict=True)]


def _by_property(
    exercise: Exercise, judged: Sequence[Judged], known: Mapping[str, Misconception], wrong: Wrong
) -> list[Misconception]:
    """Misconceptions with right values whose property flaws are exactly some of the submission's."""
    if _aspects_off(exercise, judged, ("value",)):
        return []  # their hints take the values to be right
    mine = _aspects_off(exercise, judged, _properties(exercise))
    found = []
    for m in known.values():
        theirs = _as(judged, wrong[m.id])
        flaws = _aspects_off(exercise, theirs, _properties(exercise))
        names = {aspect for _, aspect in flaws}
        same = bool(flaws) and flaws == {flaw for flaw in mine if flaw[1] in names}
        if same and not _aspects_off(exercise, theirs, ("value",)):
            found.append(m)
    return found[:1]


def _unfold(found: Sequence[Misconception], known: Mapping[str, Misconception]) -> list[Misconception]:
    """Double mistakes as their parts, each once."""
    ids = [part for m in found for part in (m.parts or (m.id,))]
    return [known[i] for i in dict.fromkeys(ids) if i in known]
