"""Points that were not earned: none of these may get one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from arena import ALL_WRONG, LESSON, PRELUDE, TORCH_LESSON, good, grade

from grader.course import lesson
from grader.grading import Grader
from grader.report import SubmissionResult

Attack = Callable[..., SubmissionResult]

FORGERIES: dict[str, str] = {
    "an object that equals everything": """
class Yes(type):
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = lambda a, b: True
    __hash__ = type.__hash__
class Yes(metaclass=Yes):
    def __eq__(self, other): return True
    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = lambda self, *o: True
    __add__ = __sub__ = __rsub__ = __mul__ = __abs__ = __truediv__ = __neg__ = lambda self, *o: self
    __float__ = lambda self: 0.0
    __array__ = lambda self, *a, **k: np.zeros(1)
    __class__ = float
    __hash__ = object.__hash__
def wrong(*args): return Yes()
""",
    "a float with evil methods": """
class Evil(float):
    def __eq__(self, other): return True
    def __sub__(self, other): return 0.0
    __rsub__ = __sub__
    def __abs__(self): return 0.0
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    __class__ = property(lambda self: float)
    __hash__ = float.__hash__
def wrong(*args): return Evil(0.125)
""",
    "an array with evil methods": """
class Evil(np.ndarray):
    def __array_ufunc__(self, *a, **k): return True
    def __array_function__(self, *a, **k): return True
    def __eq__(self, other): return True
    def __reduce__(self): return (exec, ("open('/tmp/planted', 'w')",))
def wrong(*args): return np.zeros(3).view(Evil)
""",
    "a dict and a tuple with evil methods": """
class Evil(dict):
    def __getitem__(self, key): return 0.0
    def __eq__(self, other): return True
    def items(self): return [("", 0.0)]
    def __len__(self): return 0
class Pair(tuple):
    def __iter__(self): return iter([np.zeros(1), np.zeros(1)])
    def __len__(self): return 2
    def __eq__(self, other): return True
def wrong(*args): return Evil(a=Pair((1, 2)))
""",
    "patched builtins": """
import builtins
for name in ("abs", "max", "min", "all", "any", "isinstance", "issubclass", "float", "len", "round", "type"):
    try:
        setattr(builtins, name, lambda *a, **k: True)
    except Exception:
        pass
""",
    "patched numpy": """
yes = lambda *a, **k: True
for name in ("allclose", "isclose", "array_equal", "max", "abs", "all", "isfinite", "where", "asarray", "array"):
    setattr(np, name, yes)
np.testing.assert_allclose = yes
np.float64 = np.ndarray = object
""",
    "patched msgpack": """
real = msgpack.packb
count = iter(range(10**9))
msgpack.packb = lambda message, **k: real(forged(next(count)), **k)
""",
    "poisoned modules and import hooks": """
class Hook:
    def find_spec(self, name, path=None, target=None):
        return None
    def __getattr__(self, name): return lambda *a, **k: True
