"""The learner's check: run the public examples of an exercise, say what is off and which idea it points to."""

from __future__ import annotations

import dis
import functools
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader import fingerprints
from grader.attempts import record
from grader.course import exercises
from grader.diagnosis import diagnose
from grader.exercise import Case, Exercise, Misconception, Outcome
from grader.judge import Judged, Verdict, is_property, judge_group, not_attempted
from grader.observe import observe
from grader.values import Tensor


class CheckFailed(Exception):
    """Raised by `check` so that Validate and autograding see the failure. Shown as its one line, no traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@dataclass(frozen=True)
class Checked:
    """The public verdicts on a function, and the misconceptions it agrees with."""

    exercise: Exercise
    verdicts: tuple[Verdict, ...]
    attempted: bool
    misconceptions: tuple[Misconception, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every group that is worth points passes."""
        return self.attempted and all(v.passed for v in self.verdicts if v.group.weight)

    @property
    def share(self) -> float:
        """The share of the exercise's points that the public examples would earn, 0 to 1."""
        total = sum(v.group.weight for v in self.verdicts)
        right = [v for v in self.verdicts if v.passed and v.group.weight]
        some_numbers = any(not is_property(v.group) for v in right)
        return sum(v.group.weight for v in right) / total if some_numbers else 0.0


_current: dict[str, Any] = {"name": "", "hints": (), "step": 0}


def check(function: Callable[..., Any]) -> None:
    """Run the public examples of the exercise that ``function`` is an answer to.

    Prints one line when all is well. Raises `CheckFailed` (one line, no traceback) when not, or not attempted.
    """
    exercise = exercises().get(_name_of(function, sys._getframe(1).f_globals))
    if exercise is None:
        raise CheckFailed(f"check knows no exercise {_label(function)}. It checks: {', '.join(exercises())}.") from None
    checked = run_checks(exercise, function)
    record(exercise.name, checked.share if checked.attempted else None)
    hints = [h for m in checked.misconceptions for h in m.hints] or list(exercise.hints)
    _current.update(name=exercise.name, hints=hints, step=1 if checked.misconceptions else 0)
    _show(checked)
    if not checked.passed:
        raise CheckFailed(summary(checked)) from None


def run_checks(exercise: Exercise, function: Callable[..., Any]) -> Checked:
    """Call ``function`` on every public example and judge it; diagnose what fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a branch not taken may warn: that is allowed
        judged = {g.name: [_judged(function, c, not g.weight) for c in g.examples] for g in exercise.groups}
    everything = [item for group in judged.values() for item in group]
    flaw = live_import_flaw(function, exercise.imports) if exercise.imports else ""
    shown = [g for g in exercise.groups if not any(map(_waits, g.examples))]
    verdicts = tuple(judge_group(exercise, g, judged[g.name], flaw) for g in shown)
    checked = Checked(exercise, verdicts, not not_attempted([item for v in verdicts for item in v.judged]))  # as called
    if not checked.attempted or all(v.passed for v in verdicts):
        return checked
    known, prints = fingerprints.load(exercise.name)
    ran = [index for index, item in enumerate(everything) if not _waits(item.case)]
    wrong = {name: [outcomes[index] for index in ran] for name, outcomes in prints.items()}
    found = diagnose(exercise, [everything[index] for index in ran], known, wrong)
    return Checked(exercise, verdicts, True, tuple(found))


def _judged(function: Callable[..., Any], case: Case, stretch: bool) -> Judged:
    expected = Outcome("returned", case.expected, dict(case.expected_gradients))
    received = expected if _waits(case) else observe(function, case.args, case.differentiate, case.of)
    return Judged(case, expected, received, stretch)


def _waits(case: Case) -> bool:
    """Whether a case is left to the grading: on the meta device torch first imports a second's worth of modules."""
    on_meta = any(isinstance(value, Tensor) and value.device == "meta" for value in case.args.values())
    return on_meta and "torch._dynamo" not in sys.modules


