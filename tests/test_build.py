"""notebooks/ is what solutions/ gives, byte for byte, at every build."""

from __future__ import annotations

import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from support import GRADED, LESSONS, ROOT, functions, grade_id, released, source

import grader.lessons
from grader import build, hidden, lessoncheck, macros
from grader.build import BuildError, build_notebooks, source_notebook
from grader.cli import main
from grader.course import CourseError, exercises
from grader.macros import lesson_files

HEADER = (ROOT / "solutions" / "03_stable_dpo.py").read_text(encoding="utf-8").split("\n# %%", 1)[0].rstrip()
SETUP = ('\n\n# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, '  # noqa: E501
         '"task": false}\nx = 1\n')  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All lessons, built aside."""
    folder = tmp_path_factory.mktemp("built")
    build_notebooks(ROOT, folder / "notebooks", folder / "source")
    return folder


@pytest.mark.parametrize("name", LESSONS)
def test_notebooks_are_up_to_date(built: Path, name: str) -> None:
    path = Path(name) / f"{name}.ipynb"
    assert (built / "notebooks" / path).read_bytes() == (ROOT / "notebooks" / path).read_bytes(), "run `grader build`"


def test_a_second_build_gives_the_same_bytes(built: Path, tmp_path: Path) -> None:
    build_notebooks(ROOT, tmp_path / "notebooks", tmp_path / "source")
    for path in built.rglob("*.ipynb"):
        assert (tmp_path / path.relative_to(built)).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", LESSONS)
def test_released_notebooks_hold_no_solution(built: Path, name: str) -> None:
    text = (built / "notebooks" / name / f"{name}.ipynb").read_text(encoding="utf-8")
    assert "### BEGIN" not in text
    assert "### END" not in text
    assert [p.name for p in (built / "notebooks" / name).iterdir()] == [f"{name}.ipynb"]


@pytest.mark.parametrize("name", GRADED)
def test_stubs_and_graded_cells(name: str) -> None:
    cells = {grade_id(cell): cell for cell in released(name)["cells"] if grade_id(cell)}
    for function in functions(name):
        stub, check = cells[function], cells[f"check_{function}"]
        assert "raise NotImplementedError(" in source(stub)
        assert '"""' in source(stub)  # the contract
        assert source(check) == f"check({function})"
        meta = check["metadata"]["nbgrader"]
        assert (meta["grade"], meta["locked"], meta["solution"]) == (True, True, False)
        assert check["metadata"]["tags"] == ["raises-exception"]


