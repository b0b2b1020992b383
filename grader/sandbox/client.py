"""The trusted side of the sandbox: start a warm worker, send code and calls, take outcomes back.

A child that hangs, dies or writes garbage costs the call it was on; a new child takes the calls that remain.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader import wire
from grader.exercise import Case, Error, Outcome
from grader.sandbox.limits import LIMITS, Limits
from grader.sandbox.trust import plain_cell_error, plain_outcome
from grader.values import Opaque

BATCH = 2**16  # bytes of calls in one message, or one call alone; as much fits into a socket unread
KNOWN = 32  # different answers to one call that are kept as read
PAUSE = 0.002  # seconds in which a child answers many calls: woken by each, we would spend its time on it


class SandboxError(RuntimeError):
    """The warm worker cannot be started or has gone; the message says what to do."""


class WorkerGone(SandboxError):
    """The warm worker was ended from outside, or the machine ran out of memory."""

    def __init__(self) -> None:
        super().__init__("the warm worker has gone; run the command again")


@dataclass(frozen=True)
class Call:
    """One call of a learner's function."""

    function: str
    case: Case
    _known: dict[bytes, Outcome] = field(default_factory=dict, compare=False, repr=False)
    _kept: set[int] = field(default_factory=set, compare=False, repr=False)  # their ids

    def outcome(self, data: bytes, read: Callable[[bytes], Outcome]) -> Outcome:
        """What ``data`` says, read once for all submissions that say the same: the very same object then."""
        found = self._known.get(data)
        if found is None:
            found = read(data)
            if found.status == "returned" and len(data) < 2**16:  # an error names a line of its own submission
                if len(self._known) >= KNOWN:
                    self._known.clear()
                    self._kept.clear()
                self._known[data] = found
                self._kept.add(id(found))
        return found

    def keeps(self, outcome: Outcome) -> bool:
        """Whether the outcome is one of those that are kept: small, and free of words of its submission."""
        return id(outcome) in self._kept

    @functools.cached_property
    def message(self) -> bytes:
        """What the child is sent beside the call's number. Made once for a whole class."""
        args = [part for name, value in self.case.args.items() for part in (name, wire.encode(value))]
        asked = {"differentiate": list(self.case.differentiate), "of": self.case.of}
        return wire.dumps({"function": self.function, "args": args, **asked})


@dataclass
class Code:
    """What a child runs: numbered cells, and modules written by ``%%writefile``."""

    cells: Sequence[tuple[int, str]]
    modules: dict[str, str] = field(default_factory=dict)

    def definitions_only(self, number: int) -> Code:
        """The same code with cell ``number`` cut down to its imports, functions, classes and constants."""
        cells = [(n, definitions(source) if n == number else source) for n, source in self.cells]
        return Code(cells, self.modules)


def definitions(source: str) -> str:
    """``source`` with every statement blanked that is no import, definition or constant; lines keep their numbers."""
    lines = source.splitlines()
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return ""
    keep = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
    for node in statements:
        constant = isinstance(node, ast.Assign) and not any(isinstance(n, ast.Call) for n in ast.walk(node))
        if not (isinstance(node, keep) or constant):
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return "\n".join(lines)


