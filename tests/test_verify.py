"""`grader verify`: each condition is shown to fire by a defect planted for it, and to be silent without one.

The planted defects live in copies: of an exercise (`dataclasses.replace`), of the hidden folder of `implicit_reward`
(the cheapest function), or of a released notebook.
"""

from __future__ import annotations

import importlib
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
from grader.proofs import (
    cases,
    hints,
    killmatrix,
    lessons,
    misconceptions,
    references,
    released,
    runs,
    sound,
    structure,
)
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
    assert texts([*references.prove_reference(bench), *prover.stated_defects(bench)]) == ""


# Runs ---------------------------------------------------------------------------------------------------------------


def test_a_reference_that_misses_full_marks(
    exercise: Exercise, bench: runs.Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = exercise.groups[0].examples[0]
    bad = replace(case, expected=np.asarray(case.expected) * 1.001)
    examples = (bad, *exercise.groups[0].examples[1:])
    groups = (replace(exercise.groups[0], examples=examples), *exercise.groups[1:])
    bench.exercise = replace(exercise, groups=groups)
    assert f"{NAME}, reference: misses full marks: group “{groups[0].name}”" in texts(references.prove_reference(bench))
    # 0.35 · (-11.3 + 12.6) = 0.455, and 0.455 · 1.001 was typed in: off by 1e-3/1.001 relative, the tolerance is 1e-9
    (found,) = prover.prove_on(bench, ["proof 1"]).defects  # and nothing else: all would fail for this one reason
    assert str(found).startswith(
        f"{NAME}: the reference fails the public example “{case.note}” of group “{groups[0].name}”: the typed-in "
        "number or the reference is wrong; expected [0.45545"
    )
    assert "received [0.45499999" in str(found)
    assert ", error 9.99e+05 × tolerance `exact` (grader/lessons/stable_dpo.py)" in str(found)


def test_a_tolerance_too_tight_for_the_reference(exercise: Exercise, bench: runs.Bench) -> None:
    bench.exercise = replace(exercise, tolerance=relative(1e-20, "tiny", "relative error ≤ 1e-20"))
    assert "”: the tolerance `tiny` is too tight, or the typed-in number or the reference is wrong; expected" in texts(
        references.prove_public(bench)
    )


def test_a_stub_that_earns_a_point(bench: runs.Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    right = sample.reference(NAME)
    monkeypatch.setattr(references, "EMPTY", right.replace("{", "{{").replace("}", "}}"))
    assert f"{NAME}, empty function: earns 2 points" in texts(references.prove_reference(bench))


def test_an_untouched_notebook_that_earns_a_point(bench: runs.Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    lesson = bench.lesson
    solved = bench.submission(sample.reference(NAME))
    monkeypatch.setattr(runs.Bench, "submission", lambda self, answer: solved)
    assert lesson.cell(NAME) is not None
    assert f"{NAME}, untouched notebook: earns 2 points" in texts(references.prove_reference(bench))


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
    return misconceptions.prove_misconception(bench, next(m for m in hidden.misconceptions(NAME) if m.id == name))


def test_a_misconception_that_survives(bench: runs.Bench, planted: Callable[[str, str, str], None]) -> None:
    planted("wrong.py", "", ALIVE)
    row = row_of(bench, "alive")
    assert (row.killed, row.share) == (frozenset(), 1.0)
    assert f"{NAME}, misconception alive: survives every group (grader/hidden/{NAME}/wrong.py:" in texts(bench.defects)


def test_a_misconception_that_raises_where_that_is_not_meant(
    bench: runs.Bench, planted: Callable[[str, str, str], None]
) -> None:
    planted("wrong.py", "", ALIVE + ALIVE.replace("alive", "borrows").replace("beta * (", "alive(beta, 0, 1) * ("))
    row = row_of(bench, "borrows")
    (found,) = bench.defects
    assert found.text == (
        "every call raises NameError: name 'alive' is not defined; misconceptions cannot call each other: put shared "
        "code into a _helper"
    )
    assert found.where.startswith(f"grader/hidden/{NAME}/wrong.py:")
    said = texts(prover.rate_defects(bench.exercise, [row]))
    assert f"1 of 1 misconception is not named by a hidden-test run: borrows ({found.text})" in said


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
    where = f"(grader/hidden/{NAME}/wrong.py)"
    assert texts(found) == f"{NAME}: 1 of 10 misconceptions is not named by a hidden-test run: 0 {where}"
    assert prover.rate_defects(exercises()[NAME], rows[1:]) == []


def test_a_sound_variant_that_loses_a_point(bench: runs.Bench, planted: Callable[[str, str, str], None]) -> None:
    planted(
        "sound.py",
        "",
        "\n\ndef rounded(policy_logprob, ref_logprob, beta):\n"
        "    return np.round(beta * (policy_logprob - ref_logprob), 3)\n",
    )
    error, name = sound.prove_sound(bench, ["proof 1", "proof 2"])
    assert name == "rounded"
    assert error > 1
    groups = {"formula", "every completion", "far range"}  # those of values: one line each, however many secrets
    assert len(bench.defects) == len(groups)
    for group in groups:
        assert f"{NAME}, sound variant rounded: fails group “{group}” under 2 of 2 secrets, worst error " in texts(
            bench.defects
        )
    for d in bench.defects:
        assert "tolerances: the tolerance `" in d.text
        assert "` is too tight, or the variant is wrong" in d.text
        assert d.where.startswith(f"grader/hidden/{NAME}/sound.py:")


def test_a_sound_variant_that_no_tolerance_could_save(
    bench: runs.Bench, planted: Callable[[str, str, str], None]
) -> None:
    planted("sound.py", "", "\n\ndef listed(policy_logprob, ref_logprob, beta):\n"
            "    return list(beta * (policy_logprob - ref_logprob))\n")  # fmt: skip
    sound.prove_sound(bench, ["proof 1"])
    (found,) = bench.defects
    assert "fails group “return type” under 1 of 1 secret: returned list" in found.text


def test_a_reference_that_raises_on_a_hidden_case(bench: runs.Bench) -> None:
    args = {"policy_logprob": np.zeros(2), "ref_logprob": np.zeros(3), "beta": 1.0}  # shapes that do not go together
    fine = bench.exercise.groups[0].examples[0]
    found = texts(references.prove_hidden(bench, {"formula": [fine, Case(args)], "far range": [fine]}))
    assert found == (
        f"{NAME}, group “formula”, hidden case 2: the reference raises ValueError (grader/hidden/{NAME}/cases.py)"
    )


# Structure ----------------------------------------------------------------------------------------------------------


def test_too_few_sound_variants(exercise: Exercise, planted: Callable[[str, str, str], None]) -> None:
    planted("sound.py", "def plain_formula(", "def _plain_formula(")
    assert f"{NAME}: has no sound variant plain_formula" in texts(structure.variant_defects(exercise))
    planted("sound.py", "\ndef ", "\ndef _")
    assert f"{NAME}: has 0 sound variants, fewer than 6" in texts(structure.variant_defects(exercise))


def test_a_function_that_cannot_take_the_arguments(
    exercise: Exercise, planted: Callable[[str, str, str], None]
) -> None:
    fitting = "def a(p, r, b):\n    pass\ndef b(*p):\n    pass\ndef c(p, r, b, eps=1e-9):\n    pass\n"
    planted("wrong.py", "", "\n\n" + fitting)  # calls are by position: other names will do
    assert texts(structure.variant_defects(exercise)) == ""
    planted("wrong.py", "", "def short(p):\n    pass\ndef named(p, r, b, *, eps):\n    pass\n")
    planted("sound.py", "", "\n\ndef long(p, r, b, eps):\n    pass\n")
    found = texts(structure.variant_defects(exercise))
    asked = "but is called with 3: policy_logprob, ref_logprob, beta"
    assert (
        f"{NAME}, misconception short: takes 1 positional parameter, {asked} (grader/hidden/{NAME}/wrong.py:" in found
    )
    assert f"misconception named: takes 3 positional parameters and 1 argument by name only, {asked}" in found
    assert f"sound variant long: takes 4 positional parameters, {asked} (grader/hidden/{NAME}/sound.py:" in found


def test_weights_aspects_and_imports_that_judge_nothing(exercise: Exercise) -> None:
    first, *others = exercise.groups
    light = replace(exercise, groups=(replace(first, weight=first.weight - 1), *others))
    assert texts(structure.weight_defects(exercise)) == ""
    assert f"{NAME}: weights sum to 19, not 20 (grader/lessons/stable_dpo.py)" in texts(structure.weight_defects(light))
    odd = replace(exercise, groups=(replace(first, aspects=("shapes", "value:", "kind:x", "value:loss")), *others))
    found = texts(structure.exercise_defects(odd, course_lesson(LESSON)))
    for aspect in ("shapes", "value:", "kind:x"):
        assert f"{NAME}, group “{first.name}”: unknown aspect {aspect!r}; known: value, kind, shape, dtype" in found
    assert "'value:loss'" not in found
    loose = replace(exercise, groups=tuple(g for g in exercise.groups if "imports" not in g.aspects))
    found = texts(structure.exercise_defects(loose, course_lesson(LESSON)))
    assert f"{NAME}: imports is set, but no group has the aspect imports: nothing judges it (grader/lessons/" in found
    found = texts(structure.exercise_defects(replace(loose, imports=None), course_lesson(LESSON)))
    assert "nothing judges it" not in found


def test_a_tolerance_that_is_not_listed(exercise: Exercise) -> None:
    drawn = hidden.hidden_cases(exercise, "proof 1")
    assert texts(structure.unlisted_tolerances(exercise, drawn)) == ""
    mine = relative(1e-3, "mine", "relative error ≤ 1e-3")
    first, *others = exercise.groups
    text = "tolerance `mine` is not in grader.tolerance.ALL: add it there"
    for changed in (
        replace(exercise, tolerance=mine),
        replace(exercise, groups=(replace(first, tolerance=mine), *others)),
        replace(exercise, groups=(replace(first, examples=(replace(first.examples[0], tolerance=mine),)), *others)),
    ):
        (found,) = structure.unlisted_tolerances(changed, drawn)
        assert (found.text, found.where) == (text, "grader/lessons/stable_dpo.py")
    case = replace(drawn[first.name][0], tolerance=mine)
    (found,) = structure.unlisted_tolerances(exercise, {first.name: [case, case]})
    assert (found.text, found.where) == (text, f"grader/hidden/{NAME}/cases.py")


def test_cases_with_other_arguments_than_the_function(
    bench: runs.Bench, exercise: Exercise, planted: Callable[[str, str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = hidden.hidden_cases(exercise, "proof 1")
    assert texts(cases.argument_defects(exercise, drawn)) == ""
    first = exercise.groups[0]
    bare = Case({name: value for name, value in first.examples[0].args.items() if name != "beta"}, "bare", 1.0)
    more = Case({**first.examples[0].args, "eps": 1e-9})
    planned = {**drawn, first.name: [*drawn[first.name][:1], bare, more, bare]}
    found = texts(cases.argument_defects(exercise, planned))
    where = f"(grader/hidden/{NAME}/cases.py)"
    assert f"{NAME}, group “{first.name}”, hidden case 2 (and 1 more): has no argument `beta` {where}" in found
    assert f"hidden case 3: has an argument `eps` that the function does not take {where}" in found
    turned = Case(dict(reversed(first.examples[0].args.items())), "turned", 1.0)
    public = replace(exercise, groups=(replace(first, examples=(bare, turned)), *exercise.groups[1:]))
    found = texts(cases.argument_defects(public, drawn))
    assert f"group “{first.name}”, example “bare”: has no argument `beta` (grader/lessons/stable_dpo.py)" in found
    assert "example “turned”: has its arguments in another order than the function" in found
    monkeypatch.setattr(hidden, "hidden_cases", lambda *arguments: planned)
    proof = prover.prove_on(bench, ["proof 1"])
    assert len(proof.defects) == 2  # and nothing is run
    assert not proof.rows


def test_fingerprints_that_are_not_up_to_date(exercise: Exercise, planted: Callable[[str, str, str], None]) -> None:
    assert texts(structure.fingerprint_defects(exercise)) == ""
    planted("wrong.py", "", ALIVE)
    assert f"{NAME}: its fingerprints are not up to date" in texts(structure.fingerprint_defects(exercise))


def test_hints_that_are_empty_too_few_or_hold_code(
    exercise: Exercise, planted: Callable[[str, str, str], None]
) -> None:
    code = "def implicit_reward(policy_logprob, ref_logprob, beta):\n    return beta * (policy_logprob - ref_logprob)\n"
    assert texts(hints.hint_defects(exercise, code)) == ""
    telling = replace(exercise, hints=("Use beta * (policy_logprob - ref_logprob).", " ", "Third."))
    found = texts(hints.hint_defects(telling, code))
    line = "`return beta * (policy_logprob - ref_logprob)`"
    assert f"{NAME}: hint 1 contains code of the solution: {line} (grader/lessons/stable_dpo.py)" in found
    assert f"{NAME}: hint 2 is empty" in found
    planted(
        "wrong.py",
        "",
        "\n\ndef hintless(policy_logprob, ref_logprob, beta):\n    '''No hints.'''\n"
        "\n\ndef mixed(a, b, c):\n    '''Both: hintless + nobody.'''\n",
    )
    found = texts(hints.hint_defects(exercise, code))
    assert f"{NAME}, misconception hintless: has 0 hint steps, not 3 (grader/hidden/{NAME}/wrong.py:" in found
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
    assert hints.shared_code(text, hints.solution_code(source)) == shared


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("z = np.logaddexp( 0, -margin )", "Try np.logaddexp(0, -margin)."),
        ("z = np.logaddexp(0, -margin,", "Try np.logaddexp(0, -margin)."),  # goes on in the next line
        ("z = g['a long name']", 'Try g["a long name"].'.replace('"', "'")),
        ('z = g["a long name"]', "Try g['a long name']."),  # `ast.unparse` has quotes of its own
    ],
)
def test_code_of_the_solution_is_quoted_as_it_is_written(line: str, hint: str) -> None:
    source = f"def f(margin):\n    {line}\n" + ("    )\n" if line.endswith(",") else "") + "    return z\n"
    fragment = hints.shared_code(hint, hints.solution_code(source))
    assert fragment
    assert hints.line_with(source, fragment) == line


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
    found = texts(cases.cases_defects(exercise, {**drawn, first.name: [], "surprise": []}))
    assert f"{NAME}, group “{first.name}”: is worth points and has no hidden case" in found
    assert f"{NAME}, hidden cases “surprise”: belong to no group of the exercise" in found


def test_a_hidden_case_of_a_kind_no_example_shows(exercise: Exercise) -> None:
    drawn = hidden.hidden_cases(exercise, "proof 1")
    assert texts(cases.cases_defects(exercise, drawn)) == ""
    name = exercise.groups[0].name
    args = {"policy_logprob": np.float32([[-np.inf]]), "ref_logprob": np.array([-1.0]), "beta": True}
    found = texts(cases.cases_defects(exercise, {**drawn, name: [*drawn[name], Case(args)]}))
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


def test_the_file_with_a_mistake_of_syntax_is_named(planted: Callable[[str, str, str], None]) -> None:
    planted("wrong.py", "", "\n\ndef f()\n    pass\n")
    proof = prover.prove(NAME, prover.Settings(ROOT, ("proof 1",), "process"))
    (found,) = proof.defects
    assert "cannot be proved: " in found.text
    assert f"{NAME}/wrong.py, line " in found.text
    assert "expected ':'" in found.text


def test_what_a_family_of_hidden_cases_raises_comes_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(f"grader.hidden.{NAME}.cases")
    group = next(iter(module.CASES))
    monkeypatch.setitem(module.CASES, group, module.CASES[group])
    monkeypatch.setattr(module, "Case", None)
    proof = prover.prove(NAME, prover.Settings(ROOT, ("proof 1",), "process"))
    assert f"cannot be proved: TypeError: 'NoneType' object is not callable (grader/hidden/{NAME}/cases.py:" in texts(
        proof.defects
    )


# The lesson as built ------------------------------------------------------------------------------------------------


def test_a_lesson_that_is_built_and_up_to_date(tmp_path: Path) -> None:
    root = copy_of_course(tmp_path)
    for name, exercise in exercises().items():
        assert released.lesson_defect(name, exercise.lesson, root) == (None, True)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n# # ", "\n# # Another heading: ", 1),  # in markdown
        lambda text: text.replace("import numpy as np", "import math\n\nimport numpy as np", 1),  # in the setup
        lambda text: text.replace('"points": 2', '"points": 3', 1),
        lambda text: text + "\n# %% [markdown]\n# One more cell.\n",
    ],
)
def test_a_notebook_that_is_not_up_to_date(tmp_path: Path, change: Callable[[str], str]) -> None:
    root = copy_of_course(tmp_path)
    path = root / "solutions" / f"{LESSON}.py"
    text = path.read_text(encoding="utf-8")
    assert change(text) != text
    path.write_text(change(text), encoding="utf-8")
    defect, built = released.lesson_defect(NAME, LESSON, root)
    shown = f"notebooks/{LESSON}/{LESSON}.ipynb"
    assert str(defect) == f"{NAME}: {shown} is not what solutions/ gives: run `grader build`"
    assert built


def test_another_solution_leaves_the_notebook_up_to_date(tmp_path: Path) -> None:
    root = copy_of_course(tmp_path)
    path = root / "solutions" / f"{LESSON}.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("### END SOLUTION", "# one more comment\n    ### END SOLUTION"), encoding="utf-8")
    assert released.lesson_defect(NAME, LESSON, root) == (None, True)


def test_a_lesson_that_does_not_build_is_all_that_is_said(tmp_path: Path) -> None:
    root = copy_of_course(tmp_path)
    path = root / "solutions" / f"{LESSON}.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text + '\n# %% [markdown]\n# << points("nothing") >>\n', encoding="utf-8")
    proof = prover.verify(root, secrets=1, isolation="process", functions=(NAME, "dpo_loss"))
    (found,) = proof.defects
    assert str(found).startswith(f"{NAME}: its lesson does not build: ")
    assert f"{LESSON}.py" in str(found)
    assert "nothing" in str(found)
    assert [f.function for f in proof.functions] == [NAME, "dpo_loss"]
    shutil.copy(ROOT / "solutions" / f"{LESSON}.py", path)
    (root / "notebooks" / LESSON / f"{LESSON}.ipynb").unlink()
    (found,) = prover.verify(root, secrets=1, isolation="process", functions=(NAME,)).defects
    assert str(found) == f"{NAME}: notebooks/{LESSON}/{LESSON}.ipynb is missing: run `grader build`"
