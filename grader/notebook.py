"""A submission (.ipynb or .py) -> the learner's code, whatever editors did to it.

Cells are ours by their nbgrader id or, where an editor lost the metadata, by their text. Ours are not run, except
the setup cell, which is taken from the lesson. Everything else the learner wrote runs in order.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from grader.course import (
    Lesson,
    TemplateCell,
    bound_names,
    defined_names,
    exercises,
    graded_lessons,
    lesson,
    ungraded_lessons,
)
from grader.magics import parses, to_python, written_module
from grader.sandbox.calls import Code

MAX_BYTES = 100 * 2**20
MAX_CODE = 2**20  # characters of code; outputs may be large, code that is would take minutes and gigabytes to parse
MAX_CELLS = 2000
MAX_BLANKS = 4 * 2**20  # lines that the pieces of a script are moved down by, all together


_Piece = TypeVar("_Piece")


class SubmissionError(Exception):
    """A submission that cannot be graded at all. The message is one line: what is wrong and what to do."""


@dataclass(frozen=True)
class Cell:
    """A code cell of a submission; ``number`` is its 1-based position, ``grade_id`` empty where it has none."""

    number: int
    source: str
    grade_id: str = ""
    markdown: bool = False


@dataclass(frozen=True)
class Submission:
    """The learner's code for one lesson. ``sources``: cell number -> text, to quote a line from."""

    path: str
    lesson: Lesson
    code: Code
    sources: dict[int, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    digest: str = ""  # of the bytes that were handed in


def load(path: Path, assignment: str = "", shown_as: str = "") -> Submission:
    """Read a submission. SubmissionError (one line) when there is nothing to grade in it."""
    return loads(read_bytes(path), path.name, assignment, shown_as or str(path))


def read_bytes(path: Path) -> bytes:
    """A submission's bytes. SubmissionError (one line) when it cannot be one."""
    if path.suffix not in (".ipynb", ".py"):
        raise SubmissionError(f"{path.name}: not a notebook (.ipynb) or Python file (.py); submit one of these")
    try:
        if not path.is_file():
            raise SubmissionError(f"{path.name}: {'not a file' if path.exists() else 'no such file'}; check the path")
        if path.stat().st_size > MAX_BYTES:
            raise SubmissionError(
                f"{path.name}: larger than {MAX_BYTES // 2**20} MB; "
                "clear the outputs (Kernel > Restart and Clear) and resubmit"
            )
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise SubmissionError(f"{path.name}: cannot be read ({type(error).__name__}); check its permissions") from None


def loads(data: bytes, name: str, assignment: str = "", shown_as: str = "") -> Submission:
    """Read a submission from bytes; ``name`` tells its kind by its suffix. Raises like `load`."""
    text = data.decode("utf-8-sig", errors="replace")
    problems = ("the file is not valid UTF-8: broken characters were replaced",) if "\ufffd" in text else ()
    if name.endswith(".py"):
        _refuse_masses([Cell(1, text)], name)
        cells = script_cells(text)
    else:
        cells = code_cells(notebook_json(text, name), name)
    if not assignment and Path(name).stem in ungraded_lessons():
        raise SubmissionError(f"{name}: this lesson is not graded; the graded ones are {', '.join(graded_lessons())}")
    chosen = lesson(assignment or lesson_of(cells, name))
    return Submission(
        shown_as or name, chosen, *assemble(cells, chosen), problems, hashlib.sha256(data).hexdigest()[:16]
    )


def notebook_json(text: str, name: str) -> dict[str, Any]:
    """The notebook's JSON, as nbformat 4. SubmissionError where it is none."""
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise SubmissionError(
            f"{name}: not a notebook, its JSON is broken{where}; open it in Jupyter and save it again"
        ) from None
    if isinstance(notebook, dict) and isinstance(notebook.get("worksheets"), list):
        notebook = _upgrade(notebook)
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise SubmissionError(f"{name}: JSON, but not a notebook (it has no cells); submit the .ipynb file")
    return notebook


def _upgrade(notebook: dict[str, Any]) -> dict[str, Any]:
    """nbformat 3 -> 4: cells stand in worksheets, and code under ``input``."""
    sheets = [s for s in notebook["worksheets"] if isinstance(s, dict) and isinstance(s.get("cells"), list)]
    cells = [
        dict(c, source=c.get("source", c.get("input", ""))) for s in sheets for c in s["cells"] if isinstance(c, dict)
    ]
    return {"cells": cells, "metadata": notebook.get("metadata", {})}


def source_of(cell: dict[str, Any]) -> str:
    """A cell's text: nbformat allows a string or a list of lines. JSON can hold half a character, UTF-8 cannot."""
    source = cell.get("source", "")
    text = "".join(map(str, source)) if isinstance(source, list) else str(source)
    return text.encode("utf-8", "replace").decode().removeprefix("\ufeff")


def grade_id_of(cell: dict[str, Any]) -> str:
    """The nbgrader id in a cell's metadata, or empty."""
    meta = cell.get("metadata")
    meta = meta.get("nbgrader") if isinstance(meta, dict) else None
    return str(meta.get("grade_id", "")) if isinstance(meta, dict) else ""


def _refuse_masses(cells: Sequence[Cell], name: str) -> None:
    size = sum(len(cell.source) for cell in cells)
    if size > MAX_CODE:
        raise SubmissionError(f"{name}: its cells hold more than {MAX_CODE // 2**20} MB of text; take pasted data out")
    if len(cells) > MAX_CELLS:
        raise SubmissionError(f"{name}: more than {MAX_CELLS} cells; delete those that are not yours")


def code_cells(notebook: dict[str, Any], name: str = "") -> list[Cell]:
    """The code cells, and cells turned into markdown or raw text that hold a graded function nobody else defines."""
    cells = [
        Cell(number, source_of(cell), grade_id_of(cell))
        if cell.get("cell_type") == "code"
        else Cell(number, _unfenced(source_of(cell)), grade_id_of(cell), markdown=True)
        for number, cell in enumerate(notebook["cells"], start=1)
        if isinstance(cell, dict)
    ]
    _refuse_masses(cells, name)
    defined = {name for cell in cells if not cell.markdown for name in defined_names(to_python(cell.source))}
    rescued = exercises().keys() - defined
    return [c for c in cells if not c.markdown or rescued & set(defined_names(c.source))]


def _unfenced(text: str) -> str:
    """Text with what stands outside its code fences blanked, where it has any."""
    if "```" not in text or parses(text):
        return text
    lines, inside = [], False
    for line in text.splitlines():
        fence = line.strip().startswith("```")
        inside ^= fence
        lines.append(line if inside and not fence else "")
    return "\n".join(lines)


def script_cells(text: str) -> list[Cell]:
    """A percent script by its ``# %%`` cells; any other script statement by statement, so that one error costs one."""
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("# %%")]
    if starts:
        for start in starts:
            lines[start] = ""  # the marker is no part of the cell: its text is compared with ours
        bounds = [0, *_few(starts, len(lines)), len(lines)]
        chunks = [(a, lines[a:b]) for a, b in pairwise(bounds) if b > a]
        return [Cell(1, "\n" * a + "\n".join(chunk)) for a, chunk in chunks if any(line.strip() for line in chunk)]
    source = text if parses(text) else to_python(text)
    if not parses(source):
        return [Cell(1, text)]
    lines = source.splitlines()
    spans = [(_first_line(node) - 1, node.end_lineno or 0) for node in ast.parse(source).body]
    kept = _few(spans, len(lines))
    if len(kept) < len(spans):
        spans = [*kept[:-1], (kept[-1][0], len(lines))]
    return [Cell(1, "\n" * start + "\n".join(lines[start:end])) for start, end in spans]


