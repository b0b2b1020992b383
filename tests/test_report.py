"""The result model and its JSON, whose keys are promised to whoever reads them."""

from __future__ import annotations

import json
from typing import Any

from grader.report import ExerciseResult, GroupResult, Hint, SubmissionResult, failed, from_json, to_json

RESULT = SubmissionResult(
    "class/ada/03_stable_dpo.ipynb", "03_stable_dpo", "graded", 7.5, 10.0, ("cell 3: NameError",),
    (
        ExerciseResult(
            "dpo_loss", "partial", 1.5, 4.0,
            (GroupResult("margin", 1.5, 1.5, True, "", "an idea"), GroupResult("won pairs", 0.0, 2.5, False, "differs")),  # noqa: E501
            (Hint("epsilon_in_log", "Look inside the logarithm."),),
        ),
    ),
    {"seconds": 0.1},
)  # fmt: skip
#: The promised keys, by level. More may be there, none of these may be missing.
TOP = {"schema", "results"}
SUBMISSION = {"submission", "assignment", "status", "points", "max_points", "problems", "exercises"}
EXERCISE = {"name", "status", "points", "max_points", "groups", "diagnosis"}
GROUP = {"name", "points", "max_points", "passed", "message"}
HINT = {"misconception", "hint"}


def plain() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(json.dumps(to_json([RESULT])))
    return loaded


def test_the_promised_keys() -> None:
    node = plain()
    assert node.keys() == TOP
    assert node["schema"] == 1
    result = node["results"][0]
    assert result.keys() >= SUBMISSION
    assert result["exercises"][0].keys() >= EXERCISE
    assert all(group.keys() >= GROUP for group in result["exercises"][0]["groups"])
    assert all(hint.keys() == HINT for hint in result["exercises"][0]["diagnosis"])


def test_values_have_the_promised_types() -> None:
    result = plain()["results"][0]
    assert result["problems"] == ["cell 3: NameError"]
    assert (result["points"], result["max_points"], result["status"]) == (7.5, 10.0, "graded")
    assert result["exercises"][0]["diagnosis"] == [
        {"misconception": "epsilon_in_log", "hint": "Look inside the logarithm."}
    ]
    assert result["exercises"][0]["groups"][0]["passed"] is True


def test_round_trip() -> None:
    assert from_json(plain()["results"][0]) == RESULT


def test_failed() -> None:
    result = failed("a.ipynb", "", "a.ipynb: no such file; check the path")
    assert (result.status, result.points, result.problems) == (
        "failed",
        0.0,
        ("a.ipynb: no such file; check the path",),
    )
    assert from_json(json.loads(json.dumps(to_json([result])))["results"][0]) == result
