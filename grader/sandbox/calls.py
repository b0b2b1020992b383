"""What the sandbox is asked and what it answers: code, calls, and the outcomes of a run."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from grader import wire
from grader.exercise import Case, Error, Outcome

KNOWN = 32  # different answers to one call that are kept as read


@dataclass(frozen=True)
class Call:
    """One call of a learner's function."""

    function: str
    case: Case
    _known: dict[bytes, Outcome] = field(default_factory=dict, compare=False, repr=False)
    _kept: set[int] = field(default_factory=set, compare=False, repr=False)  # their ids

    def outcome(self, data: bytes, read: Callable[[bytes], Outcome]) -> Outcome:
        """What ``data`` says, read once for all submissions that say the same: the very same object then."""
        found = self._known.get(data)
        if found is None:
            found = read(data)
            if found.status == "returned" and len(data) < 2**16:  # an error names a line of its own submission
                if len(self._known) >= KNOWN:
                    self._known.clear()
                    self._kept.clear()
                self._known[data] = found
                self._kept.add(id(found))
        return found

    def keeps(self, outcome: Outcome) -> bool:
        """Whether the outcome is one of those that are kept: small, and free of words of its submission."""
        return id(outcome) in self._kept

    @functools.cached_property
    def message(self) -> bytes:
        """What the child is sent beside the call's number. Made once for a whole class."""
        args = [part for name, value in self.case.args.items() for part in (name, wire.encode(value))]
        asked = {"differentiate": list(self.case.differentiate), "of": self.case.of}
        return wire.dumps({"function": self.function, "args": args, **asked})


@dataclass
class Code:
    """What a child runs: numbered cells, and modules written by ``%%writefile``."""

    cells: Sequence[tuple[int, str]]
    modules: dict[str, str] = field(default_factory=dict)

    def definitions_only(self, number: int) -> Code:
        """The same code with cell ``number`` cut down to its imports, functions, classes and constants."""
        cells = [(n, definitions(source) if n == number else source) for n, source in self.cells]
        return Code(cells, self.modules)


def definitions(source: str) -> str:
    """``source`` with every statement blanked that is no import, definition or constant; lines keep their numbers."""
    lines = source.splitlines()
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return ""
    keep = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
    for node in statements:
        constant = isinstance(node, ast.Assign) and not any(isinstance(n, ast.Call) for n in ast.walk(node))
        if not (isinstance(node, keep) or constant):
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return "\n".join(lines)


@dataclass(frozen=True)
class Run:
    """What a submission did: an outcome per call, its cells' errors, the CPU seconds used, and what went wrong."""

    outcomes: list[Outcome]
    errors: list[Error]
    seconds: float
    problems: list[str]
