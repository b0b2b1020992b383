"""Grading on a Dask cluster: a scheduler and two workers, each a process of its own.

The marks are those of the same submissions graded in this process.
"""

import json
import os
import pickle
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import ClassVar

import pytest
from support import BIN, references

from grader import sample, wire
from grader.batch import discover, read
from grader.classroom import Order, grade_class
from grader.course import graded_lessons, lesson
from grader.engines import Here, Lost, drive
from grader.grading import Grader
from grader.prepared import pack, unpack
from grader.receipt import exercises_digest, secret_digest, without_secret
from grader.sandbox.client import SandboxError
from grader.task import Graded, Settings, Task

pytest.importorskip(
    "distributed", reason="Dask is not installed: pip install 'preference-optimization-course[cluster]'"
)

LESSON = "03_stable_dpo"
SETTINGS = Settings("a secret for this test", isolation="process", disclosure="hints")


@contextmanager
def cluster(folder: Path, *worker_options: str) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """(address, worker processes) of a scheduler with two workers."""
    where = folder / "scheduler.json"
    exercises_digest.cache_clear()  # the workers start with the files as they are now
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    dask = str(BIN / "dask")
    base = [dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(where)]
    processes = [subprocess.Popen(base, **quiet)]
    try:
        until(lambda: where.exists() and where.read_text().strip().endswith("}"))
        address = json.loads(where.read_text())["address"]
        one = [
            dask,
            "worker",
            address,
            "--nthreads",
            "1",
            "--no-dashboard",
            "--local-directory",
            str(folder),
            *worker_options,
        ]
        processes += [subprocess.Popen(one, **quiet) for _ in range(2)]
        yield address, processes[1:]
    finally:
        for process in processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


