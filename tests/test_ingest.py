"""Moodle and Canvas downloads become nbgrader's ``submitted/``; what strangers put into a zip costs a line, no more."""

from __future__ import annotations

import io
import json
import stat
import struct
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from nbgrader.utils import parse_utc

from grader import ingest

LESSON = "03_stable_dpo"
NOTEBOOK = json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def entry(name: str, when: tuple[int, int, int, int, int, int] = (2026, 3, 1, 12, 30, 0)) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, when)
    info.external_attr = 0o644 << 16
    return info


def archive(folder: Path, *entries: tuple[zipfile.ZipInfo | str, bytes]) -> Path:
    path = folder / "download.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for info, data in entries:
            packed.writestr(info if isinstance(info, zipfile.ZipInfo) else entry(info), data)
    return path


def take(folder: Path, path: Path, identify: ingest.Identify = lambda n: n) -> tuple[int, list[str]]:
    return ingest.ingest(path, LESSON, folder / "submitted", identify)


@pytest.mark.parametrize(
    ("name", "number", "version"),
    [
        ("Ada Lovelace_4711_assignsubmission_file_/03_stable_dpo.ipynb", "4711", 0),
        ("Ada Lovelace_4711_assignsubmission_file/03_stable_dpo.ipynb", "4711", 0),
        ("Ada_Byron Lovelace_4711_assignsubmission_file_/week 3/a.ipynb", "4711", 0),
        ("Ada Lovelace_4711_assignsubmission_file_03_stable_dpo.ipynb", "4711", 0),
        ("lovelaceada_4711_99812_03_stable_dpo.ipynb", "4711", 99812),
        ("lovelaceada_LATE_4711_99812_03_stable_dpo-1.ipynb", "4711", 99812),
        ("submissions/lovelaceada_4711_99812_x.py", "4711", 99812),
    ],
)
def test_names(name: str, number: str, version: int) -> None:
    """Both systems' documented names, Moodle's with and without folders, Canvas's late and repeated ones."""
    parsed = ingest.parse(name)
    assert parsed is not None
    assert parsed[:2] == (number, version)


def test_moodle_download(tmp_path: Path) -> None:
    """A folder per person; the time stamp is the entry's, read by nbgrader as the same moment."""
    path = archive(
        tmp_path,
        ("Ada Lovelace_4711_assignsubmission_file_/03_stable_dpo.ipynb", NOTEBOOK),
        ("Bob_4712_assignsubmission_file_/answer.py", b"x = 1\n"),
        ("Bob_4712_assignsubmission_onlinetext_/onlinetext.html", b"<p>hi</p>"),
    )
    taken, lines = take(tmp_path, path)
    assert taken == 2
    assert lines == [
        "Bob_4712_assignsubmission_onlinetext_/onlinetext.html: not a notebook (.ipynb) or Python file (.py); left out"
    ]
    ada, bob = tmp_path / "submitted/4711" / LESSON, tmp_path / "submitted/4712" / LESSON
    assert (ada / f"{LESSON}.ipynb").read_bytes() == NOTEBOOK
    assert (bob / f"{LESSON}.py").read_bytes() == b"x = 1\n"
    assert "x = 1" in (bob / f"{LESSON}.ipynb").read_text(encoding="utf-8")  # wrapped: nbgrader grades notebooks only
    local = datetime(2026, 3, 1, 12, 30).astimezone()
    assert parse_utc((ada / "timestamp.txt").read_text().strip()) == local.astimezone(UTC).replace(tzinfo=None)


def test_an_exact_time_in_the_entry_is_preferred(tmp_path: Path) -> None:
    """The extended time stamp (extra field 0x5455) is in UTC and holds in every time zone."""
    info = entry("a_1_2_x.ipynb")
    seconds = int(datetime(2026, 7, 4, 8, 15, 30, tzinfo=UTC).timestamp())
    info.extra = struct.pack("<HHBi", 0x5455, 5, 1, seconds)
    take(tmp_path, archive(tmp_path, (info, NOTEBOOK)))
    stamp = (tmp_path / "submitted/1" / LESSON / "timestamp.txt").read_text()
    assert stamp == "2026-07-04 08:15:30+00:00\n"


