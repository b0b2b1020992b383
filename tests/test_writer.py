"""The batch path leaves what nbgrader's own autograde and generate_feedback leave."""

import datetime
import json
from contextlib import chdir
from pathlib import Path

import nbformat
import pytest
from nbgrader import api
from nbgrader.api import Gradebook

from grader import sample
from grader.build import venv_first, write_sources
from grader.classroom import Order, grade_class
from grader.course import ROOT, graded_lessons
from grader.coursefolder import CourseFolder, root_of, student_problem
from grader.demo import course_api, ingest
from grader.task import Settings
from grader.writer import Writer

SETTINGS = Settings("demo", disclosure="hints")
CONFIG = (ROOT / "nbgrader_config.py").read_text(encoding="utf-8")
#: A week late for the zero penalty below; Copenhagen is an hour ahead of UTC in January.
DUE, LATE = datetime.datetime(2030, 1, 8), "2030-01-08 01:00:01.000000 Europe/Copenhagen"


def course(root: Path, students: list[sample.Student], extra: str = "") -> Path:
    """A course folder with submissions, as collected by nbgrader."""
    root.mkdir()
    (root / "nbgrader_config.py").write_text(CONFIG + extra, encoding="utf-8")
    for student in students:
        sample.write(student, root / "submitted")
    return root


def by_batch(root: Path, **options: object) -> list[str]:
    """Grade the course through the batch path; the status of each result."""
    order = Order([root / "submitted"], SETTINGS, gradebook=True, feedback=root / "feedback", **options)
    return [result.status for result in grade_class(order).results]


def by_nbgrader(root: Path, students: list[sample.Student]) -> None:
    """Grade the course with nbgrader's own commands and our preprocessors."""
    venv_first()
    for student in students:
        ingest(root / "submitted" / student.name / student.lesson / f"{student.lesson}.{student.file}")
    with chdir(root):
        api_ = course_api(root, "confined")
        api_.config.Grade.secret = SETTINGS.secret
        for student in students:
            for step in (api_.autograde, api_.generate_feedback):
                answer = step(student.lesson, student.name)
                assert answer["success"], answer


def rows(root: Path) -> dict[str, object]:
    """Everything a gradebook says about marks, without ids."""
    found: dict[str, object] = {}
    with Gradebook(f"sqlite:///{root}/gradebook.db") as book:
        for submission in book.db.query(api.SubmittedAssignment):
            key = f"{submission.student.id}/{submission.name}"
            found[key] = (submission.timestamp, submission.score, submission.max_score, submission.needs_manual_grade)
            for nb in submission.notebooks:
                found[f"{key}/penalty"] = nb.late_submission_penalty
                for g in nb.grades:
                    found[f"{key}/{g.name}"] = (
                        g.auto_score,
                        g.manual_score,
                        g.extra_credit,
                        g.needs_manual_grade,
                        g.score,
                    )
                for c in nb.comments:
                    found[f"{key}/{c.name}/comment"] = (c.auto_comment, c.manual_comment, c.comment)
    return found


def tree(root: Path, folder: str) -> set[str]:
    """Names of the files below a folder."""
    return {str(p.relative_to(root)) for p in (root / folder).rglob("*") if p.is_file()}


def cells(path: Path) -> list[tuple[object, ...]]:
    """What nbgrader and formgrader read of an autograded notebook's cells."""
    nb = nbformat.read(path, as_version=4)
    kept = []
    for cell in nb.cells:
        meta = dict(cell.metadata.get("nbgrader", {}))
        outputs = [dict(o.get("data", {})) for o in cell.get("outputs", [])]
        kept.append((cell.cell_type, cell.source, meta, outputs))
    return kept


