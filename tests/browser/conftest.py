"""A Chromium and a JupyterLab for the tests in this folder; without a Chromium they are skipped."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from visit import ARGS, CHROMIUM, Lab, NotebookPage, Visitor, new_visitor, serve, stop

from grader.course import ROOT


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with playwright.sync_playwright() as p:
        chromium = p.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        yield chromium
        chromium.close()


@pytest.fixture
def visitor(browser: Any) -> Iterator[Visitor]:
    """A browser tab that reaches this machine only."""
    visiting = new_visitor(browser)
    yield visiting
    visiting.page.context.close()


@pytest.fixture(scope="session")
def lab(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The released notebooks in JupyterLab."""
    folder = tmp_path_factory.mktemp("learner") / "notebooks"
    shutil.copytree(ROOT / "notebooks", folder, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    served = serve(folder, tmp_path_factory.mktemp("state"))
    yield served
    stop(served)


@pytest.fixture
def open_notebook(visitor: Visitor, lab: Lab) -> Callable[[str], NotebookPage]:
    """Opens a released notebook in JupyterLab."""
    return lambda path: NotebookPage(visitor, lab, path)
