"""Formgrader's buttons and pages, and the feedback page, on a submission that would like to run scripts in them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from visit import Lab, Visitor, serve, stop

from grader import build, demo, sample
from grader.course import ROOT

LESSON, NAME = "03_stable_dpo", "dpo_grad"
ATTACK = (
    "<script>window.pwned = 'script'</script><img src=nothing onerror=\"window.pwned = 'image'\">"
    "<svg onload=\"window.pwned = 'svg'\"></svg><iframe srcdoc=\"<script>parent.pwned = 'frame'</script>\"></iframe>"
    "<link rel=stylesheet href=https://example.com/spy.css><img src=https://example.com/spy.png>"
)
HOSTILE = f'''
def {NAME}(*arguments):
    r"""{ATTACK}"""
    raise ValueError({ATTACK!r})
'''


def hostile_notebook() -> dict[str, Any]:
    """Two functions right, one that raises markup; markup in markdown, in outputs and in a docstring."""
    right = {name: sample.reference(name) for name in ("implicit_reward", "dpo_loss")}
    made = sample.answered(LESSON, {**right, NAME: HOSTILE})
    outputs = [
        new_output("display_data", data={"text/html": ATTACK, "text/markdown": ATTACK, "image/svg+xml": ATTACK}),
        new_output("display_data", data={"application/javascript": "window.pwned = 'javascript'"}),
        new_output("stream", name="stdout", text=ATTACK),
    ]
    extra = [new_markdown_cell(f"Look:\n\n{ATTACK}"), new_code_cell("1 + 1", outputs=outputs, execution_count=1)]
    made["cells"] += json.loads(json.dumps(extra))
    for cell in made["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == f"check_{NAME}":
            cell["outputs"] = json.loads(json.dumps(outputs))
    return made


@pytest.fixture(scope="module")
def course(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """An nbgrader course with one submission, not graded yet, served with formgrader."""
    folder = tmp_path_factory.mktemp("course")
    if not (ROOT / "build" / "source" / LESSON).exists():
        build.build_notebooks(ROOT, tmp_path_factory.mktemp("released"))
    demo.new_course(folder)
    for lesson in (folder / "build" / "source").iterdir():
        if lesson.name != LESSON:
            shutil.rmtree(lesson)
    submitted = folder / "submitted" / "mallory" / LESSON / f"{LESSON}.ipynb"
    submitted.parent.mkdir(parents=True)
    submitted.write_text(json.dumps(hostile_notebook()), encoding="utf-8")
    answer = demo.course_api(folder, "process").generate_assignment(LESSON, force=True)
    assert answer["success"], answer["error"]
    served = serve(folder, tmp_path_factory.mktemp("state"))
    yield served
    stop(served)


def assert_harmless(visitor: Visitor) -> None:
    visitor.page.wait_for_timeout(500)
    for frame in visitor.page.frames:
        assert frame.evaluate("() => window.pwned ?? null") is None
    assert [url for url in visitor.strangers if "example.com" in url] == []


@pytest.mark.dpo
def test_formgrader_grades_and_shows_and_feedback_is_harmless(course: Lab, visitor: Visitor) -> None:
    page = visitor.page
    page.goto(f"{course.url}/formgrader/manage_submissions/{LESSON}")
    page.locator("td.autograde a").click()
    page.locator("#success-modal").wait_for(timeout=120_000)
    visitor.shot("05-formgrader-autograded")

    page.goto(f"{course.url}/formgrader/gradebook/{LESSON}/{LESSON}")
    page.locator("td.name a").first.click()
    page.locator(".poc-report").first.wait_for()
    reports = page.locator(".poc-report")
    assert reports.count() == 3
    assert f"{NAME}: 0 / 4" in reports.nth(2).inner_text()
    assert "ValueError" in reports.nth(2).inner_text()
    assert "dpo_loss: 4 / 4" in reports.nth(1).inner_text()
    assert_harmless(visitor)
    reports.nth(2).scroll_into_view_if_needed()
    visitor.shot("06-formgrader-report")

    page.goto(f"{course.url}/formgrader/manage_submissions/{LESSON}")
    page.locator("td.generate-feedback a").click()
    page.locator("#success-modal").wait_for(timeout=120_000)
    feedback = course.folder / "feedback" / "mallory" / LESSON / f"{LESSON}.html"
    assert_feedback(visitor, feedback)


def assert_feedback(visitor: Visitor, path: Path) -> None:
    """The page says the marks, shows the learner's code as text, runs nothing and asks nobody."""
    visitor.strangers.clear()
    visitor.page.goto(path.as_uri())
    assert "6 / 10" in visitor.page.locator("h1").inner_text()
    for fold in visitor.page.locator("details").all():
        fold.evaluate("d => d.open = true")
    assert "window.pwned = 'script'" in visitor.page.locator("pre").last.inner_text(), "as text, in their own code"
    assert visitor.page.locator("script, iframe, img, link, svg").count() == 0
    assert_harmless(visitor)
    assert visitor.strangers == [], "readable without a network"
    visitor.shot("07-feedback")