@pytest.fixture(scope="module")
def students() -> list[sample.Student]:
    """Right, blank, wrong, without metadata, a syntax error, a script: of the sample class."""
    chosen = [s for s in sample.sample_class() if s.lesson in ("02_spo_regression", "03_stable_dpo")]
    return [s for s in chosen if s.name in ("fermat", "gauss", "kolmogorov", "ostrowski", "ramanujan", "shannon")]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, students: list[sample.Student]) -> tuple[Path, Path]:
    """The same class graded both ways, with a due date, a late submission, and marks of a human from before."""
    base = tmp_path_factory.mktemp("both")
    penalty = '\nc.LateSubmissionPlugin.penalty_method = "zero"\n'
    roots = base / "batch", base / "nbgrader"
    for root in roots:
        course(root, students, penalty)
        late = root / "submitted" / "fermat" / "02_spo_regression" / "timestamp.txt"
        late.write_text(LATE, encoding="utf-8")
        (late.parent / "notes.txt").write_text("handed in beside the notebook", encoding="utf-8")
        assert by_batch(root) == ["graded"] * len(students)  # enters lessons and students
        with Gradebook(f"sqlite:///{root}/gradebook.db") as book:
            book.update_or_create_assignment("02_spo_regression", duedate=DUE)
            grade = book.find_grade("check_spo_loss", "02_spo_regression", "02_spo_regression", "kolmogorov")
            grade.manual_score, grade.extra_credit, grade.needs_manual_grade = 4.5, 0.25, False
            book.find_comment(
                "spo_loss", "02_spo_regression", "02_spo_regression", "kolmogorov"
            ).manual_comment = "Nearly!"
            book.db.commit()
    assert by_batch(roots[0], jobs=2) == ["graded"] * len(students)
    for folder in ("autograded", "feedback"):
        for path in sorted((roots[1] / folder).rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
    by_nbgrader(roots[1], students)
    return roots


def test_both_paths_give_the_same_rows(both: tuple[Path, Path]) -> None:
    batch, nbgrader = map(rows, both)
    assert batch == nbgrader
    assert batch["kolmogorov/02_spo_regression/check_spo_loss"] == (0.0, 4.5, 0.25, True, 4.75)
    assert batch["kolmogorov/02_spo_regression/spo_loss/comment"] == ("No response.", "Nearly!", "Nearly!")
    # 00:00:01 UTC on the due date: a second late, and the plugin is configured to take everything
    assert batch["fermat/02_spo_regression"][0] == datetime.datetime(2030, 1, 8, 0, 0, 1)
    assert batch["fermat/02_spo_regression/penalty"] == 10.0


def test_both_paths_leave_the_same_files(both: tuple[Path, Path]) -> None:
    for folder in ("autograded", "feedback"):
        assert tree(both[0], folder) == tree(both[1], folder)
    assert (both[0] / "autograded/fermat/02_spo_regression/notes.txt").read_text() == "handed in beside the notebook"


def test_both_paths_give_the_same_notebooks(both: tuple[Path, Path], students: list[sample.Student]) -> None:
    for student in students:
        name = f"autograded/{student.name}/{student.lesson}/{student.lesson}.ipynb"
        mine, theirs = cells(both[0] / name), cells(both[1] / name)
        for a, b in zip(mine, theirs, strict=True):
            assert a == b, student.name


def test_both_paths_give_the_same_feedback_page(both: tuple[Path, Path], students: list[sample.Student]) -> None:
    for student in students:
        name = f"feedback/{student.name}/{student.lesson}/{student.lesson}.html"
        assert (both[0] / name).read_text() == (both[1] / name).read_text(), student.name
    blank = next(student for student in students if not student.answers)
    page = (both[0] / f"feedback/{blank.name}/{blank.lesson}/{blank.lesson}.html").read_text()
    assert "not attempted" in page
    assert "No response." not in page  # nbgrader's comment, which would also stand beside cells that need no answer
    assert "Nearly!" in (both[0] / "feedback/kolmogorov/02_spo_regression/02_spo_regression.html").read_text()
    assert (
        "Late submission penalty: 10"
        in (both[0] / "feedback/fermat/02_spo_regression/02_spo_regression.html").read_text()
    )


def test_a_lesson_is_entered_as_generate_assignment_enters_it(tmp_path: Path) -> None:
    """Same cells, points, checksums; generate_assignment reads the source that the released notebook was made from."""
    theirs, mine = tmp_path / "theirs", tmp_path / "mine"
    for root in (theirs, mine):
        course(root, [])
    write_sources(ROOT, theirs / "build" / "source")
    venv_first()
    with chdir(theirs):
        for name in graded_lessons():
            answer = course_api(theirs, "confined").generate_assignment(name, force=True)
            assert answer["success"], answer
    with Writer(CourseFolder(mine)) as writer:
        for name in graded_lessons():
            writer._cells(name)
    assert entered(mine) == entered(theirs)


def entered(root: Path) -> list[tuple[object, ...]]:
    """Every cell of every lesson in the gradebook."""
    with Gradebook(f"sqlite:///{root}/gradebook.db") as book:
        found = []
        for nb in book.db.query(api.Notebook).join(api.Assignment).order_by(api.Assignment.name):
            found.append((nb.assignment.name, nb.name, json.loads(nb.kernelspec)["name"], nb.max_score))
            found += sorted((c.name, c.max_score, c.cell_type) for c in nb.grade_cells)
            found += sorted(c.name for c in nb.solution_cells)
            found += sorted((c.name, c.cell_type, c.locked, c.source, c.checksum) for c in nb.source_cells)
        return found


@pytest.mark.parametrize("name", ["..", ".", "", "a\nb", "x" * 129, "=1+1", "+a", "-a", "@a", " a", "\udcff"])
def test_hostile_student_ids_are_refused(name: str) -> None:
    assert student_problem(name)


@pytest.mark.parametrize("name", ["ada", "o'neill", "李雷", "a.b-c_d@x.org", "<b>", "{x}", "%s", "[ab]*", "x" * 128])
def test_odd_student_ids_are_fine(name: str, tmp_path: Path) -> None:
    assert not student_problem(name)
    folder = CourseFolder(tmp_path).autograded(name, "01_kl_penalized_rewards")
    assert folder == tmp_path / "autograded" / name / "01_kl_penalized_rewards"


def test_the_course_is_where_the_submissions_lie(tmp_path: Path) -> None:
    (tmp_path / "submitted").mkdir()
    with chdir(tmp_path):
        assert root_of([Path("submitted")]) == tmp_path
    with chdir(ROOT):
        assert root_of([tmp_path / "submitted"]) == ROOT  # only here is a configuration
        (tmp_path / "nbgrader_config.py").touch()
        assert root_of([tmp_path / "submitted"]) == tmp_path
