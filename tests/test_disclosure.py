"""What learners are told about hidden tests: nothing but words under ``scores`` and ``hints``, numbers under ``cases``.

Every file that grading produces is searched for the hidden numbers themselves: arguments and expected values with six
significant digits or more that no public example holds.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from nbformat import from_dict
from support import ROOT, grade, released, run_grader, solved

from grader import config, gradebook, render, report, sample
from grader.course import CourseError, exercises, lesson
from grader.exercise import Case, Outcome
from grader.grading import Grader
from grader.report import SubmissionResult
from grader.values import Value, as_array, leaves

LESSON = "03_stable_dpo"
SECRET = "disclosed?"
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:[eE][+-]?\d+)?|(?<![\w.])-?\d+[eE][+-]?\d+")

TELLTALE = """
import json
import numpy as np

SEEN = []


def implicit_reward(policy_logprob, ref_logprob, beta):
    print(policy_logprob, beta)
    SEEN.append(repr(policy_logprob.tolist()))
    return {repr(policy_logprob.tolist()): SEEN}


def dpo_loss(*arguments):
    class Loud(Exception):
        pass
    Loud.__name__ = Loud.__qualname__ = repr([np.asarray(a).tolist() for a in arguments])
    raise Loud(repr(arguments))


def dpo_grad(*arguments):
    kind = type(repr(arguments[0].tolist()), (), {})
    arguments[0][...] = arguments[1] + 1
    return kind(), kind()
