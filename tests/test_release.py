"""The learners' archive: what is in it, what is not, and that it works where there is no repository."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import site
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import functions, released, solved

from grader import bundle, hidden, sample
from grader.course import ROOT, exercises, graded_lessons, solution_source

SECRET = "a-secret-that-nobody-would-write-by-chance"
SHORTEST = 24  # characters, spaces left out, from which on a body of code is somebody's and not everybody's


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    os.environ["GRADER_SECRET"] = SECRET
    try:
        return bundle.bundle_files()
    finally:
        del os.environ["GRADER_SECRET"]


def every_file(files: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Each file of the archive and of every archive in it, to the bottom."""
    for name, data in files.items():
        if zipfile.is_zipfile(io.BytesIO(data)):
            with zipfile.ZipFile(io.BytesIO(data)) as inner:
                yield from every_file({f"{name}/{n}": inner.read(n) for n in inner.namelist()})
        else:
            yield name, data


def text_of(name: str, data: bytes) -> str:
    """What a person could read in a file: of a notebook, the text of its cells."""
    text = data.decode("utf-8")
    if name.endswith(".ipynb"):
        return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return text


def squeezed(text: str) -> str:
    """The text without white space and comments."""
    return re.sub(r"\s+", "", re.sub(r"#.*", "", text))


def bodies(source: str) -> Iterator[tuple[str, str]]:
    """(name, statements without docstring and space) of each top-level function in ``source``."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            kept = node.body[1:] if ast.get_docstring(node) is not None else node.body
            yield node.name, squeezed("\n".join(ast.get_source_segment(source, statement) or "" for statement in kept))


def test_nothing_hidden_is_in_any_level_of_the_archive(files: dict[str, bytes]) -> None:
    """No solution, misconception, sound variant or hidden case: neither by file name nor as text."""
    readable = {name: squeezed(text_of(name, data)) for name, data in every_file(files)}
    assert len(readable) > 40
    forbidden = [(f"solution of {name}", body) for name in exercises() for _, body in bodies(sample.reference(name))]
    for name in exercises():
        for which in ("wrong", "sound"):
            source = hidden.source_path(name, which).read_text(encoding="utf-8")
            forbidden += [(f"{which} {name}.{own}", body) for own, body in bodies(source) if own != "plain_formula"]
        cases = hidden.source_path(name, "cases").read_text(encoding="utf-8")
        forbidden += [(f"cases of {name}.{own}", body) for own, body in bodies(cases)]
    found = [
        f"{what} in {name}"
        for what, body in forbidden
        for name, text in readable.items()
        if len(body) >= SHORTEST and body in text
    ]
    assert not found
    for name in readable:
        parts = set(re.split(r"[/.]", name))
        assert not parts & {"hidden", "solutions", "wrong", "sound", "cases", "gradebook", "verify", "secret"}, name
    for name, data in every_file(files):
        assert b"### BEGIN SOLUTION" not in data, name
        assert SECRET.encode() not in data, name


def test_a_leak_would_be_seen(files: dict[str, bytes]) -> None:
    """The search above finds a solution that somebody puts back into a notebook."""
    body = dict(bodies(sample.reference("dpo_grad")))["dpo_grad"]
    made = json.dumps(solved("03_stable_dpo")).encode()
    assert len(body) >= SHORTEST
    assert body in squeezed(text_of("x.ipynb", made))
    assert body not in squeezed(text_of("x.ipynb", files["notebooks/03_stable_dpo/03_stable_dpo.ipynb"]))


def test_the_wheel_imports_nothing_that_it_does_not_hold(files: dict[str, bytes]) -> None:
    """Every ``import grader…`` of every module in it, also inside functions, names a module in it."""
    inside = dict(bundle.public_files())
    modules = {n.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for n in inside if n.endswith(".py")}
    for name, data in inside.items():
        if not name.endswith(".py"):
            continue
        for node in ast.walk(ast.parse(data)):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "grader":
                wanted = {node.module, *(f"{node.module}.{a.name}" for a in node.names)}
                allowed = node.module in modules and all(
                    f"{node.module}.{a.name}" in modules
                    or not (ROOT / f"{node.module}.{a.name}".replace(".", "/")).with_suffix(".py").exists()
                    for a in node.names
                )
                typing_only = node.col_offset and wanted & {"grader.report", "grader.report.SubmissionResult"}
                assert allowed or typing_only, f"{name} imports {sorted(wanted)}"


def test_same_course_same_bytes() -> None:
    """Two builds of the wheel, and of an archive, agree in every byte."""
    assert bundle.wheel_file() == bundle.wheel_file()
    assert bundle.archive({"b": b"2", "a": b"1"}) == bundle.archive({"a": b"1", "b": b"2"})


LEARNER = """
import json, sys
from pathlib import Path
from IPython.core.interactiveshell import InteractiveShell
import grader
assert Path(grader.__file__).is_relative_to(sys.prefix), grader.__file__
for hidden in ("hidden", "grading", "secret", "sample"):
    try:
        __import__("grader." + hidden)
    except ImportError:
        continue
    raise AssertionError(hidden)
