"""How far a learner has come: kept on their own disk, and nothing there can break a notebook."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.attempts import progress, record, shares, store
from grader.course import exercises


def test_the_place_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_PROGRESS", str(tmp_path / "p.json"))
    assert store() == tmp_path / "p.json"
    monkeypatch.delenv("GRADER_PROGRESS")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert store() == tmp_path / ".local/share/preference-optimization-course/progress.json"


def test_the_last_check_counts() -> None:
    record("dpo_loss", 0.5)
    record("dpo_grad", 1.0)
    record("dpo_loss", 0.25)
    record("dpo_loss", None)  # not attempted: the earlier result stays
    assert shares() == {"dpo_loss": 0.25, "dpo_grad": 1.0}
    assert [path.name for path in store().parent.iterdir()] == ["progress.json"]  # nothing half-written beside it


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "3", '{"dpo_loss": "x"}', '{"dpo_loss": [1]}', "\xff"])
def test_a_broken_file_is_an_empty_one(text: str) -> None:
    store().parent.mkdir(parents=True)
    store().write_text(text, encoding="latin-1")
    assert shares() == {}
    record("dpo_loss", 0.5)
    assert shares() == {"dpo_loss": 0.5}


def test_odd_shares_are_bounded_and_strangers_dropped() -> None:
    store().parent.mkdir(parents=True)
    store().write_text('{"dpo_loss": 7, "dpo_grad": -1, "spo_loss": NaN, "stranger": 1}')
    found = shares()
    assert "stranger" not in found
    assert (found["dpo_loss"], found["dpo_grad"]) == (1.0, 0.0)
    assert all(0.0 <= share <= 1.0 for share in found.values())


def test_a_disk_that_cannot_be_written_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("GRADER_PROGRESS", str(tmp_path / "file" / "progress.json"))
    record("dpo_loss", 0.5)
    assert shares() == {}


def test_bars(capsys: pytest.CaptureFixture[str]) -> None:
    record("dpo_loss", 0.5)
    progress()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(exercises())
    line = next(line for line in lines if line.startswith("dpo_loss"))
    assert line.split()[1] == "█" * 10 + "░" * 10  # half of twenty
    assert line.endswith("50%")
    assert json.loads(store().read_text()) == {"dpo_loss": 0.5}
