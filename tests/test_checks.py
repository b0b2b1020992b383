"""The learner's check: what it says, what it raises, and what a notebook shows of it."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from support import ROOT

from grader import check as check_function
from grader import fingerprints, hidden, hint, sample
from grader.attempts import shares
from grader.checks import CheckFailed, live_import_flaw, run_checks, summary
from grader.course import exercises

NUMPY = frozenset({"numpy"})
HELPERS = {"dpo_loss": "implicit_reward", "dpo_grad": "implicit_reward", "reward_kl_frontier": "optimal_policy"}
NOT_ATTEMPTED = "not attempted yet. Write its body in the cell above, and run both cells."


def implementation(name: str, text: str) -> Callable[..., Any]:
    """A function written as a learner would, in a namespace like a notebook's."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec("import numpy as np\nimport torch\n", names)
    if name in HELPERS:
        exec(sample.reference(HELPERS[name]), names)
    exec(text, names)
    made: Callable[..., Any] = names[name]
    return made


def implicit_reward(policy_logprob: Any, ref_logprob: Any, beta: Any) -> Any:
    return beta * (policy_logprob - ref_logprob)


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("name", list(exercises()))
def test_references_pass_in_one_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    check_function(implementation(name, sample.reference(name)))
    groups = sum(bool(g.weight) for g in exercises()[name].groups)
    assert said(capsys) == [f"✓ {name}: all {groups} checks pass"]
    assert shares()[name] == 1.0


@pytest.mark.parametrize("name", list(exercises()))
def test_every_misconception_fails_and_is_named(name: str) -> None:
    # hidden/*/wrong.py says what each is; `check` knows them by their answers on public examples only
    exercise = exercises()[name]
    known, wrong = fingerprints.load(name)
    assert [m.id for m in known] == [m.id for m in hidden.misconceptions(name)]
    assert all(len(outcomes) == sum(len(g.examples) for g in exercise.groups) for outcomes in wrong.values())
    one = next(m for m in known if not m.parts)
    checked = run_checks(exercise, implementation(name, sample.wrong_answer(name, one.id)))
    assert one in checked.misconceptions
    assert not checked.passed
    assert summary(checked).startswith(f"✗ {name}: ")


def test_failure_says_what_was_expected_and_received(capsys: pytest.CaptureFixture[str]) -> None:
    def implicit_reward(policy_logprob: Any, ref_logprob: Any, beta: Any) -> Any:
        return beta * policy_logprob - ref_logprob + 0.125

    with pytest.raises(CheckFailed, match=r"^✗ implicit_reward: 3 of 6 checks pass"):
        check_function(implicit_reward)
    lines = [line.strip() for line in said(capsys)]
    assert "✗ formula: the result differs from the expected value" in lines
    call = lines.index("implicit_reward(")
    assert lines[call + 1 : call + 5] == [
        "policy_logprob=array([-11.3]),",
        "ref_logprob=array([-12.6]),",
        "beta=0.35,",
        ")",
    ]
    # 0.35 (-11.3 + 12.6) = 0.455; received 0.35 * -11.3 + 12.6 + 0.125 = 8.77
    assert "expected 0.455" in lines
    assert "received 8.77 ≠" in lines


