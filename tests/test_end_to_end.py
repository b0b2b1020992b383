"""From a file to a mark: through the `grader` command, and through the real nbgrader.

Full marks are the lesson's ten points. What nbgrader keeps is read from its own gradebook.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nbgrader.api import Gradebook
from support import (
    BIN,
    GRADED,
    MARKS,
    ROOT,
    Notebook,
    cell_of,
    code,
    functions,
    grade_files,
    grade_id,
    references,
    released,
    run_grader,
    solved,
    source,
)

from grader import demo, hidden, render, sample
from grader.course import exercises, graded_lessons
from grader.course import lesson as course_lesson
from grader.exercise import Case
from grader.expected import reference_code
from grader.grading import Grader
from grader.notebook import load
from grader.sandbox.calls import Call
from grader.values import as_array, leaves, tensor

DPO = "03_stable_dpo"
KNOWN = ", ".join(exercises())
LESSON_NAMES = ", ".join(graded_lessons())


def results_of(path: Path) -> dict[str, dict[str, Any]]:
    """File name -> its result in a JSON file of `grader grade`."""
    node = json.loads(path.read_text(encoding="utf-8"))
    assert node["schema"] == 1
    return {Path(result["submission"]).name: result for result in node["results"]}


def put(path: Path, made: Notebook | str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = made if isinstance(made, bytes) else (made if isinstance(made, str) else json.dumps(made)).encode()
    path.write_bytes(data)
    return path


# The command ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def graded_course(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """One run of the command over every solution and every released notebook."""
    out = tmp_path_factory.mktemp("course") / "results.json"
    files = [ROOT / "solutions" / f"{name}.py" for name in MARKS]
    files += [ROOT / "notebooks" / name / f"{name}.ipynb" for name in MARKS]
    run = grade_files(*files, "--json", out)
    assert run.returncode == 0, run.stderr
    return results_of(out)


@pytest.mark.parametrize("name", GRADED)
def test_solutions_get_full_marks_and_blanks_none(graded_course: dict[str, dict[str, Any]], name: str) -> None:
    full, blank = graded_course[f"{name}.py"], graded_course[f"{name}.ipynb"]
    assert (full["assignment"], full["status"], full["points"], full["max_points"]) == (name, "graded", 10.0, 10.0)
    assert [e["status"] for e in full["exercises"]] == ["passed"] * len(functions(name))
    assert full["problems"] == []
    assert (blank["assignment"], blank["status"], blank["points"], blank["max_points"]) == (name, "graded", 0.0, 10.0)
    assert [e["status"] for e in blank["exercises"]] == ["not attempted"] * len(functions(name))


@pytest.mark.parametrize("name", GRADED)
def test_points_of_groups_add_up(graded_course: dict[str, dict[str, Any]], name: str) -> None:
    for exercise in graded_course[f"{name}.py"]["exercises"]:
        assert sum(g["max_points"] for g in exercise["groups"]) == pytest.approx(exercise["max_points"])
        assert sum(g["points"] for g in exercise["groups"]) == pytest.approx(exercise["points"])


def test_one_function_in_a_script(tmp_path: Path) -> None:
    script = put(tmp_path / "mine.py", sample.reference("implicit_reward"))
    run = grade_files(script, "--json", tmp_path / "out.json")
    assert run.returncode == 0
    result = results_of(tmp_path / "out.json")["mine.py"]
    assert result["submission"] == str(script)
    assert {e["name"]: (e["status"], e["points"]) for e in result["exercises"]} == {
        "implicit_reward": ("passed", 2.0),
        "dpo_loss": ("not attempted", 0.0),
        "dpo_grad": ("not attempted", 0.0),
    }
    assert "2 / 10" in run.stdout
    assert "1 submissions: 1 graded, 0 failed" in run.stdout


#: file name, content, the one line
UNGRADABLE: list[tuple[str, bytes, str]] = [
    ("broken.ipynb", b'{"cells": [', "broken.ipynb: not a notebook, its JSON is broken at line 1; "
     "open it in Jupyter and save it again"),
    ("empty.ipynb", b"", "empty.ipynb: not a notebook, its JSON is broken at line 1; open it in Jupyter and save it again"),  # noqa: E501
    ("other.ipynb", b'{"a": 1}', "other.ipynb: JSON, but not a notebook (it has no cells); submit the .ipynb file"),
    ("report.pdf", b"%PDF", "report.pdf: not a notebook (.ipynb) or Python file (.py); submit one of these"),
    ("prose.py", b"x = 1\n", f"prose.py: defines no graded function; name the lesson with --assignment (the functions are {KNOWN})"),  # noqa: E501
    ("two.py", b"def spo_loss(): pass\ndef dpo_loss(): pass\n",
     "two.py: fits 02_spo_regression and 03_stable_dpo alike; say which with --assignment"),
]  # fmt: skip


def test_bad_files_get_one_line_each_and_stop_nobody(tmp_path: Path) -> None:
    for name, data, _ in UNGRADABLE:
        put(tmp_path / name, data)
    good = put(tmp_path / "good.ipynb", solved(DPO))
    files = [tmp_path / name for name, *_ in UNGRADABLE]
    run = grade_files(*files, tmp_path / "gone.ipynb", good, "--json", tmp_path / "out.json")
    assert run.returncode == 1
    assert "Traceback" not in run.stdout + run.stderr
    found = results_of(tmp_path / "out.json")
    expected = {name: said for name, _, said in UNGRADABLE} | {"gone.ipynb": "gone.ipynb: no such file; check the path"}
    for name, said in expected.items():
        assert (found[name]["status"], found[name]["points"], found[name]["problems"]) == ("failed", 0.0, [said])
    assert (found["good.ipynb"]["status"], found["good.ipynb"]["points"]) == ("graded", 10.0)
    assert f"{len(expected) + 1} submissions: 1 graded, {len(expected)} failed" in run.stdout


def test_folders_are_searched(tmp_path: Path) -> None:
    put(tmp_path / "class" / "ada" / DPO / f"{DPO}.ipynb", solved(DPO))
    put(tmp_path / "class" / "bob" / DPO / "answers.py", "x = 1\n")  # the folder names the assignment
    put(tmp_path / "class" / ".ipynb_checkpoints" / "x.ipynb", "{")
    (tmp_path / "class" / "empty").mkdir()
    run = grade_files(tmp_path / "class", tmp_path / "class" / "empty", "--json", tmp_path / "o.json", "--feedback",
                      tmp_path / "fb")  # fmt: skip
    assert run.returncode == 1
    found = results_of(tmp_path / "o.json")
    assert {name: (r["status"], r["points"], r["assignment"]) for name, r in found.items()} == {
        f"{DPO}.ipynb": ("graded", 10.0, DPO),
        "answers.py": ("graded", 0.0, DPO),
        "empty": ("failed", 0.0, ""),
    }
    assert found["empty"]["problems"] == ["empty: no notebook or Python file in this folder"]
    page = (tmp_path / "fb" / "ada" / DPO / f"{DPO}.html").read_text(encoding="utf-8")
    assert "10 / 10" in page
    assert_offline(page)


def test_wrong_usage_is_exit_code_2(tmp_path: Path) -> None:
    for arguments in (
        [],
        ["x.ipynb", "--assignment", "99_none"],
        ["x.ipynb", "--jobs", "0"],
        ["x.ipynb", "--isolation", "no"],
    ):
        run = run_grader("grade", *arguments)
        assert run.returncode == 2, arguments
        assert "Traceback" not in run.stderr
    run = run_grader("grade", "x.ipynb", "--assignment", "99_none")
    assert f"unknown assignment '99_none'; the course has {LESSON_NAMES}" in " ".join(run.stderr.split())


def test_files_that_cannot_be_written_are_said_in_one_line(tmp_path: Path) -> None:
    good = put(tmp_path / "good.py", sample.reference("implicit_reward"))
    run = grade_files(good, "--json", good / "below_a_file.json")
    assert run.returncode in (1, 2)
    assert "Traceback" not in run.stderr


def test_two_jobs_give_what_one_gives(tmp_path: Path) -> None:
    files = [put(tmp_path / f"{i}.py", sample.reference("implicit_reward")) for i in range(3)]
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    assert grade_files(*files, "--json", one).returncode == 0
    assert grade_files(*files, "--json", two, "--jobs", "2").returncode == 0
    keep = ("submission", "points", "exercises", "status")
    assert [[r[k] for k in keep] for r in results_of(one).values()] == [
        [r[k] for k in keep] for r in results_of(two).values()
    ]


ANSWER_FLAWS = [
    ("signature", "def implicit_reward(x):\n    return x\n", "the call raised TypeError"),
    (
        "raises",
        "def implicit_reward(p, r, b):\n    raise ValueError('mine')\n",
        "the call raised ValueError (cell 6, line 2)",
    ),
    ("type", "def implicit_reward(p, r, b):\n    return 'much'\n", "the result is str, not numbers"),
    ("none", "def implicit_reward(p, r, b):\n    print(b * (p - r))\n", "the result is None, not numbers"),
    ("generator", "def implicit_reward(p, r, b):\n    yield b * (p - r)\n", "the result is generator, not numbers"),
    ("number", "implicit_reward = 3.0\n", "not attempted"),
    ("exit", "def implicit_reward(p, r, b):\n    raise SystemExit\n", "the call raised SystemExit (cell 6, line 2)"),
]


@pytest.mark.dpo
@pytest.mark.parametrize(("name", "text", "said"), ANSWER_FLAWS, ids=[name for name, *_ in ANSWER_FLAWS])
def test_a_bad_answer_costs_itself_and_says_why(warm: Grader, tmp_path: Path, name: str, text: str, said: str) -> None:
    # the other answers do without it
    other = {
        "dpo_loss": sample.reference("implicit_reward").replace("def implicit_reward", "def reward")
        + sample.reference("dpo_loss").replace("implicit_reward", "reward"),
        "dpo_grad": sample.reference("dpo_grad").replace("implicit_reward", "reward"),
    }
    result = warm.grade(load(put(tmp_path / "n.ipynb", sample.answered(DPO, {"implicit_reward": text, **other}))))
    by_name = {e.name: e for e in result.exercises}
    assert (by_name["implicit_reward"].points, by_name["dpo_loss"].points, by_name["dpo_grad"].points) == (
        0.0,
        4.0,
        4.0,
    )
    assert by_name["implicit_reward"].groups[0].message.startswith(said)


@pytest.mark.dpo
def test_an_error_while_defining_names_file_cell_and_line(warm: Grader, tmp_path: Path) -> None:
    made = solved(DPO, dpo_loss="rate = 1 / 0\n\ndef dpo_loss(*a):\n    return 0.0\n")
    number = 1 + made["cells"].index(cell_of(made, "dpo_loss"))
    result = warm.grade(load(put(tmp_path / "n.ipynb", made)))
    assert result.problems == (f"cell {number}, line 1: ZeroDivisionError: division by zero in `rate = 1 / 0`",)
    assert {e.name: e.status for e in result.exercises}["dpo_loss"] == "not attempted"


def test_check_in_the_terminal(tmp_path: Path) -> None:
    good, blank = put(tmp_path / "good.ipynb", solved(DPO)), put(tmp_path / "blank.ipynb", released(DPO))
    run = run_grader("check", good, GRADER_PROGRESS=str(tmp_path / "p.json"))
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [
        f"✓ {name}: all {sum(bool(g.weight) for g in exercises()[name].groups)} checks pass" for name in functions(DPO)
    ]
    run = run_grader("check", blank, GRADER_PROGRESS=str(tmp_path / "p.json"))
    assert run.returncode == 1
    assert [line.split(".")[0] for line in run.stdout.splitlines()] == [
        f"{n}: not attempted yet" for n in functions(DPO)
    ]
    run = run_grader("check", tmp_path / "gone.ipynb")
    assert run.returncode == 1
    assert run.stderr.strip() == "Error: gone.ipynb: no such file; check the path"


# The worked examples -------------------------------------------------------------------------------------------------

EXAMPLES = json.loads((ROOT / "tests" / "data" / "worked_examples.json").read_text(encoding="utf-8"))["examples"]


def arguments(example: dict[str, Any]) -> dict[str, Any]:
    made = {}
    for name, value in zip(exercises()[example["function"]].signature, example["in"], strict=True):
        if not isinstance(value, list):
            made[name] = value
        elif example["as"] == "torch":
            made[name] = tensor(value, "bool" if name == "response_mask" else "float32")
        else:
            made[name] = np.array(value, dtype=np.float64)
    return made


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_reference_gives_the_worked_examples(warm: Grader, number: int) -> None:
    example = EXAMPLES[number]
    exercise = exercises()[example["function"]]
    code = reference_code(course_lesson(exercise.lesson))
    (outcome,) = warm.run(code, [Call(exercise.name, Case(arguments(example)))]).outcomes
    assert outcome.status == "returned"
    expected = dict(leaves(example["out"] if isinstance(example["out"], dict) else {"": example["out"]}))
    got = {path: as_array(value) for path, value in _leaves(outcome.result)}
    want = _flat(example["out"])
    assert got.keys() == want.keys(), expected
    for path, numbers in want.items():
        np.testing.assert_allclose(got[path], numbers, rtol=example["rtol"], atol=example["atol"])


def _leaves(result: Any) -> list[tuple[str, Any]]:
    if isinstance(result, dict):
        return list(result.items())
    return [(str(i), part) for i, part in enumerate(result)] if isinstance(result, tuple) else [("", result)]


def _flat(out: Any) -> dict[str, Any]:
    if isinstance(out, dict):
        return out
    pair = isinstance(out, list) and isinstance(out[0], list)
    return {str(i): part for i, part in enumerate(out)} if pair else {"": out}


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_worked_examples_are_public_examples(number: int) -> None:
    example = EXAMPLES[number]
    args = arguments(example)
    exercise = exercises()[example["function"]]
    found = [c for g in exercise.groups for c in g.examples if _same_args(c.args, args)]
    assert found
    for case in found:
        expected = dict(_leaves(case.expected))
        for path, numbers in _flat(example["out"]).items():
            np.testing.assert_allclose(as_array(expected[path]), numbers, rtol=1e-7, atol=1e-12)


def _same_args(a: Any, b: Any) -> bool:
    return all(np.array_equal(as_array(a[name]), as_array(b[name])) for name in b)  # type: ignore[arg-type]


# nbgrader ------------------------------------------------------------------------------------------------------------


class Course:
    """A temporary nbgrader course, worked through nbgrader's own API."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        demo.new_course(folder)
        self.api = demo.course_api(folder, "process")

    def submit(self, student: str, lesson: str, made: Notebook | str) -> None:
        """A student's notebook in nbgrader's submitted folder, replacing an earlier one."""
        path = self.folder / "submitted" / student / lesson / f"{lesson}.ipynb"
        shutil.rmtree(path.parent, ignore_errors=True)
        put(path, made)

    def autograde(self, student: str, lesson: str, force: bool = True) -> dict[str, Any]:
        with chdir(self.folder):
            answer: dict[str, Any] = self.api.autograde(lesson, student, force=force)
        return answer

    def marks(self, student: str, lesson: str, manual: bool = False) -> dict[str, float]:
        """What the gradebook has, by graded function. Nothing waits for a human, unless ``manual``."""
        with Gradebook(f"sqlite:///{self.folder}/gradebook.db") as gradebook:
            submission = gradebook.find_submission(lesson, student)
            grades = [g for notebook in submission.notebooks for g in notebook.grades]
            assert manual or not any(g.needs_manual_grade for g in grades)
            return {g.cell.name.removeprefix("check_"): g.score for g in grades}

    def grade(self, student: str, lesson: str, made: Notebook | str) -> dict[str, float]:
        self.submit(student, lesson, made)
        answer = self.autograde(student, lesson)
        assert answer["success"], answer["error"] or answer["log"]
        return self.marks(student, lesson)

    def autograded(self, student: str, lesson: str) -> Notebook:
        path = self.folder / "autograded" / student / lesson / f"{lesson}.ipynb"
        made: Notebook = json.loads(path.read_text(encoding="utf-8"))
        return made

    def feedback(self, student: str, lesson: str) -> str:
        with chdir(self.folder):
            answer = self.api.generate_feedback(lesson, student, force=True)
        assert answer["success"], answer["error"] or answer["log"]
        return (self.folder / "feedback" / student / lesson / f"{lesson}.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Course]:
    before = os.environ.get("GRADER_SECRET")
    os.environ["GRADER_SECRET"] = "test"
    made = Course(tmp_path_factory.mktemp("nbgrader"))
    with chdir(made.folder):
        for lesson in MARKS:
            answer = made.api.generate_assignment(lesson, force=True)
            assert answer["success"], answer["error"] or answer["log"]
    yield made
    if before is None:
        del os.environ["GRADER_SECRET"]
    else:
        os.environ["GRADER_SECRET"] = before


def assert_offline(page: str) -> None:
    """Nothing is loaded from anywhere: no script, style, image or font with an address."""
    assert not re.search(r"<(script|link|img|iframe)\b[^>]*(src|href)\s*=\s*[\"']?(https?:)?//", page)
    assert not re.search(r"url\(\s*[\"']?(https?:)?//|@import", page)
    assert "<script" not in page


@pytest.mark.parametrize("lesson", GRADED)
def test_nbgrader_blank_and_reference(course: Course, lesson: str) -> None:
    assert course.grade("blank", lesson, released(lesson)) == dict.fromkeys(functions(lesson), 0.0)
    full = {name: course_lesson(lesson).points(name) for name in functions(lesson)}
    assert course.grade("right", lesson, solved(lesson)) == full


@pytest.mark.parametrize("lesson", GRADED)
def test_nbgrader_partial_credit_is_the_reports(course: Course, warm: Grader, lesson: str) -> None:
    answers = {name: sample.wrong_answer(name, _partial(name)) for name in functions(lesson)}
    made = sample.answered(lesson, answers)
    reported = warm.grade(load(put(course.folder / "scratch" / f"{lesson}.ipynb", made)))
    given = course.grade("partial", lesson, made)
    assert given == pytest.approx({e.name: e.points for e in reported.exercises})
    page = course.feedback("partial", lesson)
    for exercise in reported.exercises:
        assert says(page, exercise.name, exercise.points, exercise.max_points)
        for group in exercise.groups:
            assert group.name in page
    assert_offline(page)


def says(page: str, name: str, points: float, max_points: float) -> bool:
    """Whether the page's text has the name and, beside it, the points."""
    text = " ".join(re.sub(r"<[^>]*>", " ", page).split())
    return bool(re.search(rf"{name}\W{{1,3}}{render.points_text(points)} / {render.points_text(max_points)}\b", text))


def _partial(name: str) -> str:
    """The first plain misconception of a function."""
    return next(m.id for m in hidden.misconceptions(name) if not m.parts)


@pytest.mark.dpo
def test_nothing_hidden_is_handed_out(course: Course) -> None:
    course.grade("wrong", DPO, sample.answered(DPO, {n: sample.wrong_answer(n, _partial(n)) for n in functions(DPO)}))
    course.feedback("wrong", DPO)
    comments = [line.strip() for line in (ROOT / "solutions" / f"{DPO}.py").read_text(encoding="utf-8").splitlines()
                if line.startswith("    # ")]  # fmt: skip
    texts = [*comments, "### BEGIN SOLUTION", "def plain_formula", "CASES: "]
    assert len(texts) > 4  # the references' own comments, which no learner has
    for folder in ("notebooks", "feedback"):
        files = [path for path in (course.folder / folder).rglob("*") if path.is_file()]
        assert files
        assert {path.suffix for path in files} <= {".ipynb", ".html"}  # no percent file, no case file
        for path in files:
            text = path.read_text(encoding="utf-8")
            assert not [t for t in texts if t in text], path
            assert "GRADER_SECRET" not in text
    drawn = _hidden_numbers(DPO)
    page = (course.folder / "feedback" / "wrong" / DPO / f"{DPO}.html").read_text(encoding="utf-8")
    assert drawn
    assert not [number for number in drawn if number in page]


def _hidden_numbers(lesson: str) -> set[str]:
    """Long decimals of hidden arguments, as they would be printed."""
    found = set()
    for name in functions(lesson):
        for cases in hidden.hidden_cases(exercises()[name], "test").values():
            for case in cases:
                for value in case.args.values():
                    numbers = as_array(value)
                    assert numbers is not None
                    found |= {repr(float(x)) for x in np.ravel(numbers)[:50] if len(repr(float(x))) > 9}
    return found


@pytest.mark.parametrize("lesson", GRADED)
def test_nbgrader_files_what_editors_broke(course: Course, lesson: str) -> None:
    full = {name: course_lesson(lesson).points(name) for name in functions(lesson)}
    twice = solved(lesson)
    twice["cells"] = [json.loads(json.dumps(cell)) for cell in twice["cells"] for _ in (0, 1)]
    assert course.grade("twice", lesson, twice) == full
    bare = solved(lesson)
    bare["metadata"], bare["nbformat_minor"] = {}, 4
    for cell in bare["cells"]:
        cell["metadata"] = {}
        cell.pop("id", None)
    assert course.grade("bare", lesson, bare) == full
    gone = solved(lesson)
    gone["cells"] = [cell for cell in gone["cells"] if not grade_id(cell).startswith("check_")]
    assert course.grade("gone", lesson, gone) == full  # the answer is there: graded, though its check is gone
    course.feedback("gone", lesson)


@pytest.mark.parametrize("lesson", GRADED)
def test_a_resubmission_never_keeps_old_marks(course: Course, lesson: str) -> None:
    none = dict.fromkeys(functions(lesson), 0.0)
    assert sum(course.grade("again", lesson, solved(lesson)).values()) == 10.0
    emptied = solved(lesson)
    emptied["cells"] = [
        cell for cell in emptied["cells"]
        if grade_id(cell) not in functions(lesson) and not grade_id(cell).startswith("check_")
    ]  # fmt: skip
    assert course.grade("again", lesson, emptied) == none
    assert sum(course.grade("again", lesson, solved(lesson)).values()) == 10.0
    assert course.grade("again", lesson, {**solved(lesson), "cells": []}) == none


@pytest.mark.dpo
def test_stale_outputs_are_cleared(course: Course) -> None:
    made = solved(DPO)
    for cell in made["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [
                {"output_type": "error", "ename": "Stale", "evalue": "", "traceback": ["STALE"]},
                {"output_type": "stream", "name": "stderr", "text": ["STALE"]},
                {"output_type": "execute_result", "data": {"text/plain": "999"}, "metadata": {}, "execution_count": 1},
            ]
    assert sum(course.grade("stale", DPO, made).values()) == 10.0
    text = json.dumps(course.autograded("stale", DPO))
    assert "STALE" not in text
    assert "999" not in re.findall(r'"text/plain": \[?"(.*?)"', text)
    blank = released(DPO)
    for cell in blank["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [
                {"output_type": "execute_result", "data": {"text/plain": "4.0"}, "metadata": {}, "execution_count": 1}
            ]
    assert sum(course.grade("forged", DPO, blank).values()) == 0.0


@pytest.mark.dpo
def test_points_are_written_where_nbgrader_reads_them(course: Course) -> None:
    course.grade("read", DPO, solved(DPO))
    for name in functions(DPO):
        cell = cell_of(course.autograded("read", DPO), f"check_{name}")
        kinds = [output["output_type"] for output in cell["outputs"]]
        assert kinds == ["display_data", "execute_result"]
        points = float("".join(cell["outputs"][1]["data"]["text/plain"]))
        assert points == course_lesson(DPO).points(name)
        assert "text/html" in cell["outputs"][0]["data"]


@pytest.mark.dpo
def test_edited_points_and_foreign_graded_cells_give_nothing(course: Course) -> None:
    made = released(DPO)
    cell_of(made, "check_dpo_loss")["metadata"]["nbgrader"]["points"] = 1000
    meta = {"grade": True, "solution": False, "locked": False, "grade_id": "bonus", "points": 50, "schema_version": 3,
            "cell_type": "code", "task": False}  # fmt: skip
    made["cells"].append(code("50", nbgrader=meta))
    assert course.grade("greedy", DPO, made) == dict.fromkeys(functions(DPO), 0.0)


@pytest.mark.dpo
@pytest.mark.parametrize("made", ["{", "", '{"cells": 3}', "[]"], ids=["cut", "empty", "no cells", "list"])
def test_a_broken_notebook_fails_alone(course: Course, made: str) -> None:
    course.submit("hopeless", DPO, made)
    course.submit("fine", DPO, solved(DPO))
    assert not course.autograde("hopeless", DPO)["success"]
    assert course.autograde("fine", DPO)["success"]
    assert sum(course.marks("fine", DPO).values()) == 10.0


@pytest.mark.dpo
def test_marks_and_comments_of_a_human_stay(course: Course) -> None:
    course.grade("human", DPO, released(DPO))
    with Gradebook(f"sqlite:///{course.folder}/gradebook.db") as gradebook:
        (notebook,) = gradebook.find_submission(DPO, "human").notebooks
        for grade in notebook.grades:
            if grade.cell.name == "check_dpo_loss":
                grade.manual_score = 3.0
        for comment in notebook.comments:
            if comment.name == "dpo_loss":
                comment.manual_comment = "Talked it over <b>in person</b>."
        gradebook.db.commit()
    assert course.autograde("human", DPO)["success"]
    assert course.marks("human", DPO, manual=True) == {"implicit_reward": 0.0, "dpo_loss": 3.0, "dpo_grad": 0.0}
    page = course.feedback("human", DPO)
    assert says(page, "dpo_loss", 3, 4)
    assert "Talked it over &lt;b&gt;in person&lt;/b&gt;." in page


@pytest.mark.dpo
def test_a_learners_text_is_escaped_in_feedback(course: Course) -> None:
    evil = "<script>alert(1)</script>"
    made = solved(DPO, implicit_reward=f"# {evil}\nraise ValueError('{evil}')\n")
    made["cells"].insert(0, {"cell_type": "markdown", "metadata": {}, "source": evil, "id": "evil"})
    course.grade("evil", DPO, made)
    page = course.feedback("evil", DPO)
    assert "<script" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.slow
@pytest.mark.dpo
def test_nbgraders_own_commands(tmp_path: Path) -> None:
    """generate_assignment, zip_collect, autograde, generate_feedback, export, validate: as an instructor types them."""
    demo.new_course(tmp_path)

    def nbgrader(*arguments: str) -> str:
        environment = {**os.environ, "GRADER_SECRET": "test"}
        run = subprocess.run([str(BIN / "nbgrader"), *arguments], cwd=tmp_path, capture_output=True, text=True,
                             timeout=300, env=environment)  # fmt: skip
        assert run.returncode == 0, run.stdout + run.stderr
        return run.stdout + run.stderr

    nbgrader("generate_assignment", DPO)
    archive = tmp_path / "downloaded" / DPO / "archive"
    archive.mkdir(parents=True)
    with zipfile.ZipFile(archive / "class.zip", "w") as packed:
        packed.writestr(f"ada_attempt_2026-01-01-10-00-00_{DPO}.ipynb", json.dumps(solved(DPO)))
        packed.writestr(f"bob_attempt_2026-01-01-10-00-00_{DPO}.ipynb", json.dumps(released(DPO)))
    pattern = r".*/(?P<student_id>\w+)_attempt_(?P<timestamp>[0-9\-]+)_(?P<file_id>\w+)"
    nbgrader("zip_collect", DPO, f"--FileNameCollectorPlugin.named_regexp={pattern}")
    nbgrader("autograde", DPO, "--Grade.isolation=process")
    nbgrader("generate_feedback", DPO)
    nbgrader("export", "--to=grades.csv")
    with (tmp_path / "grades.csv").open(encoding="utf-8") as file:
        rows = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert rows == {"ada": 10.0, "bob": 0.0}
    for student in rows:
        assert_offline((tmp_path / "feedback" / student / DPO / f"{DPO}.html").read_text(encoding="utf-8"))
    good = put(tmp_path / "good" / f"{DPO}.ipynb", _light(solved(DPO)))
    blank = put(tmp_path / "blank" / f"{DPO}.ipynb", _light(released(DPO)))
    assert "Success! Your notebook passes all the tests." in nbgrader("validate", str(good))
    said = nbgrader("validate", str(blank))
    assert "VALIDATION FAILED ON 3 CELL(S)" in said
    assert "not attempted yet" in said


def _light(made: Notebook) -> Notebook:
    """Without figures and demonstrations, which have their own test and take their time."""
    cells = [cell for cell in made["cells"] if not grade_id(cell).startswith(("figure_", "demo_", "practice_"))]
    return {**made, "cells": [cell for cell in cells if cell["cell_type"] == "code"]}


def test_light_keeps_what_is_graded() -> None:
    kept = {grade_id(cell) for cell in _light(released(DPO))["cells"]}
    assert kept == {"setup"} | {n for f in functions(DPO) for n in (f, f"check_{f}")}
    assert source(cell_of(released(DPO), "setup"))
    assert references(DPO).keys() == set(functions(DPO))
    assert sys.executable
