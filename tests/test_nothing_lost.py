"""Killed, without room, or locked out, and run again: every submission ends graded exactly once.

What each submission earns is known: the reference all points, a blank none.
"""

import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from nbgrader import api
from nbgrader.api import Gradebook
from support import BIN, references

from grader import sample
from grader.classroom import Order, grade_class
from grader.course import ROOT
from grader.files import RecordingError, write_whole
from grader.task import Settings

LESSON = "03_stable_dpo"
EARNED = {"implicit_reward": 2.0, "dpo_loss": 4.0, "dpo_grad": 4.0}


def make_class(root: Path, size: int) -> Path:
    """A course of ``size`` submissions: in turn all right, blank, and one function missing."""
    root.mkdir()
    (root / "nbgrader_config.py").write_text(
        (ROOT / "nbgrader_config.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    right = references(LESSON)
    kinds = [right, {}, {name: text for name, text in right.items() if name != "dpo_loss"}]
    for number in range(size):
        sample.write(sample.Student(f"student{number:02}", LESSON, kinds[number % 3]), root / "submitted")
    return root


def grader(root: Path, *options: str, **how: object) -> subprocess.Popen[str]:
    """`grader grade` on the course, in a process of its own."""
    command = [
        str(BIN / "grader"),
        "grade",
        str(root / "submitted"),
        "--gradebook",
        "--feedback",
        str(root / "feedback"),
    ]
    command += ["--secret", "test", "--isolation", "process", *options]
    return subprocess.Popen(command, cwd=root, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **how)


def finish(root: Path, *options: str) -> str:
    """Run the grader to its end; what it said."""
    process = grader(root, *options)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said
    return said


def check_course(root: Path, size: int, human: dict[str, float]) -> None:
    """Each submission is there once, with its marks; humans' marks stay; every file is whole."""
    with Gradebook(f"sqlite:///{root}/gradebook.db") as book:
        found = book.db.query(api.SubmittedAssignment).all()
        assert sorted(s.student.id for s in found) == [f"student{n:02}" for n in range(size)]
        for submission in found:
            kind = int(submission.student.id[-2:]) % 3
            assert len(submission.notebooks) == 1
            grades = {g.name.removeprefix("check_"): g for n in submission.notebooks for g in n.grades}
            lost = {0: [], 1: list(EARNED), 2: ["dpo_loss"]}[kind]
            expected = {name: 0.0 if name in lost else points for name, points in EARNED.items()}
            assert {name: g.auto_score for name, g in grades.items()} == expected
            if submission.student.id in human:
                assert grades["dpo_loss"].manual_score == human[submission.student.id]
    for number in range(size):
        place = Path(f"student{number:02}", LESSON)
        nb = json.loads((root / "autograded" / place / f"{LESSON}.ipynb").read_text(encoding="utf-8"))
        assert nb["metadata"]["grader"]["receipt"]["submission"]
        assert (root / "feedback" / place / f"{LESSON}.html").read_text(encoding="utf-8").endswith("</html>")
    assert not list(root.rglob("*.part"))
    assert not list(root.rglob("gradebook.db-journal"))


def descendants(pid: int) -> set[int]:
    """All processes below ``pid``."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = {int(child) for child in task.read_text().split()}
        except OSError:
            continue
        found |= children | {d for child in children for d in descendants(child)}
    return found


def give(root: Path, student: str, points: float) -> None:
    """A human marks dpo_loss by hand, as formgrader does."""
    with Gradebook(f"sqlite:///{root}/gradebook.db") as book:
        grade = book.find_grade("check_dpo_loss", LESSON, LESSON, student)
        grade.manual_score, grade.needs_manual_grade = points, False
        book.db.commit()


def until(condition: Callable[[], bool], seconds: float = 120) -> None:
    """Wait for a condition; fails when it does not come."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_random_moments_and_run_again(tmp_path: Path, seed: int) -> None:
    size, rng = 30, random.Random(seed)
    root = make_class(tmp_path / "course", size)
    human: dict[str, float] = {}
    for kill in range(4):
        process = grader(root, "--jobs", "2", "--only-changed")
        seen = len(list(root.glob("autograded/*/*/*.ipynb")))
        wanted = seen + rng.randrange(0, 8)
        until(lambda p=process, n=wanted: p.poll() is not None or len(list(root.glob("autograded/*/*/*.ipynb"))) >= n)
        time.sleep(rng.random() * (2.0 if kill == 0 else 0.2))
        below = descendants(process.pid)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        until(lambda pids=below: not any(Path(f"/proc/{p}").exists() for p in pids), 30)  # nothing is left running
        marked = sorted(p.parts[-3] for p in root.glob("autograded/*/*/*.ipynb"))
        if marked and not human:
            human[marked[0]] = 1.5
            give(root, marked[0], 1.5)
    finish(root, "--jobs", "2", "--only-changed")
    check_course(root, size, human)
    assert f"0 failed, {size} unchanged" in finish(root, "--only-changed")
    finish(root)  # all of it again: nothing doubles
    check_course(root, size, human)


@pytest.mark.slow
def test_no_room_for_the_gradebook(tmp_path: Path) -> None:
    root = make_class(tmp_path / "course", 6)
    process = grader(root, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000)))
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 1
    assert "Error: the gradebook refuses" in said
    assert "Traceback" not in said
    finish(root, "--only-changed")
    check_course(root, 6, {})


