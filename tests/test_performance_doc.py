"""`docs/performance.md` quotes the committed results, and nothing else."""

from __future__ import annotations

import importlib.util
import json
import sys
from types import ModuleType

import pytest

from grader.course import ROOT

RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.json"))


@pytest.fixture(scope="module")
def report() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_report", ROOT / "benchmarks" / "report.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_results_give(report: ModuleType) -> None:
    page = report.PAGE.read_text(encoding="utf-8")
    assert report.filled(page) == page, "run `python benchmarks/report.py`"


def test_every_block_of_the_page_has_results(report: ModuleType) -> None:
    assert set(report.blocks(report.PAGE.read_text(encoding="utf-8"))) == set(report.BLOCKS)


def test_a_changed_result_changes_the_page(report: ModuleType) -> None:
    page = report.PAGE.read_text(encoding="utf-8")
    results = report.results()
    results["versus_nbgrader"]["ratio"] += 1
    assert report.filled(page, results) != page


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_a_result_says_when_and_on_what_it_was_measured(path) -> None:
    machine = json.loads(path.read_text(encoding="utf-8"))["machine"]
    assert {"date", "cores", "load_average", "versions"} <= machine.keys()
    assert {"python", "torch"} <= machine["versions"].keys()


def test_marks_were_equal_on_both_sides(report: ModuleType) -> None:
    """A comparison of speed means nothing when one side does something else."""
    versus = report.results()["versus_nbgrader"]
    assert versus["marks_equal"]
    assert versus["marks_unequal"] == []
