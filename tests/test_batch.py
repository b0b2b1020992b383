"""Many submissions: found, graded in any number of processes, skipped when unchanged, none in another's way."""

import json
import os
import shutil
import signal
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from nbgrader import api
from nbgrader.api import Gradebook
from support import BIN, MARKS, references, run_grader

from grader import batch, engines, sample
from grader.batch import Item, discover, grade_all
from grader.classroom import Order, beside, grade_class, ingest, latest, timestamp_of
from grader.console import summary
from grader.course import ROOT
from grader.notebook import grade_id_of
from grader.receipt import exercises_digest, receipt, same
from grader.report import SubmissionResult, from_json, to_json
from grader.task import Graded, Settings, Task

LESSON = "03_stable_dpo"
SETTINGS = Settings("test", isolation="process", disclosure="hints")
HOSTILE = {
    "broken": b'{"cells": [',
    "empty": b"",
    "binary": bytes(range(256)) * 50,
    "a list": b"[1, 2]",
    "deep": b"[" * 200_000,
    "no cells": b'{"cells": 7}',
}


def submit(root: Path, student: str, answers: dict[str, str], lesson: str = LESSON, **how: object) -> Path:
    """A submission in the course folder ``root``."""
    return sample.write(sample.Student(student, lesson, answers, **how), root / "submitted")  # type: ignore[arg-type]


def raw(root: Path, student: str, data: bytes) -> Path:
    """A submission of bytes."""
    path = root / "submitted" / student / LESSON / f"{LESSON}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return path


def order(root: Path, **options: object) -> Order:
    """Everything in the course folder, into its own gradebook."""
    address = f"sqlite:///{root}/gradebook.db"
    given = {"gradebook": True, "db": address, "feedback": root / "feedback", **options}
    return Order([root / "submitted"], SETTINGS, **given)  # type: ignore[arg-type]


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """An empty course folder; the current folder's configuration does not apply."""
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    return tmp_path


def scores(root: Path) -> dict[str, float]:
    """Student -> score in the gradebook."""
    with Gradebook(f"sqlite:///{root}/gradebook.db") as book:
        return {s.student.id: s.score for s in book.db.query(api.SubmittedAssignment)}


def test_processes_give_what_one_process_gives_in_the_same_order(course: Path) -> None:
    right = references(LESSON)
    for number, answers in enumerate([right, {}, {**right, "dpo_loss": "def dpo_loss(*a):\n    return 0.0\n"}] * 2):
        submit(course, f"s{number}", answers)
    items = list(discover([course / "submitted"]))
    alone, together = ([(i, r) for i, r in grade_all(items, SETTINGS, jobs)] for jobs in (1, 2))
    assert [i for i, _ in alone] == [i for i, _ in together] == items
    for (_, a), (_, b) in zip(alone, together, strict=True):
        assert {**a.receipt, "seconds": 0} == {**b.receipt, "seconds": 0}
        assert (a.points, a.exercises, a.problems) == (b.points, b.exercises, b.problems)
    assert [r.points for _, r in alone] == [10.0, 0.0, 6.0] * 2  # dpo_loss is worth 4


def test_hostile_submissions_fail_alone_and_are_flagged_for_a_human(course: Path) -> None:
    for student, data in HOSTILE.items():
        raw(course, student, data)
    submit(course, "honest", references(LESSON))
    done = grade_class(order(course, jobs=2))
    status = {Path(r.submission).parts[-3]: r.status for r in done.results}
    assert status == {**dict.fromkeys(HOSTILE, "failed"), "honest": "graded"}
    assert scores(course) == {**dict.fromkeys(HOSTILE, 0.0), "honest": 10.0}
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        flagged = {s.student.id for s in book.db.query(api.SubmittedAssignment) if s.needs_manual_grade}
    assert flagged == set(HOSTILE)
    for student in HOSTILE:  # a page that says why, and a notebook that formgrader can open
        assert "not a notebook" in (course / "feedback" / student / LESSON / f"{LESSON}.html").read_text()
        nb = json.loads((course / "autograded" / student / LESSON / f"{LESSON}.ipynb").read_text())
        assert sum(grade_id_of(cell).startswith("check_") for cell in nb["cells"]) == 3


