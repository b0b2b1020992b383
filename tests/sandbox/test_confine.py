"""Confinement: what a confined child may and may not do, seen by trying it in a real child."""

from __future__ import annotations

import ctypes
import errno
import getpass  # noqa: F401 - imported before an interpreter in a closed home is out of reach
import os
import resource  # noqa: F401
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.sandbox import confine, doctor, landlock, readable, seccomp
from grader.sandbox.limits import LIMITS

pytestmark = pytest.mark.skipif(bool(confine.missing_layers()), reason="this machine cannot confine")
REPOSITORY = Path(__file__).resolve().parents[2]
HOME = Path.home() if Path.home().is_dir() else REPOSITORY.parent
ORDINARY_USER = 61_234  # no such account; nothing else runs as it
LIBC = ctypes.CDLL(None, use_errno=True)


def in_child(attempt: Callable[[], object], plan: confine.Plan, uid: int | None = None) -> str:
    """What ``attempt`` gave in a confined child: repr of its result or error, or 'signal N'."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if uid is not None:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
            confine.apply(plan, (writing,))
            said = repr(attempt())
        except BaseException as error:  # noqa: BLE001 - the parent judges it
            said = repr(error)
        os.write(writing, said.encode()[:60_000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode()
    status = os.waitpid(pid, 0)[1]
    return said or f"signal {os.WTERMSIG(status)}"


@pytest.fixture(scope="module")
def plan() -> Iterator[confine.Plan]:
    made = confine.prepare(readable.default_readable(), None, LIMITS)
    yield made
    assert made.ruleset is not None
    os.close(made.ruleset)


@pytest.fixture(params=["this user", "ordinary user"])
def confined(request: pytest.FixtureRequest, plan: confine.Plan) -> Callable[[Callable[[], object]], str]:
    """Run something confined: as whoever runs the tests, and from root also as an ordinary user."""
    if request.param == "this user":
        return lambda attempt: in_child(attempt, plan)
    if os.geteuid() != 0:
        pytest.skip("the tests run as an ordinary user already")
    unprivileged = confine.Plan(**{**vars(plan), "own_user": False})
    return lambda attempt: in_child(attempt, unprivileged, ORDINARY_USER)


def _symlink_into_scratch() -> None:
    os.symlink("/etc/passwd", "/tmp/link")


REFUSED: dict[str, Callable[[], object]] = {
    "read the grader": lambda: Path(REPOSITORY / "grader" / "judge.py").read_text(),
    "list the grader": lambda: os.listdir(REPOSITORY / "grader"),
    "list the root": lambda: os.listdir("/"),
    "list home": lambda: os.listdir(HOME),
    "list /tmp": lambda: os.listdir("/tmp"),
    "read accounts": lambda: Path("/etc/passwd").read_text(),
    "read its own memory map": lambda: Path("/proc/self/maps").read_text(),
    "read the parent's command line": lambda: Path(f"/proc/{os.getppid()}/cmdline").read_text(),
    "follow the parent's working directory": lambda: os.readlink(f"/proc/{os.getppid()}/cwd"),
    "write a file": lambda: Path("/tmp/planted").write_text("x"),
    "write beside the interpreter": lambda: Path(sys.prefix, "planted").write_text("x"),
    "truncate by reading": lambda: os.open(os.__file__, os.O_RDONLY | os.O_TRUNC),
    "make a folder": lambda: os.mkdir("/tmp/planted"),
    "make a link": _symlink_into_scratch,
    "make a pipe with a name": lambda: os.mkfifo("/tmp/planted"),
    "change a mode": lambda: os.chmod(os.__file__, 0o777),
    "change times": lambda: os.utime(os.__file__),
    "set an attribute": lambda: os.setxattr(os.__file__, "user.x", b"1"),
    "rename": lambda: os.rename(os.__file__, os.__file__ + "x"),
    "remove": lambda: os.unlink(os.__file__),
    "an internet socket": lambda: socket.socket(),
    "a unix socket": lambda: socket.socket(socket.AF_UNIX),
    "a socket pair": lambda: socket.socketpair(),
    "fork": lambda: os.fork(),
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "spawn": lambda: subprocess.run(["/bin/true"]),
    "signal the parent": lambda: os.kill(os.getppid(), 0),
    "signal everyone": lambda: os.kill(-1, signal.SIGKILL),
    "signal a group": lambda: os.killpg(0, signal.SIGTERM),
    "leave its group": lambda: os.setsid(),
    "be kinder to itself": lambda: os.setpriority(os.PRIO_PROCESS, 0, -5),
    "pin processors": lambda: os.sched_setaffinity(os.getppid(), {0}),
    "a nameless file": lambda: os.memfd_create("x"),
    "become root": lambda: os.setuid(0),
    "raise a limit": lambda: __import__("resource").setrlimit(__import__("resource").RLIMIT_CPU, (999, 999)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(confined: Callable[[Callable[[], object]], str], what: str) -> None:
    said = confined(REFUSED[what])
    # Python's setrlimit translates the refusal
    assert said.startswith(("PermissionError", "ValueError('not allowed to raise maximum limit")), said


ALLOWED: dict[str, tuple[Callable[[], object], str]] = {
    "write to nowhere": (lambda: Path(os.devnull).write_text("abc"), "3"),
    "random bytes": (lambda: len(os.urandom(8)), "8"),
    "reads the standard library": (lambda: __import__("colorsys").rgb_to_hsv(0, 0, 1)[2], "1"),
    "reads a time zone": (lambda: str(__import__("zoneinfo").ZoneInfo("UTC")), "'UTC'"),
    "signal itself": (lambda: os.kill(os.getpid(), 0), "None"),
    "who am I": (lambda: __import__("getpass").getuser(), "'learner'"),
    "time passes": (lambda: time.sleep(0.001), "None"),
    "its own limits": (lambda: __import__("resource").getrlimit(__import__("resource").RLIMIT_FSIZE), "(0, 0)"),
}


@pytest.mark.parametrize("what", ALLOWED)
def test_allowed(confined: Callable[[Callable[[], object]], str], what: str, request: pytest.FixtureRequest) -> None:
    attempt, expected = ALLOWED[what]
    ordinary = "ordinary" in request.node.name
    if ordinary and "reads" in what and any(not folder.stat().st_mode & 1 for folder in Path(os.__file__).parents):
        pytest.skip("this interpreter is closed to other users")
    assert confined(attempt) == expected


def test_threads_run_and_are_bounded(plan: confine.Plan) -> None:
    def bomb() -> int:
        started = 0
        release = threading.Event()
        try:
            while started < 100_000:
                threading.Thread(target=release.wait, daemon=True).start()
                started += 1
        except RuntimeError:
            pass
        release.set()
        return started

    assert 3 < int(in_child(bomb, plan)) < 1000


def test_memory_is_bounded(plan: confine.Plan) -> None:
    assert in_child(lambda: len(bytearray(LIMITS.memory + 2**28)), plan) == "MemoryError()"
    assert in_child(lambda: len(bytearray(2**28)), plan) == str(2**28)


def test_processor_time_ends_a_busy_loop_that_swallows_signals(plan: confine.Plan) -> None:
    @dataclass(frozen=True)
    class Short:
        submission: float = 0.0
        memory: int = LIMITS.memory
        open_files: int = 64

    def busy() -> None:
        for number in range(1, 32):
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(number, signal.SIG_IGN)
        while True:
            pass

    short = confine.Plan(**{**vars(plan), "limits": Short()})
    assert in_child(busy, short) == f"signal {signal.SIGKILL:d}"


def test_inherited_descriptors_are_closed(plan: confine.Plan) -> None:
    secret = os.open(__file__, os.O_RDONLY)
    above = os.dup2(secret, 900)
    try:
        for descriptor in (secret, above, plan.ruleset):
            assert descriptor is not None
            assert in_child(lambda d=descriptor: os.read(d, 1), plan).startswith("OSError(9")  # type: ignore[misc]
        assert in_child(lambda: os.read(0, 1), plan) == "b''"  # /dev/null
    finally:
        os.close(secret)
        os.close(above)


def test_environment_tells_nothing(plan: confine.Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_SECRET", "hush")
    said = in_child(lambda: dict(os.environ), plan)
    assert "hush" not in said
    assert "GRADER" not in said
    assert "PYTEST" not in said
    assert in_child(os.getcwd, plan) == "'/'"


def test_root_becomes_a_user_of_its_own_without_capabilities(plan: confine.Plan) -> None:
    if not plan.own_user:
        pytest.skip("only root can change user")
    uids = {in_child(lambda: os.getresuid(), plan) for _ in range(2)}
    assert len(uids) == 2
    assert "(0, 0, 0)" not in uids


def test_child_dies_with_its_parent(plan: confine.Plan) -> None:
    reading, writing = os.pipe()
    middle = os.fork()
    if middle == 0:
        own = confine.Plan(**{**vars(plan), "parent": os.getpid()})
        if os.fork() == 0:
            try:
                confine.apply(own, (writing,))
                for number in range(1, 32):
                    if number not in (signal.SIGKILL, signal.SIGSTOP):
                        signal.signal(number, signal.SIG_IGN)
                os.write(writing, b"confined")
                time.sleep(600)
            finally:
                os._exit(0)
        os.close(writing)
        os.read(reading, 8)
        os._exit(0)
    os.close(writing)
    os.waitpid(middle, 0)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b""  # the end of the pipe: nobody holds its other end any more


def test_orphan_ends_at_once(plan: confine.Plan) -> None:
    orphaned = confine.Plan(**{**vars(plan), "parent": 1 if os.getpid() != 1 else 2})
    assert in_child(lambda: "ran", orphaned) == "signal 0"  # left by _exit before anything ran


def test_scratch_can_be_written_and_is_small(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    scratch = tempfile.mkdtemp()
    try:
        made = confine.prepare(readable.default_readable(), scratch, LIMITS)

        def write() -> list[object]:
            Path("sub").mkdir()
            Path("sub/a").write_text("kept")
            os.rename("sub/a", "sub/b")
            found: list[object] = [Path("sub/b").read_text(), os.getcwd()]
            os.unlink("sub/b")
            tempfile.tempdir = None
            return [*found, tempfile.gettempdir()]

        assert in_child(write, made) == repr(["kept", scratch, scratch])
        assert "File too large" in in_child(lambda: Path("big").write_bytes(bytes(2**23)), made)
        assert in_child(lambda: Path("/tmp/planted").write_text("x"), made).startswith("PermissionError")
        assert in_child(lambda: os.symlink("/etc/passwd", "link"), made).startswith("PermissionError")
    finally:
        subprocess.run(["rm", "-rf", scratch], check=True)


def test_project_cannot_be_imported(plan: confine.Plan) -> None:
    def attempt() -> object:
        for name in [n for n in sys.modules if n == "grader" or n.startswith("grader.")]:
            del sys.modules[name]
        sys.path_importer_cache.clear()
        sys.path.insert(0, str(REPOSITORY))
        return __import__("grader.judge")

    assert "Error" in in_child(attempt, plan).split("(")[0]


def test_packages_of_the_course_are_readable_and_others_are_not() -> None:
    names = {os.path.basename(path) for path in readable.default_readable()}
    assert {"numpy", "torch", "matplotlib", "mpmath"} <= names
    assert not {"nbgrader", "grader", "sqlalchemy", "site-packages"} & names
    assert not [name for name in names if name.endswith(".pth") or "__editable__" in name]


# System calls that no name of Python's reaches, by number. Expected: EPERM, or ENOSYS where libc falls back.
X86_64 = {
    "ptrace": 101, "process_vm_readv": 310, "mount": 165, "unshare": 272, "setns": 308, "io_uring_setup": 425,
    "bpf": 321, "keyctl": 250, "add_key": 248, "request_key": 249, "perf_event_open": 298, "userfaultfd": 323,
    "open_by_handle_at": 304, "name_to_handle_at": 303, "shmget": 29, "msgget": 68, "semget": 64, "mq_open": 240,
    "personality": 135, "reboot": 169, "quotactl": 179, "syslog": 103, "pidfd_open": 434, "pidfd_send_signal": 424,
    "tkill": 200, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "execveat": 322, "vfork": 58, "fork": 57,
    "inotify_init1": 294, "fanotify_init": 300, "landlock_add_rule": 445, "seccomp": 317, "chroot": 161,
    "pivot_root": 155, "swapon": 167, "init_module": 175, "kexec_load": 246, "capset": 126, "sendmsg": 46,
    "memfd_secret": 447, "splice": 275, "vmsplice": 278, "mknod": 133, "linkat": 265, "truncate": 76, "flock": 73,
    "clone3": 435, "openat2": 437,
}  # fmt: skip


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are x86_64's")
def test_calls_without_a_name_are_refused(plan: confine.Plan) -> None:
    def attempt() -> dict[str, int]:
        found = {}
        for name, number in X86_64.items():
            result = LIBC.syscall(ctypes.c_long(number), *[ctypes.c_long(0)] * 6)
            found[name] = ctypes.get_errno() if result < 0 else 0
        return found

    expected = {name: errno.ENOSYS if name in ("clone3", "openat2") else errno.EPERM for name in X86_64}
    assert in_child(attempt, plan) == repr(expected)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="x32 and i386 are x86's")
def test_other_calling_conventions_kill(plan: confine.Plan) -> None:
    import mmap

    def x32() -> int:
        return int(LIBC.syscall(ctypes.c_long(0x40000000 + 39)))

    def i386() -> int:
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, 20 (getpid); int 0x80; ret
        return int(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))())

    for attempt in (x32, i386):
        assert in_child(attempt, plan) == f"signal {signal.SIGSYS:d}"


def verdict(program: seccomp.Program, architecture: int, number: int, *arguments: int) -> int:
    """The filter's answer, by a small interpreter of its instructions (linux/filter.h)."""
    data = struct.pack("=iIQ6Q", number, architecture, 0, *(a % 2**64 for a in (*arguments, 0, 0, 0, 0, 0, 0)[:6]))
    steps = list(struct.iter_unpack("=HBBI", program.code))
    accumulator, at = 0, 0
    while True:
        operation, true, false, k = steps[at]
        at += 1
        if operation == 0x06:
            return int(k)
        if operation == 0x20:
            accumulator = struct.unpack_from("=I", data, k)[0]
        elif operation == 0x54:
            accumulator &= k
        else:
            holds = {0x15: accumulator == k, 0x45: accumulator & k != 0, 0x35: accumulator >= k}[operation]
            at += true if holds else false


