"""What people see. Everything a learner controls is escaped, whichever door it comes through."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from grader import render
from grader.checks import CheckFailed, run_checks
from grader.course import exercises
from grader.exercise import Case
from grader.report import ExerciseResult, GroupResult, Hint, SubmissionResult
from grader.values import Opaque, Scalar, tensor

EVIL = "<script>alert('PWNED')</script><img src=x onerror=alert(1)>\"'&"


class Tags(HTMLParser):
    """The tags and attributes that a browser would see."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def harmless(page: str) -> Tags:
    """No script, no handler, nothing loaded from anywhere."""
    found = Tags(page)
    for tag, attributes in found.seen:
        assert tag not in ("script", "iframe", "object", "embed", "link", "form", "base"), tag
        assert not [name for name in attributes if name.startswith("on")], attributes
        assert not str(attributes.get("src", "data:")).startswith(("http:", "https:", "//"))
        if tag == "img":
            assert str(attributes["src"]).startswith("data:image/")
    assert "url(http" not in page
    assert "@import" not in page
    return found


RESULT = SubmissionResult(
    EVIL, EVIL, "graded", 1.0, 10.0, (EVIL,),
    (ExerciseResult(EVIL, "partial", 1.0, 10.0, (GroupResult(EVIL, 0.0, 1.0, False, EVIL, EVIL),), (Hint(EVIL, EVIL),), EVIL),),  # noqa: E501
    {"isolation": "process"},
)  # fmt: skip


def test_feedback_escapes_everything() -> None:
    page = render.feedback_html(RESULT, {EVIL: EVIL}, [EVIL], [EVIL])
    found = harmless(page)
    assert found.text.count(EVIL) >= 10
    assert "Graded without confinement" in page


def test_reports_hints_and_bars_escape_everything() -> None:
    for page in (
        render.report_html(RESULT.exercises[0]),
        render.note_html(EVIL),
        render.progress_html([(EVIL, EVIL, 0.5)]),
    ):
        assert EVIL in harmless(page).text


def test_checks_escape_messages_and_names() -> None:
    def implicit_reward(policy_logprob: Any, ref_logprob: Any, beta: Any) -> Any:
        raise ValueError(EVIL)

    page = render.check_html(run_checks(exercises()["implicit_reward"], implicit_reward))
    assert EVIL in harmless(page).text
    made = type(EVIL, (), {})
    page = render.check_html(run_checks(exercises()["implicit_reward"], lambda p, r, b: made()))
    assert EVIL in harmless(page).text


def test_feedback_reads_offline_and_says_the_marks() -> None:
    result = SubmissionResult(
        "a", "03_stable_dpo", "graded", 7.5, 10.0, ("cell 3: NameError",),
        (ExerciseResult("dpo_loss", "partial", 1.5, 4.0, (GroupResult("margin", 1.5, 1.5, True, "", "idea"),)),),
    )  # fmt: skip
    page = render.feedback_html(result, {"dpo_loss": "def dpo_loss(): ..."}, ["Well done."], [])
    found = harmless(page)
    assert "http" not in page
    for text in (
        "03_stable_dpo",
        "7.5 / 10",
        "cell 3: NameError",
        "dpo_loss 1.5 / 4 · partial",
        "Well done.",
        "def dpo_loss(): ...",
    ):
        assert text in found.text
    assert "without confinement" not in page


@pytest.mark.parametrize(
    ("points", "text"), [(7.0, "7"), (7.5, "7.5"), (0.25, "0.25"), (0.0, "0"), (10.0, "10"), (3.333333, "3.33")]
)
def test_points(points: float, text: str) -> None:
    assert render.points_text(points) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (1, "1"),
        (True, "True"),
        (None, "None"),
        (1e-300, "1e-300"),
        (np.array([1.0, -2.5]), "array([1.0, -2.5])"),
        (np.zeros((0, 2)), "array(empty of shape (0, 2))"),
        (np.array([[1.0], [2.0]]), "array([[1.0], [2.0]])"),
        (tensor([1.0]), "tensor([1.0])"),
        (tensor([1.0], "float64"), "tensor([1.0], float64)"),
        (tensor([True], "bool"), "tensor([True], bool)"),
        (np.array([np.nan, np.inf]), "array([nan, inf])"),
    ],
)
def test_values_on_one_line(value: Any, text: str) -> None:
    assert render.value_text(value) == text


def test_long_arrays_are_cut_in_the_middle() -> None:
    assert render.value_text(np.arange(1000.0)) == "array([0.0, 1.0, ..., 998.0, 999.0])"


def test_no_internal_class_shows() -> None:
    # a learner knows numpy.float32, not how the grader writes it down
    assert render.value_text(Scalar("float32", 0.5)) == "numpy.float32(0.5)"
    assert render.value_text(Opaque("generator")) == "generator"
    nested = render.value_text((Scalar("float32", 0.5), [tensor([1.0])], {"a": Opaque("set")}))
    assert not re.search(r"Scalar|Opaque|Tensor\(", nested)


def test_call_can_be_typed() -> None:
    text = render.call_text("f", Case({"x": np.array([1.0]), "beta": 2}, "a note"))
    assert text == "f(\n    x=array([1.0]),\n    beta=2,\n)\n# a note"


def test_the_first_difference_of_a_long_array_is_shown() -> None:
    def implicit_reward(policy_logprob: Any, ref_logprob: Any, beta: Any) -> Any:
        right = beta * (policy_logprob - ref_logprob)
        return np.array([*right[:-1], right[-1] + 1])

    text = render.check_text(run_checks(exercises()["implicit_reward"], implicit_reward))
    assert " ≠" in text


def test_a_bare_failure_is_printed_where_nothing_renders(capsys: pytest.CaptureFixture[str]) -> None:
    render.show("<b>page</b>", "plain")
    assert capsys.readouterr().out == "plain\n"
    assert CheckFailed("one line")._render_traceback_() == ["one line"]
