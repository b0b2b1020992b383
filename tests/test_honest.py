"""Broken but honest submissions keep their marks: what editors, habits and haste do to a notebook.

Each test says the marks the submission must get. Full marks are the lesson's ten points, from its graded cells.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import nbformat
import pytest
from support import (
    GRADED,
    Notebook,
    cell_of,
    code,
    functions,
    grade,
    grade_id,
    marks,
    references,
    released,
    solved,
    source,
    with_cells,
)

from grader import sample
from grader.grading import Grader
from grader.report import SubmissionResult

KL, SPO, DPO, FRONTIER = "01_kl_penalized_rewards", "02_spo_regression", "03_stable_dpo", "04_reward_kl_frontier"


def assert_full(result: SubmissionResult, problems: bool = False) -> None:
    """Every exercise passed; nothing to complain about unless ``problems`` says that there is."""
    assert result.status == "graded"
    assert {e.name: e.status for e in result.exercises} == dict.fromkeys(functions(result.assignment), "passed")
    assert result.points == result.max_points == 10.0
    assert problems or result.problems == ()


# What editors do -----------------------------------------------------------------------------------------------------


def colab(made: Notebook) -> None:
    """Google Colab drops nbgrader's metadata and cell ids, and adds its own."""
    for number, cell in enumerate(made["cells"]):
        cell["metadata"] = {"id": f"aB{number}"}
        cell.pop("id", None)
    made["metadata"] = {"colab": {"provenance": []}, "kernelspec": {"name": "python3", "display_name": "Python 3"}}
    made["nbformat_minor"] = 0


def vs_code(made: Notebook) -> None:
    """VS Code has dropped unknown cell metadata, and leaves a language id."""
    for cell in made["cells"]:
        cell["metadata"] = {"vscode": {"languageId": "python"}}
    made["metadata"] = {"language_info": {"name": "python", "version": "3.12.1"}}


def no_metadata(made: Notebook) -> None:
    made.pop("metadata")
    for cell in made["cells"]:
        cell.pop("metadata")
        cell.pop("id", None)


def duplicated(made: Notebook) -> None:
    """Every cell twice, ids and all."""
    made["cells"] = [copy.deepcopy(cell) for cell in made["cells"] for _ in (0, 1)]


def pasted_below(made: Notebook) -> None:
    """The whole notebook pasted below itself."""
    made["cells"] += copy.deepcopy(made["cells"])


def only_answers(made: Notebook) -> None:
    """Everything deleted but what was written."""
    made["cells"] = [cell for cell in made["cells"] if grade_id(cell) in functions_of(made)]


def functions_of(made: Notebook) -> list[str]:
    ids = {grade_id(cell).removeprefix("check_") for cell in made["cells"] if grade_id(cell).startswith("check_")}
    return sorted(ids)


def without_checks(made: Notebook) -> None:
    made["cells"] = [cell for cell in made["cells"] if not grade_id(cell).startswith("check_")]


def without_setup(made: Notebook) -> None:
    made["cells"] = [cell for cell in made["cells"] if grade_id(cell) != "setup"]


def answers_with_their_checks(made: Notebook) -> None:
    """An answer and its check merged into one cell (Shift+M)."""
    for name in functions_of(made):
        answer, check = cell_of(made, name), cell_of(made, f"check_{name}")
        answer["source"] = source(answer) + "\n" + source(check)
        made["cells"].remove(check)


def everything_in_one(made: Notebook) -> None:
    """All code merged into one cell."""
    text = "\n\n".join(source(cell) for cell in made["cells"] if cell["cell_type"] == "code")
    made["cells"] = [code(text)]


def all_below_the_first(made: Notebook) -> None:
    """Merging keeps the metadata of the first cell: here the setup cell's."""
    answers = [source(cell_of(made, name)) for name in functions_of(made)]
    setup = cell_of(made, "setup")
    setup["source"] = "\n\n".join([source(setup), *answers])
    made["cells"] = [cell for cell in made["cells"] if grade_id(cell) not in functions_of(made)]


