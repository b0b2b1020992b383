"""What results look like to people: in a notebook, in a terminal, as a feedback page. Everything is escaped."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import numpy as np
from markupsafe import Markup

from grader.exercise import Case
from grader.judge import Judged, error_in_tolerances
from grader.values import Tensor, Value, as_array, dtype_of, kind_of, leaves

if TYPE_CHECKING:
    from grader.check import Checked
    from grader.exercise import Exercise
    from grader.report import ExerciseResult, SubmissionResult

SHOWN = 8  # entries of an array, and failing examples, shown in a check
EXAMPLES = 3


@functools.cache
def _templates() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    environment.globals["points"] = points_text
    environment.globals["report"] = lambda exercise: Markup(report_html(exercise))  # noqa: S704 - escaped by its template
    return environment


def points_text(points: float) -> str:
    """Points with at most two decimals: 7, 7.5, 0.25."""
    return f"{points:.2f}".rstrip("0").rstrip(".")


def in_notebook() -> bool:
    """Whether a front end that shows HTML is listening."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    return type(get_ipython()).__name__ == "ZMQInteractiveShell"


def show(page: str, text: str) -> None:
    """HTML where it can be shown, plain text elsewhere."""
    if not in_notebook():
        print(text)
        return
    from IPython.display import display

    display({"text/html": page, "text/plain": text}, raw=True)


def number_text(x: Any) -> str:
    """A number short enough to read and long enough to tell apart."""
    if isinstance(x, bool | np.bool_ | int | np.integer):
        return str(x)
    return f"{float(x):.9g}"


def value_text(value: Value) -> str:
    """A value on one line, long arrays cut in the middle."""
    if isinstance(value, Tensor):
        extra = "" if value.dtype == "float32" else f", {value.dtype}"
        return f"tensor({_array_text(value.data)}{extra})"
    if isinstance(value, np.ndarray):
        return f"array({_array_text(value)})"
    if isinstance(value, float):
        return number_text(value)
    return repr(value)


def _array_text(data: np.ndarray) -> str:
    if data.size == 0:
        return f"empty of shape {data.shape}"
    text = np.array2string(data, separator=", ", threshold=24, edgeitems=2, formatter={"all": number_text}, max_line_width=10**6)
    return " ".join(text.split())


def call_text(name: str, case: Case) -> str:
    """The call of a case as a learner could type it."""
    lines = [f"    {argument}={value_text(value)}," for argument, value in case.args.items()]
    return "\n".join([f"{name}(", *lines, ")", *([f"# {case.note}"] if case.note else [])])


def rows_of(exercise: Exercise, judged: Judged) -> list[dict[str, Any]]:
    """Expected beside received, entry by entry, with what differs marked."""
    received = judged.received
    if received.status != "returned":
        said = f"{received.error.type}: {received.error.message}" if received.error else received.status
        want = [{"text": value_text(leaf)} for _, leaf in leaves(judged.expected.result)]
        return [{"what": "the call", "expected": want, "received": [{"text": f"raised {said}", "off": True}]}]
    got = dict(leaves(received.result))
    if not isinstance(judged.expected.result, dict | tuple):
        got = {"": received.result}
    rows = [_row(exercise, judged, path, want, got.get(path)) for path, want in leaves(judged.expected.result)]
    for name, want in judged.expected.gradients.items():
        rows.append(_row(exercise, judged, f"gradient {name}", want, received.gradients.get(name)))
    for name, after in received.changed.items():
        before = [{"text": value_text(judged.case.args[name])}]
        rows.append({"what": f"{name} after", "expected": before, "received": [{"text": value_text(after), "off": True}]})
    return rows


