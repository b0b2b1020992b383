"""What a lesson states is what is judged: tolerances, and the results of the calls it prints."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from grader.exercise import Case, Exercise
from grader.judge import error_in_tolerances
from grader.proofs.model import Defect
from grader.tolerance import Tolerance
from grader.values import Value, as_array, leaves, tensor

PRINTED = 6e-9  # relative: lessons print nine digits
_NUMBER = r"\d+(?:\.\d+)?[eE]-\d+"


@dataclass(frozen=True)
class Printed:
    """A call that stands in a lesson's text, with the results that stand below it, by path."""

    where: str
    case: Case
    results: tuple[tuple[str, Value], ...]


def markdown(name: str, root: Path) -> list[tuple[str, str]]:
    """(card, text) of a released lesson's markdown cells; ``card`` is the function whose exercise they introduce."""
    path = root / "notebooks" / name / f"{name}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    found, waiting = [], list[str]()
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            waiting.append(source)
            continue
        meta = cell["metadata"].get("nbgrader", {})
        card = str(meta.get("grade_id", "")) if meta.get("solution") else ""
        found += [(card, text) for text in waiting]
        waiting.clear()
    return found + [("", text) for text in waiting]


def tolerance_defects(exercise: Exercise, root: Path) -> Iterator[Defect]:
    """The lesson quotes the tolerance that is used, and its card quotes no other; its text says what it does."""
    texts, where = markdown(exercise.lesson, root), f"solutions/{exercise.lesson}.py"
    judged = {exercise.tolerance, *(g.tolerance for g in exercise.groups if g.tolerance)}
    for tolerance in judged:
        own = tolerance is exercise.tolerance  # a group's may be told in the lesson's text
        if not any(tolerance.text in text for card, text in texts if card == exercise.name or not own):
            place = "its card" if own else exercise.lesson
            yield Defect(exercise.name, f"{place} does not state its tolerance, “{tolerance.text}”", where)
    used = judged | {c.tolerance for g in exercise.groups for c in g.examples if c.tolerance}
    numbers = {float(n) for tolerance in used for n in re.findall(_NUMBER, tolerance.text)}
    for text in (text for card, text in texts if card == exercise.name):
        for sentence in re.split(r"(?<=[.!?])\s|\n", text):
            if not re.search(r"toleran|relative error|absolute error|rtol|atol", sentence, re.IGNORECASE):
                continue
            for number in re.findall(_NUMBER, sentence):
                if float(number) not in numbers:
                    yield Defect(exercise.name, f"its card states a tolerance of {number}, which is not used", where)
    for tolerance in used:
        yield from (replace(d, culprit=f"{exercise.name}, {d.culprit}") for d in text_defects(tolerance))


def text_defects(tolerance: Tolerance) -> Iterator[Defect]:
    """Where a tolerance's text is one number, that number is its bound."""
    found = re.match(rf"(relative|absolute) error ≤ ({_NUMBER})", tolerance.text)
    if found and not np.isclose(tolerance.bound({}, "", np.array(1.0)), float(found.group(2)), rtol=1e-12, atol=0):
        text = f"says “{found.group(0)}” and uses another bound"
        yield Defect(f"tolerance “{tolerance.name}”", text, "grader/tolerance.py")


def printed_calls(exercise: Exercise, root: Path) -> Iterator[Printed]:
    """The calls of the function in the lesson's fenced Python blocks that have results in comments below them.

    A result is ``# path: value`` or, for a lone result, ``# result: value``. What does not parse, or was cut with
    dots, is not a call with a result.
    """
    for _, text in markdown(exercise.lesson, root):
        for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            yield from _calls_in(exercise, block)


def _calls_in(exercise: Exercise, block: str) -> Iterator[Printed]:
    try:
        body = ast.parse(block).body
    except SyntaxError:
        return
    lines = block.splitlines()
    ends = [node.lineno - 1 for node in body[1:]] + [len(lines)]
    for node, end in zip(body, ends, strict=True):
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call) or getattr(call.func, "id", "") != exercise.name:
            continue
        args = [_value(ast.unparse(argument)) for argument in (*call.args, *(k.value for k in call.keywords))]
        below = (re.match(r"#\s*(\w+): (.+)", line) for line in lines[node.end_lineno : end])
        results = tuple(("" if m[1] == "result" else m[1], _value(m[2])) for m in below if m and _is_value(m[2]))
        names = [k.arg or "" for k in call.keywords]
        bound = dict(zip((*exercise.signature[: len(call.args)], *names), args, strict=True))
        if results and set(bound) == set(exercise.signature) and not any(a is Ellipsis for a in args):
            ordered = {name: bound[name] for name in exercise.signature}
            yield Printed(lines[node.lineno - 1], Case(ordered), results)


def _is_value(text: str) -> bool:
    return _value(text) is not Ellipsis


def _value(text: str) -> Any:
    """A printed value: numbers, ``tensor([…])``, ``tensor([…], float64)``, ``array([…])``; else Ellipsis."""
    names = {"nan": np.nan, "inf": np.inf, "array": lambda data: np.array(data, dtype=np.float64), "True": True}
    names |= {"tensor": tensor, **{dtype: dtype for dtype in ("float64", "float32", "int64", "bool", "bfloat16")}}
    if not re.fullmatch(r"[\w\s\[\](),.+-]+", text) or "..." in text:
        return Ellipsis
    try:
        return eval(text, {"__builtins__": {}}, names)
    except Exception:  # noqa: BLE001 - prose, not a value
        return Ellipsis


def authored(exercise: Exercise, printed: Printed) -> Case | None:
    """The public example that a printed call is, or None. Its arguments are exact, printed ones have nine digits."""
    for case in (case for group in exercise.groups for case in group.examples):
        if all(_alike(case.args[name], value) for name, value in printed.case.args.items()):
            return case
    return None


def _alike(a: Value, b: Value) -> bool:
    x, y = as_array(a), as_array(b)
    return (
        x is not None
        and y is not None
        and x.shape == y.shape
        and np.allclose(x, y, rtol=PRINTED, atol=0, equal_nan=True)
    )


def printed_defects(exercise: Exercise, printed: Printed, answer: Value) -> Iterator[Defect]:
    """Whether the results printed below a call are right, to the tolerance or the printed digits.

    Right is what the public example says whose call this is (the reference is held to that elsewhere), else ``answer``,
    the reference's.
    """
    example = authored(exercise, printed)
    answer = answer if example is None else example.expected
    right = dict(leaves(answer)) if isinstance(answer, dict | tuple) else {"": answer}
    for path, stated in printed.results:
        want, got = as_array(right.get(path)), as_array(stated)
        culprit, where = f"{exercise.name}, {exercise.lesson}", f"solutions/{exercise.lesson}.py"
        if want is None or got is None or np.shape(np.squeeze(want)) != np.shape(np.squeeze(got)):
            text = f"states a result “{path}” of `{printed.where}…` that the reference does not give"
            yield Defect(culprit, text, where)
        elif error_in_tolerances(exercise.tolerance, printed.case, path, right[path], stated) > 1 and not np.allclose(
            np.squeeze(got), np.squeeze(want), rtol=PRINTED, atol=0, equal_nan=True
        ):
            text = f"states another result {path} of `{printed.where}…` than the reference gives"
            yield Defect(culprit, text, where)
