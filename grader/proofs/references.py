"""References and stubs: the first earns what there is to earn, under any secret, and the others nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from grader.exercise import Case, Exercise, Group, Outcome
from grader.expected import reference_code
from grader.explain import value_line
from grader.judge import Flaw, Judged, judge_group, pairs
from grader.notebook import Submission
from grader.proofs.model import Defect, counted
from grader.proofs.places import hidden_file, lesson_module
from grader.proofs.runs import Bench
from grader.sandbox.calls import Call
from grader.values import as_array

NEARLY = 1e-6  # relative: so many digits agree that the tolerance may be to blame
EMPTY = "def {name}(*arguments):\n    pass\n"


def prove_public(bench: Bench) -> Iterator[Defect]:
    """The reference gives what the public examples say; one defect per group, and none twice for the same example."""
    exercise, seen = bench.exercise, set[int]()
    examples = [(g, c) for g in exercise.groups for c in g.examples if c.expected is not None]
    calls = [Call(exercise.name, case) for _, case in examples]
    run = bench.grader.run(reference_code(bench.lesson, bench.root), calls)
    judged = [
        Judged(case, Outcome("returned", case.expected, dict(case.expected_gradients)), received)
        for (_, case), received in zip(examples, run.outcomes, strict=True)
    ]
    for group in exercise.groups:
        mine = [item for item, (of, _) in zip(judged, examples, strict=True) if of is group]
        for index, flaw in judge_group(exercise, group, mine).flaws:
            if id(mine[index].case) in seen:
                continue
            seen.add(id(mine[index].case))
            yield Defect(exercise.name, _public_text(exercise, group, mine[index], flaw), lesson_module(exercise))
            break


def _public_text(exercise: Exercise, group: Group, item: Judged, flaw: Flaw) -> str:
    tolerance = item.case.tolerance or group.tolerance or exercise.tolerance
    where = f"the public example “{item.case.note}” of group “{group.name}”"
    if flaw.aspect not in ("value", "gradient"):
        return f"the reference fails {where}: {flaw.text}"
    if flaw.aspect == "gradient":
        label, want = f"gradient in {flaw.path}: ", item.expected.gradients[flaw.path]
        got = item.received.gradients.get(flaw.path)
    else:
        label = f"{flaw.path}: " if flaw.path else ""
        want, got = next(
            (a, b) for path, a, b in pairs(item.expected.result, item.received.result) if path == flaw.path
        )
    size = f", error {flaw.error:.3g} × tolerance `{tolerance.name}`" if 1 < flaw.error < math.inf else ""
    a, b = as_array(want), as_array(got)
    close = a is not None and b is not None and a.shape == b.shape and np.allclose(a, b, rtol=NEARLY, atol=0)
    blame = f"the tolerance `{tolerance.name}` is too tight, or " if close else ""
    return (
        f"the reference fails {where}: {blame}the typed-in number or the reference is wrong; {label}expected "
        f"{value_line(want)}, received {value_line(got)}{size}"
    )


def prove_hidden(bench: Bench, drawn: Mapping[str, Sequence[Case]]) -> Iterator[Defect]:
    """The reference answers every hidden case; one defect per group."""
    name = bench.exercise.name
    calls = [Call(name, case) for cases in drawn.values() for case in cases]
    outcomes = iter(bench.grader.run(reference_code(bench.lesson, bench.root), calls).outcomes)
    for group, cases in drawn.items():
        answers = [next(outcomes) for _ in cases]
        off = [number for number, answer in enumerate(answers, start=1) if answer.status != "returned"]
        if not off:
            continue
        first = answers[off[0] - 1]
        what = f"raises {first.error.type}" if first.error else f"does not answer ({first.status})"
        more = f" (and {len(off) - 1} more)" if len(off) > 1 else ""
        culprit = f"{name}, group “{group}”, hidden case {off[0]}{more}"
        yield Defect(culprit, f"the reference {what}", hidden_file(name, "cases"))


def prove_reference(bench: Bench) -> Iterator[Defect]:
    """The reference earns full marks; untouched, blank and empty answers earn nothing."""
    exercise, name = bench.exercise, bench.exercise.name
    code = reference_code(bench.lesson, bench.root)
    marked = bench.mark(Submission("reference", bench.lesson, code))
    if marked.result.status != "passed":
        yield Defect(f"{name}, reference", f"misses full marks: {marked.first_flaw}", f"solutions/{exercise.lesson}.py")
    stub = bench.lesson.cell(name)
    answers = {
        "untouched notebook": "",
        "blank stub": stub.source if stub else "",
        "empty function": EMPTY.format(name=name),
    }
    for what, answer in answers.items():
        earned = bench.mark(bench.submission(answer)).result.points
        if earned:
            yield Defect(f"{name}, {what}", f"earns {counted(earned, 'point')}", lesson_module(exercise))
