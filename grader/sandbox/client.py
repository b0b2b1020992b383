"""The trusted side of the sandbox: a warm worker, and the children it forks.

A child that hangs, dies or writes garbage costs the call it was on (`grader.sandbox.runner`).
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader import wire
from grader.sandbox.calls import Call, Code, Run
from grader.sandbox.limits import LIMITS, Limits

PAUSE = 0.002  # seconds in which a child answers many calls: woken by each, we would spend its time on it


class SandboxError(RuntimeError):
    """The warm worker cannot be started or has gone; the message says what to do."""


class WorkerGone(SandboxError):
    """The warm worker was ended from outside, or the machine ran out of memory."""

    def __init__(self) -> None:
        super().__init__("the warm worker has gone; run the command again")


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
        from grader.sandbox.runner import Runner

        done = Runner(self, code, calls).run()
        if self.ahead:
            with contextlib.suppress(WorkerGone):  # this one is done; the next will meet it
                self._ask()
        else:
            self._confirm()
        return done


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


def _environment() -> dict[str, str]:
    """A small environment: no secret, single-threaded numerics, matplotlib's own cache."""
    keep = ("PATH", "HOME", "LANG", "MPLCONFIGDIR", "LD_LIBRARY_PATH", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
    fixed = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    return {name: os.environ[name] for name in keep if name in os.environ} | fixed
