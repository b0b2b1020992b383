"""What attacks are made of, and the questions that are asked after each of them."""

from __future__ import annotations

import json
import os
import re
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from grader import notebook, render
from grader.course import lesson, solution_source
from grader.exercise import Misconception
from grader.grading import Grader
from grader.report import SubmissionResult
from grader.sandbox.limits import LIMITS
from grader.values import as_array, leaves

LESSON = "03_stable_dpo"
TORCH_LESSON = "01_kl_penalized_rewards"
#: the course's limits with less patience, so that the suite is quick
LIMITS_HERE = replace(LIMITS, call=0.5, cell=0.7, submission=1.5)
PORT = 45_671  # where attacks that open a socket would listen
PLACES = ("/tmp", "/var/tmp", "/dev/shm", Path.home(), os.getcwd(), Path(__file__).parents[2], tempfile.gettempdir())

#: Tools that an attacker would write first. Everything an attack plants is called `planted…`, all it finds `LEAK…`.
PRELUDE = '''
import gc, os, struct, sys, types
import msgpack, numpy as np

def descriptors():
    found = []
    for number in range(1024):
        try:
            os.fstat(number)
            found.append(number)
        except OSError:
            pass
    return found

def frame(message):
    data = msgpack.packb(message)
    return struct.pack(">I", len(data)) + data

def forged(index, value=0.5):
    empty = ["d", []]
    outcome = {"status": "returned", "result": ["f", value], "gradients": empty, "changed": empty, "error": None}
    return {"index": index, "outcome": outcome}

def harness():
    """The modules of the grader that are still in memory, by following frames."""
    found, f = {}, sys._getframe()
    while f:
        found[f.f_globals.get("__name__", "?")] = f.f_globals
        f = f.f_back
    return found

def wrong(*args):
    return 0.125
'''
ALL_WRONG = "\nimplicit_reward = dpo_loss = dpo_grad = wrong\n"


class Quick(Grader):
    """Grades without looking for misconceptions, which takes longer than all the rest and gives no points."""

    def diagnosis(self, *args: object) -> list[Misconception]:
        """None: `test_leaking` looks at hints."""
        return []


def good(name: str) -> str:
    """A submission that earns everything: the solved lesson, as a percent script."""
    return solution_source(name).read_text(encoding="utf-8")


def grade(grader: Grader, source: str, name: str = LESSON) -> SubmissionResult:
    """The result of a script."""
    return grader.grade(notebook.loads(source.encode(), "attack.py", name))


def shown(result: SubmissionResult) -> str:
    """Everything anybody is shown of a result: JSON, the report in the notebook, the feedback page."""
    pages = [render.report_html(exercise) for exercise in result.exercises]
    return "\n".join([json.dumps(asdict(result)), render.feedback_html(result), *pages])


_numbers_of: dict[tuple[str, str], set[str]] = {}


def hidden_numbers(grader: Grader, name: str) -> set[str]:
    """Long numbers of hidden arguments and answers, to six digits, that no public example has."""
    if (grader.secret, name) not in _numbers_of:
        _numbers_of[grader.secret, name] = _hidden_numbers(grader, name)
    return _numbers_of[grader.secret, name]


def _hidden_numbers(grader: Grader, name: str) -> set[str]:
    public, secret = set(), set()
    chosen = lesson(name)
    for exercise in chosen.exercises:
        prepared = grader.prepared(chosen, exercise)
        for (_, case), expected in zip(prepared.cases, prepared.expected, strict=True):
            found = {text for value in (*case.args.values(), expected.result) for text in _numbers(value)}
            (public if case.expected is not None else secret).update(found)
    return secret - public


def _numbers(value: object) -> Iterator[str]:
    for _, leaf in leaves(value):
        numbers = as_array(leaf)
        for number in [] if numbers is None else numbers.ravel().tolist():
            digits = re.sub(r"\D", "", f"{float(number):.6g}").strip("0")
            if len(digits) >= 6:
                yield f"{float(number):.6g}".lstrip("-")


def left_behind(grader: Grader) -> list[str]:
    """Files, processes and sockets that an attack left."""
    found = [str(path) for place in {*PLACES} for path in Path(place).glob("*planted*")]
    assert grader.worker is not None
    worker = grader.worker._process.pid
    ours = Path(f"/proc/{worker}/cmdline").read_bytes()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        # a process that detached itself keeps the worker's command line, and its descriptor's number in it
        detached = command == ours and int(folder.name) != worker and state[1] == "1"
        if int(state[1]) == worker or (detached and int(folder.name) > worker):
            found.append(f"process {folder.name}")
    with socket.socket() as probe:
        probe.settimeout(0.2)
        found += [f"port {PORT}"] if probe.connect_ex(("127.0.0.1", PORT)) == 0 else []
    found += [line for line in Path("/proc/net/unix").read_text().splitlines() if "planted" in line]
    return found
