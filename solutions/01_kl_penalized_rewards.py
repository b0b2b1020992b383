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
# # Lesson 1 · KL-penalized rewards
#
# A language model is trained to earn reward, and it must not wander off while it does so. This lesson turns that sentence
# into numbers: what a response earns, what it pays for being far from where training began, and how to add both up
# without an accident.
#
# | | |
# |---|---|
# | **You will be able to** | turn log probabilities and rewards into the penalized rewards that RLHF maximizes; say what a *negative* divergence means; keep padding, NaN and empty batches from spoiling the sum |
# | **You need to know** | Python; PyTorch tensors (indexing, `sum`, dtypes); what a log probability is (lesson 0) |
# | **Time** | about 50 minutes: 20 to read, 15 for the exercise, 15 for its pictures and the bonus |
# | **Graded** | `kl_penalized_rewards`; PyTorch |
#
# << course_map("01_kl_penalized_rewards") >>

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import torch

from grader import check, explore, hint, palette, picture, progress

# %% [markdown]
# ## 1. Why there is a penalty
#
# A language model answers a *prompt* with a *response*, also called a *completion*. It writes it one token (a word or a
# piece of one) at a time: it gives every possible next token a probability, and draws one.
#
# Reinforcement learning from human feedback, RLHF, trains such a model to write responses that people prefer.
# Three things take part:
#
# * the **policy** $\pi$: the model in training;
# * the **reference** $\pi_\text{ref}$: a frozen copy of the model from before this training;
# * the **reward** $r$: one number per response, given by a reward model that was fitted to people's choices.
#
# The reward model only stands in for people. A policy that chases its score alone finds what it overrates.
# Gao, Schulman and Hilton ([arXiv 2210.10760](https://arxiv.org/abs/2210.10760)) measured this, with a second, larger
# reward model playing the part of the truth: as the policy moves away from where it started, the score it trains on keeps
# rising, while the true one peaks and then falls.
#
# So the policy is put on a leash. It pays for every step away from the reference
# (Ziegler et al., [arXiv 1909.08593](https://arxiv.org/abs/1909.08593)):
#
# $$\tilde r \;=\; r - \beta D, \qquad D \;=\; \log\frac{\pi(\text{response})}{\pi_\text{ref}(\text{response})}.$$
#
# $\tilde r$ is the **penalized reward**, $D$ the **sampled divergence** of this one response, and $\beta$ (beta) the
# price. **A higher $\beta$ keeps the best policy closer to the reference.**

# %% [markdown]
# ## 2. Where a response pays
#
# A response's probability is the product of its tokens' probabilities. Its *log* probability is therefore a sum, and
# so is $D$: token by token, the policy's log probability minus the reference's. Write $\ell^\pi_t$ for the log probability
# of token $t$ under the policy, and $\ell^\text{ref}_t$ for the one under the reference. (A difference of logs is the log
# of a ratio, so these differences are also called *log-ratios*.)
#
# $$D = \sum_t \big(\ell^\pi_t - \ell^\text{ref}_t\big)\quad\text{over the tokens of the response}.$$
#
# Look at one response. Upper part: how likely each model found each token that was written. Lower part: the
# difference. Where the policy is *more* sure than the reference, the response pays. Where it is *less* sure, it gets
# something back. Where they agree, the token is free.
#
# The prompt was not written by the policy, and padding was written by nobody: neither counts.

# %% nbgrader={"grade": false, "grade_id": "figure_tokens", "locked": true, "schema_version": 3, "solution": false, "task": false}
SENTENCE = ["How", "are", "you", "?", "Great", ",", "thanks", "!", "!", "<end>", "<pad>", "<pad>"]
RESPONSE = slice(4, 10)
SURE_POLICY = np.array([-2.1, -1.3, -0.4, -0.7, -0.5, -0.9, -0.6, -0.4, -0.8, -0.7, -5.1, -4.2])
SURE_REFERENCE = np.array([-2.3, -1.2, -0.5, -0.6, -1.9, -0.9, -0.3, -1.3, -3.1, -0.2, -2.4, -5.0])


@picture(
    alt="Twelve tokens of a prompt, a response and padding. Above: log probabilities under policy and reference. "
    "Below: their differences. The response pays for 'Great' and for both exclamation marks, pays nothing for the "
    "comma, and gets a little back for 'thanks' and the end token. Prompt and padding are hatched: not counted."
)
def draw_tokens():
    x = np.arange(len(SENTENCE))
    difference = SURE_POLICY - SURE_REFERENCE
    fig, (above, below) = plt.subplots(2, 1, figsize=(9.5, 5.6), sharex=True, layout="constrained")
    above.vlines(x, SURE_POLICY, SURE_REFERENCE, color="0.6", lw=2, zorder=1)
    above.plot(x, SURE_POLICY, "o", ms=8, color=palette.BLUE, label="policy")
    above.plot(x, SURE_REFERENCE, "s", ms=7, mfc="white", mew=2, color=palette.VERMILLION, label="reference")
    above.set_ylabel("log probability")
    for sign, color, hatch, label in ((1, palette.VERMILLION, "//", "pays"), (-1, palette.BLUE, "", "gets back")):
        chosen = [t for t in range(*RESPONSE.indices(99)) if sign * difference[t] > 0]
        below.bar(x[chosen], difference[chosen], 0.6, color=color, hatch=hatch, edgecolor="white", label=label)
    below.text(5, 0.08, "free", ha="center", va="bottom")
    below.axhline(0, color="black", lw=1)
    running = np.cumsum(difference[RESPONSE])
    below.step(x[RESPONSE], running, where="mid", color="black", ls="--", lw=1.5, label="running total")
    below.annotate(f"D = {running[-1]:.1f}", (9.5, running[-1]), xytext=(6, 0), textcoords="offset points", va="center",
                   bbox={"fc": "white", "ec": "black", "boxstyle": "round,pad=0.25"})
    below.set_ylabel("policy − reference")
    below.set_xticks(x, SENTENCE)
    for axis in (above, below):
        for left, right in ((-0.5, 3.5), (9.5, 11.5)):
            axis.axvspan(left, right, fc="0.93", ec="0.8", hatch="..", lw=0, zorder=0)
        axis.set_xlim(-0.5, 11.5)
        axis.spines[["top", "right"]].set_visible(False)
    for middle, name in ((1.5, "prompt: not counted"), (6.5, "response"), (10.5, "padding:\nnot counted")):
        above.text(middle, 0.35, name, ha="center", va="bottom")
    above.set_ylim(-5.6, 0.3)
    above.legend(loc="lower left", bbox_to_anchor=(0.36, 0.02))
    below.legend(loc="upper left", bbox_to_anchor=(0.005, 0.98))
    return fig


