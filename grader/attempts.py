"""How far a learner has come: the share of each exercise's checks that pass, kept on the learner's own disk."""

from __future__ import annotations

import json
import os
from pathlib import Path

from grader.course import exercises


def store() -> Path:
    """The progress file: ``GRADER_PROGRESS``, else ``~/.local/share/preference-optimization-course/progress.json``."""
    chosen = os.environ.get("GRADER_PROGRESS")
    return Path(chosen) if chosen else Path.home() / ".local/share/preference-optimization-course/progress.json"


def shares() -> dict[str, float]:
    """Exercise -> share of its points that the last check would earn. Empty where nothing was checked yet."""
    try:
        found = json.loads(store().read_text(encoding="utf-8"))
        return {name: min(1.0, max(0.0, float(share))) for name, share in found.items() if name in exercises()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def record(name: str, share: float | None) -> None:
    """Remember the last check of an exercise (None: not attempted). A disk that cannot be written costs nothing."""
    if share is None:
        return
    path = store()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".new")
        beside.write_text(json.dumps({**shares(), name: share}, indent=1), encoding="utf-8")
        beside.replace(path)  # never a half-written file
    except (OSError, RuntimeError):
        pass


def progress() -> None:
    """Show the course as bars."""
    from grader import render

    known = shares()
    rows = [(e.lesson, e.name, known.get(e.name, 0.0)) for e in exercises().values()]
    width = max(len(name) for _, name, _ in rows)
    text = "\n".join(f"{name:<{width}}  {'█' * round(20 * s):░<20}  {s:4.0%}" for _, name, s in rows)
    render.show(render.progress_html(rows), text)
