"""The guides for learners, instructors and operators: every command in them runs, and prints what the page shows.

`docs/extending.md` has a test of its own. What would open a window or install packages is run dry.
"""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest
from course_copy import course_copy, fenced, run_console
from support import references

from grader import hidden, sample
from grader.course import ROOT

GUIDES = ("learner", "instructor", "operator")
LESSON = "03_stable_dpo"
DRY = {"make lab": "make -n lab"}  # a dry run instead of a window that stays open
LONGEST = 120  # lines: one page each


def hand_in(copy: Path, answers: dict[str, str]) -> str:
    return json.dumps(sample.answered(LESSON, answers, copy), indent=1)


def materials(copy: Path) -> None:
    """What a reader of the guides has at hand: a class list, and a Moodle download with its worksheet."""
    right = references(LESSON)
    wrong = sample.wrong_answer("dpo_loss", hidden.misconceptions("dpo_loss")[0].id)
    people = {"ada": ("31", right), "bob": ("32", {**right, "dpo_loss": wrong}), "cyd": ("33", {})}
    with zipfile.ZipFile(copy / "moodle.zip", "w") as packed:
        for name, (number, answers) in people.items():
            packed.writestr(f"{name.title()}_{number}_assignsubmission_file_/{LESSON}.ipynb", hand_in(copy, answers))
    listed = ["id,first_name,last_name,email,lms_user_id"]
    listed += [f"{name},{name.title()},X,{name}@example.org,u{number}" for name, (number, _) in people.items()]
    (copy / "students.csv").write_text("\n".join(listed) + "\n", encoding="utf-8")
    rows = ["Identifier,Full name,Email address,Status"]
    rows += [
        f"Participant {number},{name.title()} X,{name}@example.org,Submitted" for name, (number, _) in people.items()
    ]
    (copy / "worksheet.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


def walk(copy: Path, guide: str) -> None:
    """Run the guide's console blocks in order; after each, the text block that follows it is in what was printed."""
    printed, seen = "", 0
    for language, _, text in fenced(ROOT / "docs" / f"{guide}.md"):
        if language == "console":
            for command, instead in DRY.items():
                text = text.replace(f"$ {command}\n", f"$ {instead}\n")
            printed, seen = run_console(text, copy), seen + 1
        elif language == "text":
            missing = [line for line in text.splitlines() if line not in printed]
            assert not missing, f"{guide}: {missing} not in what was printed:\n{printed}"
    assert seen


@pytest.mark.slow
def test_learner(tmp_path: Path) -> None:
    copy = course_copy(tmp_path)
    path = copy / "notebooks" / LESSON / f"{LESSON}.ipynb"
    path.write_text(hand_in(copy, references(LESSON)), encoding="utf-8")
    walk(copy, "learner")


@pytest.mark.slow
def test_instructor_and_operator(tmp_path: Path) -> None:
    """One course, from before the term to an upgrade: the operator's page goes on where the instructor's ends."""
    copy = course_copy(tmp_path)
    materials(copy)
    walk(copy, "instructor")
    canvas = (copy / "canvas.csv").read_text(encoding="utf-8").splitlines()
    assert canvas[0] == "Student,ID,SIS User ID,SIS Login ID,Section,Homework 3 (8821)"
    assert '"X, Ada",u31,,ada,,10' in canvas
    assert '"X, Cyd",u33,,cyd,,0' in canvas
    feedback = copy / "feedback" / "bob" / LESSON / f"{LESSON}.html"
    assert hidden.misconceptions("dpo_loss")[0].hints[0] in feedback.read_text(encoding="utf-8")
    walk(copy, "operator")


@pytest.mark.parametrize("guide", GUIDES)
def test_one_page_and_no_dead_link(guide: str) -> None:
    """Short enough to be read, and every link to a file of ours leads to one."""
    path = ROOT / "docs" / f"{guide}.md"
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (path.parent / target).exists(), target
    assert all(len(line) <= 140 for line in text.splitlines())


def test_shell_blocks_are_named_as_not_run() -> None:
    """Only the operator's page has them, and it says so."""
    for guide in GUIDES:
        text = (ROOT / "docs" / f"{guide}.md").read_text(encoding="utf-8")
        assert ("```sh" in text) == (guide == "operator")
        assert "```bash" not in text
    assert "was not run by that test" in (ROOT / "docs" / "operator.md").read_text(encoding="utf-8")