def answers_into_checks(made: Notebook) -> None:
    """Written into the graded cells, above `check`, and the stubs left as they were."""
    stubs = released(lesson_of(made))
    for name in functions_of(made):
        check, answer = cell_of(made, f"check_{name}"), cell_of(made, name)
        check["source"] = source(answer) + "\n" + source(check)
        answer["source"] = source(cell_of(stubs, name))


def lesson_of(made: Notebook) -> str:
    return next(lesson for lesson in (KL, SPO, DPO, FRONTIER) if functions(lesson)[0] in functions_of(made))


def reordered(made: Notebook) -> None:
    random.Random(7).shuffle(made["cells"])


def reversed_cells(made: Notebook) -> None:
    made["cells"].reverse()


def to_markdown(made: Notebook) -> None:
    """The answers turned into text cells (key M)."""
    for name in functions_of(made):
        cell = cell_of(made, name)
        cell["cell_type"] = "markdown"
        cell.pop("outputs"), cell.pop("execution_count")


def to_raw(made: Notebook) -> None:
    for name in functions_of(made):
        cell_of(made, name)["cell_type"] = "raw"


def fenced_markdown(made: Notebook) -> None:
    """Turned into text, and put between fences so that it looks like code."""
    to_markdown(made)
    for cell in made["cells"]:
        if grade_id(cell) in functions_of(made):
            cell["source"] = f"```python\n{source(cell)}\n```"


def renamed_ids(made: Notebook) -> None:
    for number, cell in enumerate(made["cells"]):
        if grade_id(cell):
            cell["metadata"]["nbgrader"]["grade_id"] = f"cell-{number}"


def swapped_ids(made: Notebook) -> None:
    """The answer carries the id of its check, and the check that of the answer."""
    for name in functions_of(made):
        answer, check = cell_of(made, name), cell_of(made, f"check_{name}")
        answer["metadata"], check["metadata"] = check["metadata"], answer["metadata"]


def all_ids_alike(made: Notebook) -> None:
    for cell in made["cells"]:
        if grade_id(cell):
            cell["metadata"]["nbgrader"]["grade_id"] = "setup"


def stub_kept_below(made: Notebook) -> None:
    """The stub was duplicated first and one copy answered: the blank one stands last."""
    stubs = released(lesson_of(made))
    made["cells"] += [cell_of(stubs, name) for name in functions_of(made)]


def stub_kept_above(made: Notebook) -> None:
    """A new cell holds the answer, with another signature line; the stub stays."""
    stubs = released(lesson_of(made))
    answers = [code(source(cell_of(made, name))) for name in functions_of(made)]
    for name in functions_of(made):
        cell_of(made, name)["source"] = source(cell_of(stubs, name))
    made["cells"] += answers


def windows(made: Notebook) -> None:
    for cell in made["cells"]:
        cell["source"] = source(cell).replace("\n", "\r\n")


def old_mac(made: Notebook) -> None:
    for cell in made["cells"]:
        cell["source"] = source(cell).replace("\n", "\r")


def tabs(made: Notebook) -> None:
    for name in functions_of(made):
        cell = cell_of(made, name)
        cell["source"] = source(cell).replace("    ", "\t")


def odd_spaces(made: Notebook) -> None:
    """Trailing spaces, a form feed, no newline at the end."""
    for name in functions_of(made):
        cell = cell_of(made, name)
        cell["source"] = "\f\n" + source(cell).replace("\n", "   \n").rstrip()


def byte_order_mark_in_cells(made: Notebook) -> None:
    for name in functions_of(made):
        cell = cell_of(made, name)
        cell["source"] = "\ufeff" + source(cell)


