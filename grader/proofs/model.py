"""What a proof found: plain data, so that it crosses from the processes that make it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Defect:
    """Something that must hold and does not. ``culprit`` names it: a function, a misconception, a group.

    ``where`` is the file in which it is to be mended, with the line where one is known.
    """

    culprit: str
    text: str
    where: str = ""

    def __str__(self) -> str:
        return f"{self.culprit}: {self.text}" + (f" ({self.where})" if self.where else "")


def counted(number: float, thing: str) -> str:
    """``1 defect``, ``2 defects``."""
    return f"{number:g} {thing}" + ("" if number == 1 else "s")


@dataclass(frozen=True)
class Row:
    """What grading a misconception showed.

    ``killed``: groups that fail. ``share``: of the points, 0 to 1. ``error``: its largest error on a group of values,
    in tolerances. ``expected``: the ids it should come back under; ``found`` those it does from a hidden-test run,
    ``checked`` from `check`, which is None where the public examples cannot tell it apart. ``raised``: what most of
    its calls raise, in words.
    """

    id: str
    description: str
    killed: frozenset[str]
    share: float
    error: float
    expected: frozenset[str]
    found: tuple[str, ...]
    checked: tuple[str, ...] | None
    raised: str = ""


@dataclass(frozen=True)
class FunctionProof:
    """What was seen of one function. ``groups``: name and weight; errors are in tolerances, with who made them."""

    function: str
    groups: tuple[tuple[str, int], ...] = ()
    tolerance: str = ""
    rows: tuple[Row, ...] = ()
    sound: int = 0
    worst_sound: tuple[float, str] = (0.0, "")
    nearest: tuple[float, str] = (0.0, "")
    defects: tuple[Defect, ...] = ()


@dataclass(frozen=True)
class Proof:
    """Everything seen, function by function. ``secrets``: how many the sound variants were graded under."""

    functions: tuple[FunctionProof, ...]
    secrets: int

    @property
    def defects(self) -> list[Defect]:
        """Every defect, in course order."""
        return [defect for function in self.functions for defect in function.defects]

    def rate(self) -> tuple[int, int]:
        """(how many misconceptions come back under their own id from a hidden-test run, how many there are)."""
        rows = [row for function in self.functions for row in function.rows]
        return sum(set(row.found) == row.expected for row in rows), len(rows)

    def public_rate(self) -> tuple[int, int]:
        """The same from `check`, among those that the public examples tell apart."""
        rows = [row for function in self.functions for row in function.rows if row.checked is not None]
        return sum(set(row.checked or ()) == row.expected for row in rows), len(rows)
