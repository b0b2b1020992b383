"""Numbers a lesson quotes stand once, in the grader."""

from __future__ import annotations

import pytest
from support import LESSONS, ROOT, released, source

from grader.course import exercises, lesson
from grader.macros import (
    MacroError,
    course_map,
    examples_table,
    expand,
    hints_folded,
    lesson_files,
    points_table,
    title_of,
)

TITLES = {"00_setup": "Zero", "01_kl_penalized_rewards": "One"}


@pytest.mark.parametrize("name", list(exercises()))
def test_points_table_adds_up(name: str) -> None:
    total = lesson(exercises()[name].lesson).points(name)
    rows = [row.split("|") for row in points_table(name, total).splitlines() if row.startswith("|")][2:]
    points = [row[3].strip() for row in rows[:-1]]
    assert [row[1].strip() for row in rows[:-1]] == [g.name for g in exercises()[name].groups]
    assert sum(float(p) for p in points if p != "stretch") == pytest.approx(total)
    assert points.count("stretch") == sum(not g.weight for g in exercises()[name].groups)
    assert rows[-1][3].strip() == f"**{total:g}**"


def test_hints_are_folded() -> None:
    text = hints_folded("dpo_loss")
    assert text.count("<details>") == text.count("</details>") == 3
    assert all(hint in text for hint in exercises()["dpo_loss"].hints)


def test_examples_are_calls_with_results() -> None:
    text = examples_table("implicit_reward")
    assert text.startswith("```python\nimplicit_reward(\n    policy_logprob=array([")
    assert text.count("# result: ") >= 1


def test_course_map_marks_where_you_are() -> None:
    assert course_map("01_kl_penalized_rewards", TITLES).splitlines() == [
        "- [Zero](../00_setup/00_setup.ipynb)",
        "- **One** ← you are here",
    ]


def test_expansion() -> None:
    assert expand("no macro", {}, {}) == "no macro"
    assert expand('a << tolerance("dpo_loss") >>', {}, {}).startswith(f"a {exercises()['dpo_loss'].tolerance.text}")
    assert "{{ x }} {% y %}" in expand('{{ x }} {% y %} << tolerance("dpo_loss") >>', {}, {})  # LaTeX and Jinja stay


@pytest.mark.parametrize(
    "text", ['<< points("nothing") >>', "<< unknown >>", "<< points( >>", '<< hints("nothing") >>']
)
def test_mistakes_are_said(text: str) -> None:
    with pytest.raises(MacroError, match="macro in a markdown cell: "):
        expand(text, {}, {})


def test_titles_and_files() -> None:
    files = lesson_files(ROOT)
    assert [path.stem[:3] for path in files] == ["00_", "01_", "02_", "03_", "04_"]
    assert all(title_of(path) != path.stem for path in files)


@pytest.mark.parametrize("name", LESSONS)
def test_no_macro_is_left_in_a_released_notebook(name: str) -> None:
    for cell in released(name)["cells"]:
        if cell["cell_type"] == "markdown":
            assert "<<" not in source(cell)
