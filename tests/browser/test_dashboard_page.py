"""The dashboard of 1,000 students in a browser: it filters by itself, in light, dark, print and without scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from synthetic_class import graded, large_class

from grader import dashboard
from grader.grading import Grader

SIZE = 1000


@pytest.fixture(scope="module")
def board(warm: Grader, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("class")
    results = large_class(graded(warm, folder / "kinds"), SIZE, folder / "submitted")
    view = dashboard.summarize(results, folder / "submitted")
    (folder / "dashboard.html").write_text(dashboard.page(view), encoding="utf-8")
    return folder / "dashboard.html", view


def shown(page: Any) -> int:
    return int(page.locator("#rows tbody tr:visible").count())


def test_filters_and_escapes(visitor: Any, board: tuple[Path, dict[str, Any]]) -> None:
    """By name, by lesson, by misconception; no script of a submission has run and nothing was asked of a server."""
    path, view = board
    page = visitor.page
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.goto(path.as_uri())
    assert page.title() == f"What the class knows: {SIZE} submissions"
    assert shown(page) == SIZE
    page.fill("#q", "student0042")
    assert shown(page) == 1
    assert page.locator("#count").inner_text() == f"1 of {SIZE} shown"
    page.fill("#q", "")
    lesson = view["lessons"][0]
    page.select_option("#lesson", lesson["name"])
    assert shown(page) == lesson["submissions"]
    exercise = lesson["exercises"][0]
    first = exercise["misconceptions"][0]
    page.locator(f"[data-show='{exercise['name']}:{first['id']}']").click()
    assert shown(page) == first["holders"]
    page.locator("details summary").first.click()
    assert page.locator("details pre").first.inner_text().startswith(f"def {exercise['name']}(")
    assert not visitor.strangers
    assert not complaints
    visitor.shot("dashboard-filtered")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_readable_in_both_schemes(browser: Any, board: tuple[Path, dict[str, Any]], scheme: str) -> None:
    """Text against its background has a contrast of at least 4.5 to 1 (WCAG AA), and nothing runs out of the page."""
    context = browser.new_context(viewport={"width": 1280, "height": 1500}, color_scheme=scheme)
    page = context.new_page()
    page.goto(board[0].as_uri())
    worst = page.evaluate(
        """() => {
          const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
          const rgb = c => {
            canvas.fillStyle = c;
            canvas.fillRect(0, 0, 1, 1);
            return [...canvas.getImageData(0, 0, 1, 1).data];
          };
          const linear = v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
          const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
          const paper = e => {
            for (; e; e = e.parentElement) {
              const c = getComputedStyle(e).backgroundColor;
              if (!/, 0\\)|transparent/.test(c)) return c;
            }
            return "white";
          };
          let worst = 21;
          for (const e of document.querySelectorAll("h1, h2, h3, p, td, th, .quiet, .flag, a, pre, button, label")) {
            const [a, b] = [light(rgb(getComputedStyle(e).color)), light(rgb(paper(e)))].sort((x, y) => y - x);
            worst = Math.min(worst, (a + 0.05) / (b + 0.05));
          }
          return worst;
        }"""
    )
    assert worst >= 4.5
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()


def test_without_scripts_everything_is_there(browser: Any, board: tuple[Path, dict[str, Any]]) -> None:
    """Every row, no dead button, no dead filter; and it prints."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(board[0].as_uri())
    assert shown(page) == SIZE
    assert page.locator("[data-show]:visible").count() == 0
    assert not page.locator(".filter").is_visible()
    assert page.pdf().startswith(b"%PDF")
    context.close()
