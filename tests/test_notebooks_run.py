"""Every notebook runs to its end in a fresh kernel: solved without an error, blank with those of its checks only."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from support import GRADED, LESSONS, ROOT, functions, grade_id, released, source

pytestmark = pytest.mark.slow
SIZE = 200_000  # bytes of a released notebook


def solved_notebook(name: str) -> Any:
    """The instructor's notebook, made from the percent file as it is now."""
    from grader.build import source_notebook
    from grader.macros import lesson_files, title_of

    titles = {path.stem: title_of(path) for path in lesson_files(ROOT)}
    return nbformat.reads(source_notebook(ROOT / "solutions" / f"{name}.py", titles), as_version=4)


def execute(made: Any, folder: Path) -> Any:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "module://matplotlib_inline.backend_inline",
                   "PYTHONPATH": str(ROOT), "GRADER_PROGRESS": str(folder / "progress.json")}  # fmt: skip
    client = NotebookClient(made, timeout=300, resources={"metadata": {"path": str(folder)}})
    return client.execute(env=environment)


def errors(made: Any) -> dict[str, str]:
    """grade_id -> the exception's name, of every cell that raised."""
    return {
        grade_id(cell): output["ename"]
        for cell in made.cells
        for output in cell.get("outputs", [])
        if output["output_type"] == "error"
    }


def shown(made: Any, kind: str) -> list[str]:
    """Everything of a MIME type in the outputs."""
    return [
        "".join(o["data"][kind]) for cell in made.cells for o in cell.get("outputs", []) if kind in o.get("data", {})
    ]


def printed(made: Any, stream: str) -> str:
    return "".join("".join(o["text"]) for c in made.cells for o in c.get("outputs", []) if o.get("name") == stream)


@pytest.mark.parametrize("name", LESSONS)
def test_solved_notebooks_run(name: str, tmp_path: Path) -> None:
    here = tmp_path / name
    here.mkdir()
    for path in (ROOT / "notebooks").glob("*/*.ipynb"):  # the capstone borrows from the lessons before it
        target = tmp_path / path.stem / path.name
        target.parent.mkdir(exist_ok=True)
        if path.stem < name and path.stem != "00_setup":
            nbformat.write(solved_notebook(path.stem), target)
    made = execute(solved_notebook(name), here)
    # lesson 0 shows on purpose what a wrong answer looks like
    assert name == "00_setup" or errors(made) == {}
    assert "Traceback" not in printed(made, "stderr")
    assert "Warning" not in printed(made, "stderr")
    pages = shown(made, "text/html")
    images = [image for page in pages for image in re.findall(r"<img\b[^>]*>", page)]
    assert images
    assert all(re.search(r'\balt="[^"]{20,}"', image) for image in images)
    assert shown(made, "image/png") == []  # a bare image has no description
    assert "No picture" not in printed(made, "stdout")
    for function in functions(name):
        cell = next(cell for cell in made.cells if grade_id(cell) == f"check_{function}")
        assert f"✓ {function}" in "".join(o["data"]["text/plain"] for o in cell.outputs)


@pytest.mark.parametrize("name", LESSONS)
def test_blank_notebooks_run(name: str, tmp_path: Path) -> None:
    """Run All on an untouched notebook reaches the end; what is not attempted says so."""
    here = tmp_path / name
    shutil.copytree(ROOT / "notebooks" / name, here)
    made = execute(nbformat.read(here / f"{name}.ipynb", as_version=4), here)
    allowed = {grade_id(cell) for cell in made.cells if "raises-exception" in cell.metadata.get("tags", [])}
    assert errors(made).keys() <= allowed
    assert errors(made).keys() >= {f"check_{function}" for function in functions(name)}
    assert set(errors(made).values()) <= {"CheckFailed"}
    for cell in made.cells:
        for output in cell.get("outputs", []):
            if output["output_type"] == "error" and grade_id(cell).startswith("check_"):
                assert len(output["traceback"]) == 1
                assert "not attempted yet" in output["traceback"][0]
    assert "Traceback" not in printed(made, "stderr")


@pytest.mark.parametrize("name", LESSONS)
def test_released_notebooks_are_clean_and_small(name: str) -> None:
    path = ROOT / "notebooks" / name / f"{name}.ipynb"
    assert path.stat().st_size < SIZE
    made = released(name)
    nbformat.validate(nbformat.from_dict(made))
    for cell in made["cells"]:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None
        assert "attachments" not in cell
    assert "widgets" not in made["metadata"]


@pytest.mark.parametrize("name", LESSONS)
def test_every_image_in_the_text_has_a_description(name: str) -> None:
    for cell in released(name)["cells"]:
        text = source(cell)
        if cell["cell_type"] == "markdown":
            assert all(match.strip() for match in re.findall(r"!\[(.*?)\]\(", text))
            assert all(re.search(r'\balt="[^"]+"', image) for image in re.findall(r"<img\b[^>]*>", text))
        else:
            pictures = text.count("@picture(") + text.count("explore(draw")
            assert text.count("alt=") >= pictures


@pytest.mark.parametrize("name", GRADED)
def test_every_graded_lesson_has_a_figure_per_exercise(name: str) -> None:
    drawn = "\n".join(source(cell) for cell in released(name)["cells"] if grade_id(cell).startswith("figure_"))
    assert all(re.search(rf"needs=\[[^\]]*\b{function}\b", drawn) for function in functions(name))
