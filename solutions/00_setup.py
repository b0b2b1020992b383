# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lesson 0 · Getting ready
#
# Nothing is graded here. Run the cells from top to bottom. Some of them fail *on purpose*, to show you what failing looks
# like; the text says which, and the cells after them run all the same.
#
# | | |
# |---|---|
# | **You will be able to** | see whether everything works, and what to do if it does not; say why this course computes with *log* probabilities; read what `check` tells you |
# | **You need to know** | a little Python; how to run a cell (Shift+Enter) |
# | **Time** | about 10 minutes |
# | **Graded** | nothing |
#
# << course_map("00_setup") >>

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import functools
import importlib
import os
import platform
import sys
import tempfile

PYTHON_NEEDED = (3, 11)
PACKAGES_NEEDED = {"numpy": "2.0", "torch": "2.6", "matplotlib": "3.9", "ipywidgets": "8.1"}

# %% [markdown]
# ## 1. Is everything there?
#
# The next cell *uses* each thing once, so a ✓ means that it works here. A line with ✗ says what to do about it.

# %% nbgrader={"grade": false, "grade_id": "demo_environment", "locked": true, "schema_version": 3, "solution": false, "task": false}
START = "start the course with `make lab`, or pick the course's own environment as this notebook's kernel"


def try_python():
    if sys.version_info < PYTHON_NEEDED:
        raise RuntimeError(f"Python {platform.python_version()} is too old")
    return f"Python {platform.python_version()}"


def try_package(name, minimum):
    found = importlib.import_module(name).__version__
    if [int(part) for part in found.split(".")[:2]] < [int(part) for part in minimum.split(".")]:
        raise RuntimeError(f"{name} {found} is older than {minimum}")
    return f"{name} {found}"


def try_gradient():
    x = importlib.import_module("torch").tensor(3.0, requires_grad=True)
    (x * x).backward()
    return f"gradients: the slope of x² at 3 is {x.grad.item():g}"


def try_grader():
    return f"the course's grader: {importlib.import_module('grader').check.__name__}"


def try_disk():
    with tempfile.TemporaryFile(dir="."):
        return "your answers can be saved here"


def try_everything():
    oldest = ".".join(map(str, PYTHON_NEEDED))
    trials = [(try_python, f"install Python {oldest} or newer, then run `make setup` in the course's folder")]
    for name, minimum in PACKAGES_NEEDED.items():
        remedy = f"run `%pip install -U '{name}>={minimum}'` in a new cell and restart the kernel; or {START}"
        trials.append((functools.partial(try_package, name, minimum), remedy))
    trials += [
        (try_gradient, "run `%pip install --force-reinstall torch` in a new cell and restart the kernel"),
        (try_grader, f"run `pip install -e .` in the course's folder and restart the kernel; or {START}"),
        (try_disk, "copy the course into a folder that is yours, and open it there"),
    ]
    failures = 0
    for trial, remedy in trials:
        try:
            print("✓", trial())
        except Exception as error:  # whatever is wrong, the remedy has to be shown
            failures += 1
            print(f"✗ {type(error).__name__}: {error}\n    what to do: {remedy}")
    print(f"\n{failures} to mend; then run this cell again." if failures else "\nAll is well: go on.")


try_everything()

# %% [markdown]
# Two troubles that no cell can see:
#
# | what you see | what to do |
# |---|---|
# | a cell shows `[*]` for minutes | **Kernel → Interrupt**, then **Kernel → Restart**; close other heavy programs |
# | a slider shows up as a line of text | `%pip install -U ipywidgets`, restart JupyterLab and reload the page; in VS Code, use the Jupyter extension. Every slider has a picture beside it that shows the same, so you may also go on without |

# %% nbgrader={"grade": false, "grade_id": "demo_imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import matplotlib.pyplot as plt
import numpy as np
import torch

from grader import check, explore, hint, palette, picture, progress

# %% [markdown]
# ## 2. Why log probabilities
#
# A language model writes text token by token (a token is a word or a piece of one), and gives each token a probability.
# The probability of the whole text is their **product**.
#
# Products of many numbers below one get small quickly, and a computer's numbers have a smallest one. Past it there is
# only zero, and zero cannot be told from zero: two texts, one a billion times likelier than the other, both come out
# as `0.0`.
#
# The **logarithm** turns the product into a sum, and a sum does not vanish:
#
# | probabilities | log probabilities |
# |---|---|
# | multiply | add |
# | divide | subtract |
# | "twice as likely" | a difference of $\log 2$ |
# | 1, certain | 0 |
# | 0, impossible | $-\infty$ |
# | always between 0 and 1 | never above 0 |
#
# **Predict first.** Give every token a probability of 0.3. After how many tokens does the product become exactly zero in
# float32, the usual precision of a neural network: tens, hundreds or thousands?
#
# <details><summary>Answer</summary>
#
# Tens: not even a paragraph. The picture's titles have counted. Double precision lasts several times longer, which is a
# page or two. The sum of logs does not notice either limit.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "figure_product", "locked": true, "schema_version": 3, "solution": false, "task": false}
TOKENS = np.arange(1, 801)
PRODUCTS = {
    name: np.cumprod(np.full(len(TOKENS), 0.3, dtype=name), dtype=name) for name in ("float32", "float64")
}
VANISHED = {name: int(TOKENS[np.argmax(product == 0)]) for name, product in PRODUCTS.items()}
LOG_SUM = np.cumsum(np.full(len(TOKENS), np.log(np.float32(0.3)), dtype=np.float32), dtype=np.float32)


