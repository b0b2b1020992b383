"""The picture of a breakdown: a bar a step, beside the floor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grader import palette

STEPS = ("read", "fork", "confine", "run", "judge", "write", "feedback", "other")
LOOK = {
    "read": (palette.SKY, "//"),
    "fork": (palette.BLUE, "xx"),
    "confine": (palette.VERMILLION, ".."),
    "run": (palette.GREEN, "\\\\"),
    "judge": (palette.ORANGE, "++"),
    "write": (palette.PURPLE, "--"),
    "feedback": (palette.SKY, "oo"),
    "other": ("#BBBBBB", ""),
}


def draw(result: dict[str, Any], path: Path) -> None:
    """Horizontal bars in Okabe-Ito colours with a hatch each; the dashed line is a bare fork."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    spent, bare = result["milliseconds"], result["floor"]["bare_fork_ms"]
    names = [name for name in STEPS if name in spent]
    figure, axes = pyplot.subplots(figsize=(7.2, 3.6), layout="constrained")
    for place, name in enumerate(names):
        colour, hatch = LOOK[name]
        axes.barh(place, spent[name], color=colour, hatch=hatch, edgecolor="black", linewidth=0.8)
        after = max(spent[name], bare) if spent[name] > 0.4 * bare else spent[name]  # beside the line, not under it
        axes.annotate(f"{spent[name]:.1f}", (after, place), (5, 0), textcoords="offset points", va="center")
    axes.axvline(bare, color="black", linestyle="--", linewidth=1.4)
    axes.annotate(f"bare fork {bare:.1f}", (bare, -0.62), (4, 0), textcoords="offset points", va="center", fontsize=9)
    axes.set(
        yticks=range(len(names)),
        yticklabels=names,
        xlabel="milliseconds per submission",
        ylim=(len(names) - 0.4, -0.95),
    )
    axes.margins(x=0.12)
    axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    import json

    folder = Path(__file__).parent
    draw(json.loads((folder / "results" / "breakdown.json").read_text()), folder.parent / "docs/images/breakdown.png")
