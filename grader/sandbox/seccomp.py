"""Seccomp by ctypes: the system calls learner code may make. An allow-list; everything else fails with EPERM.

Standard library only and no import of `grader`: the warm worker loads this file by its path. The program is
assembled once in the parent; a child only writes its own pid into it. Instruction encoding: Linux,
``include/uapi/linux/filter.h``; call numbers: ``unistd_64.h`` (x86_64) and ``asm-generic/unistd.h`` (aarch64).
"""

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

# name: (x86_64, aarch64). What Python, NumPy, torch and matplotlib need to compute, read files and run threads.
_ALLOWED: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63), "write": (1, 64), "close": (3, 57), "fstat": (5, 80), "lseek": (8, 62), "pread64": (17, 67),
    "pwrite64": (18, 68), "readv": (19, 65), "writev": (20, 66), "preadv": (295, 69), "pwritev": (296, 70),
    "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24), "poll": (7, None), "ppoll": (271, 73),
    "select": (23, None), "pselect6": (270, 72), "epoll_create1": (291, 20), "epoll_ctl": (233, 21),
    "epoll_wait": (232, None), "epoll_pwait": (281, 22), "pipe": (22, None), "pipe2": (293, 59),
    "getdents64": (217, 61), "getcwd": (79, 17), "chdir": (80, 49), "fchdir": (81, 50), "stat": (4, None),
    "lstat": (6, None), "newfstatat": (262, 79), "statx": (332, 291), "access": (21, None), "faccessat": (269, 48),
    "faccessat2": (439, 439), "readlink": (89, None), "readlinkat": (267, 78), "umask": (95, 166),
    "ftruncate": (77, 46), "fsync": (74, 82), "fdatasync": (75, 83), "fadvise64": (221, 223), "sendfile": (40, 71),
    "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "mremap": (25, 216), "madvise": (28, 233),
    "msync": (26, 227), "brk": (12, 214), "futex": (202, 98), "set_robust_list": (273, 99),
    "get_robust_list": (274, 100), "set_tid_address": (218, 96), "rseq": (334, 293), "membarrier": (324, 283),
    "sched_yield": (24, 124), "sched_getaffinity": (204, 123), "sched_getparam": (143, 121),
    "sched_getscheduler": (145, 120), "sched_get_priority_max": (146, 125), "sched_get_priority_min": (147, 126),
    "getcpu": (309, 168), "restart_syscall": (219, 128), "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139), "rt_sigpending": (127, 136), "rt_sigsuspend": (130, 133),
    "rt_sigtimedwait": (128, 137), "sigaltstack": (131, 132), "pause": (34, None), "alarm": (37, None),
    "setitimer": (38, 103), "getitimer": (36, 102), "timer_create": (222, 107), "timer_settime": (223, 110),
    "timer_gettime": (224, 108), "timer_getoverrun": (225, 109), "timer_delete": (226, 111),
    "nanosleep": (35, 101), "clock_nanosleep": (230, 115), "clock_gettime": (228, 113), "clock_getres": (229, 114),
    "gettimeofday": (96, 169), "time": (201, None), "times": (100, 153), "getrusage": (98, 165),
    "getpid": (39, 172), "getppid": (110, 173), "gettid": (186, 178), "getuid": (102, 174), "geteuid": (107, 175),
    "getgid": (104, 176), "getegid": (108, 177), "getresuid": (118, 148), "getresgid": (120, 150),
    "getgroups": (115, 158), "getpgid": (121, 155), "getpgrp": (111, None), "getsid": (124, 156),
    "getpriority": (140, 141), "getrlimit": (97, 163), "uname": (63, 160), "sysinfo": (99, 179),
    "capget": (125, 90), "getrandom": (318, 278), "exit": (60, 93), "exit_group": (231, 94), "wait4": (61, 260),
    "waitid": (247, 95),
    # on the one socket the child is given; it cannot make, name or connect another
    "recvfrom": (45, 207), "getsockopt": (55, 209), "getsockname": (51, 204),
}  # fmt: skip
# what a private scratch folder needs besides; Landlock says where
_SCRATCH: dict[str, tuple[int | None, int | None]] = {
    "mkdir": (83, None), "mkdirat": (258, 34), "rmdir": (84, None), "unlink": (87, None), "unlinkat": (263, 35),
    "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276), "creat": (85, None),
}  # fmt: skip
_ABSENT: dict[str, tuple[int | None, int | None]] = {"clone3": (435, 435), "openat2": (437, 437)}  # libc falls back

_NEWEST = 462  # a call this file does not know of is reported as absent
_CLONE_THREAD, _CLONE_NEW = 0x00010000, 0x7E020000
_OPEN_WAYS, _OPEN_TRUNCATE = 0x203, 0x200  # access mode and O_TRUNC, the same on both architectures
OWN_PID = -1


class Check(NamedTuple):
    """A condition on one half of a call's argument: ``value & mask`` is among ``values``."""

    argument: int
    values: Sequence[int]
    mask: int = 0xFFFFFFFF
    high: bool = False