@pytest.mark.parametrize(
    ("change", "property_said"),
    [
        (lambda r: r.astype(np.float32), "has dtype float32, expected float64"),
        (lambda r: r.reshape(-1, 1), "has the wrong shape"),
        (lambda r: r.tolist(), "returned list of"),
    ],
)
def test_properties_are_named(
    change: Callable[[Any], Any], property_said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def implicit_reward(policy_logprob: Any, ref_logprob: Any, beta: Any) -> Any:
        return change(beta * (policy_logprob - ref_logprob))

    with pytest.raises(CheckFailed):
        check_function(implicit_reward)
    assert property_said in capsys.readouterr().out


def test_overwritten_input_and_exception(capsys: pytest.CaptureFixture[str]) -> None:
    def implicit_reward(policy_logprob: Any, ref_logprob: Any, beta: Any) -> Any:
        policy_logprob -= ref_logprob
        return beta * policy_logprob

    with pytest.raises(CheckFailed, match="5 of 6 checks pass"):
        check_function(implicit_reward)
    assert "inputs untouched: the call changed its argument `policy_logprob`" in capsys.readouterr().out

    def broken(policy_logprob: Any, ref_logprob: Any, beta: Any) -> Any:
        raise ZeroDivisionError("learner's words")

    broken.__name__ = "implicit_reward"
    with pytest.raises(CheckFailed, match="0 of 6 checks pass"):
        check_function(broken)
    out = capsys.readouterr().out
    assert "the call raised ZeroDivisionError" in out
    assert "learner's words" in out  # in their own notebook, their own message


def test_wrong_signature(capsys: pytest.CaptureFixture[str]) -> None:
    def implicit_reward(x: Any) -> Any:
        return x

    with pytest.raises(CheckFailed, match="0 of 6 checks pass"):
        check_function(implicit_reward)
    assert "takes 1 positional argument but 3 were given" in capsys.readouterr().out


@pytest.mark.parametrize("name", list(exercises()))
def test_not_attempted(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    def stub(*arguments: Any) -> Any:
        raise NotImplementedError("not attempted yet: replace this line")

    stub.__name__ = name
    with pytest.raises(CheckFailed) as error:
        check_function(stub)
    assert str(error.value) == f"{name}: {NOT_ATTEMPTED}"
    assert said(capsys) == []
    assert name not in shares()


def test_stretch_costs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    def implicit_reward(policy_logprob: Any, ref_logprob: Any, beta: Any) -> Any:
        if policy_logprob.dtype != np.float64:
            raise TypeError
        return beta * (policy_logprob - ref_logprob)

    check_function(implicit_reward)
    assert said(capsys) == ["✓ implicit_reward: all 6 checks pass (stretch, no points: integer arrays)"]


def test_unknown_names() -> None:
    def practice(x: Any) -> Any:
        return x

    known = ", ".join(exercises())
    with pytest.raises(CheckFailed) as error:
        check_function(practice)
    assert str(error.value) == f"check knows no exercise `practice`. It checks: {known}."
    for thing in (3, None, "dpo_loss"):  # None is also what a missing name would look up
        with pytest.raises(CheckFailed, match="check knows no exercise"):
            check_function(thing)  # type: ignore[arg-type]


def test_lambdas_partials_and_wrappers_answer_to_their_name(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"check": check_function, "np": np, "functools": functools}
    for text in (
        "implicit_reward = lambda policy_logprob, ref_logprob, beta: beta * (policy_logprob - ref_logprob)",
        "def reward(scale, p, r, b):\n    return scale * b * (p - r)\nimplicit_reward = functools.partial(reward, 1)",
        "class Reward:\n    def __call__(self, p, r, b):\n        return b * (p - r)\nimplicit_reward = Reward()",
        "def other(p, r, b):\n    return b * (p - r)\nimplicit_reward = other",
    ):
        exec(text + "\ncheck(implicit_reward)", names)
        assert said(capsys) == ["✓ implicit_reward: all 6 checks pass"]


def test_warnings_of_a_branch_not_taken_do_not_show(recwarn: pytest.WarningsRecorder) -> None:
    def implicit_reward(policy_logprob: Any, ref_logprob: Any, beta: Any) -> Any:
        np.exp(np.array([1e4]))
        return beta * (policy_logprob - ref_logprob)

    check_function(implicit_reward)
    assert not list(recwarn)


def test_hints_step_by_step(capsys: pytest.CaptureFixture[str]) -> None:
    hint("dpo_loss")
    hint()
    hint()
    hint()  # the last one stays
    steps = exercises()["dpo_loss"].hints
    assert said(capsys) == [f"Hint {i} of 3 for dpo_loss: {steps[i - 1]}" for i in (1, 2, 3, 3)]
    hint("nothing")
    assert said(capsys) == [f"hint knows no exercise 'nothing'. It knows: {', '.join(exercises())}."]


def test_hints_follow_the_misconception(capsys: pytest.CaptureFixture[str]) -> None:
    known, _ = fingerprints.load("dpo_loss")
    one = next(m for m in known if not m.parts)
    with pytest.raises(CheckFailed):
        check_function(implementation("dpo_loss", sample.wrong_answer("dpo_loss", one.id)))
    assert f"Hint: {one.hints[0]}" in capsys.readouterr().out
    hint()  # the check gave the first step
    assert said(capsys) == [f"Hint 2 of {len(one.hints)} for dpo_loss: {one.hints[1]}"]


def test_the_import_rule_on_live_functions() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec("import numpy as np\nimport torch, math\nfrom mpmath import exp as expit\n", names)
    exec("def g(x):\n    return torch.exp(x)\ndef uses_torch(x):\n    return g(x)\n", names)
    exec("def uses_expit(x):\n    return [expit(y) for y in x]\ndef fine(x):\n    return np.exp(math.sqrt(x))\n", names)
    exec("def inside(x):\n    import torch\n    return torch.exp(x)\n", names)
    assert live_import_flaw(names["fine"], NUMPY) == ""
    rule = "only numpy and the standard library are allowed"
    assert live_import_flaw(names["uses_torch"], NUMPY) == f"`g` uses torch; {rule}"
    assert live_import_flaw(names["uses_expit"], NUMPY) == f"`uses_expit` uses mpmath; {rule}"
    assert live_import_flaw(names["inside"], NUMPY) == f"`inside` uses torch; {rule}"


def test_the_import_rule_sees_through_wrappers() -> None:
    names: dict[str, Any] = {"__name__": "__main__", "functools": functools}
    exec("import torch\ndef g(x):\n    return torch.exp(x)\n", names)
    exec("def timed(f):\n    @functools.wraps(f)\n    def inner(*a):\n        return f(*a)\n    return inner\n", names)
    exec("wrapped = timed(g)\npart = functools.partial(g)\nkept = functools.lru_cache(g)\n", names)
    exec("class C:\n    def __call__(self, x):\n        return g(x)\n    def m(self, x):\n        return g(x)\n", names)
    exec("called = C()\nbound = C().m\ndef late(x):\n    return C().m(x)\n", names)
    for name in ("wrapped", "part", "kept", "called", "bound", "late"):
        assert live_import_flaw(names[name], NUMPY).startswith("`g` uses torch"), name


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """IPython as a notebook runs it, without a front end."""
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance()
    made.run_cell("from grader import check, hint, progress, picture\nimport numpy as np")
    yield made
    InteractiveShell.clear_instance()


def shown(shell: InteractiveShell, text: str) -> tuple[str, str, bool]:
    with capture_output() as captured:
        result = shell.run_cell(text)
    return captured.stdout, captured.stderr, result.success


def test_in_a_notebook_a_failure_is_one_line_without_traceback(shell: InteractiveShell) -> None:
    stub = "def implicit_reward(policy_logprob, ref_logprob, beta):\n    raise NotImplementedError\n"
    out, err, success = shown(shell, stub + "check(implicit_reward)")
    assert not success  # so that Validate and stock autograding see it
    assert (out + err).strip().splitlines() == [f"implicit_reward: {NOT_ATTEMPTED}"]


def test_in_a_notebook_a_failing_check_shows_no_traceback(shell: InteractiveShell) -> None:
    out, err, success = shown(shell, "def implicit_reward(p, r, b):\n    return b * p\ncheck(implicit_reward)")
    assert not success
    assert "Traceback" not in out + err
    assert "File " not in out + err
    assert "✗ implicit_reward" in (out + err).strip().splitlines()[-1]


def test_in_a_notebook_a_pass_is_one_line(shell: InteractiveShell) -> None:
    out, err, success = shown(shell, "implicit_reward = lambda p, r, b: b * (p - r)\ncheck(implicit_reward)")
    assert success
    assert (out, err) == ("✓ implicit_reward: all 6 checks pass\n", "")


def test_in_a_script_a_failure_is_one_line() -> None:
    text = "from grader import check\ndef dpo_loss(*a):\n    raise NotImplementedError\ncheck(dpo_loss)\n"
    run = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert run.returncode == 1
    assert run.stderr.splitlines() == [f"dpo_loss: {NOT_ATTEMPTED}"]


def test_other_errors_keep_their_traceback() -> None:
    text = "from grader import check\n1 / 0\n"
    run = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in run.stderr or "ZeroDivisionError" in run.stderr
    text = "from grader import check\ncheck\n1 / 0\n"
    run = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert "ZeroDivisionError: division by zero" in run.stderr


def test_lesson_3_checks_without_torch() -> None:
    text = (
        "import sys\nfrom grader import check\n"
        "def implicit_reward(p, r, b):\n    return b * (p - r)\n"
        "check(implicit_reward)\nassert 'torch' not in sys.modules\n"
    )
    run = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