class Worker:
    """A warm worker process. ``isolation``: ``confined`` (Landlock and seccomp) or ``process``.

    ``ahead``: after a submission, the next child is started while the answers of the last are judged.
    """

    def __init__(self, isolation: str = "confined", limits: Limits = LIMITS, ahead: bool = False) -> None:
        self.limits = limits
        self.isolation = isolation
        self.ahead = ahead
        self.whole = False
        self._next: socket.socket | None = None  # our end, of a child that was asked for
        self._reaping = 0  # children whose end is asked for and not yet confirmed
        self._control, theirs = socket.socketpair()
        script = Path(__file__).with_name("worker.py")
        command = [sys.executable, "-I", "-B", str(script), str(theirs.fileno()), isolation]
        self._process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=_environment()
        )
        theirs.close()
        self._ready = False

    def wait(self) -> None:
        """Until the worker is warm. SandboxError when it cannot start."""
        self._ready = self._ready or self._take(8) == b"ready..."
        if not self._ready:
            assert self._process.stderr is not None
            last = self._process.stderr.read().decode(errors="replace").strip().splitlines()[-1:]
            raise SandboxError("the warm worker did not start: " + "".join(last))

    def close(self) -> None:
        """End the worker, and the child that waits for work; others are gone already."""
        self._control.close()
        if self._next is not None:
            self._next.close()
        self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _take(self, size: int) -> bytes:
        try:
            return self._control.recv(size, socket.MSG_WAITALL)
        except OSError:
            return b""

    def fork(self) -> Child:
        """A fresh child. SandboxError when the worker is gone."""
        self.wait()
        self._ask()
        ours, self._next = self._next, None
        assert ours is not None
        self._confirm()
        answer = self._take(8)
        if len(answer) != 8:
            raise WorkerGone
        return Child(int.from_bytes(answer, "little"), ours)

    def _ask(self) -> None:
        """Ask for a child, unless one was asked for."""
        if self._next is not None:
            return
        ours, theirs = socket.socketpair()
        try:
            socket.send_fds(self._control, [b"fork...."], [theirs.fileno()])
        except OSError:
            raise WorkerGone from None
        finally:
            theirs.close()
        self._next = ours

    def _confirm(self) -> None:
        while self._reaping:
            self._reaping -= 1
            if self._take(8) != b"reaped..":
                raise WorkerGone

    def import_the_rest(self) -> None:
        """Import what few submissions need, before the next fork. SandboxError when the worker is gone."""
        try:
            self._control.sendall(b"rest....")
        except OSError:
            pass
        self._confirm()
        if self._take(8) != b"imported":
            raise WorkerGone
        self.whole = True

    def reap(self, child: Child) -> None:
        """Kill the child's process group and collect it."""
        child.channel.close()
        try:
            self._control.sendall(child.pid.to_bytes(8, "little"))
        except OSError:
            raise WorkerGone from None
        self._reaping += 1

    def run(self, code: Code, calls: Sequence[Call]) -> Run:
        """Define ``code`` in a child and answer ``calls``, restarting it for what a dead child left open."""
        done = Runner(self, code, calls).run()
        if self.ahead:
            with contextlib.suppress(WorkerGone):  # this one is done; the next will meet it
                self._ask()
        else:
            self._confirm()
        return done


@dataclass(frozen=True)
class Run:
    """What a submission did: an outcome per call, its cells' errors, the CPU seconds used, and what went wrong."""

    outcomes: list[Outcome]
    errors: list[Error]
    seconds: float
    problems: list[str]


