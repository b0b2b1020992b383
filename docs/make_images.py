"""Make the images of README anew: `python docs/make_images.py` (needs Chromium and playwright, a few minutes)."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "browser"))

from playwright.sync_api import sync_playwright  # noqa: E402
from visit import ARGS, CHROMIUM, NotebookPage, new_visitor, serve, stop  # noqa: E402

from grader import notebook, render, sample  # noqa: E402
from grader.course import graded_lessons, lesson  # noqa: E402
from grader.grading import Grader  # noqa: E402

IMAGES = ROOT / "docs" / "images"
KL, DPO, FRONTIER = "01_kl_penalized_rewards", "03_stable_dpo", "04_reward_kl_frontier"


def solved_course(folder: Path) -> None:
    """The notebooks with every exercise solved: lesson 4 borrows from the earlier ones."""
    for name in graded_lessons():
        answers = {e.name: sample.reference(e.name) for e in lesson(name).exercises}
        (folder / name).mkdir(parents=True)
        (folder / name / f"{name}.ipynb").write_text(json.dumps(sample.answered(name, answers)), encoding="utf-8")


def notebook_images(browser: Any, folder: Path) -> None:
    """check.png: a failing check in JupyterLab. frontier.png: where the policies that lesson 4 trains land."""
    (folder / "state").mkdir()
    solved_course(folder / "notebooks")
    lab = serve(folder / "notebooks", folder / "state")
    try:
        visitor = new_visitor(browser, device_scale_factor=1.5)
        page = NotebookPage(visitor, lab, f"{FRONTIER}/{FRONTIER}.ipynb")
        for grade_id in page.code[: page.code.index("figure_landing")]:
            page.run(grade_id)
        page.run("figure_landing").locator("figure img").screenshot(path=IMAGES / "frontier.png")
        page = NotebookPage(visitor, lab, f"{KL}/{KL}.ipynb")
        page.run("setup")
        page.write("kl_penalized_rewards", sample.wrong_answer("kl_penalized_rewards", "divergence_clamped"))
        page.run("check_kl_penalized_rewards")
        page.page.keyboard.press("Escape")
        page.cell("check_kl_penalized_rewards").screenshot(path=IMAGES / "check.png")
    finally:
        stop(lab)


def feedback_image(browser: Any) -> None:
    """feedback.png: the feedback page of a submission with an epsilon in the logarithm of its DPO loss."""
    answers = {e.name: sample.reference(e.name) for e in lesson(DPO).exercises}
    answers["dpo_loss"] = sample.wrong_answer("dpo_loss", "eps_1e_12")
    data = json.dumps(sample.answered(DPO, answers)).encode()
    with Grader("demo", isolation="confined") as grader:
        result = grader.grade(notebook.loads(data, f"{DPO}.ipynb", DPO))
    page = new_visitor(browser, device_scale_factor=1.5).page
    page.set_content(render.feedback_html(result, answers))
    page.set_viewport_size({"width": 900, "height": 800})
    page.locator("section").nth(1).screenshot(path=IMAGES / "feedback.png")


def main() -> None:
    """Write the three images."""
    IMAGES.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp())
    try:
        with sync_playwright() as p:
            browser = p.chromium.launch(executable_path=CHROMIUM, args=ARGS)
            notebook_images(browser, folder)
            feedback_image(browser)
            browser.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
