"""What a submission learns of hidden inputs and answers: nothing, by any channel that a result has.

Each spy writes what it sees of the hidden arguments into one channel. Two courses that differ only in their secret
must then show the very same report: what does not depend on the hidden cases cannot tell anything about them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

import pytest
from arena import ALL_WRONG, LESSON, PRELUDE, TORCH_LESSON, good, grade, hidden_numbers, shown

from grader.grading import Grader
from grader.report import SubmissionResult

Attack = Callable[..., SubmissionResult]

SPY = """
def secret(args):
    return "LEAK " + repr([np.asarray(a).ravel()[:3].tolist() for a in args])
def bits(args):
    return int.from_bytes(secret(args).encode()[:60], "big") % 10**9
"""

SPIES: dict[str, str] = {
    "an exception's message": "def wrong(*args): raise ValueError(secret(args))",
    "an exception's class": "def wrong(*args): raise type(secret(args), (Exception,), {})",
    "an exception's line": """
def wrong(*args):
    error = ValueError()
    code = compile("\\n" * (bits(args) % 10**4) + "def f(): raise ValueError", "<cell 1>", "exec")
    names = {}
    exec(code, names)
    names["f"]()
""",
    "an exception's cell": """
def wrong(*args):
    names = {}
    exec(compile("def f(): raise ValueError", f"<cell {bits(args)}>", "exec"), names)
    names["f"]()
""",
    "notes, causes and contexts": """
def wrong(*args):
    error = ValueError(secret(args))
    error.add_note(secret(args))
    raise error from KeyError(secret(args))
""",
    "the class of a result": "def wrong(*args): return type(secret(args), (), {})()",
    "the class of a scalar": """
def wrong(*args):
    return type(secret(args), (float,), {})(0.125)
""",
    "a string": "def wrong(*args): return secret(args)",
    "the keys of a dict": "def wrong(*args): return {secret(args): secret(args)}",
    "a dtype with names": "def wrong(*args): return np.zeros(2, dtype=[(secret(args), 'f8')])",
    "standard output and error": """
def wrong(*args):
    print(secret(args), flush=True)
    print(secret(args), file=sys.stderr, flush=True)
    for number in (0, 1, 2):
        try: os.write(number, secret(args).encode())
        except OSError: pass
    return 0.125
""",
    "warnings and logs": """
import logging, warnings
def wrong(*args):
    warnings.warn(secret(args), stacklevel=1)
    logging.getLogger().error(secret(args))
    sys.excepthook(ValueError, ValueError(secret(args)), None)
    sys.unraisablehook = lambda *a: print(secret(args))
    return 0.125
""",
    "an overwritten argument": """
def wrong(*args):
    for a in args:
        if isinstance(a, np.ndarray):
            a[...] = bits(args)
    return 0.125
""",
    "words in forged answers": """
def spell(args):
    text = secret(args)
    for result in (["o", text], ["n", text, 1.0], ["t", text, "meta", [1], b""], ["t", "float32", text, [1], b"abcd"],
                   ["d", [[text, ["o", text]]]], ["l", [["s", text]]], ["t", "float32", "meta", [bits(args)], b""]):
        yield result
def wrong(*args):
    for number in descriptors():
        if number > 2:
            for index in range(200):
                for result in spell(args):
                    outcome = {"status": "returned", "result": result, "gradients": ["d", [[secret(args), ["z"]]]],
                               "changed": ["d", [[secret(args), ["z"]]]], "error": None}
                    try: os.write(number, frame({"index": index, "outcome": outcome}))
                    except OSError: break
    return 0.125
""",
    "errors in forged answers": """
def wrong(*args):
    for number in descriptors():
        if number > 2:
            for index in range(200):
                error = [secret(args), bits(args), bits(args), secret(args)]
                message = forged(index)
                message["outcome"] |= {"status": "raised", "error": error}
                try: os.write(number, frame(message))
                except OSError: break
    return 0.125
""",
    "a cell's error in the next process": """
import time
for mark in ("/tmp/planted-mark", os.path.join(os.getcwd(), "planted-mark"), "/dev/shm/planted-mark"):
    try: raise ValueError(open(mark).read())
    except OSError: pass
def wrong(*args):
    for mark in ("/tmp/planted-mark", os.path.join(os.getcwd(), "planted-mark"), "/dev/shm/planted-mark"):
        try: open(mark, "w").write(secret(args))
        except OSError: pass
    os._exit(0)
""",
    "a cell's error forged later": """
def wrong(*args):
    for number in descriptors():
        if number > 2:
            try: os.write(number, frame({"error": ["ValueError", 1, 1, secret(args)]}) * 20)
            except OSError: pass
    os._exit(0)
""",
    "numbers of processes": """
if os.getpid() % 2: raise ValueError("LEAKED bit")
def wrong(*args):
    import threading
    for _ in range(bits(args) % 50):
        thread = threading.Thread(target=int); thread.start(); thread.join()
    os._exit(0)
