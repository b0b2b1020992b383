"""The three statements of what the course needs agree: pyproject.toml, requirements.lock, environment.yml.

Expected values come from the files themselves, each read as its own tool reads it.
"""

import ast
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = ("test", "cluster")
PIN = re.compile(r"[a-z0-9-]+==[0-9][0-9a-z.]*")


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def lock_lines() -> list[str]:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def lock() -> dict[str, str]:
    return dict(line.split("==") for line in lock_lines())


def direct() -> list[Requirement]:
    """What pyproject.toml names: the dependencies, then those of each extra that `make setup` installs."""
    texts = [*project()["dependencies"], *(text for name in EXTRAS for text in extras()[name])]
    return [Requirement(text) for text in texts]


def extras() -> dict[str, list[str]]:
    return project()["optional-dependencies"]


def conda() -> dict:
    return yaml.safe_load((ROOT / "environment.yml").read_text())


def conda_pip() -> list[str]:
    return next(entry["pip"] for entry in conda()["dependencies"] if isinstance(entry, dict))


def test_lock_has_plain_exact_pins_only():
    # No local version (2.13.0+cpu), path, address, option or marker: the lock must serve every platform's builds.
    assert [line for line in lock_lines() if not PIN.fullmatch(line)] == []


def test_lock_names_each_package_once_in_canonical_spelling():
    names = [line.split("==")[0] for line in lock_lines()]
    assert len(names) == len(set(names))
    assert names == [canonicalize_name(name) for name in names]


def test_torch_is_the_version_the_course_was_written_for():
    assert lock()["torch"] == "2.13.0"


@pytest.mark.parametrize("requirement", direct(), ids=lambda requirement: requirement.name)
def test_every_direct_dependency_is_locked_within_its_range(requirement):
    assert requirement.specifier.contains(lock()[canonicalize_name(requirement.name)])


def test_every_extra_is_installed_by_make_setup():
    assert sorted(extras()) == sorted(EXTRAS)
    assert f"-c requirements.lock -e '.[{','.join(EXTRAS)}]'" in (ROOT / "Makefile").read_text()


def needed(requirement: Requirement) -> list[Requirement]:
    """What an installed package needs here, its asked-for extras included; nothing when it is not installed."""
    try:
        found = [Requirement(text) for text in requires(requirement.name) or ()]
    except PackageNotFoundError:
        return []
    asked = ("", *requirement.extras)
    return [one for one in found if one.marker is None or any(one.marker.evaluate({"extra": x}) for x in asked)]


def test_lock_covers_the_whole_closure():
    pending, seen, missing = direct(), set(), {}
    while pending:
        requirement = pending.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        for one in needed(requirement):
            if canonicalize_name(one.name) not in lock():
                missing[one.name] = requirement.name
            pending.append(one)
    assert missing == {}, "needed by the package named beside it, and not in requirements.lock"


def imported(path: Path) -> set[str]:
    """Top-level names of the absolute imports in a file, wherever in it they stand."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    froms = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    return {name.split(".")[0] for name in plain | froms}


def test_what_the_grader_imports_is_declared():
    # A package that merely comes along with another one may stop coming.
    known, declared = packages_distributions(), {canonicalize_name(one.name) for one in direct()}
    used = {name for path in (ROOT / "grader").rglob("*.py") for name in imported(path)}
    third_party = used - set(sys.stdlib_module_names) - {"grader"}
    undeclared = {
        name for name in third_party if not declared & {canonicalize_name(dist) for dist in known.get(name, [name])}
    }
    assert undeclared == set(), "imported in grader/, so name it in pyproject.toml and environment.yml"


def test_conda_environment_is_the_course_on_a_supported_python():
    python = next(text for text in conda()["dependencies"] if str(text).startswith("python="))
    assert conda()["name"] == project()["name"]
    assert SpecifierSet(project()["requires-python"]).contains(Version(python.removeprefix("python=")))


def test_conda_pins_are_the_lock_s_for_every_direct_dependency():
    pins = dict(line.split("==") for line in conda_pip() if not line.startswith("-"))
    assert pins == {canonicalize_name(one.name): lock()[canonicalize_name(one.name)] for one in direct()}


def test_conda_installs_the_course_itself_under_the_same_lock():
    options = [line for line in conda_pip() if line.startswith("-")]
    assert options == ["--constraint requirements.lock", f"--editable .[{','.join(EXTRAS)}]"]
