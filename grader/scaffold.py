"""`grader new`: the files of a new exercise, right from the start and full of TODOs; and what is still to do."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import jinja2

from grader.course import ROOT, exercises
from grader.exercise import Exercise

MARK = "TODO(new)"
PLACES = ("solutions/*.py", "grader/lessons/*.py", "grader/hidden/*/*.py", "tests/lessons/*.py")


class ScaffoldError(ValueError):
    """What was asked for cannot be made; the message says why."""


@dataclass(frozen=True)
class Plan:
    """Names of a new exercise. ``module``: of its file in ``grader/lessons``; ``fresh``: whether the lesson is new.

    ``position``: which exercise of its lesson it will be, from 1.
    """

    lesson: str
    function: str
    module: str
    fresh: bool
    position: int


def plan(lesson: str, function: str = "", root: Path = ROOT) -> Plan:
    """The names for ``grader new LESSON --exercise FUNCTION``. ScaffoldError where they are taken or no names."""
    if not (root / "solutions").is_dir():
        raise ScaffoldError(
            f"{root} holds no solutions/: run this from a clone of the course, installed with `make setup`"
        )
    if not re.fullmatch(r"\d\d_[a-z][a-z0-9_]*", lesson):
        raise ScaffoldError(f"{lesson!r} is no lesson name: two digits, then lower-case words, as in 05_my_lesson")
    stem = lesson[3:]
    function = function or stem
    if not re.fullmatch(r"[a-z][a-z0-9_]*", function) or keyword.iskeyword(function):
        raise ScaffoldError(f"{function!r} is no function name: lower-case words joined by _, as in my_loss")
    if (root / "grader" / "hidden" / function).exists():
        raise ScaffoldError(f"the course has a function {function} already (grader/hidden/{function})")
    if clash := [p.stem for p in (root / "solutions").glob(f"{lesson[:2]}_*.py") if p.stem != lesson]:
        raise ScaffoldError(f"number {lesson[:2]} is taken by {clash[0]}")
    percent = root / "solutions" / f"{lesson}.py"
    if not percent.exists():
        return Plan(lesson, function, stem, True, 1)
    before = re.findall(r"^# ## Exercise \d", percent.read_text(encoding="utf-8"), re.MULTILINE)
    return Plan(lesson, function, f"{stem}_{function}", False, len(before) + 1)


def files(chosen: Plan, root: Path = ROOT) -> dict[Path, str]:
    """Path -> text of everything a new exercise needs."""
    hidden = root / "grader" / "hidden" / chosen.function
    percent = root / "solutions" / f"{chosen.lesson}.py"
    made = {root / "grader" / "lessons" / f"{chosen.module}.py": _text("module.py", chosen)}
    made |= {hidden / f"{'__init__' if name == 'init' else name}.py": _text(f"{name}.py", chosen) for name in HIDDEN}
    made[root / "tests" / "lessons" / f"test_{chosen.module}.py"] = _text("test.py", chosen)
    if chosen.fresh:
        made[percent] = _text("lesson.py", chosen)
    else:
        made[percent] = _graded_too(percent.read_text(encoding="utf-8"), chosen) + "\n" + _text("exercise.py", chosen)
    return made


def _graded_too(text: str, chosen: Plan) -> str:
    """A lesson's text with the function added to the row of its card that lists the graded ones."""
    row = r"^(# \| \*\*Graded\*\* \|.*`\w+`)"
    return re.sub(row, rf"\1, `{chosen.function}`", text, count=1, flags=re.MULTILINE).rstrip("\n")


HIDDEN = ("init", "cases", "wrong", "sound")


def _text(template: str, chosen: Plan) -> str:
    folder = Path(__file__).parent / "templates" / "new"
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder), undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    words = chosen.lesson[3:].replace("_", " ")
    return environment.get_template(f"{template}.j2").render(
        lesson=chosen.lesson,
        number=int(chosen.lesson[:2]),
        title=words[:1].upper() + words[1:],
        function=chosen.function,
        constant=chosen.function.upper(),
        module=chosen.module,
        position=chosen.position,
    )


def create(lesson: str, function: str = "", root: Path = ROOT) -> list[Path]:
    """Write the files of a new exercise; in a lesson that exists, its cells are put at the end. What was written."""
    made = files(plan(lesson, function, root), root)
    percent = root / "solutions" / f"{lesson}.py"
    if taken := [path for path in made if path.exists() and path != percent]:
        raise ScaffoldError(f"{taken[0].relative_to(root)} exists already; nothing was written")
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(made)


def todos(root: Path = ROOT) -> list[str]:
    """What `grader new` left open, as ``path:line: what to do``. `grader verify` fails until the list is empty."""
    return list(_open(root))


def todos_of(exercise: Exercise, root: Path = ROOT) -> list[str]:
    """The open TODOs in the files of one exercise; what stands above a lesson's first exercise is that one's."""
    return [todo for todo in todos(root) if _owner(root, *todo.split(":")[:2]) == exercise.name]


def _owner(root: Path, path: str, line: str) -> str:
    """The exercise that a line of a file belongs to; the last of the course where nothing tells."""
    parts, known = Path(path).parts, exercises()
    if parts[1] == "hidden":
        return parts[2]
    text = (root / path).read_text(encoding="utf-8")
    if parts[0] == "solutions":
        above = "\n".join(text.splitlines()[: int(line)])
        headings: list[str] = re.findall(r"^# ## Exercise[^`\n]*`(\w+)`", above, re.MULTILINE)
        mine = [name for name in reversed(headings) if name in known]
        mine += [name for name, exercise in known.items() if exercise.lesson == Path(path).stem]
    else:
        mine = [name for name in known if re.search(rf"\b{name}\b", text, re.IGNORECASE)]
    return [*mine, *reversed(known)][0]


def _open(root: Path) -> Iterator[str]:
    for path in (path for place in PLACES for path in sorted(root.glob(place))):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if MARK in line:
                what = line.partition(MARK)[2].lstrip(": ").strip(' |"')
                yield f"{path.relative_to(root)}:{number}: {what}"