# %% [markdown]
# ## 3. A language small enough to know everything
#
# With a real model there are more responses than atoms, so nobody can list them. Here is a language with three words
# and an end token, cut at six tokens. Each model is a table: after this word, how likely is each next one? That is
# few enough to list *every* response with its exact probability, and then nothing needs to be believed.
#
# The policy has been trained on a reward that likes enthusiasm, so it says `sure` and `!` more often than the
# reference does.

# %% nbgrader={"grade": false, "grade_id": "demo_toy_language", "locked": true, "schema_version": 3, "solution": false, "task": false}
WORDS, LONGEST = ("yes", "sure", "!", "<end>"), 6
# One row per previous word (start, yes, sure, !), one column per next word (yes, sure, !, <end>).
REFERENCE = np.array([[0.50, 0.25, 0.05, 0.20], [0.10, 0.25, 0.15, 0.50], [0.20, 0.10, 0.20, 0.50], [0.10, 0.10, 0.20, 0.60]])
POLICY = np.array([[0.35, 0.45, 0.10, 0.10], [0.05, 0.30, 0.35, 0.30], [0.10, 0.10, 0.45, 0.35], [0.05, 0.10, 0.45, 0.40]])


def every_response():
    """All responses as tuples of word numbers: ended within LONGEST tokens, or cut there."""
    ended = [(*words, 3) for length in range(LONGEST) for words in product(range(3), repeat=length)]
    return ended + list(product(range(3), repeat=LONGEST))


def token_log_probs(table, response):
    """The log probability of each token of one response under a table."""
    rows = [0] + [word + 1 for word in response[:-1]]
    return np.log(table[rows, list(response)])


def spell(response):
    return " ".join(WORDS[word] for word in response)


RESPONSES = every_response()
TOKENS_POLICY = [token_log_probs(POLICY, response) for response in RESPONSES]
TOKENS_REFERENCE = [token_log_probs(REFERENCE, response) for response in RESPONSES]
LOG_POLICY = np.array([tokens.sum() for tokens in TOKENS_POLICY])
LOG_REFERENCE = np.array([tokens.sum() for tokens in TOKENS_REFERENCE])
CHANCE = np.exp(LOG_POLICY)  # of each response, under the policy
DIVERGENCE = LOG_POLICY - LOG_REFERENCE
KL = CHANCE @ DIVERGENCE


def kl_by_chain_rule():
    """The same KL another way: at each step, the KL of the next token, weighted by how often one gets there."""
    total, state = 0.0, np.array([1.0, 0.0, 0.0, 0.0])
    for _ in range(LONGEST):
        total += state @ (POLICY * np.log(POLICY / REFERENCE)).sum(axis=1)
        state = np.concatenate([[0.0], state @ POLICY[:, :3]])
    return total


print(f"responses                    {len(RESPONSES)}")
print(f"their probabilities sum to   {CHANCE.sum():.12f}")
print(f"KL(policy ‖ reference)       {KL:.12f}   every response listed")
print(f"the same by the chain rule   {kl_by_chain_rule():.12f}")

# %% [markdown]
# ## 4. One sample is not the mean
#
# The **KL divergence** (after Kullback and Leibler) is the average of $D$ over responses drawn from the policy,
#
# $$\mathrm{KL}(\pi\,\|\,\pi_\text{ref}) = \mathbb E_{y\sim\pi}\Big[\log\frac{\pi(y)}{\pi_\text{ref}(y)}\Big],$$
#
# where $y$ is a response and $y\sim\pi$ says that the policy draws it. That average is never negative. A single $D$ can
# be. Unless the two models are equal, some *must* be: both models' probabilities sum to one, so where the policy gives
# more to some responses it gives less to others, and a response it gives less has $D<0$. The policy draws such a response
# less often than the reference would, but it does draw it.
#
# **Predict first.** Draw a few thousand responses from the policy. What share has $D<0$: almost none, or a good part?
#
# <details><summary>Answer</summary>
#
# A good part: the title of the next figure has counted it. The two models differ clearly, and yet a sample below zero
# is an everyday event.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "figure_histogram", "locked": true, "schema_version": 3, "solution": false, "task": false}
SAMPLE = np.random.default_rng(7).choice(len(RESPONSES), size=4000, p=CHANCE / CHANCE.sum())