"""


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with Grader(SECRET, "process", "hints") as made:
        yield made


def digits(x: float) -> str:
    """A number to six significant digits; empty where it has fewer of its own."""
    if not math.isfinite(x) or float(f"{x:.5g}") == x:
        return ""
    return f"{abs(x):.6g}"


def numbers(value: Value) -> Iterator[float]:
    for _, leaf in leaves(value):
        array = as_array(leaf)
        if array is not None and array.dtype.kind == "f":
            yield from map(float, np.ravel(array))


def told(cases: list[Case], outcomes: list[Outcome]) -> set[str]:
    values = [v for case in cases for v in case.args.values()]
    values += [v for o in outcomes for v in (o.result, *o.gradients.values())]
    return {text for value in values for x in numbers(value) if (text := digits(x))}


def secrets_of(grader: Grader, name: str = LESSON) -> set[str]:
    """Every hidden number of a lesson, to six digits."""
    chosen = lesson(name)
    prepared = [grader.prepared(chosen, exercise) for exercise in chosen.exercises]
    pairs = [(case, outcome) for p in prepared for (_, case), outcome in zip(p.cases, p.expected, strict=True)]
    hidden = [pair for pair in pairs if pair[0].expected is None]
    public = [pair for pair in pairs if pair[0].expected is not None]
    return told(*map(list, zip(*hidden, strict=True))) - told(*map(list, zip(*public, strict=True)))  # type: ignore[arg-type]


def leaked(text: str, secrets: set[str]) -> set[str]:
    return {digits(float(found)) for found in NUMBER.findall(text)} & secrets


def files_of(result: SubmissionResult, made: dict[str, object]) -> dict[str, str]:
    """What grading writes: JSON, feedback, the autograded notebook and the feedback nbgrader makes of it."""
    nb = from_dict(made)  # type: ignore[no-untyped-call]
    gradebook.write_marks(nb, result)
    return {
        "json": json.dumps(report.to_json([result])),
        "feedback": render.feedback_html(result),
        "autograded": json.dumps(nb),
        "nbgrader feedback": gradebook.feedback_of(nb, result.points, result.max_points),
    }


def test_the_search_finds_a_number_in_every_spelling(grader: Grader) -> None:
    secrets = secrets_of(grader)
    assert len(secrets) > 1000
    case = next(case for _, case in grader.prepared(lesson(LESSON), exercises()["dpo_loss"]).cases if not case.note)
    value = next(x for v in case.args.values() for x in numbers(v) if digits(x) in secrets)
    for spelling in (repr(value), f"{value:.9g}", f"[{value:.17g}, 0.0]", f"x={value!r};"):
        assert leaked(spelling, secrets)


@pytest.mark.parametrize("disclosure", ["scores", "hints"])
def test_no_file_holds_a_hidden_number(grader: Grader, disclosure: str) -> None:
    secrets = secrets_of(grader)
    grader = replace(grader, disclosure=disclosure)  # shares the worker and what is prepared
    submissions = [(grade(grader, TELLTALE), released(LESSON)), (grade(grader, released(LESSON)), released(LESSON))]
    for function in ("implicit_reward", "dpo_loss", "dpo_grad"):
        for number in (0, 7, 20, 33):
            wrong = list(sample.hidden.misconceptions(function))[number].id
            made = solved(LESSON, **{function: sample.wrong_answer(function, wrong)})
            submissions.append((grade(grader, made), made))
    for result, made in submissions:
        for name, text in files_of(result, made).items():
            assert not leaked(text, secrets), (result.submission, name)


def test_scores_say_only_which_groups_pass(grader: Grader) -> None:
    wrong = sample.hidden.misconceptions("implicit_reward")[0].id
    made = solved(LESSON, implicit_reward=sample.wrong_answer("implicit_reward", wrong))
    silent = grade(replace(grader, disclosure="scores"), made).exercises[0]
    spoken = grade(grader, made).exercises[0]
    assert [g.passed for g in silent.groups] == [g.passed for g in spoken.groups]
    assert not silent.diagnosis
    assert not silent.advice
    assert not any(g.message or g.case for g in silent.groups)
    assert spoken.diagnosis[0].misconception == wrong
    assert any(g.message for g in spoken.groups)
    assert not any(g.case for g in spoken.groups)


def test_cases_tell_a_failing_case_knowingly(grader: Grader) -> None:
    secrets = secrets_of(grader)
    loud = replace(grader, disclosure="cases")
    wrong = sample.hidden.misconceptions("dpo_loss")[0].id
    result = grade(loud, solved(LESSON, dpo_loss=sample.wrong_answer("dpo_loss", wrong)))
    failing = [g for g in result.exercises[1].groups if not g.passed and not g.message.startswith("counts once")]
    assert failing
    assert all("expected" in g.case and "received" in g.case for g in failing)
    assert not any(g.case for g in result.exercises[1].groups if g.passed)
    assert leaked(json.dumps(report.to_json([result])), secrets)
    assert leaked(render.feedback_html(result), secrets)


def test_the_setting_comes_from_the_environment_then_the_file_then_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GRADER_FEEDBACK", raising=False)
    assert config.feedback(tmp_path) == "hints"
    (tmp_path / "course.toml").write_text("# nothing set\n", encoding="utf-8")
    assert config.feedback(tmp_path) == "hints"
    (tmp_path / "course.toml").write_text('feedback = "scores"\n', encoding="utf-8")
    assert config.feedback(tmp_path) == "scores"
    monkeypatch.setenv("GRADER_FEEDBACK", "cases")
    assert config.feedback(tmp_path) == "cases"
    assert Grader("x").disclosure == "cases"


def test_the_course_ships_with_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRADER_FEEDBACK", raising=False)
    assert 'feedback = "hints"' in (ROOT / "course.toml").read_text(encoding="utf-8")
    assert Grader("x").disclosure == "hints"


@pytest.mark.parametrize("text", ['feedback = "everything"', "feedback = 3", "feedback = "])
def test_a_setting_that_is_none_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.delenv("GRADER_FEEDBACK", raising=False)
    (tmp_path / "course.toml").write_text(text, encoding="utf-8")
    with pytest.raises(CourseError, match=r"course\.toml"):
        config.feedback(tmp_path)


def test_the_command_line_says_it_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "03_stable_dpo.py"
    path.write_text(sample.reference("implicit_reward"), encoding="utf-8")
    done = run_grader("grade", "--isolation", "process", "--secret", "x", path, GRADER_FEEDBACK="all")
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "'all' is none of scores, hints, cases" in done.stderr