shell = InteractiveShell.instance()
for cell in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        done = shell.run_cell("".join(cell["source"]))
        error = done.error_before_exec or done.error_in_exec
        if error:
            print("RAISED", type(error).__name__, error)
shell.run_cell("hint(%r)" % sys.argv[2])
shell.run_cell("progress()")
"""


@pytest.fixture(scope="module")
def learner(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> Path:
    """The unpacked archive in a folder of its own, its wheel installed in a fresh environment without a network."""
    home = tmp_path_factory.mktemp("learner")
    with zipfile.ZipFile(io.BytesIO(bundle.archive(files))) as packed:
        packed.extractall(home)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home / ".venv"], check=True)
    python = home / ".venv" / "bin" / "python"
    wheel = next(home.glob("*.whl"))
    where = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    # The packages the wheel needs come from here; a path in a .pth file does not bring this environment's own grader.
    Path(where, "packages.pth").write_text("\n".join(site.getsitepackages()) + "\n", encoding="utf-8")
    install = [python, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", "--quiet", wheel]
    done = subprocess.run(install, cwd=home, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return home


def run_notebook(home: Path, lesson: str, made: dict[str, object], function: str) -> str:
    """What the cells of a notebook print in the learner's environment, then ``hint`` and ``progress``."""
    path = home / "notebooks" / lesson / f"{lesson}.ipynb"
    path.write_text(json.dumps(made), encoding="utf-8")
    variables = {"PATH": os.environ["PATH"], "HOME": str(home), "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [home / ".venv" / "bin" / "python", "-I", "-c", LEARNER, path.name, function],
        cwd=path.parent, env=variables, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)


@pytest.mark.slow
def test_check_hint_and_progress_work_without_a_repository(learner: Path) -> None:
    """Blank: nothing but "not attempted". With a mistake: its hint. Solved: all checks pass, and lesson 4 borrows."""
    blank = run_notebook(learner, "03_stable_dpo", released("03_stable_dpo"), "dpo_loss")
    raised = {line.split()[1] for line in blank.splitlines() if line.startswith("RAISED")}
    assert raised == {"CheckFailed"}
    assert blank.count("RAISED CheckFailed") == len(functions("03_stable_dpo"))
    assert f"Hint 1 of 3 for dpo_loss: {exercises()['dpo_loss'].hints[0]}" in blank

    mistake = hidden.misconceptions("dpo_grad")[0]
    wrong = solved("03_stable_dpo", dpo_grad=sample.wrong_answer("dpo_grad", mistake.id))
    said = run_notebook(learner, "03_stable_dpo", wrong, "dpo_grad")
    assert mistake.hints[0] in said
    assert "✓ dpo_loss: all" in said
    assert re.search(r"dpo_loss\s+█{20}\s+100%", said)

    assert "RAISED" not in run_notebook(learner, "03_stable_dpo", solved("03_stable_dpo"), "dpo_loss")
    assert "RAISED" not in run_notebook(
        learner, "04_reward_kl_frontier", solved("04_reward_kl_frontier"), "optimal_policy"
    )


@pytest.mark.slow
def test_setup_lesson_finds_everything(learner: Path) -> None:
    """Lesson 0 tries what the course needs; in the learner's environment every line of it is good."""
    said = run_notebook(learner, "00_setup", released("00_setup"), "dpo_loss")
    first = said.partition("RAISED")[0]
    assert "✓" in first
    assert "✗ " not in first.partition("grader")[0]


def test_solution_notebooks_hold_the_references() -> None:
    """Each graded cell's answer is there, markers and nbgrader's metadata are not, macros are expanded."""
    made = bundle.solution_notebooks()
    assert set(made) >= set(graded_lessons())
    for lesson in graded_lessons():
        text = solution_source(lesson).read_text(encoding="utf-8")
        cells = json.loads(made[lesson])["cells"]
        everything = squeezed("\n".join("".join(cell["source"]) for cell in cells))
        for name in functions(lesson):
            assert dict(bodies(sample.reference(name)))[name] in everything
        assert "### BEGIN SOLUTION" in text
        assert "### BEGIN SOLUTION" not in made[lesson]
        assert "<< points" not in made[lesson]
        assert not any("nbgrader" in cell["metadata"] for cell in cells)


def test_open_todos_stop_a_release(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("grader.scaffold.todos", lambda root: ["solutions/05_x.py:16: say it"])
    with pytest.raises(bundle.ReleaseError, match=r"1 TODOs are open, the first at solutions/05_x\.py:16"):
        bundle.write_bundle(tmp_path / "course.zip")
    assert not list(tmp_path.iterdir())