@picture(alt="Histogram of sampled divergences, a good part of them below zero; their mean lies on the exact KL.")
def draw_histogram():
    drawn = DIVERGENCE[SAMPLE]
    below = (drawn < 0).mean()
    edges = np.arange(-4, 5.01, 0.25)
    fig, axis = plt.subplots(figsize=(9, 3.9), layout="constrained")
    axis.hist(drawn[drawn < 0], edges, color=palette.VERMILLION, hatch="//", edgecolor="white", label="below zero")
    axis.hist(drawn[drawn >= 0], edges, color=palette.BLUE, edgecolor="white", label="zero or above")
    axis.axvline(KL, color="black", lw=2, label=f"exact KL = {KL:.3f}")
    axis.axvline(drawn.mean(), color=palette.ORANGE, lw=2.5, ls="--", label=f"mean of the samples = {drawn.mean():.3f}")
    for sign, height in ((-1, 0.72), (1, 0.5)):
        common = max(np.flatnonzero(sign * DIVERGENCE > 0), key=lambda i: CHANCE[i] * abs(DIVERGENCE[i]))
        axis.annotate(f"“{spell(RESPONSES[common])}”\nD = {DIVERGENCE[common]:.2f}".replace("-", "−"),
                      (DIVERGENCE[common], 30), xytext=(sign * 3.0, height * axis.get_ylim()[1]), ha="center",
                      arrowprops={"arrowstyle": "->", "color": "0.3"}, bbox={"fc": "white", "ec": "0.5"})
    axis.set(xlabel="sampled divergence D", ylabel="responses", xlim=(-4.3, 5))
    axis.set_title(f"{len(drawn)} responses drawn from the policy: {below:.0%} have a negative D")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend()
    alt = (f"Histogram of {len(drawn)} sampled divergences between about {drawn.min():.1f} and {drawn.max():.1f}; "
           f"{below:.0%} lie below zero. Their mean, {drawn.mean():.3f}, falls on the exact KL, {KL:.3f}.")
    return fig, alt


# %% [markdown]
# ## 5. Three repairs that break the mean
#
# "KL cannot be negative, so this must be a bug." Three repairs suggest themselves:
#
# * **clamp**: $\max(D, 0)$ throws away exactly the samples that balance the others;
# * **absolute value**: $|D|$, or $|\ell^\pi_t-\ell^\text{ref}_t|$ token by token, charges twice: for going and for
#   coming back;
# * **divide by length**: the mean of the token differences instead of their sum. But a response's log probability *is*
#   a sum over its tokens, so this is no longer about responses; besides, a drift costs less the longer the response.
#
# On the left, what each becomes *on average*, exactly, by adding over every response. On the right, the running mean
# over samples. More samples cure noise. They do not cure a bias.

# %% nbgrader={"grade": false, "grade_id": "figure_repairs", "locked": true, "schema_version": 3, "solution": false, "task": false}
@picture(alt="Exact and running means of D and of three repairs, one of them in two forms: only D as it is meets the exact KL.")
def draw_repairs():
    length = np.array([len(response) for response in RESPONSES])
    by_token = np.array([np.abs(p - q).sum() for p, q in zip(TOKENS_POLICY, TOKENS_REFERENCE)])
    repairs = {
        "D as it is": (DIVERGENCE, palette.BLUE, "-", ""),
        "clamped at 0": (np.maximum(DIVERGENCE, 0), palette.VERMILLION, "--", "//"),
        "absolute value": (np.abs(DIVERGENCE), palette.GREEN, "-.", "\\\\"),
        "absolute, by token": (by_token, palette.PURPLE, (0, (6, 1, 1, 1, 1, 1)), "xx"),
        "divided by length": (DIVERGENCE / length, palette.ORANGE, ":", ".."),
    }
    fig, (left, right) = plt.subplots(1, 2, figsize=(10.5, 3.9), layout="constrained", width_ratios=(1.15, 1))
    for row, (name, (values, color, style, hatch)) in enumerate(repairs.items()):
        mean = CHANCE @ values
        left.barh(row, mean, 0.62, color=color, hatch=hatch, edgecolor="white")
        left.text(max(mean, KL) + 0.05, row, f"{mean:.2f}", va="center")
        count = np.arange(1, len(SAMPLE) + 1)
        running = np.cumsum(values[SAMPLE]) / count
        right.plot(count, running, color=color, ls=style, lw=2)
        right.text(1.1 * len(SAMPLE), running[-1], name, va="center")
    left.set_yticks(range(len(repairs)), repairs)
    left.set(xlabel="exact mean over the policy", xlim=(0, 2.15), ylim=(4.5, -0.8))
    right.set(xscale="log", xlabel="samples", ylabel="running mean", xlim=(10, len(SAMPLE)), ylim=(-0.3, 2.5))
    left.axvline(KL, color="black", lw=1.5)
    right.axhline(KL, color="black", lw=1.5)
    left.text(KL + 0.03, -0.38, "exact KL", va="bottom")
    left.set_title("exactly, over every response")
    right.set_title("as samples come in")
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
    means = ", ".join(f"{name}: {CHANCE @ values:.2f}" for name, (values, *_) in repairs.items())
    return fig, (f"Bars of exact means against the exact KL {KL:.2f}: {means}. Beside it the running means over "
                 "samples: only D as it is settles on the KL; the others settle elsewhere.")


# %% [markdown]
# ## 6. Padding, and the NaN that walks through a mask
#
# Responses differ in length, so a batch is padded to a rectangle of $B$ rows and $T$ columns. The **response mask** is
# true where a token belongs to the response. What stands elsewhere is junk: often zeros, sometimes $-\infty$, sometimes
# NaN ("not a number").
#
# Multiplying by the mask looks safe, since zero times anything is zero. In floating point it is not: `0 * nan` is
# `nan`, and `0 * inf` is `nan` too. One NaN makes its row's sum NaN, and one row makes the batch's mean NaN.
# *Selecting* with `torch.where(mask, value, 0.0)` never looks at the junk.
#
# The opposite mistake is to wash every NaN away with `nan_to_num`. A NaN at a position that *counts* means that
# something upstream is broken. It has to show.
#
# Below are three rows of made-up numbers, crossed out where the mask is false. Row C has a NaN at a selected position:
# its sum *should* be NaN.