@pytest.mark.slow
def test_no_room_for_a_file(tmp_path: Path) -> None:
    root = make_class(tmp_path / "course", 6)
    (root / "submitted" / "student03" / LESSON / "data.bin").write_bytes(b"x" * 1_500_000)
    process = grader(root, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000)))
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 1
    assert "File too large. What was recorded stays; run the command again with --only-changed" in " ".join(
        said.split()
    )
    assert not list(root.rglob("*.part"))
    finish(root, "--only-changed")
    check_course(root, 6, {})
    assert (root / "autograded" / "student03" / LESSON / "data.bin").stat().st_size == 1_500_000


def test_a_locked_gradebook_is_said_and_survived(tmp_path: Path) -> None:
    root = make_class(tmp_path / "course", 3)
    address = f"sqlite:///{root}/gradebook.db?timeout=0.1"
    settings = Settings("test", isolation="process")
    order = Order([root / "submitted"], settings, gradebook=True, feedback=root / "feedback", db=address)
    with Gradebook(address):
        other = sqlite3.connect(root / "gradebook.db")
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(RecordingError, match=r"database is locked\. What was recorded stays; run the command again"):
        grade_class(order)
    assert not list(root.glob("autograded/**/*.ipynb"))
    other.rollback()
    other.close()
    grade_class(order)
    check_course(root, 3, {})


def test_two_writers_of_a_file_leave_one_whole_file(tmp_path: Path) -> None:
    target = tmp_path / "folder" / "page.html"
    texts = [bytes([letter]) * 300_000 for letter in b"ab"]
    pids = []
    for text in texts:
        pid = os.fork()
        if pid == 0:
            for _ in range(50):
                write_whole(target, text)
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        assert os.waitpid(pid, 0)[1] == 0
    assert target.read_bytes() in texts
    assert [p.name for p in target.parent.iterdir()] == ["page.html"]


def test_what_a_killed_writer_left_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / ".page.html.part").write_bytes(b"half of something longer than the page")
    write_whole(tmp_path / "page.html", b"page", 0o444)
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]
    assert (tmp_path / "page.html").read_bytes() == b"page"
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o444


def test_no_link_is_followed_when_writing(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"mine")
    (tmp_path / ".page.html.part").symlink_to(outside)
    with pytest.raises(OSError, match="symbolic link"):
        write_whole(tmp_path / "page.html", b"page")
    assert outside.read_bytes() == b"mine"
