"""Numbers and tables a lesson quotes from the grader: ``<< points("dpo_loss") >>`` in a markdown cell.

They stand once, in the exercise; a lesson that quotes them cannot disagree with what is judged.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import jinja2
from jinja2 import nodes

from grader.course import ROOT, exercises
from grader.exercise import Case, Exercise
from grader.judge import is_property
from grader.render import call_text, points_text, value_text
from grader.values import leaves


class MacroError(ValueError):
    """A macro in a lesson that cannot be expanded; the message names it."""


def expand(text: str, points: Mapping[str, float], titles: Mapping[str, str]) -> str:
    """``text`` with its macros expanded. ``points``: per exercise; ``titles``: lesson -> heading, in order."""
    if "<<" not in text:
        return text
    environment = jinja2.Environment(
        variable_start_string="<<", variable_end_string=">>", undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        block_start_string="<<%", block_end_string="%>>", comment_start_string="<<#", comment_end_string="#>>",
    )  # fmt: skip
    known = macros(points, titles)
    environment.globals.update(known)
    try:
        _check_names(environment.parse(text), known)
        return environment.from_string(text).render()
    except (jinja2.TemplateError, ValueError) as error:
        raise MacroError(f"macro in a markdown cell: {error}") from None


def _check_names(tree: nodes.Template, known: Iterable[str]) -> None:
    """ValueError where a macro does not exist, is not called with one argument, or has one without quotes."""
    calls = list(tree.find_all(nodes.Call))
    called = [call.node for call in calls]
    for name in tree.find_all(nodes.Name):
        inside = any(name in call.args for call in calls)
        if inside and name.name not in known:
            raise ValueError(f'{name.name} stands without quotes; write "{name.name}"')
        if name.name not in known:
            raise ValueError(f"no macro {name.name}; there are {', '.join(known)}")
        if not any(name is one for one in called):
            raise ValueError(f'{name.name} needs a name in parentheses, as in {name.name}("dpo_loss")')
    for call in calls:
        if len(call.args) != 1 and isinstance(call.node, nodes.Name):
            raise ValueError(f"{call.node.name} takes one name in quotes")


def macros(points: Mapping[str, float], titles: Mapping[str, str]) -> dict[str, Callable[..., str]]:
    """The macros by name."""
    return {
        "points": lambda name: points_table(name, _points_of(name, points)),
        "tolerance": tolerance_text,
        "hints": hints_folded,
        "examples": examples_table,
        "course_map": lambda name: course_map(name, titles),
    }


def _points_of(name: str, points: Mapping[str, float]) -> float:
    """What the check cell says; ValueError where this lesson has none."""
    exercise = _exercise(name)
    if name not in points:
        raise ValueError(f"{name} has no check cell (grade_id check_{name}) here: it belongs to {exercise.lesson}")
    return points[name]


def _exercise(name: str) -> Exercise:
    """The exercise called ``name``; ValueError, with the nearest name, where there is none."""
    if name not in exercises():
        near = difflib.get_close_matches(str(name), exercises(), n=1)
        raise ValueError(f"no exercise {name!r}" + (f"; did you mean {near[0]}?" if near else ""))
    return exercises()[name]


def points_table(name: str, total: float) -> str:
    """Group, what it asks, points: as markdown."""
    exercise = _exercise(name)
    weights = sum(group.weight for group in exercise.groups)
    rows = ["| group | what it asks | points |", "|---|---|---|"]
    for group in exercise.groups:
        worth = points_text(total * group.weight / weights) if group.weight else "stretch"
        rows.append(f"| {group.name} | {group.idea} | {worth} |")
    rows.append(f"| **all** | | **{points_text(total)}** |")
    properties = [group.name for group in exercise.groups if group.weight and is_property(group)]
    if properties:
        rows += ["", f"A group passes as a whole. {_listed(properties)} count once some group of values is right."]
    return "\n".join(rows)


def _listed(names: list[str]) -> str:
    quoted = [f"*{name}*" for name in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]


def tolerance_text(name: str) -> str:
    """The exercise's tolerance, and what groups of their own ask."""
    exercise = _exercise(name)
    own = {group.name: group.tolerance for group in exercise.groups if group.tolerance}
    others = [
        f"{tolerance.text} in {_listed([n for n in own if own[n] is tolerance])}"
        for tolerance in dict.fromkeys(own.values())
    ]
    return "; ".join([exercise.tolerance.text, *others])


def hints_folded(name: str) -> str:
    """The exercise's three hints, each folded."""
    folded = "<details><summary>Hint {}</summary>\n\n{}\n\n</details>"
    return "\n\n".join(folded.format(step, text) for step, text in enumerate(_exercise(name).hints, start=1))


def examples_table(name: str) -> str:
    """The worked examples as code, each a call and what it returns; the first three where none is marked."""
    exercise = _exercise(name)
    worked = {call_text(name, case): case for group in exercise.groups for case in group.examples if case.worked}
    shown = list(worked.values()) or exercise.groups[0].examples[:3]
    return "```python\n" + "\n\n".join(_example(name, case) for case in shown) + "\n```"


def _example(name: str, case: Case) -> str:
    results = [f"# {path or 'result'}: {value_text(leaf)}" for path, leaf in leaves(case.expected)]
    return "\n".join([call_text(name, case), *results])


def course_map(current: str, titles: Mapping[str, str]) -> str:
    """The lessons in order, the current one marked; ValueError where it is none of them."""
    if current not in titles:
        raise ValueError(f"no lesson {current!r}; there are {', '.join(titles)}")
    rows = []
    for name, title in titles.items():
        link = f"[{title}](../{name}/{name}.ipynb)"
        rows.append(f"- **{title}** ← you are here" if name == current else f"- {link}")
    return "\n".join(rows)


def title_of(path: Path) -> str:
    """A lesson's first heading."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# # "):
            return line[4:].strip()
    return path.stem


def lesson_files(root: Path = ROOT) -> list[Path]:
    """The percent files of the course, in order."""
    return sorted((root / "solutions").glob("[0-9][0-9]_*.py"))
