"""`grader verify`: the course proves its hidden tests before anyone is graded by them.

Every reference earns full marks, nothing blank earns a point, every known mistake is caught and named, every sound
way of writing a function keeps its points, and what the lessons state is what is judged.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from grader import hidden
from grader.course import ROOT, exercises
from grader.exercise import Exercise
from grader.expected import reference_code
from grader.grading import Grader
from grader.notebook import Submission
from grader.proofs import cases, hints, lessons, misconceptions, references, runs, sound, structure
from grader.proofs.model import Defect, FunctionProof, Proof, Row, counted
from grader.proofs.places import hidden_file, reason
from grader.proofs.released import lesson_defect
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
    """
    settings = Settings(root, tuple(f"proof {number}" for number in range(1, max(1, secrets) + 1)), isolation)
    names = list(functions or exercises())
    owners = {exercises()[name].lesson: name for name in reversed(names)}  # a lesson's defects go to its first function
    seen = {lesson: lesson_defect(owner, lesson, root) for lesson, owner in owners.items()}
    built = [name for name in names if seen[exercises()[name].lesson][1]]
    proofs = {name: FunctionProof(name, groups_of(exercises()[name])) for name in names}
    proofs |= dict(zip(built, _prove_all(built, settings, jobs), strict=True))
    for lesson, owner in owners.items():
        defect = seen[lesson][0]
        if defect:
            proofs[owner] = replace(proofs[owner], defects=(defect, *proofs[owner].defects))
    return Proof(tuple(proofs[name] for name in names), len(settings.secrets))


def _prove_all(names: Sequence[str], settings: Settings, jobs: int) -> list[FunctionProof]:
    if jobs <= 1 or len(names) <= 1:
        return [prove(name, settings) for name in names]
    with ProcessPoolExecutor(jobs, get_context("spawn"), _start) as pool:
        return list(pool.map(prove, names, [settings] * len(names)))


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
            found = Defect(name, f"cannot be proved: {reason(error, settings.root)}")
            return FunctionProof(name, groups_of(exercise), exercise.tolerance.name, defects=(*bench.defects, found))


def prove_on(bench: runs.Bench, secrets: Sequence[str]) -> FunctionProof:
    """Every proof of one function, the cheap ones first."""
    exercise = bench.exercise
    name, groups, tolerance = exercise.name, groups_of(exercise), exercise.tolerance.name
    if not _can_be_graded(bench):
        return FunctionProof(name, groups, tolerance, defects=tuple(bench.defects))
    bench.defects += list(references.prove_reference(bench))
    bench.defects += list(stated_defects(bench))
    known = hidden.misconceptions(name)
    bench.grader.wrong(bench.lesson, bench.prepared, [m.id for m in known])  # at once, before diagnoses ask one by one
    rows = tuple(misconceptions.prove_misconception(bench, m) for m in known)
    bench.defects += rate_defects(exercise, rows)
    worst = sound.prove_sound(bench, secrets)
    nearest = min(((row.error, row.id) for row in rows if row.error > 1), default=(0.0, ""))
    count = len(hidden.implementations(name, "sound"))
    return FunctionProof(name, groups, tolerance, rows, count, worst, nearest, tuple(bench.defects))


def _can_be_graded(bench: runs.Bench) -> bool:
    """Whether cases and reference are fit to grade anything by. Where not, all else would fail for that one reason."""
    bench.defects += static_defects(bench)
    if any(cases.argument_defects(bench.exercise, bench.drawn)):
        return False
    unfit = list(references.prove_public(bench)) or list(references.prove_hidden(bench, bench.drawn))
    bench.defects += unfit
    return not unfit


def groups_of(exercise: Exercise) -> tuple[tuple[str, int], ...]:
    """Names and weights of an exercise's groups."""
    return tuple((group.name, group.weight) for group in exercise.groups)


def static_defects(bench: runs.Bench) -> list[Defect]:
    """What can be seen without running anything."""
    exercise, drawn = bench.exercise, bench.drawn
    return [
        *structure.exercise_defects(exercise, bench.lesson),
        *structure.unlisted_tolerances(exercise, drawn),
        *(list(cases.argument_defects(exercise, drawn)) or cases.cases_defects(exercise, drawn)),
        *structure.variant_defects(exercise),
        *structure.fingerprint_defects(exercise),
        *hints.hint_defects(exercise, reference(exercise.name, bench.root)),
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
            missed = ", ".join(row.id + (f" ({row.raised})" if row.raised else "") for row in seen)
            verb = "is" if len(seen) == 1 else "are"
            text = f"{len(seen)} of {counted(total, 'misconception')} {verb} not named by {where}: {missed}"
            defects.append(Defect(exercise.name, text, hidden_file(exercise.name, "wrong")))
    return defects
