"""Submissions that try to take the grader, the machine or their neighbours down, or to stay behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from arena import ALL_WRONG, LESSON, PORT, good, grade

from grader.grading import Grader
from grader.report import SubmissionResult

Attack = Callable[..., SubmissionResult]

BREAKERS: dict[str, str] = {
    "endless recursion": "def wrong(*args): return wrong(*args)",
    "recursion in C": """
sys.setrecursionlimit(10**9)
def wrong(*args):
    class A: pass
    A.__repr__ = lambda self: repr(self)
    return repr(A())
""",
    "containers that hold themselves": """
def wrong(*args):
    a, d = [], {}
    a += [a, d]; d["d"] = d; d["a"] = a
    return a
""",
    "a container a thousand deep": """
def wrong(*args):
    x = 0.0
    for _ in range(100_000): x = [x]
    return x
""",
    "a container that never ends": """
class Endless(list):
    def __iter__(self):
        while True: yield self
    __len__ = lambda self: 10**9
def wrong(*args): return Endless()
""",
    "a stride bomb": "def wrong(*args): return np.broadcast_to(np.zeros(1), (10**6, 10**6))",
    "an array of objects": "def wrong(*args): return np.array([wrong, {}, None], dtype=object)",
    "64 MB from every call": "big = np.zeros(2**23 - 1)\ndef wrong(*args): return big",
    "a string of 200 MB": "big = 'x' * (200 * 2**20)\ndef wrong(*args): return big",
    "a million keys": "many = {str(i): i for i in range(10**6)}\ndef wrong(*args): return many",
    "a number of a million digits": "big = 10**(10**6)\ndef wrong(*args): return big",
    "all the memory": """
def wrong(*args):
    hoard = []
    while True: hoard.append(bytearray(2**26))
""",
    "threads without end": """
import threading, time
def wrong(*args):
    threading.stack_size(32768)
    while True: threading.Thread(target=time.sleep, args=(99,), daemon=True).start()
""",
    "processes without end": """
import subprocess, multiprocessing
def wrong(*args):
    for way in (os.fork, lambda: os.posix_spawn("/bin/sleep", ["sleep", "600"], {}), lambda: os.system("sleep 600 &"),
                lambda: subprocess.Popen(["sleep", "600"]), lambda: multiprocessing.Process(target=print).start()):
        for _ in range(50):
            try: way()
            except BaseException: pass
    return 0.125
""",
    "a process that detaches itself": """
def wrong(*args):
    try:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                open("/tmp/planted-daemon", "w")
                while True: pass
            os._exit(0)
    except OSError: pass
    import ctypes
    libc = ctypes.CDLL(None)
    libc.daemon(1, 1); libc.vfork; libc.setsid(); libc.setpgid(0, 1)
    return 0.125
""",
    "killing everything in reach": """
import signal
def wrong(*args):
    for target in (os.getppid(), -1, 0, 1, -os.getppid(), os.getpgid(0), *range(2, 400)):
        for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
            if target != os.getpid():
                try: os.kill(target, number)
                except OSError: pass
    return 0.125
""",
    "a loop in C that swallows signals": """
import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
def wrong(*args): return sum(range(10**13))
""",
    "sleeping": "import time\ndef wrong(*args): time.sleep(600)",
    "stopping itself": "import signal\ndef wrong(*args): os.kill(os.getpid(), signal.SIGSTOP)",
    "outliving its parent": """
import ctypes, signal
ctypes.CDLL(None).prctl(1, 0)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
def wrong(*args):
    while True: pass
""",
    "os._exit in a cell": "os._exit(0)",
    "os._exit in a call": "def wrong(*args): os._exit(0)",
    "sys.exit everywhere": "def wrong(*args): sys.exit(1)\nsys.exit(0)",
    "a crash": "import ctypes\ndef wrong(*args): ctypes.string_at(0)",
    "an abort": "def wrong(*args): os.abort()",
    "closing every descriptor": "def wrong(*args):\n    os.closerange(0, 4096)\n    return 0.125",
    "a flood of frames": """
def wrong(*args):
    flood = frame(forged(0)) * 1000
    while True:
        for number in (3, 4, 5, 6, 7, 8, 9, 10):
            try: os.write(number, flood)
            except OSError: pass
""",
    "a frame that is announced and never comes": """
def wrong(*args):
    for number in descriptors():
        try: os.write(number, struct.pack(">I", 79 * 2**20) + b"x")
        except OSError: pass
    while True: pass