ALLOW, REFUSE, KILL, ABSENT = 0x7FFF0000, 0x50001, 0x80000000, 0x50026
ARM = {  # number, arguments, verdict; numbers from asm-generic/unistd.h
    "read": (63, (), ALLOW), "openat to read": (56, (0, 0, os.O_RDONLY), ALLOW), "socket": (198, (), REFUSE),
    "openat that truncates what it reads": (56, (0, 0, 0x200), REFUSE), "execve": (221, (), REFUSE),
    "clone of a thread": (220, (0x3D0F00,), ALLOW), "clone of a process": (220, (17,), REFUSE),
    "thread in a new namespace": (220, (0x10000 | 0x10000000,), REFUSE), "clone3": (435, (), ABSENT),
    "kill of another": (129, (1, 9), REFUSE), "ptrace": (117, (), REFUSE), "mmap": (222, (), ALLOW),
    "reading limits": (261, (0, 7, 0), ALLOW), "setting limits": (261, (0, 7, 2**40), REFUSE),
    "send": (206, (3, 1, 1, 0, 0), ALLOW), "send to an address": (206, (3, 1, 1, 0, 2**33), REFUSE),
    "F_SETOWN": (25, (0, 8), REFUSE), "TIOCSTI": (29, (0, 0x5412), REFUSE), "a call of the future": (600, (), ABSENT),
}  # fmt: skip


