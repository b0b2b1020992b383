"""Turn what a notebook allows and Python does not (magics, shell lines) into plain Python."""

from __future__ import annotations

import ast
import functools
import re
import warnings

RUN_BODY = frozenset("time timeit capture prun memit mprun lprun debug skip python python3 py".split())
MANY_LINES = 5000
WRITE = frozenset(("writefile", "file"))
_CELL_MAGIC = re.compile(r"\s*%%(\w+)[ \t]*(.*)\n?")
_TIMED = re.compile(r"^(\s*)%(?:time|prun|memit)\s+(?:-\S+\s+)*(?=\S)", re.MULTILINE)


@functools.lru_cache(1024)  # our own cells come back with every submission
def parses(source: str) -> bool:
    """Whether ``source`` is plain Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def written_module(source: str) -> tuple[str, str] | None:
    """(module name, its source) of a ``%%writefile name.py`` cell, else None."""
    match = _CELL_MAGIC.match(source)
    if match and match.group(1) in WRITE:
        target = re.fullmatch(r"(?:-a\s+)?(?:\./)?(\w+)\.py", match.group(2).strip())
        return (target.group(1), source[match.end() :]) if target else None
    return None


@functools.lru_cache(1024)
def to_python(source: str) -> str:
    """``source`` without magics: bodies of `RUN_BODY` cell magics stay, others go, lines keep their numbers."""
    match = _CELL_MAGIC.match(source)
    if match:
        body = source[match.end() :] if match.group(1) in RUN_BODY else ""
        return to_python("\n" * source[: match.end()].count("\n") + body) if body.strip() else ""
    if parses(source):
        return source
    if source.count("\n") > MANY_LINES:
        return source  # a magic at a time, and all lines for each: a hostile cell would take hours
    timed = _TIMED.sub(r"\1", source)
    if parses(timed):
        return timed
    from IPython.core.inputtransformer2 import TransformerManager  # slow to import, and rarely needed

    try:
        transformed: str = TransformerManager().transform_cell(timed)
    except (SyntaxError, ValueError, RuntimeError):  # also more than 500 magics in one cell
        return source
    return transformed if parses(transformed) else source