def _few(pieces: list[_Piece], lines: int) -> list[_Piece]:
    """The first pieces of a script, as many as may be moved down to their lines; what follows stays with the last."""
    return pieces[: max(1, min(MAX_CELLS, MAX_BLANKS // max(1, lines)))]


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])


def lesson_of(cells: Sequence[Cell], name: str) -> str:
    """The lesson whose graded functions the cells define most, the file's name deciding a tie. Raises on none."""
    found = {n for cell in cells for n in _own_names(to_python(cell.source))}
    ids = {cell.grade_id for cell in cells}
    counts = dict.fromkeys(graded_lessons(), 0)
    for exercise in exercises().values():
        counts[exercise.lesson] += (exercise.name in found) + (f"check_{exercise.name}" in ids)
    best = max(counts.values(), default=0)
    if best == 0:
        raise SubmissionError(
            f"{name}: defines no graded function; name the lesson with --assignment "
            f"(the functions are {', '.join(exercises())})"
        )
    leaders = [lesson_name for lesson_name, count in counts.items() if count == best]
    named = [lesson_name for lesson_name in leaders if lesson_name in name] or leaders
    if len(named) > 1:
        raise SubmissionError(f"{name}: fits {' and '.join(named)} alike; say which with --assignment")
    return named[0]


def _own_names(source: str) -> list[str]:
    """Names a cell defines itself: what it only borrows from another lesson does not count."""
    if not parses(source):
        return re.findall(r"^def (\w+)", source, re.MULTILINE)  # a syntax error elsewhere in the cell
    body = [n for n in ast.parse(source).body if not (isinstance(n, ast.Assign) and "borrow(" in ast.unparse(n.value))]
    return [name for node in body for name in bound_names(node)]


def assemble(cells: Sequence[Cell], chosen: Lesson) -> tuple[Code, dict[int, str]]:
    """What to run, and the text to quote from: our setup cell, then the learner's cells with magics taken out."""
    modules: dict[str, str] = {}
    mine: list[tuple[int, str]] = []
    for cell in cells:
        if module := written_module(cell.source):
            modules[module[0]] = module[1]
        elif not is_ours(cell, chosen):
            mine.append((cell.number, to_python(cell.source)))
    mine = [(n, source) for n, source in without_spare_stubs(mine, chosen) if source.strip()]
    sources: dict[int, str] = {}
    for number, source in mine:  # the pieces of a script share a number: the longest holds the others' lines as blanks
        sources[number] = _overlay(sources.get(number, ""), source)
    return Code([(0, chosen.setup), *mine], modules), sources


def _overlay(below: str, above: str) -> str:
    lines, new = below.splitlines(), above.splitlines()
    lines += [""] * (len(new) - len(lines))
    return "\n".join(b or a for a, b in zip(lines, [*new, *[""] * (len(lines) - len(new))], strict=True))


def is_ours(cell: Cell, chosen: Lesson) -> bool:
    """Whether a cell is the lesson's own and not to be run: by text, or by id unless it defines a graded function."""
    text = cell.source.strip()
    if any(text == t.source.strip() for t in chosen.cells if t.role != "solution"):
        return True
    template = chosen.cell(cell.grade_id)
    if template is None or template.role in ("solution", "setup"):
        return False
    return not set(defined_names(to_python(cell.source))) & {e.name for e in chosen.exercises}


def without_spare_stubs(cells: list[tuple[int, str]], chosen: Lesson) -> list[tuple[int, str]]:
    """Blank the untouched stub of a function that another cell defines (a duplicated cell), wherever it stands."""
    stubs = {e.name: _stub_dump(chosen.cell(e.name), e.name) for e in chosen.exercises}
    found = [(i, node) for i, (_, source) in enumerate(cells) if parses(source) for node in ast.parse(source).body]
    real = {name for _, node in found for name in bound_names(node) if name in stubs and _dump(node) != stubs[name]}
    result = list(cells)
    for index, node in found:
        if isinstance(node, ast.FunctionDef) and node.name in real and _dump(node) == stubs[node.name]:
            number, source = result[index]
            lines = source.splitlines()
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or 0) - node.lineno + 1)
            result[index] = (number, "\n".join(lines))
    return result


def _dump(node: ast.AST) -> str:
    body = getattr(node, "body", None)
    # a stub ends by raising; what does not is none, and need not be written out
    return ast.dump(node) if isinstance(body, list) and body and isinstance(body[-1], ast.Raise) else ""


def _stub_dump(template: TemplateCell | None, name: str) -> str:
    if template is None:
        return ""
    found = [n for n in ast.parse(template.source).body if isinstance(n, ast.FunctionDef) and n.name == name]
    return _dump(found[0]) if found else ""
