"""The import rule of lesson 3, judged statically on the code reachable from the graded function."""

from __future__ import annotations

import ast
import functools
import symtable
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.course import bound_names
from grader.exercise import Exercise
from grader.sandbox.calls import Code


@dataclass(frozen=True)
class Bound:
    """A top-level statement, with the cell it stands in."""

    cell: int
    node: ast.stmt

    @functools.cached_property
    def mentioned(self) -> frozenset[str]:
        """Every name that stands in it: `used` and more, and much quicker."""
        return frozenset(node.id for node in ast.walk(self.node) if isinstance(node, ast.Name))

    @functools.cached_property
    def used(self) -> frozenset[str]:
        """Names it looks up outside itself: a local variable is not the global of the same name."""
        todo, found = [symtable.symtable(ast.unparse(self.node), "<statement>", "exec")], set[str]()
        while todo:
            table = todo.pop()
            top = table.get_type() == "module"
            found |= {s.get_name() for s in table.get_symbols() if s.is_referenced() and (top or s.is_global())}
            todo += table.get_children()
        return frozenset(found)


def import_flaw(
    cells: Sequence[tuple[int, str]], function: str, allowed: frozenset[str], modules: Mapping[str, str] | None = None
) -> str:
    """The first use of a module outside ``allowed`` and the standard library, as a sentence; empty when there is none.

    ``modules``: source of the modules that the learner made in a cell, which are allowed as far as what they import is.
    """
    bindings = _bindings(cells)
    fine = allowed | sys.stdlib_module_names
    mentioned = _reachable(bindings, function, lambda bound: bound.mentioned)
    if all(module in fine for bound in mentioned for module, _ in _all_imports(bound.node, modules or {})):
        return ""  # not even what shares a name with something the function looks up imports anything else
    for bound in _reachable(bindings, function, lambda bound: bound.used):
        for module, line in _all_imports(bound.node, modules or {}):
            if module not in fine:
                return (
                    f"`{function}` uses {module} (cell {bound.cell}, line {line}); "
                    f"only {', '.join(sorted(allowed))} and the standard library are allowed"
                )
    return ""


def flaw_of(exercise: Exercise, code: Code) -> str:
    """`import_flaw` of a submission's code, by the rule of the exercise; empty where it has none."""
    if not exercise.imports:
        return ""
    return import_flaw(code.cells, exercise.name, exercise.imports, code.modules)


def _bindings(cells: Sequence[tuple[int, str]]) -> dict[str, Bound]:
    """Name -> the last top-level statement that binds it."""
    return {name: bound for cell in cells for name, bound in _bound_in(*cell).items()}


@functools.lru_cache(64)  # a lesson's setup cell is everybody's, and a submission is asked about each of its functions
def _bound_in(number: int, source: str) -> dict[str, Bound]:
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return {name: Bound(number, _only(node, name)) for node in body for name in bound_names(node)}


def _only(node: ast.stmt, name: str) -> ast.stmt:
    """An import statement cut down to the alias that binds ``name``: `import numpy, torch` is not one thing."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [a for a in node.names if (a.asname or a.name).split(".")[0] == name]
        cut = ast.Import(names) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, names, node.level)
        return ast.copy_location(cut, node)
    return node


def _reachable(
    bindings: Mapping[str, Bound], function: str, names_in: Callable[[Bound], frozenset[str]]
) -> Iterator[Bound]:
    """The statements the function needs, by the names in each of them; itself first, each once."""
    todo, seen = [function], {function}
    while todo:
        bound = bindings.get(todo.pop(0))
        if bound is None:
            continue
        yield bound
        names = names_in(bound)
        todo += sorted(names - seen)
        seen |= names


def _all_imports(node: ast.AST, modules: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """`_imports`, with what the learner's own ``modules`` import in their place."""
    for module, line in _imports(node):
        if module not in modules:
            yield module, line
            continue
        others = {name: source for name, source in modules.items() if name != module}
        try:
            inner = ast.parse(modules[module])
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # it cannot be imported either
        yield from ((name, line) for name, _ in _all_imports(inner, others) if name != module)


def _imports(node: ast.AST) -> Iterator[tuple[str, int]]:
    """(top-level module, line) of every import in a statement, `__import__("x")` and `import_module("x")` included."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Import):
            yield from ((alias.name.split(".")[0], inner.lineno) for alias in inner.names)
        elif isinstance(inner, ast.ImportFrom) and inner.module and not inner.level:
            yield inner.module.split(".")[0], inner.lineno
        elif isinstance(inner, ast.Call) and inner.args and isinstance(inner.args[0], ast.Constant):
            called = inner.func.attr if isinstance(inner.func, ast.Attribute) else getattr(inner.func, "id", "")
            if called in ("__import__", "import_module") and isinstance(inner.args[0].value, str):
                yield inner.args[0].value.split(".")[0], inner.lineno