def _row(exercise: Exercise, judged: Judged, path: str, want: Value, got: Value) -> dict[str, Any]:
    what = path or "result"
    wanted, numbers = as_array(want), as_array(got)
    if wanted is None or numbers is None or np.shape(wanted) != np.shape(numbers):
        return {
            "what": what,
            "expected": [{"text": f"{kind_of(want)} {value_text(want)}"}],
            "received": [{"text": f"{kind_of(got)} {value_text(got)}", "off": True}],
        }
    if dtype_of(want) != dtype_of(got):
        what += f" ({dtype_of(got)}, expected {dtype_of(want)})"
    tolerance = judged.case.tolerance or exercise.tolerance
    flat = list(zip(np.ravel(wanted), np.ravel(numbers), _bounds(tolerance, judged.case, path, wanted), strict=True))
    parts = [(number_text(a), number_text(b), not (a == b or (a != a and b != b) or abs(a - b) <= c)) for a, b, c in flat]
    first = next((i for i, part in enumerate(parts) if part[2]), 0)
    start = 0 if len(parts) <= SHOWN else max(0, min(first - 1, len(parts) - SHOWN))
    shown = parts[start : start + SHOWN]
    what += f" [{start}:{start + len(shown)}] of {len(parts)}" if len(parts) > SHOWN else ""
    return {
        "what": what,
        "expected": [{"text": a} for a, _, _ in shown],
        "received": [{"text": b, "off": off} for _, b, off in shown],
    }


def _bounds(tolerance: Any, case: Case, path: str, expected: np.ndarray) -> np.ndarray:
    bound = tolerance.bound(case.args, path, np.asarray(expected, dtype=np.float64))
    return np.ravel(np.broadcast_to(np.nan_to_num(bound, nan=0.0), expected.shape))


def _failing(checked: Checked) -> list[dict[str, Any]]:
    """The first failing example of the first failing groups, ready to show."""
    shown = []
    for verdict in [v for v in checked.verdicts if v.flaws][:EXAMPLES]:
        judged = verdict.judged[verdict.flaws[0][0]] if verdict.judged else None
        if judged is None or verdict.flaws[0][1].aspect == "imports":
            continue
        call = call_text(checked.exercise.name, judged.case)
        rows = rows_of(checked.exercise, judged)
        shown.append({"group": verdict.group.name, "idea": verdict.group.idea, "call": call, "rows": rows})
    return shown


def _groups(checked: Checked) -> list[dict[str, Any]]:
    return [
        {
            "name": v.group.name,
            "weight": v.group.weight,
            "passed": v.passed,
            "message": v.flaws[0][1].text if v.flaws else "",
        }
        for v in checked.verdicts
    ]


def check_html(checked: Checked) -> str:
    """A check as HTML for a notebook, at home in light and dark themes."""
    from grader.check import summary

    context = {"passed": checked.passed, "summary": summary(checked), "hints": checked.misconceptions}
    examples = [] if checked.passed else _failing(checked)
    return _templates().get_template("check.html.j2").render(groups=_groups(checked), examples=examples, **context)


def check_text(checked: Checked) -> str:
    """A check as plain text; one line when all is well."""
    from grader.check import summary

    if checked.passed:
        return summary(checked)
    lines = []
    for group in _groups(checked):
        stretch = "" if group["weight"] else " (stretch, no points)"
        lines.append(f"{'✓' if group['passed'] else '✗'} {group['name']}{stretch}" + (f": {group['message']}" if group["message"] else ""))
    for example in _failing(checked):
        lines += ["", f"{example['group']}: {example['idea']}", example["call"]]
        for row in example["rows"]:
            lines.append(f"  {row['what']}")
            lines.append("    expected " + ", ".join(part["text"] for part in row["expected"]))
            lines.append("    received " + ", ".join(p["text"] + (" ≠" if p.get("off") else "") for p in row["received"]))
    for misconception in checked.misconceptions:
        lines += ["", f"Hint: {misconception.hints[0]}"]
    return "\n".join(lines)


def note_html(text: str) -> str:
    """A hint as HTML."""
    return _templates().get_template("note.html.j2").render(text=text)


def progress_html(rows: Sequence[tuple[str, str, float]]) -> str:
    """Progress bars as HTML."""
    return _templates().get_template("progress.html.j2").render(rows=rows)


def report_html(exercise: ExerciseResult) -> str:
    """One exercise's report as an HTML fragment."""
    return _templates().get_template("report.html.j2").render(e=exercise)


def feedback_html(
    result: SubmissionResult, code: Mapping[str, str] | None = None, comments: Sequence[str] = (), late: Sequence[str] = ()
) -> str:
    """A submission's feedback page: self-contained, readable offline. ``code``: exercise -> the learner's own text."""
    template = _templates().get_template("feedback.html.j2")
    return template.render(r=result, code=code or {}, comments=comments, late=late)


__all__ = ["check_html", "check_text", "feedback_html", "report_html", "show", "error_in_tolerances"]
