"""`grader ingest`: a Moodle or Canvas download becomes nbgrader's ``submitted/`` folder.

An archive comes from strangers: its names are read, never used as paths; links, oversized and encrypted entries and
repeats are left out, each with a line that says so.
"""

from __future__ import annotations

import json
import os
import re
import stat
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from grader.console import printable
from grader.identities import Identify, IngestError, identities
from grader.marks import wrapped
from grader.notebook import MAX_BYTES

__all__ = ["Identify", "IngestError", "identities", "ingest", "parse"]

MAX_ENTRIES = 50_000
MAX_TOTAL = 20 * 2**30  # unpacked, of all that is taken
SUFFIXES = (".ipynb", ".py")
_MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_file_?/?(?P<file>[^/]*(?:/.*)?)")
_CANVAS = re.compile(r"(?P<name>.+?)(?P<late>_LATE)?_(?P<id>\d+)_(?P<version>\d+)_(?P<file>[^/]+)")
_STUDENT = re.compile(r"[\w@][\w.@-]{0,127}")


@dataclass(frozen=True)
class Handed:
    """A file that somebody handed in. ``version`` orders what one person handed in several times."""

    entry: zipfile.ZipInfo
    lms_id: str
    suffix: str
    when: datetime
    version: int = 0


def ingest(archive: Path, assignment: str, to: Path, identify: Identify) -> tuple[int, list[str]]:
    """Write ``to/STUDENT/ASSIGNMENT/``; how many submissions were taken, and a line on each entry that was not.

    Args:
        archive: a zip as Moodle or Canvas give it.
        assignment: the lesson that was handed in.
        to: nbgrader's submitted folder; made where it is missing.
        identify: the LMS's number of a person -> student id, None where nobody has it.

    Raises:
        IngestError: no zip, or far too many entries.
    """
    try:
        packed = zipfile.ZipFile(archive)
    except (zipfile.BadZipFile, OSError):
        raise IngestError(f"{archive.name}: no zip archive; give the file that the LMS lets you download") from None
    with packed:
        entries = [entry for entry in packed.infolist() if not entry.is_dir()]
        if len(entries) > MAX_ENTRIES:
            raise IngestError(
                f"{archive.name}: {len(entries)} entries, more than {MAX_ENTRIES}; download one assignment only"
            )
        lines: list[str] = []
        chosen = _latest(_handed(entries, lines), lines)
        return sum(_take(packed, one, assignment, to, identify, lines) for one in chosen), lines


def _shown(name: str) -> str:
    clean = printable(name)
    return clean if len(clean) <= 100 else f"{clean[:60]}…{clean[-39:]}"


def _handed(entries: list[zipfile.ZipInfo], lines: list[str]) -> Iterator[Handed]:
    """What was handed in, entry by entry; a line on each that cannot be it."""
    room = MAX_TOTAL
    for entry in entries:
        problem, parsed = _problem(entry, room), parse(entry.filename)
        if not problem and parsed is None:
            problem = "the name is neither Moodle's nor Canvas's"
        if problem or parsed is None:
            lines.append(f"{_shown(entry.filename)}: {problem}; left out")
            continue
        room -= entry.file_size
        lms_id, version, file = parsed
        yield Handed(entry, lms_id, PurePosixPath(file).suffix.lower(), moment(entry), version)


def _problem(entry: zipfile.ZipInfo, room: int) -> str:
    """Why an entry is not taken, or nothing."""
    parts = PurePosixPath(entry.filename.replace("\\", "/")).parts
    if ".." in parts or entry.filename.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", entry.filename):
        return "the name points outside the archive"
    if stat.S_ISLNK(entry.external_attr >> 16):
        return "a symbolic link"
    if entry.flag_bits & 1:
        return "encrypted"
    if not entry.filename.lower().endswith(SUFFIXES):
        return "not a notebook (.ipynb) or Python file (.py)"
    if entry.file_size > min(MAX_BYTES, room):
        return f"{entry.file_size // 2**20} MB unpacked, more than the {MAX_BYTES // 2**20} MB a submission may have"
    return ""