@dataclass
class Child:
    """A running child: its pid, our end of its socket, and the CPU seconds it had used when we last waited for it."""

    pid: int
    channel: socket.socket
    used: float = 0.0
    _unread: bytearray = field(default_factory=bytearray)

    def cpu(self) -> float:
        """CPU seconds of the child so far, all threads; the last reading when it has gone."""
        try:
            self.used = time.clock_gettime((~self.pid << 3) | 2)  # Linux: the CPU clock of another process
        except OSError:
            pass
        return self.used

    def _waited(self) -> float:
        """Seconds the child was ready and had no processor: a busy machine must not cost a learner points."""
        try:
            return int(Path(f"/proc/{self.pid}/schedstat").read_bytes().split()[1]) / 1e9
        except (OSError, ValueError, IndexError):
            return 0.0

    def send(self, message: bytes, seconds: float) -> None:
        """Send a frame; OSError when the child does not take it in time."""
        self.channel.settimeout(seconds)
        self.channel.sendall(wire.frame(message))

    def receive(self, cpu: float, wall_factor: float) -> bytes | None:
        """The next frame, or None when the child used up ``cpu`` seconds (or ``wall_factor`` times that by the clock).

        ConnectionError when it died, WireError when it announced too large a frame.
        """
        started = deadline = None
        while (data := self._frame()) is None:
            if started is None:
                started, patience = self.cpu(), time.monotonic() + cpu * wall_factor
                time.sleep(PAUSE)
            else:  # nothing came, or not all of it: only now is it worth asking the kernel
                deadline = deadline or patience - self._waited()
                left = min(deadline + self._waited() - time.monotonic(), cpu - (self.cpu() - started))
                if left <= 0:
                    return None
            if not select.select([self.channel], [], [], min(cpu, 0.25) / 4)[0]:
                continue
            part = self.channel.recv(2**20)
            if not part:
                raise ConnectionError("the child closed its socket")
            self._unread += part
        return data

    def _frame(self) -> bytes | None:
        """The first frame of what was received and not yet read, or None while it is incomplete."""
        if len(self._unread) < 4:
            return None
        end = 4 + int.from_bytes(self._unread[:4], "big")
        if end - 4 > wire.MAX_FRAME:
            raise wire.WireError("frame too large")
        if len(self._unread) < end:
            return None
        data = bytes(self._unread[4:end])
        del self._unread[:end]
        return data


class _Later(Exception):
    """The child has to be started again, from a worker that has imported the rest."""


