"""The warm worker: a fresh process with torch imported that forks one child per submission.

Run as a script by `grader.sandbox.client`, with the control socket as its only argument. It never imports
`grader.hidden`, and forgets the `grader` package before the first fork: a child can only import what learners
have. Nothing threaded may run here, or every forked child hangs.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MANY = 8  # children, after which the fork itself is worth work
_COLLAPSE = 25  # MADV_COLLAPSE


def warm_up() -> None:
    """Import what submissions use, run one tiny backward pass, and freeze the garbage collector."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot
    import torch

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)

    x = torch.ones(2, requires_grad=True)
    torch.autograd.grad((torch.log_softmax(x, -1) * x).sum(), x)
    gc.collect()
    gc.freeze()


def import_the_rest() -> None:
    """What optimizers and torch.func.grad import when first used, and what then wants a temporary folder.

    It takes a second and 70 MB, and most submissions never need it: a child that does says so (see `child.Later`).
    """
    import torch._dynamo  # noqa: F401

    gc.collect()
    gc.freeze()


def gather_pages() -> None:
    """Ask the kernel for large pages: a fork copies the page table, and so becomes four times as fast.

    Costs a few tenths of a second, so only a worker with many children does it. Linux 6.1; elsewhere nothing happens.
    """
    libc = ctypes.CDLL(None)
    large = 2 * 2**20
    with open("/proc/self/maps") as maps:
        lines = [line.split() for line in maps]
    for span, rights, *_, name in (line if len(line) > 5 else [*line, ""] for line in lines):
        start, end = (int(address, 16) for address in span.split("-"))
        start, end = -(-start // large) * large, end // large * large
        if "w" in rights and name in ("", "[heap]") and end > start:
            libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _COLLAPSE)


def forget_the_project() -> None:
    """Remove the `grader` package and every path or finder that leads back to it."""
    for name in [n for n in sys.modules if n == "grader" or n.startswith("grader.")]:
        del sys.modules[name]
    sys.path[:] = [p for p in sys.path if not p or not Path(p).resolve().is_relative_to(ROOT) or ".venv" in p]
    sys.meta_path[:] = [f for f in sys.meta_path if "__editable__" not in getattr(f, "__module__", "")]
    sys.path_importer_cache.clear()


def main(control: socket.socket, isolation: str) -> None:
    """Serve fork, reap and import requests on ``control`` until it closes."""
    sys.path.insert(0, str(ROOT))
    from grader.sandbox import child
    from grader.sandbox.limits import LIMITS

    warm_up()
    confine = child.preparation(isolation, LIMITS)
    forget_the_project()
    control.sendall(b"ready...")
    forks = 0
    while True:
        request, fds, _, _ = socket.recv_fds(control, 8, 1)  # requests have 8 bytes and may come close together
        if not request:
            return
        if fds:
            forks += 1
            if forks == MANY and sys.platform == "linux":
                gather_pages()
            control.sendall(_fork(control, fds[0], child, confine).to_bytes(8, "little"))
        elif request == b"rest....":
            import_the_rest()
            control.sendall(b"imported")
        else:
            _reap(int.from_bytes(request, "little"))
            control.sendall(b"reaped..")


def _fork(control: socket.socket, fd: int, child: Any, confine: Any) -> int:
    pid = os.fork()
    if pid:
        os.close(fd)
        return pid
    status = 1
    try:
        control.close()
        child.run(fd, confine)
        status = 0
    finally:
        os._exit(status)


def _reap(pid: int) -> None:
    for kill in (os.killpg, os.kill):  # the group may not exist yet, the child may have ended
        try:
            kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
    os.waitpid(pid, 0)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
