"""Lesson 4 takes functions from the learner's own earlier notebooks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import Notebook, cell_of, released, solved

from grader import borrow

NAME = "implicit_reward"
LESSON = "03_stable_dpo"
STUB = f"`{NAME}` comes from lesson {LESSON}: solve it there first, then restart this notebook"


def put(folder: Path, made: Notebook | str, lesson: str = LESSON) -> None:
    path = folder / lesson / f"{lesson}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(made if isinstance(made, str) else json.dumps(made), encoding="utf-8")


def test_from_the_sibling_lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, solved(LESSON))
    here = tmp_path / "04_reward_kl_frontier"
    here.mkdir()
    monkeypatch.chdir(here)
    assert borrow(NAME)(3.0, 1.0, 0.5) == 1.0  # beta (policy - reference)


@pytest.mark.parametrize("place", [".", LESSON, "other"])
def test_wherever_it_stands(tmp_path: Path, place: str) -> None:
    put(tmp_path, solved(LESSON))
    assert borrow(NAME, tmp_path / place)(3.0, 1.0, 0.5) == 1.0


def refuses(folder: Path, said: str = STUB) -> None:
    function = borrow(NAME, folder)
    assert function.__name__ == NAME
    with pytest.raises(NotImplementedError, match=said):
        function(1.0, 2.0, 3.0)


def test_missing_notebook(tmp_path: Path) -> None:
    refuses(tmp_path)


def test_not_attempted(tmp_path: Path) -> None:
    put(tmp_path, released(LESSON))
    with pytest.raises(NotImplementedError):
        borrow(NAME, tmp_path)(1.0, 2.0, 3.0)


def test_broken_cell(tmp_path: Path) -> None:
    put(tmp_path, solved(LESSON, **{NAME: f"def {NAME}(\n"}))
    refuses(tmp_path)


def test_another_broken_cell_costs_nothing(tmp_path: Path) -> None:
    put(tmp_path, solved(LESSON, dpo_loss="raise SystemError\n"))
    assert borrow(NAME, tmp_path)(3.0, 1.0, 0.5) == 1.0


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"cells": [3, null, {}]}', "\xff"])
def test_broken_notebook(tmp_path: Path, text: str) -> None:
    put(tmp_path, text)
    refuses(tmp_path)


def test_magics_in_the_answer(tmp_path: Path) -> None:
    made = solved(LESSON)
    cell = cell_of(made, NAME)
    cell["source"] = ["%%time\n", *cell["source"]]
    put(tmp_path, made)
    assert borrow(NAME, tmp_path)(3.0, 1.0, 0.5) == 1.0


def test_metadata_lost(tmp_path: Path) -> None:
    made = solved(LESSON)
    for cell in made["cells"]:
        cell["metadata"] = {}
    put(tmp_path, made)
    assert borrow(NAME, tmp_path)(3.0, 1.0, 0.5) == 1.0


def test_an_answer_that_exits_does_not_end_the_notebook(tmp_path: Path) -> None:
    put(tmp_path, solved(LESSON, **{NAME: "raise SystemExit(1)\n"}))
    refuses(tmp_path)


def test_unknown_names() -> None:
    with pytest.raises(ValueError, match=r"borrow knows no exercise 'nothing'; it knows kl_penalized_rewards, "):
        borrow("nothing")