# %% nbgrader={"grade": false, "grade_id": "figure_nan", "locked": true, "schema_version": 3, "solution": false, "task": false}
@picture(
    alt="Three rows of five numbers with NaN and infinity among them, handled three ways, with row sums. Multiplying by "
    "the mask: all three sums are NaN. Washing with nan_to_num, then multiplying: no sum is NaN, not even in row C, where a "
    "selected number is. Selecting with where: the sums of rows A and B are right and that of row C is NaN, as it should be."
)
def draw_nan():
    nan, inf = float("nan"), float("inf")
    held = torch.tensor([[0.5, -0.2, 0.4, nan, nan], [0.3, 0.1, -inf, -inf, nan], [0.2, nan, 0.6, -0.1, nan]])
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 1, 0]], dtype=torch.bool)
    panels = {
        "what the tensor holds": held,
        "value * mask": held * mask,
        "nan_to_num(value) * mask": held.nan_to_num() * mask,
        "where(mask, value, 0)": torch.where(mask, held, 0.0),
    }
    fig, axes = plt.subplots(2, 2, figsize=(10.5, 4.9), layout="constrained")
    for axis, (name, numbers) in zip(axes.flat, panels.items()):
        first = numbers is held
        for row in range(3):
            for column in range(5):
                value, out = numbers[row, column].item(), not mask[row, column]
                finite = np.isfinite(value)
                face = "white" if finite else "#F9D5BF"
                axis.add_patch(plt.Rectangle((column, row), 1, 1, fc=face, ec="0.35", hatch="" if finite else "..", lw=1))
                if first and out:
                    axis.plot([column, column + 1], [row, row + 1], color="0.45", lw=1)
                text = f"{value:.1f}".replace("-", "−").replace("inf", "∞").replace("−0.0", "0.0")
                axis.text(column + 0.5, row + 0.5, text, ha="center", va="center",
                          bbox={"fc": face, "ec": "none", "pad": 1.5})
            if not first:
                total, right = numbers[row].sum().item(), torch.where(mask, held, 0.0)[row].sum().item()
                same = np.allclose(total, right, equal_nan=True)
                axis.text(5.25, row + 0.5, f"Σ = {total:.1f}  {'✓ right' if same else '✗ wrong'}", va="center",
                          color=palette.BLUE if same else palette.VERMILLION, weight="bold")
            axis.text(-0.2, row + 0.5, "ABC"[row], ha="right", va="center")
        axis.set(xlim=(-0.4, 7.8), ylim=(3.05, -0.05), title=name)
        axis.title.set(family="monospace" if not first else None)
        axis.axis("off")
    return fig


# %% [markdown]
# ## 7. The mean of nothing
#
# The objective is the mean of the penalized rewards over the batch. A filter can leave a batch empty, and then:

# %% nbgrader={"grade": false, "grade_id": "demo_empty", "locked": true, "schema_version": 3, "solution": false, "task": false}
print("mean of an empty tensor:", torch.empty(0).mean())
print("sum of an empty tensor: ", torch.empty(0).sum())

# %% [markdown]
# Zero divided by zero. In this course the objective of an empty batch is 0, so that a training step on it does nothing
# instead of filling every weight with NaN. A *row* with nothing selected, and a batch with $T=0$ columns, need no
# special care: the sum of no numbers is already 0.

# %% [markdown]
# ## Exercise. `kl_penalized_rewards`
#
# | **Exercise card** | |
# |---|---|
# | **Idea** | Sum the log-ratio over the tokens of each response, charge β times that sum against its reward, and average over the batch. |
# | **Formula** | $D_i=\displaystyle\sum_t m_{it}\,(\ell^\pi_{it}-\ell^\text{ref}_{it}),\qquad \tilde r_i=r_i-\beta D_i,\qquad J=\frac1B\sum_i \tilde r_i$ |
# | **Difficulty** | 2 of 5 |
# | **Importance** | 5 of 5 |
# | **Minutes** | 15 |
#
# Here $i$ counts the responses, $t$ the tokens, and $m_{it}$ is the response mask: 1 where token $t$ belongs to response
# $i$, and 0 elsewhere.
#
# << points("kl_penalized_rewards") >>
#
# **Predict first.** A response has two tokens. On the first the policy is surer than the reference, on the second it is
# *less* sure, by more. Does the penalty lower its reward or raise it? And what if $\beta$ is doubled?
#
# <details><summary>Answer</summary>
#
# The two differences add up to less than zero, so $D<0$ and $-\beta D>0$: the reward is *raised*. Doubling $\beta$
# doubles the raise. That is the leash pulling back: the policy is being told to write more of what it neglects
# compared with the reference. The absolute value, token by token, would have lowered the reward instead.
#
# </details>
#
# **The contract.**
#
# | argument | shape | dtype | what it is |
# |---|---|---|---|
# | `policy_log_probs` | `(B, T)` | float32 or float64 | log probability of each sampled token under the policy, $\ell^\pi$ |
# | `reference_log_probs` | `(B, T)` | likewise | the same tokens under the reference, $\ell^\text{ref}$ |
# | `rewards` | `(B,)` | likewise | one scalar reward per response, $r$ |
# | `response_mask` | `(B, T)` | bool | true where the token belongs to the response, $m$ |
# | `beta` | one number | Python `int` or `float` | KL penalty coefficient, $\beta$ |
#
# The three `(B, T)` arrays are aligned: column $t$ is the same token in each. (Getting them aligned is lesson 2.)
#
# | key of the returned `dict` | shape | what it is |
# |---|---|---|
# | `"objective"` | `()` | $J$, a 0-d tensor |
# | `"penalized_rewards"` | `(B,)` | $\tilde r$ |
# | `"sampled_divergences"` | `(B,)` | $D$ |
#
# | rule | what it means |
# |---|---|
# | result | a `dict` with these three keys; further keys are ignored |
# | dtype | every output is **float32**, whatever comes in |
# | device | outputs live where the inputs live: write no device name into your code |
# | sign | $D$ may be negative: never clamp it, never take absolute values |
# | length | never divide by the number of tokens |
# | masked positions | contribute exactly zero, whatever they hold: NaN, $+\infty$ and $-\infty$ included |
# | selected positions | a NaN there must show in the result: no `nan_to_num` |
# | empty batch, $B=0$ | `objective` is 0, the other two have shape `(0,)` |
# | a row with nothing selected | its divergence is 0 and its reward stays as it was |
# | $T=0$ | legal: every divergence is 0 |
# | inputs | left as they were: no in-place changes |
# | gradient | the result stays differentiable: $\partial J/\partial \ell^\pi_{it} = -\beta\, m_{it}/B$, and 0 at masked positions |
# | size | the tests use $T\le 1024$ |
#
# *Tolerance* on a value x: << tolerance("kl_penalized_rewards") >>. You need not compute S: it is the size of what is added
# up, and leaves room for rounding. Every honest order of summation passes, and so does subtracting in float64 first.
#
# *Stretch*, shown and explained but worth 0 points: bfloat16 inputs (convert *before* you subtract; afterwards the
# digits are gone); integer inputs (the penalty has a fraction, and the result is float32 all the same); masks of 0 and
# 1 as integers or floats. There is also *advice* about devices: your function is called with tensors on PyTorch's
# `meta` device, which have a shape but no numbers, and `check` tells you if an output turns up on another device. An
# exception there means nothing, and neither costs points.
#
# **For example.**
#
# << examples("kl_penalized_rewards") >>
#
# **Your turn.** Replace the line that raises `NotImplementedError`. A handful of lines is enough, and no loop is needed.

