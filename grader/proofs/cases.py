"""What must hold of hidden cases before anything is run: their groups, their arguments, their kinds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from grader.exercise import Case, Exercise
from grader.proofs.model import Defect
from grader.proofs.places import hidden_file, lesson_module
from grader.values import Tensor, Value, as_array, dtype_of, kind_of


def argument_defects(exercise: Exercise, drawn: Mapping[str, Sequence[Case]]) -> Iterator[Defect]:
    """Cases, public and hidden, that have other arguments than the function; one defect per group and kind."""
    for group in exercise.groups:
        for case in group.examples:
            for text in _argument_texts(exercise, case):
                culprit = f"{exercise.name}, group “{group.name}”, example “{case.note}”"
                yield Defect(culprit, text, lesson_module(exercise))
    for name, cases in drawn.items():
        found: dict[str, list[int]] = {}
        for number, case in enumerate(cases, start=1):
            for text in _argument_texts(exercise, case):
                found.setdefault(text, []).append(number)
        for text, (first, *others) in found.items():
            more = f" (and {len(others)} more)" if others else ""
            culprit = f"{exercise.name}, group “{name}”, hidden case {first}{more}"
            yield Defect(culprit, text, hidden_file(exercise.name, "cases"))


def _argument_texts(exercise: Exercise, case: Case) -> Iterator[str]:
    given, wanted = tuple(case.args), exercise.signature
    yield from (f"has no argument `{name}`" for name in wanted if name not in given)
    yield from (f"has an argument `{name}` that the function does not take" for name in given if name not in wanted)
    if given != wanted and set(given) == set(wanted):
        yield f"has its arguments in another order than the function: {', '.join(wanted)}"
    for name in case.differentiate:
        if name not in wanted:
            yield f"is differentiated in `{name}`, which the function does not take"


def cases_defects(exercise: Exercise, drawn: Mapping[str, Sequence[Case]]) -> Iterator[Defect]:
    """Hidden cases belong to groups, every group of points has some, and none is of a kind no example shows."""
    names, where = {group.name for group in exercise.groups}, hidden_file(exercise.name, "cases")
    for name in drawn.keys() - names:
        yield Defect(f"{exercise.name}, hidden cases “{name}”", "belong to no group of the exercise", where)
    for group in exercise.groups:
        static = set(group.aspects) == {"imports"}
        if group.weight and not static and not drawn.get(group.name):
            yield Defect(f"{exercise.name}, group “{group.name}”", "is worth points and has no hidden case", where)
    examples = [case for group in exercise.groups for case in group.examples]
    shown = {trait for case in examples for trait in traits(case)}
    for name, cases in drawn.items():
        unseen = {trait for case in cases for trait in traits(case)} - shown
        unseen |= {text for case in cases for text in _other_axes(case, examples)}
        for text in sorted(unseen):
            yield Defect(f"{exercise.name}, hidden cases “{name}”", f"no public example shows {text}", where)


def traits(case: Case) -> Iterator[str]:
    """What kind of thing each argument is: type, dtype, empty axes, NaN and infinities, a gradient."""
    for name, value in case.args.items():
        numbers = as_array(value)
        yield f"`{name}` as {_kind(value)}"
        if numbers is None or numbers.dtype.kind != "f":
            continue
        if numbers.size == 0:
            yield f"`{name}` with an axis of length 0"
        yield from (f"`{name}` with {word}" for word, test in _ODD.items() if test(numbers).any())
    if case.differentiate:
        yield f"the gradient in {', '.join(case.differentiate)} of {case.of or 'the result'}"


def _other_axes(case: Case, examples: Sequence[Case]) -> Iterator[str]:
    """Arguments with fewer axes than any example, or more: what lies between is no other kind."""
    for name, value in case.args.items():
        shown = [_axes(example.args[name]) for example in examples]
        axes = _axes(value)
        if shown and not min(shown) <= axes <= max(shown):
            yield f"`{name}` with {axes} axes"


def _axes(value: Value) -> int:
    numbers = as_array(value)
    return 0 if numbers is None else numbers.ndim


_ODD = {"NaN": np.isnan, "infinities": np.isinf}


def _kind(value: Value) -> str:
    if isinstance(value, Tensor | np.ndarray):
        device = f" on {value.device}" if isinstance(value, Tensor) and value.device != "cpu" else ""
        dtype = "integers" if re.fullmatch(r"u?int\d+", dtype_of(value)) else dtype_of(value)
        return f"{'torch.Tensor' if isinstance(value, Tensor) else 'numpy.ndarray'} of {dtype}{device}"
    return kind_of(value)
