"""A copy of the course to work in, and the fenced blocks of a guide to run there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from grader.course import ROOT

PARTS = ("grader", "solutions", "notebooks", "tests", "docs")
FILES = (
    "pyproject.toml", "requirements.lock", "environment.yml", "nbgrader_config.py", "jupytext.toml", "course.toml",
    "README.md", "LICENSE", "Makefile",
)  # fmt: skip
IGNORE = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", "screenshots")


def course_copy(folder: Path) -> Path:
    """The course in ``folder/course``, with a `grader` command of its own in ``folder/bin``."""
    copy, commands = folder / "course", folder / "bin"
    for name in PARTS:
        shutil.copytree(ROOT / name, copy / name, ignore=IGNORE)
    for name in FILES:
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, copy / name)
    commands.mkdir()
    command = commands / "grader"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m grader "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return copy


def environment(copy: Path) -> dict[str, str]:
    """The variables with which commands find the copy's `grader` package and this Python's tools."""
    path = os.pathsep.join([str(copy.parent / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
    return os.environ | {
        "PATH": path, "PYTHONPATH": str(copy), "GRADER_SECRET": "demo", "OMP_NUM_THREADS": "1",
        "JUPYTER_CONFIG_DIR": str(copy.parent / "jupyter"), "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip


def fenced(guide: Path) -> Iterator[tuple[str, str, str]]:
    """(language, rest of the info string, text) of every fenced block that begins a line, in order."""
    for found in re.finditer(r"^```(\w*) ?([^\n]*)\n(.*?)^```$", guide.read_text(encoding="utf-8"), re.M | re.S):
        yield found[1], found[2].strip(), found[3]


def run_console(text: str, copy: Path, timeout: float = 1800) -> str:
    """Run the commands of a console block (lines after ``$ ``, comments cut) in the copy; what they print."""
    printed = ""
    for line in text.replace("\\\n", " ").splitlines():
        command = line.removeprefix("$ ").strip()
        if not command or command.startswith("#"):
            continue
        done = subprocess.run(
            ["bash", "-c", command], cwd=copy, env=environment(copy), capture_output=True, text=True, timeout=timeout
        )
        printed += done.stdout + done.stderr
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return printed