# %% nbgrader={"grade": false, "grade_id": "kl_penalized_rewards", "locked": false, "schema_version": 3, "solution": true, "task": false}
def kl_penalized_rewards(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Penalize rewards by the sampled divergence of the policy from the reference.

    D_i = sum_t m_it (log_policy_it - log_reference_it),  penalized_i = r_i - beta D_i,  objective = mean_i penalized_i

    Args:
        policy_log_probs: (B, T) float32 or float64, log probability of each sampled token under the policy.
        reference_log_probs: (B, T) likewise, the same tokens under the reference.
        rewards: (B,) likewise, one scalar reward per response.
        response_mask: (B, T) bool, true where the token belongs to the response.
        beta: a number, the KL penalty coefficient.

    Returns:
        A dict of float32 tensors on the inputs' device: "objective" of shape (), "penalized_rewards" (B,) and
        "sampled_divergences" (B,). Divergences are neither clamped nor divided by length. A masked position
        contributes exactly zero whatever it holds; a NaN at a selected position shows. B = 0 gives objective 0;
        T = 0 and rows with nothing selected give divergence 0. Inputs are left as they were, and the result is
        differentiable: d objective / d policy_log_probs = -beta * mask / B.
    """
    ### BEGIN SOLUTION
    # Two large log probabilities may nearly cancel: subtract in float64, round to float32 once, at the end.
    log_ratio = policy_log_probs.double() - reference_log_probs.double()
    # Select, do not multiply: 0 * nan is nan. And select before the sum: afterwards the nan is in it.
    divergences = torch.where(response_mask.bool(), log_ratio, 0.0).sum(dim=-1)
    penalized = rewards.double() - beta * divergences
    objective = penalized.sum() / max(len(penalized), 1)  # mean() of an empty batch would be nan
    return {
        "objective": objective.float(),
        "penalized_rewards": penalized.float(),
        "sampled_divergences": divergences.float(),
    }
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_kl_penalized_rewards", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false} tags=["raises-exception"]
check(kl_penalized_rewards)

# %% [markdown]
# Stuck? Each hint says a little more than the one before; open as few as you need. `hint()` in a cell of your own goes
# further: after a check it speaks of the mistake that was found.
#
# << hints("kl_penalized_rewards") >>

# %% [markdown]
# ## 8. Your function on real samples
#
# **The picture you should see.** The responses drawn above, padded with junk into one batch, go through *your* function.
# Each point is a response: the divergence counted by hand across, yours up. All points should lie on the line.
#
# If they do not, their shape names the mistake:
#
# | shape | what it means |
# |---|---|
# | a hockey stick, level on the left | clamped at zero |
# | a V | absolute value of the sum |
# | a cloud that never goes below zero | absolute values, or another estimator (bonus 1), token by token |
# | the mirror image of the line | reference minus policy |
# | a nearly level line, frayed | divided by length |
# | a clean line, too flat | beta slipped into the divergence |
# | the line, and copies of it below | padding counted |
# | level stripes | the mask upside down |

# %% nbgrader={"grade": false, "grade_id": "figure_batch", "locked": true, "schema_version": 3, "solution": false, "task": false}
def padded(rows, junk):
    """Token log probabilities of a list of responses as a (B, LONGEST) tensor, filled up with junk."""
    batch = torch.full((len(rows), LONGEST), junk, dtype=torch.float64)
    for batch_row, tokens in zip(batch, rows):
        batch_row[: len(tokens)] = torch.as_tensor(tokens)
    return batch


def enthusiasm(response):
    """The toy reward: one point for every "!", a little for every "sure"."""
    return 1.0 * response.count(2) + 0.3 * response.count(1)


BATCH = {
    "policy_log_probs": padded([TOKENS_POLICY[i] for i in SAMPLE], -2.5),
    "reference_log_probs": padded([TOKENS_REFERENCE[i] for i in SAMPLE], -1.5),
    "rewards": torch.tensor([enthusiasm(RESPONSES[i]) for i in SAMPLE], dtype=torch.float64),
    "response_mask": torch.tensor([[t < len(RESPONSES[i]) for t in range(LONGEST)] for i in SAMPLE]),
}


def yours_at(beta):
    """What your function makes of the batch; it gets copies, so that nothing here can be overwritten."""
    return kl_penalized_rewards(**{name: value.clone() for name, value in BATCH.items()}, beta=beta)


@picture(alt="Your divergences against those counted by hand, and their histograms.", needs=[kl_penalized_rewards])
def draw_batch():
    yours = yours_at(0.5)["sampled_divergences"].detach().numpy()
    expected = DIVERGENCE[SAMPLE]
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.1), layout="constrained", width_ratios=(1, 1.4))
    left.axline((0, 0), slope=1, color="black", lw=1.5, label="expected")
    left.plot(expected, yours, "o", ms=4, mfc="none", color=palette.BLUE, label="yours")
    left.set(xlabel="divergence counted by hand", ylabel="your divergence", xlim=(-4.5, 5.5), ylim=(-4.5, 5.5), aspect=1)
    left.legend()
    edges = np.arange(-4, 5.01, 0.25)
    right.hist(expected, edges, color="0.82", edgecolor="white", hatch="//", label="expected")
    right.hist(np.clip(yours, -4, 5), edges, histtype="step", lw=2, color=palette.BLUE, label="yours")
    right.axvline(KL, color="black", ls="--", lw=1.5, label=f"exact KL {KL:.3f}")
    right.axvline(yours.mean(), color=palette.VERMILLION, lw=2, ls=":", label=f"your mean {yours.mean():.3f}")
    right.set(xlabel="sampled divergence", ylabel="responses")
    right.legend()
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
    off = int((np.abs(yours - expected) > 1e-4).sum())
    return fig, (f"Your divergences against those counted by hand: {len(yours) - off} of {len(yours)} responses lie on the "
                 f"line. Your mean is {yours.mean():.3f}, the exact KL {KL:.3f}.")


# %% [markdown]
# ## 9. Reward against penalty, as beta moves
#
# Every response in the batch is a point: its divergence across, its reward up. The toy reward gives one point for each
# `!` and a little for each `sure`. All points on one slanted line have the same penalized reward, since
# $r = \tilde r + \beta D$ is a line of **slope $\beta$**. The best response is the one touched last when such a line is
# slid upwards.
#
# **Predict first.** With $\beta=0$ the line is level. Where does the best response go as $\beta$ grows: left or right?
#
# <details><summary>Answer</summary>
#
# Left, never right: a steeper line touches the cloud further to the left. At first the response that shouts most wins,
# though the reference would hardly ever write it. When $\beta$ is high, the winners have $D<0$: what the policy has
# come to neglect is worth more than what it overdoes. That pulls the policy back to the reference, and the higher
# $\beta$, the harder.
#
# </details>
#
# Colours and stars are your function's, the black ring is the expected winner. In the last panel, $J$ is a
# straight line in $\beta$: it starts at the mean reward and falls with slope minus the mean divergence.

# %% nbgrader={"grade": false, "grade_id": "figure_beta", "locked": true, "schema_version": 3, "solution": false, "task": false}
SHOWN_BETAS = (0.0, 0.5, 0.7, 1.5)


def draw_cloud(axis, beta, result):
    """One panel: responses by divergence and reward, coloured by your penalized reward; returns both winners."""
    reward, divergence = BATCH["rewards"].numpy(), DIVERGENCE[SAMPLE]
    penalized = result["penalized_rewards"].detach().numpy()
    best, found = np.argmax(reward - beta * divergence), np.argmax(penalized)
    shades = axis.scatter(divergence, reward, c=penalized, s=22, cmap="cividis", lw=0)
    axis.axline((divergence[best], reward[best]), slope=beta, color="black", lw=1.2, ls="--")
    axis.plot(divergence[best], reward[best], "o", ms=17, mfc="none", mec="black", mew=1.8, label="expected best")
    axis.plot(divergence[found], reward[found], "*", ms=12, color=palette.VERMILLION, ls="", label="your best")
    axis.set(xlim=(-4.3, 5.3), ylim=(-0.5, 6.4), xlabel="divergence D")
    axis.set_title(f"β = {beta:.2f}\nbest: {spell(RESPONSES[SAMPLE[found]])}", fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)
    return shades, best, found


def draw_objective(axis, results):
    """Your objective at some betas on the line that the batch's means say it must follow."""
    grid = np.array([0.0, 2.0])
    slope, start = -DIVERGENCE[SAMPLE].mean(), BATCH["rewards"].mean().item()
    axis.plot(grid, start + slope * grid, color="black", lw=1.2, ls="--", label="mean reward − β · mean D")
    objectives = [result["objective"].item() for result in results.values()]
    axis.plot(list(results), objectives, "*", ms=13, color=palette.VERMILLION, label="your objective")
    axis.margins(y=0.15)
    axis.set(xlabel="β", ylabel="objective J", xlim=(-0.05, 2.05))
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend()


@picture(alt="Reward against divergence at four values of beta, with the best response marked.", needs=[kl_penalized_rewards])
def draw_betas():
    results = {beta: yours_at(beta) for beta in SHOWN_BETAS}
    fig = plt.figure(figsize=(11.5, 6.4), layout="constrained")
    grid = fig.add_gridspec(2, 4, height_ratios=(1.6, 1))
    axes = [fig.add_subplot(grid[0, column]) for column in range(4)]
    drawn = [draw_cloud(axis, *item) for axis, item in zip(axes, results.items())]
    axes[0].set_ylabel("reward r")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    for (shades, _, _), axis in zip(drawn, axes):
        fig.colorbar(shades, ax=axis, location="bottom", label="your penalized reward", aspect=25)
    draw_objective(fig.add_subplot(grid[1, :]), results)
    winners = "; ".join(
        f"beta {beta}: divergence {DIVERGENCE[SAMPLE[best]]:.2f}, {'found' if best == found else 'not found'} by yours"
        for beta, (_, best, found) in zip(SHOWN_BETAS, drawn)
    )
    return fig, ("Responses by divergence and reward at four values of beta, with a line of slope beta through the best one, "
                 f"which moves left as beta grows. Best response at {winners}. Below, the objective as a straight line in beta.")


# %% [markdown]
# The same as a slider. Move $\beta$ slowly: the line tips, and now and then the star jumps to another corner of the
# cloud.

# %% nbgrader={"grade": false, "grade_id": "demo_beta_slider", "locked": true, "schema_version": 3, "solution": false, "task": false}
def draw_one_beta(beta):
    result = yours_at(beta)
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", width_ratios=(1.3, 1))
    shades, _, _ = draw_cloud(left, beta, result)
    left.set_ylabel("reward r")
    fig.colorbar(shades, ax=left, label="your penalized reward")
    draw_objective(right, {beta: result})
    return fig


explore(
    draw_one_beta,
    alt="Responses by divergence and reward with a line of slope beta through the best one, and the objective at this "
    "beta on its straight line. As beta grows the best response moves left, towards smaller divergence.",
    beta=(0.0, 2.0, 0.05),
)

# %% [markdown]
# ## 10. The gradient, checked
#
# $J$ is a plain sum, so its derivative in each log probability can be read off:
# $\partial J/\partial\ell^\pi_{it}=-\beta\,m_{it}/B$. Autograd has to find the same through your code. If it finds
# nothing, a `.item()`, `.numpy()`, `.detach()` or `torch.tensor(...)` has cut the graph.
#
# The four rows have five, three, one and no selected tokens, and the junk in the padding includes NaN.

# %% nbgrader={"grade": false, "grade_id": "figure_gradient", "locked": true, "schema_version": 3, "solution": false, "task": false}
@picture(alt="The gradient through your function beside the expected one, entry by entry.", needs=[kl_penalized_rewards])
def draw_gradient():
    beta, lengths, nan = 0.5, (5, 3, 1, 0), float("nan")
    mask = torch.tensor([[t < length for t in range(5)] for length in lengths])
    policy = torch.where(mask, -0.7, nan).requires_grad_()
    objective = kl_penalized_rewards(policy, torch.where(mask, -1.0, nan), torch.ones(4), mask, beta)["objective"]
    connected = objective.requires_grad
    found = torch.autograd.grad(objective, policy, allow_unused=True)[0] if connected else None
    yours = torch.zeros(4, 5) if found is None else found
    expected = -beta * mask.float() / len(lengths)
    fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.3), layout="constrained")
    name = "yours, by autograd" if found is not None else "yours: the graph is cut, no gradient"
    for axis, values, title in ((axes[0], yours, name), (axes[1], expected, "expected: −β m / B")):
        axis.imshow(values.numpy(), cmap="Blues_r", vmin=-0.2, vmax=0.0, aspect="auto")
        for (row, column), value in np.ndenumerate(values.numpy()):
            near = np.isclose(value, expected[row, column], rtol=1e-5, atol=1e-9)
            text = f"{value:.3f}".replace("-", "−").replace("−0.000", "0") if value else "0"
            axis.text(column, row, text if near else f"✗ {text}", ha="center", va="center",
                      color="white" if value < -0.08 else "black", weight="normal" if near else "bold")
        axis.set(title=title, xticks=range(5), yticks=range(4), xlabel="token t")
        axis.set_yticklabels([f"{length} selected" for length in lengths])
    close = torch.isclose(yours, expected, rtol=1e-5, atol=1e-9)
    return fig, (f"Gradient of the objective in the policy's log probabilities, yours beside minus beta times mask over B: "
                 f"{int(close.sum())} of {close.numel()} entries agree. Masked entries are zero.")


