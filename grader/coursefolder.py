"""Where a course keeps things, by nbgrader's own configuration, and which names may stand in its folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

CONFIG = "nbgrader_config.py"
PATIENCE = 30  # seconds that SQLite waits for another writer


class CourseFolder:
    """A course's folders and gradebook. ``root`` has an ``nbgrader_config.py``, or nbgrader's defaults apply."""

    def __init__(self, root: Path, db_url: str = "") -> None:
        from nbgrader.coursedir import CourseDirectory  # slow to import, and only needed with a gradebook
        from traitlets.config import Config
        from traitlets.config.loader import PyFileConfigLoader

        path = root / CONFIG
        self.config: Any = PyFileConfigLoader(str(path)).load_config() if path.exists() else Config()
        if "root" not in self.config.CourseDirectory:
            self.config.CourseDirectory.root = str(root.resolve())
        self.directory: Any = CourseDirectory(config=self.config)
        self.db_url = patient(db_url or self.directory.db_url)
        self.course_id = str(self.directory.course_id or "default_course")

    def autograded(self, student: str, lesson: str) -> Path:
        """The folder of a marked submission."""
        return Path(self.directory.format_path(self.directory.autograded_directory, student, lesson))


def patient(url: str) -> str:
    """``url``, with a longer wait for a locked SQLite file."""
    return f"{url}?timeout={PATIENCE}" if url.startswith("sqlite:///") and "?" not in url else url


def root_of(paths: Sequence[Path]) -> Path:
    """The course root: the folder that holds ``submitted/``, unless only here there is an nbgrader configuration."""
    beside = paths[0].resolve().parent if paths else Path.cwd()
    return Path.cwd() if (Path.cwd() / CONFIG).exists() and not (beside / CONFIG).exists() else beside


def student_problem(student: str) -> str:
    """Why a folder's name cannot be a student id in gradebook, paths and spreadsheets; empty when it can."""
    if not student or student in (".", ".."):
        return "no student id: submissions lie in STUDENT/LESSON/ below the folder"
    if len(student) > 128:
        return "the student id has more than 128 characters; rename the folder"
    if not student.isprintable() or any("\ud800" <= c <= "\udfff" for c in student):
        return "the student id has characters that cannot be printed; rename the folder"
    if student[0] in "=+-@" or student != student.strip():
        return "the student id starts like a spreadsheet formula, or with a space; rename the folder"
    return ""