def summary(checked: Checked) -> str:
    """One line on a check."""
    name = checked.exercise.name
    if not checked.attempted:
        return f"{name}: not attempted yet. Write its body in the cell above, and run both cells."
    graded = [v for v in checked.verdicts if v.group.weight]
    passed = sum(v.passed for v in graded)
    if checked.passed:
        missed = [v.group.name for v in checked.verdicts if not v.passed]
        return f"✓ {name}: all {passed} checks pass" + (f" (stretch, no points: {', '.join(missed)})" if missed else "")
    return f"✗ {name}: {passed} of {len(graded)} checks pass"


def _name_of(function: Any, names: Mapping[str, Any]) -> str:
    """The exercise a function answers: its own name, or the graded name it is bound to (a lambda, a wrapper)."""
    own = str(getattr(function, "__name__", ""))
    bound = [name for name in exercises() if name in names and names[name] is function]
    return own if own in exercises() else bound[0] if bound else own


def _label(function: Any) -> str:
    return f"`{getattr(function, '__name__', type(function).__name__)}`"


def _show(checked: Checked) -> None:
    from grader import render

    if not checked.attempted:
        return
    render.show(render.check_html(checked), render.check_text(checked))


def hint(name: str = "") -> None:
    """The next hint: on the misconception the last check found, else on the exercise. ``name``: another exercise."""
    from grader import render

    if name and name != _current["name"]:
        if name not in exercises():
            print(f"hint knows no exercise {name!r}. It knows: {', '.join(exercises())}.")
            return
        _current.update(name=name, hints=list(exercises()[name].hints), step=0)
    hints: Sequence[str] = _current["hints"]
    if not hints:
        print("Run a check first, or name the exercise: hint('dpo_loss').")
        return
    step = min(int(_current["step"]), len(hints) - 1)
    _current["step"] = step + 1
    text = f"Hint {step + 1} of {len(hints)} for {_current['name']}: {hints[step]}"
    render.show(render.note_html(text), text)


def live_import_flaw(function: Callable[..., Any], allowed: frozenset[str]) -> str:
    """The import rule on live functions: the modules behind the names that reachable code uses."""
    todo: list[Any] = [function]
    seen: dict[int, Any] = {}  # the objects too: an id may be used again once its object is gone
    while todo:
        current = todo.pop()
        if id(current) in seen:
            continue
        seen[id(current)] = current
        todo += _inside(current)
        if not isinstance(current, types.FunctionType):
            continue
        for module, value in _used(current.__code__, current.__globals__):
            if module in allowed or module in sys.stdlib_module_names:
                continue
            if not _is_own(module):
                rule = f"only {', '.join(sorted(allowed))} and the standard library are allowed"
                return f"`{current.__name__}` uses {module}; {rule}"
            if not isinstance(value, types.ModuleType):
                todo.append(value)
    return ""


def _inside(thing: Any) -> list[Any]:
    """What a call of ``thing`` may run beside its own code: wrapped functions, methods, what a closure holds."""
    found = [getattr(thing, "__wrapped__", None), getattr(thing, "__func__", None), getattr(thing, "__self__", None)]
    if isinstance(thing, functools.partial):
        found.append(thing.func)
    elif isinstance(thing, types.FunctionType):
        found += [cell.cell_contents for cell in thing.__closure__ or () if cell != types.CellType()]
    elif isinstance(thing, type):
        found += vars(thing).values() if _is_own(thing.__module__.split(".")[0]) else []
    else:
        found.append(type(thing))
    return [item for item in found if callable(item)]


def _is_own(module: str) -> bool:
    """Whether a module is the learner's: the notebook itself, or a file beside it."""
    origin = getattr(sys.modules.get(module), "__file__", None)
    if module == "__main__" or origin is None:
        return module == "__main__" or (module in sys.modules and module not in sys.builtin_module_names)
    return Path(origin).resolve().parent == Path.cwd()


def _used(code: types.CodeType, names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """(top-level module, object) behind each global and each import inside a code object, nested ones included."""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            yield str(instruction.argval).split(".")[0], None
        elif instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and instruction.argval in names:
            value = names[instruction.argval]
            home = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
            if isinstance(home, str):
                yield home.split(".")[0], value
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _used(constant, names)


def _quiet_hook(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> None:
    if issubclass(kind, CheckFailed):
        print(error, file=sys.stderr)
    else:
        _previous_hook(kind, error, trace)


_previous_hook = sys.excepthook
sys.excepthook = _quiet_hook
