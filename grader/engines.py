"""Where tasks are graded: in this process, in local worker processes, or on a cluster (`grader.cluster`).

`drive` keeps an engine busy: there is always more work waiting than workers, so that none of them waits for whoever
takes the answers. When a worker is lost, what it might have been working on is graded again, each task alone; a task
that loses its worker then too is given up, and the others finish.
"""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from typing import Any, Protocol, TypeVar

from grader.grading import Grader
from grader.task import Graded, Settings, Task, grade_task, lost

Key = TypeVar("Key")
WAITING = 16  # tasks a worker: enough for the time a writer takes for a group of answers
BYTES = 64 * 2**20  # of submissions, waiting together


class Lost(Exception):
    """The worker that had the task is gone."""


class Engine(Protocol):
    """Something that grades tasks."""

    settings: Settings
    workers: int

    def warm_up(self) -> None:
        """Start the workers, without waiting for them."""

    def submit(self, task: Task) -> Any:
        """Start a task; the handle of its answer."""

    def finished(self, handles: Iterable[Any]) -> Iterable[Any]:
        """Those of the handles whose answers are there; waits for the first."""

    def answer(self, handle: Any) -> Graded:
        """The answer. Raises `Lost`, or SandboxError when there is no grading on this machine."""


def drive(engine: Engine, tasks: Iterable[tuple[Key, Task]]) -> Iterator[tuple[Key, Graded]]:
    """(key, answer) of every task, as they come."""
    suspects: list[tuple[Key, Task]] = []
    waiting: dict[Any, tuple[Key, Task]] = {}

    def take() -> Iterator[tuple[Key, Graded]]:
        for handle in list(engine.finished(waiting)):
            key, task = waiting.pop(handle)
            try:
                yield key, engine.answer(handle)
            except Lost:
                suspects.append((key, task))

    for key, task in tasks:
        waiting[engine.submit(task)] = (key, task)
        while len(waiting) >= WAITING * engine.workers or sum(len(t.data) for _, t in waiting.values()) > BYTES:
            yield from take()
    while waiting:
        yield from take()
    for key, task in suspects:
        yield key, _alone(engine, task)


def _alone(engine: Engine, task: Task) -> Graded:
    handle = engine.submit(task)
    for _ in engine.finished([handle]):
        with contextlib.suppress(Lost):
            return engine.answer(handle)
    return lost(task, engine.settings)


class Here:
    """Grades in this process, which starts quickest."""

    workers = 1

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._grader = Grader(settings.secret, settings.isolation, settings.disclosure)

    def warm_up(self) -> None:
        """Start the warm worker."""
        self._grader.warm_up()

    def submit(self, task: Task) -> _Answer:
        """The answer itself, in a box of its own."""
        return _Answer(grade_task(self._grader, task))

    def finished(self, handles: Iterable[Any]) -> Iterable[Any]:
        """All of them."""
        return list(handles)

    def answer(self, handle: Any) -> Graded:
        """The answer."""
        graded: Graded = handle.graded
        return graded

    def close(self) -> None:
        """End the warm worker."""
        self._grader.__exit__()


class _Answer:
    def __init__(self, graded: Graded) -> None:
        self.graded = graded


class Pool:
    """Grades in spawned processes with a warm worker each. They never import torch: their workers do."""

    def __init__(self, settings: Settings, jobs: int) -> None:
        self.settings, self.workers = settings, jobs
        self._pool = self._started()

    def _started(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self.workers, get_context("spawn"), _start, (self.settings,))

    def warm_up(self) -> None:
        """Start the processes: with each task that none is free for, the pool starts one."""
        for _ in range(self.workers):
            self._pool.submit(int)

    def submit(self, task: Task) -> Future[Graded]:
        """Start a task, in a new pool when the last one broke."""
        try:
            return self._pool.submit(_work, task)
        except BrokenProcessPool:
            self._pool.shutdown(wait=False)
            self._pool = self._started()
            return self._pool.submit(_work, task)

    def finished(self, handles: Iterable[Any]) -> Iterable[Any]:
        """Those that are done; waits for the first."""
        return wait(list(handles), return_when=FIRST_COMPLETED).done

    def answer(self, handle: Any) -> Graded:
        """The answer. Raises `Lost`."""
        try:
            graded: Graded = handle.result()
        except BrokenProcessPool:
            raise Lost from None
        return graded

    def close(self) -> None:
        """End the processes; what is waiting is not graded."""
        self._pool.shutdown(cancel_futures=True)


_grader: Grader | None = None  # of this worker process


def _start(settings: Settings) -> None:
    global _grader
    _grader = Grader(settings.secret, settings.isolation, settings.disclosure, ahead=True)
    _grader.warm_up()
    gc.set_threshold(50_000, 20, 20)  # syntax trees and answers come and go by the thousand, without cycles
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A killed grader leaves no worker behind: without this, they would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(task: Task) -> Graded:
    assert _grader is not None
    return grade_task(_grader, task)


def local(settings: Settings, jobs: int = 1) -> contextlib.closing[Here | Pool]:
    """An engine on this machine, to be used in a ``with`` block."""
    return contextlib.closing(Pool(settings, jobs) if jobs > 1 else Here(settings))
