"""JupyterLab served from a copy of the course, and pages of it driven as people would."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from grader.course import ROOT

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
).split()
ARGS.append("--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1")  # no network but this machine
SCREENSHOTS = ROOT / "build" / "screenshots"
NOTEBOOK_SETTINGS = {"windowingMode": "none", "autoStartDefaultKernel": True}
CELLS = "jupyterapp.shell.currentWidget.content.widgets"
COUNTS = f"{CELLS}.flatMap(w => w.model.type == 'code' ? [w.model.executionCount] : [])"
KERNEL_READY = "() => jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status == 'idle'"


@dataclass
class Lab:
    """A running server: its address, the folder it serves, and its process."""

    url: str
    folder: Path
    process: subprocess.Popen[bytes]
    log: Path


def serve(folder: Path, state: Path, theme: str = "JupyterLab Light") -> Lab:
    """JupyterLab on ``folder`` with settings of its own below ``state``."""
    settings = state / "config" / "lab" / "user-settings" / "@jupyterlab"
    for extension, name, content in (
        ("apputils-extension", "themes", {"theme": theme}),
        ("apputils-extension", "notification", {"fetchNews": "false", "checkForUpdates": False}),
        ("notebook-extension", "tracker", NOTEBOOK_SETTINGS),
    ):
        (settings / extension).mkdir(parents=True, exist_ok=True)
        (settings / extension / f"{name}.jupyterlab-settings").write_text(json.dumps(content))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "JUPYTER_CONFIG_DIR": str(state / "config"),
        "JUPYTER_DATA_DIR": str(state / "data"),
        "JUPYTER_RUNTIME_DIR": str(state / "runtime"),
        "IPYTHONDIR": str(state / "ipython"),
        "MPLCONFIGDIR": str(state / "matplotlib"),
        "GRADER_PROGRESS": str(state / "progress.json"),
        "GRADER_SECRET": "demo",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}", "--allow-root"]
    command += ["--expose-app-in-browser"]  # so that a test knows when a cell has finished
    command += ["--IdentityProvider.token=", "--ServerApp.disable_check_xsrf=True", f"--notebook-dir={folder}"]
    log = state / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=out)
    lab = Lab(f"http://127.0.0.1:{port}", folder, process, log)
    for _ in range(240):
        try:
            urllib.request.urlopen(f"{lab.url}/api/status", timeout=5).close()
        except OSError:
            assert process.poll() is None, log.read_text()[-2000:]
            time.sleep(0.25)
        else:
            return lab
    raise AssertionError(f"JupyterLab did not answer: {log.read_text()[-2000:]}")


def stop(lab: Lab) -> None:
    lab.process.terminate()
    try:
        lab.process.wait(20)
    except subprocess.TimeoutExpired:
        lab.process.kill()


@dataclass
class Visitor:
    """A browser tab that reaches this machine only, and what it asked of others."""

    page: Any
    strangers: list[str] = field(default_factory=list)

    def shot(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png")


def new_visitor(browser: Any, **options: Any) -> Visitor:
    """A fresh tab."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
    visitor = Visitor(context.new_page())
    visitor.page.set_default_timeout(60_000)

    def note(request: Any) -> None:
        address = urlsplit(request.url)
        if address.scheme in ("http", "https", "ws", "wss") and address.hostname != "127.0.0.1":
            visitor.strangers.append(request.url)

    context.on("request", note)
    return visitor


class NotebookPage:
    """A notebook open in JupyterLab, driven as a learner would."""

    def __init__(self, visitor: Visitor, lab: Lab, path: str) -> None:
        self.visitor, self.page = visitor, visitor.page
        cells = json.loads((lab.folder / path).read_text(encoding="utf-8"))["cells"]
        self.order = [cell["metadata"].get("nbgrader", {}).get("grade_id", "") for cell in cells]
        self.code = [name for name, cell in zip(self.order, cells, strict=True) if cell["cell_type"] == "code"]
        self.page.goto(f"{lab.url}/lab/tree/{path}?reset")
        self.page.wait_for_selector(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell", timeout=180_000)
        self.page.wait_for_function(KERNEL_READY, timeout=180_000)
        self.panel = self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")

    def cell(self, grade_id: str) -> Any:
        """The cell with this nbgrader id, wherever it stands on the page."""
        return self.panel.locator(".jp-Cell").nth(self.order.index(grade_id))

    def outputs(self, grade_id: str) -> Any:
        """What a cell shows."""
        return self.cell(grade_id).locator(".jp-Cell-outputArea")

    def menu(self, top: str, entry: str) -> None:
        self.page.locator(".lm-MenuBar-itemLabel", has_text=top).first.click()
        self.page.locator(".lm-Menu-itemLabel").get_by_text(entry, exact=True).click()

    def counts(self) -> list[int | None]:
        """Execution counts of the code cells; None while a cell waits or runs."""
        found: list[int | None] = self.page.evaluate(f"() => {COUNTS}")
        return found

    def wait_for_new(self, index: int, before: int | None) -> None:
        """Wait until a code cell has finished with another execution count than ``before``."""
        new = f"([index, before]) => {{ const n = {COUNTS}.at(index); return n !== null && n !== before; }}"
        self.page.wait_for_function(new, arg=[index, before], timeout=400_000)

    def run_all(self) -> None:
        before = self.counts()[-1]
        self.menu("Run", "Run All Cells")
        self.wait_for_new(-1, before)

    def write(self, grade_id: str, source: str) -> Any:
        """Replace the source of a cell, run it, and return its outputs."""
        self.cell(grade_id).scroll_into_view_if_needed()
        self.cell(grade_id).locator(".cm-content").focus()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(source)
        return self.run(grade_id)

    def run(self, grade_id: str) -> Any:
        """Run a cell and return its outputs."""
        return self._run(self.cell(grade_id), self.code.index(grade_id))

    def _run(self, cell: Any, index: int) -> Any:
        before = self.counts()[index]
        cell.scroll_into_view_if_needed()
        cell.click(position={"x": 50, "y": 12})  # beside its source, which may be folded or locked
        self.page.keyboard.press("ControlOrMeta+Enter")
        self.wait_for_new(index, before)
        return cell.locator(".jp-Cell-outputArea")

    def add(self, source: str) -> Any:
        """Run ``source`` in a new cell at the end and return its outputs."""
        last = self.panel.locator(".jp-Cell").last
        last.scroll_into_view_if_needed()
        last.click(position={"x": 50, "y": 12})
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("b")
        self.page.keyboard.press("Enter")
        self.page.keyboard.insert_text(source)
        return self._run(self.panel.locator(".jp-Cell").last, -1)

    def save(self) -> None:
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("ControlOrMeta+s")
        self.page.wait_for_timeout(800)

    def validate(self) -> str:
        """Press nbgrader's Validate and return what its dialog says."""
        self.save()
        self.panel.get_by_text("Validate", exact=True).first.click()
        dialog = self.page.locator(".jp-Dialog-content")
        dialog.wait_for(timeout=120_000)
        said = str(dialog.inner_text())
        self.visitor.shot("validate")
        dialog.locator("button").last.click()
        return said