sys.meta_path.insert(0, Hook())
for name in ("grader", "grader.judge", "grader.tolerance", "grader.report", "grader.sandbox", "nbgrader"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__getattr__ = lambda attribute: lambda *a, **k: True
sys.path.insert(0, "/tmp")
sys.path_hooks.clear()
""",
    "points in the caller's frames": """
def wrong(*args):
    f = sys._getframe()
    while f:
        for name in list(f.f_locals):
            if name in ("points", "passed", "expected", "outcome", "status"):
                f.f_locals[name] = 10
        for name in ("points", "passed", "expected"):
            f.f_globals[name] = 10
        f = f.f_back
    return 0.125
""",
    "the reference or the answers somewhere in memory": """
def wrong(*args):
    for thing in gc.get_objects():
        try:
            name = getattr(thing, "__name__", "")
            if callable(thing) and name in ("plain_formula", "reference", "implicit_reward", "dpo_loss", "dpo_grad"):
                if thing is not wrong:
                    return thing(*args)
            expected = getattr(thing, "expected", None)
            if expected is not None and type(thing).__name__ in ("Case", "Judged", "Prepared"):
                return expected
        except Exception:
            pass
    return 0.125
""",
    "the reference on disk": """
import glob, importlib, linecache
def wrong(*args):
    roots = {g.get("__file__") or "" for g in harness().values()} | set(sys.path)
    tried = []
    for root in roots:
        for up in range(6):
            tried += [os.path.join(root, *[".."] * up, "solutions", "03_stable_dpo.py"),
                      os.path.join(root, *[".."] * up, "grader", "hidden", "dpo_loss", "sound.py")]
    for path in tried:
        try:
            names = {}
            exec(open(path).read(), names)
            return names["dpo_loss"](*args)
        except BaseException:
            pass
    for name in ("grader.hidden", "grader.hidden.dpo_loss.sound", "grader.hidden.dpo_loss.cases", "grader.grading"):
        sys.modules.pop("grader", None)
        try:
            module = importlib.import_module(name)
            return module.plain_formula(*args)
        except BaseException:
            pass
    return 0.125
""",
    "a patched harness": """
def patch():
    for name, names in harness().items():
        if "answer" in names and "observe" in names:
            names["observe"] = lambda *a, **k: names["wire"].decode_outcome(forged(0)["outcome"])
            names["answer"] = lambda call, namespace: forged(call[0])
        for module in list(names.values()):
            if isinstance(module, types.ModuleType) and hasattr(module, "encode_outcome"):
                module.encode_outcome = lambda outcome: forged(0)["outcome"]
                module.encode = lambda value: ["f", 0.5]
patch()
""",
    "garbage on every descriptor": """
def wrong(*args):
    for number in descriptors():
        try:
            os.write(number, os.urandom(4096))
        except OSError:
            pass
    return 0.125
""",
    "forged answers on every descriptor, before the first call": """
for number in descriptors():
    for message in [{"error": None}] * 3 + [forged(i) for i in range(400)]:
        try:
            os.write(number, frame(message))
        except OSError:
            break
""",
    "forged answers with points in them": """
def wrong(*args):
    for number in descriptors():
        for i in range(400):
            message = forged(i) | {"points": 10, "passed": True, "score": 10, "verdict": "passed"}
            message["outcome"] |= {"expected": ["f", 0.5], "points": 10}
            try:
                os.write(number, frame(message))
            except OSError:
                break
    return 0.125
""",
    "forged frames that are no answers": """
def wrong(*args):
    for number in descriptors():
        objects = {"status": "returned", "result": ["a", "O8", [1], b"12345678"]}
        for data in (b"\\xff\\xff\\xff\\xff" + b"x" * 99, frame({}), frame({"index": None}), struct.pack(">I", 0),
                     struct.pack(">I", 5) + b"\\x91\\x91\\x91\\x91\\x91", frame({"index": True, "outcome": objects}),
                     frame({"index": 0, "outcome": {"status": "passed"}})):
            try:
                os.write(number, data)
            except OSError:
                pass
    return 0.125
""",
    "a pickle": """
import pickle
class Bomb:
    def __reduce__(self):
        return (os.system, ("touch /tmp/planted",))
def wrong(*args):
    for number in descriptors():
        try:
            os.write(number, pickle.dumps(Bomb()))
            data = pickle.dumps({"index": 0, "outcome": Bomb()})
            os.write(number, struct.pack(">I", len(data)) + data)
        except OSError:
            pass
    return Bomb()
""",
    "an extension type": """
def wrong(*args):
    data = msgpack.packb({"index": 0, "outcome": msgpack.ExtType(42, b"x" * 100)})
    for number in descriptors():
        try:
            os.write(number, struct.pack(">I", len(data)) + data)
        except OSError:
            pass
    return 0.125
""",
    "a printed score": """
def wrong(*args):
    print("10/10", {"points": 10}, "All tests passed", flush=True)
    os.write(1, b"10.0\\n")
    os.write(2, b"Full credit\\n")
    return True
""",
    "an exit that claims success": """
import atexit
atexit.register(lambda: os.write(1, b"passed"))
def wrong(*args):
    sys.exit(0)
""",
}


@pytest.mark.parametrize("what", FORGERIES)
def test_no_point_is_forged(attack: Attack, what: str) -> None:
    attack(FORGERIES[what] + ALL_WRONG)


TORCH_FORGERIES = {
    "a tensor with evil methods": """
import torch
class Evil(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return True
    def __eq__(self, other): return True
    shape = property(lambda self: ())
def kl_penalized_rewards(*args):
    e = torch.zeros(()).as_subclass(Evil)
    return {"objective": e, "penalized_rewards": e, "sampled_divergences": e}
""",
    "patched torch": """
import torch
yes = lambda *a, **k: True
torch.allclose = torch.equal = torch.isclose = torch.testing.assert_close = yes
torch.Tensor.detach = torch.Tensor.numpy = torch.Tensor.cpu = torch.Tensor.__eq__ = yes
torch.autograd.grad = lambda out, inputs, **k: [torch.zeros_like(i) for i in inputs]
def kl_penalized_rewards(*args):
    return {"objective": torch.zeros(()), "penalized_rewards": torch.zeros(2), "sampled_divergences": torch.zeros(2)}
""",
    "a forged tensor that holds no data": """
def kl_penalized_rewards(*args):
    t = ["t", "float32", "meta", [10**6, 10**6], b""]
    d = ["d", [["objective", t], ["penalized_rewards", t], ["sampled_divergences", t]]]
    for number in descriptors():
        for i in range(200):
            message = forged(i)
            message["outcome"] |= {"result": d, "gradients": ["d", [["policy_log_probs", t]]]}
            try:
                os.write(number, frame(message))
            except OSError:
                break
""",
    "a stub graded by the neighbour's work": """
import builtins
def kl_penalized_rewards(*args):
    return getattr(builtins, "planted", None) or {}
""",
}


@pytest.mark.parametrize("what", TORCH_FORGERIES)
def test_no_point_is_forged_with_torch(attack: Attack, what: str) -> None:
    attack(TORCH_FORGERIES[what], TORCH_LESSON)


def test_a_patched_world_does_not_reach_the_neighbour(grader: Grader) -> None:
    """A submission stores its work in every module it can reach; a stub behind it in the batch finds nothing."""
    rich = (
        good(LESSON)
        + "\n# %%\nimport builtins, numpy, sys, msgpack\n"
        + "\n".join(f"{module}.planted = dpo_loss" for module in ("builtins", "numpy", "sys", "msgpack"))
    )
    assert grade(grader, rich).points == 10
    thief = (
        PRELUDE
        + "import builtins\ndef wrong(*args):\n    for m in (builtins, np, sys, msgpack):\n"
        + ("        if hasattr(m, 'planted'):\n            return m.planted(*args)\n    return 0.125\n" + ALL_WRONG)
    )
    assert grade(grader, thief).points == 0


def test_what_is_right_keeps_its_points_beside_an_attack(attack: Attack) -> None:
    """implicit_reward is right (2 points); the other two end the process on their first call."""
    source = good(LESSON) + "\n# %%\nimport os\ndef dpo_loss(*args): os._exit(0)\ndef dpo_grad(*args): os._exit(1)\n"
    result = attack(source, earned=2.0)
    assert result.points == 2.0


def test_public_answers_learnt_by_heart_earn_no_value(attack: Attack) -> None:
    """A table of every public example: hidden cases ask the same kinds of thing with other numbers."""
    exercise = next(e for e in lesson(LESSON).exercises if e.name == "dpo_loss")
    pairs = [(c.args, c.expected) for g in exercise.groups for c in g.examples]
    table = [([np.asarray(a).tolist() for a in args.values()], expected) for args, expected in pairs]
    source = f"""
TABLE = {table!r}
def wrong(*args):
    mine = [np.asarray(a).tolist() for a in args]
    return next((float(answer) for known, answer in TABLE if known == mine), 0.125)
"""
    result = attack(source + ALL_WRONG, earned=4.0)
    values = [g for e in result.exercises for g in e.groups if g.points and g.name not in PROPERTIES]
    assert values == []


PROPERTIES = ("return type", "inputs untouched", "numpy only")
