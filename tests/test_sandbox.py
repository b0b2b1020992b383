"""One submission in the sandbox: what it answered stands, what hangs or dies costs the call it was on.

The limits here are the course's with less patience. Nothing asserts how long something took.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grader import wire
from grader.exercise import Case, Error
from grader.sandbox.calls import Call, Code, Run, definitions
from grader.sandbox.client import Worker
from grader.sandbox.confine import missing_layers
from grader.sandbox.limits import LIMITS
from grader.values import Opaque, Tensor, tensor

FAST = replace(LIMITS, call=0.3, later_call=0.1, cell=0.4, submission=6.0)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker("process", FAST) as made:
        yield made


def run(
    worker: Worker, source: str | list[str], *args: object, function: str = "f", modules: dict | None = None
) -> Run:
    cells = [source] if isinstance(source, str) else source
    calls = [Call(function, Case({"x": x})) for x in args or (1,)]
    return worker.run(Code(list(enumerate(cells, start=1)), modules or {}), calls)


def answers(found: Run) -> list[object]:
    return [o.result if o.status == "returned" else o.status for o in found.outcomes]


def test_values_go_in_and_come_back(worker: Worker) -> None:
    found = run(worker, "def f(x):\n    return x * 2", 3, np.array([1.0, 2.0]), tensor([0.5]))
    assert found.outcomes[0].result == 6
    assert found.outcomes[1].result.tolist() == [2.0, 4.0]
    assert isinstance(found.outcomes[2].result, Tensor)
    assert (found.errors, found.problems) == ([], [])


def test_more_calls_than_one_message_holds(worker: Worker) -> None:
    found = run(worker, "def f(x):\n    return x", *range(700))
    assert answers(found) == list(range(700))


def test_a_call_that_hangs_costs_itself(worker: Worker) -> None:
    found = run(worker, "def f(x):\n    while x == 2:\n        pass\n    return x", 1, 2, 3, 4)
    assert answers(found) == [1, "timeout", 3, 4]


def test_a_call_that_ends_the_process_costs_itself(worker: Worker) -> None:
    found = run(worker, "import os\ndef f(x):\n    if x == 2:\n        os._exit(0)\n    return x", 1, 2, 3)
    assert answers(found) == [1, "died", 3]


def test_a_killed_process(worker: Worker) -> None:
    found = run(
        worker, "import os, signal\ndef f(x):\n    if x == 1:\n        os.kill(os.getpid(), 9)\n    return x", 1, 2
    )
    assert answers(found) == ["died", 2]


def test_after_two_strikes_the_rest_is_not_run(worker: Worker) -> None:
    source = "import time\ndef f(x):\n    while True:\n        pass\ndef g(x):\n    return x\n"
    calls = [Call(name, Case({"x": i})) for name in "fg" for i in range(4)]
    found = worker.run(Code([(1, source)]), calls)
    assert answers(found) == ["timeout", "timeout", "not run", "not run", 0, 1, 2, 3]


def test_sleeping_counts_by_the_clock(worker: Worker) -> None:
    found = run(worker, "import time\ndef f(x):\n    time.sleep(x)\n    return x", 60, 0)
    assert answers(found) == ["timeout", 0]


def test_sys_exit_in_a_call_is_an_exception(worker: Worker) -> None:
    (outcome,) = run(worker, "import sys\ndef f(x):\n    sys.exit(3)").outcomes
    assert outcome.error == Error("SystemExit", 1, 3)


def test_a_cell_that_raises_does_not_stop_the_next(worker: Worker) -> None:
    found = run(worker, ["a = 1\nraise ValueError('mine')", "def f(x):\n    return a + x"], 1)
    assert answers(found) == [2]
    assert found.errors == [Error("ValueError", 1, 2, "mine")]


def test_errors_of_cells_are_those_from_before_the_first_call(worker: Worker) -> None:
    """A later child might know of hidden arguments by what an earlier one left behind: what it says is not kept."""
    cell = "import os\ndef f(x):\n    return os._exit(0) if x == 2 else os.getpid()\nraise ValueError(os.getpid())"
    found = run(worker, cell, 1, 2, 3)
    first, died, second = answers(found)
    assert died == "died"
    assert first != second
    assert [error.message for error in found.errors] == [str(first)]


def test_a_syntax_error_names_its_cell_and_line(worker: Worker) -> None:
    found = run(worker, ["x = 1\ndef g(:\n    pass", "def f(x):\n    return x"], 1)
    assert answers(found) == [1]
    assert [(e.type, e.cell, e.line) for e in found.errors] == [("SyntaxError", 1, 2)]


@pytest.mark.parametrize(
    "ending",
    ["while True:\n    pass", "import os\nos._exit(1)", "import time\ntime.sleep(100)"],
    ids=["loop", "exit", "sleep"],
)
def test_a_cell_that_hangs_is_cut_to_its_definitions(worker: Worker, ending: str) -> None:
    found = run(
        worker, ["import math\nTWO = 2\ndef f(x):\n    return TWO * x\n" + ending, "def g(x):\n    return x"], 1, 2
    )
    assert answers(found) == [2, 4]
    assert found.problems == [
        "cell 1 took more than 0.4 CPU seconds or ended the process: only its definitions were used"
    ]


def test_a_definition_that_hangs_ends_the_submission_and_not_the_worker(worker: Worker) -> None:
    found = run(worker, "class Forever:\n    while True:\n        pass\ndef f(x):\n    return x", 1, 2)
    assert answers(found) == ["not run", "not run"]
    assert answers(run(worker, "def f(x):\n    return x", 5)) == [5]


def test_missing_functions_and_functions_that_are_none(worker: Worker) -> None:
    assert answers(run(worker, "x = 1")) == ["missing"]
    assert answers(run(worker, "f = 3")) == ["missing"]


def test_submissions_do_not_see_each_other(worker: Worker) -> None:
    run(worker, "import builtins, numpy\nbuiltins.planted = 1\nnumpy.exp = None\ndef f(x):\n    return 0")
    found = run(
        worker, "import builtins, numpy\ndef f(x):\n    return hasattr(builtins, 'planted') or numpy.exp is None"
    )
    assert answers(found) == [False]


def test_calls_do_not_share_arguments(worker: Worker) -> None:
    found = run(worker, "seen = []\ndef f(x):\n    x += 1\n    return x", np.zeros(1), np.zeros(1))
    assert [o.result.tolist() for o in found.outcomes] == [[1.0], [1.0]]
    assert [list(o.changed) for o in found.outcomes] == [["x"], ["x"]]


def test_what_is_no_value_crosses_by_the_name_of_its_kind(worker: Worker) -> None:
    found = run(worker, "class Mine: pass\ndef f(x):\n    return [Mine(), {1, 2}, 1j, 'text', None][x]", *range(5))
    assert answers(found)[1:] == [Opaque("set"), Opaque("complex"), Opaque("str"), None]
    assert answers(found)[0] == Opaque("an object of another class")  # a learner's own word could carry a hidden input


def test_messages_and_output_of_calls_do_not_cross(worker: Worker) -> None:
    source = "import sys\ndef f(x):\n    print(x); print(x, file=sys.stderr)\n    raise ValueError(f'secret {x}')"
    (outcome,) = run(worker, source, 123456).outcomes
    assert outcome.error == Error("ValueError", 1, 4, "")


def test_huge_results_cost_themselves(worker: Worker) -> None:
    source = "import numpy as np\ndef f(x):\n    return np.broadcast_to(0.0, (10**6, 10**6)) if x else 1.0"
    assert answers(run(worker, source, 1, 0)) == [Opaque("numpy.ndarray, too large"), 1.0]


def test_memory_is_limited(worker: Worker) -> None:
    source = "import numpy as np\ndef f(x):\n    return float(np.ones(x).sum())"
    found = run(worker, source, 2**40, 3)
    assert found.outcomes[0].status in ("raised", "died")
    assert found.outcomes[1].result == 3.0


def test_deep_recursion_costs_itself(worker: Worker) -> None:
    found = run(worker, "def f(x):\n    return f(x) if x else 0", 1, 0)
    assert found.outcomes[0].status in ("raised", "died")
    assert found.outcomes[1].result == 0


def test_modules_made_in_cells(worker: Worker) -> None:
    found = run(worker, "from helpers import double as f", 4, modules={"helpers": "def double(x):\n    return 2 * x\n"})
    assert answers(found) == [8]


def test_a_notebooks_furniture_is_there(worker: Worker) -> None:
    source = (
        "from grader import check, hint, picture, palette, borrow, explore\nfrom grader import progress as p\n"
        "display(1); get_ipython().run_line_magic('matplotlib', 'inline')\nassert input('?') == ''\n"
        "@picture(alt='x', needs=[])\ndef draw():\n    return 1\n"
        "from tqdm.auto import tqdm, trange\nwith tqdm(total=2) as bar:\n    bar.update(1)\n"
        "def f(x):\n    return sum(tqdm([x, 1])) + sum(trange(3)) + len(tqdm([1, 2]))\n"
    )
    found = run(worker, source, 2)
    assert found.errors == []
    assert answers(found) == [2 + 1 + 3 + 2]


def test_await_needs_no_function(worker: Worker) -> None:
    source = "import asyncio\nasync def three():\n    await asyncio.sleep(0)\n    return 3\nn = await three()\ndef f(x):\n    return n"  # noqa: E501
    assert answers(run(worker, source)) == [3]
    found = run(worker, ["await broken()", "def f(x):\n    return x"])
    assert [e.type for e in found.errors] == ["NameError"]


def test_future_statements_hold_from_cell_to_cell(worker: Worker) -> None:
    found = run(
        worker,
        ["from __future__ import annotations", "def f(x: NotThere) -> 'Float[Tensor, \"b t\"]':\n    return x"],
        1,
    )
    assert answers(found) == [1]


def test_the_project_is_out_of_reach(worker: Worker) -> None:
    source = (
        "import sys\ndef f(x):\n    try:\n        import grader.hidden\n    except ImportError:\n        return 'no'\n    return 'yes'\n"  # noqa: E501
        "def g(x):\n    return any(name.startswith('grader.') for name in sys.modules)\n"
    )
    calls = [Call("f", Case({"x": 1})), Call("g", Case({"x": 1}))]
    first, second = worker.run(Code([(1, source)]), calls).outcomes
    assert first.result == Opaque("str")  # which word does not cross; so ask in numbers
    assert second.result is False
    (outcome,) = run(worker, "def f(x):\n    import grader.hidden").outcomes
    assert outcome.error is not None
    assert outcome.error.type == "ModuleNotFoundError"


def test_no_secret_in_the_environment(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_SECRET", "the secret")
    with Worker("process", FAST) as fresh:
        source = "import os\ndef f(x):\n    return 'GRADER_SECRET' in os.environ or 'secret' in str(dict(os.environ)).lower()"  # noqa: E501
        assert answers(run(fresh, source)) == [False]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="Linux tells a child that its parent died")
@pytest.mark.parametrize("isolation", ["process", "confined"])
def test_a_child_does_not_outlive_its_worker(isolation: str) -> None:
    """A loop without end would keep a processor busy for ever."""
    if isolation == "confined" and missing_layers():
        pytest.skip(f"this machine cannot confine: {missing_layers()[0][0]}")
    with Worker(isolation, FAST) as fresh:
        child = fresh.fork()
        child.send(wire.dumps({"define": [[1, "while True: pass"]], "modules": {}}), 5.0)
        while child.cpu() < 0.05:
            time.sleep(0.01)
        fresh._process.kill()
        deadline = time.monotonic() + 20
        while alive(child.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not alive(child.pid)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_no_child_is_left(worker: Worker) -> None:
    run(worker, "import os, time\ndef f(x):\n    if os.fork() == 0:\n        time.sleep(1000)\n    return x", 1)
    children = f"/proc/{worker._process.pid}/task/{worker._process.pid}/children"
    if os.path.exists(children):
        assert Path(children).read_text().split() == []


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("import a\nx = 1\nprint(x)\n", "import a\nx = 1\n"),
        ("x = g()\ndef f():\n    return g()\n", "\ndef f():\n    return g()"),
        ("for i in range(9):\n    pass\nclass C:\n    y = 2\n", "\n\nclass C:\n    y = 2"),
        ("broken(", ""),
    ],
)
def test_definitions_keep_their_lines(source: str, kept: str) -> None:
    assert definitions(source).rstrip("\n") == kept.rstrip("\n")


def test_definitions_keep_decorated_functions_whole() -> None:
    source = "import functools\n@functools.cache\ndef f(x):\n    return x\nf(1)\n"
    assert definitions(source).rstrip("\n") == "import functools\n@functools.cache\ndef f(x):\n    return x"
