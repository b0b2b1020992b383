"""Every limit on a submission, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Seconds are CPU seconds; wall clock is allowed ``wall_factor`` times as much. Sizes are bytes.

    ``memory`` is what a child may use beyond the warm worker, ``value`` the largest returned array, ``answers`` what
    all answers of a submission may hold together. A cell that takes more than ``cell`` seconds, or kills the process,
    is run again for its definitions only. After a function's first stopped call its later calls get ``later_call``
    seconds; after ``strikes`` stopped calls the rest of its calls are not run.
    """

    call: float = 2.0
    later_call: float = 0.2
    cell: float = 4.0
    submission: float = 20.0
    wall_factor: float = 3.0
    strikes: int = 2
    memory: int = 2 * 2**30
    value: int = 64 * 2**20
    answers: int = 256 * 2**20
    open_files: int = 64


LIMITS = Limits()