# %% [markdown]
# ## Bonus 1. k1, k2, k3: three estimates of one number
#
# **For the exercise above the answer is k1, the plain log-ratio. This section is for curiosity.**
#
# Schulman's note [*Approximating KL divergence*](http://joschu.net/blog/kl-approx.html) compares three ways to
# estimate the KL from samples of the policy. With $d=\log\pi(y)-\log\pi_\text{ref}(y)$, this lesson's $D$:
#
# | name | formula | negative? | mean |
# |---|---|---|---|
# | **k1, this lesson's** | $d$ | often | exactly the KL |
# | k2 | $d^2/2$ | never | close to the KL while the models are close |
# | k3, used by the training method GRPO ([arXiv 2402.03300](https://arxiv.org/abs/2402.03300)) | $e^{-d}-1+d$ | never | exactly the KL |
#
# Why is k3's mean right? Because $\mathbb E_\pi[e^{-d}]=\sum_y\pi(y)\,\frac{\pi_\text{ref}(y)}{\pi(y)}=1$, so the part
# that was added to $d$ is zero on average. It moves against $d$, and takes away some of its noise. But $e^{-d}$ is
# large where the policy nearly never goes, so far from the reference the cure becomes the illness.
#
# The figure makes the policy stray further and further, and adds over every response, so the curves carry no sampling
# noise. The vertical line marks the policy of this lesson.

