"""Numbers and tables a lesson quotes from the grader: ``<< points("dpo_loss") >>`` in a markdown cell.

They stand once, in the exercise; a lesson that quotes them cannot disagree with what is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import jinja2

from grader.course import ROOT, exercises
from grader.exercise import Case
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
    environment.globals.update(macros(points, titles))
    try:
        return environment.from_string(text).render()
    except (jinja2.TemplateError, KeyError, ValueError) as error:
        raise MacroError(f"macro in a markdown cell: {error}") from None


def macros(points: Mapping[str, float], titles: Mapping[str, str]) -> dict[str, Callable[..., str]]:
    """The macros by name."""
    return {
        "points": lambda name: points_table(name, points[name]),
        "tolerance": tolerance_text,
        "hints": hints_folded,
        "examples": examples_table,
        "course_map": lambda name: course_map(name, titles),
    }


def points_table(name: str, total: float) -> str:
    """Group, what it asks, points: as markdown."""
    exercise = exercises()[name]
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
    exercise = exercises()[name]
    own = {group.name: group.tolerance for group in exercise.groups if group.tolerance}
    others = [
        f"{tolerance.text} in {_listed([n for n in own if own[n] is tolerance])}"
        for tolerance in dict.fromkeys(own.values())
    ]
    return "; ".join([exercise.tolerance.text, *others])


def hints_folded(name: str) -> str:
    """The exercise's three hints, each folded."""
    folded = "<details><summary>Hint {}</summary>\n\n{}\n\n</details>"
    return "\n\n".join(folded.format(step, text) for step, text in enumerate(exercises()[name].hints, start=1))


def examples_table(name: str) -> str:
    """The worked examples as code, each a call and what it returns; the first three where none is marked."""
    exercise = exercises()[name]
    worked = {call_text(name, case): case for group in exercise.groups for case in group.examples if case.worked}
    shown = list(worked.values()) or exercise.groups[0].examples[:3]
    return "```python\n" + "\n\n".join(_example(name, case) for case in shown) + "\n```"


def _example(name: str, case: Case) -> str:
    results = [f"# {path or 'result'}: {value_text(leaf)}" for path, leaf in leaves(case.expected)]
    return "\n".join([call_text(name, case), *results])


def course_map(current: str, titles: Mapping[str, str]) -> str:
    """The lessons in order, the current one marked."""
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
