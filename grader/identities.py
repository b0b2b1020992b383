"""Who is who: from the number that an LMS gives a person in a download to the student id of the gradebook."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping
from pathlib import Path

Identify = Callable[[str], str | None]


class IngestError(RuntimeError):
    """An archive or list that cannot be used at all; the message is one line."""


def identities(db: str = "", ids: Path | None = None) -> Identify:
    """Who is who: a list (CSV), the gradebook's ``lms_user_id``, or both in turn; without either, the LMS's number."""
    listed = read_ids(ids) if ids else {}
    known = _known(db) if db else {}
    if not db and ids is None:
        return lambda number: number

    def identify(number: str) -> str | None:
        names = listed.get(number, [number] if not listed else [])
        if not known:
            return names[0] if names else None
        return next((known[name] for name in names if name in known), None)

    return identify


def _known(db: str) -> dict[str, str]:
    """Everything that identifies a student of the gradebook -> student id; ``lms_user_id`` before the rest."""
    from nbgrader.api import Gradebook

    from grader.exports import ExportError, address

    try:
        with Gradebook(address(db)) as gradebook:
            people = [(s.id, s.lms_user_id, s.email) for s in gradebook.students]
    except ExportError as error:
        raise IngestError(str(error)) from None
    found = {email: own for own, _, email in people if email}
    found |= {own: own for own, _, _ in people}
    return found | {lms: own for own, lms, _ in people if lms}


_NUMBER_COLUMNS = ("identifier", "lms_user_id", "lms_id", "canvas_user_id", "id")
_PERSON_COLUMNS = ("student_id", "id number", "username", "sis login id", "sis user id", "email address", "email")


def read_ids(path: Path) -> dict[str, list[str]]:
    """The LMS's number -> what else identifies the person, from a CSV with a header.

    Moodle's grading worksheet (*Identifier*, *ID number*, *Email address*), Canvas's gradebook export (*ID*, *SIS Login
    ID*), or two columns ``lms_user_id,student_id``.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [
                {str(k).strip().lower(): str(v or "").strip() for k, v in row.items()} for row in csv.DictReader(file)
            ]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise IngestError(f"{path.name}: no CSV ({type(error).__name__})") from None
    number = next((name for name in _NUMBER_COLUMNS if rows and name in rows[0]), None)
    persons = [name for name in _PERSON_COLUMNS if rows and name in rows[0]]
    if number is None or not persons:
        raise IngestError(f"{path.name}: needs a header with a column like lms_user_id and one like student_id")
    return {key[0]: _names(row, persons) for row in rows if (key := re.findall(r"\d+", row[number])[-1:])}


def _names(row: Mapping[str, str], columns: list[str]) -> list[str]:
    return [row[name] for name in columns if row[name]]
