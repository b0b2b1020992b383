"""A learner's hour in JupyterLab: blank, wrong, right, Validate, a slider."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from visit import NotebookPage

from grader import hidden, sample

NAME, LESSON = "kl_penalized_rewards", "01_kl_penalized_rewards"
PATH = f"{LESSON}/{LESSON}.ipynb"
WRONG = "divergence_clamped"


@pytest.mark.kl
def test_blank_wrong_right_and_validate(open_notebook: Callable[[str], NotebookPage]) -> None:
    notebook = open_notebook(PATH)
    notebook.run_all()
    assert all(notebook.counts()), "Run All on a blank notebook goes to the end"
    check = notebook.outputs(f"check_{NAME}")
    assert "not attempted yet" in check.inner_text()
    assert "No picture yet" in notebook.outputs("figure_batch").inner_text()
    notebook.visitor.shot("01-not-attempted")
    assert "not attempted" in notebook.validate()

    notebook.write(NAME, sample.wrong_answer(NAME, WRONG))
    said = notebook.run(f"check_{NAME}").inner_text()
    hints = {m.id: m.hints for m in hidden.misconceptions(NAME)}[WRONG]
    assert hints[0] in said
    assert "expected" in said
    assert "≠" in said
    assert "Traceback" not in said
    notebook.visitor.shot("02-wrong")
    assert hints[1] in notebook.add("hint()").inner_text()

    notebook.write(NAME, sample.reference(NAME))
    said = notebook.run(f"check_{NAME}").inner_text()
    assert "checks pass" in said
    assert len(said.strip().splitlines()) == 1, "one line when all is well"
    image = notebook.run("figure_batch").locator("figure img")
    assert image.count() == 1
    assert len(image.get_attribute("alt")) > 20
    assert image.evaluate("i => i.naturalWidth") > 100, "the figure is drawn"
    notebook.visitor.shot("03-right")
    assert "100 %" in notebook.add("progress()").inner_text()
    assert "Success" in notebook.validate()
    assert notebook.visitor.strangers == [], "nothing is asked of other machines"


@pytest.mark.kl
def test_a_slider_redraws_its_picture(open_notebook: Callable[[str], NotebookPage]) -> None:
    notebook = open_notebook("00_setup/00_setup.ipynb")
    notebook.run_all()
    cell = notebook.outputs("demo_slider")
    cell.scroll_into_view_if_needed()
    image, slider = cell.locator("figure img, img").first, cell.locator("[role=slider]").first
    image.wait_for()
    before = image.get_attribute("src")
    slider.focus()
    for _ in range(3):
        notebook.page.keyboard.press("ArrowRight")
    notebook.page.wait_for_function(
        "([cell, before]) => { const i = cell.querySelector('img'); return i && i.src && i.src !== before; }",
        arg=[cell.element_handle(), before],
    )
    notebook.visitor.shot("04-slider")
    assert notebook.visitor.strangers == []
