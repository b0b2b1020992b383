"""A sample class: submissions made from the released notebooks with right, wrong, broken and missing answers."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader import hidden
from grader.course import ROOT, defined_names, exercises, graded_lessons, solution_source

Notebook = dict[str, Any]

ENDLESS = "def {name}(*arguments):\n    while True:\n        pass\n"
SYNTAX = "def {name}(policy_logprob, ref_logprob, beta)\n    return beta * (policy_logprob - ref_logprob)\n"


@dataclass(frozen=True)
class Student:
    """One submission: lesson, and per function what was written. ``file``: ipynb or py; ``strip``: metadata lost."""

    name: str
    lesson: str
    answers: Mapping[str, str]
    file: str = "ipynb"
    strip: bool = False


def reference(function: str, root: Path = ROOT) -> str:
    """The reference as a learner would have written it, markers removed."""
    text = solution_source(exercises()[function].lesson, root).read_text(encoding="utf-8")
    cells = (chunk.partition("\n")[2] for chunk in text.split("\n# %%"))
    lines = next(cell for cell in cells if function in defined_names(cell)).splitlines()
    return "\n".join(line for line in lines if "### BEGIN" not in line and "### END" not in line).strip() + "\n"


def wrong_answer(function: str, misconception: str, which: str = "wrong") -> str:
    """A misconception (or a sound variant) as a learner's cell: renamed, with the imports and helpers it needs."""
    source = hidden.source_path(function, which).read_text(encoding="utf-8")
    kept = []
    for node in ast.parse(source).body:
        public = isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
        if isinstance(node, ast.FunctionDef) and node.name == misconception:
            node.name = function
            node.body = node.body[1:] if ast.get_docstring(node) else node.body
        elif public or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            continue
        kept.append(ast.unparse(node))
    return "\n\n".join(kept) + "\n"


def right_answers(lesson: str) -> list[dict[str, str]]:
    """The lesson solved in ten ways: the course's own and, one after the other, the known sound variants."""
    names = [name for name, exercise in exercises().items() if exercise.lesson == lesson]
    ways: dict[str, list[str]] = {}
    for name in names:
        sound = [wrong_answer(name, variant, "sound") for variant in hidden.implementations(name, "sound")]
        ways[name] = [reference(name), *sound]
    return [{name: ways[name][number % len(ways[name])] for name in names} for number in range(10)]


def answered(lesson: str, answers: Mapping[str, str], root: Path = ROOT, strip: bool = False) -> Notebook:
    """The released notebook of ``lesson`` with ``answers`` in its solution cells."""
    path = root / "notebooks" / lesson / f"{lesson}.ipynb"
    notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        grade_id = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        if grade_id in answers:
            cell["source"] = answers[grade_id].splitlines(keepends=True)
        if strip:
            cell["metadata"] = {}
    return notebook


def write(student: Student, folder: Path) -> Path:
    """The submission in nbgrader's layout below ``folder``: STUDENT/LESSON/LESSON.ipynb (or .py)."""
    path = folder / student.name / student.lesson / f"{student.lesson}.{student.file}"
    path.parent.mkdir(parents=True, exist_ok=True)
    if student.file == "py":
        path.write_text("\n\n".join(student.answers.values()), encoding="utf-8")
    else:
        made = answered(student.lesson, student.answers, strip=student.strip)
        path.write_text(json.dumps(made, indent=1), encoding="utf-8")
    return path


def sample_class() -> Iterator[Student]:
    """About 25 submissions over the graded lessons: what a real class hands in."""
    names = iter(
        "abel banach cantor dirac euler fermat gauss hilbert ito jacobi kolmogorov laplace markov noether ostrowski "
        "pascal quine ramanujan shannon turing ulam venn weyl xenakis young zermelo".split()
    )
    for lesson in graded_lessons():
        functions = [e.name for e in exercises().values() if e.lesson == lesson]
        right = {name: reference(name) for name in functions}
        yield Student(next(names), lesson, right)
        yield Student(next(names), lesson, {})
        for step in range(3):
            chosen = {name: _misconception(name, step) for name in functions}
            yield Student(next(names), lesson, {**right, **dict(list(chosen.items())[step % len(functions) :])})
        if lesson == "02_spo_regression":
            yield Student(next(names), lesson, {"logp_completion": right["logp_completion"]}, strip=True)
        if lesson == "03_stable_dpo":
            yield Student(next(names), lesson, {**right, "dpo_grad": ENDLESS.format(name="dpo_grad")})
            yield Student(next(names), lesson, {**right, "dpo_grad": SYNTAX.format(name="dpo_grad")})
            yield Student(next(names), lesson, {"imports": "import numpy as np\n", **right}, file="py")


def _misconception(function: str, step: int) -> str:
    ids = [m.id for m in hidden.misconceptions(function) if not m.parts]
    return wrong_answer(function, ids[(7 * step + 1) % len(ids)])
