"""What results look like to people: in a notebook, in a terminal, as a feedback page. Everything is escaped."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import numpy as np
from markupsafe import Markup, escape

from grader.exercise import Case, Group
from grader.judge import Judged
from grader.tolerance import Tolerance
from grader.values import Opaque, Scalar, Tensor, Value, as_array, dtype_of, kind_of, leaves

if TYPE_CHECKING:
    from grader.checks import Checked
    from grader.exercise import Exercise
    from grader.report import ExerciseResult, SubmissionResult

SHOWN = 8  # entries of an array, and failing examples, shown in a check
EXAMPLES = 3


@functools.cache
def _templates() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    environment.globals["points"] = points_text
    environment.filters["code"] = _code
    environment.globals["report"] = lambda exercise: Markup(report_html(exercise, heading=False))
    return environment


def _code(text: str) -> Markup:
    """Escaped text with `names in backticks` as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


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
    if isinstance(x, np.float64):
        x = float(x)
    text = str(x).removesuffix(".0")  # the shortest that reads back as the same number, of the same precision
    return text if len(text) <= 12 or not isinstance(x, float) else f"{x:.10g}"


def value_text(value: Value) -> str:
    """A value on one line, long arrays cut in the middle."""
    if isinstance(value, Tensor):
        extra = "" if value.dtype == "float32" else f", {value.dtype}"
        return f"tensor({_array_text(value.data)}{extra})"
    if isinstance(value, np.ndarray):
        return f"array({_array_text(value)})"
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, Scalar):
        return f"numpy.{value.kind}({number_text(value.number)})"
    if isinstance(value, Opaque):
        return value.what
    if isinstance(value, tuple | list):
        inside = ", ".join(map(value_text, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {value_text(item)}" for key, item in value.items()) + "}"
    return repr(value)


def _array_text(data: np.ndarray) -> str:
    if data.size == 0:
        return f"empty of shape {data.shape}"
    shown: Any = {"all": _entry_text if data.dtype.kind == "f" else number_text}
    text = np.array2string(data, separator=", ", threshold=24, edgeitems=2, formatter=shown, max_line_width=10**6)
    return " ".join(text.split())


def _entry_text(x: Any) -> str:
    """A number of a float array: 1.0 is no integer."""
    text = number_text(x)
    return f"{text}.0" if text.lstrip("-").isdigit() else text


def call_text(name: str, case: Case) -> str:
    """The call of a case as a learner could type it."""
    lines = [f"    {argument}={value_text(value)}," for argument, value in case.args.items()]
    return "\n".join([f"{name}(", *lines, ")", *([f"# {case.note}"] if case.note else [])])


def rows_of(exercise: Exercise, judged: Judged, group: Group | None = None) -> list[dict[str, Any]]:
    """Expected beside received, entry by entry, with what differs marked."""
    received = judged.received
    if received.status != "returned":
        said = f"{received.error.type}: {received.error.message}" if received.error else received.status
        want = [{"text": value_text(leaf)} for _, leaf in leaves(judged.expected.result)]
        line = f" (line {received.error.line})" if received.error and received.error.line else ""
        return [{"what": "the call", "expected": want, "received": [{"text": f"raised {said}{line}", "off": True}]}]
    got = dict(leaves(received.result))
    if not isinstance(judged.expected.result, dict | tuple):
        got = {"": received.result}
    tolerance = judged.case.tolerance or (group and group.tolerance) or exercise.tolerance
    rows = [_row(tolerance, judged, path, want, got.get(path)) for path, want in leaves(judged.expected.result)]
    for name, want in judged.expected.gradients.items():
        rows.append(_row(tolerance, judged, f"gradient {name}", want, received.gradients.get(name)))
    for name, after in received.changed.items():
        before, now = [{"text": value_text(judged.case.args[name])}], [{"text": value_text(after), "off": True}]
        rows.append({"what": f"{name} after", "expected": before, "received": now})
    return rows


def _row(tolerance: Tolerance, judged: Judged, path: str, want: Value, got: Value) -> dict[str, Any]:
    what = path or "result"
    wanted, numbers = as_array(want), as_array(got)
    if wanted is None or numbers is None or np.shape(wanted) != np.shape(numbers):
        return {
            "what": what,
            "expected": [{"text": f"{kind_of(want)} {value_text(want)}"}],
            "received": [{"text": f"{kind_of(got)} {value_text(got)}", "off": True}],
        }
    flat = list(zip(np.ravel(wanted), np.ravel(numbers), _bounds(tolerance, judged.case, path, wanted), strict=True))
    parts = [(*_pair(a, b), not (a == b or (a != a and b != b) or abs(a - b) <= c)) for a, b, c in flat]
    first = next((i for i, part in enumerate(parts) if part[2]), 0)
    start = 0 if len(parts) <= SHOWN else max(0, min(first - 1, len(parts) - SHOWN))
    shown = parts[start : start + SHOWN]
    what += f" [{start}:{start + len(shown)}] of {len(parts)}" if len(parts) > SHOWN else ""
    types = [{"text": dtype_of(want)}], [{"text": dtype_of(got), "off": True}]
    before = types if dtype_of(want) != dtype_of(got) else ([], [])
    return {
        "what": what,
        "expected": before[0] + ([{"text": a} for a, _, _ in shown] or [{"text": "empty"}]),
        "received": before[1] + ([{"text": b, "off": off} for _, b, off in shown] or [{"text": "empty"}]),
    }


def _pair(a: Any, b: Any) -> tuple[str, str]:
    """Two numbers as text, in full where they differ only past the digits usually shown."""
    texts = number_text(a), number_text(b)
    return (str(a), str(b)) if texts[0] == texts[1] and a != b else texts


def _bounds(tolerance: Tolerance, case: Case, path: str, expected: np.ndarray) -> np.ndarray:
    bound = tolerance.bound(case.args, path, np.asarray(expected, dtype=np.float64))
    return np.ravel(np.broadcast_to(np.nan_to_num(bound, nan=0.0), expected.shape))


def _groups(checked: Checked) -> list[dict[str, Any]]:
    """The groups, graded before stretch; the first few failing ones with an example, each exception shown once."""
    shown: list[dict[str, Any]] = []
    seen: set[str] = set()
    for v in sorted(checked.verdicts, key=lambda v: not v.group.weight):
        group = {"name": v.group.name, "idea": v.group.idea, "weight": v.group.weight, "passed": v.passed}
        index, flaw = v.flaws[0] if v.flaws else (0, None)
        key = "" if flaw is None else flaw.text if flaw.aspect == "call" else v.group.name
        if flaw and v.judged and flaw.aspect != "imports" and key not in seen and len(seen) < EXAMPLES:
            seen.add(key)
            call = call_text(checked.exercise.name, v.judged[index].case)
            example = {"call": call, "rows": rows_of(checked.exercise, v.judged[index], v.group)}
        else:
            example = {}
        shown.append(group | {"message": flaw.text if flaw else "", "example": example})
    return shown


def check_html(checked: Checked) -> str:
    """A check as HTML for a notebook, at home in light and dark themes."""
    from grader.checks import summary

    context = {"passed": checked.passed, "summary": summary(checked), "hints": checked.misconceptions}
    return _templates().get_template("check.html.j2").render(groups=_groups(checked), **context)


def check_text(checked: Checked) -> str:
    """A check as plain text; one line when all is well."""
    from grader.checks import summary

    lines = [summary(checked)]
    if checked.passed:
        return lines[0]
    lines += [f"  Hint: {misconception.hints[0]}" for misconception in checked.misconceptions]
    groups = _groups(checked)
    passing = ", ".join(group["name"] for group in groups if group["passed"])
    lines += ["", f"  ✓ {passing}"] if passing else []
    for group in [group for group in groups if group["example"]]:
        stretch = "" if group["weight"] else " (stretch, no points)"
        lines += ["", f"  ✗ {group['name']}{stretch}: {group['message']}", f"    {group['idea']}"]
        lines += _example_text(group["example"])
    short = [g for g in groups if not g["passed"] and not g["example"]]
    lines += ["", *(f"  ✗ {g['name']}: {g['message']}" for g in short)] if short else []
    return "\n".join(lines)


def _example_text(example: Mapping[str, Any]) -> list[str]:
    lines = ["", *(f"    {line}" for line in example["call"].splitlines())]
    for row in example["rows"]:
        expected = ", ".join(part["text"] for part in row["expected"])
        received = ", ".join(part["text"] + (" ≠" if part.get("off") else "") for part in row["received"])
        lines += [f"      {row['what']}", f"        expected {expected}", f"        received {received}"]
    return lines


def note_html(text: str) -> str:
    """A hint as HTML."""
    return _templates().get_template("note.html.j2").render(text=text)


def progress_html(rows: Sequence[tuple[str, str, float]]) -> str:
    """Progress bars as HTML."""
    return _templates().get_template("progress.html.j2").render(rows=rows)


@functools.lru_cache(1024)  # a class has few different ones, and each is shown twice
def report_html(exercise: ExerciseResult, heading: bool = True) -> str:
    """One exercise's report as an HTML fragment."""
    return _templates().get_template("report.html.j2").render(e=exercise, heading=heading)


def feedback_html(
    result: SubmissionResult,
    code: Mapping[str, str] | None = None,
    comments: Sequence[str] = (),
    late: Sequence[str] = (),
) -> str:
    """A submission's feedback page: self-contained, readable offline. ``code``: exercise -> the learner's own text."""
    template = _templates().get_template("feedback.html.j2")
    return template.render(r=result, code=code or {}, comments=comments, late=late)
