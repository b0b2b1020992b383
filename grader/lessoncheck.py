"""What `grader build` asks of a lesson before nbgrader sees it: one line per mistake, with the place to mend.

The rules are those of the table of cells in ``docs/extending.md``.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import pkgutil
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.course import CourseError, defined_names, exercises, solution_source

BEGIN, END = "BEGIN SOLUTION", "END SOLUTION"  # as nbgrader looks for them: anywhere in a line
LOCKED = {"grade": False, "locked": True, "solution": False}
ANSWER = {"grade": False, "locked": False, "solution": True}
CHECK = {"grade": True, "locked": True, "solution": False}
EVERYWHERE = {"schema_version": 3, "task": False}


class BuildError(CourseError):
    """A lesson that cannot be built; the message names the file, the cell and its line."""


@dataclass(frozen=True)
class Cell:
    """A cell of a percent file: the file's name, the cell's number and the line of its marker, both from 1."""

    file: str
    number: int
    line: int
    type: str
    source: str
    meta: Mapping[str, Any]
    tags: Sequence[str]

    @property
    def grade_id(self) -> str:
        """The nbgrader id, or empty."""
        return str(self.meta.get("grade_id") or "")

    @property
    def answer(self) -> bool:
        """Whether learners write in it."""
        return self.type == "code" and bool(self.meta.get("solution"))

    def error(self, text: str, below: int = 0) -> BuildError:
        """The error with its place; ``below``: lines below the marker."""
        line = f", line {self.line + below}" if self.line else ""
        name = f" ({self.grade_id})" if self.grade_id else ""
        return BuildError(f"{self.file}, cell {self.number}{line}{name}: {text}")


def check_modules(root: Path) -> None:
    """BuildError where a module of ``grader/lessons`` cannot be imported, or is of a lesson that does not exist."""
    import grader.lessons

    for name in (found.name for found in pkgutil.iter_modules(grader.lessons.__path__)):
        file = f"grader/lessons/{name}.py"
        try:
            module = importlib.import_module(f"grader.lessons.{name}")
        except Exception as error:  # noqa: BLE001 - an author's module may raise anything
            raise BuildError(_said(error, file)) from None
        if not hasattr(module, "EXERCISES"):
            continue
        if not isinstance(module.EXERCISES, tuple | list):
            raise BuildError(f"{file}: EXERCISES is no tuple; with one exercise, write EXERCISES = (NAME,)")
        if not hasattr(module, "LESSON"):
            raise BuildError(f'{file}: no LESSON; write the lesson\'s name, as in LESSON = "05_my_lesson"')
        for lesson in (module.LESSON, *(exercise.lesson for exercise in module.EXERCISES)):
            if not solution_source(lesson, root).exists():
                raise BuildError(f"{file}: LESSON = {lesson!r}, but there is no solutions/{lesson}.py")


def _said(error: Exception, file: str) -> str:
    """File, line and what was raised: the line of ``file`` that led to it, or where the syntax is wrong."""
    if isinstance(error, SyntaxError):
        where = file if Path(error.filename or file).name == Path(file).name else error.filename
        return f"{where}, line {error.lineno}: {error.msg}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(file)]
    return f"{file}{f', line {lines[-1]}' if lines else ''}: {type(error).__name__}: {' '.join(str(error).split())}"


def cells_of(path: Path, notebook: Any) -> list[Cell]:
    """The cells of a notebook that jupytext read from ``path``. Lines are 0 where markers and cells do not pair."""
    lines = path.read_text(encoding="utf-8").splitlines()
    markers = [number for number, line in enumerate(lines, start=1) if line.startswith("# %%")]
    if len(markers) != len(notebook.cells):
        markers = [0] * len(notebook.cells)
    return [
        Cell(path.name, number, line, cell.cell_type, cell.source, cell.metadata.get("nbgrader", {}),
             cell.metadata.get("tags", ()))
        for number, (line, cell) in enumerate(zip(markers, notebook.cells, strict=True), start=1)
    ]  # fmt: skip


def check_lesson(path: Path, cells: Sequence[Cell]) -> None:
    """BuildError at the first mistake in a lesson's cells."""
    mine = [exercise.name for exercise in exercises().values() if exercise.lesson == path.stem]
    code = [cell for cell in cells if cell.type == "code"]
    seen: dict[str, int] = {}
    for cell in code:
        if not cell.grade_id:
            raise cell.error("a code cell without nbgrader metadata; give it a grade_id")
        if cell.grade_id in seen:
            raise cell.error(f"cell {seen[cell.grade_id]} has this grade_id already; rename one of them")
        seen[cell.grade_id] = cell.number
        check_metadata(cell)
    if code and code[0].grade_id != "setup":
        raise code[0].error('the first code cell must be the setup cell; put one with "grade_id": "setup" above it')
    for cell in cells:
        check_markers(cell, mine)
    check_names(code, mine)
    check_complete(path.name, code, mine)
    for cell in code:
        check_calls(cell, mine)


