"""What this machine can enforce: each layer is tried in a forked child, not looked up.

`report` is what `grader doctor` prints; `confined` is what decides whether other people's code may be graded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.sandbox import confine, landlock, process, readable, seccomp
from grader.sandbox.limits import LIMITS

_CONTAINER = "In a container: Docker 23 / Podman 4 or newer with their default seccomp profile; no flag is needed."
_NEWER = "Linux {0} or newer has it."


@dataclass(frozen=True)
class Layer:
    """One layer of the confinement: whether it holds here, what was seen, and how to get it."""

    name: str
    works: bool
    detail: str
    remedy: str = ""
    required: bool = True


def report() -> list[Layer]:
    """Every layer, in the order in which a child puts them on."""
    if sys.platform != "linux":
        detail = f"{sys.platform}: notebooks and `check` work; other people's code cannot be confined"
        return [Layer("operating system", False, detail, confine.missing_layers()[0][1])]
    return [*_process_layers(), *_landlock_layers(), *_seccomp_layers(), _whole()]


def confined(layers: Sequence[Layer]) -> bool:
    """Whether every layer that grading other people's code needs holds."""
    return all(layer.works for layer in layers if layer.required)


def _process_layers() -> list[Layer]:
    privileges = _try(lambda: process.prctl(38, 1))
    limits = _try(_limits_hold)
    group = _try(lambda: os.setpgid(0, 0))
    user = "root, so each child becomes a user of its own" if process.may_change_user() else "children run as this user"
    if os.geteuid() == 0 and not process.may_change_user():
        user = "root without the right to change user: the number of threads is not limited"
    return [
        Layer("no new privileges", privileges == "", privileges or "cannot gain rights by running a program"),
        Layer("process group", group == "", group or "killed whole after each submission"),
        Layer("resource limits", limits == "", limits or "memory, CPU, files, threads, core dumps"),
        Layer("user", True, user, "", required=False),
    ]


def _landlock_layers() -> list[Layer]:
    version = landlock.abi()
    listed = "It must be in the kernel's list of security modules (lsm=landlock,…)."
    remedy = f"{_NEWER.format('5.13')} {listed} {_CONTAINER}"
    problem = "the kernel does not offer it" if version < 1 else _try(_files_closed)
    layers = [Layer("Landlock: files", problem == "", problem or f"ABI {version}; only libraries can be read", remedy)]
    for need, what, kernel in ((3, "truncation", "6.2"), (4, "TCP", "6.7"), (6, "signals", "6.12")):
        has = version >= need
        detail = "closed twice, here and by seccomp" if has else "closed by seccomp alone"
        layers.append(Layer(f"Landlock: {what}", has, detail, "" if has else _NEWER.format(kernel), required=False))
    return layers


def _seccomp_layers() -> list[Layer]:
    if not seccomp.supported_machine():
        detail = f"no table of system calls for {os.uname().machine}"
        return [Layer("seccomp", False, detail, "Use 64-bit x86 or ARM.")]
    problem = _try(_calls_closed)
    detail = problem or f"{len(set(seccomp.names()))} system calls allowed, all others refused"
    return [Layer("seccomp", problem == "", detail, f"The kernel needs CONFIG_SECCOMP_FILTER. {_CONTAINER}")]


def _whole() -> Layer:
    """All layers on one child, as a submission gets them."""
    try:
        plan = confine.prepare(readable.default_readable(), None, LIMITS)
    except (confine.CannotConfine, OSError) as error:
        return Layer("all together", False, str(error), "See the layers above.")
    problem = _try(lambda: _attack(plan))
    return Layer("all together", problem == "", problem or "files, sockets, programs and signals are refused")


def _limits_hold() -> None:
    process.limit(1.0, LIMITS.memory, LIMITS.open_files, 10_000, None)
    try:
        bytearray(2 * LIMITS.memory)
    except MemoryError:
        return
    raise RuntimeError("memory is not limited")


def _files_closed() -> None:
    process.prctl(38, 1)
    version = landlock.abi()
    landlock.restrict(landlock.ruleset(version, [("/dev/null", landlock.DEVICE)]), version)
    open("/dev/null").close()
    _refused("reading a file", lambda: open(__file__).close())


def _calls_closed() -> None:
    process.prctl(38, 1)
    seccomp.install(seccomp.assemble(scratch=False))
    _refused("starting a process", os.fork)


def _attack(plan: confine.Plan) -> None:
    import socket

    confine.apply(plan, (1,))
    _refused("reading the grader", lambda: open(__file__).close())
    _refused("listing /", lambda: os.listdir("/"))
    _refused("a socket", socket.socket)
    _refused("a process", os.fork)
    _refused("a program", lambda: os.execv("/bin/true", ["true"]))
    _refused("a signal to the parent", lambda: os.kill(plan.parent, 0))


def _refused(what: str, attempt: Callable[[], object]) -> None:
    try:
        attempt()
    except PermissionError:
        return
    raise RuntimeError(f"{what} is possible")


def _try(attempt: Callable[[], object]) -> str:
    """Run ``attempt`` in a forked child: "" when it went well, else what went wrong."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _attempt_in_child(attempt, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read(4096).decode(errors="replace")
    status = os.waitpid(pid, 0)[1]
    return "" if status == 0 else said or f"the child ended with status {status}"


def _attempt_in_child(attempt: Callable[[], object], writing: int) -> None:
    status = 1
    try:
        os.dup2(writing, 1)  # `_attack` keeps 1 and closes the rest
        attempt()
        status = 0
    except BaseException as error:  # noqa: BLE001 - whatever it is, the parent is told
        try:
            os.write(1, f"{type(error).__name__}: {error}".encode())
        except OSError:
            pass
    finally:
        os._exit(status)