def test_the_last_of_several_counts(tmp_path: Path) -> None:
    """Canvas numbers uploads; a notebook beats a script; each that does not count is named."""
    path = archive(
        tmp_path,
        ("adal_4711_100_x.ipynb", NOTEBOOK + b" "),
        ("adal_LATE_4711_200_x-1.ipynb", NOTEBOOK),
        ("adal_4711_300_notes.py", b"pass"),
    )
    taken, lines = take(tmp_path, path)
    assert taken == 1
    assert (tmp_path / "submitted/4711" / LESSON / f"{LESSON}.ipynb").read_bytes() == NOTEBOOK
    assert lines == [
        "adal_4711_100_x.ipynb: adal_LATE_4711_200_x-1.ipynb counts instead; left out",
        "adal_4711_300_notes.py: adal_LATE_4711_200_x-1.ipynb counts instead; left out",
    ]


def test_again_takes_only_what_is_newer(tmp_path: Path) -> None:
    first = archive(tmp_path, ("a_1_2_x.ipynb", NOTEBOOK))
    assert take(tmp_path, first)[0] == 1
    assert take(tmp_path, first) == (0, ["a_1_2_x.ipynb: what is there already is as new; left out"])
    newer = archive(tmp_path, (entry("a_1_3_x.ipynb", (2026, 3, 2, 0, 0, 0)), NOTEBOOK + b"\n"))
    assert take(tmp_path, newer)[0] == 1
    assert (tmp_path / "submitted/1" / LESSON / f"{LESSON}.ipynb").read_bytes() == NOTEBOOK + b"\n"


def link() -> zipfile.ZipInfo:
    info = entry("m_5_6_x.ipynb")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        ("../../a_1_2_x.ipynb", "points outside"),
        ("/etc/a_1_2_x.ipynb", "points outside"),
        ("..\\..\\a_1_2_x.ipynb", "points outside"),
        ("C:\\a_1_2_x.ipynb", "points outside"),
        (link(), "symbolic link"),
        ("notes.ipynb", "neither Moodle's nor Canvas's"),
        ("a_1_2_x.exe", "not a notebook"),
    ],
)
def test_what_is_left_out(tmp_path: Path, info: zipfile.ZipInfo | str, reason: str) -> None:
    """Nothing is written anywhere, one line says why, and what stands beside it is taken."""
    home = tmp_path / "home"
    home.mkdir()
    path = archive(tmp_path, (info, b"/etc/passwd"), ("b_7_8_x.ipynb", NOTEBOOK))
    taken, lines = take(home, path)
    assert taken == 1
    assert len(lines) == 1
    assert reason in lines[0]
    assert [p.name for p in home.iterdir()] == ["submitted"]
    assert [p.name for p in (home / "submitted").iterdir()] == ["7"]


