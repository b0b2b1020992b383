"""Hostile files: names, links, sizes, JSON, encodings, and text that would like to be HTML or a terminal command."""

from __future__ import annotations

import html.parser
import json
import os
import shutil
import subprocess
import time
from dataclasses import asdict
from pathlib import Path

import pytest
from arena import ALL_WRONG, LESSON, grade, shown

from grader import notebook, render
from grader.batch import discover, grade_item
from grader.grading import Grader
from grader.notebook import SubmissionError

MARKUP = "<script>document.title='PWNED'</script><img src=x onerror=\"document.title='PWNED'\">"


def notebook_bytes(*sources: str, **extra: object) -> bytes:
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": s, "execution_count": None} for s in sources
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **extra}).encode()


def refused(data: bytes, name: str = "x.ipynb") -> str:
    with pytest.raises(SubmissionError) as caught:
        notebook.loads(data, name, LESSON)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00" * 1000,
        b"[" * 10**6,
        b'{"cells":' * 10**5,
        b'{"cells": 3}',
        b"[]",
        b"null",
        b"\xff\xfe\xff" * 100,
        b'{"cells": [' + b"1" * 10**5,
    ],
    ids=["empty", "zeros", "nested lists", "nested dicts", "no list", "a list", "null", "not UTF-8", "cut off"],
)
def test_what_is_no_notebook_is_refused_in_one_line(data: bytes) -> None:
    refused(data)


@pytest.mark.parametrize(
    "cell",
    [
        None,
        3,
        [],
        {},
        {"cell_type": 7, "source": 9},
        {"cell_type": "code", "source": {"a": 1}, "metadata": []},
        {"cell_type": "code", "source": [1, None], "metadata": {"nbgrader": {"grade_id": {"x": 1}}}},
    ],
)
def test_cells_of_the_wrong_kind_cost_nothing(grader: Grader, cell: object) -> None:
    good_cell = {"cell_type": "code", "metadata": {}, "source": "def dpo_loss(*args): return 0.0"}
    data = json.dumps({"cells": [cell, good_cell], "nbformat": 4, "metadata": {}}).encode()
    result = grader.grade(notebook.loads(data, "x.ipynb", LESSON))
    assert result.status == "graded"


def test_nan_in_json_and_broken_utf8_are_read(grader: Grader) -> None:
    data = notebook_bytes("def dpo_loss(*args): return 0.0").replace(b'"nbformat_minor": 5', b'"x": NaN, "y": Infinity')
    assert grader.grade(notebook.loads(data, "x.ipynb", LESSON)).status == "graded"
    broken = notebook.loads(b"# caf\xe9\ndef dpo_loss(*args): return 0.0\n", "x.py", LESSON)
    assert "UTF-8" in grader.grade(broken).problems[0]


HOSTILE_SOURCES = {
    "parentheses": "(" * 100_000,
    "nested lists": "x = " + "[" * 5000 + "]" * 5000,
    "attributes": "x" + ".x" * 200_000,
    "sums": "x = 1" + "+1" * 100_000,
    "minus signs": "x = " + "-" * 200_000 + "1",
    "calls": "f" + "()" * 100_000,
    "nested functions": "".join(" " * i + f"def f{i}():\n" for i in range(99)) + " " * 99 + "pass",
    "zeros": "x = 1\0\ndef f(): pass",
    "a lone surrogate": "x = '\ud800'",
    "a coding line": "# -*- coding: rot13 -*-\nx = 1",
    "half a string": "x = '''" + "a" * 100_000,
    "magics": "%%time\n" * 300,
    "line magics": "%timeit x\n" * 300,
    "shell lines": "!ls\n" * 600,
    "a hundred thousand shell lines": "!ls\n" * 100_000,
}


@pytest.mark.parametrize("what", HOSTILE_SOURCES)
def test_sources_that_hurt_a_parser(grader: Grader, what: str) -> None:
    """A hostile cell is lost; the cell beside it keeps its function, and nothing takes long."""
    started = time.process_time()
    data = notebook_bytes(HOSTILE_SOURCES[what], "def dpo_loss(*args): return 0.125")
    result = grader.grade(notebook.loads(data, "x.ipynb", LESSON))
    assert result.status == "graded"
    assert {e.name: e.status for e in result.exercises}["dpo_loss"] != "not attempted"
    assert time.process_time() - started < 60


def test_a_hundred_megabytes_are_refused_before_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "big.ipynb"
    with path.open("wb") as file:
        file.truncate(200 * 2**20)  # sparse
    with pytest.raises(SubmissionError, match="larger than"):
        notebook.load(path)


@pytest.mark.parametrize("line", ["x=1", "# %%\nx=1", "", "''"])
def test_scripts_of_very_many_lines(grader: Grader, line: str) -> None:
    """Each statement keeps its line number; moving each down by blank lines must not cost lines squared."""
    text = (line + "\n") * (80_000 // max(1, len(line))) + "def dpo_loss(*args): return 0.125\n"
    result = grader.grade(notebook.loads(text.encode(), "x.py", LESSON))
    assert result.status == "graded"


def test_masses_of_code_are_refused() -> None:
    assert "MB of text" in refused(b"x = 1\n" * 500_000, "x.py")
    assert "MB of text" in refused(notebook_bytes("x = 1\n" * 500_000))
    assert "cells" in refused(notebook_bytes(*["x = 1"] * 3000))


def test_huge_outputs_cost_no_marks(grader: Grader) -> None:
    cell = {"cell_type": "code", "metadata": {}, "source": "def dpo_loss(*args): return 0.0"}
    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * (30 * 2**20)}]
    data = json.dumps({"cells": [cell], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}).encode()
    assert grader.grade(notebook.loads(data, "x.ipynb", LESSON)).status == "graded"