def check_metadata(cell: Cell) -> None:
    """The flags that go with a code cell's grade_id, and what a check cell needs besides."""
    name, meta = cell.grade_id, cell.meta
    checks = name.startswith("check_")
    if checks and meta.get("grade") and "points" not in meta:
        raise cell.error(f'no "points"; say how many points {name.removeprefix("check_")} is worth')
    for key, value in (_flags(cell) | EVERYWHERE).items():
        if meta.get(key) != value:
            wanted = str(value).lower()
            raise cell.error(f'"{key}" must be {wanted} here; see the table of cells in docs/extending.md')
    if checks and (isinstance(meta["points"], bool) or not isinstance(meta["points"], int | float)):
        raise cell.error(f'"points" is {meta["points"]!r}; write a number, without quotes')
    if checks and "raises-exception" not in cell.tags:
        raise cell.error('no tag raises-exception; end the marker line with tags=["raises-exception"]')


def _flags(cell: Cell) -> dict[str, bool]:
    """What the table of cells says about a cell with this grade_id."""
    name = cell.grade_id
    if name.startswith("check_"):
        return CHECK
    if name == "setup" or name.startswith(("demo_", "figure_")):
        return LOCKED
    if cell.answer or name.startswith("practice_") or name in exercises():
        return ANSWER
    raise cell.error("no such kind of cell; name it demo_… or figure_… (read-only), practice_… or as its function")


def check_markers(cell: Cell, mine: Sequence[str]) -> None:
    """Every BEGIN SOLUTION with its END, in answer cells only; around each reference there is a pair."""
    opened, pairs = 0, 0
    for number, line in enumerate(cell.source.splitlines(), start=1):
        if BEGIN in line and opened:
            raise cell.error("a second ### BEGIN SOLUTION before the ### END SOLUTION of the first", number)
        if BEGIN in line:
            opened, pairs = number, pairs + 1
        elif END in line and not opened:
            raise cell.error("### END SOLUTION without ### BEGIN SOLUTION; put it above the reference", number)
        elif END in line:
            opened = 0
    if opened:
        raise cell.error("### BEGIN SOLUTION without ### END SOLUTION; put it below the reference", opened)
    if pairs and not cell.answer:
        raise cell.error("a solution in a cell that learners do not write; move it into the answer cell")
    if cell.grade_id in mine and not pairs:
        raise cell.error("no solution is marked; put ### BEGIN SOLUTION and ### END SOLUTION around the reference")


def check_names(cells: Sequence[Cell], mine: Sequence[str]) -> None:
    """Answer cells and check cells belong to an exercise of the lesson."""
    have = {cell.grade_id for cell in cells}
    for cell in cells:
        name = cell.grade_id.removeprefix("check_")
        if name in mine or not (cell.answer or cell.meta.get("grade")) or name.startswith("practice_"):
            continue
        before, what, end = ("", "solution cell", ", or practice_… if it is not graded")
        if not cell.answer:
            before, what, end = "check_", "check cell", ""
        if free := [known for known in mine if before + known not in have]:
            best = difflib.get_close_matches(name, free, n=1, cutoff=0)[0]
            listed = ", ".join(mine)
            raise cell.error(
                f"{what} {cell.grade_id!r} is no exercise of this lesson ({listed}); name it {before}{best}{end}"
            )
        if name in exercises():
            raise cell.error(f"{name} is an exercise of {exercises()[name].lesson}, not of this lesson")
        raise cell.error(
            f"no module in grader/lessons has an exercise {name} in its EXERCISES; "
            f"add it there{end and ', or name the cell practice_… if it is not graded'}"
        )


def check_complete(file: str, cells: Sequence[Cell], mine: Sequence[str]) -> None:
    """Each exercise of the lesson has its answer cell and its check cell."""
    have = {cell.grade_id for cell in cells}
    for name in mine:
        if name not in have:
            raise BuildError(f"{file}: {name} has no answer cell (grade_id {name})")
        if f"check_{name}" not in have:
            raise BuildError(f"{file}: {name} has no check cell (grade_id check_{name})")


def check_calls(cell: Cell, mine: Sequence[str]) -> None:
    """No figure or demo stops Run All because an exercise is not written yet: only what is plain to see."""
    if not cell.grade_id.startswith(("demo_", "figure_")) or "raises-exception" in cell.tags:
        return
    names = set(mine) - set(defined_names(cell.source))
    try:
        found = [node for node in _executed(ast.parse(cell.source)) if isinstance(node, ast.Call)]
    except SyntaxError:  # a magic, say
        return
    for node in found:
        if isinstance(node.func, ast.Name) and node.func.id in names:
            name = node.func.id
            raise cell.error(
                f"{name} is called outside a picture, and stops the notebook of whoever has not written it; "
                f"draw in a function below @picture(alt=…, needs=[{name}])",
                node.lineno,
            )


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when a cell does: not the bodies of functions, nor what stands in a `try`."""
    yield node
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in inner.decorator_list:
                yield from _executed(decorator)
        elif not isinstance(inner, ast.Lambda | ast.Try):
            yield from _executed(inner)
