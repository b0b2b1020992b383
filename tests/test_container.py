"""The Dockerfile and the devcontainer, as far as they can be checked without a container engine."""

from __future__ import annotations

import json
import re
import tomllib

from packaging.specifiers import SpecifierSet

from grader.course import ROOT

LINES = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def lines(word: str) -> list[str]:
    return [line.partition(" ")[2].strip() for line in LINES if line.startswith(f"{word} ")]


def test_python_is_one_the_course_supports() -> None:
    (image,) = lines("FROM")
    found = re.fullmatch(r"python:(\d+\.\d+)-slim-bookworm", image)
    assert found
    assert found[1] in SpecifierSet(PROJECT["requires-python"])
    assert f"Programming Language :: Python :: {found[1]}" in PROJECT["classifiers"]


def test_it_does_not_run_as_root() -> None:
    """The user is there before anything of ours is installed, and nobody goes back to root."""
    assert lines("USER") == ["course"]
    first_install = next(i for i, line in enumerate(LINES) if "pip install" in line)
    assert LINES.index("USER course") < first_install


def test_what_is_copied_exists_and_secrets_are_not() -> None:
    for copied in lines("COPY"):
        for name in copied.split()[1:-1]:
            assert (ROOT / name).exists(), name
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert {".git", ".venv", ".grader", "build", "submitted", "gradebook.db*"} <= set(ignored)


def test_what_is_installed_is_what_is_tested() -> None:
    """The locked versions, with extras that the project has."""
    (install,) = [line for line in lines("RUN") if "pip install" in line]
    assert "-c requirements.lock" in install
    extras = re.search(r"\.\[([\w,]+)\]", install)
    assert extras
    assert set(extras[1].split(",")) <= set(PROJECT["optional-dependencies"])
    command = json.loads(lines("CMD")[0])
    assert command[:2] == ["jupyter", "lab"]
    assert "--allow-root" not in command


def test_devcontainer_uses_the_image() -> None:
    folder = ROOT / ".devcontainer"
    node = json.loads((folder / "devcontainer.json").read_text(encoding="utf-8"))
    assert (folder / node["build"]["dockerfile"]).resolve() == ROOT / "Dockerfile"
    assert (folder / node["build"]["context"]).resolve() == ROOT
    assert node["remoteUser"] == "course"
    virtual = node["customizations"]["vscode"]["settings"]["python.defaultInterpreterPath"]
    assert virtual.removesuffix("/bin/python") in next(line for line in LINES if "-m venv" in line)
