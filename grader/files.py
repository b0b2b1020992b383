"""Files that are whole or not there: written beside their place under a lock, then renamed into it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class RecordingError(RuntimeError):
    """The gradebook or a folder cannot be written. What is recorded stays; the message says what to do."""


def write_whole(target: Path, data: bytes, mode: int = 0o644) -> None:
    """Put ``data`` at ``target``, whatever happens in between.

    The name of the unfinished file follows from the target, so that whoever writes the target next takes over what a
    killed process left; a lock on it, which dies with its process, keeps two writers apart.

    Raises:
        OSError: no room, no permission. Then the target is as it was, and nothing unfinished remains.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.part")
    descriptor = _locked(beside)
    try:
        os.ftruncate(descriptor, 0)
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(data)
        os.fchmod(descriptor, mode)
        os.rename(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def _locked(path: Path) -> int:
    """A descriptor of ``path`` that only we write to. No link is followed."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            if os.stat(path, follow_symlinks=False).st_ino == os.fstat(descriptor).st_ino:
                return descriptor
        except FileNotFoundError:
            pass  # its last writer has just renamed it
        os.close(descriptor)
