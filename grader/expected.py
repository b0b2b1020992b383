"""Where expected values come from: the reference, run like a submission, on float64 copies of the arguments too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from grader.course import ROOT, Lesson, solution_source
from grader.exercise import Case, Outcome
from grader.notebook import assemble, script_cells
from grader.sandbox.calls import Code
from grader.values import Opaque, Tensor, Value

FLOATS = ("float16", "bfloat16", "float32")


def reference_code(lesson: Lesson, root: Path = ROOT) -> Code:
    """The lesson's solution cells, loaded from ``solutions/`` like any submission."""
    text = solution_source(lesson.name, root).read_text(encoding="utf-8")
    code, _ = assemble(script_cells(text), lesson)
    return code


def upcast(case: Case) -> Case:
    """The case with floating tensors as float64: where the reference computes expected values."""
    args = {
        k: Tensor(v.data.astype(np.float64), "float64", v.device) if isinstance(v, Tensor) and v.dtype in FLOATS else v
        for k, v in case.args.items()
    }
    return replace(case, args=args)


def merged(native: Outcome, precise: Outcome) -> Outcome:
    """Kinds, shapes and dtypes of the native run with the numbers of the float64 run."""
    return replace(native, result=_merge(native.result, precise.result), gradients=precise.gradients)


def _merge(native: Value, precise: Value) -> Value:
    if isinstance(native, dict):
        return {key: _merge(item, precise[key]) for key, item in native.items()}
    if isinstance(native, tuple):
        return tuple(_merge(a, b) for a, b in zip(native, precise, strict=True))
    if isinstance(native, Tensor) and native.device != "meta":
        return Tensor(precise.data, native.dtype, native.device)
    return Opaque("reference answered nothing") if native is None else precise
