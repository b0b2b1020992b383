"""Exports: the columns that the other gradebooks document, and no text that a spreadsheet would run.

Canvas's import: header ``Student, ID, SIS User ID, SIS Login ID, Section``, then assignments; second row ``Points
Possible``; UTF-8, RFC 4180. Moodle's: any header, mapped to ``useridnumber`` or ``useremail``.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from grader import exports

LESSON = "03_stable_dpo"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four students: on time, late, without a submission, and with a formula for a name."""
    path = tmp_path_factory.mktemp("book") / "gradebook.db"
    with Gradebook(f"sqlite:///{path}") as book:
        for name, points in ((LESSON, 10.0), ("01_kl_penalized_rewards", 10.0)):
            book.add_assignment(name)
            book.add_notebook(name, name)
            book.add_grade_cell("check_f", name, name, max_score=points, cell_type="code")
        book.add_student("ada", first_name="Ada", last_name="Lovelace", email="ada@example.org", lms_user_id="4711")
        book.add_student("bob", first_name="Böb", last_name="O'Neil, Jr.", email="bob@example.org", lms_user_id="4712")
        book.add_student("cyd", first_name="Cyd", last_name="Zero", lms_user_id="4713")
        book.add_student(
            "eve", first_name='=HYPERLINK("http://x","y")', last_name="@SUM(1)", email="+cmd|' /C calc'!A0"
        )
        for student, score, penalty in (("ada", 7.5, 0.0), ("bob", 10.0, 2.0), ("eve", 1 / 3, 0.0)):
            submission = book.add_submission(LESSON, student)
            submission.notebooks[0].late_submission_penalty = penalty
            submission.notebooks[0].grades[0].manual_score = score
            submission.notebooks[0].grades[0].needs_manual_grade = student == "ada"
        book.db.commit()
    return path


def rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_canvas(database: Path, tmp_path: Path) -> None:
    """The documented header and second row; matched by Canvas's own id; blank where nothing was handed in."""
    target, notes = exports.export_file(
        "canvas", str(database), tmp_path / "c.csv", [LESSON], [], {LESSON: "Homework 3 (8821)"}
    )
    made = rows(target)
    assert made[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Homework 3 (8821)"]
    assert made[1] == ["Points Possible", "", "", "", "", "10"]
    students = {row[3]: row for row in made[2:]}
    assert students["ada"] == ["Lovelace, Ada", "4711", "", "ada", "", "7.5"]
    assert students["bob"] == ["O'Neil, Jr., Böb", "4712", "", "bob", "", "8"]  # two points late
    assert students["cyd"][5] == ""
    assert students["eve"][1] == ""
    assert float(students["eve"][5]) == pytest.approx(1 / 3, abs=1e-4)
    assert notes == [
        "note: 1 submissions still wait for a human; their marks are not final",
        "note: 1 students have no lms_user_id, eve for one; their student id stands in",
    ]


def test_moodle(database: Path, tmp_path: Path) -> None:
    target, _ = exports.export_file("moodle", str(database), tmp_path / "m.csv", [], [])
    made = rows(target)
    assert made[0] == ["First name", "Last name", "ID number", "Email address", "01_kl_penalized_rewards", LESSON]
    assert ["Ada", "Lovelace", "4711", "ada@example.org", "", "7.5"] in made


def test_csv_has_nbgraders_columns(database: Path, tmp_path: Path) -> None:
    """The same columns in the same order as nbgrader's own exporter, and its numbers; but quoted."""
    from nbgrader.plugins import CsvExportPlugin

    with Gradebook(f"sqlite:///{database}") as book:
        theirs = CsvExportPlugin()
        theirs.to = str(tmp_path / "theirs.csv")
        theirs.export(book)
    target, _ = exports.export_file("csv", str(database), tmp_path / "ours.csv", [], [])
    ours, plain = rows(target), rows(tmp_path / "theirs.csv")
    assert ours[0] == plain[0]
    mine = next(row for row in ours if row[0] == LESSON and row[3] == "ada")
    assert [mine] == [row for row in plain if row[0] == LESSON and row[3] == "ada"]
    assert {len(row) for row in ours} == {11}  # theirs breaks at the comma of "O'Neil, Jr."


@pytest.mark.parametrize(
    "text", ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\tx", "\r=x", " =1", "-inf", "=HYPERLINK()", "＝1"]
)
def test_formulas_are_made_harmless(text: str) -> None:
    assert exports.harmless(text) == f"'{text}"


@pytest.mark.parametrize("value", ["-5", "+0.5", "-1e-3", "", "Ada", "O'Neil", "a=b", -3.5, 0, 4711])
def test_numbers_and_plain_text_stay(value: object) -> None:
    assert exports.harmless(value) == value


def test_no_cell_of_any_export_is_a_formula(database: Path, tmp_path: Path) -> None:
    for kind in exports.EXPORTERS:
        target, _ = exports.export_file(kind, str(database), tmp_path / f"{kind}.csv", [], [])
        cells = [cell for row in rows(target) for cell in row]
        assert any(cell.startswith("'=HYPERLINK") or "'@SUM(1)" in cell for cell in cells), kind
        assert not [cell for cell in cells if cell[:1] in tuple("=+@\t\r")], kind


def test_as_nbgrader_plugin(database: Path, tmp_path: Path) -> None:
    """`nbgrader export --exporter=…` finds the class and writes the same bytes as `grader export`."""
    command = [sys.executable, "-m", "nbgrader", "export", "--exporter=grader.exports.CanvasExporter"]
    command += [f"--db=sqlite:///{database}", "--to=canvas.csv"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    target, _ = exports.export_file("canvas", str(database), tmp_path / "ours.csv", [], [])
    assert (tmp_path / "canvas.csv").read_bytes() == target.read_bytes()


def test_names_that_the_gradebook_does_not_have(database: Path, tmp_path: Path) -> None:
    with pytest.raises(exports.ExportError, match="no student dan"):
        exports.export_file("csv", str(database), tmp_path / "x.csv", [], ["dan"])
    with pytest.raises(exports.ExportError, match=r"no gradebook nowhere\.db"):
        exports.export_file("csv", "nowhere.db", tmp_path / "x.csv", [], [])
    assert not list(tmp_path.iterdir())