def parse(name: str) -> tuple[str, int, str] | None:
    """(the LMS's number of the person, version, file name) of an entry; None where the name is nobody's.

    Moodle: ``Ada Lovelace_4711_assignsubmission_file_/x.ipynb``. Canvas: ``lovelaceada_LATE_4711_99812_x.ipynb``.
    """
    if found := _MOODLE.fullmatch(name):
        return found["id"], 0, found["file"]
    if found := _CANVAS.fullmatch(PurePosixPath(name).name):
        return found["id"], int(found["version"]), found["file"]
    return None


def moment(entry: zipfile.ZipInfo) -> datetime:
    """When an entry was written: from the extended time stamp in UTC; else the zip's own, in this machine's zone."""
    extra = entry.extra
    while len(extra) >= 4:
        kind, size = struct.unpack("<HH", extra[:4])
        if kind == 0x5455 and size >= 5 and len(extra) >= 9 and extra[4] & 1:
            return datetime.fromtimestamp(struct.unpack("<i", extra[5:9])[0], UTC)
        extra = extra[4 + size :]
    try:
        return datetime(*entry.date_time).astimezone()
    except (ValueError, OverflowError):  # a zip may say month 0
        return datetime(1980, 1, 1, tzinfo=UTC)


def _latest(handed: Iterator[Handed], lines: list[str]) -> list[Handed]:
    """One file per person: notebooks before scripts, then the latest; a line on each of the others."""
    best: dict[str, Handed] = {}
    for one in handed:
        other = best.get(one.lms_id)
        winner = one if other is None or _rank(one) > _rank(other) else other
        if other is not None:
            loser = one if winner is other else other
            lines.append(f"{_shown(loser.entry.filename)}: {_shown(winner.entry.filename)} counts instead; left out")
        best[one.lms_id] = winner
    return list(best.values())


def _rank(one: Handed) -> tuple[bool, int, datetime]:
    return one.suffix == ".ipynb", one.version, one.when


def _take(
    packed: zipfile.ZipFile, one: Handed, assignment: str, to: Path, identify: Identify, lines: list[str]
) -> bool:
    """Write one submission. False, and a line, where it cannot be."""
    shown, student = _shown(one.entry.filename), identify(one.lms_id)
    if student is None or not _STUDENT.fullmatch(student):
        who = f"nobody is known under {one.lms_id}" if student is None else f"{student!r} is no student id"
        lines.append(f"{shown}: {who}; left out")
        return False
    try:
        with packed.open(one.entry) as stream:
            data = stream.read(MAX_BYTES + 1)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError) as error:
        lines.append(f"{shown}: cannot be unpacked ({type(error).__name__}); left out")
        return False
    folder = to / student / assignment
    if len(data) > MAX_BYTES or not _newer(folder, one.when):
        why = "larger than its archive says" if len(data) > MAX_BYTES else "what is there already is as new"
        lines.append(f"{shown}: {why}; left out")
        return False
    _store(folder, f"{assignment}{one.suffix}", data, one.when)
    return True


def _newer(folder: Path, when: datetime) -> bool:
    try:
        return datetime.fromisoformat((folder / "timestamp.txt").read_text(encoding="utf-8").strip()) < when
    except (OSError, ValueError, TypeError):
        return True


def _store(folder: Path, name: str, data: bytes, when: datetime) -> None:
    """The submission in nbgrader's layout; the time stamp comes last, so that a broken run is taken up again."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*"):
        if old.suffix in SUFFIXES:
            old.unlink()
    (folder / name).write_bytes(data)
    os.utime(folder / name, (when.timestamp(), when.timestamp()))
    if name.endswith(".py"):  # nbgrader grades notebooks only; the original stays beside it
        notebook = json.dumps(wrapped(data.decode("utf-8-sig", errors="replace")), indent=1)
        (folder / name).with_suffix(".ipynb").write_text(notebook, encoding="utf-8")
    (folder / "timestamp.txt").write_text(when.isoformat(" ") + "\n", encoding="utf-8")
