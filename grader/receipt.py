"""Receipts: what a mark was made from, so that it can be made again, and so that what is unchanged can be skipped."""

from __future__ import annotations

import functools
import hashlib
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from grader import __version__
from grader.course import ROOT, exercises

#: Entries that decide a mark. Two receipts that agree in these stand for the same mark.
DECISIVE = ("submission", "exercises", "secret", "isolation", "disclosure", "timestamp")
_ABSENT = "\0"  # in no secret that was typed or read from the environment
_JUDGING = (
    "diagnosis expected grading judge magics marks notebook observe render report rules scoring tolerance values wire"
).split()


def digest(*parts: Any) -> str:
    """A short hash of the parts' texts."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]


def receipt(lesson: str, secret: str, isolation: str, disclosure: str) -> dict[str, Any]:
    """The receipt of a lesson's marks, but for the submission itself. The secret stands in it as a hash."""
    return {
        "exercises": exercises_digest(lesson),
        "secret": secret_digest(secret),
        "isolation": isolation,
        "disclosure": disclosure,
        "versions": versions(),
    }


def without_secret(secret: str) -> str:
    """Stands for ``secret`` where it must not go: receipts can be written with it, cases cannot be drawn."""
    return _ABSENT + secret_digest(secret)


def secret_digest(secret: str) -> str:
    """The hash of a secret in receipts, of one that is not here as well."""
    return secret.removeprefix(_ABSENT) if is_absent(secret) else digest(secret)


def is_absent(secret: str) -> bool:
    """Whether this is what `without_secret` gave."""
    return secret.startswith(_ABSENT)


def same(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a stored receipt stands for the mark that grading now would give."""
    return all(stored.get(key) == wanted.get(key) for key in DECISIVE)


@functools.cache
def versions() -> dict[str, str]:
    """Versions that a number can depend on."""
    found = {"grader": __version__, "python": platform.python_version()}
    for name in ("numpy", "torch"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "none"
    return found


@functools.cache
def exercises_digest(lesson: str, root: Path = ROOT) -> str:
    """A hash of everything of ours that decides a lesson's marks: cases, references, notebook, the judging code."""
    package = Path(__file__).parent
    functions = sorted(name for name, exercise in exercises().items() if exercise.lesson == lesson)
    files = [package / f"{name}.py" for name in _JUDGING]
    files += [*sorted((package / "lessons").glob("*.py")), package / "hidden" / "__init__.py"]
    files += [path for name in functions for path in sorted((package / "hidden" / name).glob("*.py"))]
    files += [root / "solutions" / f"{lesson}.py", root / "notebooks" / lesson / f"{lesson}.ipynb"]
    return digest(*(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in files if path.exists()))
