"""`grader check`: a learner's public checks in the terminal, in their own process."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from support import ROOT, Notebook, code, functions, solved

DPO = "03_stable_dpo"
SCRIPT = (
    "import sys\nfrom grader.notebook import loads\nfrom grader.owncheck import check_submission\n"
    "data = sys.stdin.buffer.read()\nsys.exit(0 if check_submission(loads(data, 'n.ipynb')) else 1)\n"
)


def check(made: Notebook) -> subprocess.CompletedProcess[str]:
    # in a process of its own: it puts a stand-in for `grader` and for `input` into the process
    return subprocess.run(
        [sys.executable, "-c", SCRIPT], input=json.dumps(made), cwd=ROOT, capture_output=True, text=True, timeout=120
    )


@pytest.mark.dpo
def test_all_well_is_one_line_each() -> None:
    run = check(solved(DPO))
    assert (run.returncode, run.stderr) == (0, "")
    assert [line.split(":")[0] for line in run.stdout.splitlines()] == [f"✓ {name}" for name in functions(DPO)]


@pytest.mark.dpo
def test_a_failure_shows_the_example_and_a_cell_that_raises_is_named() -> None:
    made = solved(DPO, dpo_loss="def dpo_loss(*a):\n    return 0.5\n")
    made["cells"].insert(1, code("await x\n1 / 0"))
    run = check(made)
    assert run.returncode == 1
    assert "dpo_loss(" in run.stdout
    assert "received" in run.stdout
    assert "Traceback" not in run.stdout + run.stderr
    assert run.stderr.startswith("cell 2: NameError: ")


@pytest.mark.dpo
def test_notebook_furniture_works_here_too() -> None:
    made = solved(DPO)
    made["cells"].insert(
        1, code("display(3)\nfrom tqdm import tqdm\nlist(tqdm([1]))\nimport asyncio\nawait asyncio.sleep(0)")
    )
    run = check(made)
    assert (run.returncode, run.stderr) == (0, "")
