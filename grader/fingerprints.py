"""What each misconception does on the public examples, as data: how `check` diagnoses without the wrong code.

Built by `grader build` into ``grader/lessons/fingerprints/NAME.json``; numbers are rounded to 14 digits (the tightest
tolerance is 1e-12), so that the file hardly depends on the machine that wrote it.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from grader import wire
from grader.exercise import Misconception, Outcome

FOLDER = Path(__file__).parent / "lessons" / "fingerprints"


def _plain(node: Any, digits: int) -> Any:
    """A wire node with array bytes as lists of rounded numbers."""
    if isinstance(node, list) and node and node[0] in ("a", "t"):
        dtype = "float32" if node[1] == "bfloat16" else node[1]
        stored = (
            "zero"
            if not node[-1] and math.prod(node[-2])
            else [_round(x, digits) for x in np.frombuffer(node[-1], dtype)]
        )
        return [*node[:-1], stored]
    if isinstance(node, list):
        return [_plain(item, digits) for item in node]
    if isinstance(node, dict):
        return {key: _plain(item, digits) for key, item in node.items()}
    return _round(node, digits) if isinstance(node, float) else node


def _round(x: Any, digits: int) -> Any:
    if isinstance(x, np.bool_ | np.integer):
        return x.item()
    digits = 9 if isinstance(x, np.float32) else digits  # enough to give the float32 back
    return float(f"{float(x):.{digits}g}") if math.isfinite(x) else str(float(x))


def _wire(node: Any) -> Any:
    """The reverse of `_plain`."""
    if isinstance(node, list) and node and node[0] in ("a", "t") and isinstance(node[-1], list):
        dtype = "float32" if node[1] == "bfloat16" else node[1]
        return [*node[:-1], np.array([float(x) if isinstance(x, str) else x for x in node[-1]], dtype).tobytes()]
    if isinstance(node, list):
        if node[:1] == ["f"]:
            return ["f", float(node[1])]
        return [*node[:-1], b""] if node and node[-1] == "zero" else [_wire(item) for item in node]
    return {key: _wire(item) for key, item in node.items()} if isinstance(node, dict) else node


def dumps(misconceptions: Sequence[Misconception], wrong: dict[str, list[Outcome]]) -> str:
    """The file's text. ``wrong``: id -> outcome per public example."""
    entries = [
        {
            "id": m.id,
            "description": m.description,
            "hints": list(m.hints),
            "parts": list(m.parts),
            "outcomes": [_plain(wire.encode_outcome(_anonymous(o)), 14) for o in wrong[m.id]],
        }
        for m in misconceptions
    ]
    return "[\n" + ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries) + "\n]\n"


def _anonymous(outcome: Outcome) -> Outcome:
    """Without the place of an error, which would tell about the wrong code."""
    if outcome.error is None:
        return outcome
    error = type(outcome.error)(outcome.error.type)
    return Outcome(outcome.status, None, {}, outcome.changed, error)


@functools.cache
def load(function: str, folder: Path = FOLDER) -> tuple[list[Misconception], Mapping[str, Sequence[Outcome]]]:
    """The misconceptions of a function and their outcomes on its public examples; empty where there is no file."""
    path = folder / f"{function}.json"
    if not path.exists():
        return [], {}
    entries = json.loads(path.read_text(encoding="utf-8"))
    known = [Misconception(e["id"], e["description"], tuple(e["hints"]), tuple(e["parts"])) for e in entries]
    return known, {e["id"]: _Outcomes(e["outcomes"]) for e in entries}


class _Outcomes(Sequence[Outcome]):
    """Outcomes decoded when asked for: most misconceptions are ruled out by their first example."""

    def __init__(self, stored: list[Any]) -> None:
        self._stored = stored
        self._decoded: dict[int, Outcome] = {}

    def __len__(self) -> int:
        return len(self._stored)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        if index not in self._decoded:
            self._decoded[index] = wire.decode_outcome(_wire(self._stored[index]))
        return self._decoded[index]
