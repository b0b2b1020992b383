"""The result of grading a submission, and what it looks like as JSON.

Renderings for people are in `grader.render`. Results hold no hidden input and no
expected value, unless the course's setting is ``feedback = cases``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCHEMA = 1


@dataclass(frozen=True)
class GroupResult:
    """A case group's verdict. ``idea`` is what it asks, ``message`` which property failed (empty when passed).

    ``case`` is a failing case with its numbers, only where the course discloses them (``feedback = cases``).
    """

    name: str
    points: float
    max_points: float
    passed: bool
    message: str = ""
    idea: str = ""
    case: str = ""


@dataclass(frozen=True)
class Hint:
    """A misconception the submission shows, with its first hint."""

    misconception: str
    hint: str


@dataclass(frozen=True)
class ExerciseResult:
    """An exercise's mark. ``status``: passed, partial, failed, not attempted."""

    name: str
    status: str
    points: float
    max_points: float
    groups: tuple[GroupResult, ...] = ()
    diagnosis: tuple[Hint, ...] = ()
    advice: str = ""


@dataclass(frozen=True)
class SubmissionResult:
    """A submission's mark. ``status``: graded, or failed with the reason in ``problems``."""

    submission: str
    assignment: str
    status: str
    points: float = 0.0
    max_points: float = 0.0
    problems: tuple[str, ...] = ()
    exercises: tuple[ExerciseResult, ...] = ()
    receipt: Mapping[str, Any] = field(default_factory=dict)


def failed(submission: str, assignment: str, problem: str, max_points: float = 0.0) -> SubmissionResult:
    """The result of a submission that could not be graded."""
    return SubmissionResult(submission, assignment, "failed", 0.0, max_points, (problem,))


def to_json(results: list[SubmissionResult]) -> dict[str, Any]:
    """The results as plain JSON types: ``{"schema": 1, "results": [...]}``."""
    return {"schema": SCHEMA, "results": [_node(result) for result in results]}


def _node(result: SubmissionResult) -> dict[str, Any]:
    exercises = [exercise_node(exercise) for exercise in result.exercises]
    return {**vars(result), "problems": list(result.problems), "exercises": exercises, "receipt": dict(result.receipt)}


def exercise_node(exercise: ExerciseResult) -> dict[str, Any]:
    """One exercise's result as plain JSON types."""
    groups, hints = ([dict(vars(part)) for part in parts] for parts in (exercise.groups, exercise.diagnosis))
    return {**vars(exercise), "groups": groups, "diagnosis": hints}


def from_json(node: Mapping[str, Any]) -> SubmissionResult:
    """The `SubmissionResult` of one entry of ``results``."""
    exercises = tuple(
        ExerciseResult(
            **{
                **e,
                "groups": tuple(GroupResult(**g) for g in e["groups"]),
                "diagnosis": tuple(Hint(**h) for h in e["diagnosis"]),
            }
        )
        for e in node["exercises"]
    )
    return SubmissionResult(**{**node, "problems": tuple(node["problems"]), "exercises": exercises})
