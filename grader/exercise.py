"""What an exercise is: the data that lessons, hidden tests, the judge and the report share.

Flow: an `Exercise` (public: `grader.lessons`) has `Group`s with weights and public example `Case`s;
`grader.hidden` adds generated cases per group and the misconceptions. Calling a function on a case gives an
`Outcome`; comparing it with the expected one gives verdicts (`grader.judge`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.tolerance import Tolerance
from grader.values import Value

#: What a group can look at. ``value`` is every number in the result, ``value:KEY`` one entry of it.
ASPECTS = ("value", "kind", "shape", "dtype", "device", "gradient", "inputs", "imports")
KEYED = ("value",)  # aspects that may be followed by a colon and a key of the result


@dataclass(frozen=True)
class Error:
    """An exception in learner code: the type's name, and where in the learner's own code (1-based)."""

    type: str
    cell: int = 0
    line: int = 0
    message: str = ""  # only from public runs: messages of hidden runs could carry hidden inputs


@dataclass(frozen=True)
class Outcome:
    """What one call did. ``status``: returned, raised, timeout, died, not run, missing.

    ``gradients`` maps argument names to a value, or to None where the result does not depend on the argument
    through the graph. ``changed`` maps each argument the call overwrote to what it became.
    """

    status: str
    result: Value = None
    gradients: Mapping[str, Value] = field(default_factory=dict)
    changed: Mapping[str, Value] = field(default_factory=dict)
    error: Error | None = None


@dataclass(frozen=True)
class Case:
    """One call. ``args`` in the order of the signature.

    ``differentiate`` names the arguments in which the gradient is taken: of the sum of the result, or of
    ``result[of].sum()`` where ``of`` names a key.
    ``expected`` and ``expected_gradients`` are authored for public examples and None for hidden cases (the
    reference gives them). ``tolerance`` overrides the exercise's. ``worked`` marks the examples a lesson prints.
    """

    args: Mapping[str, Value]
    note: str = ""
    expected: Value = None
    differentiate: tuple[str, ...] = ()
    of: str = ""
    expected_gradients: Mapping[str, Value] = field(default_factory=dict)
    tolerance: Tolerance | None = None
    worked: bool = False


@dataclass(frozen=True)
class Group:
    """Cases that stand or fall together for ``weight`` shares of the exercise's points (0: stretch).

    ``idea`` says in one sentence, for the card and the feedback, what the group asks. ``aspects`` are the
    properties that can fail it (see `ASPECTS`). ``tolerance`` overrides the exercise's for the group's cases.
    """

    name: str
    weight: int
    idea: str
    examples: tuple[Case, ...] = ()
    aspects: tuple[str, ...] = ("value",)
    tolerance: Tolerance | None = None


@dataclass(frozen=True)
class Exercise:
    """One graded function of a lesson. ``hints``: three steps of growing help, given by ``hint()``.

    ``imports``: top-level modules the function may use beside the standard library (None: any).
    """

    name: str
    lesson: str
    signature: tuple[str, ...]
    groups: tuple[Group, ...]
    tolerance: Tolerance
    hints: tuple[str, str, str]
    imports: frozenset[str] | None = None

    def group(self, name: str) -> Group:
        """The group called ``name``; KeyError where there is none."""
        return {group.name: group for group in self.groups}[name]


@dataclass(frozen=True)
class Misconception:
    """A wrong implementation people really write. ``parts``: ids, for a plausible double mistake."""

    id: str
    description: str
    hints: tuple[str, ...]
    parts: tuple[str, ...] = ()