def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too large by its own account: not opened. Larger than it says: reading stops at the limit."""
    monkeypatch.setattr(ingest, "MAX_BYTES", 2**20)
    path = archive(tmp_path, ("a_1_2_x.ipynb", bytes(2**21)), ("b_3_4_x.ipynb", NOTEBOOK))
    taken, lines = take(tmp_path, path)
    assert (taken, len(lines)) == (1, 1)
    assert "2 MB unpacked, more than the 1 MB" in lines[0]
    data = bytearray(archive(tmp_path, ("c_5_6_x.ipynb", bytes(2**21))).read_bytes())
    honest, small = struct.pack("<I", 2**21), struct.pack("<I", 1000)
    lying = tmp_path / "lying.zip"
    lying.write_bytes(bytes(data).replace(honest, small))
    taken, lines = take(tmp_path, lying)
    assert (taken, len(lines)) == (0, 1)
    assert not (tmp_path / "submitted/5").exists()


def test_total_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "MAX_TOTAL", 3 * len(NOTEBOOK))
    path = archive(tmp_path, *((f"p_{i}_{i}_x.ipynb", NOTEBOOK) for i in range(5)))
    taken, lines = take(tmp_path, path)
    assert (taken, len(lines)) == (3, 2)


def test_no_zip(tmp_path: Path) -> None:
    (tmp_path / "download.zip").write_bytes(b"hello")
    with pytest.raises(ingest.IngestError, match=r"download\.zip: no zip archive"):
        take(tmp_path, tmp_path / "download.zip")


def test_a_broken_entry_costs_itself(tmp_path: Path) -> None:
    path = archive(tmp_path, ("a_1_2_x.ipynb", b"A" * 5000), ("b_3_4_x.ipynb", NOTEBOOK))
    data = bytearray(path.read_bytes())
    data[45:60] = bytes(15)
    path.write_bytes(data)
    taken, lines = take(tmp_path, path)
    assert taken == 1
    assert "cannot be unpacked" in lines[0]


def gradebook(folder: Path) -> str:
    path = folder / "gradebook.db"
    with Gradebook(f"sqlite:///{path}") as book:
        book.add_student("ada", lms_user_id="4711", email="ada@example.org")
        book.add_student("bob", lms_user_id="900", email="bob@example.org")
    return str(path)


def test_ids_from_the_gradebook(tmp_path: Path) -> None:
    """``lms_user_id`` says who it is; nobody's number is left out with a line."""
    path = archive(tmp_path, ("adal_4711_1_x.ipynb", NOTEBOOK), ("evil_666_2_x.ipynb", NOTEBOOK))
    taken, lines = take(tmp_path, path, ingest.identities(gradebook(tmp_path)))
    assert (taken, lines) == (1, ["evil_666_2_x.ipynb: nobody is known under 666; left out"])
    assert (tmp_path / "submitted/ada" / LESSON).is_dir()


def test_ids_from_moodles_worksheet(tmp_path: Path) -> None:
    """Moodle's archive has participant numbers; its grading worksheet leads from them to the ID number or address."""
    worksheet = tmp_path / "worksheet.csv"
    worksheet.write_text(
        '\ufeffIdentifier,"Full name","Email address",Status\n'
        'Participant 31,"Bob B",bob@example.org,Submitted\nParticipant 32,"Eve",eve@example.org,Submitted\n',
        encoding="utf-8",
    )
    identify = ingest.identities(gradebook(tmp_path), worksheet)
    assert identify("31") == "bob"
    assert identify("32") is None
    assert identify("4711") is None  # a participant's number is no lms_user_id
    pairs = tmp_path / "ids.csv"
    pairs.write_text("lms_user_id,student_id\n31,bob\n", encoding="utf-8")
    assert ingest.identities("", pairs)("31") == "bob"


@pytest.mark.parametrize("student", ["../x", "a/b", "", ".", "a b", "-rf"])
def test_a_list_cannot_name_a_path(tmp_path: Path, student: str) -> None:
    path = archive(tmp_path, ("adal_4711_1_x.ipynb", NOTEBOOK))
    taken, lines = take(tmp_path, path, lambda number: student)
    assert taken == 0
    assert "no student id" in lines[0]
    assert not (tmp_path / "submitted").exists()


def test_random_bytes_and_names_never_raise(tmp_path: Path) -> None:
    """Names of control characters and a zip that ends early give lines or one clear error."""
    path = archive(tmp_path, ("\x1b[31m_1_2_x.ipynb", NOTEBOOK), ("é" * 300 + "_1_2_x.txt", b""))
    taken, lines = take(tmp_path, path)
    assert taken == 1
    assert all("\x1b" not in line and len(line) < 200 for line in lines)
    cut = path.read_bytes()[:-30]
    (tmp_path / "cut.zip").write_bytes(cut)
    with pytest.raises(ingest.IngestError):
        take(tmp_path, tmp_path / "cut.zip")
    assert io.BytesIO(cut).read(2) == b"PK"