@pytest.mark.parametrize("name", LESSONS)
def test_ids_are_stable_and_unique(name: str) -> None:
    made = released(name)
    ids = [cell["id"] for cell in made["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in made["cells"]:
        assert cell["id"] == grade_id(cell) or re.fullmatch("[0-9a-f]{12}", cell["id"])
        assert "lines_to_next_cell" not in cell["metadata"]
    assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)


def plant(folder: Path) -> Path:
    """A course of its own with one small lesson, and no exercise."""
    (folder / "solutions").mkdir()
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    path = folder / "solutions" / "09_small.py"
    path.write_text(f"{HEADER}\n\n# %% [markdown]\n# # A title{SETUP}", encoding="utf-8")
    return path


def no_exercises(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted course has no exercise: nothing of the real one's is looked at. They have their own tests below."""
    monkeypatch.setattr(build, "fingerprint_texts", dict)
    monkeypatch.setattr(build, "check_modules", lambda root: None)
    monkeypatch.setattr(build, "check_hidden", lambda: None)


def test_a_planted_difference_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_exercises(monkeypatch)
    plant(tmp_path)
    build_notebooks(tmp_path, tmp_path / "notebooks")
    assert build.stale(tmp_path) == []
    path = tmp_path / "notebooks" / "09_small" / "09_small.ipynb"
    path.write_bytes(path.read_bytes().replace(b"x = 1", b"x = 2"))
    assert build.stale(tmp_path) == ["notebooks/09_small/09_small.ipynb"]
    path.unlink()
    assert build.stale(tmp_path) == ["notebooks/09_small/09_small.ipynb"]
    build_notebooks(tmp_path, tmp_path / "notebooks")
    extra = tmp_path / "notebooks" / "08_gone" / "08_gone.ipynb"
    extra.parent.mkdir()
    extra.write_text("{}")
    assert build.stale(tmp_path) == ["notebooks/08_gone/08_gone.ipynb"]


def test_build_says_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_exercises(monkeypatch)
    monkeypatch.setattr(build, "fingerprint_texts", lambda: {"foo": "{}"})
    monkeypatch.setattr(build.fingerprints, "FOLDER", tmp_path / "fingerprints")
    small = plant(tmp_path)
    made = tmp_path / "notebooks" / "09_small" / "09_small.ipynb"
    assert build.build(tmp_path) == build.Built([made], 0, [tmp_path / "fingerprints" / "foo.json"])
    other = small.with_name("08_other.py")
    other.write_text(small.read_text(encoding="utf-8"), encoding="utf-8")
    assert build.build(tmp_path) == build.Built([tmp_path / "notebooks" / "08_other" / "08_other.ipynb"], 1, [])
    assert build.build(tmp_path) == build.Built([], 2, [])


@pytest.mark.parametrize(
    ("built", "lines"),
    [
        (
            build.Built([ROOT / "a.ipynb"], 5, [ROOT / "b.json"]),
            ["built a.ipynb", "5 others unchanged", "wrote b.json"],
        ),
        (build.Built([], 6, []), ["6 notebooks unchanged"]),
    ],
)
def test_the_command_prints_what_changed(monkeypatch: pytest.MonkeyPatch, built: build.Built, lines: list[str]) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(build, "build", lambda: built)
    assert CliRunner().invoke(main, ["build"]).output.splitlines() == lines


def test_the_command_says_an_error_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise BuildError("05_x.py, cell 5, line 88 (check_foo): off")

    monkeypatch.setattr(build, "build", fail)
    assert CliRunner().invoke(main, ["build"]).output == "Error: 05_x.py, cell 5, line 88 (check_foo): off\n"


def mistaken(folder: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> str:
    """What building says of a lesson on `foo_loss` in which ``old`` is replaced by ``new``; empty when nothing."""
    text = SMALL.replace(old, new, 1)
    assert old == "" or text != SMALL
    path = folder / "05_x.py"
    path.write_text(text, encoding="utf-8")
    exercise = replace(exercises()["dpo_loss"], name="foo_loss", lesson="05_x")
    known = {**exercises(), "foo_loss": exercise}
    monkeypatch.setattr(lessoncheck, "exercises", lambda: known)
    monkeypatch.setattr(macros, "exercises", lambda: known)
    try:
        source_notebook(path, {"05_x": "X"})
    except BuildError as error:
        return str(error)
    return ""


def marker(name: str, role: str, more: str = "") -> str:
    """The marker line of a code cell; ``role``: which of grade, locked and solution are true, as letters."""
    flags = {key: str(key[0] in role).lower() for key in ("grade", "locked", "solution")}
    return (
        f'# %% nbgrader={{"grade": {flags["grade"]}, "grade_id": "{name}", "locked": {flags["locked"]}, {more}'
        f'"schema_version": 3, "solution": {flags["solution"]}, "task": false}}'
    )


CHECK = marker("check_foo_loss", "gl", '"points": 4, ') + ' tags=["raises-exception"]\ncheck(foo_loss)'
ANSWER = f"""{marker("foo_loss", "s")}
def foo_loss(x):
    ### BEGIN SOLUTION
    return x
    ### END SOLUTION"""
FIGURE = f"""{marker("figure_foo", "l")}
@picture(alt="A line.", needs=[foo_loss])
def draw():
    return foo_loss(1)"""
TEXT = '# %% [markdown]\n# # X\n# << points("foo_loss") >>'
SMALL = "\n\n".join([HEADER, TEXT, marker("setup", "l") + "\nx = 1", ANSWER, CHECK, FIGURE]) + "\n"


@pytest.mark.parametrize(
    ("old", "new", "cell", "at", "said"),
    [
        ("", "", 0, "", ""),
        (marker("setup", "l"), "# %%", 2, "# %%\nx", ": a code cell without nbgrader metadata; give it a grade_id"),
        (TEXT, TEXT.replace("foo_loss", "foo_los"), 1, TEXT[:12],
         ": macro in a markdown cell: no exercise 'foo_los'; did you mean foo_loss?"),
        ('"points": 4, ', "", 4, '# %% nbgrader={"grade": true',
         ' (check_foo_loss): no "points"; say how many points foo_loss is worth'),
        ('"points": 4, ', '"points": "4", ', 4, '# %% nbgrader={"grade": true',
         " (check_foo_loss): \"points\" is '4'; write a number, without quotes"),
        (' tags=["raises-exception"]', "", 4, '# %% nbgrader={"grade": true',
         ' (check_foo_loss): no tag raises-exception; end the marker line with tags=["raises-exception"]'),
        ('"grade": true', '"grade": false', 4, "# %% nbgrader={\"grade\": false, \"grade_id\": \"check",
         ' (check_foo_loss): "grade" must be true here; see the table of cells in docs/extending.md'),
        ("    ### END SOLUTION\n", "", 3, "    ### BEGIN",
         " (foo_loss): ### BEGIN SOLUTION without ### END SOLUTION; put it below the reference"),
        ("    ### END SOLUTION", "    ### BEGIN SOLUTION", 3, "    ### BEGIN SOLUTION\n\n",
         " (foo_loss): a second ### BEGIN SOLUTION before the ### END SOLUTION of the first"),
        ("    ### BEGIN SOLUTION\n", "", 3, "    ### END",
         " (foo_loss): ### END SOLUTION without ### BEGIN SOLUTION; put it above the reference"),
        ("    ### BEGIN SOLUTION\n    return x\n    ### END SOLUTION", "    return x", 3, marker("foo_loss", "s"),
         " (foo_loss): no solution is marked; put ### BEGIN SOLUTION and ### END SOLUTION around the reference"),
        ("x = 1", "### BEGIN SOLUTION\n### END SOLUTION", 2, marker("setup", "l"),
         " (setup): a solution in a cell that learners do not write; move it into the answer cell"),
        ('"grade_id": "foo_loss"', '"grade_id": "foo_los"', 3, marker("foo_los", "s"),
         " (foo_los): solution cell 'foo_los' is no exercise of this lesson (foo_loss); name it foo_loss, or "
         "practice_… if it is not graded"),
        ('"grade_id": "foo_loss"', '"grade_id": "practice_foo"', 0, "",
         ": foo_loss has no answer cell (grade_id foo_loss)"),
        ("check_foo_loss", "check_foo_los", 4, '# %% nbgrader={"grade": true',
         " (check_foo_los): check cell 'check_foo_los' is no exercise of this lesson (foo_loss); "
         "name it check_foo_loss"),
        (f"{CHECK}\n\n", "", 0, "", ": foo_loss has no check cell (grade_id check_foo_loss)"),
        (CHECK, CHECK + "\n\n" + ANSWER.replace("foo_loss", "bar"), 5, marker("bar", "s"),
         " (bar): no module in grader/lessons has an exercise bar in its EXERCISES; add it there, or name the cell "
         "practice_… if it is not graded"),
        (CHECK, CHECK + "\n\n" + ANSWER.replace("foo_loss", "spo_loss"), 5, marker("spo_loss", "s"),
         " (spo_loss): spo_loss is an exercise of 02_spo_regression, not of this lesson"),
        ("figure_foo", "setup", 5, marker("setup", "l"),
         " (setup): cell 2 has this grade_id already; rename one of them"),
        ("figure_foo", "cell-1", 5, marker("cell-1", "l"),
         " (cell-1): no such kind of cell; name it demo_… or figure_… (read-only), practice_… or as its function"),
        ('"grade_id": "setup"', '"grade_id": "demo_setup"', 2, marker("demo_setup", "l"),
         ' (demo_setup): the first code cell must be the setup cell; put one with "grade_id": "setup" above it'),
        ("def draw():\n    return foo_loss(1)", "def draw():\n    return 1\n\n\nprint(foo_loss(2))", 5,
         "print(foo_loss(2))",
         " (figure_foo): foo_loss is called outside a picture, and stops the notebook of whoever has not written it; "
         "draw in a function below @picture(alt=…, needs=[foo_loss])"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, cell: int, at: str, said: str
) -> None:
    text = SMALL.replace(old, new, 1)
    place = f", cell {cell}, line {text[: text.rindex(at)].count(chr(10)) + 1}" if cell else ""
    assert mistaken(tmp_path, monkeypatch, old, new) == (f"05_x.py{place}{said}" if said else "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("LESSON = '05_typo'\nEXERCISES = ()\n", ": LESSON = '05_typo', but there is no solutions/05_typo.py"),
        ("EXERCISES = ()\n", ': no LESSON; write the lesson\'s name, as in LESSON = "05_my_lesson"'),
        (
            "LESSON = '00_setup'\nEXERCISES = 1\n",
            ": EXERCISES is no tuple; with one exercise, write EXERCISES = (NAME,)",
        ),
        ("x = 1\nx = (\n", ", line 2: '(' was never closed"),
        ("x = 1\n\ny = z\n", ", line 3: NameError: name 'z' is not defined"),
    ],
)
def test_a_module_with_a_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str) -> None:
    folder = tmp_path / "grader" / "lessons"
    folder.mkdir(parents=True)
    (folder / "planted.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(grader.lessons, "__path__", [str(folder)])
    monkeypatch.delitem(sys.modules, "grader.lessons.planted", raising=False)
    with pytest.raises(BuildError) as error:
        lessoncheck.check_modules(ROOT)
    assert str(error.value) == f"grader/lessons/planted.py{said}"
    sys.modules.pop("grader.lessons.planted", None)


def test_wrong_versions_that_are_not_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hidden, "ROOT", tmp_path / "grader" / "hidden")
    monkeypatch.setattr(build, "exercises", lambda: {"foo": None})
    with pytest.raises(CourseError, match=r"^grader/hidden/foo/wrong\.py is missing; docs/extending\.md shows"):
        build.check_hidden()
    path = tmp_path / "grader" / "hidden" / "foo" / "wrong.py"
    path.parent.mkdir(parents=True)
    path.write_text("x = 1\nx = (\n", encoding="utf-8")
    with pytest.raises(CourseError, match=r"^grader/hidden/foo/wrong\.py, line 2: '\(' was never closed$"):
        build.check_hidden()


def test_the_course_itself_has_no_mistake() -> None:
    lessoncheck.check_modules(ROOT)
    build.check_hidden()


@pytest.mark.slow
def test_fingerprints_are_up_to_date() -> None:
    for name, text in build.fingerprint_texts().items():
        path = build.fingerprints.FOLDER / f"{name}.json"
        assert build._alike(json.loads(text), json.loads(path.read_text(encoding="utf-8"))), (
            f"{name}: run `grader build`"
        )


@pytest.mark.parametrize(
    ("a", "b", "alike"),
    [
        ({"x": 1.0}, {"x": 1.0 + 1e-9}, True),  # another processor rounds differently
        ({"x": 1.0}, {"x": 1.1}, False),
        ([1.0], [1.0, 2.0], False),
        ({"x": 1}, {"y": 1}, False),
        ("a", "a", True),
    ],
)
def test_fingerprints_are_compared_as_numbers(a: object, b: object, alike: bool) -> None:
    assert build._alike(a, b) is alike


def test_percent_files_end_as_files_do() -> None:
    for path in lesson_files(ROOT):
        text = path.read_text(encoding="utf-8")
        assert text.endswith("\n")
        assert "\r" not in text
        assert text.startswith("# ---\n# jupyter:\n")