def draw_text(tokens):
    """Product and log sum for texts of up to ``tokens`` tokens."""
    tokens = int(tokens)  # some sliders give 200.0
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    looks = (("float64", palette.BLUE, "-", "o", 5), ("float32", palette.VERMILLION, "--", "X", 2.5))
    for name, color, style, marker, width in looks:
        product = PRODUCTS[name][:tokens].astype(float)
        alive = product > 0
        left.plot(TOKENS[:tokens][alive], np.log10(product[alive]), style, color=color, lw=width, label=name)
        if not alive.all():
            end = int(alive.sum())
            left.plot(end, np.log10(product[end - 1]), marker, color=color, ms=11)
            left.annotate("then exactly 0", (end, np.log10(product[end - 1])), xytext=(9, -2), textcoords="offset points")
    right.plot(TOKENS[:tokens], LOG_SUM[:tokens], color=palette.BLACK, lw=2, label="float32")
    right.plot(tokens, LOG_SUM[tokens - 1], "s", color=palette.BLACK, ms=7)
    powers = (0, -100, -200, -300)
    left.set_yticks(powers, [f"$10^{{{power}}}$" if power else "1" for power in powers])
    left.set(title="product of probabilities", xlabel="tokens", xlim=(0, 830), ylim=(-350, 15))
    right.set(title="sum of log probabilities", xlabel="tokens", xlim=(0, 830), ylim=(-1000, 40))
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(loc="lower left")
    return fig


@picture(alt="The product of probabilities falls until it is exactly zero; the sum of their logs falls on a straight line.")
def draw_product():
    fig = draw_text(len(TOKENS))
    fig.suptitle(f"zero after {VANISHED['float32']} tokens in float32, after {VANISHED['float64']} in float64", weight="bold")
    return fig, (f"The product of probabilities falls and becomes zero after {VANISHED['float32']} tokens in float32 and "
                 f"after {VANISHED['float64']} in float64. The sum of logs falls on a straight line, to −{-LOG_SUM[-1]:.0f} "
                 f"after {len(TOKENS)} tokens, in float32.")


# %% [markdown]
# The same with a slider, which also tells you whether sliders work here. Drag it past the first cross.

# %% nbgrader={"grade": false, "grade_id": "demo_slider", "locked": true, "schema_version": 3, "solution": false, "task": false}
explore(
    draw_text,
    alt="The product of probabilities and the sum of log probabilities up to the chosen number of tokens. The product "
    "vanishes, in float32 first; the sum goes on along a straight line.",
    tokens=(10, 800, 10),
)

# %% [markdown]
# ## 3. Why `exp` overflows
#
# The way back from log space is `exp`, and it has the opposite trouble. It grows so fast that a modest argument passes
# the largest number a dtype can hold. Then the result is `inf`, and soon after `nan`, "not a number":

# %% nbgrader={"grade": false, "grade_id": "demo_overflow", "locked": true, "schema_version": 3, "solution": false, "task": false}
print("dtype      largest number   exp overflows above")
for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
    largest = torch.finfo(dtype).max
    print(f"{str(dtype).removeprefix('torch.'):10} {largest:14.3g}   {np.log(largest):19.2f}")

big = torch.tensor(100.0).exp()
print("\nexp(100) in float32:", big.item())
print("inf - inf:          ", (big - big).item())
print("inf / inf:          ", (big / big).item())
print("0 * inf:            ", (0 * big).item())

# %% [markdown]
# Two texts whose log probabilities differ by 100 are nothing special, as you have just seen, and the ratio of their
# probabilities is $e^{100}$. So the rule of this course: **stay in log space, and if you must leave it, first make the
# largest exponent zero.**
#
# The classic case is the logarithm of a sum of exponentials. For any $m$,
#
# $$\log\sum_i e^{x_i} \;=\; m+\log\sum_i e^{x_i-m}.$$
#
# With $m=\max_i x_i$ the largest term is $e^0=1$: nothing overflows, and the sum is at least 1, so its logarithm is safe
# as well.
#
# ### Practice (ungraded, 3 minutes)
#
# Write it, for a NumPy array of finite float64 numbers. The picture below compares yours with the plain formula on two
# equal numbers $x, x$, where the right answer is simply $x+\log 2$.

# %% nbgrader={"grade": false, "grade_id": "practice_log_sum_exp", "locked": false, "schema_version": 3, "solution": true, "task": false}
def log_sum_exp(values):
    """log(sum(exp(values))) without overflow, for a float64 array of shape (N,), N >= 1. Returns a float."""
    ### BEGIN SOLUTION
    largest = values.max()
    return float(largest + np.log(np.exp(values - largest).sum()))
    ### END SOLUTION