class Runner:
    """One submission's calls over as many children as it takes."""

    def __init__(self, worker: Worker, code: Code, calls: Sequence[Call]) -> None:
        self.worker, self.code, self.calls = worker, code, calls
        self.limits = worker.limits
        self.outcomes: dict[int, Outcome] = {}
        self.errors: list[Error] = []
        self.strikes: dict[str, int] = {}
        self.seconds = 0.0
        self.problems: list[str] = []
        self.stuck: set[int] = set()
        self.called = False
        self.room = self.limits.answers

    def run(self) -> Run:
        """All calls, or as many as the limits allow; the others are 'not run'."""
        while (todo := self._open_calls()) and self.seconds < self.limits.submission:
            if not self._one_child(todo):
                break
        outcomes = [self.outcomes.get(i, Outcome("not run")) for i in range(len(self.calls))]
        return Run(outcomes, self.errors, self.seconds, self.problems)

    def _open_calls(self) -> list[int]:
        limit = self.limits.strikes
        return [
            i
            for i, call in enumerate(self.calls)
            if i not in self.outcomes and self.strikes.get(call.function, 0) < limit
        ]

    def _one_child(self, todo: Sequence[int]) -> bool:
        """Answer what one child can; False when the cells themselves cannot be run."""
        child = self.worker.fork()
        try:
            stuck = self._define(child)
            if stuck is not None:
                return self._cut_down(stuck)
            for index, outcome in self._answers(child, todo):
                self.outcomes[index] = outcome
                if outcome.status in ("timeout", "died"):
                    name = self.calls[index].function
                    self.strikes[name] = self.strikes.get(name, 0) + 1
                if self.seconds + child.used > self.limits.submission:
                    break
            return True
        except _Later:
            self.worker.import_the_rest()
            return True
        finally:
            self.seconds += child.cpu()
            self.worker.reap(child)

    def _cut_down(self, cell: int) -> bool:
        """Try again with the definitions of a cell that hangs or dies; False when that was tried already."""
        place = f"cell {cell}" if cell else "the lesson's setup cell"
        self.problems.append(
            f"{place} took more than {self.limits.cell:g} CPU seconds or ended the process: "
            "only its definitions were used"
        )
        if cell in self.stuck or len(self.stuck) > 3:
            return False
        self.stuck.add(cell)
        self.code = self.code.definitions_only(cell)
        return True

    def _answers(self, child: Child, todo: Sequence[int]) -> Iterator[tuple[int, Outcome]]:
        """(index, outcome) for the calls of ``todo`` until the child stops answering.

        Calls go over in batches: the child reads a whole one before it answers its first call, on that call's time.
        The next one follows then, so that the child need not wait for us, if it is small enough for us not to wait.
        """
        batches = list(self._batches(todo))
        ahead = False
        for number, batch in enumerate(batches):
            if not (ahead or self._sent(child, batch)):
                yield batch[0], Outcome("died")
                return
            ahead = False
            for index in batch:
                strikes = self.strikes.get(self.calls[index].function, 0)
                if strikes >= self.limits.strikes:
                    return  # the child would spend time on calls that are no longer wanted
                outcome = self._one_answer(child, index, self.limits.later_call if strikes else self.limits.call)
                yield index, outcome
                if outcome.status in ("timeout", "died"):
                    return
                if index == batch[0] and number + 1 < len(batches) and self._small(batches[number + 1]):
                    ahead = self._sent(child, batches[number + 1])

    def _batches(self, todo: Sequence[int]) -> Iterator[list[int]]:
        """``todo`` in pieces of at most `BATCH` bytes, or of one call."""
        batch: list[int] = []
        room = 0
        for index in todo:
            room -= len(self.calls[index].message)
            if room < 0 and batch:
                yield batch
                batch = []
            if not batch:
                room = BATCH - len(self.calls[index].message)
            batch.append(index)
        if batch:
            yield batch

    def _small(self, batch: Sequence[int]) -> bool:
        return len(batch) > 1 or len(self.calls[batch[0]].message) <= BATCH

    def _sent(self, child: Child, batch: Sequence[int]) -> bool:
        try:
            child.send(wire.dumps({"calls": [[i, self.calls[i].message] for i in batch]}), 3 * self.limits.call)
        except (OSError, wire.WireError):
            return False
        return True

    def _read(self, data: bytes) -> dict[str, object]:
        """A message of the child. Raises `_Later` when it needs more than the worker has imported so far."""
        message = wire.loads(data)
        if message.get("later") is True and not self.worker.whole:
            raise _Later
        return message

    def _one_answer(self, child: Child, index: int, seconds: float) -> Outcome:
        try:
            data = child.receive(seconds, self.limits.wall_factor)
            if data is None:
                return Outcome("timeout")
            self.room -= len(data)
            if self.room < 0:
                return Outcome("returned", Opaque("too much data in all"))
            return self.calls[index].outcome(data, lambda said: self._outcome(said, index))
        except (OSError, wire.WireError):
            return Outcome("died")

    def _outcome(self, data: bytes, index: int) -> Outcome:
        message = self._read(data)
        if message.get("index") != index:
            return Outcome("died")
        node, case = message.get("outcome"), self.calls[index].case
        return Outcome("missing") if node is None else plain_outcome(wire.decode_outcome(node), case, self.code.cells)

    def _define(self, child: Child) -> int | None:
        """Run the cells and note their errors. The number of the cell that hung or ended the process, else None.

        Errors are noted until the first call. After it, what an earlier child saw of the hidden arguments could reach
        a later one by the numbers of processes or the times of files, and from there an error's message.
        """
        errors: list[Error] = []
        message = {"define": [list(cell) for cell in self.code.cells], "modules": self.code.modules}
        number = self.code.cells[0][0] if self.code.cells else 0
        try:
            child.send(wire.dumps(message), 3 * self.limits.call)
            for number, _ in self.code.cells:
                data = child.receive(self.limits.cell, self.limits.wall_factor)
                if data is None:
                    return number
                error = wire.decode_error(self._read(data).get("error"))
                errors += [plain_cell_error(error, self.code.cells)] if error else []
        except (OSError, wire.WireError):
            return number
        if not self.called:
            self.errors = errors
        return None


def _environment() -> dict[str, str]:
    """A small environment: no secret, single-threaded numerics, matplotlib's own cache."""
    keep = ("PATH", "HOME", "LANG", "MPLCONFIGDIR", "LD_LIBRARY_PATH", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
    fixed = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    return {name: os.environ[name] for name in keep if name in os.environ} | fixed
