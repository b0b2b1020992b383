"""Landlock by ctypes: which files a process may open from now on, decided by itself, without privileges.

Standard library only and no import of `grader`: the warm worker loads this file by its path.
Numbers and structures: Linux, ``include/uapi/linux/landlock.h`` (ABI 1 to 7).
"""

import ctypes
import os
import struct
import sys
from collections.abc import Iterable

READ_FILE, READ_DIR, WRITE_FILE = 1 << 2, 1 << 3, 1 << 1
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
_TRUNCATE = 1 << 14
READ = READ_FILE | READ_DIR
DEVICE = READ_FILE | WRITE_FILE | _TRUNCATE
SCRATCH = READ | WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _TRUNCATE
_FILE_RIGHTS = READ_FILE | WRITE_FILE | _TRUNCATE  # what a rule on something other than a folder may hold

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # the same on every architecture
_PATH_BENEATH = 1
_QUIET = 1 << 0  # ABI 7: a submission must not be able to flood the audit log with its refusals

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def abi() -> int:
    """The kernel's Landlock ABI, 0 where there is none."""
    if _libc is None:
        return 0
    version: int = _libc.syscall(ctypes.c_long(_CREATE), None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    return max(version, 0)


def handled(version: int) -> tuple[int, int, int]:
    """All that this ABI can forbid: file system rights, network rights, scopes (bit sets)."""
    newest_right = {1: 12, 2: 13, 3: 14, 4: 14}.get(version, 15)
    network = 0b11 if version >= 4 else 0  # bind and connect TCP
    scopes = 0b11 if version >= 6 else 0  # abstract unix sockets, signals
    return (1 << (newest_right + 1)) - 1, network, scopes


def ruleset(version: int, rules: Iterable[tuple[str, int]]) -> int:
    """A descriptor of a ruleset that forbids all but ``rules`` (path, rights); a missing path is skipped.

    It is built once and used by every child: applying it costs microseconds, adding its rules milliseconds.
    Raises OSError when the kernel refuses.
    """
    files, network, scopes = handled(version)
    size = 8 if version < 4 else 16 if version < 6 else 24
    attributes = struct.pack("=QQQ", files, network, scopes)[:size]
    descriptor = _checked(_CREATE, ctypes.c_char_p(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0))
    for path, rights in rules:
        _allow(descriptor, path, rights & files)
    return descriptor


def _allow(descriptor: int, path: str, rights: int) -> None:
    try:
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError, NotADirectoryError):
        return  # what this user cannot reach needs no permission either
    try:
        if not os.path.isdir(path):
            rights &= _FILE_RIGHTS
        rule = ctypes.c_char_p(struct.pack("=Qi", rights, beneath))
        _checked(_ADD_RULE, ctypes.c_int(descriptor), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0))
    finally:
        os.close(beneath)


def restrict(descriptor: int, version: int) -> None:
    """Put the calling process under the ruleset, for good. Needs no_new_privs. Raises OSError."""
    _checked(_RESTRICT, ctypes.c_int(descriptor), ctypes.c_uint32(_QUIET if version >= 7 else 0))


def _checked(number: int, *arguments: object) -> int:
    assert _libc is not None  # callers have asked abi() first
    # judged by the return value: errno is stale after a success
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"landlock: {os.strerror(ctypes.get_errno())}")
    return result
