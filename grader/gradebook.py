"""nbgrader stays the system of record: our preprocessors for its autograde, our page for its feedback.

`Repair` gives a submitted notebook back what editors lost, so that nbgrader can file the marks. `Grade` takes the
place of the executing preprocessor: it grades in the sandbox and writes, under each graded cell, the report and the
points, which nbgrader reads as partial credit. `FeedbackExporter` renders `nbgrader generate_feedback`.
"""

from __future__ import annotations

import atexit
import json
import threading
from collections.abc import Mapping
from typing import Any

from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode, from_dict
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Unicode

from grader import notebook
from grader.course import lesson
from grader.grading import Grader
from grader.marks import MIME, feedback_of, repair, templates, write_marks
from grader.secret import secret_of

__all__ = ["MIME", "FeedbackExporter", "Grade", "Repair", "feedback_of", "repair", "templates", "write_marks"]
_lock = threading.Lock()
_graders: dict[tuple[str, str], Grader] = {}


def shared_grader(secret: str, isolation: str) -> Grader:
    """One warm grader per process: formgrader's server keeps it between clicks."""
    key = (secret, isolation)
    if key not in _graders:
        _graders[key] = Grader(secret, isolation)
        atexit.register(_graders[key].__exit__)
    return _graders[key]


class Repair(NbGraderPreprocessor):  # type: ignore[misc]
    """Before nbgrader looks: metadata restored, duplicates and foreign ids dropped, missing graded cells put back."""

    def preprocess(self, nb: NotebookNode, resources: Mapping[str, Any]) -> tuple[NotebookNode, Mapping[str, Any]]:
        """The repaired notebook."""
        name = resources["nbgrader"]["assignment"]
        repair(nb, lesson(name), templates(name))
        return from_dict(nb), resources


class Grade(NbGraderPreprocessor):  # type: ignore[misc]
    """Grades a notebook in the sandbox and writes the marks where nbgrader reads them."""

    isolation = Unicode("confined", help="'confined', or 'process' to accept less knowingly").tag(config=True)
    secret = Unicode("", help="course secret; empty: GRADER_SECRET, else .grader/secret").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Mapping[str, Any]) -> tuple[NotebookNode, Mapping[str, Any]]:
        """The notebook with reports and points under its graded cells."""
        name = resources["nbgrader"]["assignment"]
        data = json.dumps(nb).encode()
        with _lock:
            grader = shared_grader(secret_of(self.secret), self.isolation)
            result = grader.grade(notebook.loads(data, f"{resources['nbgrader']['notebook']}.ipynb", name))
        write_marks(nb, result)
        return from_dict(nb), resources


class FeedbackExporter(HTMLExporter):
    """The feedback page of an autograded notebook, with scores and comments as the gradebook has them."""

    def from_notebook_node(  # type: ignore[override]
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **kwargs: Any
    ) -> tuple[str, dict[str, Any]]:
        """The page and the resources; nbgrader's preprocessors have put scores and comments into ``nb``."""
        nb, resources = self._preprocess(nb, self._init_resources(resources))  # type: ignore[no-untyped-call]
        facts = resources["nbgrader"]
        page = feedback_of(nb, facts["score"], facts["max_score"], facts["late_penalty"])
        return page, resources