def test_names_that_cannot_be_students_stay_out(course: Path) -> None:
    names = ["=cmd", "a\nb", "x" * 140]
    for name in [*names, "fine"]:
        submit(course, name, {})
    done = grade_class(order(course))
    assert sorted(r.status for r in done.results) == ["failed"] * 3 + ["graded"]
    assert scores(course) == {"fine": 0.0}
    assert [p.name for p in (course / "autograded").iterdir()] == ["fine"]
    assert [p.name for p in (course / "feedback").iterdir()] == ["fine"]


def test_links_are_not_followed(course: Path) -> None:
    path = submit(course, "ada", references(LESSON))
    (course / "private.txt").write_text("not handed in")
    (path.parent / "notes.txt").symlink_to(course / "private.txt")
    raw(course, "eve", b"{}").unlink()
    (course / "submitted" / "eve" / LESSON / f"{LESSON}.ipynb").symlink_to(path)
    (course / "submitted" / "mallory").symlink_to(course / "submitted" / "ada")
    done = grade_class(order(course))
    assert [r.status for r in done.results] == ["graded", "failed"]
    assert not (course / "autograded" / "ada" / LESSON / "notes.txt").exists()
    assert scores(course) == {"ada": 10.0}


def test_only_what_changed_is_graded_again(course: Path) -> None:
    right = references(LESSON)
    submit(course, "ada", right)
    path = submit(course, "bob", {})
    submit(course, "cleo", {"imports": "import numpy as np\n", **right}, file="py")
    again = order(course, only_changed=True)
    assert (len(grade_class(again).results), grade_class(again).skipped) == (3, 3)
    submit(course, "bob", right)
    done = grade_class(again)
    assert ([r.points for r in done.results], done.skipped) == ([10.0], 2)
    (path.parent / "timestamp.txt").write_text("2030-01-08 12:00:00 UTC")
    assert len(grade_class(again).results) == 1  # lateness may have changed
    (course / "feedback" / "ada" / LESSON / f"{LESSON}.html").unlink()
    assert len(grade_class(again).results) == 1  # its page is missing
    again.settings = Settings("another secret", isolation="process", disclosure="hints")
    assert len(grade_class(again).results) == 3
    (course / "gradebook.db").unlink()
    assert len(grade_class(again).results) == 3  # the receipts are there, the marks are not


def test_a_resubmission_never_keeps_old_marks(course: Path) -> None:
    submit(course, "ada", references(LESSON))
    grade_class(order(course))
    assert scores(course) == {"ada": 10.0}
    nb = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (course / "submitted" / "ada" / LESSON / f"{LESSON}.ipynb").write_text(json.dumps(nb))
    grade_class(order(course))
    assert scores(course) == {"ada": 0.0}


def test_the_latest_of_two_files_counts(course: Path) -> None:
    old = submit(course, "ada", {})
    new = submit(course, "ada", {"imports": "import numpy as np\n", **references(LESSON)}, file="py")
    os.utime(old, (1000, 1000))
    os.utime(new, (2000, 2000))
    assert [i.path for i in latest(discover([course / "submitted"]))] == [new]
    os.utime(old, (3000, 3000))
    assert [i.path for i in latest(discover([course / "submitted"]))] == [old]


def test_a_script_is_wrapped_beside_itself_and_stays(course: Path) -> None:
    path = submit(course, "ada", {"imports": "import numpy as np\n", **references(LESSON)}, file="py")
    text = path.read_text()
    grade_class(order(course))
    assert path.read_text() == text
    wrapped = json.loads(path.with_suffix(".ipynb").read_text())
    assert "".join("".join(cell["source"]) for cell in wrapped["cells"]).count("def dpo_loss") == 1
    assert (course / "autograded" / "ada" / LESSON / f"{LESSON}.py").read_text() == text
    assert [i.path for i in latest(discover([course / "submitted"]))] == [path]  # not its own wrapping


