"""A large class out of a few really graded submissions: who wrote what is drawn, what it earns is not."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
from support import functions, references

from grader import hidden, notebook, sample
from grader.grading import Grader
from grader.report import SubmissionResult, failed

LESSONS = ("02_spo_regression", "03_stable_dpo")
EVIL = "<script>document.title='owned'</script>"
ODD = """import numpy as np


def implicit_reward(policy_logprob, ref_logprob, beta):
    reward = beta * (policy_logprob - ref_logprob)
    reward[reward > 1e3] = 1e3
    return reward
"""


def answers(lesson: str) -> list[tuple[float, dict[str, str]]]:
    """(how common, answers) of the submissions that are graded: right, blank, one mistake each, and a strange one."""
    right = references(lesson)
    found: list[tuple[float, dict[str, str]]] = [(40.0, right), (4.0, {})]
    for name in functions(lesson):
        singles = [m.id for m in hidden.misconceptions(name) if not m.parts][:4]
        found += [(12.0 / (k + 1), {**right, name: sample.wrong_answer(name, m)}) for k, m in enumerate(singles)]
    if lesson == "03_stable_dpo":
        commented = right["dpo_loss"].replace('"""', f'"""{EVIL} by Ada Lovelace. ', 1) + f"    # {EVIL}\n"
        found += [(6.0, {**right, "implicit_reward": ODD}), (3.0, {**right, "dpo_loss": commented})]
    return found


def graded(grader: Grader, folder: Path) -> list[tuple[float, SubmissionResult]]:
    """(how common, result) of each; the submissions stand in ``folder``."""
    made = []
    for lesson in LESSONS:
        for number, (weight, written) in enumerate(answers(lesson)):
            path = folder / f"kind{number:02}" / lesson / f"{lesson}.ipynb"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(sample.answered(lesson, written)), encoding="utf-8")
            made.append((weight, grader.grade(notebook.load(path, lesson))))
    made.append((1.0, failed(str(folder / "x.ipynb"), LESSONS[0], f"x.ipynb: its JSON is broken {EVIL}")))
    return made


def large_class(kinds: list[tuple[float, SubmissionResult]], size: int, folder: Path) -> list[SubmissionResult]:
    """``size`` results drawn from ``kinds``, each with a file of its own below ``folder``, in nbgrader's tree."""
    rng = np.random.default_rng(7)
    weights = np.array([weight for weight, _ in kinds])
    made = []
    for number, kind in enumerate(rng.choice(len(kinds), size, p=weights / weights.sum())):
        result = kinds[kind][1]
        path = folder / f"student{number:04}" / result.assignment / f"{result.assignment}.ipynb"
        if Path(result.submission).exists():
            path.parent.mkdir(parents=True)
            os.link(result.submission, path)
        made.append(replace(result, submission=str(Path("submitted", *path.parts[-3:]))))
    return made
