"""Call a function on a case and write down what it did, as plain values.

Used in the learner's own kernel (`grader.checks`) and in the confined child. torch is touched only where a case
holds tensors, so lesson 3 never imports it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from grader.exercise import Error, Outcome
from grader.values import Opaque, Scalar, Tensor, Value
from grader.wire import MAX_DEPTH, MAX_ITEMS, dtype_name, encode

MAX_BYTES = 64 * 2**20
_PLAIN = frozenset((bool, int, float, str))
CELL = "<cell "  # learner code is compiled with the filename `<cell N>`


def thaw(value: Value) -> Any:
    """The live object of a value: a fresh, writable array or tensor, so that no call sees another's."""
    kind = type(value)
    if kind is np.ndarray:
        return value.copy()
    if kind is not Tensor:
        return value
    import torch

    if value.device == "meta":
        return torch.empty(value.data.shape, dtype=getattr(torch, value.dtype), device="meta")
    live = torch.from_numpy(value.data.copy())
    return live if value.dtype == dtype_name(value.data.dtype) else live.to(getattr(torch, value.dtype))


def freeze(live: Any, depth: int = 0) -> Value:
    """The value of a live object; what is no value, too large or too deep becomes `Opaque`."""
    try:
        return _freeze(live, type(live), depth)
    except Exception as error:  # noqa: BLE001 - objects with evil methods: the type's name is all that crosses
        return Opaque(f"{type(live).__name__} ({type(error).__name__} while reading it)")


def _freeze(live: Any, kind: type, depth: int) -> Value:
    # issubclass(type(x), ...) and unbound methods: `__class__` and overridden methods of x have no say
    if live is None or kind in _PLAIN:
        return live
    if issubclass(kind, np.ndarray):
        return _freeze_array(np.asarray(live))
    if issubclass(kind, np.generic):
        return _freeze_scalar(live)
    torch = sys.modules.get("torch")
    if torch is not None and issubclass(kind, torch.Tensor):
        return _freeze_tensor(torch, live)
    if issubclass(kind, dict):
        items = list(dict.items(live))
        if depth >= MAX_DEPTH or len(items) > MAX_ITEMS:
            return Opaque("dict, nested too deep or too long")
        return {str(key): freeze(item, depth + 1) for key, item in items}
    if issubclass(kind, tuple | list):
        base = tuple if issubclass(kind, tuple) else list
        if depth >= MAX_DEPTH or base.__len__(live) > MAX_ITEMS:
            return Opaque(f"{base.__name__}, nested too deep or too long")
        return base(freeze(item, depth + 1) for item in base.__iter__(live))
    return float(live) if issubclass(kind, float) else Opaque(kind.__name__)


def _freeze_scalar(live: np.generic) -> Value:
    if type(live) is np.float64:
        return float(live)
    if isinstance(live, np.bool_ | np.integer | np.floating):
        return Scalar(live.dtype.name, float(live))
    return Opaque(f"numpy.{type(live).__name__}")


def _freeze_array(live: np.ndarray) -> Value:
    if live.dtype.kind not in "biuf":
        return Opaque(f"numpy.ndarray of dtype {live.dtype}")
    if live.nbytes > MAX_BYTES:  # nbytes counts elements, also of a broadcast view: measured before any copy
        return Opaque(f"numpy.ndarray of {live.size} elements, too large")
    if live.dtype.itemsize <= 8 and live.dtype.isnative:
        return np.array(live)
    return np.array(live, dtype="float64" if live.dtype.itemsize > 8 else live.dtype.newbyteorder("="))


def _freeze_tensor(torch: Any, live: Any) -> Value:
    plain = torch.Tensor.detach(live)
    dtype, device = dtype_name(plain.dtype).removeprefix("torch."), dtype_name(plain.device)
    if plain.nbytes > MAX_BYTES:  # of all elements, also of an expanded view
        return Opaque(f"torch.Tensor of {plain.numel()} elements, too large")
    if device == "meta":
        return Tensor(np.broadcast_to(np.zeros((), "float32"), tuple(plain.shape)), dtype, device)
    stored = plain.float() if dtype == "bfloat16" else plain
    data = (stored if device == "cpu" else stored.cpu()).resolve_neg().numpy()
    return Tensor(np.array(data), dtype, device) if data.dtype.kind in "biuf" else Opaque(f"torch.Tensor of {dtype}")


def observe(
    function: Callable[..., Any], args: Mapping[str, Value], differentiate: tuple[str, ...] = (), of: str = ""
) -> Outcome:
    """Call ``function`` on fresh copies of ``args``, in order, and return what it did.

    With ``differentiate``, also the gradient of ``result.sum()`` (``result[of].sum()``) in those arguments; None
    for an argument the result does not depend on through the graph. Exceptions of the call become the outcome.
    """
    live = {name: thaw(value) for name, value in args.items()}
    leaves = {name: live[name].requires_grad_(True) for name in differentiate}
    # a copy in the graph: writing into an argument that is a leaf would raise, and cost the gradient as well
    live |= {name: leaf.clone() for name, leaf in leaves.items()}
    try:
        returned = function(*live.values())
    except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt of learner code included
        return Outcome("raised", error=locate(error))
    result = freeze(returned)
    gradients = _gradients(returned, leaves, of) if differentiate else {}
    marked = {name for name in args.keys() - leaves.keys() if getattr(live[name], "requires_grad", False)}
    changed = {n: freeze(live[n]) for n, value in args.items() if n in marked or not _untouched(live[n], value)}
    return Outcome("returned", result, gradients, changed)


def _untouched(live: Any, value: Value) -> bool:
    """Whether an argument still holds what it was made from, to the bit."""
    kind = type(value)
    if value is None or kind in _PLAIN:
        return True
    try:
        now, data = live, value
        if kind is Tensor and value.dtype != "bfloat16":
            now, data = sys.modules["torch"].Tensor.detach(live).numpy(), value.data
        if type(now) is type(data) is np.ndarray and now.dtype == data.dtype:
            return bool(now.shape == data.shape and now.tobytes() == data.tobytes())
    except Exception:  # noqa: BLE001 - on another device, or made unreadable: compare the slow way
        pass
    return encode(freeze(live)) == encode(value)


def _gradients(returned: Any, leaves: Mapping[str, Any], of: str) -> dict[str, Value]:
    import torch

    try:
        target = returned[of] if of else returned
        found = torch.autograd.grad(target.sum(), list(leaves.values()), allow_unused=True)
    except Exception:  # noqa: BLE001 - detached, not a tensor, missing key: no gradient
        return dict.fromkeys(leaves)
    return {name: None if grad is None else freeze(grad) for name, grad in zip(leaves, found, strict=True)}


def locate(error: BaseException) -> Error:
    """The exception's type and message, and the last line of learner code it passed through."""
    cell = line = 0
    trace = error.__traceback__
    while trace is not None:
        filename = trace.tb_frame.f_code.co_filename
        if filename.startswith(CELL):
            cell, line = int(filename[len(CELL) : -1]), trace.tb_lineno
        elif "ipykernel_" in filename:  # a cell of a live notebook
            line = trace.tb_lineno
        trace = trace.tb_next
    try:
        message = str(error)
        if isinstance(error, SyntaxError) and str(error.filename).startswith(CELL):  # it did not come to run
            cell, line, message = int(str(error.filename)[len(CELL) : -1]), int(error.lineno or 0), str(error.msg)
    except Exception:  # noqa: BLE001 - learner code may raise anything
        message = ""
    return Error(type(error).__name__, cell, line, message[:1000])