# O_TRUNC with O_RDONLY truncates a file that may only be read, where Landlock is older than ABI 3
_NO_TRICK = tuple(v for v in (0, 1, 2, 3, 0x200, 0x201, 0x202, 0x203) if v != _OPEN_TRUNCATE)
_CONDITIONAL: dict[str, tuple[int | None, int | None, tuple[Check, ...]]] = {
    "open": (2, None, (Check(1, _NO_TRICK, _OPEN_WAYS),)),
    "openat": (257, 56, (Check(2, _NO_TRICK, _OPEN_WAYS),)),
    # a thread, and no namespace
    "clone": (56, 220, (Check(0, (_CLONE_THREAD,), _CLONE_THREAD), Check(0, (0,), _CLONE_NEW))),
    "kill": (62, 129, (Check(0, (OWN_PID,)),)),
    "tgkill": (234, 131, (Check(0, (OWN_PID,)),)),
    # reading one's own limits only: the new limit (argument 2) must be absent
    "prlimit64": (302, 261, (Check(0, (0, OWN_PID)), Check(2, (0,)), Check(2, (0,), high=True))),
    # thread names, reading dumpable and no_new_privs, naming memory; not the death signal, not ptrace permission
    "prctl": (157, 167, (Check(0, (15, 16, 3, 39, 0x53564D41)),)),
    # duplicate and close-on-exec; not owners of signals (F_SETOWN), locks, leases, status flags of shared pipes
    "fcntl": (72, 25, (Check(1, (0, 1, 2, 3, 1030)),)),
    # is it a terminal, its size, bytes waiting, close-on-exec
    "ioctl": (16, 29, (Check(1, (0x5401, 0x5413, 0x541B, 0x5451, 0x5450)),)),
    # no destination address
    "sendto": (44, 206, (Check(4, (0,)), Check(4, (0,), high=True))),
}

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_LOAD, _JUMP_EQUAL, _JUMP_SET, _JUMP_AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x54, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_REFUSE, _ABSENT_CALL = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
_X32 = 0x40000000
_Instruction = tuple[int, int, int, int]

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class Program(NamedTuple):
    """Assembled instructions, and where (byte offsets) the child's own pid belongs."""

    code: bytes
    pid_offsets: tuple[int, ...]


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def supported_machine() -> bool:
    """Whether this file has the call numbers of this machine (64-bit x86 or ARM)."""
    return os.uname().machine in _ARCHITECTURES and sys.maxsize > 2**32


def available() -> bool:
    """Whether the kernel takes filters, asked without installing one (a null program is a fault, not unknown)."""
    if _libc is None:
        return False
    _libc.prctl(22, ctypes.c_ulong(2), None, ctypes.c_ulong(0), ctypes.c_ulong(0))
    return ctypes.get_errno() == errno.EFAULT


def assemble(scratch: bool) -> Program:
    """The filter for this machine; with ``scratch`` also the calls that create and remove files."""
    column, architecture = _ARCHITECTURES[os.uname().machine]
    instructions = [_step(_LOAD, 4), _step(_JUMP_EQUAL, architecture, 1, 0), _step(_RETURN, _KILL), _step(_LOAD, 0)]
    if column == 0:
        instructions += [_step(_JUMP_SET, _X32, 0, 1), _step(_RETURN, _KILL)]
    for table, verdict in ((_ALLOWED, _ALLOW), (_SCRATCH if scratch else {}, _ALLOW), (_ABSENT, _ABSENT_CALL)):
        for numbers in table.values():
            if (number := numbers[column]) is not None:
                instructions += [_step(_JUMP_EQUAL, number, 0, 1), _step(_RETURN, verdict)]
    for *pair, checks in _CONDITIONAL.values():
        if (number := pair[column]) is not None:
            instructions += _conditional(number, checks)
    instructions += [_step(_JUMP_AT_LEAST, _NEWEST + 1, 0, 1), _step(_RETURN, _ABSENT_CALL), _step(_RETURN, _REFUSE)]
    return _link(instructions)


def _step(code: int, k: int, true: int = 0, false: int = 0) -> _Instruction:
    return code, true, false, k


def _conditional(number: int, checks: Sequence[Check]) -> list[_Instruction]:
    body: list[_Instruction] = []
    for check in checks:
        body += [_step(_LOAD, 16 + 8 * check.argument + 4 * check.high), _step(_AND, check.mask)]
        count = len(check.values)
        body += [_step(_JUMP_EQUAL, value, count - i, 0) for i, value in enumerate(check.values)]
        body.append(_step(_RETURN, _REFUSE))
    body.append(_step(_RETURN, _ALLOW))
    return [_step(_JUMP_EQUAL, number, 0, len(body)), *body]


def _link(instructions: Sequence[_Instruction]) -> Program:
    code = b"".join(struct.pack("=HBBI", op, true, false, k & 0xFFFFFFFF) for op, true, false, k in instructions)
    places = (8 * i + 4 for i, step in enumerate(instructions) if step[0] == _JUMP_EQUAL and step[3] == OWN_PID)
    return Program(code, tuple(places))


def install(program: Program) -> None:
    """Put the calling process under the filter, for good. Needs no_new_privs. Raises OSError."""
    assert _libc is not None
    code = bytearray(program.code)
    for offset in program.pid_offsets:
        struct.pack_into("=I", code, offset, os.getpid())
    buffer = (ctypes.c_char * len(code)).from_buffer(code)
    header = _Filter(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    if _libc.prctl(22, ctypes.c_ulong(2), ctypes.byref(header), ctypes.c_ulong(0), ctypes.c_ulong(0)) != 0:
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")


def names() -> Iterator[str]:
    """The calls that are allowed, with or without conditions (for the documentation and tests)."""
    yield from _ALLOWED
    yield from _CONDITIONAL