# %% nbgrader={"grade": false, "grade_id": "figure_estimators", "locked": true, "schema_version": 3, "solution": false, "task": false}
def strayed(strength):
    """The reference bent towards the policy: strength 0 is the reference, 1 the policy, above 1 goes beyond it."""
    bent = REFERENCE ** (1 - strength) * POLICY**strength
    return bent / bent.sum(axis=1, keepdims=True)


def mean_and_spread(chance, values):
    mean = chance @ values
    return mean, np.sqrt(chance @ (values - mean) ** 2)


@picture(alt="Bias and noise of the estimators k1, k2 and k3 as the policy strays from the reference.")
def draw_estimators():
    rows = []
    for strength in np.arange(0.25, 3.01, 0.25):
        logp = np.array([token_log_probs(strayed(strength), response).sum() for response in RESPONSES])
        d, chance = logp - LOG_REFERENCE, np.exp(logp)
        rows.append([chance @ d, *(mean_and_spread(chance, k) for k in (d, d**2 / 2, np.expm1(-d) + d))])
    kl = np.array([row[0] for row in rows])
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
    looks = (("k1", palette.BLUE, "o-"), ("k2", palette.VERMILLION, "s--"), ("k3", palette.BLACK, "^:"))
    for column, (name, color, look) in enumerate(looks, 1):
        left.plot(kl, [row[column][0] - row[0] for row in rows], look, color=color, ms=7 - 1.5 * (column == 3), label=name)
        right.plot(kl, [row[column][1] for row in rows], look, color=color, ms=6, label=name)
    left.set(xlabel="exact KL", ylabel="mean − exact KL", title="bias")
    right.set(xlabel="exact KL", ylabel="standard deviation", title="noise of one sample", yscale="log", ylim=(0.03, 90))
    for axis in (left, right):
        axis.axvline(KL, color="0.6", lw=1)
        axis.text(KL + 0.06, 0.97, "this lesson's policy", transform=axis.get_xaxis_transform(), va="top", color="0.35")
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend()
    crossing = next((row[0] for row in rows if row[3][1] > row[1][1]), None)
    where = f"k3 becomes noisier than k1 by KL {crossing:.1f}" if crossing else "k3 stays the less noisy of the two"
    return fig, (f"Left: k1 and k3 have no bias; k2's bias goes from {rows[0][2][0] - kl[0]:.3f} to {rows[-1][2][0] - kl[-1]:.2f} "
                 f"as the KL goes from {kl[0]:.2f} to {kl[-1]:.2f}. Right: standard deviations of one sample; {where}.")


