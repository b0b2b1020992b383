"""Numbers a lesson quotes stand once, in the grader."""

from __future__ import annotations

import re

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
    ("text", "said"),
    [
        ('<< points("dpo_los") >>', "no exercise 'dpo_los'; did you mean dpo_loss?"),
        ('<< hints("dpo_los") >>', "no exercise 'dpo_los'; did you mean dpo_loss?"),
        ('<< tolerance("zzz") >>', "no exercise 'zzz'"),
        ('<< points("dpo_loss") >>', "dpo_loss has no check cell (grade_id check_dpo_loss) here: it belongs to 03_"),
        ('<< exmples("dpo_loss") >>', "no macro exmples; there are points, tolerance, hints, examples, course_map"),
        ("<< hints(dpo_loss) >>", 'dpo_loss stands without quotes; write "dpo_loss"'),
        ("<< hints >>", 'hints needs a name in parentheses, as in hints("dpo_loss")'),
        ("<< hints() >>", "hints takes one name in quotes"),
        ('<< course_map("01_kl") >>', "no lesson '01_kl'; there are 00_setup, 01_kl_penalized_rewards"),
        ("<< points( >>", ""),  # jinja2's own words
    ],
)
def test_mistakes_are_said(text: str, said: str) -> None:
    with pytest.raises(MacroError, match=f"^macro in a markdown cell: {re.escape(said)}"):
        expand(text, {}, TITLES)


def test_titles_and_files() -> None:
    files = lesson_files(ROOT)
    assert {str(lesson.values[0]) for lesson in LESSONS} <= {path.stem for path in files}
    assert files == sorted(files)
    assert all(title_of(path) != path.stem for path in files)


@pytest.mark.parametrize("name", LESSONS)
def test_no_macro_is_left_in_a_released_notebook(name: str) -> None:
    for cell in released(name)["cells"]:
        if cell["cell_type"] == "markdown":
            assert "<<" not in source(cell)
