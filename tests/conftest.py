"""What every test has: one warm grader per test process, the tools of this environment, and no trace at home."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.grading import Grader

# nbgrader starts `alembic` and `jupyter` by name; without this they would be the system's, or nobody's.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def _progress_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A learner's progress is kept per test, not in the home of whoever runs the tests."""
    monkeypatch.setenv("GRADER_PROGRESS", str(tmp_path / "progress" / "progress.json"))


@pytest.fixture(scope="session")
def warm() -> Iterator[Grader]:
    """A grader with a warm worker and plain process isolation. (Confinement has its own tests.)"""
    with Grader("test", isolation=os.environ.get("GRADER_TEST_ISOLATION", "process")) as grader:
        yield grader
