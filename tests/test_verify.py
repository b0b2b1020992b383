"""`grader verify`: each condition is shown to fire by a defect planted for it, and to be silent without one.

The planted defects live in copies: of an exercise (`dataclasses.replace`), of the hidden folder of `implicit_reward`
(the cheapest function), or of a released notebook.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from support import ROOT

from grader import fingerprints, hidden, sample
from grader import verify as prover
from grader.cli import main
from grader.course import Lesson, exercises
from grader.course import lesson as course_lesson
from grader.exercise import Case, Exercise
from grader.grading import Grader
from grader.proofs import killmatrix, lessons, runs, structure
from grader.proofs.model import Defect, FunctionProof, Proof, Row
from grader.tolerance import relative

NAME = "implicit_reward"
LESSON = "03_stable_dpo"


@pytest.fixture
def exercise() -> Exercise:
    return exercises()[NAME]


@pytest.fixture
def bench(exercise: Exercise, warm: Grader) -> runs.Bench:
    return runs.Bench(exercise, replace(warm, secret="proof 1", limits=runs.WIDE, _prepared={}, _wrong={}))


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], None]:
    """Replace text in a file of implicit_reward's hidden folder, in a copy that the grader then reads."""
    shutil.copytree(hidden.ROOT / NAME, tmp_path / NAME)
    monkeypatch.setattr(hidden, "ROOT", tmp_path)

    def plant(file: str, old: str, new: str) -> None:
        path = tmp_path / NAME / file
        text = path.read_text(encoding="utf-8")
        assert old in text or not old
        path.write_text(text.replace(old, new) if old else text + new, encoding="utf-8")

    return plant


def texts(defects: Sequence[Defect] | object) -> str:
    return "\n".join(str(d) for d in defects)  # type: ignore[attr-defined]


def copy_of_course(folder: Path) -> Path:
    for part in ("notebooks", "solutions"):
        shutil.copytree(ROOT / part, folder / part)
    return folder


def edit_markdown(root: Path, old: str, new: str, lesson: str = LESSON) -> None:
    path = root / "notebooks" / lesson / f"{lesson}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        cell["source"] = text.replace(old, new) if cell["cell_type"] == "markdown" else text
    path.write_text(json.dumps(notebook), encoding="utf-8")


# The course as it is ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(exercises()))
def test_nothing_is_wrong_with_the_course_before_anything_runs(name: str, warm: Grader) -> None:
    grader = replace(warm, secret="proof 1", _prepared={}, _wrong={})
    assert texts(prover.static_defects(runs.Bench(exercises()[name], grader))) == ""


@pytest.mark.parametrize("name", list(exercises()))
def test_references_and_printed_calls_hold(name: str, warm: Grader) -> None:
    bench = runs.Bench(exercises()[name], replace(warm, secret="proof 1", _prepared={}, _wrong={}))
    assert texts([*runs.prove_reference(bench), *prover.stated_defects(bench)]) == ""


# Runs ---------------------------------------------------------------------------------------------------------------


