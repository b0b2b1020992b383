"""`grader regrade`: whose marks would move, by how much and why, before anything is written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from support import references, run_grader

from grader import hidden, marks, notebook, regrade, report, sample
from grader.grading import Grader
from grader.report import ExerciseResult, GroupResult, SubmissionResult, failed
from grader.resultfiles import ResultsError, read_results

LESSON = "03_stable_dpo"


def exercise(passed: bool, weight: float = 2.0) -> ExerciseResult:
    groups = (GroupResult("far range", weight if passed else 0.0, weight, passed, "" if passed else "differs"),)
    return ExerciseResult("dpo_loss", "passed" if passed else "failed", weight if passed else 0.0, weight, groups)


def result(passed: bool, **receipt: str) -> SubmissionResult:
    made = exercise(passed)
    return SubmissionResult("submitted/ada/x.ipynb", LESSON, "graded", made.points, 2.0, (), (made,), receipt)


def test_a_flipped_group_and_its_cause() -> None:
    """Old: passed, 2 points. New: failed, 0. The receipts differ in the exercises only."""
    old, new = result(True, exercises="aa", secret="s"), result(False, exercises="bb", secret="s")
    (move,) = regrade.compare([old], [new])
    assert (move.before, move.after) == (2.0, 0.0)
    assert move.why == ("dpo_loss: “far range” fails now (differs)",)
    assert move.causes == ("the exercises changed",)
    assert list(regrade.lines([move], 1)) == [
        "submitted/ada/x.ipynb  03_stable_dpo  2 → 0 (−2)",
        "    dpo_loss: “far range” fails now (differs)",
        "    because: the exercises changed",
        "1 graded again: 0 would rise, 1 would fall, 0 keep their mark",
    ]


def test_the_same_mark_is_no_move() -> None:
    """Other seconds, versions or hints move nobody; the largest change comes first."""
    assert regrade.compare([result(True, versions="1")], [result(True, versions="2")]) == []
    heavier = replace(result(True), points=3.0, exercises=(exercise(True, 3.0),))
    lost = failed("submitted/ada/x.ipynb", LESSON, "broken")
    moves = regrade.compare([result(True), result(True)], [heavier, lost])
    assert [m.after - m.before for m in moves] == [-2.0, 1.0]
    assert moves[0].why[0] == "graded before, failed now: broken"
    assert moves[1].why == ("dpo_loss: “far range” is worth 3, not 2",)


def test_regrading_through_the_command(warm: Grader, tmp_path: Path) -> None:
    """Stored marks that a (pretended) stricter test has lowered: --diff says so and writes nothing; --json writes."""
    wrong = hidden.misconceptions("dpo_grad")[0].id
    stored = []
    for student, answers in (
        ("ada", references(LESSON)),
        ("bob", {**references(LESSON), "dpo_grad": sample.wrong_answer("dpo_grad", wrong)}),
    ):
        path = tmp_path / "submitted" / student / LESSON / f"{LESSON}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(sample.answered(LESSON, answers)), encoding="utf-8")
        stored.append(warm.grade(notebook.load(path, LESSON, f"submitted/{student}/{LESSON}/{LESSON}.ipynb")))
    last = stored[1].exercises[-1]
    flattered = replace(
        last, points=4.0, groups=tuple(replace(g, passed=True, points=g.max_points) for g in last.groups)
    )
    stored[1] = replace(stored[1], points=10.0, exercises=(*stored[1].exercises[:-1], flattered))
    (tmp_path / "old.json").write_text(json.dumps(report.to_json(stored)), encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    options = ("--secret", "test", "--isolation", "process")
    done = run_grader("regrade", "old.json", "--diff", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"submitted/bob/{LESSON}/{LESSON}.ipynb  {LESSON}  10 → " in done.stdout
    assert "fails now" in done.stdout
    assert done.stdout.splitlines()[-1] == "2 graded again: 0 would rise, 1 would fall, 1 keep their mark"
    assert sorted(tmp_path.rglob("*")) == before
    (tmp_path / "submitted").rename(tmp_path / "elsewhere")
    missing = run_grader("regrade", "old.json", "--diff", *options, cwd=tmp_path)
    assert missing.returncode == 1
    assert "is not there: name the folder" in missing.stderr
    done = run_grader("regrade", "old.json", "elsewhere", "--json", "new.json", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    fresh = list(read_results(tmp_path / "new.json"))
    assert fresh[0].points == 10.0
    assert fresh[1].points < 10.0


def test_what_is_no_result(tmp_path: Path) -> None:
    for text, said in (
        ("{", "no JSON"),
        ("[]", "no results"),
        ('{"schema": 0}', "another version"),
        ("{}", "another version"),
    ):
        path = tmp_path / "x.json"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ResultsError, match=said):
            list(read_results(path))


def test_results_in_a_gradebook(warm: Grader, tmp_path: Path) -> None:
    """Autograded notebooks give the results back; a score that a human changed in the gradebook counts."""
    data = json.dumps(sample.answered(LESSON, references(LESSON))).encode()
    graded = warm.grade(notebook.loads(data, f"{LESSON}.ipynb", LESSON))
    path = tmp_path / "autograded" / "ada" / LESSON / f"{LESSON}.ipynb"
    path.parent.mkdir(parents=True)
    made = marks.marked(data, path.name, notebook.lesson(LESSON), graded)
    path.write_text(json.dumps(made), encoding="utf-8")
    (read,) = read_results(tmp_path)
    assert read.submission == str(tmp_path / "submitted" / "ada" / LESSON / f"{LESSON}.ipynb")
    assert read.exercises == graded.exercises
    assert read.receipt == graded.receipt
    with Gradebook(f"sqlite:///{tmp_path}/gradebook.db") as book:
        book.add_assignment(LESSON)
        book.add_notebook(LESSON, LESSON)
        book.add_grade_cell("check_dpo_loss", LESSON, LESSON, max_score=4.0, cell_type="code")
        book.add_student("ada")
        book.add_submission(LESSON, "ada").notebooks[0].grades[0].manual_score = 1.5
        book.db.commit()
    (read,) = read_results(tmp_path / "gradebook.db")
    assert {e.name: e.points for e in read.exercises}["dpo_loss"] == 1.5
    assert read.points == 10.0 - 4.0 + 1.5
    path.write_text("{", encoding="utf-8")
    (read,) = read_results(tmp_path)
    assert (read.status, read.problems) == ("failed", ("its autograded notebook cannot be read",))
    path.unlink()
    with pytest.raises(ResultsError, match="holds no autograded notebook"):
        list(read_results(tmp_path))
