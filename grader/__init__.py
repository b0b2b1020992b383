"""The course's grader. In a notebook: ``from grader import check, hint, progress, picture, explore, palette, borrow``.

Names are loaded when first used, so that the `grader` command starts quickly.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "check": "grader.checks",
    "hint": "grader.checks",
    "progress": "grader.attempts",
    "picture": "grader.pictures",
    "explore": "grader.pictures",
    "palette": "grader.pictures",
    "borrow": "grader.borrowing",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'grader' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
