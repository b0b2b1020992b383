"""A lesson opened in JupyterLab through jupytext's contents manager, changed and saved: nothing lost, nothing added."""

from __future__ import annotations

import difflib
import shutil
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.services.contents.largefilemanager import LargeFileManager
from nbformat.v4 import new_output
from support import LESSONS

from grader import build
from grader.course import ROOT
from grader.macros import title_of

try:
    from jupytext.sync_contentsmanager import build_sync_jupytext_contents_manager_class as build_manager
except ImportError:  # before jupytext 1.17
    from jupytext.contentsmanager import build_jupytext_contents_manager_class as build_manager


class Lab:
    """The contents manager that JupyterLab uses once jupytext is installed, on a copy of the lessons."""

    def __init__(self, folder: Path) -> None:
        shutil.copytree(ROOT / "solutions", folder / "solutions", ignore=shutil.ignore_patterns(".*", "__pycache__"))
        shutil.copy(ROOT / "jupytext.toml", folder)
        self.folder = folder
        self.manager = build_manager(LargeFileManager)()
        self.manager.root_dir = str(folder)

    def open(self, lesson: str) -> Any:
        """What the notebook editor gets."""
        return self.manager.get(f"solutions/{lesson}.py", type="notebook", content=True)["content"]

    def save(self, lesson: str, notebook: Any) -> str:
        """Save as the editor does, with what a session leaves in a notebook; the text of the file afterwards."""
        for number, cell in enumerate(notebook.cells):
            if cell.cell_type == "code":
                cell.execution_count = number
                cell.outputs = [new_output("stream", name="stdout", text="ran\n")]
                cell.metadata.update({"scrolled": True, "execution": {"iopub.status.busy": "2026-01-01T00:00:00Z"}})
        notebook.metadata["language_info"] = {"name": "python", "version": "3.12.1", "file_extension": ".py"}
        notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": {}}}
        self.manager.save({"type": "notebook", "format": "json", "content": notebook}, f"solutions/{lesson}.py")
        return (self.folder / "solutions" / f"{lesson}.py").read_text(encoding="utf-8")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def original(lesson: str) -> str:
    return (ROOT / "solutions" / f"{lesson}.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("lesson", LESSONS)
def test_open_and_save_changes_no_byte(lab: Lab, lesson: str) -> None:
    """Header, markers, order of nbgrader's keys, tags, solution marks and blank lines stay; outputs do not come in."""
    assert lab.save(lesson, lab.open(lesson)) == original(lesson)


def test_an_edit_is_the_only_difference(lab: Lab) -> None:
    """A sentence and a line of a solution changed, a cell added as Lab adds it: the diff is just these."""
    lesson = "03_stable_dpo"
    notebook = lab.open(lesson)
    answer = next(c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == "implicit_reward")
    assert "### BEGIN SOLUTION" in answer.source
    answer.source = answer.source.replace("return beta *", "return 1.0 * beta *")
    notebook.cells[0].source += "\n\nA sentence more."
    diff = list(difflib.unified_diff(original(lesson).splitlines(), lab.save(lesson, notebook).splitlines(), n=0))[2:]
    changed = [line for line in diff if not line.startswith("@@")]
    assert changed == [
        "+#",
        "+# A sentence more.",
        "-    return beta * (policy_logprob - ref_logprob)",
        "+    return 1.0 * beta * (policy_logprob - ref_logprob)",
    ]


@pytest.mark.parametrize("lesson", LESSONS)
def test_what_is_saved_builds_to_the_same_notebook(lab: Lab, lesson: str) -> None:
    """The instructor's notebook from the saved file is that from ours, byte for byte."""
    lab.save(lesson, lab.open(lesson))
    titles = {path.stem: title_of(path) for path in sorted((ROOT / "solutions").glob("[0-9][0-9]_*.py"))}
    saved = build.source_notebook(lab.folder / "solutions" / f"{lesson}.py", titles)
    assert saved == build.source_notebook(ROOT / "solutions" / f"{lesson}.py", titles)


def test_a_cell_without_a_name_is_named_by_build(lab: Lab) -> None:
    """A new code cell has no nbgrader metadata yet: `grader build` says which cell, and what to do."""
    notebook = lab.open("01_kl_penalized_rewards")
    extra = notebook.cells[1].copy()
    extra.metadata = {}
    extra.source = "1 + 1"
    notebook.cells.insert(2, extra)
    lab.save("01_kl_penalized_rewards", notebook)
    path = lab.folder / "solutions" / "01_kl_penalized_rewards.py"
    with pytest.raises(
        build.BuildError, match=r"cell 3, line \d+: a code cell without nbgrader metadata; give it a grade_id"
    ):
        build.source_notebook(path, {path.stem: title_of(path)})
