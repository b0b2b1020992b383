"""The sample class: what it holds, and that its answers are what they say."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from support import GRADED, MARKS, cell_of, functions, source

from grader import hidden, sample
from grader.course import defined_names, exercises
from grader.grading import Grader
from grader.notebook import load


def test_about_25_submissions_over_all_lessons() -> None:
    students = list(sample.sample_class())
    assert 20 <= len(students) <= 30
    assert len({s.name for s in students}) == len(students)
    assert set(Counter(s.lesson for s in students)) == set(MARKS)
    assert {s.file for s in students} == {"ipynb", "py"}
    texts = ["\n".join(s.answers.values()) for s in students]
    assert any("while True" in text for text in texts)  # an infinite loop
    assert any(not s.answers for s in students)  # blank
    assert any(set(s.answers) < set(functions(s.lesson)) and s.answers for s in students)  # half done
    assert any(not defined_names(answer) for s in students for answer in s.answers.values())  # a syntax error


@pytest.mark.parametrize("name", list(exercises()))
def test_references_are_whole_and_without_markers(name: str) -> None:
    text = sample.reference(name)
    assert name in defined_names(text)
    assert "### " not in text
    assert "NotImplementedError" not in text


@pytest.mark.parametrize("name", list(exercises()))
@pytest.mark.parametrize("which", ["wrong", "sound"])
def test_implementations_become_answers(name: str, which: str) -> None:
    for one in hidden.implementations(name, which):
        names = defined_names(sample.wrong_answer(name, one, which))
        assert names.count(name) == 1
        assert one == name or one not in names


@pytest.mark.parametrize("lesson", GRADED)
def test_answers_stand_in_their_cells(lesson: str) -> None:
    made = sample.answered(lesson, {functions(lesson)[0]: "answer = 1\n"})
    assert source(cell_of(made, functions(lesson)[0])) == "answer = 1\n"
    assert all(cell["metadata"] == {} for cell in sample.answered(lesson, {}, strip=True)["cells"])


def test_files_stand_in_nbgraders_layout(tmp_path: Path, warm: Grader) -> None:
    right = {name: sample.reference(name) for name in functions("03_stable_dpo")}
    for file in ("ipynb", "py"):
        answers = {"imports": "import numpy as np\n", **right} if file == "py" else right
        path = sample.write(sample.Student("ada", "03_stable_dpo", answers, file=file), tmp_path)
        assert path == tmp_path / "ada" / "03_stable_dpo" / f"03_stable_dpo.{file}"
        assert warm.grade(load(path)).points == 10.0
    assert json.loads((path.with_suffix(".ipynb")).read_text())["nbformat"] == 4
