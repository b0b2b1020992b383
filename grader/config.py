"""The course's settings, in one place: ``course.toml`` at the root of the repository."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from grader.course import ROOT, CourseError

FEEDBACK = ("scores", "hints", "cases")
DEFAULT = "hints"


def feedback(root: Path = ROOT) -> str:
    """How much learners are told: environment ``GRADER_FEEDBACK``, else ``course.toml``, else ``hints``.

    ``scores``: verdict and points per group. ``hints``: also the property that failed and the hint. ``cases``: also the
    numbers of a failing hidden case.

    Raises:
        CourseError: the setting is none of these.
    """
    path = root / "course.toml"
    chosen, where = os.environ.get("GRADER_FEEDBACK", ""), "GRADER_FEEDBACK"
    if not chosen and path.exists():
        where = path.name
        try:
            chosen = tomllib.loads(path.read_text(encoding="utf-8")).get("feedback", DEFAULT)
        except tomllib.TOMLDecodeError as error:
            raise CourseError(f"{where} is not valid TOML: {error}") from None
    chosen = chosen or DEFAULT
    if chosen not in FEEDBACK:
        raise CourseError(f"{where}: feedback = {chosen!r} is none of {', '.join(FEEDBACK)}")
    return chosen
