"""`grader dashboard`: what a class knows and which ideas it is missing, as one page or as JSON.

`summarize` makes plain data from results; the template shows it. No name stands beside a misconception or a piece of
code; names stand only in the list of submissions and of those that need a human.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from grader import render
from grader.report import ExerciseResult, SubmissionResult
from grader.typical import typical_cell

EASY, HARD = 0.95, 0.40  # mean share of the points, among who tried
NEAR = 0.5  # from this share of the points on, a mistake that nobody knows is worth a look
ENOUGH = 5  # who tried, before an exercise is called easy or hard
BINS = 10

View = dict[str, Any]


def summarize(results: Iterable[SubmissionResult], submissions: Path | None = None) -> View:
    """The numbers behind the page, as plain JSON types.

    Args:
        results: of any number of lessons.
        submissions: the folder with the submissions, for the text of a typical wrong cell; without it, the paths in the
            results are tried.
    """
    everything = list(results)
    humans = [human for r in everything if (human := _human(r))["reasons"]]
    by_lesson: dict[str, list[SubmissionResult]] = {}
    for result in everything:
        by_lesson.setdefault(result.assignment or "unknown lesson", []).append(result)
    return {
        "schema": 1,
        "submissions": len(everything),
        "failed": sum(r.status == "failed" for r in everything),
        "limits": {"easy": EASY, "hard": HARD, "near": NEAR, "enough": ENOUGH},
        "lessons": [_lesson(name, by_lesson[name], submissions) for name in sorted(by_lesson)],
        "humans": humans,
        "reasons": _by_reason(humans),
        "students": [_row(r) for r in everything],
    }


def _lesson(name: str, results: Sequence[SubmissionResult], submissions: Path | None) -> View:
    graded = [r for r in results if r.status == "graded"]
    points = [r.points for r in graded]
    order = list(dict.fromkeys(e.name for r in graded for e in r.exercises))
    return {
        "name": name,
        "submissions": len(results),
        "graded": len(graded),
        "mean": round(statistics.fmean(points), 3) if points else 0.0,
        "median": statistics.median(points) if points else 0.0,
        "max": max((r.max_points for r in graded), default=0.0),
        "exercises": [_exercise(e, graded, submissions) for e in order],
    }


def _exercise(name: str, graded: Sequence[SubmissionResult], submissions: Path | None) -> View:
    pairs = [(r, e) for r in graded for e in r.exercises if e.name == name]
    tried = [e for _, e in pairs if e.status != "not attempted"]
    shares = [_share(e) for e in tried]
    mean = statistics.fmean(shares) if shares else 0.0
    bins = Counter(min(BINS - 1, int(share * BINS)) for share in shares)
    level = "" if len(tried) < ENOUGH else "too easy" if mean >= EASY else "too hard" if mean <= HARD else ""
    return {
        "name": name,
        "tried": len(tried),
        "untried": len(pairs) - len(tried),
        "full": sum(e.status == "passed" for e in tried),
        "mean_share": round(mean, 4),
        "max_points": max((e.max_points for _, e in pairs), default=0.0),
        "level": level,
        "histogram": [bins[i] for i in range(BINS)],
        "groups": _groups(tried),
        "misconceptions": _misconceptions(name, pairs, submissions),
        "unnamed": sum(e.status in ("partial", "failed") and not e.diagnosis for e in tried),
    }


def _share(exercise: ExerciseResult) -> float:
    return min(1.0, max(0.0, exercise.points / exercise.max_points)) if exercise.max_points else 0.0


def _groups(tried: Sequence[ExerciseResult]) -> list[View]:
    found: dict[str, View] = {}
    for exercise in tried:
        for group in exercise.groups:
            row = found.setdefault(
                group.name,
                {"name": group.name, "idea": group.idea, "max_points": group.max_points, "passed": 0, "of": 0},
            )
            row["passed"] += group.passed
            row["of"] += 1
    return list(found.values())


def _misconceptions(
    name: str, pairs: Sequence[tuple[SubmissionResult, ExerciseResult]], submissions: Path | None
) -> list[View]:
    """Who holds what, most held first."""
    holders: dict[str, list[SubmissionResult]] = {}
    hints: dict[str, str] = {}
    for result, exercise in pairs:
        for hint in exercise.diagnosis:
            holders.setdefault(hint.misconception, []).append(result)
            hints[hint.misconception] = hint.hint
    told = descriptions(name)
    return [
        {
            "id": key,
            "description": told.get(key, ""),
            "holders": len(holders[key]),
            "hint": hints[key],
            "cell": typical_cell(name, holders[key], submissions),
        }
        for key in sorted(holders, key=lambda k: (-len(holders[k]), k))
    ]


def descriptions(function: str) -> dict[str, str]:
    """Misconception -> its one-line description; empty where the course no longer has the function."""
    from grader import hidden

    try:
        return {m.id: m.description for m in hidden.misconceptions(function)}
    except OSError:
        return {}


def _human(result: SubmissionResult) -> View:
    """Why a person should look at a submission; often for no reason."""
    reasons = []
    if result.status == "failed":
        reasons.append("could not be graded: " + ("; ".join(result.problems) or "no reason given"))
    else:
        reasons += [f"noticed: {problem}" for problem in result.problems]
    for e in result.exercises:
        if e.status == "partial" and not e.diagnosis and _share(e) >= NEAR:
            lost = ", ".join(g.name for g in e.groups if g.max_points and not g.passed)
            reasons.append(f"near miss: {e.name} loses only “{lost}”, and no known misconception fits")
    return {"submission": result.submission, "lesson": result.assignment, "points": result.points, "reasons": reasons}


def _by_reason(humans: Sequence[View]) -> list[View]:
    """The same reasons once, with everybody they hold for; the most frequent first."""
    found: dict[tuple[str, ...], list[str]] = {}
    for human in humans:
        found.setdefault((human["lesson"], *human["reasons"]), []).append(human["submission"])
    ordered = sorted(found.items(), key=lambda item: -len(item[1]))
    return [{"lesson": key[0], "reasons": list(key[1:]), "submissions": names} for key, names in ordered]


def student(submission: str) -> str:
    """A submission's short name: the student in nbgrader's tree STUDENT/LESSON/file, else the path as it is."""
    parts = Path(submission).parts
    return parts[-3] if len(parts) >= 3 and Path(parts[-1]).stem == parts[-2] else submission


def _row(result: SubmissionResult) -> View:
    return {
        "submission": result.submission,
        "lesson": result.assignment,
        "status": result.status,
        "points": result.points,
        "max_points": result.max_points,
        "exercises": [
            {"name": e.name, "points": e.points, "max_points": e.max_points, "status": e.status}
            for e in result.exercises
        ],
        "misconceptions": [f"{e.name}:{h.misconception}" for e in result.exercises for h in e.diagnosis],
    }


def page(view: Mapping[str, Any]) -> str:
    """The self-contained page: no network, readable without colour and without scripts."""
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["student"] = student
    environment.filters["points"] = render.points_text
    environment.filters["percent"] = lambda share: f"{100 * share:.0f} %"
    return environment.get_template("dashboard.html.j2").render(v=view)
