"""What every attack meets: one warm worker, and the same questions after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from arena import LESSON, LIMITS_HERE, PRELUDE, Quick, good, grade, hidden_numbers, left_behind, shown

from grader.grading import Grader
from grader.report import SubmissionResult
from grader.sandbox import confine


@pytest.fixture(scope="session")
def grader() -> Iterator[Grader]:
    if confine.missing_layers():
        pytest.skip("this machine cannot confine")
    with Quick("the secret of the attacked course", limits=LIMITS_HERE) as made:
        yield made


@pytest.fixture(scope="session")
def other_year(grader: Grader) -> Grader:
    """The same course with another secret: other hidden cases, the same worker."""
    grade(grader, good(LESSON))  # starts the worker
    return Quick("another secret", limits=LIMITS_HERE, worker=grader.worker)


@pytest.fixture(scope="session")
def diagnosing(grader: Grader, other_year: Grader) -> Grader:
    """The course as it is, hints and all, on the same worker."""
    return Grader(grader.secret, limits=LIMITS_HERE, worker=grader.worker)


@pytest.fixture
def attack(grader: Grader) -> Callable[..., SubmissionResult]:
    """Grade an attack, ask what every attack is asked, and return its result for questions of its own."""

    def run(source: str, name: str = LESSON, earned: float = 0.0, after: bool = True) -> SubmissionResult:
        result = grade(grader, PRELUDE + source, name)
        assert result.points <= earned, [(g.name, g.points) for e in result.exercises for g in e.groups if g.points]
        text = shown(result)
        assert "LEAK" not in text
        assert not [number for number in hidden_numbers(grader, name) if number in text]
        assert left_behind(grader) == []
        if after:
            innocent = grade(grader, good(name), name)
            assert innocent.points == innocent.max_points, innocent.problems
        return result

    return run