def test_a_reference_that_misses_full_marks(
    exercise: Exercise, bench: runs.Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = exercise.groups[0].examples[0]
    bad = replace(case, expected=np.asarray(case.expected) * 1.001)
    groups = (replace(exercise.groups[0], examples=(bad,)), *exercise.groups[1:])
    bench.exercise = replace(exercise, groups=groups)
    assert f"{NAME}, reference: misses full marks: group “{groups[0].name}”" in texts(runs.prove_reference(bench))


def test_a_stub_that_earns_a_point(bench: runs.Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    right = sample.reference(NAME)
    monkeypatch.setattr(runs, "EMPTY", right.replace("{", "{{").replace("}", "}}"))
    assert f"{NAME}, empty function: earns 2 points" in texts(runs.prove_reference(bench))


def test_an_untouched_notebook_that_earns_a_point(bench: runs.Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    lesson = bench.lesson
    solved = bench.submission(sample.reference(NAME))
    monkeypatch.setattr(runs.Bench, "submission", lambda self, answer: solved)
    assert lesson.cell(NAME) is not None
    assert f"{NAME}, untouched notebook: earns 2 points" in texts(runs.prove_reference(bench))


ALIVE = '''

def alive(policy_logprob, ref_logprob, beta):
    """Right after all.

    1. One.
    2. Two.
    3. Three.
    """
    return beta * (policy_logprob - ref_logprob)
'''


def row_of(bench: runs.Bench, name: str) -> Row:
    return runs.prove_misconception(bench, next(m for m in hidden.misconceptions(NAME) if m.id == name))


def test_a_misconception_that_survives(bench: runs.Bench, planted: Callable[[str, str, str], None]) -> None:
    planted("wrong.py", "", ALIVE)
    row = row_of(bench, "alive")
    assert (row.killed, row.share) == (frozenset(), 1.0)
    assert f"{NAME}, misconception alive: survives every group" in texts(bench.defects)


def test_a_misconception_diagnosed_as_another(
    bench: runs.Bench, planted: Callable[[str, str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = next(m for m in hidden.misconceptions(NAME) if not m.parts)
    planted("wrong.py", f"def {first.id}(", "def renamed(")
    known = fingerprints.load(NAME)
    monkeypatch.setattr(fingerprints, "load", lambda function: known)  # still under the old name
    planted("wrong.py", "", sample_twin(first.id))
    row = row_of(bench, "renamed")
    assert set(row.found) != {"renamed"}
    assert f"{NAME}, misconception renamed: is diagnosed as {first.id}" in texts(bench.defects)


def sample_twin(name: str) -> str:
    source = (Path(hidden.__file__).parent / NAME / "wrong.py").read_text(encoding="utf-8")
    start = source.index(f"def {name}(")
    end = source.find("\ndef ", start + 1)
    return "\n\n" + source[start:end] + "\n"


def test_listed_misconceptions_come_back_under_their_own_id(bench: runs.Bench) -> None:
    single = next(m for m in hidden.misconceptions(NAME) if not m.parts)
    double = next(m for m in hidden.misconceptions(NAME) if m.parts)
    for m in (single, double):
        row = row_of(bench, m.id)
        assert row.expected == frozenset(m.parts or (m.id,))
        assert set(row.found) == row.expected
        assert row.checked is None or set(row.checked) == row.expected
    assert not bench.defects


def test_too_few_named() -> None:
    rows = [
        Row(str(i), "", frozenset("g"), 0.0, 2.0, frozenset({str(i)}), (str(i),) if i else (), None) for i in range(10)
    ]
    found = prover.rate_defects(exercises()[NAME], rows)
    assert texts(found) == f"{NAME}: 1 of 10 misconceptions are not named by a hidden-test run: 0"
    assert prover.rate_defects(exercises()[NAME], rows[1:]) == []


def test_a_sound_variant_that_loses_a_point(bench: runs.Bench, planted: Callable[[str, str, str], None]) -> None:
    planted(
        "sound.py",
        "",
        "\n\ndef rounded(policy_logprob, ref_logprob, beta):\n"
        "    return np.round(beta * (policy_logprob - ref_logprob), 3)\n",
    )
    error, name = runs.prove_sound(bench, ["proof 1", "proof 2"])
    assert name == "rounded"
    assert error > 1
    for secret in ("proof 1", "proof 2"):
        assert "sound variant rounded: loses group “" in texts(bench.defects)
        assert f"under secret “{secret}”" in texts(bench.defects)
    assert all("rounded" in d.culprit for d in bench.defects)


# Structure ----------------------------------------------------------------------------------------------------------


def test_too_few_sound_variants(exercise: Exercise, planted: Callable[[str, str, str], None]) -> None:
    planted("sound.py", "def plain_formula(", "def _plain_formula(")
    assert f"{NAME}: has no sound variant plain_formula" in texts(structure.variant_defects(exercise))
    planted("sound.py", "\ndef ", "\ndef _")
    assert f"{NAME}: has 0 sound variants, fewer than 6" in texts(structure.variant_defects(exercise))


def test_fingerprints_that_are_not_up_to_date(exercise: Exercise, planted: Callable[[str, str, str], None]) -> None:
    assert texts(structure.fingerprint_defects(exercise)) == ""
    planted("wrong.py", "", ALIVE)
    assert f"{NAME}: its fingerprints are not up to date" in texts(structure.fingerprint_defects(exercise))


def test_hints_that_are_empty_too_few_or_hold_code(
    exercise: Exercise, planted: Callable[[str, str, str], None]
) -> None:
    code = "def implicit_reward(policy_logprob, ref_logprob, beta):\n    return beta * (policy_logprob - ref_logprob)\n"
    assert texts(structure.hint_defects(exercise, code)) == ""
    telling = replace(exercise, hints=("Use beta * (policy_logprob - ref_logprob).", " ", "Third."))
    found = texts(structure.hint_defects(telling, code))
    assert f"{NAME}: hint 1 contains code of the solution: beta*(policy_logprob-ref_logprob)" in found
    assert f"{NAME}: hint 2 is empty" in found
    planted(
        "wrong.py",
        "",
        "\n\ndef hintless(policy_logprob, ref_logprob, beta):\n    '''No hints.'''\n"
        "\n\ndef mixed(a, b, c):\n    '''Both: hintless + nobody.'''\n",
    )
    found = texts(structure.hint_defects(exercise, code))
    assert f"{NAME}, misconception hintless: has 0 hint steps, not 3" in found
    assert f"{NAME}, misconception mixed: its part nobody is no misconception" in found


@pytest.mark.parametrize(
    ("text", "shared"),
    [
        ("Look at `policy_logprob` and `ref_logprob`.", ""),  # names
        ("It takes policy_logprob, ref_logprob, beta in this order.", ""),  # a list of names
        ("Try np.logaddexp(0, -z) here", "np.logaddexp(0,-z)"),
        ("Use  np.logaddexp( 0 ,-z )", "np.logaddexp(0,-z)"),  # spaces do not hide it
    ],
)
def test_what_counts_as_code_in_a_hint(text: str, shared: str) -> None:
    source = (
        'def f(policy_logprob, ref_logprob, beta):\n    """Doc."""\n'
        "    z = g(policy_logprob, ref_logprob, beta)\n    return np.logaddexp(0, -z)\n"
    )
    assert structure.shared_code(text, structure.solution_code(source)) == shared


def test_an_exercise_without_group_points_or_figure(exercise: Exercise) -> None:
    lesson = course_lesson(LESSON)
    bare = Lesson(
        lesson.name,
        lesson.exercises,
        tuple(c for c in lesson.cells if c.role != "graded" and "figure" not in c.grade_id),
    )
    found = texts(structure.exercise_defects(replace(exercise, groups=()), bare))
    assert f"{NAME}: has no group" in found
    assert f"{NAME}: has no points" in found
    assert f"{NAME}: {LESSON} has no figure_… cell that draws from it" in found


def test_a_group_without_example_or_hidden_case_or_of_its_own_name(exercise: Exercise) -> None:
    first = exercise.groups[0]
    unseen = replace(exercise, groups=(replace(first, examples=()), *exercise.groups[1:]))
    assert f"group “{first.name}”: has no public example" in texts(
        structure.exercise_defects(unseen, course_lesson(LESSON))
    )
    drawn = hidden.hidden_cases(exercise, "proof 1")
    found = texts(structure.cases_defects(exercise, {**drawn, first.name: [], "surprise": []}))
    assert f"{NAME}, group “{first.name}”: is worth points and has no hidden case" in found
    assert f"{NAME}, hidden cases “surprise”: belong to no group of the exercise" in found


def test_a_hidden_case_of_a_kind_no_example_shows(exercise: Exercise) -> None:
    drawn = hidden.hidden_cases(exercise, "proof 1")
    assert texts(structure.cases_defects(exercise, drawn)) == ""
    name = exercise.groups[0].name
    args = {"policy_logprob": np.float32([[-np.inf]]), "ref_logprob": np.array([-1.0]), "beta": True}
    found = texts(structure.cases_defects(exercise, {**drawn, name: [*drawn[name], Case(args)]}))
    for kind in ("numpy.ndarray of float32", "2 axes", "infinities", "`beta` as bool"):
        assert kind in found


def test_a_capped_group_that_weighs_too_much(exercise: Exercise) -> None:
    heavy = [replace(g, weight=50) if "imports" in g.aspects else g for g in exercise.groups]
    assert "weighs 50, more than 10% of the points" in texts(
        structure.weight_defects(replace(exercise, groups=tuple(heavy)))
    )
    kl = exercises()["kl_penalized_rewards"]
    renamed = tuple(replace(g, name="other") if g.name == "masked NaN and inf" else g for g in kl.groups)
    assert "has no group “masked NaN and inf”" in texts(structure.weight_defects(replace(kl, groups=renamed)))


# Lessons ------------------------------------------------------------------------------------------------------------


def test_a_tolerance_the_lesson_does_not_state(tmp_path: Path, exercise: Exercise) -> None:
    root = copy_of_course(tmp_path)
    assert texts(lessons.tolerance_defects(exercise, root)) == ""
    edit_markdown(root, exercise.tolerance.text, "close enough")
    assert "does not state its tolerance" in texts(lessons.tolerance_defects(exercise, root))


def test_a_card_that_states_another_tolerance(tmp_path: Path, exercise: Exercise) -> None:
    root = copy_of_course(tmp_path)
    text = exercise.tolerance.text
    edit_markdown(root, text, f"{text}. The tolerance is 1e-3")
    assert "its card states a tolerance of 1e-3, which is not used" in texts(lessons.tolerance_defects(exercise, root))


def test_a_tolerance_whose_text_is_not_its_bound() -> None:
    assert texts(lessons.text_defects(relative(1e-9, "honest", "relative error ≤ 1e-9"))) == ""
    assert "uses another bound" in texts(lessons.text_defects(relative(1e-6, "sly", "relative error ≤ 1e-9")))


@pytest.mark.parametrize(("stated", "holds"), [("0.5", True), ("0.51", False), ("0.500000001", True)])
def test_a_worked_example_in_the_text(tmp_path: Path, bench: runs.Bench, stated: str, holds: bool) -> None:
    # β(log π - log π_ref) = 0.25 · (-1 - (-3)) = 0.5
    root = copy_of_course(tmp_path)
    call = "implicit_reward(array([-1.0]), array([-3.0]), 0.25)"
    edit_markdown(
        root,
        bench.exercise.tolerance.text,
        f"{bench.exercise.tolerance.text}\n\n```python\n{call}\n# result: array([{stated}])\n```\n",
    )
    bench.root = root
    found = [d for d in prover.stated_defects(bench) if call in d.text]
    assert (not found) is holds


# What is shown ------------------------------------------------------------------------------------------------------

TWO_ROWS = (
    Row("caught", "Is caught <here>.", frozenset({"idea"}), 0.5, 1e3, frozenset({"caught"}), ("caught",), ("caught",)),
    Row("alive", "Survives.", frozenset(), 1.0, 0.0, frozenset({"alive"}), (), None),
)
SMALL = Proof(
    (
        FunctionProof(
            "f", (("idea", 3), ("extra", 0)), "exact", TWO_ROWS, 6, (0.25, "loop"), (1e3, "caught"),
            (Defect("f", "is odd"),),
        ),
    ),
    20,
)  # fmt: skip


def test_the_page_reads_without_colour_and_escapes() -> None:
    page = killmatrix.page(SMALL)
    assert "Is caught &lt;here&gt;." in page
    assert page.count(">✗<") == 1
    assert page.count(">·<") == 3
    assert "1 of 2 misconceptions (50.0 %)" in page
    assert "http" not in page  # self-contained
    for text in ("0.25 (loop, one of 6)", "1 (exact)", "1e+03 (caught)", "is odd"):
        assert text in page


def test_the_command_prints_defects_one_per_line_and_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prover, "verify", lambda **options: SMALL)
    result = CliRunner().invoke(main, ["verify", "--html", str(tmp_path / "page" / "matrix.html")])
    assert result.exit_code == 1
    assert "defect: f: is odd\n" in result.output
    assert "✗" in result.output
    assert (tmp_path / "page" / "matrix.html").exists()
    monkeypatch.setattr(prover, "verify", lambda **options: replace(SMALL, functions=()))
    assert CliRunner().invoke(main, ["verify", "--html", str(tmp_path / "matrix.html")]).exit_code == 0


def test_what_cannot_be_run_is_a_defect_with_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise KeyError("no such group")

    monkeypatch.setattr(prover, "prove_on", broken)
    proof = prover.prove(NAME, prover.Settings(ROOT, ("proof 1",), "process"))
    assert f"{NAME}: cannot be proved: KeyError" in texts(proof.defects)
