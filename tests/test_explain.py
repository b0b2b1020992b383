"""`grader explain`: an instructor sees inputs, expected, received and error against tolerance, for every case."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from support import released

from grader import explain, notebook, sample
from grader.cli import main
from grader.course import exercises
from grader.exercise import Case, Error, Exercise, Group, Outcome
from grader.grading import Grader
from grader.judge import Judged
from grader.tolerance import relative
from grader.values import tensor

NAME = "implicit_reward"


def toy(aspects: tuple[str, ...] = ("value",)) -> tuple[Exercise, Group]:
    tolerance = relative(1e-2, "coarse", "relative error ≤ 1e-2")
    group = Group("idea", 1, "An idea.", (), aspects)
    return Exercise("f", "03_stable_dpo", ("x",), (group,), tolerance, ("a", "b", "c")), group


def lines_of(received: Outcome, expected: Outcome | None = None, **changes: object) -> str:
    exercise, group = toy()
    case = Case({"x": np.array([1.5, 2.0])}, **changes)  # type: ignore[arg-type]
    judged = Judged(case, expected or Outcome("returned", np.array([100.0, 200.0])), received)
    return "\n".join(explain.case_lines(exercise, group, judged))


def test_a_case_shows_inputs_both_results_and_the_error_in_tolerances() -> None:
    # |206 - 200| = 6, the bound is 1e-2 · 200 = 2: three tolerances
    text = lines_of(Outcome("returned", np.array([100.0, 206.0])))
    assert "x = [1.5, 2. ] float64 (2,)" in text
    assert "result: expected [100., 200.] float64 (2,)" in text
    assert "received [100., 206.] float64 (2,)" in text
    assert "error 3 × tolerance “coarse” ≠" in text
    assert "✗ the result differs from the expected value" in text


def test_a_right_case_has_no_mark() -> None:
    # |201 - 200| = 1, half of the bound
    text = lines_of(Outcome("returned", np.array([100.0, 201.0])))
    assert "error 0.5 × tolerance “coarse”" in text
    assert "≠" not in text
    assert "✗" not in text


def test_errors_missing_entries_and_gradients() -> None:
    assert "✗ the call raised ValueError (cell 4, line 2)" in lines_of(
        Outcome("raised", error=Error("ValueError", 4, 2))
    )
    wanted = Outcome("returned", {"a": 1.0}, {"x": np.array([1.0, 0.0])})
    text = lines_of(Outcome("returned", {}, {"x": None}), wanted)
    assert "a: expected 1.0" in text
    assert "received missing" in text
    assert "gradient in x: expected [1., 0.]" in text
    assert "error inf" in text


@pytest.mark.parametrize(
    ("value", "full", "text"),
    [
        (0.1 + 0.2, False, "0.30000000000000004"),
        (tensor([0.1], "float32"), False, "[0.1] float32 (1,)"),
        (np.arange(40.0), False, "[ 0., 1., 2., ..., 37., 38., 39.] float64 (40,)"),
        (np.arange(14.0), True, "[ 0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12., 13.] float64 (14,)"),
        (None, False, "None"),
    ],
)
def test_values_have_every_digit_and_long_arrays_are_cut(value: object, full: bool, text: str) -> None:
    assert explain.value_line(value, full) == text


def test_a_submission_is_explained_group_by_group(warm: Grader) -> None:
    made = sample.answered("03_stable_dpo", {NAME: "def implicit_reward(p, r, beta):\n    return beta * (r - p)\n"})
    import json

    submission = notebook.loads(json.dumps(made).encode(), "learner.ipynb")
    short = "\n".join(explain.explain(warm, submission, cases=False))
    whole = "\n".join(explain.explain(warm, submission))
    assert f"{NAME}: " in short
    assert "dpo_loss: 0 / 4 (not attempted)" in short
    for group in exercises()[NAME].groups:
        assert f" {group.name} (" in short
    assert "× tolerance" not in short
    prepared = warm.prepared(submission.lesson, exercises()[NAME])
    assert whole.count("(hidden)") >= sum(case.expected is None for _, case in prepared.cases)
    hidden = next(case for _, case in prepared.cases if case.expected is None)
    for name, value in hidden.args.items():
        assert f"{name} = {explain.value_line(value)}" in whole


def test_a_property_without_right_values_passed_and_is_not_counted(warm: Grader) -> None:
    import json

    def lines(answer: str) -> str:
        made = sample.answered("03_stable_dpo", {NAME: f"def implicit_reward(p, r, beta):\n    return {answer}\n"})
        submission = notebook.loads(json.dumps(made).encode(), "learner.ipynb")
        return "\n".join(explain.explain(warm, submission, cases=False))

    said = "passed, but not counted: it counts once at least one group of values is right"
    assert f"  – return type (weight 2; looks at kind, shape, dtype): {said}" in lines("7 + 0 * p")
    right = lines("beta * (p - r)")
    assert "  ✓ return type (weight 2; looks at kind, shape, dtype): passed\n" in right
    assert said not in right


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "learner.py"
    path.write_text("def implicit_reward(p, r, beta):\n    return beta * (r - p)\n", encoding="utf-8")
    options = ["explain", str(path), "--secret", "test", "--isolation", "process"]
    shown = CliRunner().invoke(main, [*options, "--cases"])
    assert shown.exit_code == 0, shown.output
    assert "× tolerance" in shown.output
    assert "(hidden)" in shown.output
    assert "× tolerance" not in CliRunner().invoke(main, options).output
    missing = CliRunner().invoke(main, ["explain", str(tmp_path / "nothing.ipynb"), "--secret", "test"])
    assert missing.exit_code == 1
    assert "no such file" in missing.output


def test_an_untouched_notebook_is_explained_too(warm: Grader) -> None:
    import json

    submission = notebook.loads(json.dumps(released("03_stable_dpo")).encode(), "learner.ipynb", "03_stable_dpo")
    assert "implicit_reward: 0 / 2 (not attempted)" in "\n".join(explain.explain(warm, submission, cases=False))
