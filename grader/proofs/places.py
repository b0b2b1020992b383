"""Where a defect is to be mended: files of the course as an author knows them, relative to its folder."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import traceback
from pathlib import Path

import grader.lessons
from grader import hidden
from grader.course import ROOT, CourseError
from grader.exercise import Exercise


def lesson_module(exercise: Exercise) -> str:
    """The file in ``grader/lessons`` that defines the exercise; the folder where none does."""
    for found in pkgutil.iter_modules(grader.lessons.__path__):
        module = importlib.import_module(f"grader.lessons.{found.name}")
        if exercise.name in {known.name for known in getattr(module, "EXERCISES", ())}:
            return f"grader/lessons/{found.name}.py"
    return "grader/lessons"


def hidden_file(function: str, which: str, variant: str = "") -> str:
    """``grader/hidden/f/wrong.py``, with the line on which ``variant`` is defined."""
    file = f"grader/hidden/{function}/{which}.py"
    if not variant:
        return file
    tree = ast.parse(hidden.source_path(function, which).read_text(encoding="utf-8"))
    lines = [node.lineno for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == variant]
    return f"{file}:{lines[0]}" if lines else file


def reason(error: Exception, root: Path = ROOT) -> str:
    """What went wrong in the course's own files, with file and line where the error knows them."""
    text = str(error) if isinstance(error, CourseError) else f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError) and error.filename:  # its text has the last part of the file's path only
        return f"SyntaxError: {error.msg} ({_shown(error.filename, root)}:{error.lineno})"
    ours = (str(ROOT / "grader" / "hidden"), str(ROOT / "grader" / "lessons"))
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(ours)]
    frames = [frame for frame in frames if not frame.filename.endswith("__init__.py")]
    where = f" ({_shown(frames[-1].filename, root)}:{frames[-1].lineno})" if frames else ""
    return text.replace(f"{root}/", "") + where


def _shown(file: str, root: Path) -> str:
    for folder in (root, ROOT):
        if Path(file).is_relative_to(folder):
            return str(Path(file).relative_to(folder))
    return file
