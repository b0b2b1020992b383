"""`grader verify`: the course proves its hidden tests before anyone is graded by them.

Every reference earns full marks, nothing blank earns a point, every known mistake is caught and named, every sound
way of writing a function keeps its points, and what the lessons state is what is judged.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from grader import hidden
from grader.course import ROOT, exercises
from grader.exercise import Exercise
from grader.expected import reference_code
from grader.grading import Grader
from grader.notebook import Submission
from grader.proofs import lessons, runs, structure
from grader.proofs.model import Defect, FunctionProof, Proof, Row
from grader.sample import reference
from grader.sandbox.calls import Call
from grader.sandbox.client import Worker
from grader.scaffold import todos_of

RATE = 0.95  # of the misconceptions come back under their own id


@dataclass(frozen=True)
class Settings:
    """What every process of a proof needs to know."""

    root: Path
    secrets: tuple[str, ...]
    isolation: str


def verify(
    root: Path = ROOT,
    secrets: int = 20,
    isolation: str = "confined",
    jobs: int = 2,
    functions: Sequence[str] = (),
) -> Proof:
    """Prove the course in ``root``; the proof lists every defect, naming the culprit.

    Args:
        root: the folder with ``solutions`` and ``notebooks``.
        secrets: how many course secrets the sound variants are graded under. They are fixed, so that two runs agree.
        isolation: of the sandbox, as in `Grader`.
        jobs: processes; each proves one function at a time.
        functions: what to prove; empty: every exercise of the course.

    Raises:
        CourseError: a lesson is not built.
    """
    settings = Settings(root, tuple(f"proof {number}" for number in range(1, max(1, secrets) + 1)), isolation)
    names = list(functions or exercises())
    if jobs <= 1:
        return Proof(tuple(prove(name, settings) for name in names), len(settings.secrets))
    with ProcessPoolExecutor(jobs, get_context("spawn"), _start) as pool:
        return Proof(tuple(pool.map(prove, names, [settings] * len(names))), len(settings.secrets))


def _start() -> None:
    """One thread per process: `check` runs in it, and so does torch."""
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")


def prove(name: str, settings: Settings) -> FunctionProof:
    """Prove one function. What cannot even be run becomes a defect as well."""
    exercise = exercises()[name]
    grader = Grader(settings.secrets[0], settings.isolation, "hints", settings.root, runs.WIDE)
    grader.worker = Worker(settings.isolation, runs.WIDE)
    with grader:
        bench = runs.Bench(exercise, grader, settings.root)
        try:
            return prove_on(bench, settings.secrets)
        except Exception as error:  # noqa: BLE001 - a broken course is a defect with a name, not a traceback
            found = Defect(name, f"cannot be proved: {type(error).__name__}: {error}")
            return FunctionProof(name, groups_of(exercise), exercise.tolerance.name, defects=(*bench.defects, found))


def prove_on(bench: runs.Bench, secrets: Sequence[str]) -> FunctionProof:
    """Every proof of one function, the cheap ones first."""
    exercise = bench.exercise
    bench.defects += static_defects(bench)
    bench.defects += list(runs.prove_reference(bench))
    bench.defects += list(stated_defects(bench))
    known = [m.id for m in hidden.misconceptions(exercise.name)]
    bench.grader.wrong(bench.lesson, bench.prepared, known)  # all at once, before diagnoses ask for them one by one
    rows = tuple(runs.prove_misconception(bench, m) for m in hidden.misconceptions(exercise.name))
    bench.defects += rate_defects(exercise, rows)
    worst = runs.prove_sound(bench, secrets)
    nearest = min(((row.error, row.id) for row in rows if row.error > 1), default=(0.0, ""))
    count = len(hidden.implementations(exercise.name, "sound"))
    return FunctionProof(
        exercise.name, groups_of(exercise), exercise.tolerance.name, rows, count, worst, nearest, tuple(bench.defects)
    )


def groups_of(exercise: Exercise) -> tuple[tuple[str, int], ...]:
    """Names and weights of an exercise's groups."""
    return tuple((group.name, group.weight) for group in exercise.groups)


def static_defects(bench: runs.Bench) -> list[Defect]:
    """What can be seen without running anything."""
    exercise = bench.exercise
    drawn = hidden.hidden_cases(exercise, bench.grader.secret)
    return [
        *structure.exercise_defects(exercise, bench.lesson),
        *structure.cases_defects(exercise, drawn),
        *structure.variant_defects(exercise),
        *structure.fingerprint_defects(exercise),
        *structure.hint_defects(exercise, reference(exercise.name, bench.root)),
        *lessons.tolerance_defects(exercise, bench.root),
        *(Defect(exercise.name, f"TODO at {todo}") for todo in todos_of(exercise, bench.root)),
    ]


def stated_defects(bench: runs.Bench) -> list[Defect]:
    """The calls that the lesson prints with their results, against the reference."""
    printed = list(lessons.printed_calls(bench.exercise, bench.root))
    code = Submission("reference", bench.lesson, reference_code(bench.lesson, bench.root)).code
    run = bench.grader.run(code, [Call(bench.exercise.name, item.case) for item in printed])
    answers = [outcome.result for outcome in run.outcomes]
    pairs = zip(printed, answers, strict=True)
    return [d for item, answer in pairs for d in lessons.printed_defects(bench.exercise, item, answer)]


def rate_defects(exercise: Exercise, rows: Sequence[Row]) -> list[Defect]:
    """Too few misconceptions that come back under their own id, from hidden tests or from `check`."""
    public = [row for row in rows if row.checked is not None]
    defects = []
    for where, seen, total in (
        ("a hidden-test run", [row for row in rows if set(row.found) != row.expected], len(rows)),
        ("check", [row for row in public if set(row.checked or ()) != row.expected], len(public)),
    ):
        if total and len(seen) > (1 - RATE) * total:
            missed = ", ".join(row.id for row in seen)
            text = f"{len(seen)} of {total} misconceptions are not named by {where}: {missed}"
            defects.append(Defect(exercise.name, text))
    return defects