# %% nbgrader={"grade": false, "grade_id": "figure_log_sum_exp", "locked": true, "schema_version": 3, "solution": false, "task": false}
@picture(alt="Your log_sum_exp beside the plain formula and the right answer, from −1200 to 1200.", needs=[log_sum_exp])
def draw_log_sum_exp():
    x = np.linspace(-1200, 1200, 97)
    yours = np.array([log_sum_exp(np.array([value, value])) for value in x], dtype=float)
    with np.errstate(over="ignore", divide="ignore"):
        plain = np.log(2 * np.exp(x))
    exact = x + np.log(2)
    right = np.isclose(yours, exact)
    fig, axis = plt.subplots(figsize=(9, 3.9), layout="constrained")
    axis.plot(x, exact, color="0.75", lw=13, label="expected: x + log 2", solid_capstyle="butt")
    finite = np.isfinite(plain)
    axis.plot(x[right], yours[right], "o", mfc="white", color=palette.BLUE, ms=6, label="yours, where right")
    axis.plot(x[finite], plain[finite], "--", color=palette.VERMILLION, lw=2, label="plain log(sum(exp(x)))")
    wrong = np.clip(np.nan_to_num(yours[~right], nan=0.0), -1500, 1500)
    if len(wrong):
        axis.plot(x[~right], wrong, "x", color=palette.BLACK, ms=5, label="yours, where wrong")
    for side, text in ((x[finite][0], "plain: −inf"), (x[finite][-1], "plain: inf")):
        axis.axvline(side, color=palette.VERMILLION, lw=1, ls=":")
        outwards = np.sign(side)
        axis.text(side + outwards * 25, -outwards * 300, text, ha="left" if outwards > 0 else "right", color="black")
    axis.set(xlabel="x", ylabel="log(eˣ + eˣ)", ylim=(-1600, 1600))
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(loc="upper left")
    return fig, (f"log(exp x + exp x) for x from −1200 to 1200. Your function is right at {right.sum()} of {len(x)} points. "
                 f"The plain formula is finite only between about {x[finite][0]:.0f} and {x[finite][-1]:.0f}.".replace("-", "−"))


# %% [markdown]
# ## 4. How `check` talks
#
# Every exercise ends with `check(your_function)`. It runs the exercise's public examples and tells you what it found: for
# each idea, whether it holds, and where it does not, what was expected beside what came. When your answer is a known
# mistake, it says which idea to look at again. Try as often as you like.
#
# Hear its three voices on the function of lesson 1. You need not understand the task yet. It takes four tensors and a
# number, and returns a dictionary of three tensors. (`check` remembers how far you have come. Rehearsals should not count,
# so the first line of the next cell sends its notes to a scratch folder while this notebook is open.)
#
# **Voice 1: nothing there yet.** An exercise starts as a function that raises `NotImplementedError`. This fails on purpose:

# %% nbgrader={"grade": false, "grade_id": "demo_not_attempted", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["raises-exception"]
os.environ["GRADER_PROGRESS"] = os.path.join(tempfile.mkdtemp(), "rehearsal.json")


def kl_penalized_rewards(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    raise NotImplementedError("a rehearsal: nothing to write here")


check(kl_penalized_rewards)

# %% [markdown]
# **Voice 2: an answer, but not the right one.** This function forgets the penalty altogether and hands every reward back
# unchanged. It fails on purpose. See which ideas hold all the same, and where the numbers part:

# %% nbgrader={"grade": false, "grade_id": "demo_wrong_answer", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["raises-exception"]
def kl_penalized_rewards(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    unchanged = rewards.float()
    return {
        "objective": unchanged.mean(),
        "penalized_rewards": unchanged,
        "sampled_divergences": torch.zeros_like(unchanged),
    }


check(kl_penalized_rewards)

# %% [markdown]
# **Voice 3: not the kind of thing that was asked for.** Now you. Make an answer of the wrong *kind*, say `return rewards`,
# or a dictionary with a misspelled key, and hear how the message changes. Then try another. Nothing here counts.

# %% nbgrader={"grade": false, "grade_id": "practice_voice", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["raises-exception"]
def kl_penalized_rewards(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    ### BEGIN SOLUTION
    return rewards
    ### END SOLUTION


check(kl_penalized_rewards)

# %% [markdown]
# Three more things to know:
#
# * `hint()` after a check gives the next hint, each time a little more: about the mistake that `check` recognized, or else
#   about the exercise. General hints also stand folded under every exercise.
# * `progress()` draws how far you have come, from notes on your own disk. Here it shows the rehearsal only.
# * `check` shows you an example of every *kind* of thing that grading tests; grading then uses other numbers. A function
#   written to fit the examples will not pass, and one that keeps the exercise's contract will.

# %% nbgrader={"grade": false, "grade_id": "demo_progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
progress()

# %% [markdown]
# ## What you take along
#
# * A text's probability is a product; its *log* probability is a sum, and sums do not vanish.
# * `exp` overflows sooner than one thinks, and `inf` turns into `nan`. Stay in log space; subtract the maximum first.
# * A failing `check` is the course talking to you. Read it.
#
# **Next: lesson 1,** and what a language model pays for moving away from where it started.
