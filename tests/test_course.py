"""The course as the grader reads it from `notebooks/`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from support import GRADED, MARKS, functions

from grader.course import (
    CourseError,
    bound_names,
    defined_names,
    graded_lessons,
    lesson,
    solution_source,
    ungraded_lessons,
)


def test_lessons() -> None:
    assert [name for name in graded_lessons() if name in MARKS] == list(MARKS)
    assert ungraded_lessons() == {"00_setup"}


@pytest.mark.parametrize("name", GRADED)
def test_a_lesson_has_one_setup_and_a_stub_and_a_check_per_exercise(name: str) -> None:
    found = lesson(name)
    roles = [cell.role for cell in found.cells]
    assert roles.count("setup") == 1
    assert found.setup
    assert [cell.grade_id for cell in found.cells if cell.role == "graded"] == [f"check_{f}" for f in functions(name)]
    for function in functions(name):
        stub = found.cell(function)
        assert stub is not None
        assert stub.role == "solution"
        assert "NotImplementedError" in stub.source
    assert sum(found.points(f) for f in functions(name)) == 10  # the contract: ten points a lesson


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(CourseError, match=r"unknown assignment '05_none'; the course has 01_kl"):
        lesson("05_none")
    with pytest.raises(CourseError, match="03_stable_dpo has no graded cell check_spo_loss"):
        lesson("03_stable_dpo").points("spo_loss")
    assert lesson("03_stable_dpo").cell("no such") is None


def test_a_course_that_is_not_built(tmp_path: Path) -> None:
    with pytest.raises(CourseError, match="is missing: run `grader build` first"):
        lesson("03_stable_dpo", tmp_path)


@pytest.mark.parametrize("name", GRADED)
def test_solutions_stand_where_they_are_looked_for(name: str) -> None:
    assert solution_source(name).is_file()


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f(): pass", ["f"]),
        ("async def f(): pass", ["f"]),
        ("class C: pass", ["C"]),
        ("f = lambda: 0", ["f"]),
        ("f: int = 3", ["f"]),
        ("a, (b, *c) = x", ["a", "b", "c"]),
        ("import a.b, c as d", ["a", "d"]),
        ("from m import f as g, h", ["g", "h"]),
        ("if x:\n    def f(): pass\nelse:\n    f = 3", ["f", "f"]),
        ("try:\n    import a\nexcept ImportError:\n    a = None", ["a", "a"]),
        ("for i in x: y = i", ["i", "y"]),
        ("with open('x') as f: pass", ["f"]),
        ("if (n := 3): pass", ["n"]),
        ("x.f = 3", []),
        ("f()", []),
    ],
)
def test_bound_names(source: str, names: list[str]) -> None:
    assert sorted(bound_names(ast.parse(source).body[0])) == sorted(names)


def test_names_of_broken_cells() -> None:
    for source in ("def f(", "\x00", "(" * 10_000):
        assert not list(defined_names(source))
