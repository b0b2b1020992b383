"""The course secret: where it comes from, and that nobody else can read it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from grader.secret import secret_of


def test_what_is_given_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_SECRET", "from the environment")
    assert secret_of("given", tmp_path) == "given"
    assert secret_of("", tmp_path) == "from the environment"
    assert not list(tmp_path.iterdir())


def test_it_is_made_once_announced_once_and_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GRADER_SECRET", raising=False)
    made = secret_of("", tmp_path)
    assert len(made) == 32  # 16 bytes, in hexadecimal
    assert int(made, 16) >= 0
    path = tmp_path / ".grader" / "secret"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    said = capsys.readouterr().err
    assert str(path) in said
    assert made not in said
    assert secret_of("", tmp_path) == made
    assert capsys.readouterr().err == ""


def test_two_courses_have_two_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRADER_SECRET", raising=False)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert secret_of("", tmp_path / "a") != secret_of("", tmp_path / "b")