""",
}
BEFORE_ANY_CALL = {"numbers of processes"}  # its cell says something about the machine before it has seen anything


def told(result: SubmissionResult) -> dict[str, object]:
    """What a result says, without how long it took and under which secret."""
    return {key: value for key, value in asdict(result).items() if key != "receipt"}


@pytest.mark.parametrize("channel", SPIES)
def test_the_report_does_not_depend_on_what_is_hidden(grader: Grader, other_year: Grader, channel: str) -> None:
    source = PRELUDE + SPY + SPIES[channel] + ALL_WRONG
    this, other = grade(grader, source), grade(other_year, source)
    text = shown(this)
    assert this.points == other.points == 0
    if channel not in BEFORE_ANY_CALL:
        assert told(this) == told(other)
        assert "LEAK" not in text
    assert not [number for number in hidden_numbers(grader, LESSON) if number in text]


def test_only_the_first_process_may_report_errors(grader: Grader) -> None:
    """A restarted process comes after the hidden arguments were seen: its cells' errors are dropped."""
    source = """
import os, sys
def wrong(*args): os._exit(0)
raise ValueError("first")
"""
    result = grade(grader, source + ALL_WRONG)
    assert len([p for p in result.problems if "ValueError" in p]) <= 1


TORCH_SPIES = {
    "a tensor's class and keys": """
import torch
def kl_penalized_rewards(*args):
    name = secret([a.numpy() for a in args[:4]])
    kind = type(name, (torch.Tensor,), {})
    t = torch.zeros(()).as_subclass(kind)
    return {"objective": t, "penalized_rewards": name, "sampled_divergences": {name: t}}
""",
    "a gradient's error": """
import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): ctx.save_for_backward(x); return x.sum() * 0
    @staticmethod
    def backward(ctx, g): raise RuntimeError(secret([ctx.saved_tensors[0].numpy()]))
def kl_penalized_rewards(a, *args):
    t = F.apply(a)
    return {"objective": t, "penalized_rewards": t, "sampled_divergences": t}
""",
}


@pytest.mark.parametrize("channel", TORCH_SPIES)
def test_the_report_does_not_depend_on_hidden_tensors(grader: Grader, other_year: Grader, channel: str) -> None:
    source = PRELUDE + SPY + TORCH_SPIES[channel]
    this, other = grade(grader, source, TORCH_LESSON), grade(other_year, source, TORCH_LESSON)
    assert told(this) == told(other)
    assert "LEAK" not in shown(this)


def test_hints_are_blind_to_what_a_spy_returns(diagnosing: Grader) -> None:
    """With the diagnosis on: strings, classes and exceptions of a spy match nothing and appear nowhere."""
    for channel in ("a string", "an exception's class", "the keys of a dict", "an overwritten argument"):
        only = PRELUDE + SPY + SPIES[channel] + "\nimplicit_reward = wrong\n"
        text = shown(grade(diagnosing, only))
        assert "LEAK" not in text
        assert not [number for number in hidden_numbers(diagnosing, LESSON) if number in text]


def test_a_spy_finds_nothing_of_the_course_in_memory(grader: Grader) -> None:
    """A child's memory: no secret, no reference, no expected value of a hidden case, no neighbour."""
    assert grade(grader, good(LESSON) + "\nNEIGHBOUR = 'the-neighbours-own-words'\n").points == 10
    words = (
        grader.secret,
        "the-neighbours-own-words",
        "plain_formula",
        "misconception",
        "hidden_cases",
        "BEGIN SOLUTION",
    )
    # the spy splits the words so as not to find itself; what it finds comes out as a cell's error
    search = f"""
import gc, sys
wanted = [a + b for a, b in {[(w[:4], w[4:]) for w in words]!r}]
found = set()
def look(text, where):
    found.update((w, where) for w in wanted if w in text)
for thing in gc.get_objects():
    if isinstance(thing, (list, tuple, set)) and len(thing) < 10**5:
        for item in list(thing):
            if isinstance(item, str) and item not in wanted: look(item, type(thing).__name__)
    elif isinstance(thing, dict) and thing is not globals():
        for key, item in list(thing.items()):
            if isinstance(item, str): look(item, str(key))
            if isinstance(key, str): look(key, "key")
for name in list(sys.modules): look(name, "module")
raise ValueError(sorted(found)) if found else ValueError("nothing")
"""
    result = grade(grader, search + "\n# %%\ndef dpo_loss(*args): return 0.0\n")
    assert [p for p in result.problems if "ValueError" in p and "nothing" in p], result.problems


def test_a_spy_finds_nothing_of_the_course_on_disk(grader: Grader) -> None:
    """Whatever may be read is walked: no file of the course, of the gradebook or of a home is among it."""
    search = """
import os, sys
seen = []
f = sys._getframe()
roots = {"/", "/home", "/root", "/tmp", "/proc", "/sys", "/var", "/etc", "/srv", "/opt", "/mnt", os.getcwd(), *sys.path}
while f:
    path = f.f_code.co_filename
    while len(path) > 1:
        path = os.path.dirname(path)
        roots.add(path)
    f = f.f_back
for root in roots:
    library = "python%d.%d" % sys.version_info[:2]
    if os.path.basename(root) in ("site-packages", "dist-packages", "lib-dynload", library):
        continue
    try: seen += [root + ":" + name for name in os.listdir(root)][:3]
    except OSError: pass
raise ValueError(seen or "nothing")
"""
    result = grade(grader, search + "\n# %%\ndef dpo_loss(*args): return 0.0\n")
    assert [p for p in result.problems if p.endswith("nothing") or "nothing" in p], result.problems
