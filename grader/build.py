"""solutions/ -> build/source/ -> notebooks/, and the misconception fingerprints that `check` reads.

A lesson is written once, as a percent file. jupytext turns it into a notebook, nbgrader's own generate step strips
the solutions, and every byte is reproducible: ids come from grade_ids or positions, never from chance.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader import fingerprints, hidden
from grader.course import ROOT, exercises
from grader.lessoncheck import BuildError as BuildError
from grader.lessoncheck import cells_of, check_lesson, check_modules
from grader.macros import MacroError, expand, lesson_files, title_of

KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


@dataclass(frozen=True)
class Built:
    """What a build changed: notebooks and fingerprints written, and how many notebooks stayed as they were."""

    notebooks: list[Path]
    unchanged: int
    fingerprints: list[Path]


def build(root: Path = ROOT) -> Built:
    """Write ``build/source`` and ``notebooks`` from ``solutions``, and the fingerprints.

    Raises:
        CourseError: the course cannot be built; `BuildError` where it is a lesson or its module.
    """
    check_modules(root)
    check_hidden()
    before = {path: path.read_bytes() for path in (root / "notebooks").glob("*/*.ipynb")}
    made = build_notebooks(root, root / "notebooks")
    changed = [path for path in made if before.get(path) != path.read_bytes()]
    paths = {fingerprints.FOLDER / f"{name}.json": text for name, text in fingerprint_texts().items()}
    return Built(changed, len(made) - len(changed), [path for path, text in paths.items() if _write(path, text)])


def check_hidden() -> None:
    """CourseError where a file of wrong or sound versions is missing or is not Python."""
    for name in exercises():
        for which in ("wrong", "sound"):
            hidden.implementations(name, which)


def stale(root: Path = ROOT) -> list[str]:
    """What `build` would change: paths of notebooks that differ in a byte, fingerprints that differ in a number."""
    check_modules(root)
    check_hidden()
    with tempfile.TemporaryDirectory() as folder:
        built = build_notebooks(root, Path(folder), root / "build" / "check")
        wanted = {path.relative_to(folder): path.read_bytes() for path in built}
    there = {p.relative_to(root / "notebooks"): p.read_bytes() for p in sorted((root / "notebooks").rglob("*.ipynb"))}
    there = {path: data for path, data in there.items() if ".ipynb_checkpoints" not in path.parts}
    off = [f"notebooks/{p}" for p in sorted(wanted.keys() | there.keys()) if wanted.get(p) != there.get(p)]
    for name, text in fingerprint_texts().items():
        path = fingerprints.FOLDER / f"{name}.json"
        if not path.exists() or not _alike(json.loads(text), json.loads(path.read_text(encoding="utf-8"))):
            off.append(f"grader/lessons/fingerprints/{name}.json")
    return off


def build_notebooks(root: Path, target: Path, source: Path | None = None) -> list[Path]:
    """Write the instructor's notebooks to ``source`` and release them, through nbgrader, to ``target``."""
    source = source or root / "build" / "source"
    return [_release(root, source, target, name) for name in write_sources(root, source)]


def write_sources(root: Path, source: Path) -> list[str]:
    """Write the instructor's notebook of every lesson below ``source``; the names of the lessons."""
    titles = {path.stem: title_of(path) for path in lesson_files(root)}
    for path in lesson_files(root):
        _write(source / path.stem / f"{path.stem}.ipynb", source_notebook(path, titles))
    return list(titles)


