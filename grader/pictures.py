"""Figures with a text description, drawn from the learner's functions without ever stopping Run All."""

from __future__ import annotations

import base64
import html
import io
import traceback
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

#: Okabe-Ito colours. Double each with a marker or line style: colour alone carries no meaning.
palette = SimpleNamespace(
    BLUE="#0072B2",
    VERMILLION="#D55E00",
    BLACK="#000000",
    GREEN="#009E73",
    ORANGE="#E69F00",
    SKY="#56B4E9",
    PURPLE="#CC79A7",
    GREY="#767676",
)
Draw = Callable[..., Any]


def picture(alt: str, needs: Sequence[Callable[..., Any]] = ()) -> Callable[[Draw], None]:
    """Decorator: draw now and show the figure with ``alt`` as its description.

    The function takes no argument and returns a matplotlib figure, or ``(figure, description)`` where the
    description holds computed numbers. ``needs`` names the learner's functions it calls: while one of them is not
    written, or raises, the cell says so in one line instead.
    """

    def run(draw: Draw) -> None:
        try:
            drawn = draw()
            figure, text = drawn if isinstance(drawn, tuple) else (drawn, alt)
            show_figure(figure, text)  # drawing happens here: labels may be wrong, or the figure none
        except NotImplementedError as error:
            print(f"No picture yet: {_unwritten(error, needs)}")
        except Exception as error:  # noqa: BLE001 - learner code may raise anything
            print(f"No picture: {_blame(error, needs)}")
        _close()

    return run


def explore(draw: Draw, alt: str, **ranges: tuple[float, float, float]) -> None:
    """A slider twin of a picture: ``draw(beta)`` redrawn as ``beta=(low, high, step)`` moves. Never raises."""
    try:
        import ipywidgets
    except ImportError:
        print("No sliders here (ipywidgets is not installed): the static figure shows the same.")
        return

    look: dict[str, Any] = {"continuous_update": False, "layout": ipywidgets.Layout(width="32em", max_width="100%")}
    sliders = {
        name: ipywidgets.FloatSlider(
            value=_middle(low, high, step), min=low, max=high, step=step, description=name, **look
        )
        for name, (low, high, step) in ranges.items()
    }
    # Not interact(): its Output widget now and then stalls a notebook run without a front end.
    frame = ipywidgets.HTML()

    def redraw(change: object = None) -> None:
        frame.value = _drawn(draw, {name: slider.value for name, slider in sliders.items()}, alt)

    for slider in sliders.values():
        slider.observe(redraw, "value")
    redraw()
    from IPython.display import display

    display(ipywidgets.VBox([*sliders.values(), frame]))


def _middle(low: float, high: float, step: float) -> float:
    """Where a slider starts: there is something to see on either side."""
    return low + step * round((high - low) / step / 2)


def _drawn(draw: Draw, values: dict[str, float], alt: str) -> str:
    """The figure at these values as HTML, or one line on why there is none."""
    try:
        drawn = draw(**values)
        return figure_html(*(drawn if isinstance(drawn, tuple) else (drawn, alt)))
    except NotImplementedError:
        return "No picture yet: the exercise is not attempted. Solve it, then run this cell again."
    except Exception as error:  # noqa: BLE001 - learner code may raise anything
        return html.escape(f"No picture: {_blame(error, ())}")
    finally:
        _close()


def show_figure(figure: Any, alt: str) -> None:
    """Display a figure as `figure_html`, with the description as its plain text."""
    from IPython.display import display

    display({"text/html": figure_html(figure, alt), "text/plain": " ".join(alt.split())}, raw=True)


def figure_html(figure: Any, alt: str) -> str:
    """A figure as ``<figure><img alt>`` with its description below."""
    png = base64.b64encode(figure_png(figure)).decode()
    text = html.escape(" ".join(alt.split()))
    return (
        f'<figure style="margin:0.5em 0"><img style="max-width:100%;background:#fff" alt="{text}" '
        f'src="data:image/png;base64,{png}">'
        f'<figcaption style="font-size:90%;line-height:1.45;opacity:0.85;max-width:60em">{text}</figcaption></figure>'
    )


def figure_png(figure: Any) -> bytes:
    """The figure as PNG bytes, on white."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110, bbox_inches="tight", facecolor="white")
    return buffer.getvalue()


def _names(needs: Sequence[Callable[..., Any]]) -> str:
    names = [f"`{getattr(f, '__name__', '?')}`" for f in needs]
    return (" and ".join(names) or "the exercise") + (" are" if len(names) > 1 else " is")


def _culprit(error: Exception, needs: Sequence[Callable[..., Any]]) -> str:
    """The innermost of the learner's functions that the exception passed through, or empty."""
    frames = [f.name for f in traceback.extract_tb(error.__traceback__)]
    wanted = {getattr(f, "__name__", "") for f in needs}
    return next((name for name in reversed(frames) if name in wanted), "")


def _unwritten(error: NotImplementedError, needs: Sequence[Callable[..., Any]]) -> str:
    """Which exercise to do first: a borrowed function says so itself."""
    if str(error).startswith("`"):
        return f"{error}."
    culprit = _culprit(error, needs)
    names = f"`{culprit}` is" if culprit else _names(needs)
    return f"{names} not attempted. Solve the exercise, then run this cell again."


def _blame(error: Exception, needs: Sequence[Callable[..., Any]]) -> str:
    """Which function raised, in one line."""
    culprit = _culprit(error, needs)
    where = f"`{culprit}` raised " if culprit else ""
    said = " ".join(f"{type(error).__name__}: {error}".split())
    return f"{where}{said}. Run its check for what is off." if where else said


def _close() -> None:
    """Close what was drawn: pyplot would show it a second time at the end of the cell, without description."""
    import matplotlib.pyplot as plt

    plt.close("all")
