"""What a process can do to itself without Landlock and seccomp: limits, descriptors, environment, user.

Standard library only and no import of `grader`: the warm worker may load this file by its path.
"""

import ctypes
import errno
import glob
import os
import struct
import sys

_KEEP_CAPS = 8
_KILL, _SETGID, _SETUID = 1 << 5, 1 << 6, 1 << 7  # capabilities
_READ_ANYTHING = 1 << 2  # CAP_DAC_READ_SEARCH: Landlock still says what; without it another user cannot read a venv
_FIRST_UID = 0x70000000  # a range that no distribution, container manager or systemd hands out
_SCRATCH_FILE = 4 * 2**20


def clean_environment(scratch: str | None = None) -> dict[str, str]:
    """What a child may know: nothing of the person who grades, nor of the machine."""
    home = scratch or "/nonexistent"
    names = {"PATH": "/usr/bin:/bin", "HOME": home, "USER": "learner", "LOGNAME": "learner", "LANG": "C.UTF-8"}
    return names | {"MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TMPDIR": home}


def limit(cpu: float, memory: int, open_files: int, threads: int, scratch: str | None) -> None:
    """Hard resource limits; a lower one that is already set stays."""
    import resource  # not on Windows, where this module is imported but never used

    size = _virtual_size()
    wanted = {
        resource.RLIMIT_CPU: int(cpu) + 2,  # a backstop: the client counts closer
        resource.RLIMIT_FSIZE: _SCRATCH_FILE if scratch else 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: open_files,
        resource.RLIMIT_NPROC: threads,
    } | ({resource.RLIMIT_AS: size + memory} if size else {})
    for which, value in wanted.items():
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))


def _virtual_size() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def volunteer_for_oom() -> None:
    """When the machine runs out of memory a submission dies, not the grader."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass


def close_all_but(keep: set[int]) -> None:
    """Close every descriptor but these; of 0, 1 and 2 the others become /dev/null."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in {0, 1, 2} - keep:
        os.dup2(null, stream)
    lowest = 3
    for descriptor in sorted(d for d in keep if d > 2):
        os.closerange(lowest, descriptor)
        lowest = descriptor + 1
    os.closerange(lowest, max(os.sysconf("SC_OPEN_MAX"), 2**20))


PDEATHSIG = 1  # the signal that a process gets when the one that forked it has ended


def prctl(option: int, value: int) -> None:
    """Linux `prctl` with one argument. Raises OSError."""
    zero = ctypes.c_ulong(0)
    if _libc().prctl(option, ctypes.c_ulong(value), zero, zero, zero) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}: {os.strerror(ctypes.get_errno())}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)  # not at import: there is no such thing on Windows


def may_change_user() -> bool:
    """Root that can also kill what it no longer is. (Root is exempt from thread limits: so a child leaves it.)."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return False
    with open("/proc/self/status") as status:
        held = next(int(line.split()[1], 16) for line in status if line.startswith("CapEff"))
    with open("/proc/self/uid_map") as mapped:
        covered = any(int(a) <= _FIRST_UID < int(a) + int(n) - 2**22 for a, _, n in map(str.split, mapped))
    needed = _KILL | _SETGID | _SETUID
    return held & needed == needed and covered


def become_nobody(scratch: str | None) -> None:
    """From root to a user that nothing else runs as, keeping the capabilities that `drop_capabilities` keeps."""
    uid = _FIRST_UID + os.getpid()
    if scratch:
        os.chown(scratch, uid, uid)
    prctl(_KEEP_CAPS, 1)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def drop_capabilities() -> None:
    """Give up every capability but the one to read. Raises OSError."""
    header, bits = struct.pack("=Ii", 0x20080522, 0), struct.pack("=6I", *(_READ_ANYTHING, _READ_ANYTHING, 0, 0, 0, 0))
    libc = _libc()
    if libc.capset(header, bits) != 0 and libc.capset(header, bytes(24)) != 0:  # root may lack that one too
        raise OSError(ctypes.get_errno(), f"capset: {errno.errorcode.get(ctypes.get_errno())}")


def running_threads() -> int:
    """Threads that this user runs already: the kernel counts all of them against the limit."""
    count = 0
    for folder in glob.glob("/proc/[0-9]*"):
        try:
            if os.stat(folder).st_uid == os.getuid():
                count += len(os.listdir(folder + "/task"))
        except OSError:
            continue  # it has ended
    return count