NAMES = [
    "a..%2F..%2Fescape",
    "new\nline",
    "a" * 250,
    "=cmd|' /C calc'!A0",
    "-rf",
    "$(touch planted)",
    "<script>",
    "‮txt",
    "a b;c",
    " ",
]


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_of_students(grader: Grader, tmp_path: Path, name: str) -> None:
    """Folders of an nbgrader tree may be called anything; the file is graded and nothing is made elsewhere."""
    folder = tmp_path / "submitted" / name.replace("/", "∕") / LESSON
    folder.mkdir(parents=True)
    (folder / f"{LESSON}.py").write_text("def dpo_loss(*args): return 0.0\n")
    before = sorted(tmp_path.rglob("*"))
    results = [grade_item(grader, item) for item in discover([tmp_path / "submitted"])]
    assert [r.status for r in results] == ["graded"]
    assert sorted(tmp_path.rglob("*")) == before
    assert "<script>" not in render.feedback_html(results[0])


def test_links_are_not_followed(grader: Grader, tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("SECRET = 'LEAKED'\ndef dpo_loss(*args): return 0.0\n")
    tree = tmp_path / "submitted" / "eve" / LESSON
    tree.mkdir(parents=True)
    (tree / f"{LESSON}.py").symlink_to(secret)
    (tree / "loop.py").symlink_to(tree / "loop.py")
    (tmp_path / "submitted" / "mallory").symlink_to(tmp_path / "submitted" / "eve")
    (tree / "device.py").symlink_to("/dev/zero")
    os.mkfifo(tree / "pipe.py")
    results = [grade_item(grader, item) for item in discover([tmp_path / "submitted"])]
    assert results
    assert all(r.status == "failed" for r in results)
    assert "LEAKED" not in json.dumps([asdict(r) for r in results])


MARKUP_SOURCE = f'''
"""{MARKUP}"""
class Evil(Exception):
    """{MARKUP}"""
Evil.__name__ = {MARKUP!r}
def implicit_reward(*args):
    """{MARKUP}"""
    raise Evil({MARKUP!r})
def dpo_loss(*args): return type({MARKUP!r}, (), {{}})()
def dpo_grad(*args): return {{{MARKUP!r}: {MARKUP!r}}}
print({MARKUP!r})
raise Evil({MARKUP!r} + chr(27) + "[2J" + chr(10) + chr(13) + chr(7))  # {MARKUP}
'''


class Tags(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        events = [name for name, _ in attrs if name.startswith("on")]
        links = [value for name, value in attrs if name in ("href", "src") and (value or "").startswith("javascript")]
        if tag in ("script", "iframe", "object", "embed", "img") or events or links:
            self.found.append(tag)


def test_markup_of_learners_stays_text(grader: Grader) -> None:
    result = grade(grader, MARKUP_SOURCE)
    for page in [render.feedback_html(result, {"dpo_loss": MARKUP}, [MARKUP], [MARKUP]), *_reports(result)]:
        tags = Tags()
        tags.feed(page)
        assert tags.found == []


def _reports(result: object) -> list[str]:
    return [render.report_html(exercise) for exercise in result.exercises]  # type: ignore[attr-defined]


def test_nothing_commands_a_terminal_or_a_spreadsheet(grader: Grader) -> None:
    """Escape sequences and newlines of an error's message are gone: each problem is one printable line."""
    result = grade(grader, MARKUP_SOURCE)
    assert result.problems
    assert all(problem.isprintable() for problem in result.problems)


@pytest.mark.skipif(not shutil.which("chromium"), reason="no Chromium here")
def test_nothing_executes_in_a_browser(grader: Grader, tmp_path: Path) -> None:
    result = grade(grader, MARKUP_SOURCE)
    page = tmp_path / "feedback.html"
    page.write_text(
        render.feedback_html(result, {"dpo_loss": MARKUP}, [MARKUP], [MARKUP]) + "\n".join(_reports(result))
    )
    flags = (
        "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking".split()
    )
    command = [
        "chromium",
        *flags,
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={tmp_path}/profile",
    ]
    shown_page = subprocess.run(
        [*command, "--virtual-time-budget=2000", "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout
    assert "Evil" in shown_page or "img" in shown_page  # the page was shown, markup as text
    assert "<title>PWNED" not in shown_page


def test_points_are_finite_whatever_comes(grader: Grader) -> None:
    for value in (
        "float('nan')",
        "float('inf')",
        "-float('inf')",
        "10**400",
        "1e308 * 10",
        "np.float64('nan')",
        "-0.0",
    ):
        result = grade(grader, f"def wrong(*args): return {value}" + ALL_WRONG)
        assert result.points == 0.0
        assert "PWNED" not in shown(result)
