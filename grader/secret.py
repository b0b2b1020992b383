"""The course secret, from which hidden cases are drawn."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

from grader.course import ROOT


def secret_of(given: str = "", root: Path = ROOT) -> str:
    """``given``, else ``GRADER_SECRET``, else ``.grader/secret``, which is made (mode 0600) and announced once."""
    if given or os.environ.get("GRADER_SECRET"):
        return given or os.environ["GRADER_SECRET"]
    path = root / ".grader" / "secret"
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        pass
    path.parent.mkdir(exist_ok=True)
    made = secrets.token_hex(16)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(made + "\n")
    except FileExistsError:  # another grader was faster
        return path.read_text(encoding="utf-8").strip()
    print(
        f"Made a course secret in {path}: hidden cases are drawn from it. Keep it, and keep it private.",
        file=sys.stderr,
    )
    return made