# %% [markdown]
# ## Bonus 2. A right value is not yet a right gradient
#
# One more trap. $J$ is differentiable in the log probabilities, so why not simply call `J.backward()` and train?
# Because the policy also decides *which* responses are drawn, and autograd knows nothing of that.
#
# Take the mean over the policy of the gradient of $D$ itself: $\sum_y \pi(y)\nabla\log\pi(y)=\nabla\sum_y\pi(y)=\nabla 1$,
# which is zero. Descending it is only noise. The true gradient of the KL weights each $\nabla\log\pi(y)$ with the
# response's divergence, held constant (Tang and Munos, [arXiv 2506.09477](https://arxiv.org/abs/2506.09477)). So
# policy-gradient methods use penalized rewards as constant *weights*. You will train that way in lesson 4.
#
# By enumeration, in the parameters of the policy's table:

# %% nbgrader={"grade": false, "grade_id": "demo_gradients", "locked": true, "schema_version": 3, "solution": false, "task": false}
COUNTS = torch.zeros(len(RESPONSES), 4, 4, dtype=torch.float64)  # how often each response uses each table entry
for index, response in enumerate(RESPONSES):
    for previous, word in zip((-1, *response), response):
        COUNTS[index, previous + 1, word] += 1

logits = torch.tensor(np.log(POLICY), requires_grad=True)
logp = (COUNTS * logits.log_softmax(dim=-1)).sum(dim=(1, 2))
log_ratio = logp - torch.tensor(LOG_REFERENCE)
chance = logp.exp()

(truth,) = torch.autograd.grad((chance * log_ratio).sum(), logits, retain_graph=True)
(through,) = torch.autograd.grad((chance.detach() * log_ratio).sum(), logits, retain_graph=True)
(weighted,) = torch.autograd.grad((chance.detach() * log_ratio.detach() * logp).sum(), logits)
print(f"largest entry of the true gradient of the KL        {truth.abs().max():.4f}")
print(f"mean gradient straight through D: largest entry     {through.abs().max():.1e}")
print(f"D as a constant weight: largest error               {(weighted - truth).abs().max():.1e}")

# %% [markdown]
# ## What you take along
#
# * $D$ is a sum over the response's tokens. It may be negative, and its *mean* is the KL.
# * Repairs for a negative $D$ bias that mean, and more data does not help.
# * Select with the mask, do not multiply; let a NaN that matters show.
# * $\beta$ is a price. Raising it moves the best *response* of a batch to a smaller $D$, and keeps the best *policy* closer to
#   the reference.
#
# `progress()` shows where you stand. **Next: lesson 2** gets the log probabilities out of a model's logits in the first
# place, and finds a regression that follows this very objective.

# %% nbgrader={"grade": false, "grade_id": "demo_progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
progress()

# %% [markdown]
# ### Sources
#
# * Ziegler et al., *Fine-tuning language models from human preferences*, [arXiv 1909.08593](https://arxiv.org/abs/1909.08593):
#   the penalized reward.
# * Ouyang et al., *Training language models to follow instructions with human feedback*,
#   [arXiv 2203.02155](https://arxiv.org/abs/2203.02155): the same penalty, token by token, in InstructGPT.
# * Gao, Schulman and Hilton, *Scaling laws for reward model overoptimization*,
#   [arXiv 2210.10760](https://arxiv.org/abs/2210.10760): why it is needed.
# * Shao et al., *DeepSeekMath*, [arXiv 2402.03300](https://arxiv.org/abs/2402.03300): GRPO and k3.
# * Tang and Munos, *On a few pitfalls in KL divergence gradient estimation for RL*,
#   [arXiv 2506.09477](https://arxiv.org/abs/2506.09477): bonus 2.
