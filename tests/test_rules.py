"""The import rule of lesson 3: numpy and the standard library, on the code reachable from the graded function."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import rules
from grader.course import ROOT
from grader.rules import import_flaw

SOURCES = [*sorted((ROOT / "solutions").glob("*.py")), *sorted((ROOT / "grader/hidden").glob("*/*.py"))]
SOURCES = [path for path in SOURCES if path.name != "__init__.py"]
NUMPY = frozenset({"numpy"})
pytestmark = pytest.mark.dpo


def flaw(*cells: str, function: str = "f") -> str:
    return import_flaw([(number, source) for number, source in enumerate(cells, start=1)], function, NUMPY)


@pytest.mark.parametrize(
    "cells",
    [
        ("import numpy as np", "def f(x):\n    return np.exp(x)"),
        ("import math, functools", "def f(x):\n    return math.exp(x)"),
        ("from numpy.linalg import norm", "def f(x):\n    return norm(x)"),
        ("import torch", "def f(x):\n    return x"),  # imported, and not used by f
        ("import numpy as np, torch", "def f(x):\n    return np.exp(x)"),  # one statement, two things
        ("import torch", "def f(x):\n    torch = 3\n    return torch * x"),  # a local of that name
        (
            "import torch",
            "def g(x):\n    return torch.exp(x)\ndef f(x):\n    return x",
        ),  # only another function uses it
        ("import torch\n", "torch = 1.0", "def f(x):\n    return torch * x"),  # bound anew
        ("def f(x):\n    return x ** 2", "import scipy"),
        ("def f(x):\n    from math import exp\n    return exp(x)",),
        ("def f(x):\n    return self_made.g(x)", "from . import self_made"),  # relative: no such package
        ("this is not python", "def f(x):\n    return x"),
    ],
    ids=lambda cells: cells[-1][:30],
)
def test_allowed(cells: tuple[str, ...]) -> None:
    assert flaw(*cells) == ""


@pytest.mark.parametrize(
    ("cells", "module"),
    [
        (("import torch", "def f(x):\n    return torch.exp(x)"), "torch"),
        (("import torch as t", "def f(x):\n    return t.exp(x)"), "torch"),
        (("from scipy.special import expit", "def f(x):\n    return expit(x)"), "scipy"),
        (("from scipy import special as s", "def f(x):\n    return s.expit(x)"), "scipy"),
        (("def f(x):\n    import torch\n    return torch.exp(x)",), "torch"),
        (("def f(x):\n    return __import__('torch').exp(x)",), "torch"),
        (("import importlib", "def f(x):\n    return importlib.import_module('scipy.special').expit(x)"), "scipy"),
        (("import torch", "def g(x):\n    return torch.exp(x)", "def f(x):\n    return g(x)"), "torch"),
        (("import torch", "exp = torch.exp", "def f(x):\n    return exp(x)"), "torch"),
        (("import torch", "def f(x, exp=torch.exp):\n    return exp(x)"), "torch"),
        (("import torch", "@torch.no_grad()\ndef f(x):\n    return x"), "torch"),
        (("import torch", "f = lambda x: torch.exp(x)"), "torch"),
        (("import torch", "def f(x):\n    return [torch.exp(y) for y in x]"), "torch"),
        (("import torch", "class G:\n    def g(self, x):\n        return torch.exp(x)", "def f(x):\n    return G().g(x)"),  # noqa: E501
         "torch"),
        (("try:\n    import torch\nexcept ImportError:\n    torch = None", "def f(x):\n    return torch.exp(x)"), "torch"),  # noqa: E501
    ],
    ids=lambda x: x[-1][:40] if isinstance(x, tuple) else x,
)  # fmt: skip
def test_refused(cells: tuple[str, ...], module: str) -> None:
    said = flaw(*cells)
    assert said.startswith(f"`f` uses {module} (cell ")
    assert said.endswith("only numpy and the standard library are allowed")


def test_the_last_definition_counts() -> None:
    assert flaw("import torch", "def f(x):\n    return torch.exp(x)", "def f(x):\n    return x") == ""


def test_the_place_is_named() -> None:
    assert "(cell 2, line 3)" in flaw("x = 1", "\n\nimport torch", "def f(x):\n    return torch.exp(x)")


def test_recursion_ends() -> None:
    assert flaw("def f(x):\n    return g(x)\ndef g(x):\n    return f(x)") == ""


def test_a_module_made_in_a_cell_is_judged_by_what_it_imports() -> None:
    cells = [(1, "from helpers import g"), (2, "def f(x):\n    return g(x)")]
    made = {
        "helpers": "import numpy as np\nimport more\ndef g(x):\n    return np.exp(x)",
        "more": "import math, helpers",
    }
    assert import_flaw(cells, "f", NUMPY, made) == ""
    assert import_flaw(cells, "f", NUMPY, {**made, "more": "import torch"}).startswith(
        "`f` uses torch (cell 1, line 1)"
    )
    assert import_flaw(cells, "f", NUMPY, {**made, "more": "import ("}) == ""
    assert import_flaw(cells, "f", NUMPY).startswith("`f` uses helpers")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_name_that_is_looked_up_is_mentioned(path: Path) -> None:
    """The quick look may be too careful, never too generous: the symbol table's names are among those it follows."""
    bindings = rules._bindings([(1, path.read_text(encoding="utf-8"))])
    assert bindings
    assert all(bound.used <= bound.mentioned for bound in bindings.values())
