"""notebooks/ is what solutions/ gives, byte for byte, at every build."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from support import GRADED, LESSONS, ROOT, functions, grade_id, released, source

from grader import build
from grader.build import BuildError, build_notebooks, source_notebook
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
    """A course of its own with one small lesson."""
    (folder / "solutions").mkdir()
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    path = folder / "solutions" / "03_stable_dpo.py"
    path.write_text(f"{HEADER}\n\n# %% [markdown]\n# # A title{SETUP}", encoding="utf-8")
    return path


def test_a_planted_difference_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "fingerprint_texts", dict)  # they have their own test below
    plant(tmp_path)
    build_notebooks(tmp_path, tmp_path / "notebooks")
    assert build.stale(tmp_path) == []
    path = tmp_path / "notebooks" / "03_stable_dpo" / "03_stable_dpo.ipynb"
    path.write_bytes(path.read_bytes().replace(b"x = 1", b"x = 2"))
    assert build.stale(tmp_path) == ["notebooks/03_stable_dpo/03_stable_dpo.ipynb"]
    path.unlink()
    assert build.stale(tmp_path) == ["notebooks/03_stable_dpo/03_stable_dpo.ipynb"]
    build_notebooks(tmp_path, tmp_path / "notebooks")
    extra = tmp_path / "notebooks" / "09_gone" / "09_gone.ipynb"
    extra.parent.mkdir()
    extra.write_text("{}")
    assert build.stale(tmp_path) == ["notebooks/09_gone/09_gone.ipynb"]


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("# %%\ny = 2\n", "03_stable_dpo.py, cell 3: a code cell without nbgrader metadata; give it a grade_id"),
        ('# %% [markdown]\n# << points("nothing") >>\n', "03_stable_dpo.py, cell 3: macro in a markdown cell: "),
    ],
    ids=["no grade_id", "unknown macro"],
)
def test_an_error_names_file_and_cell(tmp_path: Path, cell: str, said: str) -> None:
    path = plant(tmp_path)
    path.write_text(path.read_text(encoding="utf-8") + "\n" + cell, encoding="utf-8")
    with pytest.raises(BuildError) as error:
        source_notebook(path, {})
    assert str(error.value).startswith(said)


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
