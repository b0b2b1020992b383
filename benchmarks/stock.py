"""The same exercises for stock nbgrader: hidden tests inside the notebook, a graded cell per group, run in a kernel.

The tests are made from the very cases that the grader uses, with the same bounds, so that the marks agree.
"""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from nbformat.v4 import new_code_cell, new_notebook

from grader.course import lesson
from grader.exercise import Case, Exercise, Group, Outcome
from grader.grading import Grader
from grader.judge import is_property
from grader.values import Scalar, Tensor, Value, as_array, kind_of

CONFIG = """c = get_config()
c.CourseDirectory.root = {root!r}
c.ExecutePreprocessor.timeout = 60
c.ClearSolutions.code_stub = {{"python": 'raise NotImplementedError("not attempted yet: replace this line")'}}
"""

# Numbers in a case. An instructor would not paste more into a cell, so those few cases are left out on stock's side.
LARGEST = 300

HELPERS = """
import base64, pickle, warnings, zlib
warnings.simplefilter("ignore")
_right = {}

def _numbers(x):
    return np.asarray(x.detach().double().numpy() if hasattr(x, "detach") else x, dtype=np.float64)

def _close(got, want, bound):
    got, want = np.squeeze(_numbers(got)), np.squeeze(want)
    assert got.shape == want.shape
    with np.errstate(all="ignore"):
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        off = ~same & ~(np.abs(got - want) <= bound)
    assert not off.any()

def _leaves(x):
    if isinstance(x, dict):
        return list(x.items())
    return [(str(i), v) for i, v in enumerate(x)] if isinstance(x, tuple) else [("", x)]

def _dtype(x):
    return "float" if isinstance(x, float) else str(getattr(x, "dtype", type(x).__name__)).removeprefix("torch.")

def _made(value, dtype, device):
    if not dtype:
        return value
    import torch
    return torch.tensor(value, dtype=getattr(torch, dtype), device=device)

def _group(function, aspects, packed):
    for case in pickle.loads(zlib.decompress(base64.b64decode(packed))):
        _case(function, aspects, *case)

def _case(function, aspects, args, wanted, gradients, of, kind):
    live = [_made(*a) for a in args]
    for i, *_ in gradients:
        live[i].requires_grad_(True)
    before = [np.array(_numbers(a)) for a in live] if "inputs" in aspects else []
    got = function(*live)
    found = dict(_leaves(got))
    for path, want, bound, dtype, shape in wanted:
        if "value" in aspects or "value:" + path in aspects:
            _close(found[path], want, bound)
        assert "dtype" not in aspects or _dtype(found[path]) == dtype
        assert "shape" not in aspects or np.shape(_numbers(found[path])) == shape
    if "kind" in aspects:
        assert ("float" if isinstance(got, float) else type(got).__name__) == kind
    for a, b in zip(live, before):
        assert np.array_equal(_numbers(a), b, equal_nan=True)
    if "gradient" in aspects:
        import torch
        target = (got[of] if of else got).sum()
        grads = torch.autograd.grad(target, [live[i] for i, *_ in gradients])
        for grad, (_, want, bound) in zip(grads, gradients):
            _close(grad, want, bound)
"""


def source(name: str, secret: str) -> Any:
    """The instructor's notebook of a lesson, with hidden tests."""
    chosen = lesson(name)
    setup = "\n".join(line for line in chosen.setup.splitlines() if "grader" not in line and "matplotlib" not in line)
    cells = [_cell("setup", f"{setup}\nimport numpy as np", locked=True), _cell("helpers", HELPERS, locked=True)]
    with Grader(secret, "process") as grader:
        for exercise in chosen.exercises:
            stub = chosen.cell(exercise.name)
            assert stub is not None
            cells.append(_cell(exercise.name, stub.source, solution=True))
            prepared = grader.prepared(chosen, exercise)
            ordered = sorted(exercise.groups, key=is_property)  # property groups ask whether some numbers were right
            for group in [group for group in ordered if group.weight]:
                pairs = [(c, e) for (of, c), e in zip(prepared.cases, prepared.expected, strict=True) if of is group]
                points = chosen.points(exercise.name) * group.weight / sum(g.weight for g in exercise.groups)
                grade_id = f"{exercise.name}-{group.name.replace(' ', '-')}"
                cells.append(_cell(grade_id, _test(exercise, group, pairs), locked=True, points=points))
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def _cell(grade_id: str, text: str, *, locked: bool = False, solution: bool = False, points: float = 0.0) -> Any:
    meta = {"grade": points > 0, "grade_id": grade_id, "locked": locked, "schema_version": 3, "solution": solution}
    meta |= {"task": False} | ({"points": points} if points else {})
    return new_code_cell(text, metadata={"nbgrader": meta})


