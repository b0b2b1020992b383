"""What must hold of hints: three steps each, and none with code of the solution."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from grader import hidden
from grader.exercise import Exercise
from grader.proofs.model import Defect, counted
from grader.proofs.places import hidden_file, lesson_module

FRAGMENT = 12  # characters of the solution, spaces left out, that a hint must not hold
STEPS = 3


def hint_defects(exercise: Exercise, reference: str) -> Iterator[Defect]:
    """Every hint has its three steps and none holds code of the solution; double mistakes name their parts.

    Args:
        exercise: whose own hints and misconceptions are read.
        reference: the source of its solution cell.
    """
    body = solution_code(reference)
    known = hidden.misconceptions(exercise.name)
    ids = {m.id for m in known if not m.parts}
    for text in _hint_texts(exercise.hints, body, reference):
        yield Defect(exercise.name, text, lesson_module(exercise))
    for m in known:
        culprit, where = f"{exercise.name}, misconception {m.id}", hidden_file(exercise.name, "wrong", m.id)
        if not m.description:
            yield Defect(culprit, "has no description", where)
        for part in m.parts:
            if part not in ids:
                yield Defect(culprit, f"its part {part} is no misconception", where)
        if not m.parts:
            yield from (Defect(culprit, text, where) for text in _hint_texts(m.hints, body, reference))


def _hint_texts(hints: Sequence[str], body: str, reference: str) -> Iterator[str]:
    if len(hints) < STEPS:
        yield f"has {counted(len(hints), 'hint step')}, not {STEPS}"
    for step, text in enumerate(hints, start=1):
        if not text.strip():
            yield f"hint {step} is empty"
        if fragment := shared_code(text, body):
            yield f"hint {step} contains code of the solution: `{line_with(reference, fragment)}`"


def line_with(source: str, fragment: str) -> str:
    """The line of ``source``, as written, from which a piece of `shared_code` comes; the piece where none is found."""
    lines = [line.strip() for line in source.splitlines()]
    for length in range(len(fragment), FRAGMENT - 1, -1):  # a piece may go on in the next line
        for line in lines:
            if fragment[:length] in _squeezed(line):
                return line
    for node in ast.walk(ast.parse(source)):  # written with other quotes or brackets than `ast.unparse` writes
        if isinstance(node, ast.stmt) and not hasattr(node, "body") and fragment in _squeezed(ast.unparse(node)):
            return lines[node.lineno - 1]
    return fragment


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
