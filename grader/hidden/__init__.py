"""Hidden case groups, misconceptions and sound variants: one folder per graded function.

Never importable from a learner's process and never in what learners receive. `wrong.py` and `sound.py` are read
as text (ids, descriptions and hints from their docstrings) and run in the worker like a submission.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import re
from pathlib import Path

import numpy as np

from grader.course import CourseError
from grader.exercise import Case, Exercise, Misconception

ROOT = Path(__file__).parent


def hidden_cases(exercise: Exercise, secret: str) -> dict[str, list[Case]]:
    """The hidden cases of each group, drawn from ``secret``: the same for the whole class, and reproducible."""
    families = importlib.import_module(f"grader.hidden.{exercise.name}.cases").CASES
    return {name: family(_generator(secret, exercise.name, name)) for name, family in families.items()}


def _generator(secret: str, *labels: str) -> np.random.Generator:
    digest = hashlib.sha256("\0".join((secret, *labels)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))


def source_path(function: str, which: str) -> Path:
    """The file of wrong (``which="wrong"``) or sound (``"sound"``) implementations of a graded function."""
    return ROOT / function / f"{which}.py"


def implementations(function: str, which: str) -> dict[str, str]:
    """Id -> docstring of every implementation in `source_path`, in order; private helpers left out.

    Raises:
        CourseError: the file is missing, or is not Python; the message has its path and the line.
    """
    path = source_path(function, which)
    shown = path.relative_to(ROOT.parent.parent)
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CourseError(f"{shown} is missing; docs/extending.md shows what stands in it") from None
    except SyntaxError as error:
        raise CourseError(f"{shown}, line {error.lineno}: {error.msg}") from None
    return {
        node.name: ast.get_docstring(node) or ""
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }


def misconceptions(function: str) -> tuple[Misconception, ...]:
    """The misconceptions of a graded function, from the docstrings of its `wrong.py`."""
    return tuple(_misconception(name, doc) for name, doc in implementations(function, "wrong").items())


def _misconception(name: str, doc: str) -> Misconception:
    first, _, rest = doc.partition("\n")
    hints = tuple(" ".join(step.split()) for step in re.split(r"^\s*\d\.\s", rest, flags=re.MULTILINE)[1:])
    both = re.match(r"Both: ([\w +]+)", first)
    parts = tuple(part.strip() for part in both.group(1).split("+")) if both else ()
    return Misconception(name, first.strip(), hints, parts)