def test_a_learners_notebook_is_not_overwritten_by_a_wrapping(course: Path) -> None:
    path = submit(course, "ada", {})
    before = path.read_bytes()
    script = path.with_suffix(".py")
    script.write_text("x = 1\n")
    ingest(script, path.name)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "kept"), [("2030-01-08 12:00:00.000000 UTC\n", True), ("yesterday-ish", False), ("", False)]
)
def test_timestamps_that_cannot_be_read_are_none(tmp_path: Path, text: str, kept: bool) -> None:
    (tmp_path / "timestamp.txt").write_text(text)
    assert timestamp_of(tmp_path) == (text.strip() if kept else "")
    assert timestamp_of(tmp_path / "nowhere") == ""


def test_what_lies_beside_a_submission_is_listed_without_hidden_files(tmp_path: Path) -> None:
    for name in ("a.txt", "deep/b.csv", ".hidden", "__pycache__/c.pyc"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [name for name, _ in beside(tmp_path)] == ["a.txt", "deep/b.csv"]


def test_a_killed_worker_process_loses_nothing(course: Path) -> None:
    for number in range(12):
        submit(course, f"s{number:02}", references(LESSON))
    todo = [(item.student, batch.read(item)) for item in discover([course / "submitted"])]
    answers = {}
    with closing(engines.Pool(SETTINGS, 2)) as engine:
        for student, graded in engines.drive(engine, todo):
            answers[student] = graded
            if len(answers) == 2:
                os.kill(next(iter(engine._pool._processes)), signal.SIGKILL)
    assert {student: graded.result.points for student, graded in answers.items()} == {s: 10.0 for s, _ in todo}


def test_a_killed_warm_worker_is_replaced(course: Path) -> None:
    path = submit(course, "ada", references(LESSON))
    with closing(engines.Here(SETTINGS)) as engine:
        for _ in range(2):
            graded = engine.answer(engine.submit(batch.read(Item(path, "x"))))
            assert graded.result.points == 10.0
            assert engine._grader.worker is not None
            os.kill(engine._grader.worker._process.pid, signal.SIGKILL)
            engine._grader.worker._process.wait()


def test_workers_do_not_wait_for_the_writer() -> None:
    """While whoever takes the answers is busy, the engine keeps as many tasks as it needs, and not more."""

    class Slow:
        settings, workers = SETTINGS, 2
        most = 0

        def __init__(self) -> None:
            self.open: list[Task] = []

        def submit(self, task: Task) -> Task:
            self.open.append(task)
            self.most = max(self.most, len(self.open))
            return task

        def finished(self, handles: object) -> list[Task]:
            return self.open[:1]

        def answer(self, handle: Task) -> Graded:
            self.open.remove(handle)
            return Graded(SubmissionResult("", "", "graded"))

    engine = Slow()
    taken = 0
    for _ in engines.drive(engine, ((n, Task(b"", "x.py", "", str(n))) for n in range(100))):  # type: ignore[arg-type]
        taken += 1
        if taken < 60:
            assert len(engine.open) == engines.WAITING * engine.workers - 1
    assert (taken, engine.most) == (100, engines.WAITING * 2)


def test_large_submissions_do_not_pile_up() -> None:
    big = bytes(engines.BYTES // 3)

    class Counting(engines.Here):
        def __init__(self) -> None:
            self.settings, self.held, self.most = SETTINGS, 0, 0

        def submit(self, task: Task) -> object:  # type: ignore[override]
            self.held += 1
            self.most = max(self.most, self.held)
            return object()

        def finished(self, handles: object) -> list[object]:
            return list(handles)[:1]  # type: ignore[call-overload]

        def answer(self, handle: object) -> Graded:
            self.held -= 1
            return Graded(SubmissionResult("", "", "graded"))

    engine = Counting()
    assert len(list(engines.drive(engine, ((n, Task(big, "x.py", "", "")) for n in range(9))))) == 9
    assert engine.most == 4


def test_the_receipt_says_what_a_mark_was_made_from(course: Path) -> None:
    path = submit(course, "ada", references(LESSON))
    with closing(engines.Here(SETTINGS)) as engine:
        result = engine.answer(engine.submit(batch.read(Item(path, "x")))).result
    noted = dict(result.receipt)
    assert 0 <= noted.pop("seconds") < 60  # tenths: finer ones would be a channel out of the sandbox
    assert noted.keys() == {
        "submission", "exercises", "secret", "isolation", "disclosure", "versions", "timestamp",
    }  # fmt: skip
    assert SETTINGS.secret not in json.dumps(noted["secret"])
    assert noted["versions"].keys() == {"grader", "python", "numpy", "torch"}
    assert same(
        noted, receipt(LESSON, SETTINGS.secret, "process", "hints") | {k: noted[k] for k in ("submission", "timestamp")}
    )
    assert not same(noted, noted | {"exercises": "other"})


def test_the_receipt_changes_with_hidden_cases_and_points(tmp_path: Path) -> None:
    for folder in ("solutions", "notebooks"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    exercises_digest.cache_clear()
    digests = {lesson: exercises_digest(lesson, tmp_path) for lesson in MARKS}
    assert len(set(digests.values())) == len(MARKS)
    assert digests == {lesson: exercises_digest(lesson) for lesson in MARKS}
    exercises_digest.cache_clear()
    path = tmp_path / "notebooks" / LESSON / f"{LESSON}.ipynb"
    path.write_text(path.read_text().replace('"points": 4', '"points": 5'))
    assert exercises_digest(LESSON, tmp_path) != digests[LESSON]


def test_an_answer_survives_json() -> None:
    result = SubmissionResult("s", LESSON, "graded", 1.0, 2.0, ("p",), receipt={"a": {"b": "c"}})
    graded = Graded(result, "{}", {"f": None}, {"f": "x"})
    assert Graded.from_plain(json.loads(json.dumps(graded.plain()))) == graded
    assert from_json(to_json([result])["results"][0]) == result


def test_the_summary_names_what_the_class_is_missing(course: Path) -> None:
    right = references(LESSON)
    submit(course, "ada", right)
    submit(course, "bob", {**right, "dpo_loss": sample.wrong_answer("dpo_loss", "missing_minus")})
    lines = summary(grade_class(order(course, gradebook=False, db="")).results)
    assert lines[0].startswith(f"{LESSON}: 2 graded, mean ")
    assert "  dpo_loss: margin: 1 of 2 passed" in lines
    assert "  dpo_loss: 1 × missing_minus" in lines
    assert not any("implicit_reward" in line for line in lines)


def test_pages_of_files_with_one_name_do_not_overwrite_each_other(tmp_path: Path) -> None:
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "work.py").write_text("import numpy as np\n" + "\n".join(references(LESSON).values()))
    files = [tmp_path / "a" / "work.py", tmp_path / "b" / "work.py"]
    grade_class(Order(files, SETTINGS, feedback=tmp_path / "pages"))
    assert sorted(p.name for p in (tmp_path / "pages").iterdir()) == ["work-2.html", "work.html"]


def test_the_command_says_what_goes_together(tmp_path: Path) -> None:
    done = run_grader("grade", str(tmp_path), "--only-changed")
    assert done.returncode == 2
    assert "--only-changed and --db go with --gradebook" in done.stderr


def test_nothing_heavy_is_imported_for_help_or_by_workers() -> None:
    """Seconds are not tested; what would cost them is."""
    import subprocess

    heavy = "{'torch', 'matplotlib', 'nbgrader', 'nbconvert', 'IPython', 'sqlalchemy', 'numpy', 'rich'}"
    for module, unwanted in (("grader.cli", heavy), ("grader.engines", heavy.replace(", 'numpy'", ""))):
        code = f"import sys, {module}; sys.exit(' '.join({unwanted} & set(sys.modules)) or 0)"
        done = subprocess.run([str(BIN / "python"), "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{module} imports {done.stderr}"


def test_a_grader_that_is_killed_takes_its_workers_along(course: Path) -> None:
    """The worker processes end with their parent, their warm workers with them."""
    stop = threading.Event()
    context = engines.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_pool_that_waits, args=(sender,))
    process.start()
    pids = receiver.recv()
    assert len(pids) == 2
    process.kill()
    process.join()
    end = time.monotonic() + 30
    while any(_alive(pid) for pid in pids) and time.monotonic() < end:
        stop.wait(0.05)
    assert not any(_alive(pid) for pid in pids)


def _pool_that_waits(sender: object) -> None:
    pool = engines.Pool(SETTINGS, 2)
    pool.warm_up()
    time.sleep(1)
    sender.send(list(pool._pool._processes))  # type: ignore[attr-defined]
    time.sleep(600)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
