"""Figures: described, never stopping a notebook."""

from __future__ import annotations

import base64
import html
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from support import ROOT

from grader import explore, palette, picture


@pytest.fixture(autouse=True)
def _shell() -> Iterator[None]:
    InteractiveShell.clear_instance()
    InteractiveShell.instance()
    yield
    InteractiveShell.clear_instance()


def figure() -> Any:
    made, axis = plt.subplots()
    axis.plot([0, 1])
    return made


def learner() -> None:
    raise NotImplementedError("not attempted yet")


def broken(x: float) -> float:
    return 1 / 0


def drawn(draw: Any, alt: str = "A line.", needs: Any = ()) -> tuple[list[Any], str]:
    with capture_output() as captured:
        assert picture(alt=alt, needs=needs)(draw) is None
    return captured.outputs, captured.stdout


def test_figure_with_alt_text_as_html_and_as_text() -> None:
    outputs, text = drawn(figure, alt='A <b>"line"</b>\n  that rises.')
    (output,) = outputs
    alt = 'A <b>"line"</b> that rises.'
    page = output.data["text/html"]
    assert output.data["text/plain"] == alt
    assert html.unescape(re.search(r'<img [^>]*alt="([^"]*)"', page).group(1)) == alt  # type: ignore[union-attr]
    assert page.count(html.escape(alt)) == 2  # in the image and in its caption
    assert "<b>" not in page
    png = re.search(r"data:image/png;base64,([^\"]+)", page).group(1)  # type: ignore[union-attr]
    assert base64.b64decode(png).startswith(b"\x89PNG")
    assert text == ""


def test_computed_description() -> None:
    (output,), _ = drawn(lambda: (figure(), "Slope 1.00."), alt="not this")
    assert output.data["text/plain"] == "Slope 1.00."


def test_not_attempted_is_one_line() -> None:
    outputs, text = drawn(learner, needs=[learner])
    assert outputs == []
    assert text == "No picture yet: `learner` is not attempted. Solve the exercise, then run this cell again.\n"
    _, text = drawn(learner, needs=[learner, broken])  # the one that is not written, of several
    assert text.startswith("No picture yet: `learner` is not attempted.")
    borrowed = "`spo_loss` comes from lesson 2: solve it there first"  # a borrowed function says so itself

    def missing() -> None:
        raise NotImplementedError(borrowed)

    assert drawn(missing, needs=[learner])[1] == f"No picture yet: {borrowed}.\n"


def test_an_error_of_the_learner_is_one_line_that_names_the_function() -> None:
    outputs, text = drawn(lambda: broken(1.0), needs=[broken])
    assert outputs == []
    assert text == "No picture: `broken` raised ZeroDivisionError: division by zero. Run its check for what is off.\n"


def test_an_error_with_many_lines_is_one_line() -> None:
    def raises() -> None:
        raise ValueError("first\nsecond")

    _, text = drawn(raises, needs=[raises])
    assert text.count("\n") == 1


@pytest.mark.parametrize("result", [None, 3, (None, "text"), ("a", "b", "c"), ()], ids=repr)
def test_what_is_no_figure_does_not_raise(result: Any) -> None:
    outputs, text = drawn(lambda: result)
    assert outputs == []
    assert text.startswith("No picture: ")
    assert text.count("\n") == 1


def test_nothing_is_drawn_a_second_time() -> None:
    drawn(figure)
    assert plt.get_fignums() == []


def test_sliders() -> None:
    with capture_output() as captured:
        explore(lambda beta: figure(), alt="A line.", beta=(0.05, 2.0, 0.05))
    assert "Error" not in captured.stdout + captured.stderr


def test_without_widgets_a_line_says_so() -> None:
    text = (
        "import sys\nsys.modules['ipywidgets'] = None\nfrom grader import explore\n"
        "explore(lambda beta: None, alt='x', beta=(0.0, 1.0, 0.1))\n"
    )
    run = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "No sliders here (ipywidgets is not installed): the static figure shows the same.\n"


def test_colours_are_okabe_and_ito() -> None:
    # Okabe and Ito, "Color Universal Design" (2008): the published hexadecimal values
    published = "#0072B2 #D55E00 #000000 #009E73 #E69F00 #56B4E9 #CC79A7".split()
    names = "BLUE VERMILLION BLACK GREEN ORANGE SKY PURPLE".split()
    assert [getattr(palette, name) for name in names] == published
