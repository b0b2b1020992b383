"""What must hold of an exercise, its hidden cases and its misconceptions before anything is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from grader import fingerprints, hidden
from grader.course import CourseError, Lesson
from grader.exercise import Case, Exercise, Group
from grader.proofs.model import Defect
from grader.values import Tensor, Value, as_array, dtype_of, kind_of

CAPPED = {("kl_penalized_rewards", "masked NaN and inf"): 0.1}  # and every group that looks at imports
CAP = 0.1
FRAGMENT = 12  # characters of the solution, spaces left out, that a hint must not hold
SOUND = 6
STEPS = 3


def exercise_defects(exercise: Exercise, lesson: Lesson) -> Iterator[Defect]:
    """Groups, examples, weights, points and a figure."""
    if not exercise.groups:
        yield Defect(exercise.name, "has no group")
    for group in exercise.groups:
        yield from _group_defects(exercise, group)
    yield from weight_defects(exercise)
    try:
        if lesson.points(exercise.name) <= 0:
            yield Defect(exercise.name, "its graded cell is worth no points")
    except CourseError as error:
        yield Defect(exercise.name, f"has no points: {error}")
    figures = [c for c in lesson.cells if c.grade_id.startswith("figure_") and exercise.name in _names(c.source)]
    if not figures:
        yield Defect(exercise.name, f"{lesson.name} has no figure_… cell that draws from it")


def _names(source: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


def _group_defects(exercise: Exercise, group: Group) -> Iterator[Defect]:
    culprit = f"{exercise.name}, group “{group.name}”"
    if not group.examples:
        yield Defect(culprit, "has no public example")
    if not group.idea.strip():
        yield Defect(culprit, "has no idea: one sentence that a learner reads")
    for case in group.examples:
        if tuple(case.args) != exercise.signature:
            yield Defect(culprit, f"example “{case.note}” has other arguments than the function")
        if case.expected is None:
            yield Defect(culprit, f"example “{case.note}” has no authored result")
        if "gradient" in group.aspects and set(case.expected_gradients) != set(case.differentiate):
            yield Defect(culprit, f"example “{case.note}” has no authored gradient")


def weight_defects(exercise: Exercise) -> Iterator[Defect]:
    """Points in all, and what may be at most a tenth of them."""
    total = sum(group.weight for group in exercise.groups)
    if total <= 0:
        yield Defect(exercise.name, "no group is worth points")
        return
    for (function, name), share in CAPPED.items():
        if function == exercise.name and name not in {group.name for group in exercise.groups}:
            yield Defect(exercise.name, f"has no group “{name}”, whose weight is capped")
        mine = [g for g in exercise.groups if (exercise.name, g.name) == (function, name)]
        yield from (_too_heavy(exercise, g, share) for g in mine if g.weight > share * total)
    for group in exercise.groups:
        if "imports" in group.aspects and group.weight > CAP * total:
            yield _too_heavy(exercise, group, CAP)


def _too_heavy(exercise: Exercise, group: Group, share: float) -> Defect:
    return Defect(
        f"{exercise.name}, group “{group.name}”", f"weighs {group.weight}, more than {share:.0%} of the points"
    )


def cases_defects(exercise: Exercise, drawn: Mapping[str, Sequence[Case]]) -> Iterator[Defect]:
    """Hidden cases belong to groups, every group of points has some, and none is of a kind no example shows."""
    names = {group.name for group in exercise.groups}
    for name in drawn.keys() - names:
        yield Defect(f"{exercise.name}, hidden cases “{name}”", "belong to no group of the exercise")
    for group in exercise.groups:
        static = set(group.aspects) == {"imports"}
        if group.weight and not static and not drawn.get(group.name):
            yield Defect(f"{exercise.name}, group “{group.name}”", "is worth points and has no hidden case")
    examples = [case for group in exercise.groups for case in group.examples]
    shown = {trait for case in examples for trait in traits(case)}
    for name, cases in drawn.items():
        unseen = {trait for case in cases for trait in traits(case)} - shown
        unseen |= {text for case in cases for text in _other_axes(case, examples)}
        for text in sorted(unseen):
            yield Defect(f"{exercise.name}, hidden cases “{name}”", f"no public example shows {text}")


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


def hint_defects(exercise: Exercise, reference: str) -> Iterator[Defect]:
    """Every hint has its three steps and none holds code of the solution; double mistakes name their parts.

    Args:
        exercise: whose own hints and misconceptions are read.
        reference: the source of its solution cell.
    """
    body = solution_code(reference)
    known = hidden.misconceptions(exercise.name)
    ids = {m.id for m in known if not m.parts}
    yield from _hints(exercise.name, exercise.hints, body)
    for m in known:
        culprit = f"{exercise.name}, misconception {m.id}"
        if not m.description:
            yield Defect(culprit, "has no description")
        if m.parts:
            yield from (Defect(culprit, f"its part {part} is no misconception") for part in m.parts if part not in ids)
        else:
            yield from _hints(culprit, m.hints, body)


def _hints(culprit: str, hints: Sequence[str], body: str) -> Iterator[Defect]:
    if len(hints) < STEPS:
        yield Defect(culprit, f"has {len(hints)} hint steps, not {STEPS}")
    for step, text in enumerate(hints, start=1):
        if not text.strip():
            yield Defect(culprit, f"hint {step} is empty")
        if fragment := shared_code(text, body):
            yield Defect(culprit, f"hint {step} contains code of the solution: {fragment}")


def solution_code(source: str) -> str:
    """The code of every function in ``source`` without docstrings, comments and white space, one body per line."""
    bodies = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            statements = node.body[1:] if ast.get_docstring(node) is not None else node.body
            bodies.append("\n".join(_squeezed(ast.unparse(statement)) for statement in statements))
    return "\n".join(bodies)


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def shared_code(text: str, body: str) -> str:
    """The longest piece of code that ``text`` shares with ``body``, empty where there is none.

    Names alone are not code, nor are lists of names: a hint may say which argument it is about. A piece counts when
    something that works on names (an operator, a dot, a bracket) stands inside its first `FRAGMENT` characters.
    """
    squeezed, best = _squeezed(text), ""
    for start in range(len(squeezed) - FRAGMENT + 1):
        end = start + FRAGMENT
        piece = squeezed[start:end]
        if piece not in body or not re.search(r"\w[^\w,;:!?…“”‘’]+[\w(]|\w[(\[]", piece):
            continue
        while end < len(squeezed) and squeezed[start : end + 1] in body:
            end += 1
        best = max(best, squeezed[start:end], key=len)
    return best


def fingerprint_defects(exercise: Exercise) -> Iterator[Defect]:
    """What `check` knows of the misconceptions is about them all, and about every public example."""
    known, outcomes = fingerprints.load(exercise.name)
    examples = sum(len(group.examples) for group in exercise.groups)
    current = [m.id for m in hidden.misconceptions(exercise.name)] == [m.id for m in known]
    if not current or any(len(seen) != examples for seen in outcomes.values()):
        yield Defect(exercise.name, "its fingerprints are not up to date: run `grader build`")


def variant_defects(exercise: Exercise) -> Iterator[Defect]:
    """Enough sound variants, the contract's formula among them; at least one misconception."""
    sound = hidden.implementations(exercise.name, "sound")
    if len(sound) < SOUND:
        yield Defect(exercise.name, f"has {len(sound)} sound variants, fewer than {SOUND}")
    if "plain_formula" not in sound:
        yield Defect(exercise.name, "has no sound variant plain_formula")
    if not hidden.implementations(exercise.name, "wrong"):
        yield Defect(exercise.name, "has no misconception")