def _test(exercise: Exercise, group: Group, pairs: list[tuple[Case, Outcome]]) -> str:
    """The graded cell of a group. The cases are one string: as literals, colouring them for feedback takes seconds."""
    name = exercise.name
    cases = [_packed(exercise, case, expected) for case, expected in pairs if _size(case) <= LARGEST]
    text = base64.b64encode(zlib.compress(pickle.dumps(cases), 9)).decode()
    lines = [f'assert _right.get("{name}")'] if is_property(group) else []
    lines += [f'_group({name}, {group.aspects!r}, "{text}")']
    lines += [] if is_property(group) else [f'_right["{name}"] = True']
    return "\n".join(["### BEGIN HIDDEN TESTS", *lines, "### END HIDDEN TESTS"])


def _size(case: Case) -> int:
    return sum(np.size(array) for array in map(as_array, case.args.values()) if array is not None)


def _packed(exercise: Exercise, case: Case, expected: Outcome) -> tuple[Any, ...]:
    """A case as plain data for `_case` in the notebook."""
    wanted = []
    for path, leaf in _leaves(expected.result):
        numbers = _array(leaf)
        dtype = leaf.dtype if isinstance(leaf, Tensor | np.ndarray) else type(leaf).__name__
        wanted.append((path, numbers, _bound(exercise, case, path, leaf), str(dtype), numbers.shape))
    gradients = [
        (list(case.args).index(name), _array(leaf), _bound(exercise, case, f"gradient {name}", leaf))
        for name, leaf in expected.gradients.items()
        if leaf is not None
    ]
    kind = kind_of(expected.result).split(" of ")[0].split(".")[-1]
    return [_argument(value) for value in case.args.values()], wanted, gradients, case.of, kind


def _argument(value: Value) -> tuple[Any, str, str]:
    """(value, dtype of the tensor to make of it or empty, device)."""
    if isinstance(value, Tensor):
        return value.data, value.dtype, value.device
    return getattr(np, value.kind)(value.number) if isinstance(value, Scalar) else value, "", ""


def _leaves(value: Value) -> list[tuple[str, Value]]:
    if isinstance(value, dict):
        return list(value.items())
    return [(str(i), item) for i, item in enumerate(value)] if isinstance(value, tuple) else [("", value)]


def _array(value: Value) -> np.ndarray:
    numbers = as_array(value)
    assert numbers is not None
    return np.asarray(numbers, dtype=np.float64)


def _bound(exercise: Exercise, case: Case, path: str, expected: Value) -> np.ndarray:
    numbers = _array(expected)
    bound = (case.tolerance or exercise.tolerance).bound(case.args, path, numbers)
    return np.squeeze(np.broadcast_to(bound, numbers.shape)).copy()


def submission(released: dict[str, Any], answers: dict[str, str]) -> dict[str, Any]:
    """The released stock notebook with a learner's answers in it."""
    made: dict[str, Any] = json.loads(json.dumps(released))
    for cell in made["cells"]:
        grade_id = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        if grade_id in answers:
            cell["source"] = answers[grade_id]
    return made


def course(root: Path) -> Path:
    """An empty stock nbgrader course."""
    root.mkdir(parents=True)
    (root / "nbgrader_config.py").write_text(CONFIG.format(root=str(root)), encoding="utf-8")
    return root
