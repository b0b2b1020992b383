"""docs/extending.md, step by step, in a copy of the course: what it says works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from course_copy import course_copy, fenced, run_console

from grader.course import ROOT

GUIDE = ROOT / "docs" / "extending.md"


def todos_are_defects(copy: Path) -> None:
    """Right after the scaffold is built, `verify` blames the new function for each TODO, and no other one."""
    script = (
        "from grader import scaffold, verify\n"
        "wanted = {f'TODO at {todo}' for todo in scaffold.todos()}\n"
        "settings = verify.Settings(verify.ROOT, ('proof 1',), 'process')\n"
        "found = {defect.text for defect in verify.prove('best_of_n_kl', settings).defects}\n"
        "assert wanted and wanted <= found, wanted - found\n"
        "assert not scaffold.todos_of(scaffold.exercises()['dpo_loss'])\n"
    )
    (copy / "todos.py").write_text(script, encoding="utf-8")
    run_console("$ python todos.py", copy)


@pytest.mark.slow
def test_every_step_of_the_tutorial_works(tmp_path: Path) -> None:
    """Files are written where the guide says, commands run in order, and what they print is what the guide shows."""
    copy = course_copy(tmp_path)
    printed = ""
    steps = 0
    for language, info, text in fenced(GUIDE):
        if info.startswith("file="):
            path = copy / info.removeprefix("file=")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif language == "console":
            printed = run_console(text, copy)
        elif language == "text":
            missing = [line for line in text.splitlines() if line not in printed]
            assert not missing, f"{missing} not in what was printed:\n{printed}"
            if "TODO(new)" in printed:
                todos_are_defects(copy)
        steps += 1
    assert steps > 10
    # the tests of the whole course hold for a course with one more lesson
    names = "exercise course tolerance macros scaffold".split()
    run_console("$ python -m pytest -q " + " ".join(f"tests/test_{name}.py" for name in names), copy)
    page = (copy / "dashboard.html").read_text(encoding="utf-8")
    assert "Only a policy" not in page  # the second step of the hint is for the learner who asks
    assert "What does your bound give for n = 1" in page


def test_the_guide_names_every_field() -> None:
    """Its reference lists each field of the dataclasses and each aspect; the dataclasses are the truth."""
    from dataclasses import fields

    from grader.exercise import ASPECTS, Case, Exercise, Group

    text = GUIDE.read_text(encoding="utf-8")
    for kind in (Exercise, Group, Case):
        section = text.partition(f"### `{kind.__name__}`")[2].partition("\n### ")[0]
        rows = "".join(line.split("|")[1] for line in section.splitlines() if line.startswith("| `"))
        assert set(re.findall(r"`(\w+)`", rows)) == {field.name for field in fields(kind)}, kind
    assert all(f"`{aspect}`" in text for aspect in ASPECTS)
