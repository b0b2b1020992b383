"""Fill the marked blocks of `docs/performance.md` with the numbers of `results/*.json`.

Without arguments it writes the page; with ``--check`` it fails when the page is not what the results give.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
BLOCK = re.compile(r"(<!-- begin: ([a-z-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
Result = dict[str, Any]
STEPS = {
    "read": "read the file, find the learner's cells",
    "fork": "fork the warm worker, and end the child",
    "confine": "confine the child (Landlock, seccomp, limits)",
    "run": "run the cells and every call, and bring the values back",
    "judge": "judge every case, name the misconception",
    "write": "autograded notebook, gradebook rows, files",
    "feedback": "render the feedback page",
    "other": "everything else",
    "all": "**together**",
}


def results() -> dict[str, Result]:
    """The committed results by name."""
    return {
        path.stem: json.loads(path.read_text()) for path in sorted(Path(__file__).with_name("results").glob("*.json"))
    }


def conditions(result: Result) -> str:
    """When and on what a result was measured."""
    m = result["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in m["versions"].items() if name != "grader")
    load = " / ".join(f"{x:g}" for x in m["load_average"])
    busy = " **The machine was busy with other work**: the seconds are upper bounds." if busy_then(result) else ""
    return (
        f"*Measured {m['date']}: {m['cores']} cores ({m['processor']}), {m['memory_gib']:g} GiB, {m['system']}, "
        f"{versions}; load average {load} when it began.*{busy}"
    )


def busy_then(result: Result) -> bool:
    """Whether other processes wanted the processors when a run began."""
    return bool(result["machine"]["load_average"][0] > 0.5 * result["machine"]["cores"])


def aim(what: str, reached: bool) -> str:
    """An aim, and whether this run shows it."""
    return f"{what} ({'reached in this run' if reached else '**not reached in this run**'})"


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; all columns but the first are numbers."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def versus(found: dict[str, Result]) -> str:
    """Stock nbgrader beside the grader."""
    r = found["versus_nbgrader"]
    rows = [
        [
            "wall-clock seconds per submission",
            f"{r['nbgrader_seconds_per_submission']:.2f}",
            f"{r['grader_seconds_per_submission']:.4f}",
            f"**{r['ratio']:.0f}×**",
        ],
        [
            "CPU seconds per submission",
            f"{r['nbgrader_cpu_seconds_per_submission']:.2f}",
            f"{r['grader_cpu_seconds_per_submission']:.4f}",
            f"**{r['cpu_ratio']:.0f}×**",
        ],
    ]
    same = "all equal" if r["marks_equal"] else f"not all equal: {'; '.join(r['marks_unequal'])}"
    text = (
        f"{r['nbgrader_submissions']} different submissions of `{r['lesson']}` through stock nbgrader, "
        f"{r['grader_submissions']} copies of them through the batch path with `--jobs {r['jobs']}`; "
        f"{r['marks_compared']} exercise marks compared, {same}. Starting the grader's workers and grading "
        f"the first submissions took {r['grader_start_and_warm_up_seconds']:.1f} s; with that counted in full on "
        f"this class, the ratio is {r['ratio_with_grader_start']:.0f}×."
    )
    aims = [aim("100× in wall-clock time", r["ratio"] >= 100), aim("30× in CPU seconds", r["cpu_ratio"] >= 30)]
    made = table(["", "stock nbgrader", "grader", "ratio"], rows)
    return f"{text}\n\n{made}\n\nThe aim is {' and '.join(aims)}.\n\n{conditions(r)}"


def scaling(found: dict[str, Result]) -> str:
    """Classes of growing size."""
    r = found["scaling"]
    rows = [
        [
            f"{run['submissions']:,}",
            f"{run['seconds']:.1f}",
            f"{1000 * run['seconds_per_submission']:.1f}",
            f"{run['time_ratio']:.2f}",
            f"{1000 * run['cpu_seconds_per_submission']:.1f}",
            f"{run['peak_memory_mib']:,}",
            f"{run['memory_ratio']:.2f}",
            f"{run['load_average'][0]:g}",
        ]
        for run in r["runs"]
    ]
    heads = ["submissions", "seconds", "ms each", "ratio", "CPU ms each", "peak MiB", "ratio", "load"]
    start = (
        f"`--jobs {r['jobs']}`. Starting the workers, preparing the cases and grading the first "
        f"{r['warm_up_submissions']} submissions, which every class pays once, took "
        f"{r['start_and_warm_up_seconds']:.1f} s and is not in the table."
    )
    last = r["runs"][-1]
    minutes = 10_000 * last["seconds_per_submission"] / 60
    whole = (
        ""
        if last["submissions"] >= 10_000
        else f" 10,000 were not run; at the last row's rate they take {minutes:.1f} min."
    )
    slowest = max(run["time_ratio"] for run in r["runs"])
    note = f" {r['note']}" if "note" in r else ""
    grown = last["submissions"] >= 10 * r["runs"][0]["submissions"]
    aims = [
        aim("time per submission at most 20 % above the first row's", grown and slowest <= 1.2 and not note),
        aim("less than 2 GiB", max(run["peak_memory_mib"] for run in r["runs"]) < 2048),
        aim("10,000 in five minutes", last["submissions"] >= 10_000 and minutes <= 5),
    ]
    return f"{start}\n\n{table(heads, rows)}\n\nThe aims: {'; '.join(aims)}.{whole}{note}\n\n{conditions(r)}"


def breakdown(found: dict[str, Result]) -> str:
    """Where the time goes."""
    r = found["breakdown"]
    spent, bare = r["milliseconds"], r["floor"]["bare_fork_ms"]
    rows = [[what, f"{spent[name]:.2f}", f"{spent[name] / bare:.1f}"] for name, what in STEPS.items()]
    rows += [["*floor: a bare fork of the warm process, and its end*", f"{bare:.2f}", "1.0"]]
    text = (
        f"{r['submissions']} submissions of `{r['lesson']}` ({r['cases']} cases each) in one process with one warm "
        f"worker; opening the gradebook once took {spent['opening the gradebook, once'] / 1000:.1f} s more."
    )
    return f"{text}\n\n{table(['step', 'ms per submission', 'bare forks'], rows)}\n\n{conditions(r)}"


def latency(found: dict[str, Result]) -> str:
    """What a person waits for."""
    r = found["breakdown"]
    names = {name: f"`{name}`" if name.startswith("grader --") else name for name in r["commands_seconds"]}
    rows = [[names[n], f"{t['median']:.2f} s", f"{t['best']:.2f} s"] for n, t in r["commands_seconds"].items()]
    checks = r["check_milliseconds"]
    slow = max(checks, key=lambda name: checks[name]["median"])
    first = max(checks, key=lambda name: checks[name]["first"])
    rows.append(
        [
            f"`check({slow})`, the slowest",
            f"{checks[slow]['median']:.0f} ms",
            f"first time {checks[first]['first']:.0f} ms",
        ]
    )
    judged = r["judge_200_cases_milliseconds"]
    slowest = max(judged, key=lambda name: judged[name])
    text = (
        f"Judging 200 cases of one exercise takes {min(judged.values()):.1f} to {judged[slowest]:.1f} ms "
        f"(slowest: `{slowest}`), {1000 * judged[slowest] / 200:.0f} µs a case."
    )
    return f"{table(['', 'median', 'best'], rows)}\n\n{text}\n\n{conditions(r)}"


def hostile(found: dict[str, Result]) -> str:
    """A class with hostile submissions in it."""
    r = found["hostile"]
    others = r["submissions"] - r["hostile"]
    text = (
        f"{r['submissions']:,} submissions of `{r['lesson']}`, {r['hostile']} of them hostile: "
        f"{r['other_marks_changed']} of the {others} others have another mark than in a class of their own, "
        f"{r['others_failed']} of them failed, and {len(r['hostile_with_points'])} of the hostile ones earned a point. "
        f"{r['hostile_refused']} of the {r['hostile_files']} that are no notebooks were refused with a reason and a "
        f"page each; the code of the rest ran into its limits. With them, the class took {r['seconds']:.0f} s, "
        f"without them {r['seconds_without_hostile']:.0f} s; starting the workers is in both."
    )
    return f"{text}\n\n{conditions(r)}"


BLOCKS: dict[str, Callable[[dict[str, Result]], str]] = {
    "versus": versus,
    "scaling": scaling,
    "breakdown": breakdown,
    "latency": latency,
    "hostile": hostile,
}


def blocks(page: str) -> list[str]:
    """The names of the page's blocks."""
    return [match[2] for match in BLOCK.finditer(page)]


def filled(page: str, found: dict[str, Result] | None = None) -> str:
    """The page with each block filled from the results."""
    known = results() if found is None else found
    return BLOCK.sub(lambda match: f"{match[1]}{BLOCKS[match[2]](known)}\n{match[4]}", page)


def main() -> None:
    """Write the page, or compare it."""
    page = PAGE.read_text(encoding="utf-8")
    made = filled(page)
    if "--check" in sys.argv[1:]:
        sys.exit("docs/performance.md: run `python benchmarks/report.py`" if made != page else 0)
    PAGE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