def source_notebook(path: Path, titles: dict[str, str]) -> str:
    """The instructor's notebook of a percent file, as text. BuildError naming the cell where something is off."""
    import jupytext
    import nbformat

    notebook = jupytext.read(path, fmt="py:percent")
    places = cells_of(path, notebook)
    check_lesson(path, places)
    points = _points(notebook)
    for place, cell in zip(places, notebook.cells, strict=True):
        cell.metadata.pop("lines_to_next_cell", None)
        cell.id = _cell_id(path.stem, place.grade_id, place.number)
        if place.grade_id.startswith("figure_"):
            cell.metadata["jupyter"] = {"source_hidden": True}  # the picture is the point; a click shows its code
        if cell.cell_type == "markdown":
            try:
                cell.source = expand(cell.source, points, titles)
            except MacroError as error:
                raise place.error(str(error)) from None
    notebook.metadata.clear()
    notebook.metadata.update({"kernelspec": KERNELSPEC, "language_info": {"name": "python"}})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)) + "\n"


def _cell_id(lesson: str, grade_id: str, number: int) -> str:
    """A cell id that is the same at every build: the grade_id, or a hash of lesson and position."""
    if grade_id and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", grade_id):
        return grade_id
    return hashlib.sha256(f"{lesson}/{number}".encode()).hexdigest()[:12]


def _points(notebook: Any) -> dict[str, float]:
    metas = [cell.metadata.get("nbgrader", {}) for cell in notebook.cells]
    return {m["grade_id"].removeprefix("check_"): float(m["points"]) for m in metas if m.get("grade")}


def _release(root: Path, source: Path, target: Path, name: str) -> Path:
    """nbgrader's generate step, without its database, for one lesson; returns the released notebook."""
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory

    with tempfile.TemporaryDirectory() as folder:
        config = _config(root)
        config.CourseDirectory.source_directory = os.path.relpath(source, root)
        config.CourseDirectory.root = str(root)
        config.CourseDirectory.release_directory = folder
        config.CourseDirectory.assignment_id = name
        config.GenerateAssignment.no_database = True
        config.SaveCells.enabled = False
        app = GenerateAssignment(coursedir=CourseDirectory(config=config), config=config)
        app.log.setLevel(logging.ERROR)
        app.start()
        released = Path(folder) / name / f"{name}.ipynb"
        path = target / name / f"{name}.ipynb"
        _write(path, _final(released.read_text(encoding="utf-8")))
    return path


def _config(root: Path) -> Any:
    """The configuration in ``nbgrader_config.py``."""
    from traitlets.config.loader import PyFileConfigLoader

    return PyFileConfigLoader(str(root / "nbgrader_config.py")).load_config()


def _final(text: str) -> str:
    return text.rstrip("\n") + "\n"


def fingerprint_texts() -> dict[str, str]:
    """Per exercise, the text of its fingerprint file: what each misconception does on the public examples."""
    from grader.course import lesson
    from grader.grading import Grader, Prepared

    texts = {}
    with Grader("public", isolation="process") as grader:
        for name, exercise in exercises().items():
            cases = tuple((g, c) for g in exercise.groups for c in g.examples)
            public = Prepared(exercise, cases, ())
            wrong = grader.implementations(lesson(exercise.lesson), public, "wrong")
            for misconception, outcomes in wrong.items():
                if any(outcome.status not in ("returned", "raised") for outcome in outcomes):
                    raise BuildError(
                        f"grader/hidden/{name}/wrong.py: {misconception} does not answer every public example in time"
                    )
            texts[name] = fingerprints.dumps(hidden.misconceptions(name), wrong)
    return texts


def _alike(a: Any, b: Any) -> bool:
    """Whether two JSON trees agree, numbers to 1e-5: another processor rounds differently."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_alike(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_alike, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-12)
    return bool(a == b)


def _write(path: Path, text: str) -> bool:
    """Write ``text`` whole or not at all, and only where it differs; whether it did."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
    return True


def venv_first() -> None:
    """Put this interpreter's folder first on PATH: nbgrader starts `alembic` and `jupyter` by name."""
    folder = str(Path(sys.executable).parent)
    if shutil.which("alembic") != os.path.join(folder, "alembic"):
        os.environ["PATH"] = folder + os.pathsep + os.environ.get("PATH", "")