def huge_outputs(made: Notebook) -> None:
    for cell in made["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["0123456789" * 10_000 + "\n"]}] * 4


def stale_errors(made: Notebook) -> None:
    for cell in made["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [{"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[31mE"]}]
            cell["execution_count"] = 99


def widget_state(made: Notebook) -> None:
    made["metadata"]["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": {"x": {}}}}


EDITORS = [
    colab, vs_code, no_metadata, duplicated, pasted_below, only_answers, without_checks, without_setup,
    answers_with_their_checks, everything_in_one, all_below_the_first, answers_into_checks, reordered, reversed_cells,
    to_markdown, to_raw, fenced_markdown, renamed_ids, swapped_ids, all_ids_alike, stub_kept_below, stub_kept_above,
    windows, old_mac, tabs, odd_spaces, byte_order_mark_in_cells, huge_outputs, stale_errors, widget_state,
]  # fmt: skip


@pytest.mark.parametrize("lesson", GRADED)
@pytest.mark.parametrize("edit", EDITORS, ids=lambda edit: edit.__name__)
def test_what_editors_do_costs_nothing(warm: Grader, lesson: str, edit: Callable[[Notebook], None]) -> None:
    made = solved(lesson)
    edit(made)
    result = grade(warm, made, lesson)
    assert result.points == 10.0, [(e.name, e.points, e.status) for e in result.exercises] + list(result.problems)


@pytest.mark.parametrize("lesson", GRADED)
@pytest.mark.parametrize("edit", [colab, duplicated, pasted_below, reordered, to_markdown, renamed_ids, swapped_ids,
                                  everything_in_one, answers_with_their_checks], ids=lambda edit: edit.__name__)  # fmt: skip  # noqa: E501
def test_nobody_gains_by_it(warm: Grader, lesson: str, edit: Callable[[Notebook], None]) -> None:
    made = released(lesson)
    edit(made)
    result = grade(warm, made, lesson)
    assert result.points == 0.0
    assert {e.status for e in result.exercises} == {"not attempted"}


@pytest.mark.parametrize("lesson", GRADED)
@pytest.mark.parametrize("minor", [0, 1, 2, 3, 4, 5])
def test_every_minor_version_of_nbformat_4(warm: Grader, lesson: str, minor: int) -> None:
    made = solved(lesson)
    made["nbformat_minor"] = minor
    for cell in made["cells"]:
        if minor < 5:
            cell.pop("id", None)
    assert_full(grade(warm, made))


@pytest.mark.parametrize("lesson", GRADED)
def test_nbformat_3(warm: Grader, lesson: str) -> None:
    made = nbformat.convert(nbformat.reads(json.dumps(solved(lesson)), as_version=4), 3)
    assert_full(grade(warm, json.loads(nbformat.writes(made, version=3))))


@pytest.mark.parametrize("lesson", GRADED)
def test_one_cell_split_in_two(warm: Grader, lesson: str) -> None:
    """A helper and the function that uses it, in the cell of the one and a new cell for the other."""
    made = solved(lesson)
    name = functions(lesson)[0]
    cell = cell_of(made, name)
    at = made["cells"].index(cell)
    text = source(cell).replace(f"def {name}(", "def inner(", 1)
    cell["source"] = text
    made["cells"].insert(at + 1, code(f"def {name}(*arguments):\n    return inner(*arguments)\n"))
    assert_full(grade(warm, made))


@pytest.mark.parametrize("lesson", GRADED)
def test_a_deleted_answer_costs_itself_only(warm: Grader, lesson: str) -> None:
    made = solved(lesson)
    last = functions(lesson)[-1]
    made["cells"].remove(cell_of(made, last))
    result = grade(warm, made)
    assert {e.name: e.status for e in result.exercises} == {
        name: "not attempted" if name == last else "passed" for name in functions(lesson)
    }


def test_the_last_of_two_different_answers_counts(warm: Grader) -> None:
    made = with_cells(solved(DPO), after=["def implicit_reward(policy_logprob, ref_logprob, beta):\n    return 0.0\n"])
    assert marks(grade(warm, made))["implicit_reward"] == 0.0


@pytest.mark.parametrize("lesson", GRADED)
def test_byte_order_mark_and_windows_lines_in_files(warm: Grader, lesson: str) -> None:
    from grader import notebook

    text = "\n\n".join(["import numpy as np, torch", *references(lesson).values()])
    for data in (b"\xef\xbb\xbf" + text.encode(), text.replace("\n", "\r\n").encode()):
        assert_full(warm.grade(notebook.loads(data, "learner.py")))
    data = b"\xef\xbb\xbf" + json.dumps(solved(lesson), indent=1).replace("\n", "\r\n").encode()
    assert_full(warm.grade(notebook.loads(data, "learner.ipynb")))


# What learners add ---------------------------------------------------------------------------------------------------

HARMLESS = {
    "nothing": "",
    "comment": "# to do\n",
    "print": "print('here', 1)\n",
    "much output": "print('x' * 2_000_000)\n",
    "stderr": "import sys, warnings, logging\nprint('x', file=sys.stderr)\nwarnings.warn('w')\nlogging.error('e')\n",
    "warnings as errors": "import warnings\nwarnings.simplefilter('error')\n",
    "seeds": "import numpy as np, torch, random\nnp.random.seed(0); torch.manual_seed(0); random.seed(0)\n",
    "plot": "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show(); plt.close('all')\n",
    "style": "import matplotlib\nmatplotlib.rcParams['font.size'] = 9\n",
    "display": "display(3)\nfrom IPython.display import display as d, HTML, Markdown\nd(HTML('<b>x</b>'))\n",
    "input": "name = input('who? ')\nassert isinstance(name, str)\n",
    "line magic": "%matplotlib inline\n%config InlineBackend.figure_format = 'svg'\n",
    "autoreload": "%load_ext autoreload\n%autoreload 2\n",
    "time": "%time sum(range(10))\n",
    "timeit": "%timeit -n 1 -r 1 sum(range(10))\n",
    "cell time": "%%time\ntotal = sum(range(10))\n",
    "capture": "%%capture\nprint(3)\n",
    "bash": "%%bash\nls\n",
    "shell": "!pip install torch\nfiles = !ls\nfor file in files:\n    pass\n",
    "help": "len?\n?len\n",
    "await": "import asyncio\nawait asyncio.sleep(0)\n",
    "async for": "async def numbers():\n    yield 1\nfound = [x async for x in numbers()]\n",
    "widgets": "import ipywidgets as w\nslider = w.FloatSlider(value=1.0)\nw.interact(lambda x: x, x=slider)\ndisplay(slider)\n",  # noqa: E501
    "notebook tqdm": "from tqdm.notebook import tqdm, trange\nfor i in trange(3):\n    pass\nfor i in tqdm([1, 2]):\n    pass\n",  # noqa: E501
    "auto tqdm": "from tqdm.auto import tqdm\nwith tqdm(total=3) as bar:\n    bar.update(1)\n",
    "get_ipython": "get_ipython().run_line_magic('matplotlib', 'inline')\nget_ipython().system('ls')\n",
    "last value": "1 + 1\n_ = 3\n__ = 4\n",
    "check again": "from grader import check, hint, progress\nhint('dpo_loss')\nprogress()\n",
    "picture": "from grader import picture, palette\n@picture(alt='x')\ndef draw():\n    return palette.BLUE\n",
    "doctest": "import doctest\ndoctest.testmod()\n",
    "unicode": "β = 0.1\nπ = 'π'\n",
    "semicolons": "x = 1; y = 2;\n",
    "main": "if __name__ == '__main__':\n    started = True\n",
    "globals of ours overwritten": "np_ = 3\nplt = None\n",
    "typing": "from typing import *\nfrom collections.abc import *\n",
    "future": "from __future__ import annotations\n",
    "deep recursion limit": "import sys\nsys.setrecursionlimit(3000)\n",
    "threads": "import torch\ntorch.set_num_threads(1)\n",
    "no grad left on": "import torch\ntorch.set_grad_enabled(True)\n",
    "printoptions": "import numpy as np, torch\nnp.set_printoptions(precision=2)\ntorch.set_printoptions(precision=2)\n",  # noqa: E501
}
FAILING = {
    "raises": "raise ValueError('mine')\n",
    "name error": "print(undefined_name)\n",
    "zero division": "1 / 0\n",
    "assertion": "assert 1 == 2, 'not equal'\n",
    "exit": "import sys\nsys.exit(1)\n",
    "quit": "quit()\n",
    "keyboard interrupt": "raise KeyboardInterrupt\n",
    "missing package": "import pandas_that_nobody_has\n",
    "missing file": "open('data.csv').read()\n",
    "syntax": "def f(:\n    pass\n",
    "indentation": "  x = 1\n y = 2\n",
    "half a line": "x = (1 +\n",
    "prose": "Here I think about the margin.\n",
    "python 2": "print 'hello'\n",
    "bad magic body": "%%time\ndef f(:\n",
    "recursion": "def f():\n    return f()\nf()\n",
}


@pytest.mark.parametrize("lesson", GRADED)
def test_cells_that_do_no_harm_cost_nothing(warm: Grader, lesson: str) -> None:
    """All of them at once, before and after the answers."""
    cells = [
        text for name, text in HARMLESS.items() if name != "warnings as errors"
    ]  # it changes what the next ones do
    assert_full(grade(warm, with_cells(solved(lesson), cells, cells)))


@pytest.mark.dpo
@pytest.mark.parametrize("name", HARMLESS)
def test_each_harmless_cell_alone(warm: Grader, name: str) -> None:
    made = with_cells(solved(DPO), [HARMLESS[name]], [HARMLESS[name]])
    assert_full(grade(warm, made))


@pytest.mark.parametrize("lesson", GRADED)
@pytest.mark.parametrize("name", FAILING)
def test_cells_that_fail_cost_nothing_and_are_named(warm: Grader, lesson: str, name: str) -> None:
    made = with_cells(solved(lesson), [FAILING[name]])
    number = next(i for i, cell in enumerate(made["cells"], start=1) if source(cell) == FAILING[name])
    result = grade(warm, made)
    assert_full(result, problems=True)
    assert len(result.problems) == 1
    assert result.problems[0].startswith(f"cell {number}")
    assert "\n" not in result.problems[0]


SURROUNDED = [
    ("%time {name}", "line magic on the answer"),
    ("{name}?", "help on the answer"),
    ("print({name})", "print"),
    ("assert callable({name})", "assert"),
    ("check({name})", "check"),
    ("help({name})", "help"),
    ("import inspect\ninspect.getsource({name})", "inspect.getsource"),
]


@pytest.mark.parametrize("lesson", GRADED)
def test_statements_beside_the_answer_in_its_own_cell(warm: Grader, lesson: str) -> None:
    made = solved(lesson)
    for name in functions(lesson):
        cell = cell_of(made, name)
        around = "\n".join(text.format(name=name) for text, _ in SURROUNDED)
        cell["source"] = f"!pip install numpy\nx = !ls\n{source(cell)}\n{around}\n"
    assert_full(grade(warm, made))


@pytest.mark.parametrize("lesson", GRADED)
def test_an_error_below_the_answer_in_its_own_cell(warm: Grader, lesson: str) -> None:
    made = solved(lesson)
    for name in functions(lesson):
        cell = cell_of(made, name)
        cell["source"] = source(cell) + f"\nprint({name}())  # arguments forgotten\n"
    assert_full(grade(warm, made), problems=True)


@pytest.mark.parametrize("lesson", GRADED)
@pytest.mark.parametrize("magic", ["%%time", "%%capture out", "%%timeit -n 1 -r 1", "%%prun -q"])
def test_a_cell_magic_on_the_answer(warm: Grader, lesson: str, magic: str) -> None:
    made = solved(lesson)
    for name in functions(lesson):
        cell = cell_of(made, name)
        cell["source"] = f"{magic}\n{source(cell)}"
    assert_full(grade(warm, made))


def inner(name: str, text: str) -> str:
    """The answer under another name, as a helper of what is graded."""
    return text.replace(f"def {name}(", f"def inner_{name}(", 1)


# How functions are written -------------------------------------------------------------------------------------------


def wraps(name: str, text: str) -> str:
    return (
        "import functools\ndef logged(function):\n    @functools.wraps(function)\n    def inner(*args, **kwargs):\n"
        f"        return function(*args, **kwargs)\n    return inner\n\n@logged\n{text}"
    )


def bare_decorator(name: str, text: str) -> str:
    return f"def logged(function):\n    def inner(*args):\n        return function(*args)\n    return inner\n\n@logged\n{text}"  # noqa: E501


def decorator_with_arguments(name: str, text: str) -> str:
    return (
        "import functools, time\ndef timed(unit='s'):\n    def outer(function):\n        @functools.wraps(function)\n"
        "        def inner(*args):\n            started = time.perf_counter()\n            result = function(*args)\n"
        f"            return result\n        return inner\n    return outer\n\n@timed(unit='ms')\n{text}"
    )


def memo(name: str, text: str) -> str:
    """Like lru_cache, for arguments that cannot be hashed."""
    return (
        "import functools\ndef memo(function):\n    known = {}\n    @functools.wraps(function)\n    def inner(*args):\n"
        "        key = tuple(map(id, args))\n        known.clear()\n        if key not in known:\n"
        f"            known[key] = function(*args)\n        return known[key]\n    return inner\n\n@memo\n{text}"
    )


def grader_decorator(name: str, text: str) -> str:
    return f"from grader import picture\n{text}\n{name} = {name}\n"


def lambdas(name: str, text: str) -> str:
    return inner(name, text) + f"\n{name} = lambda *args: inner_{name}(*args)\n"


def partial(name: str, text: str) -> str:
    return (
        text.replace(f"def {name}(", f"def inner_{name}(unused, ", 1)
        + f"\nfrom functools import partial\n{name} = partial(inner_{name}, None)\n"
    )


def static_method(name: str, text: str) -> str:
    inner = "\n".join(f"    {line}" for line in text.splitlines())
    return f"class Answers:\n    @staticmethod\n{inner}\n\n{name} = Answers.{name}\n"


def bound_method(name: str, text: str) -> str:
    inner = "\n".join(f"    {line}" for line in text.replace(f"def {name}(", f"def {name}(self, ", 1).splitlines())
    return f"class Answers:\n{inner}\n\n{name} = Answers().{name}\n"


def callable_object(name: str, text: str) -> str:
    inner = "\n".join(f"    {line}" for line in text.replace(f"def {name}(", "def __call__(self, ", 1).splitlines())
    return f"class Answer:\n{inner}\n\n{name} = Answer()\n"


def factory(name: str, text: str) -> str:
    inner = "\n".join(f"    {line}" for line in text.splitlines())
    return f"def make():\n{inner}\n    return {name}\n\n{name} = make()\n"


def alias(name: str, text: str) -> str:
    return text.replace(f"def {name}(", f"def my_{name}(", 1) + f"\n{name} = my_{name}\n"


def conditional(name: str, text: str) -> str:
    inner = "\n".join(f"    {line}" for line in text.splitlines())
    return f"import sys\nif sys.version_info >= (3,):\n{inner}\n"


def guarded(name: str, text: str) -> str:
    inner = "\n".join(f"    {line}" for line in text.splitlines())
    return f"try:\n{inner}\nexcept Exception:\n    raise\n"


def helper(name: str, text: str) -> str:
    return inner(name, text) + f"\ndef {name}(*args):\n    return inner_{name}(*args)\n"


def helper_below(name: str, text: str) -> str:
    return f"def {name}(*args):\n    return inner_{name}(*args)\n\n" + inner(name, text)


def keyword_call(name: str, text: str) -> str:
    return inner(name, text) + f"\ndef {name}(*args, **more):\n    return inner_{name}(*args, **more)\n"


def extra_defaults(name: str, text: str) -> str:
    end = min(i for i in (text.find("):"), text.find(") ->")) if i > 0)
    return f"{text[:end].rstrip().rstrip(',')}, scale=1.0, *, verbose=False{text[end:]}"


def default_beta(name: str, text: str) -> str:
    return text.replace("beta):", "beta=0.1):", 1).replace("beta: float)", "beta: float = 0.1)", 1)


def annotated(name: str, text: str) -> str:
    head, _, rest = text.partition("(")
    parameters, _, body = rest.partition("):")
    names = [p.split(":")[0].strip() for p in parameters.split(")")[0].split(",") if p.strip()]
    typed = ", ".join(f'{p}: Float[Tensor, "batch tokens"]' for p in names)
    body = text[text.index(":\n") + 1 :]
    return f"from __future__ import annotations\n\n{head}({typed}) -> \"Float[Tensor, 'batch']\":{body}"


def quoted_annotations(name: str, text: str) -> str:
    head, _, rest = text.partition("(")
    parameters = rest[: rest.index(")")]
    names = [p.split(":")[0].strip() for p in parameters.split(",") if p.strip()]
    typed = ", ".join(f"{p}: \"Float[Tensor, 'b t']\"" for p in names)
    return f"{head}({typed}) -> \"Float[Tensor, 'b']\":{text[text.index(':' + chr(10)) + 1 :]}"


def constants(name: str, text: str) -> str:
    return f"ZERO = 0\nONES = (1, 1.0)\n{text}\nassert ZERO == 0\n"


def noisy(name: str, text: str) -> str:
    body = "    import sys, warnings\n    print('called', file=sys.stderr)\n    print('x' * 1000)\n    warnings.warn('noisy')\n"  # noqa: E501
    return inner(name, text) + f"\ndef {name}(*args):\n{body}    return inner_{name}(*args)\n"


def progress_bar(name: str, text: str) -> str:
    return inner(name, text) + (
        f"\ndef {name}(*args):\n    from tqdm.auto import tqdm\n    for _ in tqdm(range(2)):\n"
        f"        result = inner_{name}(*args)\n    return result\n"
    )


def displays(name: str, text: str) -> str:
    return inner(name, text) + (
        f"\ndef {name}(*args):\n    display('inside')\n    result = inner_{name}(*args)\n    return result\n"
    )


def suppressed_warnings(name: str, text: str) -> str:
    return inner(name, text) + (
        f"\ndef {name}(*args):\n    with np.errstate(all='ignore'):\n        return inner_{name}(*args)\n"
    )


def comments_and_docstring(name: str, text: str) -> str:
    return f'"""A module docstring."""\n# %% not a cell\n#!/usr/bin/env python\n{text}\n# done\n'


STYLES = [
    wraps, bare_decorator, decorator_with_arguments, memo, grader_decorator, lambdas, partial, static_method, bound_method,  # noqa: E501
    callable_object, factory, alias, conditional, guarded, helper, helper_below, keyword_call, extra_defaults, default_beta,  # noqa: E501
    annotated, quoted_annotations, constants, noisy, displays, suppressed_warnings, comments_and_docstring,
]  # fmt: skip


@pytest.mark.parametrize("lesson", GRADED)
@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.__name__)
def test_however_a_function_is_written(warm: Grader, lesson: str, style: Callable[[str, str], str]) -> None:
    answers = {name: style(name, text) for name, text in references(lesson).items()}
    result = grade(warm, sample.answered(lesson, answers))
    assert result.points == 10.0, [(e.name, g.name, g.message) for e in result.exercises for g in e.groups] + list(
        result.problems
    )


@pytest.mark.parametrize("lesson", [KL, SPO])
def test_progress_bars_inside_a_function(warm: Grader, lesson: str) -> None:
    # not in lesson 3: tqdm is neither numpy nor the standard library
    answers = {name: progress_bar(name, text) for name, text in references(lesson).items()}
    assert_full(grade(warm, sample.answered(lesson, answers)))


@pytest.mark.parametrize("lesson", GRADED)
def test_functions_in_a_module_made_in_a_cell(warm: Grader, lesson: str) -> None:
    text = "import numpy as np\nimport torch\n" if lesson in (KL, SPO) else "import numpy as np\n"
    text += "\n\n".join(references(lesson).values())
    for take in ("from answers import *", f"from answers import {', '.join(functions(lesson))}",
                 "import answers\n" + "\n".join(f"{f} = answers.{f}" for f in functions(lesson))):  # fmt: skip
        made = released(lesson)
        for name in functions(lesson):
            made["cells"].remove(cell_of(made, name))
        made = {**made, "cells": [*made["cells"], code(f"%%writefile answers.py\n{text}"), code(take)]}
        assert_full(grade(warm, made, lesson))


@pytest.mark.parametrize("lesson", GRADED)
def test_functions_in_a_module_with_the_stubs_left_alone(warm: Grader, lesson: str) -> None:
    text = "import numpy as np\nimport torch\n" if lesson in (KL, SPO) else "import numpy as np\n"
    text += "\n\n".join(references(lesson).values())
    made = released(lesson)
    made["cells"] += [
        code(f"%%writefile answers.py\n{text}"),
        code(f"from answers import {', '.join(functions(lesson))}"),
    ]
    assert_full(grade(warm, made))


@pytest.mark.parametrize("lesson", GRADED)
def test_scripts(warm: Grader, lesson: str) -> None:
    """A plain .py, with the imports that it needs, and with the lesson's imports left out."""
    text = "\n\n".join(references(lesson).values())
    assert_full(grade(warm, f"import numpy as np\nimport torch\n\n{text}"))
    assert_full(grade(warm, text))
    assert_full(grade(warm, f"from __future__ import annotations\nimport numpy as np\nimport torch\n{text}"))
    assert_full(grade(warm, f"{text}\n\nif __name__ == '__main__':\n    raise SystemExit(0)\n"), problems=True)


@pytest.mark.parametrize("lesson", GRADED)
def test_one_function_in_a_script(warm: Grader, lesson: str) -> None:
    first = functions(lesson)[0]
    result = grade(warm, references(lesson)[first], lesson)
    assert {e.name: e.status for e in result.exercises} == {
        name: "passed" if name == first else "not attempted" for name in functions(lesson)
    }


@pytest.mark.kl
def test_arguments_in_the_graph_may_be_renamed_but_not_reordered(warm: Grader) -> None:
    text = sample.reference("kl_penalized_rewards")
    renamed = text.replace("policy_log_probs", "lp").replace("reference_log_probs", "lr")
    assert grade(warm, renamed).points == 10.0


@pytest.mark.dpo
def test_a_slow_cell_is_cut_to_its_definitions(warm: Grader) -> None:
    """A training loop below the answers, which never ends: the definitions count."""
    made = with_cells(solved(DPO), after=["rate = 0.5\nwhile True:\n    pass\n"])
    result = grade(warm, made)
    assert_full(result, problems=True)
    assert len(result.problems) == 1
    assert "only its definitions were used" in result.problems[0]


def test_every_helper_here_is_used() -> None:
    kinds: list[Any] = [*EDITORS, *STYLES, progress_bar]
    assert len(kinds) == len(set(kinds))
