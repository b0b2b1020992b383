"""What must hold of an exercise and its known implementations before anything is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from grader import fingerprints, hidden, tolerance
from grader.course import CourseError, Lesson
from grader.exercise import ASPECTS, KEYED, Case, Exercise, Group
from grader.proofs.model import Defect, counted
from grader.proofs.places import hidden_file, lesson_module

CAPPED = {("kl_penalized_rewards", "masked NaN and inf"): 0.1}  # and every group that looks at imports
CAP = 0.1
SHARES = 20  # what the weights of an exercise sum to
SOUND = 6


def exercise_defects(exercise: Exercise, lesson: Lesson) -> Iterator[Defect]:
    """Groups, examples, weights, points and a figure."""
    module, percent = lesson_module(exercise), f"solutions/{lesson.name}.py"
    if not exercise.groups:
        yield Defect(exercise.name, "has no group", module)
    for group in exercise.groups:
        yield from _group_defects(exercise, group, module)
    yield from weight_defects(exercise)
    if exercise.imports is not None and not any("imports" in group.aspects for group in exercise.groups):
        text = "imports is set, but no group has the aspect imports: nothing judges it"
        yield Defect(exercise.name, text, module)
    try:
        if lesson.points(exercise.name) <= 0:
            yield Defect(exercise.name, "its graded cell is worth no points", percent)
    except CourseError as error:
        yield Defect(exercise.name, f"has no points: {error}", percent)
    figures = [c for c in lesson.cells if c.grade_id.startswith("figure_") and exercise.name in _names(c.source)]
    if not figures:
        yield Defect(exercise.name, f"{lesson.name} has no figure_… cell that draws from it", percent)


def _names(source: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


def _group_defects(exercise: Exercise, group: Group, module: str) -> Iterator[Defect]:
    culprit = f"{exercise.name}, group “{group.name}”"
    for aspect in group.aspects:
        name, colon, key = aspect.partition(":")
        if name not in ASPECTS or (colon and (name not in KEYED or not key)):
            known = ", ".join((*ASPECTS, *(f"{name}:KEY" for name in KEYED)))
            yield Defect(culprit, f"unknown aspect {aspect!r}; known: {known}", module)
    if not group.aspects:
        yield Defect(culprit, "has no aspect: nothing can fail it", module)
    if not group.examples:
        yield Defect(culprit, "has no public example", module)
    if not group.idea.strip():
        yield Defect(culprit, "has no idea: one sentence that a learner reads", module)
    for case in group.examples:
        if case.expected is None:
            yield Defect(culprit, f"example “{case.note}” has no authored result", module)
        if "gradient" in group.aspects and set(case.expected_gradients) != set(case.differentiate):
            yield Defect(culprit, f"example “{case.note}” has no authored gradient", module)


def weight_defects(exercise: Exercise) -> Iterator[Defect]:
    """Points in all, and what may be at most a tenth of them."""
    total, module = sum(group.weight for group in exercise.groups), lesson_module(exercise)
    if total <= 0:
        yield Defect(exercise.name, "no group is worth points", module)
        return
    if total != SHARES:
        yield Defect(exercise.name, f"weights sum to {total}, not {SHARES}", module)
    for (function, name), share in CAPPED.items():
        if function == exercise.name and name not in {group.name for group in exercise.groups}:
            yield Defect(exercise.name, f"has no group “{name}”, whose weight is capped", module)
        mine = [g for g in exercise.groups if (exercise.name, g.name) == (function, name)]
        yield from (_too_heavy(exercise, g, share) for g in mine if g.weight > share * total)
    for group in exercise.groups:
        if "imports" in group.aspects and group.weight > CAP * total:
            yield _too_heavy(exercise, group, CAP)


def _too_heavy(exercise: Exercise, group: Group, share: float) -> Defect:
    text = f"weighs {group.weight}, more than {share:.0%} of the points"
    return Defect(f"{exercise.name}, group “{group.name}”", text, lesson_module(exercise))


def unlisted_tolerances(exercise: Exercise, drawn: Mapping[str, Sequence[Case]]) -> Iterator[Defect]:
    """Tolerances that do not stand in `tolerance.ALL`, by which they travel to a cluster's workers."""
    module, cases = lesson_module(exercise), hidden_file(exercise.name, "cases")
    used = [(exercise.tolerance, exercise.name, module)]
    for group in exercise.groups:
        culprit = f"{exercise.name}, group “{group.name}”"
        used += [(mine, culprit, module) for mine in (group.tolerance, *(c.tolerance for c in group.examples)) if mine]
        used += [(c.tolerance, culprit, cases) for c in drawn.get(group.name, ()) if c.tolerance]
    first = {id(one): (one, culprit, where) for one, culprit, where in reversed(used)}
    for one, culprit, where in reversed(first.values()):
        if not any(one is listed for listed in tolerance.ALL):
            yield Defect(culprit, f"tolerance `{one.name}` is not in grader.tolerance.ALL: add it there", where)


def fingerprint_defects(exercise: Exercise) -> Iterator[Defect]:
    """What `check` knows of the misconceptions is about them all, and about every public example."""
    known, outcomes = fingerprints.load(exercise.name)
    examples = sum(len(group.examples) for group in exercise.groups)
    current = [m.id for m in hidden.misconceptions(exercise.name)] == [m.id for m in known]
    if not current or any(len(seen) != examples for seen in outcomes.values()):
        where = f"grader/lessons/fingerprints/{exercise.name}.json"
        yield Defect(exercise.name, "its fingerprints are not up to date: run `grader build`", where)


def variant_defects(exercise: Exercise) -> Iterator[Defect]:
    """Enough sound variants, the contract's formula among them; at least one misconception."""
    sound = hidden.implementations(exercise.name, "sound")
    if len(sound) < SOUND:
        text = f"has {counted(len(sound), 'sound variant')}, fewer than {SOUND}"
        yield Defect(exercise.name, text, hidden_file(exercise.name, "sound"))
    if "plain_formula" not in sound:
        yield Defect(exercise.name, "has no sound variant plain_formula", hidden_file(exercise.name, "sound"))
    if not hidden.implementations(exercise.name, "wrong"):
        yield Defect(exercise.name, "has no misconception", hidden_file(exercise.name, "wrong"))
    yield from _parameter_defects(exercise, "wrong", "misconception")
    yield from _parameter_defects(exercise, "sound", "sound variant")


def _parameter_defects(exercise: Exercise, which: str, what: str) -> Iterator[Defect]:
    """Functions that cannot take the exercise's arguments. Calls are by position, so that names may differ."""
    tree = ast.parse(hidden.source_path(exercise.name, which).read_text(encoding="utf-8"))
    asked = len(exercise.signature)
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        most = len(node.args.posonlyargs) + len(node.args.args)
        named_only = sum(default is None for default in node.args.kw_defaults)
        fits = most - len(node.args.defaults) <= asked and (asked <= most or node.args.vararg) and not named_only
        if not fits:
            text = f"takes {counted(most, 'positional parameter')}"
            text += f" and {counted(named_only, 'argument')} by name only" if named_only else ""
            yield Defect(
                f"{exercise.name}, {what} {node.name}",
                f"{text}, but is called with {asked}: {', '.join(exercise.signature)}",
                f"{hidden_file(exercise.name, which)}:{node.lineno}",
            )
