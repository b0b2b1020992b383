"""Reading submissions: what is a notebook, which cells are the learner's, which lesson it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import GRADED, cell_of, code, grade_id, references, released, solved, source, with_cells

from grader import notebook
from grader.course import lesson
from grader.notebook import SubmissionError, load, loads

DPO = "03_stable_dpo"
F = "def implicit_reward(policy_logprob, ref_logprob, beta):\n    return beta * (policy_logprob - ref_logprob)\n"


def cells_of(made: dict[str, Any], name: str = DPO) -> list[tuple[int, str]]:
    return list(loads(json.dumps(made).encode(), "n.ipynb", name).code.cells)


def text_of(made: dict[str, Any], name: str = DPO) -> str:
    return "\n".join(text for _, text in cells_of(made, name))


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("n.ipynb", b"", "n.ipynb: not a notebook, its JSON is broken at line 1; open it in Jupyter and save it again"),
        ("n.ipynb", b'{"cells": [\n{"cell_type"', "n.ipynb: not a notebook, its JSON is broken at line 2; "
         "open it in Jupyter and save it again"),
        ("n.ipynb", b"[" * 200_000, "n.ipynb: not a notebook, its JSON is broken; open it in Jupyter and save it again"),  # noqa: E501
        ("n.ipynb", b"[1, 2]", "n.ipynb: JSON, but not a notebook (it has no cells); submit the .ipynb file"),
        ("n.ipynb", b'{"a": 1}', "n.ipynb: JSON, but not a notebook (it has no cells); submit the .ipynb file"),
        ("n.ipynb", b'{"cells": 3}', "n.ipynb: JSON, but not a notebook (it has no cells); submit the .ipynb file"),
        ("n.ipynb", b"\x89PNG\r\n", "n.ipynb: not a notebook, its JSON is broken at line 1; "
         "open it in Jupyter and save it again"),
    ],
    ids=["empty", "cut off", "deep", "a list", "no cells", "cells is a number", "a picture"],
)  # fmt: skip
def test_what_is_no_notebook(name: str, data: bytes, said: str) -> None:
    with pytest.raises(SubmissionError) as error:
        loads(data, name)
    assert str(error.value) == said


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "d.ipynb").mkdir()
    (tmp_path / "n.txt").write_text("x")
    for path, said in {
        tmp_path / "d.ipynb": "d.ipynb: not a file; check the path",
        tmp_path / "gone.ipynb": "gone.ipynb: no such file; check the path",
        tmp_path / "n.txt": "n.txt: not a notebook (.ipynb) or Python file (.py); submit one of these",
        tmp_path / "nul\0.py": "nul\0.py: no such file; check the path",
        tmp_path / ("x" * 300 + ".py"): "x" * 300 + ".py: cannot be read (OSError); check its permissions",
    }.items():
        with pytest.raises(SubmissionError) as error:
            load(path)
        assert str(error.value) in (said, said.replace("no such file; check the path", "cannot be read (ValueError); "
                                                       "check its permissions"))  # fmt: skip


def test_too_large(tmp_path: Path) -> None:
    path = tmp_path / "big.ipynb"
    with path.open("wb") as file:
        file.truncate(notebook.MAX_BYTES + 1)  # sparse: takes no room
    with pytest.raises(SubmissionError, match=r"big.ipynb: larger than 100 MB; clear the outputs"):
        load(path)


def test_no_graded_functions() -> None:
    with pytest.raises(
        SubmissionError, match=r"n.py: defines no graded function; .*--assignment.*\(the functions are kl_penalized"
    ):
        loads(b"x = 1", "n.py")


def test_named_assignment_decides() -> None:
    assert loads(b"x = 1", "n.py", DPO).lesson.name == DPO


@pytest.mark.parametrize("name", GRADED)
def test_the_lesson_is_found(name: str) -> None:
    for made in (released(name), solved(name)):
        assert loads(json.dumps(made).encode(), "n.ipynb").lesson.name == name
    assert loads("\n".join(references(name).values()).encode(), "n.py").lesson.name == name


def test_a_tie_is_decided_by_the_file_name_or_not_at_all() -> None:
    both = (F + "\ndef spo_loss(*a):\n    return 0\n").encode()
    assert loads(both, "my_03_stable_dpo.py").lesson.name == DPO
    with pytest.raises(SubmissionError, match=r"n\.py: fits 02_spo_regression and 03_stable_dpo alike; say which"):
        loads(both, "n.py")


def test_borrowing_is_not_defining() -> None:
    text = 'from grader import borrow\nkl_penalized_rewards = borrow("kl_penalized_rewards")\n' + F
    assert loads(text.encode(), "n.py").lesson.name == DPO


def test_our_cells_do_not_run_and_the_setup_is_ours() -> None:
    cells = cells_of(released(DPO))
    assert cells[0] == (0, lesson(DPO).setup)
    text = "\n".join(text for _, text in cells[1:])
    assert "@picture" not in text
    assert "check(" not in text
    assert "def implicit_reward" in text


def test_the_learners_cells_run_in_order() -> None:
    made = with_cells(solved(DPO), ["first = 1"], ["last = 2"])
    text = text_of(made)
    assert (
        text.index("first = 1")
        < text.index("def implicit_reward")
        < text.index("def dpo_loss")
        < text.index("last = 2")
    )


def test_an_edited_copy_of_our_cell_with_an_answer_in_it_runs() -> None:
    made = released(DPO)
    cell_of(made, "check_implicit_reward")["source"] = F + "check(implicit_reward)"
    assert F in text_of(made)


def test_without_metadata_our_cells_are_known_by_their_text() -> None:
    made = solved(DPO)
    for cell in made["cells"]:
        cell["metadata"] = {}
    assert cells_of(made) == cells_of(solved(DPO))


def test_a_spare_stub_of_an_answered_function_is_blanked() -> None:
    made = solved(DPO)
    made["cells"].append(cell_of(released(DPO), "dpo_loss"))  # duplicated before it was answered
    assert text_of(made).count("def dpo_loss") == 1
    # two stubs and no answer: a stub stays, and says "not attempted"
    blank = released(DPO)
    blank["cells"].append(cell_of(released(DPO), "dpo_loss"))
    assert text_of(blank).count("def dpo_loss") == 2


def test_an_answer_turned_into_text_is_rescued() -> None:
    made = solved(DPO)
    cell_of(made, "dpo_loss")["cell_type"] = "markdown"
    assert "def dpo_loss" in text_of(made)
    raw = solved(DPO)
    cell_of(raw, "dpo_loss")["cell_type"] = "raw"
    assert "def dpo_loss" in text_of(raw)


def test_prose_is_not_code() -> None:
    made = solved(DPO)
    made["cells"].append({"cell_type": "markdown", "metadata": {}, "source": "x = 'prose'"})
    assert "prose" not in text_of(made)


@pytest.mark.parametrize(
    "cell",
    [None, 3, "text", [], {}, {"cell_type": "code"}, {"cell_type": "code", "source": None, "metadata": None},
     {"cell_type": "code", "source": {"a": 1}, "metadata": []}, {"cell_type": "code", "source": [1, None]},
     {"cell_type": 7, "source": "x"}, {"cell_type": "code", "source": "x", "metadata": {"nbgrader": 3}},
     {"cell_type": "code", "source": "x = 1", "metadata": {"nbgrader": {"grade_id": ["list"]}}},
     {"cell_type": "code", "source": "x = 1", "metadata": {"nbgrader": {"grade_id": None}}}],
    ids=repr,
)  # fmt: skip
def test_odd_cells_cost_nothing(cell: Any) -> None:
    made = solved(DPO)
    made["cells"].insert(1, cell)
    assert "def dpo_grad" in text_of(made)


def test_source_may_be_lines_or_text() -> None:
    one = solved(DPO)
    cell = cell_of(one, "dpo_loss")
    cell["source"] = source(cell)
    assert cells_of(one) == cells_of(solved(DPO))


def test_nbformat_3() -> None:
    cells = [{"cell_type": "code", "input": F, "language": "python", "outputs": []}]
    made = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells}]}
    assert F in text_of(made)


def test_percent_scripts_keep_their_line_numbers() -> None:
    text = "# %% [markdown]\n# prose\n\n# %%\n" + F + "\n# %%\nbroken(\n"
    found = loads(text.encode(), "n.py", DPO)
    cell = next(source for _, source in found.code.cells if "def implicit_reward" in source)
    assert cell.splitlines().index(F.splitlines()[0]) == text.splitlines().index(F.splitlines()[0])


def test_plain_scripts_run_statement_by_statement() -> None:
    found = loads(b"import nothing_like_this\nx = 1\n" + F.encode(), "n.py", DPO)
    assert [number for number, _ in found.code.cells] == [0, 1, 1, 1]
    assert found.sources[1].splitlines()[0] == "import nothing_like_this"


def test_decorators_belong_to_their_function() -> None:
    found = loads(b"import functools\n\n@functools.cache\n" + F.encode(), "n.py", DPO)
    assert "@functools.cache\ndef implicit_reward" in found.code.cells[-1][1]


def test_a_script_that_does_not_parse_is_one_cell() -> None:
    found = loads(b"def implicit_reward(a b):\n    pass\nx = 1\n", "n.py")
    assert found.lesson.name == DPO  # known by its `def` line
    assert len(found.code.cells) == 2


def test_modules_of_writefile_cells() -> None:
    made = with_cells(solved(DPO), ["%%writefile helpers.py\nSIZE = 1\n"])
    found = loads(json.dumps(made).encode(), "n.ipynb")
    assert found.code.modules == {"helpers": "SIZE = 1\n"}


def test_encodings() -> None:
    assert loads(b"\xef\xbb\xbf" + F.encode(), "n.py").lesson.name == DPO  # a byte order mark
    found = loads(F.encode() + b"# caf\xe9\n", "n.py")
    assert found.problems == ("the file is not valid UTF-8: broken characters were replaced",)


def test_foreign_grade_ids_are_no_reason_to_skip_a_cell() -> None:
    made = solved(DPO)
    made["cells"].insert(1, code("mine = 1", nbgrader={"grade_id": "figure_of_mine", "grade": False}))
    assert "mine = 1" in text_of(made)
    assert grade_id(made["cells"][1]) == "figure_of_mine"