def until(condition: Callable[[], bool], seconds: float = 120) -> None:
    """Wait for a condition; fails when it does not come."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def make_class(folder: Path, size: int) -> Path:
    """``size`` submissions: right, blank, and one mistake, in turn."""
    right = references(LESSON)
    kinds = [right, {}, {**right, "dpo_loss": sample.wrong_answer("dpo_loss", "missing_minus")}]
    for number in range(size):
        sample.write(sample.Student(f"student{number:02}", LESSON, kinds[number % 3]), folder)
    return folder


def tasks(folder: Path) -> list[tuple[str, Task]]:
    """(student, task) of every submission."""
    return [(item.student, read(item, marked=True)) for item in discover([folder])]


def same_but_for_time(a: Graded, b: Graded) -> None:
    """Two answers agree in everything but the seconds they took."""
    left, right = a.plain(), b.plain()
    for node in (left, right):
        node["result"]["receipt"] = {**node["result"]["receipt"], "seconds": 0}
        made = json.loads(node["notebook"])
        made["metadata"]["grader"]["receipt"]["seconds"] = 0
        node["notebook"] = made
    assert left == right


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_loses_nothing(tmp_path: Path) -> None:
    from grader.cluster import Cluster

    todo = tasks(make_class(tmp_path / "submitted", 30))
    answers: dict[str, Graded] = {}
    with cluster(tmp_path, "--no-nanny") as (address, workers), closing(Cluster(SETTINGS, address)) as engine:
        until(lambda: engine.workers == 2)
        for student, graded in drive(engine, todo):
            assert student not in answers
            answers[student] = graded
            if len(answers) == 5:
                os.killpg(workers[0].pid, signal.SIGKILL)
        assert engine.workers == 1
    assert sorted(answers) == [f"student{n:02}" for n in range(30)]
    with closing(Here(SETTINGS)) as here:
        for student, task in todo[:3]:
            same_but_for_time(answers[student], here.answer(here.submit(task)))
    points = [answers[student].result.points for student, _ in todo]
    assert points == points[:3] * 10
    assert [hint.misconception for e in answers["student02"].result.exercises for hint in e.diagnosis] == [
        "missing_minus"
    ]


@pytest.mark.slow
def test_a_task_that_ends_its_worker_twice_is_given_up_and_the_rest_finish(tmp_path: Path) -> None:
    from grader.cluster import Cluster

    class Deadly(Cluster):
        deaths = 0

        def submit(self, task: Task) -> object:
            if task.name == "deadly.py":
                Deadly.deaths += 1
                return self._client.submit(os._exit, 3, pure=False)
            return super().submit(task)

    todo = tasks(make_class(tmp_path / "submitted", 8))
    todo.insert(3, ("deadly", Task(b"x = 1", "deadly.py", LESSON, "deadly.py", marked=True)))
    with cluster(tmp_path, "--nanny") as (address, _), closing(Deadly(SETTINGS, address)) as engine:
        answers = dict(drive(engine, todo))
    result = answers.pop("deadly").result
    assert (Deadly.deaths, result.status, result.points) == (2, "failed", 0.0)
    assert result.problems == ("grading it ended the worker twice; look at it by hand",)
    assert len(answers) == 8
    assert all(graded.result.status == "graded" for graded in answers.values())


@pytest.mark.slow
def test_the_command_on_a_cluster_records_as_on_one_machine(tmp_path: Path) -> None:
    with cluster(tmp_path) as (address, _):
        for place in ("here", "there"):
            make_class(tmp_path / place / "submitted", 6)
            root = tmp_path / place
            scheduler = address if place == "there" else ""
            order = Order(
                [root / "submitted"], SETTINGS, gradebook=True, feedback=root / "feedback", scheduler=scheduler
            )
            order.db = f"sqlite:///{root}/gradebook.db"
            assert [r.status for r in grade_class(order).results] == ["graded"] * 6
        order.only_changed = True
        assert grade_class(order).skipped == 6
    pages = sorted(p.relative_to(tmp_path / "here") for p in (tmp_path / "here" / "feedback").rglob("*.html"))
    assert len(pages) == 6
    for page in pages:
        assert (tmp_path / "here" / page).read_text() == (tmp_path / "there" / page).read_text()


def test_no_cluster_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from grader import cluster as module

    monkeypatch.setattr(module, "START", 1)
    with pytest.raises(SandboxError, match=r"^no Dask cluster with a worker answers at tcp://127\.0\.0\.1:9 "):
        module.Cluster(SETTINGS, "tcp://127.0.0.1:9")


def test_neither_the_secret_nor_a_path_leaves(tmp_path: Path) -> None:
    from grader.cluster import GraderPlugin

    absent = Settings(without_secret(SETTINGS.secret), SETTINGS.isolation, SETTINGS.disclosure)
    with Grader(SETTINGS.secret, "process") as grader:
        chosen = lesson(LESSON)
        packed = pack(grader.prepared(chosen, e) for e in chosen.exercises)
    _, task = tasks(make_class(tmp_path, 1))[0]
    sent = pickle.dumps((GraderPlugin(packed, absent, {}), Task(task.data, task.name, task.assignment, task.name)))
    assert SETTINGS.secret.encode() not in sent
    assert str(tmp_path).encode() not in sent
    assert secret_digest(absent.secret) == secret_digest(SETTINGS.secret)
    with pytest.raises(RuntimeError, match="so is the secret"):
        Grader(absent.secret, "process").prepared(chosen, chosen.exercises[0])


def test_prepared_cases_arrive_as_they_left(warm: Grader) -> None:
    for name in graded_lessons():
        sent = [warm.prepared(lesson(name), e) for e in lesson(name).exercises]
        for a, b in zip(sent, unpack(pack(sent)), strict=True):
            assert a.exercise is b.exercise
            for (group, case), (other_group, other) in zip(a.cases, b.cases, strict=True):
                assert group is other_group
                assert (case.note, case.differentiate, case.of, case.tolerance) == (
                    other.note, other.differentiate, other.of, other.tolerance,
                )  # fmt: skip
                assert wire.encode(dict(case.args)) == wire.encode(dict(other.args))
                assert (case.expected is None) == (other.expected is None)
                assert wire.encode(case.expected) == wire.encode(other.expected)
                assert wire.encode(dict(case.expected_gradients)) == wire.encode(dict(other.expected_gradients))
            for left, right in zip(a.expected, b.expected, strict=True):
                assert repr(left) == repr(right)  # arrays have no equality of their own; repr shows dtypes as well


def test_an_engine_that_loses_every_worker_gives_up_only_what_is_lost_alone() -> None:
    """`drive` by itself: the first worker is lost with three tasks, then only task 1 ends its worker again."""

    class Flaky:
        settings, workers = SETTINGS, 1

        def __init__(self) -> None:
            self.lost_once: ClassVar[set[str]] = set()

        def submit(self, task: Task) -> Task:
            return task

        def finished(self, handles: object) -> list[Task]:
            return list(handles)  # type: ignore[call-overload]

        def answer(self, handle: Task) -> Graded:
            first = handle.shown_as not in self.lost_once
            self.lost_once.add(handle.shown_as)
            if handle.shown_as == "1" or (first and handle.shown_as in "02"):
                raise Lost
            return "answer " + handle.shown_as  # type: ignore[return-value]

    todo = [(n, Task(bytes([n]), "x.py", "", str(n))) for n in range(5)]
    answers = dict(drive(Flaky(), todo))  # type: ignore[arg-type]
    assert {n: answers[n] for n in (0, 2, 3, 4)} == {n: f"answer {n}" for n in (0, 2, 3, 4)}
    assert answers[1].result.status == "failed"
