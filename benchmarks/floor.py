"""The floor: what a bare fork of a process that has imported torch costs, and what confining the child adds.

Run by `breakdown.py` as a process of its own, like the warm worker; prints JSON.
"""

from __future__ import annotations

import json
import os
import socket
import time

from grader.sandbox import child, worker
from grader.sandbox.limits import LIMITS

ROUNDS = 60


def forked(action: object = None) -> float:
    """Seconds from the fork to the end of a child that does ``action`` and exits."""
    ours, theirs = socket.socketpair()
    began = time.perf_counter()
    pid = os.fork()
    if not pid:
        if callable(action):
            action(theirs.fileno())
        os._exit(0)
    os.waitpid(pid, 0)
    seconds = time.perf_counter() - began
    ours.close()
    theirs.close()
    return seconds


def main() -> None:
    """Bare and confined children in turn, so that both meet the same machine."""
    worker.warm_up()
    confine = child.preparation("confined", LIMITS)
    for _ in range(worker.MANY):
        forked()
    worker.gather_pages()
    bare, confined = [], []
    for _ in range(ROUNDS):
        bare.append(forked())
        confined.append(forked(confine))
    print(json.dumps({"bare": bare, "confined": confined}))


if __name__ == "__main__":
    main()
