"""`grader release`: what learners get, from an allow-list, in reproducible bytes.

``course.zip`` holds the notebooks, what an environment needs, and a wheel of the public part of this package: enough
for `check`, `hint`, `progress` and the figures. No solution, hidden case, misconception or secret is in it.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from grader import __version__, build
from grader.course import ROOT
from grader.macros import lesson_files, title_of

DISTRIBUTION = "preference_optimization_course_checks"  # not the name of the whole: both may be installed
FOLDER = "preference-optimization-course"
#: The modules that a learner's notebook needs, and nothing else. A test imports all of them from the wheel alone.
MODULES = (
    "__init__", "attempts", "borrowing", "checks", "course", "diagnosis", "exercise", "fingerprints", "judge", "magics",
    "notebook", "observe", "pictures", "render", "tolerance", "values", "wire",
    "sandbox/__init__", "sandbox/calls",
)  # fmt: skip
TEMPLATES = ("check.html.j2", "note.html.j2", "progress.html.j2")
NEEDS = (
    "ipykernel",
    "ipython",
    "ipywidgets",
    "jinja2",
    "markupsafe",
    "matplotlib",
    "mpmath",
    "msgpack",
    "numpy",
    "torch",
)
MOMENT = (1980, 1, 1, 0, 0, 0)  # of every entry: the bytes depend on the content only


class ReleaseError(RuntimeError):
    """The course cannot be released as it is; the message says what to do."""


def write_bundle(target: Path, root: Path = ROOT) -> list[str]:
    """Write the learners' archive; the names in it. ReleaseError where notebooks are stale or TODOs are open."""
    _ready(root)
    files = {f"{FOLDER}/{name}": data for name, data in bundle_files(root).items()}
    _write(target, archive(files))
    return list(files)


def write_solutions(target: Path, root: Path = ROOT) -> list[str]:
    """Write the archive of solution notebooks; the names in it."""
    files = {f"{name}_solution.ipynb": text.encode() for name, text in solution_notebooks(root).items()}
    _write(target, archive(files))
    return list(files)


def _ready(root: Path) -> None:
    from grader.scaffold import todos

    if not (root / "solutions").is_dir():
        raise ReleaseError(f"{root} holds no solutions/: run this from a clone of the course")
    if still := todos(root):
        raise ReleaseError(f"{len(still)} TODOs are open, the first at {still[0]}")
    if off := build.stale(root):
        raise ReleaseError(f"{off[0]} is not what solutions/ gives: run `grader build` first")


def _write(target: Path, data: bytes) -> None:
    if not target.parent.is_dir():
        raise ReleaseError(f"{target.parent} is no folder: make it first")
    beside = target.with_name(f".{target.name}.new")
    beside.write_bytes(data)
    beside.replace(target)


def bundle_files(root: Path = ROOT) -> dict[str, bytes]:
    """Path in the bundle -> content."""
    wheel, data = wheel_file(root)
    pinned = pins(root)
    lines = [f"{name}=={pinned[name]}" for name in ("jupyterlab", *NEEDS) if name in pinned]
    text = (Path(__file__).parent / "templates" / "learner_readme.md.j2").read_text(encoding="utf-8")
    files = {
        "README.md": text.replace("WHEEL", wheel).encode(),
        "LICENSE": (root / "LICENSE").read_bytes(),
        "requirements.txt": "\n".join([*lines, f"./{wheel}", ""]).encode(),
        "environment.yml": environment_yml().encode(),
        wheel: data,
    }
    for path in lesson_files(root):
        name = f"notebooks/{path.stem}/{path.stem}.ipynb"
        files[name] = (root / name).read_bytes()
        if b"### BEGIN SOLUTION" in files[name]:
            raise ReleaseError(f"{name} holds a solution: run `grader build`, and look at the markers of its cells")
    return files


def environment_yml() -> str:
    """The conda environment: Python, and pip for the rest."""
    return (
        f"name: {FOLDER}\nchannels:\n  - conda-forge\n  - nodefaults\n"
        "dependencies:\n  - python=3.12\n  - pip\n  - pip:\n      - --requirement requirements.txt\n"
    )


def pins(root: Path = ROOT) -> dict[str, str]:
    """Package -> the version that was tested, from ``requirements.lock``."""
    lines = (root / "requirements.lock").read_text(encoding="utf-8").splitlines()
    found = [line.split("#")[0].partition("==") for line in lines if "==" in line.split("#")[0]]
    return {name.strip().lower(): version.split(";")[0].strip() for name, _, version in found}


def wheel_file(root: Path = ROOT) -> tuple[str, bytes]:
    """(file name, bytes) of the wheel with the public part of the package."""
    info = f"{DISTRIBUTION}-{__version__}.dist-info"
    files = dict(public_files())
    files[f"{info}/METADATA"] = metadata(root).encode()
    files[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: grader release\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    record = [f"{name},sha256={_sha(data)},{len(data)}" for name, data in sorted(files.items())]
    files[f"{info}/RECORD"] = ("\n".join([*record, f"{info}/RECORD,,"]) + "\n").encode()
    return f"{DISTRIBUTION}-{__version__}-py3-none-any.whl", archive(files)


def public_files() -> Iterator[tuple[str, bytes]]:
    """(path in the wheel, content): the allow-list, lessons and fingerprints."""
    package = Path(__file__).parent
    names = [f"{module}.py" for module in MODULES] + [f"templates/{name}" for name in TEMPLATES]
    lessons = sorted((package / "lessons").glob("*.py")) + sorted((package / "lessons" / "fingerprints").glob("*.json"))
    for path in [*(package / name for name in names), *lessons]:
        yield f"grader/{path.relative_to(package).as_posix()}", path.read_bytes()


def metadata(root: Path = ROOT) -> str:
    """The wheel's METADATA, with the ranges of ``pyproject.toml``."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ranges = {re.split(r"[^\w.-]", text)[0]: text for text in project["dependencies"]}
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {DISTRIBUTION.replace('_', '-')}",
        f"Version: {__version__}",
        "Summary: check, hint and progress for the notebooks of the preference optimization course",
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {ranges[name]}" for name in NEEDS),
    ]
    return "\n".join(lines) + "\n"


def _sha(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def archive(files: Mapping[str, bytes]) -> bytes:
    """A zip of ``files`` whose bytes depend on nothing else."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, MOMENT)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_STORED if name.endswith(".whl") else zipfile.ZIP_DEFLATED
            packed.writestr(entry, data)
    return buffer.getvalue()


def solution_notebooks(root: Path = ROOT) -> dict[str, str]:
    """Lesson -> its notebook with the solutions filled in, markers and nbgrader's metadata removed."""
    titles = {path.stem: title_of(path) for path in lesson_files(root)}
    made = {}
    for path in lesson_files(root):
        notebook = json.loads(build.source_notebook(path, titles))
        for cell in notebook["cells"]:
            cell["metadata"].pop("nbgrader", None)
            cell["source"] = [line for line in cell["source"] if not _marker(line)]
        made[path.stem] = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    return made


def _marker(line: str) -> bool:
    return line.strip() in ("### BEGIN SOLUTION", "### END SOLUTION")
