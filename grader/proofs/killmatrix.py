"""Shows a proof: in the terminal, and as a self-contained page that is readable without colour."""

from __future__ import annotations

from pathlib import Path

import jinja2
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.proofs.model import FunctionProof, Proof, Row

TEMPLATE = Path(__file__).resolve().parents[1] / "templates" / "killmatrix.html.j2"


def number(error: float) -> str:
    """An error in tolerances, short."""
    return "∞" if error == float("inf") else f"{error:.3g}"


def named(row: Row) -> str:
    """Whether a misconception comes back under its own id: from hidden tests, and from `check` where it can."""
    hidden = "yes" if set(row.found) == row.expected else "as " + ", ".join(row.found) if row.found else "no"
    if row.checked is None:
        return f"{hidden} · –"
    public = "yes" if set(row.checked) == row.expected else "as " + ", ".join(row.checked) if row.checked else "no"
    return f"{hidden} · {public}"


def summary_rows(proof: Proof) -> list[tuple[str, str, str, str, str]]:
    """Per function: worst sound variant, tolerance (1 by definition), nearest misconception, who they are."""
    return [
        (
            f.function,
            f"{number(f.worst_sound[0])} ({f.worst_sound[1]}, one of {f.sound})",
            f"1 ({f.tolerance})",
            f"{number(f.nearest[0])} ({f.nearest[1]})",
            f"{len(f.rows)}",
        )
        for f in proof.functions
    ]


HEADINGS = ("function", "worst sound variant", "tolerance", "nearest misconception", "misconceptions")


def rates(proof: Proof) -> str:
    """How many misconceptions come back under their own id, in one line."""
    (own, total), (public, shown) = proof.rate(), proof.public_rate()
    percent = f"{100 * own / total:.1f} %" if total else "–"
    percent_public = f"{100 * public / shown:.1f} %" if shown else "–"
    return (
        f"Named under their own id: {own} of {total} misconceptions ({percent}) from a hidden-test run, "
        f"{public} of {shown} ({percent_public}) from check where public examples can show them"
    )


def show(proof: Proof, console: Console) -> None:
    """Print the proof: a matrix per function, then errors and rates."""
    for function in proof.functions:
        console.print(_matrix(function))
        legend = ", ".join(f"{i} {name} ({weight or 'stretch'})" for i, (name, weight) in enumerate(function.groups, 1))
        console.print(Text(f"groups (weight): {legend}\n"))
    table = Table(*HEADINGS, title="Errors in units of the tolerance", title_justify="left", box=None)
    for cells in summary_rows(proof):
        table.add_row(*map(Text, cells))
    console.print(table)
    console.print(Text(f"\n{rates(proof)}"))
    console.print(Text(f"Every sound variant was graded under {proof.secrets} secrets"))


def _matrix(function: FunctionProof) -> Table:
    table = Table(title=f"{function.function}: who is caught where (✗)", title_justify="left", box=None, padding=(0, 1))
    table.add_column("misconception", overflow="fold")
    for position in range(1, len(function.groups) + 1):
        table.add_column(str(position), justify="center")
    table.add_column("points", justify="right")
    table.add_column("named: hidden · check", overflow="fold")
    for row in function.rows:
        cells = ["✗" if name in row.killed else "·" for name, _ in function.groups]
        table.add_row(row.id, *cells, f"{100 * row.share:.0f} %", named(row))
    return table


def page(proof: Proof) -> str:
    """The proof as one HTML page without anything beside it."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        proof=proof, headings=HEADINGS, summary=summary_rows(proof), rates=rates(proof), named=named, number=number
    )
