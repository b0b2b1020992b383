"""The gradebook on a PostgreSQL server: named in GRADER_TEST_POSTGRES, an address that may create databases.

The expected marks are those of the same class in SQLite.
"""

import multiprocessing
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbgrader import api
from nbgrader.api import Gradebook
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from grader import sample
from grader.classroom import Order, grade_class
from grader.course import ROOT
from grader.task import Settings

SERVER = os.environ.get("GRADER_TEST_POSTGRES", "")
pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not SERVER, reason="no PostgreSQL server: GRADER_TEST_POSTGRES is not set"),
]
SETTINGS = Settings("test", isolation="process", disclosure="hints")


@pytest.fixture
def database() -> Iterator[str]:
    """The address of a new, empty database."""
    name = f"gradebook_{uuid.uuid4().hex}"
    server = create_engine(SERVER, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield make_url(SERVER).set(database=name).render_as_string(hide_password=False)
    with server.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    server.dispose()


def demo_class(root: Path, lessons: tuple[str, ...] = ()) -> list[sample.Student]:
    """The demo's sample class in a course folder."""
    root.mkdir(parents=True)
    (root / "nbgrader_config.py").write_text(
        (ROOT / "nbgrader_config.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    students = [s for s in sample.sample_class() if s.name != "quine" and (not lessons or s.lesson in lessons)]
    for student in students:
        sample.write(student, root / "submitted")
    return students


def graded_into(root: str, address: str) -> None:
    """Grade a course folder into a gradebook."""
    place = Path(root)
    grade_class(Order([place / "submitted"], SETTINGS, gradebook=True, db=address, feedback=place / "feedback"))


def marks(address: str) -> list[tuple[object, ...]]:
    """Every mark and comment in a gradebook, doubles included."""
    with Gradebook(address) as book:
        grades = [
            (g.student.id, g.assignment.name, g.name, g.auto_score, g.manual_score, g.needs_manual_grade, g.score)
            for g in book.db.query(api.Grade)
        ]
        comments = [(c.student.id, c.assignment.name, c.name, str(c.comment)) for c in book.db.query(api.Comment)]
        return sorted([*grades, *comments], key=str)


def test_the_demo_class_has_the_marks_it_has_in_sqlite(tmp_path: Path, database: str) -> None:
    students = demo_class(tmp_path / "course")
    graded_into(str(tmp_path / "course"), database)
    local = f"sqlite:///{tmp_path}/gradebook.db"
    graded_into(str(tmp_path / "course"), local)
    assert marks(database) == marks(local)
    with Gradebook(database) as book:
        assert len(book.students) == len(students)


def test_two_graders_on_one_class_lose_and_double_nothing(tmp_path: Path, database: str) -> None:
    lessons = ("03_stable_dpo", "04_reward_kl_frontier")
    for place in ("one", "two", "three"):
        demo_class(tmp_path / place, lessons)
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=graded_into, args=(str(tmp_path / place), database)) for place in ("one", "two")]
    for process in both:
        process.start()
    for process in both:
        process.join(300)
        assert process.exitcode == 0
    local = f"sqlite:///{tmp_path}/gradebook.db"
    graded_into(str(tmp_path / "three"), local)
    assert marks(database) == marks(local)


def test_a_humans_mark_stays_when_the_class_is_graded_again(tmp_path: Path, database: str) -> None:
    demo_class(tmp_path / "course", ("04_reward_kl_frontier",))
    graded_into(str(tmp_path / "course"), database)
    where = ("04_reward_kl_frontier", "04_reward_kl_frontier", "ulam")
    with Gradebook(database) as book:
        book.find_grade("check_optimal_policy", *where).manual_score = 2.5
        book.find_comment("optimal_policy", *where).manual_comment = "See me."
        book.db.commit()
    graded_into(str(tmp_path / "course"), database)
    with Gradebook(database) as book:
        assert book.find_grade("check_optimal_policy", *where).score == 2.5
        assert book.find_comment("optimal_policy", *where).comment == "See me."
