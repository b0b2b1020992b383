"""Grading beyond one machine, on Dask distributed: an engine for `grader.engines.drive`.

A plugin starts a warm worker in every Dask worker and holds the prepared cases with their expected outcomes; tasks
carry a submission's bytes. The course secret and paths stay here. Answers return as plain data and one writer records
them. Learner code is confined on the workers as it is here.

Dask pickles its messages: scheduler, workers and this process trust each other. Keep them on a network of their own,
or use Dask's TLS (`docs/cluster.md`). Nothing a learner's code says is ever unpickled: it crosses the sandbox as
`grader.wire` frames first.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import CancelledError
from dataclasses import asdict
from typing import Any

from distributed import Client, Future, KilledWorker, WorkerPlugin, get_worker, wait

from grader.course import graded_lessons, lesson
from grader.engines import Lost
from grader.grading import Grader
from grader.prepared import pack, unpack
from grader.receipt import exercises_digest, without_secret
from grader.sandbox.client import SandboxError
from grader.task import Graded, Settings, Task, grade_task

PLUGIN = "preference-optimization-grader"
START, PATIENCE = 60, 120  # seconds: for a first worker, and for a new one when all are lost


class GraderPlugin(WorkerPlugin):
    """A warm worker in every Dask worker, with what it needs to judge."""

    name = PLUGIN
    grader: Grader | None = None

    def __init__(self, cases: bytes, settings: Settings, exercises: Mapping[str, str]) -> None:
        self.cases, self.exercises, self.settings = cases, exercises, settings

    def setup(self, worker: Any) -> None:
        """Start the warm worker. RuntimeError when the course is another there, SandboxError where it cannot grade."""
        for name, wanted in self.exercises.items():
            if exercises_digest(name) != wanted:
                raise RuntimeError(
                    f"{worker.address} has another version of {name}: install the same course everywhere"
                )
        self.lock = threading.Lock()  # for Dask workers with several threads: there is one warm worker
        grader = self.grader = Grader(self.settings.secret, self.settings.isolation, self.settings.disclosure)
        for prepared in unpack(self.cases):
            grader.give(prepared)
        grader.warm_up()

    def teardown(self, worker: Any) -> None:
        """End the warm worker."""
        if self.grader is not None:
            self.grader.__exit__()


def grade_plain(fields: dict[str, Any]) -> dict[str, Any]:
    """Runs on a Dask worker: one submission, as plain data."""
    plugin = get_worker().plugins[PLUGIN]
    assert isinstance(plugin, GraderPlugin)
    assert plugin.grader is not None
    with plugin.lock:
        return grade_task(plugin.grader, Task(**fields)).plain()


class Cluster:
    """An engine on the Dask cluster at an address such as ``tcp://host:8786``."""

    def __init__(self, settings: Settings, address: str) -> None:
        self.settings, self.address = settings, address
        try:
            self._client = Client(address, timeout=START)
            self._client.wait_for_workers(1, timeout=START)
        except (OSError, TimeoutError) as error:
            raise SandboxError(f"no Dask cluster with a worker answers at {address} ({type(error).__name__})") from None
        # a task is our business from the first worker it loses: Dask would blame its neighbours on that worker as well
        self._failures = self._client.run_on_scheduler(_allow_failures, 0)
        absent = Settings(without_secret(settings.secret), settings.isolation, settings.disclosure)
        known = {name: exercises_digest(name) for name in graded_lessons()}
        try:
            self._client.register_plugin(GraderPlugin(_cases(settings), absent, known))
        except RuntimeError as error:  # from a worker's `setup`
            self.close()
            raise SandboxError(str(error)) from None

    @property
    def workers(self) -> int:
        """How many there are now."""
        return max(1, len(self._client.scheduler_info(n_workers=-1)["workers"]))

    def warm_up(self) -> None:
        """They are."""

    def submit(self, task: Task) -> Future[Any]:
        """Start a task somewhere."""
        return self._client.submit(grade_plain, asdict(task), pure=False)

    def finished(self, handles: Iterable[Future[Any]]) -> Iterable[Future[Any]]:
        """Those that are done; waits for the first. SandboxError when no worker is left to wait for."""
        while True:
            try:
                done: Iterable[Future[Any]] = wait(list(handles), PATIENCE, "FIRST_COMPLETED").done
                return done
            except TimeoutError:
                if not self._client.scheduler_info(n_workers=-1)["workers"]:
                    raise SandboxError(f"no worker is left at {self.address}; start some, and run again") from None

    def answer(self, handle: Future[Any]) -> Graded:
        """The answer. Raises `Lost` when its worker is gone, SandboxError when the scheduler is."""
        try:
            return Graded.from_plain(handle.result())
        except KilledWorker:
            raise Lost from None
        except CancelledError:
            raise SandboxError(f"the scheduler at {self.address} has gone; run again with --only-changed") from None

    def close(self) -> None:
        """Leave the cluster as it was."""
        try:
            self._client.run_on_scheduler(_allow_failures, self._failures)
            self._client.unregister_worker_plugin(PLUGIN)
        except (OSError, ValueError):
            pass  # the scheduler has gone
        self._client.close()


def _cases(settings: Settings) -> bytes:
    """Every graded exercise, prepared here, where the secret is. Only our own references run for it."""
    with Grader(settings.secret, settings.isolation, settings.disclosure) as grader:
        return pack(grader.prepared(lesson(name), e) for name in graded_lessons() for e in lesson(name).exercises)


def _allow_failures(allowed: int, dask_scheduler: Any = None) -> int:
    """Runs on the scheduler: how many workers a task may lose there. The value before."""
    before = int(dask_scheduler.allowed_failures)
    dask_scheduler.allowed_failures = allowed
    return before
