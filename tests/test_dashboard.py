"""The dashboard's numbers, counted again by hand; and that nothing of a submission is markup or says who wrote it."""

from __future__ import annotations

import json
import re
from collections import Counter
from html import unescape
from pathlib import Path

import pytest
from support import run_grader
from synthetic_class import EVIL, LESSONS, graded, large_class

from grader import dashboard, report
from grader.grading import Grader
from grader.report import ExerciseResult, GroupResult, Hint, SubmissionResult
from grader.typical import function_text

SIZE = 1000


@pytest.fixture(scope="module")
def course(warm: Grader, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[SubmissionResult], Path]:
    folder = tmp_path_factory.mktemp("class")
    return large_class(graded(warm, folder / "kinds"), SIZE, folder / "submitted"), folder / "submitted"


def test_counts(course: tuple[list[SubmissionResult], Path]) -> None:
    """Every number of the view, from the results in another way."""
    results, submissions = course
    view = dashboard.summarize(results, submissions)
    assert view["submissions"] == SIZE
    assert view["failed"] == sum(r.status == "failed" for r in results) > 0
    holders = Counter((e.name, h.misconception) for r in results for e in r.exercises for h in e.diagnosis)
    shown = {
        (e["name"], m["id"]): m for lesson in view["lessons"] for e in lesson["exercises"] for m in e["misconceptions"]
    }
    assert {key: m["holders"] for key, m in shown.items()} == dict(holders)
    assert len(holders) >= 12
    for (function, _), m in shown.items():
        assert m["hint"]
        assert m["description"]
        assert m["cell"].startswith(f"def {function}(")
    for lesson in view["lessons"]:
        mine = [r for r in results if r.assignment == lesson["name"] and r.status == "graded"]
        assert lesson["mean"] == pytest.approx(sum(r.points for r in mine) / len(mine), abs=1e-3)
        for e in lesson["exercises"]:
            assert e["tried"] + e["untried"] == len(mine)
            assert sum(e["histogram"]) == e["tried"]
            for group in e["groups"]:
                assert 0 < group["passed"] <= group["of"] == e["tried"]
    odd = [
        h for h in view["humans"] if any("near miss: implicit_reward loses only “far range”" in r for r in h["reasons"])
    ]
    assert odd
    assert sum(len(group["submissions"]) for group in view["reasons"]) == len(view["humans"])


def test_page_is_one_file_and_escapes(course: tuple[list[SubmissionResult], Path]) -> None:
    """No address is loaded, no markup of a submission survives, and no name stands beside code."""
    results, submissions = course
    view = dashboard.summarize(results, submissions)
    text = dashboard.page(view)
    assert not re.search(r"""(src|href)=["'](?!#)""", text)
    assert "@import" not in text
    assert "url(" not in text
    assert EVIL not in text
    assert EVIL in unescape(text)
    cells = "".join(m["cell"] for lesson in view["lessons"] for e in lesson["exercises"] for m in e["misconceptions"])
    assert "student" not in cells
    assert "Ada" not in cells
    assert str(submissions) not in text


def test_a_typical_cell_has_no_comment(tmp_path: Path) -> None:
    """Comments and docstrings, where a name would stand, are gone; the code is as written."""
    path = tmp_path / "x.py"
    path.write_text('# Ada\ndef f(x):\n    """By Ada."""\n    return x  # Ada\n', encoding="utf-8")
    assert function_text(path, "f") == "def f(x):\n    return x"
    assert function_text(path, "g") == ""
    (tmp_path / "y.ipynb").write_text("{", encoding="utf-8")
    assert function_text(tmp_path / "y.ipynb", "f") == ""


def made(name: str, points: float, status: str = "partial", hint: bool = False) -> SubmissionResult:
    groups = (GroupResult("a", points, 5.0, points == 5.0), GroupResult("b", 0.0, 5.0, False))
    told = (Hint("beta_forgotten", "Where is beta?"),) if hint else ()
    exercise = ExerciseResult("implicit_reward", status, points, 10.0, groups, told)
    return SubmissionResult(name, LESSONS[1], "graded", points, 10.0, (), (exercise,))


def test_levels_and_humans() -> None:
    """Five mean marks of 0.4 are too hard, of 0.5 not; four are too few to say. A hint spares the human."""
    for points, count, level in ((4.0, 5, "too hard"), (5.0, 5, ""), (4.0, 4, ""), (10.0, 5, "too easy")):
        view = dashboard.summarize([made(f"s{i}", points) for i in range(count)])
        assert view["lessons"][0]["exercises"][0]["level"] == level
    reasons = {
        h["submission"]
        for h in dashboard.summarize([made("x", 5.0), made("y", 5.0, hint=True), made("z", 1.0)])["humans"]
    }
    assert reasons == {"x"}


def test_command(course: tuple[list[SubmissionResult], Path], tmp_path: Path) -> None:
    """The command reads several files, and its JSON is the view that the page shows."""
    results, submissions = course
    for name, some in (("a.json", results[:300]), ("b.json", results[300:])):
        (tmp_path / name).write_text(json.dumps(report.to_json(some)), encoding="utf-8")
    done = run_grader(
        "dashboard", "a.json", "b.json", "--submissions", submissions, "--json", "view.json", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"wrote dashboard.html: {SIZE} submissions")
    view = json.loads((tmp_path / "view.json").read_text(encoding="utf-8"))
    assert view == json.loads(json.dumps(dashboard.summarize(results, submissions)))
    assert dashboard.page(view) == (tmp_path / "dashboard.html").read_text(encoding="utf-8")
