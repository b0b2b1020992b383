"""The forked child: confine, define the learner's functions, answer calls.

Everything here runs beside learner code and can be tampered with by it; nothing here is trusted. It holds no
expected value, no reference and nothing of another submission.
"""

from __future__ import annotations

import ast
import builtins
import importlib.abc
import importlib.machinery
import inspect
import linecache
import os
import resource
import signal
import socket
import sys
import types
import warnings
from codeop import Compile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from grader import wire
from grader.exercise import Error
from grader.observe import CELL, locate, observe
from grader.sandbox.limits import Limits
from grader.values import Value

LATER = "torch._dynamo"


def preparation(isolation: str, limits: Limits) -> Callable[[int], None]:
    """What a child calls first, given the descriptor to keep: confinement, or bare process limits."""
    if isolation == "confined":
        from grader.sandbox import confine

        return confine.preparation(limits)

    from grader.sandbox import process

    def process_only(keep: int) -> None:
        os.setsid()
        seconds = int(limits.submission) + 2  # a backstop, as where it is confined
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        if sys.platform == "linux":
            process.prctl(process.PDEATHSIG, signal.SIGKILL)
        statm = Path("/proc/self/statm")
        pages = int(statm.read_text().split()[0]) if statm.exists() else 0
        if pages:
            ceiling = pages * resource.getpagesize() + limits.memory
            resource.setrlimit(resource.RLIMIT_AS, (ceiling, ceiling))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return process_only


def run(fd: int, confine: Callable[[int], None]) -> None:
    """Serve one submission on the socket ``fd``: a ``define`` message, then ``calls`` messages."""
    silence()
    confine(fd)
    channel = socket.socket(fileno=fd)
    if "torch" in sys.modules and LATER not in sys.modules:
        sys.meta_path.insert(0, Later(channel))
    namespace: dict[str, Any] = {}
    while (message := receive(channel)) is not None:
        if "define" in message:
            for reply in define(message["define"], message["modules"], namespace):
                channel.sendall(wire.frame(wire.dumps(reply)))
            continue
        for call in message["calls"]:
            channel.sendall(wire.frame(wire.dumps(answer(call, namespace))))


def silence() -> None:
    """Nothing a submission prints is kept: hidden arguments could be smuggled out in it."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.close(null)
    warnings.simplefilter("ignore")


def receive(channel: socket.socket) -> dict[str, Any] | None:
    """The next message, or None when the client is done."""
    header = _exactly(channel, 4)
    return wire.loads(_exactly(channel, int.from_bytes(header, "big"))) if header else None


def _exactly(channel: socket.socket, size: int) -> bytearray:
    """``size`` bytes, or none where the channel ends before."""
    data = bytearray(size)
    left = memoryview(data)
    while left:
        taken = channel.recv_into(left)
        if not taken:
            return bytearray()
        left = left[taken:]
    return data


def define(cells: list[list[Any]], modules: dict[str, str], namespace: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Run the learner's cells (``[number, source]``) in a fresh ``__main__``, with one reply per cell.

    An exception ends its cell and not the next. The names the cells define end up in ``namespace["names"]``.
    """
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    namespace["names"] = main.__dict__
    install_stubs(modules, main.__dict__)
    compiler = notebook_compiler()
    for number, source in cells:
        error = _run_cell(number, source, compiler, main.__dict__)
        yield {"error": [error.type, error.cell, error.line, error.message] if error else None}


def notebook_compiler() -> Compile:
    """Compiles cells as a notebook does: `from __future__` is remembered, and await needs no function."""
    compiler = Compile()
    compiler.flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    return compiler


def execute(compiler: Compile, source: str, filename: str, names: dict[str, Any]) -> None:
    """Run a cell. What it awaits is driven by hand: an event loop would want sockets, which a child may not have."""
    result = eval(compiler(source, filename, "exec"), names)
    while inspect.iscoroutine(result):
        try:
            result.send(None)
        except StopIteration:
            return


def _run_cell(number: int, source: str, compiler: Compile, names: dict[str, Any]) -> Error | None:
    filename = f"{CELL}{number}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    try:
        execute(compiler, source, filename, names)
    except BaseException as error:  # noqa: BLE001 - a learner's sys.exit() ends the cell, not the grading
        return locate(error)
    return None


def answer(call: list[Any], namespace: dict[str, Any]) -> dict[str, Any]:
    """The outcome of one call: its number, and its function, arguments and what to differentiate as a message."""
    index, message = call
    asked = wire.loads(message)
    function, args = namespace["names"].get(asked["function"]), asked["args"]
    if not callable(function):
        return {"index": index, "outcome": None}
    given = dict(zip(args[::2], map(argument, args[1::2]), strict=True))
    outcome = observe(function, given, tuple(asked["differentiate"]), asked["of"])
    return {"index": index, "outcome": wire.encode_outcome(outcome)}


def argument(node: list[Any]) -> Value:
    """`wire.decode` for what comes from the trusted side, where most are arrays: nothing needs to be checked."""
    return np.ndarray(node[2], node[1], node[3]) if node[0] == "a" else wire.decode(node)


class Later(importlib.abc.MetaPathFinder):
    """Ends the child when it imports what the worker has yet to import: the client starts it again with that."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """None, or no return."""
        if name == LATER:
            self.channel.sendall(wire.frame(wire.dumps({"later": True})))
            os._exit(0)


class Modules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules the learner made with ``%%writefile name.py`` in a cell."""

    def __init__(self, sources: dict[str, str]) -> None:
        self.sources = sources

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        """A spec for a module of ours, else None."""
        return importlib.machinery.ModuleSpec(name, self) if name in self.sources else None

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the module's source."""
        exec(compile(self.sources[module.__name__], f"<{module.__name__}.py>", "exec"), module.__dict__)


class Anything:
    """Stands in for what only a notebook front end has: called, indexed or entered, it does nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As a decorator it leaves the function alone; otherwise it returns another stand-in."""
        return args[0] if len(args) == 1 and isinstance(args[0], types.FunctionType) else Anything()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None: ...

    def __iter__(self) -> Any:
        return iter(())


def install_stubs(modules: dict[str, str], names: dict[str, Any]) -> None:
    """A `grader` whose `check`, `hint`, `picture` … do nothing, and a notebook's `display` and `get_ipython`."""
    stub = types.ModuleType("grader")
    stub.__getattr__ = _stub_attribute  # type: ignore[method-assign]
    sys.modules["grader"] = stub
    sys.modules.update(progress_bars())
    sys.meta_path.insert(0, Modules(modules))
    names.update(get_ipython=Anything(), display=Anything(), __name__="__main__", __builtins__=builtins)
    builtins.input = lambda *prompt: ""


def progress_bars() -> dict[str, types.ModuleType]:
    """A `tqdm` that hands the items on: nobody watches, and the real one may not be installed."""
    made = {}
    for name in ("tqdm", "tqdm.auto", "tqdm.notebook", "tqdm.std", "tqdm.autonotebook"):
        module = made[name] = types.ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        vars(module).update(tqdm=Bar, tqdm_notebook=Bar, trange=lambda *args, **kwargs: Bar(range(*args)))
        if name != "tqdm":
            setattr(made["tqdm"], name.removeprefix("tqdm."), module)
    return made


class Bar(Anything):
    """A progress bar that shows nothing."""

    def __init__(self, iterable: Any = (), *args: Any, **kwargs: Any) -> None:
        self.iterable = iterable

    def __iter__(self) -> Any:
        return iter(self.iterable)

    def __len__(self) -> int:
        return len(self.iterable)


def _stub_attribute(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return Anything()
