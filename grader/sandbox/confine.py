"""Confinement of a forked child, applied before the first line of a learner: `prepare` once, `apply` in each child.

Layers, from the outside in: own process group and death signal, resource limits, closed descriptors, clean
environment, no privileges, Landlock (files), seccomp (system calls). Unprivileged; Linux 5.13 or newer, x86_64 or
aarch64. Standard library only and no import of `grader`: the warm worker may load this file by its path.
"""

import importlib.util
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Protocol


def _sibling(name: str) -> ModuleType:
    """A module beside this file, when this file was loaded by its path."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    spec = importlib.util.spec_from_file_location(f"{__name__}_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


if TYPE_CHECKING or __package__:
    from . import landlock, process, readable, seccomp
else:
    landlock, process, readable, seccomp = map(_sibling, ("landlock", "process", "readable", "seccomp"))

_DUMPABLE, _NO_NEW_PRIVS = 4, 38
_OWN_THREADS, _SHARED_THREADS = 64, 256  # for a child's own user; beyond what the user already runs


class Limits(Protocol):
    """What is read of `grader.sandbox.limits.Limits`."""

    @property
    def submission(self) -> float:
        """CPU seconds."""

    @property
    def memory(self) -> int:
        """Bytes of address space beyond what the process has."""

    @property
    def open_files(self) -> int:
        """Descriptors."""


class CannotConfine(RuntimeError):
    """This machine cannot confine other people's code. Says which layer is missing and what helps."""

    def __init__(self, layer: str, remedy: str) -> None:
        super().__init__(
            f"this machine cannot confine learners' code: {layer} is missing. {remedy} "
            "`grader doctor` shows every layer; `--isolation process` grades with less protection, knowingly."
        )
        self.layer, self.remedy = layer, remedy


@dataclass(frozen=True)
class Plan:
    """Everything that can be worked out before the fork."""

    parent: int
    program: seccomp.Program | None
    ruleset: int | None
    abi: int
    scratch: str | None
    limits: Limits
    threads: int
    own_user: bool
    missing: tuple[str, ...]


def missing_layers() -> tuple[tuple[str, str], ...]:
    """(layer, remedy) of what this machine cannot enforce; empty where grading others' code is safe."""
    if sys.platform != "linux":
        return (("Linux", "Grade on Linux, in a Linux container or in a virtual machine."),)
    found = []
    if not seccomp.supported_machine():
        found.append(("seccomp for this processor", "Use 64-bit x86 or ARM."))
    elif not seccomp.available():
        found.append(("seccomp", "Use a kernel with CONFIG_SECCOMP_FILTER, or a container that does not hide it."))
    if landlock.abi() < 1:
        remedy = "Use Linux 5.13 or newer with `landlock` in the kernel's lsm= list, and a container engine that "
        found.append(("Landlock", remedy + "allows its three calls (Docker 23, Podman 4 or newer do)."))
    return tuple(found)


def prepare(paths: Sequence[str], scratch: str | None, limits: Limits, *, strict: bool = True) -> Plan:
    """Build the seccomp program and the Landlock ruleset, once, in the process that will fork.

    Args:
        paths: files and folders that may be read; see `readable.default_readable`.
        scratch: a private folder that may be written (4 MB a file), or None for nothing.
        limits: `grader.sandbox.limits.Limits`.
        strict: False leaves out what the machine lacks, and names it in `Plan.missing`.

    Raises:
        CannotConfine: where ``strict`` and a layer is missing.
    """
    missing = missing_layers()
    if missing and strict:
        raise CannotConfine(*missing[0])
    names = tuple(layer for layer, _ in missing)
    abi = landlock.abi()
    program = seccomp.assemble(scratch is not None) if not any("seccomp" in n or n == "Linux" for n in names) else None
    ruleset = landlock.ruleset(abi, _rules(paths, scratch)) if abi else None
    own_user = process.may_change_user()
    threads = _OWN_THREADS if own_user else _SHARED_THREADS + process.running_threads()
    return Plan(os.getpid(), program, ruleset, abi, scratch, limits, threads, own_user, names)


def preparation(limits: Limits) -> Callable[[int], None]:
    """`apply` with the default paths, as a function of the one descriptor to keep. Raises CannotConfine."""
    plan = prepare(readable.default_readable(), None, limits)
    return lambda keep: apply(plan, (keep,))


def _rules(paths: Sequence[str], scratch: str | None) -> list[tuple[str, int]]:
    rules = [(path, landlock.READ) for path in paths]
    # import looks names up in the folders of sys.path; their other entries can be listed, not read
    rules += [(folder, landlock.READ_DIR) for folder in {os.path.dirname(p) for p in paths} & set(sys.path)]
    rules += [(device, landlock.DEVICE if "null" in device else landlock.READ) for device in readable.DEVICES]
    return [*rules, (scratch, landlock.SCRATCH)] if scratch else rules


def apply(plan: Plan, keep: Iterable[int] = ()) -> None:
    """Confine this process, for good. Called in the forked child; it has one thread.

    Args:
        plan: from `prepare`, in the parent.
        keep: descriptors to leave open. 0, 1 and 2 become /dev/null unless they are among them.

    Raises:
        OSError: a layer was refused; the caller must end the process.
    """
    _own_group(plan)
    process.volunteer_for_oom()
    process.limit(plan.limits.submission, plan.limits.memory, plan.limits.open_files, plan.threads, plan.scratch)
    process.close_all_but({*keep} | ({plan.ruleset} if plan.ruleset is not None else set()))
    os.environ.clear()
    os.environ.update(process.clean_environment(plan.scratch))
    os.chdir(plan.scratch or "/")
    if plan.own_user:
        process.become_nobody(plan.scratch)
    if sys.platform == "linux":
        process.drop_capabilities()
        process.prctl(process.PDEATHSIG, signal.SIGKILL)  # after the change of user, which clears it
        process.prctl(_DUMPABLE, 0)
        process.prctl(_NO_NEW_PRIVS, 1)
        if os.getppid() != plan.parent:
            os._exit(1)  # the parent died before the death signal was set
    if plan.ruleset is not None:
        landlock.restrict(plan.ruleset, plan.abi)
        os.close(plan.ruleset)
    if plan.program is not None:
        seccomp.install(plan.program)


def _own_group(plan: Plan) -> None:
    """A process group, to be killed whole. A session costs 2 ms more and guards only a terminal Landlock closes."""
    try:
        os.setpgid(0, 0) if plan.ruleset is not None else os.setsid()
    except PermissionError:
        pass  # already a leader
