"""Submissions to make and commands to run, shared by the tests."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from grader import notebook, sample
from grader.course import exercises
from grader.grading import Grader
from grader.report import SubmissionResult

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
Notebook = dict[str, Any]
MARKS = {
    "01_kl_penalized_rewards": pytest.mark.kl,
    "02_spo_regression": pytest.mark.spo,
    "03_stable_dpo": pytest.mark.dpo,
    "04_reward_kl_frontier": pytest.mark.frontier,
}
GRADED = [pytest.param(name, marks=mark, id=name) for name, mark in MARKS.items()]
LESSONS = [pytest.param("00_setup", id="00_setup"), *GRADED]


def functions(lesson: str) -> list[str]:
    """The graded functions of a lesson, in order."""
    return [e.name for e in exercises().values() if e.lesson == lesson]


def references(lesson: str) -> dict[str, str]:
    """Every graded function of a lesson as a learner would have written it."""
    return {name: sample.reference(name) for name in functions(lesson)}


def released(lesson: str) -> Notebook:
    """The notebook that learners get."""
    made: Notebook = json.loads((ROOT / "notebooks" / lesson / f"{lesson}.ipynb").read_text(encoding="utf-8"))
    return made


def solved(lesson: str, **answers: str) -> Notebook:
    """The released notebook with the references in its cells, or other ``answers``."""
    return sample.answered(lesson, {**references(lesson), **answers})


def grade_id(cell: dict[str, Any]) -> str:
    """The nbgrader id of a cell."""
    return notebook.grade_id_of(cell)


def cell_of(made: Notebook, name: str) -> dict[str, Any]:
    """The cell with this grade_id."""
    found: dict[str, Any] = next(cell for cell in made["cells"] if grade_id(cell) == name)
    return found


def source(cell: dict[str, Any]) -> str:
    """The text of a cell."""
    return notebook.source_of(cell)


def code(text: str, **metadata: Any) -> dict[str, Any]:
    """A code cell that a learner added."""
    return {"cell_type": "code", "metadata": metadata, "source": text, "outputs": [], "execution_count": None}


def with_cells(made: Notebook, before: Iterable[str] = (), after: Iterable[str] = ()) -> Notebook:
    """A copy of the notebook with code cells put before the first answer and after the last cell."""
    new = copy.deepcopy(made)
    first = next(i for i, cell in enumerate(new["cells"]) if grade_id(cell) in exercises())
    new["cells"][first:first] = [code(text) for text in before]
    new["cells"] += [code(text) for text in after]
    return new


def grade(grader: Grader, made: Notebook | str, lesson: str = "", name: str = "") -> SubmissionResult:
    """The result of a notebook (a dict) or a script (its text)."""
    text = made if isinstance(made, str) else json.dumps(made)
    name = name or ("learner.py" if isinstance(made, str) else "learner.ipynb")
    return grader.grade(notebook.loads(text.encode(), name, lesson))


def marks(result: SubmissionResult) -> dict[str, float]:
    """Points per exercise."""
    return {e.name: e.points for e in result.exercises}


def full(lesson: str, grader: Grader) -> dict[str, float]:
    """The most points per exercise."""
    return {name: notebook.lesson(lesson).points(name) for name in functions(lesson)}


def run_grader(*arguments: str | Path, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """The `grader` command in a process of its own."""
    return subprocess.run(
        [str(BIN / "grader"), *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=300,
        env={**os.environ, **environment},
    )  # fmt: skip


def grade_files(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """`grader grade` with the tests' secret and plain process isolation."""
    return run_grader("grade", "--secret", "test", "--isolation", "process", *arguments)