@pytest.mark.parametrize("what", ARM)
def test_the_filter_for_arm(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "uname", lambda: type("U", (), {"machine": "aarch64"}))
    number, arguments, expected = ARM[what]
    assert verdict(seccomp.assemble(scratch=False), 0xC00000B7, number, *arguments) == expected


def test_the_wrong_architecture_is_killed() -> None:
    assert verdict(seccomp.assemble(scratch=False), 0x40000003, 1) == KILL


def test_refusal_names_the_layer_and_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    with pytest.raises(confine.CannotConfine, match=r"Landlock is missing\. Use Linux 5\.13.*--isolation process"):
        confine.prepare((), None, LIMITS)
    lenient = confine.prepare((), None, LIMITS, strict=False)
    assert lenient.missing == ("Landlock",)
    assert in_child(lambda: os.fork(), lenient).startswith("PermissionError")


def test_other_systems_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(confine.CannotConfine, match="Linux container"):
        confine.prepare((), None, LIMITS)
    assert not doctor.confined(doctor.report())


@pytest.mark.parametrize(("version", "bits"), [(1, 13), (2, 14), (3, 15), (4, 15), (5, 16), (6, 16), (9, 16)])
def test_rights_per_kernel(version: int, bits: int) -> None:
    # the number of file rights of each ABI: linux/landlock.h
    assert landlock.handled(version)[0] == 2**bits - 1


def test_loads_by_its_path_alone() -> None:
    code = (
        "import importlib.util as u, sys; s = u.spec_from_file_location('confine', sys.argv[1]); "
        "m = u.module_from_spec(s); s.loader.exec_module(m); "
        "assert not [n for n in sys.modules if n.split('.')[0] in ('grader', 'numpy', 'torch')]; "
        "assert m.readable.default_readable() and not m.missing_layers()"
    )
    subprocess.run([sys.executable, "-I", "-S", "-B", "-c", code, confine.__file__], check=True)


def test_doctor_finds_every_layer_here() -> None:
    layers = doctor.report()
    assert doctor.confined(layers), [layer for layer in layers if not layer.works]
    assert {"seccomp", "Landlock: files", "resource limits", "all together"} <= {layer.name for layer in layers}
