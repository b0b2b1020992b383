"""One submission's calls over as many children as it takes: a dead child costs the call it was on, no other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader import wire
from grader.exercise import Error, Outcome
from grader.sandbox.calls import Call, Code, Run
from grader.sandbox.client import Child, Worker
from grader.sandbox.trust import plain_cell_error, plain_outcome
from grader.values import Opaque

BATCH = 2**16  # bytes of calls in one message, or one call alone; as much fits into a socket unread


class _Later(Exception):
    """The child has to be started again, from a worker that has imported the rest."""


class Runner:
    """One submission's calls over as many children as it takes."""

    def __init__(self, worker: Worker, code: Code, calls: Sequence[Call]) -> None:
        self.worker, self.code, self.calls = worker, code, calls
        self.limits = worker.limits
        self.outcomes: dict[int, Outcome] = {}
        self.errors: list[Error] = []
        self.strikes: dict[str, int] = {}
        self.seconds = 0.0
        self.problems: list[str] = []
        self.stuck: set[int] = set()
        self.called = False
        self.room = self.limits.answers

    def run(self) -> Run:
        """All calls, or as many as the limits allow; the others are 'not run'."""
        while (todo := self._open_calls()) and self.seconds < self.limits.submission:
            if not self._one_child(todo):
                break
        outcomes = [self.outcomes.get(i, Outcome("not run")) for i in range(len(self.calls))]
        return Run(outcomes, self.errors, self.seconds, self.problems)

    def _open_calls(self) -> list[int]:
        limit = self.limits.strikes
        return [
            i
            for i, call in enumerate(self.calls)
            if i not in self.outcomes and self.strikes.get(call.function, 0) < limit
        ]

    def _one_child(self, todo: Sequence[int]) -> bool:
        """Answer what one child can; False when the cells themselves cannot be run."""
        child = self.worker.fork()
        try:
            stuck = self._define(child)
            if stuck is not None:
                return self._cut_down(stuck)
            for index, outcome in self._answers(child, todo):
                self.outcomes[index] = outcome
                if outcome.status in ("timeout", "died"):
                    name = self.calls[index].function
                    self.strikes[name] = self.strikes.get(name, 0) + 1
                if self.seconds + child.used > self.limits.submission:
                    break
            return True
        except _Later:
            self.worker.import_the_rest()
            return True
        finally:
            self.seconds += child.cpu()
            self.worker.reap(child)

    def _cut_down(self, cell: int) -> bool:
        """Try again with the definitions of a cell that hangs or dies; False when that was tried already."""
        place = f"cell {cell}" if cell else "the lesson's setup cell"
        self.problems.append(
            f"{place} took more than {self.limits.cell:g} CPU seconds or ended the process: "
            "only its definitions were used"
        )
        if cell in self.stuck or len(self.stuck) > 3:
            return False
        self.stuck.add(cell)
        self.code = self.code.definitions_only(cell)
        return True

    def _answers(self, child: Child, todo: Sequence[int]) -> Iterator[tuple[int, Outcome]]:
        """(index, outcome) for the calls of ``todo`` until the child stops answering.

        Calls go over in batches: the child reads a whole one before it answers its first call, on that call's time.
        The next one follows then, so that the child need not wait for us, if it is small enough for us not to wait.
        """
        self.called = True
        batches = list(self._batches(todo))
        ahead = False
        for number, batch in enumerate(batches):
            if not (ahead or self._sent(child, batch)):
                yield batch[0], Outcome("died")
                return
            ahead = False
            for index in batch:
                strikes = self.strikes.get(self.calls[index].function, 0)
                if strikes >= self.limits.strikes:
                    return  # the child would spend time on calls that are no longer wanted
                outcome = self._one_answer(child, index, self.limits.later_call if strikes else self.limits.call)
                yield index, outcome
                if outcome.status in ("timeout", "died"):
                    return
                if index == batch[0] and number + 1 < len(batches) and self._small(batches[number + 1]):
                    ahead = self._sent(child, batches[number + 1])

    def _batches(self, todo: Sequence[int]) -> Iterator[list[int]]:
        """``todo`` in pieces of at most `BATCH` bytes, or of one call."""
        batch: list[int] = []
        room = 0
        for index in todo:
            room -= len(self.calls[index].message)
            if room < 0 and batch:
                yield batch
                batch = []
            if not batch:
                room = BATCH - len(self.calls[index].message)
            batch.append(index)
        if batch:
            yield batch

    def _small(self, batch: Sequence[int]) -> bool:
        return len(batch) > 1 or len(self.calls[batch[0]].message) <= BATCH

    def _sent(self, child: Child, batch: Sequence[int]) -> bool:
        try:
            child.send(wire.dumps({"calls": [[i, self.calls[i].message] for i in batch]}), 3 * self.limits.call)
        except (OSError, wire.WireError):
            return False
        return True

    def _read(self, data: bytes) -> dict[str, object]:
        """A message of the child. Raises `_Later` when it needs more than the worker has imported so far."""
        message = wire.loads(data)
        if message.get("later") is True and not self.worker.whole:
            raise _Later
        return message

    def _one_answer(self, child: Child, index: int, seconds: float) -> Outcome:
        try:
            data = child.receive(seconds, self.limits.wall_factor)
            if data is None:
                return Outcome("timeout")
            self.room -= len(data)
            if self.room < 0:
                return Outcome("returned", Opaque("too much data in all"))
            return self.calls[index].outcome(data, lambda said: self._outcome(said, index))
        except (OSError, wire.WireError):
            return Outcome("died")

    def _outcome(self, data: bytes, index: int) -> Outcome:
        message = self._read(data)
        if message.get("index") != index:
            return Outcome("died")
        node, case = message.get("outcome"), self.calls[index].case
        return Outcome("missing") if node is None else plain_outcome(wire.decode_outcome(node), case, self.code.cells)

    def _define(self, child: Child) -> int | None:
        """Run the cells and note their errors. The number of the cell that hung or ended the process, else None.

        Errors are noted until the first call. After it, what an earlier child saw of the hidden arguments could reach
        a later one by the numbers of processes or the times of files, and from there an error's message.
        """
        errors: list[Error] = []
        message = {"define": [list(cell) for cell in self.code.cells], "modules": self.code.modules}
        number = self.code.cells[0][0] if self.code.cells else 0
        try:
            child.send(wire.dumps(message), 3 * self.limits.call)
            for number, _ in self.code.cells:
                data = child.receive(self.limits.cell, self.limits.wall_factor)
                if data is None:
                    return number
                error = wire.decode_error(self._read(data).get("error"))
                errors += [plain_cell_error(error, self.code.cells)] if error else []
        except (OSError, wire.WireError):
            return number
        if not self.called:
            self.errors = errors
        return None
