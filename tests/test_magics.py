"""Magics out, Python stays, on the same line numbers. What IPython does with each line is the reference."""

from __future__ import annotations

import ast

import pytest

from grader.magics import parses, to_python, written_module


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("x = 1", "x = 1"),
        ("%%time\nx = 1", "\nx = 1"),
        ("%%timeit -n 1 -r 1\nx = 1", "\nx = 1"),
        ("%%capture out\nx = 1", "\nx = 1"),
        ("%%prun\nx = 1", "\nx = 1"),
        ("\n%%time\nx = 1", "\n\nx = 1"),
        ("%%time\n%%capture\nx = 1", "\n\nx = 1"),  # one inside the other
        ("%%bash\nrm -rf /", ""),
        ("%%javascript\nalert(1)", ""),
        ("%%html\n<b>x</b>", ""),
        ("%%writefile notes.txt\ntext", ""),
        ("%%time", ""),
    ],
)
def test_cell_magics(source: str, kept: str) -> None:
    assert to_python(source) == kept


@pytest.mark.parametrize(
    "source",
    [
        "%matplotlib inline\nx = 1",
        "!pip install numpy\nx = 1",
        "%time y = 2\nx = 1",
        "%timeit -n 10 2 + 2\nx = 1",
        "files = !ls\nx = 1",
        "files = %pwd\nx = 1",
        "?print\nx = 1",
        "print?\nx = 1",
        "%load_ext autoreload\n%autoreload 2\nx = 1",
        "!!ls\nx = 1",
        "if True:\n    !ls\nx = 1",
        "if True:\n    %time y = 1\nx = 1",
        ",print a b\nx = 1",
    ],
    ids=lambda s: s[:20],
)
def test_line_magics_leave_python_on_its_lines(source: str) -> None:
    made = to_python(source)
    assert parses(made)
    assigned = {node.targets[0].id: node.lineno for node in ast.walk(ast.parse(made))
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)}  # fmt: skip
    assert assigned["x"] == source.count("\n") + 1


def test_what_a_timed_line_binds_is_bound() -> None:
    assert to_python("%time y = 2\nz = 3") == "y = 2\nz = 3"
    assert to_python("%prun -q y = 2") == "y = 2"


def test_a_shell_line_over_two_lines() -> None:
    assert parses(to_python("!pip install -q \\\n  numpy\nx = 1"))


def test_percent_is_also_an_operator() -> None:
    for source in ("x = 7\\\n%3", "x = (7\n% 3)", "s = '''\n%time y\n!ls\n'''"):
        assert to_python(source) == source


def test_broken_code_is_left_as_it_is() -> None:
    assert to_python("def f(:\n    pass") == "def f(:\n    pass"


def test_odd_text_does_not_raise() -> None:
    for source in ("\x00", "(" * 10_000, "%%", "%", "!", "%%time\n" * 200 + "x = 1", "\ud800"):
        assert isinstance(to_python(source), str)


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("%%writefile helpers.py\nx = 1\n", ("helpers", "x = 1\n")),
        ("%%writefile ./helpers.py\nx = 1", ("helpers", "x = 1")),
        ("%%file helpers.py\nx = 1", ("helpers", "x = 1")),
        ("%%writefile ../helpers.py\nx = 1", None),
        ("%%writefile a/b.py\nx = 1", None),
        ("%%writefile notes.txt\nx = 1", None),
        ("%%time\nx = 1", None),
        ("x = 1", None),
    ],
)
def test_modules_made_in_a_cell(source: str, module: tuple[str, str] | None) -> None:
    assert written_module(source) == module