""",
    "a frame of nothing but containers": """
def wrong(*args):
    for number in descriptors():
        if number > 2:
            data = b"\\xdd\\x04\\x00\\x00\\x00" + b"\\x80" * (2**26)
            try:
                view = memoryview(struct.pack(">I", len(data)) + data)
                while view: view = view[os.write(number, view):]
            except OSError: pass
    return 0.125
""",
    "nested containers in a frame": """
def wrong(*args):
    for number in descriptors():
        data = b"\\x91" * 1_000_000
        try: os.write(number, struct.pack(">I", len(data)) + data)
        except OSError: pass
    return 0.125
""",
    "sockets": f"""
import socket
def wrong(*args):
    for family, address in ((socket.AF_INET, ("127.0.0.1", {PORT})), (socket.AF_UNIX, "/tmp/planted-socket"),
                            (socket.AF_UNIX, "\\0planted-abstract")):
        try:
            s = socket.socket(family); s.bind(address); s.listen()
        except OSError: pass
    return 0.125
""",
    "files everywhere": """
def wrong(*args):
    numpy_folder = os.path.dirname(np.__file__)
    for place in ("/tmp", "/var/tmp", "/dev/shm", ".", "/", os.path.expanduser("~"), sys.prefix, numpy_folder):
        path = os.path.join(place, "planted-file")
        for make in (lambda: open(path, "w").write("x"), lambda: os.mkdir(path), lambda: os.symlink("/etc", path),
                     lambda: os.mkfifo(path), lambda: np.save(path, np.zeros(3)), lambda: os.open(path, os.O_CREAT)):
            try: make()
            except OSError: pass
    return 0.125
""",
    "changing files that are there": """
def wrong(*args):
    for path in (np.__file__, os.__file__):
        for spoil in (lambda: open(path, "a"), lambda: os.unlink(path), lambda: os.rename(path, path + ".planted"),
                      lambda: os.truncate(path, 0), lambda: os.open(path, os.O_TRUNC), lambda: os.chmod(path, 0)):
            try: spoil()
            except OSError: pass
    return 0.125
""",
    "an exception with evil methods": """
class Evil(Exception):
    def __str__(self): raise self
    __repr__ = __str__
    __traceback__ = property(lambda self: self)
    tb_frame = tb_next = property(lambda self: self)
    __class__ = property(lambda self: wrong)
def wrong(*args): raise Evil()
""",
    "an exception of 100 MB": "def wrong(*args): raise ValueError('x' * 10**8)\nraise ValueError('y' * 10**8)",
    "code from a false file name": "exec(compile('def wrong(*a): raise ValueError', '<cell x>', 'exec'))",
    "a loop in a cell": "while True: pass",
    "an infinite generator": "def wrong(*args):\n    while True: yield 1.0",
    "a coroutine": "async def wrong(*args): return 0.125",
    "a warning that kills": "np.seterr(all='raise')\ndef wrong(*args): return np.log(np.zeros(1))",
    "gigabytes on stdout": "def wrong(*args):\n    for _ in range(8): os.write(1, b'x' * 2**24)\n    return 0.125",
}


@pytest.mark.parametrize("what", BREAKERS)
def test_nothing_breaks(attack: Attack, what: str) -> None:
    attack(BREAKERS[what] + ALL_WRONG)


def test_what_was_answered_before_the_end_stands(attack: Attack) -> None:
    """dpo_grad hangs from its fifth call on; its neighbours keep all their points."""
    hang = """
# %%
calls, right = [], dpo_grad
def dpo_grad(*args):
    calls.append(1)
    while len(calls) > 4: pass
    return right(*args)
"""
    result = attack(good(LESSON) + hang, earned=6.0)
    assert [e.points for e in result.exercises] == [2.0, 4.0, 0.0]


def test_a_cell_that_hangs_keeps_the_work_of_others(attack: Attack) -> None:
    result = attack(good(LESSON) + "\n# %%\nwhile True: pass\n", earned=10.0)
    assert result.points == 10.0
    assert "only its definitions were used" in result.problems[0]


def test_ten_bad_ones_and_a_good_one(grader: Grader) -> None:
    for _ in range(10):
        grade(grader, "import os\nos._exit(3)" + ALL_WRONG.replace("wrong", "print"))
    assert grade(grader, good(LESSON)).points == 10.0
