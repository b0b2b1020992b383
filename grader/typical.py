"""A typical wrong cell: what most holders of a misconception wrote, without anything that says who wrote it."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.magics import to_python
from grader.notebook import SubmissionError, notebook_json, read_bytes, source_of
from grader.report import SubmissionResult

READ = 15  # submissions are read per misconception: enough for "typical"
LONGEST = 2000  # characters shown


def typical_cell(function: str, holders: Sequence[SubmissionResult], submissions: Path | None = None) -> str:
    """The text of ``function`` that occurs most often among ``holders``; of equally frequent ones the shortest.

    Comments and docstrings, where names stand, are left out. Empty where no submission can be found.
    """
    texts = Counter(text for text in _texts(function, holders, submissions) if text)
    if not texts:
        return ""
    best = min(texts, key=lambda text: (-texts[text], len(text), text))
    return best if len(best) <= LONGEST else best[:LONGEST] + "\n…"


def _texts(function: str, holders: Sequence[SubmissionResult], submissions: Path | None) -> Iterator[str]:
    found = (path for result in holders if (path := find(result.submission, submissions)))
    for path, _ in zip(found, range(READ), strict=False):
        yield function_text(path, function)


def find(shown: str, submissions: Path | None) -> Path | None:
    """The file of a submission: below ``submissions`` under the longest tail of its path that is there, or as it is."""
    parts = Path(shown).parts
    tails = [Path(*parts[i:]) for i in range(len(parts)) if parts[i] not in ("/", "..")]
    places = [submissions / tail for tail in tails] if submissions else [Path(shown)]
    return next((place for place in places if place.is_file() and not place.is_symlink()), None)


def function_text(path: Path, function: str) -> str:
    """The last definition of ``function`` in a submission, without comments and docstrings; empty without one."""
    found = ""
    for source in _sources(path):
        try:
            body = ast.parse(to_python(source)).body if f"def {function}" in source else []
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in body:
            if isinstance(node, ast.FunctionDef) and node.name == function:
                found = _plain(node)
    return found


def _sources(path: Path) -> list[str]:
    """The cells of a submission, whatever it is; none where it cannot be read."""
    try:
        text = read_bytes(path).decode("utf-8-sig", errors="replace")
        if path.suffix == ".py":
            return [text]
        return [source_of(cell) for cell in notebook_json(text, path.name)["cells"] if isinstance(cell, dict)]
    except SubmissionError:
        return []


def _plain(node: ast.FunctionDef) -> str:
    """The function as Python writes it: no comments, no docstrings, no spacing of its author's."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(inner) is not None:
            inner.body = inner.body[1:] or [ast.Pass()]
    return ast.unparse(node)
