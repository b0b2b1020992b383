"""`grader new`: names, refusals, and TODOs that are counted. That it builds is seen in test_extending.py."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from grader import hidden, scaffold
from grader.course import ROOT


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folders that `grader new` writes into, with one lesson."""
    for name in ("solutions", "grader/lessons", "grader/hidden/dpo_loss", "tests/lessons"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "solutions" / "03_stable_dpo.py").write_text("# %% [markdown]\n# # Lesson 3\n", encoding="utf-8")
    return tmp_path


def test_what_is_written(root: Path) -> None:
    """Seven files, all valid Python; every misconception and sound variant is found by its docstring."""
    made = scaffold.create("05_my_lesson", "my_loss", root)
    names = {str(path.relative_to(root)) for path in made}
    assert names == {
        "solutions/05_my_lesson.py",
        "grader/lessons/my_lesson.py",
        *(f"grader/hidden/my_loss/{name}.py" for name in ("__init__", "cases", "wrong", "sound")),
        "tests/lessons/test_my_lesson.py",
    }
    for path in made:
        ast.parse(path.read_text(encoding="utf-8"))
    assert "My lesson" in (root / "solutions/05_my_lesson.py").read_text(encoding="utf-8")
    assert "{{" not in "".join(path.read_text(encoding="utf-8") for path in made)


def test_exercises_of_a_lesson_are_numbered(root: Path) -> None:
    percent = root / "solutions/05_my_lesson.py"
    for name in ("first_loss", "second_loss"):
        scaffold.create("05_my_lesson", name, root)
    text = percent.read_text(encoding="utf-8")
    assert "## Exercise 1. `first_loss`" in text
    assert "## Exercise 2. `second_loss`" in text
    assert "| **Graded** | `first_loss`, `second_loss` |" in text


def test_a_todo_belongs_to_the_exercise_it_stands_in(tmp_path: Path) -> None:
    """Above the first exercise stands what the whole lesson says; unknown names are passed over."""
    lesson = tmp_path / "solutions" / "03_stable_dpo.py"
    lesson.parent.mkdir()
    text = "# TODO(new): a\n# ## Exercise 1. `dpo_loss`\n# TODO(new): b\n# ## Exercise 2. `dpo_grad`\n# TODO(new): c\n"
    lesson.write_text(text, encoding="utf-8")
    owners = {todo[-1]: scaffold._owner(tmp_path, *todo.split(":")[:2]) for todo in scaffold.todos(tmp_path)}
    assert owners == {"a": "implicit_reward", "b": "dpo_loss", "c": "dpo_grad"}


def test_todos_are_listed_until_they_are_done(root: Path) -> None:
    """Each with file and line, as many as there are lines with the mark; none is left once the marks are gone."""
    made = scaffold.create("05_my_lesson", "my_loss", root)
    listed = scaffold.todos(root)
    marks = [line for path in made for line in path.read_text(encoding="utf-8").splitlines() if scaffold.MARK in line]
    assert len(listed) == len(marks) > 20
    assert listed[0] == (
        "solutions/05_my_lesson.py:16: say in three sentences where this lesson stands and why it is worth the time."
    )
    for path in made:
        path.write_text(path.read_text(encoding="utf-8").replace(scaffold.MARK, "done"), encoding="utf-8")
    assert scaffold.todos(root) == []


def test_the_course_itself_has_no_todo() -> None:
    assert scaffold.todos(ROOT) == []


def test_a_second_function_in_a_lesson(root: Path) -> None:
    """Its cells follow the others; it has a module of its own, with the same LESSON."""
    before = (root / "solutions/03_stable_dpo.py").read_text(encoding="utf-8")
    scaffold.create("03_stable_dpo", "my_loss", root)
    after = (root / "solutions/03_stable_dpo.py").read_text(encoding="utf-8")
    assert after.startswith(before)
    assert '"grade_id": "check_my_loss"' in after
    assert after.count('"grade_id": "setup"') == 0
    module = (root / "grader/lessons/stable_dpo_my_loss.py").read_text(encoding="utf-8")
    assert 'LESSON = "03_stable_dpo"' in module


@pytest.mark.parametrize(
    ("lesson", "function", "said"),
    [
        ("my_lesson", "f", "two digits, then lower-case words"),
        ("05_My", "f", "two digits"),
        ("../05_x", "f", "two digits"),
        ("05_x", "My-Loss", "no function name"),
        ("05_x", "lambda", "no function name"),
        ("05_x", "dpo_loss", "has a function dpo_loss already"),
        ("03_other", "f", "number 03 is taken by 03_stable_dpo"),
    ],
)
def test_refusals_write_nothing(root: Path, lesson: str, function: str, said: str) -> None:
    before = sorted(root.rglob("*"))
    with pytest.raises(scaffold.ScaffoldError, match=said):
        scaffold.create(lesson, function, root)
    assert sorted(root.rglob("*")) == before


def test_no_clone_no_scaffold(tmp_path: Path) -> None:
    """From an installed package there is nothing to write into: the message says what is needed."""
    with pytest.raises(scaffold.ScaffoldError, match="from a clone of the course"):
        scaffold.create("05_x", "f", tmp_path)


def test_scaffolded_hints_have_the_form_that_is_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The docstring format of the template is the one that `grader.hidden` parses: a description and three steps."""
    scaffold.create("05_x", "my_loss", root)
    monkeypatch.setattr(hidden, "ROOT", root / "grader" / "hidden")
    (misconception,) = hidden.misconceptions("my_loss")
    assert misconception.id == "wrong_sign"
    assert len(misconception.hints) == 3
