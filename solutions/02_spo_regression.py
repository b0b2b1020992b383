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
# # Lesson 2 · SPO: regression on rewards
#
# Take two completions of the same prompt. Under the best policy of lesson 1's objective, the difference of their
# log-ratios is exactly the difference of their rewards divided by $\beta$. So measure both differences, and make them
# agree by least squares. That is the whole lesson.
#
# | | |
# |---|---|
# | **You will be able to** | score a completion under a language model without an off-by-one error; turn "get more reward, stay close to the reference" into a plain squared error; say what REBEL, IPO and DPO have to do with it |
# | **You need to know** | lesson 1; softmax and logarithms; `gather` and broadcasting in PyTorch |
# | **Time** | about 60 minutes: 35 to read and look, 25 for the exercises |
# | **Graded** | `logp_completion`, `spo_loss`; PyTorch |
#
# << course_map("02_spo_regression") >>

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
import os

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch.nn import functional
from torch.profiler import profile

from grader import check, explore, hint, palette, picture, progress

SENTENCE = "two plus three is five ."
PROMPT_WORDS = 4  # "two plus three is"
PAD = "<pad>"
LENGTH = 8  # the sentence has 6 words, so there are two pads

# %% [markdown]
# ## 1. How likely is a completion?
#
# Everything in this course starts from one number: the log probability that a model gives to a **completion** once it
# has read the **prompt**. (Completion and response are two words for the same thing; lesson 1 said response.)
#
# A language model reads tokens from left to right. At each position it returns one **logit** per vocabulary entry: a
# score for every token that could come *next*. The softmax of those logits is a probability distribution. A
# completion is many tokens in a row, so its probability is a product, and its log probability is a sum:
#
# $$\log \pi(\text{completion} \mid \text{prompt}) \;=\; \sum_{t\ \in\ \text{completion}} \log \pi(\text{token}_t \mid \text{tokens before } t).$$
#
# Two things go wrong in practice: *which* logits belong to token $t$, and *which* tokens belong to the completion.
# Let us look at both on a real sentence. The tokenizer is as small as they come: one word, one token.

# %% nbgrader={"grade": false, "grade_id": "demo_tokens", "locked": true, "schema_version": 3, "solution": false, "task": false}
words = SENTENCE.split()
sequence = words + [PAD] * (LENGTH - len(words))
vocabulary = sorted(set(sequence))
tokens = torch.tensor([vocabulary.index(word) for word in sequence])
mask = torch.tensor([PROMPT_WORDS <= t < len(words) for t in range(LENGTH)])

print("vocabulary:", dict(enumerate(vocabulary)), "\n")
print("t   word    id   mask")
for t, word in enumerate(sequence):
    print(f"{t}   {word:6}  {tokens[t].item():2}   {mask[t].item()}")

# %% [markdown]
# **The shift by one.** The model writes `logits[t]` after reading tokens $0 \dots t$. At that moment token $t$ is
# already known. What `logits[t]` talks about is token $t+1$. Read the other way round: **token $t$ is scored by
# `logits[t-1]`**.
#
# Two ends stick out. Token 0 has no row before it, so nothing predicts it and it never counts. The last row of logits
# predicts a token beyond the end, so nobody asks it.
#
# **The mask.** We want the completion *given* the prompt. The prompt's tokens were not chosen by the model, and
# padding was chosen by nobody. `mask[t]` is true where *token* $t$ counts. It belongs to the tokens, not to the rows
# of logits, so it moves along with the tokens when you shift.


# %% nbgrader={"grade": false, "grade_id": "figure_shift", "locked": true, "schema_version": 3, "solution": false, "task": false}
@picture(
    alt="Eight boxes logits[0] to logits[7] stand above the eight tokens two, plus, three, is, five, full stop, "
    "pad, pad. From each box an arrow goes one place to the right, to the token it predicts. Only two arrows "
    "are solid: logits[3] to 'five' and logits[4] to the full stop. They are the ones the mask selects. The "
    "other arrows are dotted. No arrow reaches token 0, and none leaves logits[7].",
)
def draw_shift():
    fig, ax = plt.subplots(figsize=(10.5, 3.5), layout="constrained")
    for t, word in enumerate(sequence):
        counted = bool(mask[t])
        used = t + 1 < LENGTH and bool(mask[t + 1])
        solid = {"boxstyle": "round,pad=0.45", "fc": "white", "ec": palette.BLUE, "lw": 2.5}
        faint = {"boxstyle": "round,pad=0.45", "fc": "white", "ec": "0.55", "lw": 1, "ls": ":"}
        ax.text(t, 1, f"logits[{t}]", ha="center", va="center", fontsize=10, bbox=solid if used else faint)
        ax.text(t, 0, word, ha="center", va="center", fontsize=12, bbox=solid if counted else faint)
        ax.text(t, -0.38, f"mask[{t}]\n{counted}", ha="center", va="center", fontsize=9)
        if t:
            look = {"color": palette.BLUE, "lw": 2.5} if counted else {"color": "0.45", "lw": 1.2, "ls": ":"}
            ax.annotate("", (t - 0.06, 0.17), (t - 0.94, 0.84), arrowprops={"arrowstyle": "-|>", **look})
    ax.text(0, 0.36, "nothing\npredicts it", ha="center", va="center", fontsize=9, style="italic")
    ax.text(LENGTH - 1, 0.60, "predicts beyond\nthe end", ha="left", va="center", fontsize=9, style="italic")
    for start, stop, name in (
        (0, PROMPT_WORDS, "prompt"),
        (PROMPT_WORDS, len(words), "completion"),
        (len(words), LENGTH, "padding"),
    ):
        ax.plot([start - 0.4, stop - 0.6], [-0.68, -0.68], color="black", lw=1)
        ax.text((start + stop - 1) / 2, -0.72, name, ha="center", va="top", fontsize=11)
    ax.set(xlim=(-0.6, LENGTH + 0.2), ylim=(-0.98, 1.25))
    ax.axis("off")
    return fig


# %% [markdown]
# Forget the shift, and nothing crashes. Every shape still fits, and a number comes out. But it is about the wrong
# thing: how well the model guesses a word that it has already read.

# %% [markdown]
# ## Exercise 1. `logp_completion`
#
# | **Exercise card** | |
# |---|---|
# | **Idea** | Score each completion token with the row of logits *before* it; add up. |
# | **Formula** | $\displaystyle\sum_{t \ge 1} \text{mask}_t \cdot \log\mathrm{softmax}(\text{logits}_{t-1})[\text{tokens}_t]$ |
# | **Difficulty** | 2 of 5 |
# | **Importance** | 5 of 5: every later number rests on it |
# | **Minutes** | 15 |
#
# << points("logp_completion") >>
#
# **Predict first.** A model finds all $V$ tokens of its vocabulary equally likely, always. It reads a sequence of 6
# tokens, and the mask is true at all 6. What is the result?
#
# <details><summary>Answer</summary>
#
# $-5 \log V$, not $-6 \log V$. Each scored token costs $\log \frac1V = -\log V$, and token 0 is not scored even
# though the mask says yes: there is no row of logits before it.
#
# </details>
#
# **The contract.**
#
# | Argument or rule | What holds |
# |---|---|
# | `logits` | shape `(..., T, V)`, float32 or float64: any number of leading axes, none included |
# | `tokens` | shape `(..., T)`, int64: valid ids everywhere, padding too, so looking up a masked token is safe |
# | `mask` | shape `(..., T)`, bool: true where the token counts; prompt and padding are false |
# | result | a floating-point tensor of shape `(...)` on the inputs' device: **one number per sequence**; without leading axes the shape is `()` |
# | position 0 | never counts, whatever `mask[..., 0]` says |
# | T = 1 | gives 0: there is nothing to score. A sequence with nothing selected gives 0 too |
# | length | the sum, **not** the mean: no division by the number of tokens |
# | reduction | none over the leading axes |
# | size | logits up to ±10 000 give a finite, exact answer; T ≤ 64 in the tests |
# | gradient | flows back into `logits` |
# | inputs | left as they were |
# | stretch (0 points) | integer or float masks; logits of −inf at masked positions contribute 0, not NaN |
#
# *About the mask.* In lesson 1 a masked position could hold NaN, and multiplying by the mask let the NaN through.
# Here the logits at masked positions are ordinary finite numbers, so **multiplying by the mask is fine** and earns
# full marks. Only the −inf of the stretch row asks for a selection such as `torch.where`.
#
# *Tolerance* on a value x: << tolerance("logp_completion") >>. Here eps32 is the precision of float32, about 1.2e-7, and
# the sum adds up the largest logit of each row that is used. Every sound way to write it passes.
#
# **For example.** What `check` runs first:
#
# << examples("logp_completion") >>


# %% nbgrader={"grade": false, "grade_id": "logp_completion", "locked": false, "schema_version": 3, "solution": true, "task": false}
def logp_completion(logits, tokens, mask):
    """Log probability of a completion given its prompt.

    Token t is scored by the row of logits before it. Token 0 never counts.

    Args:
        logits: (..., T, V) float32 or float64, any number of leading axes, none included.
        tokens: (..., T) int64, valid ids everywhere.
        mask: (..., T) bool, true where the token counts (prompt and padding are false).

    Returns:
        (...) floating-point tensor: the sum over selected tokens, not divided by their number and not
        reduced over leading axes. T = 1 gives 0. Differentiable in logits, stable for logits up to 1e4 in size.
        The inputs are left as they were.
    """
    ### BEGIN SOLUTION
    log_probs = torch.log_softmax(logits[..., :-1, :], dim=-1)
    picked = log_probs.gather(-1, tokens[..., 1:].unsqueeze(-1)).squeeze(-1)
    # Selected, not multiplied: a masked log probability of -inf times 0 would be NaN.
    return picked.masked_fill(~mask[..., 1:].bool(), 0.0).sum(-1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_logp_completion", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false} tags=["raises-exception"]
check(logp_completion)

# %% [markdown]
# Stuck? Each hint says a little more than the one before. `hint("logp_completion")` in a cell of your own gives them
# one by one.
#
# << hints("logp_completion") >>

# %% [markdown]
# **The picture you should see.** We build the logits backwards, from probabilities that we choose: the next word gets
# the chance in `CHANCE`, the others share the rest, and each row is moved up by a constant, which a softmax must not
# notice. So the right answers are known before your function runs. It is then asked about one token at a time. Your
# bars should end in the diamonds.


# %% nbgrader={"grade": false, "grade_id": "figure_logp", "locked": true, "schema_version": 3, "solution": false, "task": false}
def shaped(result, shape, name):
    """Your function's result; a clear message where its shape is another than asked for."""
    if tuple(result.shape) != tuple(shape):
        raise ValueError(f"{name} gave shape {tuple(result.shape)} where {tuple(shape)} is asked for; run its check")
    return result


CHANCE = [0.30, 0.20, 0.60, 0.50, 0.90, 0.70, 0.80]  # chance of the word at t = 1, 2, ... given the words before


def sentence_logits():
    """Logits (LENGTH, V), float64, under which the word at t has probability CHANCE[t - 1]."""
    probability = torch.empty(LENGTH, len(vocabulary), dtype=torch.float64)
    for t, chance in enumerate([*CHANCE, 0.5]):
        probability[t] = (1 - chance) / (len(vocabulary) - 1)
        probability[t, tokens[t + 1] if t + 1 < LENGTH else 0] = chance
    return probability.log() + 3.0 * torch.arange(LENGTH).unsqueeze(-1)


@picture(
    alt="One bar per token of the sentence, drawn from your function: its log probability. A black diamond marks "
    "the right value, and a correct function ends every bar in its diamond. Token 0 has a bar of height zero. "
    "The two completion tokens are solid blue, the rest are hatched white.",
    needs=[logp_completion],
)
def draw_logp():
    right = [0.0] + [math.log(chance) for chance in CHANCE]
    one_each = torch.eye(LENGTH, dtype=torch.bool)
    yours = [float(logp_completion(sentence_logits(), tokens, chosen)) for chosen in one_each]
    total = float(logp_completion(sentence_logits(), tokens, mask))
    fig, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
    bars = ax.bar(range(LENGTH), yours, color="white", edgecolor=palette.BLUE, hatch="///")
    for t in range(LENGTH):
        if mask[t]:
            bars[t].set(facecolor=palette.BLUE, hatch="")
    diamonds = ax.plot(range(LENGTH), right, "D", color="black")
    shown = {"yours, in the completion": bars[PROMPT_WORDS], "yours, masked out": bars[0], "expected": diamonds[0]}
    ax.legend(shown.values(), shown.keys(), loc="lower right", frameon=False)
    ax.axhline(0, color="black", lw=0.8)
    ax.set_xticks(range(LENGTH), [f"{t}\n{word}" for t, word in enumerate(sequence)])
    ax.set(ylabel="log probability", ylim=(min([*right, *yours]) * 1.15, 0.15))
    expected = sum(value for value, counted in zip(right, mask, strict=True) if counted)
    ax.set_title(f"With the completion's mask: yours {total:.4f}, expected {expected:.4f}")
    return fig


# %% [markdown]
# ### Why not `log(softmax(x))`?
#
# On paper, "log softmax" is the logarithm of the softmax. In floating point it is a trap, and lesson 0 showed why:
# `exp` of a very negative number is 0, and the logarithm of 0 is −inf.
#
# Take a vocabulary of two. The token that came has a logit $s$ *below* the other one. The true answer is
# $-s - \log(1 + e^{-s})$, which is $-s$ to many digits. Watch what two naive ways make of it in float32.
#
# * `log(softmax(x))`: the softmax itself is safe, but once the small probability rounds to 0, its logarithm is −inf.
# * `log(exp(x) / exp(x).sum())`: earlier still, the `exp` of the larger logit overflows to inf. Our token then gets 1
#   / inf = 0, and the logarithm is −inf again. The *other* token gets inf / inf, which is NaN.


# %% nbgrader={"grade": false, "grade_id": "figure_naive", "locked": true, "schema_version": 3, "solution": false, "task": false}
@picture(
    alt="Log probability of the less likely of two tokens against the distance s between their logits, in "
    "float32. Your function, a black line, should follow minus s to the end. Both naive forms, circles and "
    "triangles, follow it for a while and then fall to minus infinity, drawn as a dotted drop to the bottom: "
    "first log(exp(x) / exp(x).sum()), somewhat later log(softmax(x)).",
    needs=[logp_completion],
)
def draw_naive():
    gaps = torch.arange(0.0, 161.0)
    rows = torch.stack([gaps, torch.zeros_like(gaps)], dim=-1)  # the token that came is the second one
    every = torch.ones(len(gaps), 2, dtype=torch.int64)
    yours = logp_completion(torch.stack([rows, rows], dim=-2), every, every.bool())
    softmax, by_hand = torch.softmax(rows, -1), rows.exp() / rows.exp().sum(-1, keepdim=True)
    naive = {
        "log(softmax(x))": (softmax.log()[:, 1], palette.VERMILLION, "^", 0),
        "log(exp(x) / exp(x).sum())": (by_hand.log()[:, 1], palette.GREEN, "o", 3),
    }
    fig, ax = plt.subplots(figsize=(9, 3.8), layout="constrained")
    yours = shaped(yours, gaps.shape, "logp_completion").detach()
    ax.plot(gaps, yours, "-", color="black", lw=1.6, label="yours")
    for name, (values, color, marker, start) in naive.items():
        end = int(values.isfinite().sum()) - 1
        some = slice(start, end + 1, 6)
        ax.plot(gaps[some], values[some], marker, color=color, ms=8, mfc="none", mew=1.6, label=name)
        ax.plot([gaps[end]] * 2, [values[end], -170], ":", color=color, lw=2)
        side = 1 if start == 0 else -1  # the later drop is labelled on its right
        label = f"from s = {gaps[end + 1]:.0f}: {values[end + 1]:.0f}"
        ax.text(gaps[end] + 1.5 * side, -162, label, ha="left" if side > 0 else "right", va="bottom")
    far = torch.tensor([160.0, 0.0], requires_grad=True)
    torch.softmax(far, -1).log()[1].backward()
    ax.set_title(f"At s = 160 the gradient of log(softmax(x)) is {far.grad.tolist()}", fontsize=11)
    ax.set(xlabel="s: how far the token's logit lies below the other one", ylabel="log probability", ylim=(-170, 6))
    ax.legend(frameon=False, loc="upper right")
    return fig


# %% [markdown]
# Nothing keeps the logits of a network small, and a single −inf makes the mean loss of a whole batch infinite. Its
# gradient, in the title, is no longer a number. `torch` has stable forms; the hints say where to look.

# %% [markdown]
# ## 2. From a log-ratio to a regression
#
# Lesson 1 ended with an objective: the expected reward minus $\beta$ times the divergence from the reference,
#
# $$J(\pi) = \mathbb E_{y \sim \pi}[r(y)] - \beta\, \mathrm{KL}(\pi \,\|\, \pi_\text{ref}).$$
#
# Its best policy is known in closed form (DPO, [arXiv:2305.18290](https://arxiv.org/abs/2305.18290), derives it;
# lesson 4 computes it): take the reference, and tilt it by the reward,
#
# $$\pi^*(y) = \frac{1}{Z}\, \pi_\text{ref}(y)\, e^{r(y)/\beta}.$$
#
# Here $y$ is a completion, everything is for one prompt, and $Z$ is the number that makes the probabilities sum to 1.
# Take the logarithm, and move the reference to the left. The **log-ratio** of the best policy is the reward, up to
# scale and one constant:
#
# $$\log \frac{\pi^*(y)}{\pi_\text{ref}(y)} = \frac{r(y)}{\beta} - \log Z.$$
#
# So why not regress the log-ratio on $r/\beta$ right away? Because of $Z$. It sums over *every* completion there is:
# with $V$ tokens to choose from in each of $n$ places, $V^n$ of them.
#
# **The trick.** $Z$ depends on the prompt, not on the completion. Take *two* completions of the same prompt and
# subtract. $Z$ is gone:
#
# $$\underbrace{\log \frac{\pi^*(y_1)}{\pi_\text{ref}(y_1)} - \log \frac{\pi^*(y_2)}{\pi_\text{ref}(y_2)}}_{\textstyle \Delta^*} \;=\; \frac{r(y_1) - r(y_2)}{\beta}.$$
#
# Now both sides can be computed. On the left stand four numbers from `logp_completion`: two completions under two
# models. On the right stand two rewards. **SPO** asks the policy to make its own $\Delta$ equal to the right side,
# and punishes the square of what is missing:
#
# $$\text{SPO} = \frac{\beta}{4}\left(\Delta - \frac{r_1 - r_2}{\beta}\right)^{2},
# \qquad \Delta = (\log\pi(y_1) - \log\pi_\text{ref}(y_1)) - (\log\pi(y_2) - \log\pi_\text{ref}(y_2)).$$
#
# Here $r_1 = r(y_1)$ and $r_2 = r(y_2)$. What stands in the bracket is the **residual**. The factor
# $\beta/4$ looks arbitrary. It is not: section 5 shows where it comes from.
#
# **Two names to keep.** $\beta \log\frac{\pi(y)}{\pi_\text{ref}(y)}$ is the **implicit reward**: the reward, up to
# a constant, under which this policy would be the best one. The difference of two implicit rewards, $\beta\Delta$, is the **margin**.
# So SPO makes the margin equal to the real reward difference. Lesson 3 is built on the same margin.
#
# **Which SPO?** At least three methods share the letters. Here SPO is **Scalar Preference Optimization**: regression
# on scalar rewards. It is *not* Self-Play Preference Optimization
# ([arXiv:2401.04056](https://arxiv.org/abs/2401.04056)), which lets a policy play against itself, and *not* Soft
# Preference Optimization ([arXiv:2405.00747](https://arxiv.org/abs/2405.00747)), another loss on preferences. Check
# the full name before you compare numbers.

# %% [markdown]
# ## Exercise 2. `spo_loss`
#
# | **Exercise card** | |
# |---|---|
# | **Idea** | Make the difference of the two log-ratios equal to the reward difference divided by β, in the least-squares sense. |
# | **Formula** | $\dfrac{\beta}{4}\left(\big[(\ell_1 - \ell_{\text{ref},1}) - (\ell_2 - \ell_{\text{ref},2})\big] - \dfrac{r_1 - r_2}{\beta}\right)^{2}$ with $\ell$ = `logp` |
# | **Difficulty** | 2 of 5: short, but every sign counts |
# | **Importance** | 5 of 5 |
# | **Minutes** | 10 |
#
# << points("spo_loss") >>
#
# **Predict first.** The two rewards differ by 1. You double $\beta$. Does the policy that minimizes the loss move
# closer to the reference, or further away?
#
# <details><summary>Answer</summary>
#
# Closer. The loss is 0 at $\Delta = (r_1 - r_2)/\beta$. The reference itself has $\Delta = 0$. Doubling $\beta$
# halves the distance: a higher $\beta$ keeps the optimum closer to the reference, as in lesson 1.
#
# </details>
#
# **Predict again.** The policy equals the reference and the rewards are equal. What is the loss? What if the rewards
# differ?
#
# <details><summary>Answer</summary>
#
# Equal rewards: 0, there is nothing to learn from this pair. Different rewards: $\frac{(r_1 - r_2)^2}{4\beta}$. Since
# $\Delta = 0$, the residual is $-(r_1-r_2)/\beta$. This is a good value to look for at the first step of training.
#
# </details>
#
# **The contract.**
#
# | Argument or rule | What holds |
# |---|---|
# | `logp_1`, `logp_2` | shape `(...)`, float32 or float64: log probabilities of the two completions under the policy |
# | `logp_ref_1`, `logp_ref_2` | the same, under the reference |
# | `reward_1`, `reward_2` | the same shape and dtype: the two rewards. Either may be the larger one |
# | `beta` | a positive number |
# | result | a floating-point tensor of shape `(...)`: **one loss per pair**, no mean, no sum; any number of axes, none included |
# | gradient | $+\frac{\beta}{2}\cdot$ residual in `logp_1`, $-\frac{\beta}{2}\cdot$ residual in `logp_2` |
# | inputs | left as they were |
# | range in the tests | \|residual\| ≥ 1/4, \|logp\| ≤ 30, β·\|logp\| ≤ 100, 0.001 ≤ β ≤ 10 |
#
# *Tolerance* on a value x: << tolerance("spo_loss") >>; the same for the gradients.
#
# **For example.** What `check` runs first:
#
# << examples("spo_loss") >>


# %% nbgrader={"grade": false, "grade_id": "spo_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def spo_loss(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """SPO (Scalar Preference Optimization): squared error of log-ratio differences on reward differences.

    Args:
        logp_1: (...) float32 or float64, log probability of completion 1 under the policy.
        logp_2: (...) likewise, completion 2 of the same prompt.
        logp_ref_1: (...) likewise, completion 1 under the reference.
        logp_ref_2: (...) likewise, completion 2 under the reference.
        reward_1: (...) likewise, reward of completion 1.
        reward_2: (...) likewise, reward of completion 2.
        beta: positive number, the KL penalty coefficient.

    Returns:
        (...) floating-point tensor: beta/4 times the squared residual, one loss per pair, no reduction.
        Its gradient is +beta/2 times the residual in logp_1 and -beta/2 times the residual in logp_2.
        The inputs are left as they were.
    """
    ### BEGIN SOLUTION
    delta = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    residual = delta - (reward_1 - reward_2) / beta
    return beta / 4 * residual**2
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_spo_loss", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false} tags=["raises-exception"]
check(spo_loss)

# %% [markdown]
# << hints("spo_loss") >>

# %% [markdown]
# **The picture you should see.** Three parabolas in $\Delta$ for a reward difference of 1. Each touches zero at
# $1/\beta$, and each starts, at the reference ($\Delta = 0$), from $1/(4\beta)$. These two points and the mirror
# image of the second are the diamonds.
#
# *Bonus.* Swap the two completions *together with* their rewards: what does the loss do? And what if you swap the rewards
# alone? Predict, then try it on one pair.


# %% nbgrader={"grade": false, "grade_id": "figure_parabolas", "locked": true, "schema_version": 3, "solution": false, "task": false}
def loss_of_gap(gap, reward_gap, beta):
    """Your spo_loss as a function of the log-ratio difference alone: completion 1 carries all of it."""
    zero = torch.zeros_like(gap)
    loss = spo_loss(gap, zero, zero, zero, torch.full_like(gap, reward_gap), zero, beta)
    return shaped(loss, gap.shape, "spo_loss")


@picture(
    alt="Your SPO loss against the log-ratio difference Delta, for a reward difference of 1 and beta 0.25, 0.5 "
    "and 1: three parabolas which should touch zero at Delta = 4, 2 and 1. The higher beta, the closer the "
    "minimum to zero, which is the reference, and the narrower the parabola. Black diamonds mark expected "
    "values, three per curve.",
    needs=[spo_loss],
)
def draw_parabolas():
    gap = torch.linspace(-1, 9, 401, dtype=torch.float64)
    fig, ax = plt.subplots(figsize=(9, 3.8), layout="constrained")
    for beta, color, style in ((0.25, palette.BLUE, "-"), (0.5, palette.VERMILLION, "--"), (1.0, palette.GREEN, "-.")):
        ax.plot(gap, loss_of_gap(gap, 1.0, beta), style, color=color, lw=2, label=f"yours, β = {beta}")
        ax.plot([0, 1 / beta, 2 / beta], [1 / (4 * beta), 0, 1 / (4 * beta)], "D", color="black", ms=6)
    ax.plot([], [], "D", color="black", ms=6, label="expected")
    ax.axvline(0, color="0.6", lw=1)
    ax.text(0.08, 1.9, "reference", va="center", fontsize=9, color="0.3")
    ax.set(xlabel="log-ratio difference Δ", ylabel="SPO loss", ylim=(-0.05, 2.1), xlim=(-1, 9))
    ax.legend(frameon=False, loc="upper right")
    return fig


# %% [markdown]
# ## 3. Watch it learn
#
# Now both functions together, on a language small enough to see all of it. Five words; a response is two words, so
# there are 25 responses and 300 pairs. `good` earns 1 and `bad` costs 1. A `very` in front doubles the second word,
# and a `not` in front flips its sign. To this comes a small fixed whim per response, so that no two rewards are
# equal.
#
# The policy is a table of logits: one row for the first word, and one row for the second word after each possible
# first word. Such a table can express any distribution over the 25 responses, so nothing but the loss decides where
# it ends.
#
# We start *at* the reference. Every $\Delta$ is 0, and the cloud of pairs is flat. Then we minimize the mean of your
# SPO loss over all pairs, with log probabilities from your `logp_completion`. The theory says where the dots must go:
# onto the line $\Delta = (r_1 - r_2) / \beta$.

# %% nbgrader={"grade": false, "grade_id": "demo_world", "locked": true, "schema_version": 3, "solution": false, "task": false}
WORDS = ("very", "not", "good", "bad", ".")
WORTH = {"good": 1.0, "bad": -1.0}


def worth(first, second):
    """Reward of a response of two words, before the whim."""
    factor = {"very": 2.0, "not": -1.0}.get(first, 1.0)
    return WORTH.get(first, 0.0) + factor * WORTH.get(second, 0.0)


FIRST, SECOND = (axis.flatten() for axis in torch.meshgrid(torch.arange(5), torch.arange(5), indexing="ij"))
RESPONSES = torch.stack([torch.zeros_like(FIRST), FIRST, SECOND], dim=-1)  # position 0 is the prompt: any valid id
RESPONSE_MASK = torch.tensor([False, True, True]).expand(25, 3)
_generator = torch.Generator().manual_seed(2)
WHIM = 0.6 * torch.rand(25, dtype=torch.float64, generator=_generator) - 0.3
REWARDS = WHIM + torch.tensor(
    [worth(WORDS[a], WORDS[b]) for a, b in zip(FIRST, SECOND, strict=True)], dtype=torch.float64
)
REFERENCE_TABLE = torch.randn(6, 5, dtype=torch.float64, generator=_generator)
OTHER_TABLE = torch.randn(6, 5, dtype=torch.float64, generator=_generator)


def all_logps(table):
    """Log probability (25,) of each response under a table of logits (6, 5), by your logp_completion."""
    start = table[0].expand(25, 5)
    unused = torch.zeros(25, 5, dtype=table.dtype)  # the last row predicts beyond the end
    logp = logp_completion(torch.stack([start, table[1 + FIRST], unused], dim=1), RESPONSES, RESPONSE_MASK)
    return shaped(logp, (25,), "logp_completion")


print(f"{len(REWARDS.unique())} different rewards for {len(REWARDS)} responses")
best, worst = int(REWARDS.argmax()), int(REWARDS.argmin())
for name, i in (("best", best), ("worst", worst)):
    print(f"{name} response: {WORDS[FIRST[i]]} {WORDS[SECOND[i]]}, reward {REWARDS[i].item():+.2f}")


# %% nbgrader={"grade": false, "grade_id": "figure_collapse", "locked": true, "schema_version": 3, "solution": false, "task": false}
STEPS = (0, 20, 80, 600)
LEFT, RIGHT = torch.triu_indices(25, 25, offset=1)  # the 300 pairs


def train(beta):
    """Minimize the mean SPO loss over all pairs from the reference on; (step, Delta of each pair) at each of STEPS."""
    table = REFERENCE_TABLE.clone().requires_grad_()
    reference = all_logps(REFERENCE_TABLE).detach()
    optimizer = torch.optim.Adam([table], lr=0.05)
    seen = []
    for step in range(STEPS[-1] + 1):
        logp = all_logps(table)
        if step in STEPS:
            ratio = (logp - reference).detach()
            seen.append((step, ratio[LEFT] - ratio[RIGHT]))
        optimizer.zero_grad()
        spo_loss(
            logp[LEFT], logp[RIGHT], reference[LEFT], reference[RIGHT], REWARDS[LEFT], REWARDS[RIGHT], beta
        ).mean().backward()
        optimizer.step()
    return seen


@picture(
    alt="Two rows of four scatter plots: the log-ratio difference of each of 300 pairs against its real reward "
    "difference, at four moments of training, for beta 0.5 above and beta 2 below. At step 0 all dots lie on "
    "the horizontal zero line. They then tilt up as a cloud, and with correct functions they end on the "
    "dashed line of slope 1/beta: slope 2 above, slope one half below.",
    needs=[logp_completion, spo_loss],
)
def draw_collapse():
    real = REWARDS[LEFT] - REWARDS[RIGHT]
    line = torch.tensor([real.min(), real.max()])
    fig, axes = plt.subplots(2, len(STEPS), figsize=(11, 5.6), sharex=True, sharey=True, layout="constrained")
    for row, beta in zip(axes, (0.5, 2.0), strict=True):
        for ax, (step, implied) in zip(row, train(beta), strict=True):
            off = (implied - real / beta).square().mean().sqrt().item()
            ax.plot(line, line / beta, "--", color="black", lw=1.3, zorder=3)
            ax.plot(real, implied, "o", color=palette.BLUE, ms=3.5, alpha=0.45, mew=0)
            ax.set_title(f"step {step}: off by {off:.2g}", fontsize=10.5)
            ax.axhline(0, color="0.75", lw=0.8, zorder=0)
        row[0].set_ylabel(f"β = {beta:g}\nlog-ratio difference Δ")
        row[-1].text(0.04, 0.95, f"slope 1/β = {1 / beta:g}", transform=row[-1].transAxes, va="top")
    fig.supxlabel("real reward difference  r₁ − r₂", fontsize=11)
    return fig


# %% [markdown]
# "Off by" is the root mean square distance of the dots from the dashed line. It goes to zero, and that is the whole
# theory in one picture. On the line, every log-ratio is $r/\beta$ up to one shared constant; probabilities sum to 1,
# which fixes the constant; so the policy *is* the best policy of lesson 1's objective. Nobody computed $Z$, and nobody
# sampled anything.
#
# Compare the two rows. The rewards are the same. The higher $\beta$ has the flatter line: its best policy stays
# closer to the reference.

# %% [markdown]
# ## 4. The relatives
#
# SPO has well-known relatives. Each asks something else of the same $\Delta$. With completion 1 as the preferred one,
# $\sigma(x) = 1/(1 + e^{-x})$ the sigmoid, and $\tau$ (tau) the number that plays $\beta$'s part in IPO:
#
# | | loss on one pair | what it knows of the rewards | lowest at |
# |---|---|---|---|
# | **SPO** | $\frac{\beta}{4}\left(\Delta - \frac{r_1 - r_2}{\beta}\right)^2$ | how much better | $\Delta = \frac{r_1 - r_2}{\beta}$ |
# | **IPO** ([arXiv:2310.12036](https://arxiv.org/abs/2310.12036)) | $\left(\Delta - \frac{1}{2\tau}\right)^2$ | which is better | $\Delta = \frac{1}{2\tau}$, the same for every pair |
# | **DPO** ([arXiv:2305.18290](https://arxiv.org/abs/2305.18290)) | $-\log \sigma(\beta\Delta)$ | which is better | nowhere: always a bit further |
#
# Below, the upper row shows the losses, the lower row their slopes: how hard each loss pulls $\Delta$, and which way.
# The lower axis is $\Delta$, the upper one the margin $\beta\Delta$. IPO has $\tau = \beta$.


# %% nbgrader={"grade": false, "grade_id": "figure_relatives", "locked": true, "schema_version": 3, "solution": false, "task": false}
REWARD_GAP = 1.5


def curves(beta):
    """(name, colour, style, Delta, loss, slope) of the three losses at one beta; SPO is yours."""
    losses = {
        "SPO (yours)": (lambda gap: loss_of_gap(gap, REWARD_GAP, beta), palette.BLUE, "-"),
        "IPO, τ = β": (lambda gap: torch.square(gap - 0.5 / beta), palette.VERMILLION, "--"),
        "DPO": (lambda gap: -functional.logsigmoid(beta * gap), palette.GREEN, "-."),
    }
    for name, (loss, color, style) in losses.items():
        gap = torch.linspace(-3, 7, 301, dtype=torch.float64, requires_grad=True)
        value = loss(gap)
        (slope,) = torch.autograd.grad(value.sum(), gap)
        yield name, color, style, gap.detach(), value.detach(), slope


def draw_column(upper, lower, beta):
    """The losses in one axes and their slopes in another, at one beta."""
    for name, color, style, gap, value, slope in curves(beta):
        upper.plot(gap, value, style, color=color, lw=2, label=name)
        lower.plot(gap, slope, style, color=color, lw=2)
    for ax in (upper, lower):
        ax.axvline(REWARD_GAP / beta, color=palette.BLUE, lw=1, ls=":")
        ax.set(xlim=(-3, 7))
    lower.axhline(0, color="0.6", lw=0.8)
    upper.set(ylim=(-0.1, 4.2), title=f"β = {beta:g}")
    lower.set(ylim=(-2.2, 2.2), xlabel="log-ratio difference Δ")
    margin = upper.secondary_xaxis("top", functions=(lambda gap: gap * beta, lambda z: z / beta))
    margin.set_xlabel("margin βΔ", fontsize=9)
    margin.tick_params(labelsize=8)


@picture(
    alt="SPO, IPO and DPO as functions of the log-ratio difference for beta 0.25, 0.5 and 1 and a reward "
    "difference of 1.5, with their slopes below. SPO is a parabola with its minimum at 1.5 over beta, marked "
    "by a dotted line. IPO is a steeper parabola with its minimum at 0.5 over beta. DPO falls for ever and "
    "flattens out to the right; its slope stays negative and never exceeds beta in size. SPO and IPO pull "
    "back when the difference is too large. As beta grows, both minima move towards zero.",
    needs=[spo_loss],
)
def draw_relatives():
    fig, axes = plt.subplots(2, 3, figsize=(11, 6), sharey="row", layout="constrained")
    for (upper, lower), beta in zip(axes.T, (0.25, 0.5, 1.0), strict=True):
        draw_column(upper, lower, beta)
    axes[0, 0].set_ylabel("loss")
    axes[1, 0].set_ylabel("slope of the loss in Δ")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return fig


# %% [markdown]
# Three things to read off.
#
# * **SPO and IPO know when to stop.** Left of the minimum they push $\Delta$ up, right of it they pull it back. DPO
#   only pushes, ever more gently.
# * **Only SPO knows how much.** Its minimum moves with the reward difference. IPO asks for the same $\Delta$ whether
#   the preferred completion is a little better or far better.
# * **Only DPO is bounded.** Its slope never exceeds $\beta$ in size, so a wildly wrong pair cannot shout. Under a
#   squared error it can.
#
# Move $\beta$ yourself:


# %% nbgrader={"grade": false, "grade_id": "figure_slider", "locked": true, "schema_version": 3, "solution": false, "task": false}
def draw_at(beta):
    fig, (upper, lower) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    draw_column(upper, lower, beta)
    upper.set_xlabel("log-ratio difference Δ")
    upper.set_ylabel("loss")
    lower.set_ylabel("slope of the loss in Δ")
    fig.legend(*upper.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return fig


explore(
    draw_at,
    alt="The losses SPO, IPO and DPO on the left and their slopes on the right, at the beta of the slider. The "
    "figure above shows the same at three fixed values of beta.",
    beta=(0.25, 2.0, 0.05),
)

# %% [markdown]
# ### The same loss under other names
#
# **REBEL** ([arXiv:2404.16767](https://arxiv.org/abs/2404.16767)) regresses reward differences too. With step size
# $\eta$ it minimizes
#
# $$\text{REBEL}(\eta) = \left(\frac{\Delta}{\eta} - (r_1 - r_2)\right)^2,$$
#
# where the reference is the policy of the previous round. Put $\eta = 1/\beta$ and take $\beta$ out of the bracket:
# $\text{REBEL}(1/\beta) = \beta^2 (\Delta - \frac{r_1-r_2}{\beta})^2$. Hence
#
# $$\text{SPO}(\beta) = \frac{\text{REBEL}(\eta = 1/\beta)}{4\beta}.$$
#
# *Check which convention a source uses.* Write $\eta$ on the other side, $(\Delta - \eta\,(r_1 - r_2))^2$, and the
# minimum stays while the scale changes: SPO is then $\frac{\beta}{4}$ times it. When you compare two texts, first
# find where the minimum lies. Here it is $\Delta = (r_1 - r_2)/\beta$.
#
# **IPO** with $\tau = \beta$ aims at $\Delta = \frac{1/2}{\beta}$. This is where SPO aims if every reward difference
# is ½. So
#
# $$\text{IPO}(\tau = \beta) = \frac{4}{\beta}\,\text{SPO}(\beta)\ \text{ at } r_1 - r_2 = \tfrac12.$$
#
# A scale does not move the minimum, but it does multiply every gradient, and so the learning rate that works.
#
# **CoPG**, Contrastive Policy Gradient ([arXiv:2406.19185](https://arxiv.org/abs/2406.19185)), arrives at the same
# kind of regression from the side of policy gradients, and finds IPO inside it. The next section walks a bit of that
# road.


# %% nbgrader={"grade": false, "grade_id": "figure_identities", "locked": true, "schema_version": 3, "solution": false, "task": false}
@picture(
    alt="Left: your SPO loss as lines, and REBEL divided by 4 beta as circles, for beta 0.3, 0.5 and 0.9 and a "
    "reward difference of 1.5. Right: your SPO at a reward difference of one half, times 4 over beta, as "
    "lines, and IPO with tau = beta as circles. With a correct function every circle lies on its line. The "
    "title of each panel gives the largest gap.",
    needs=[spo_loss],
)
def draw_identities():
    gap = torch.linspace(-2, 7, 37, dtype=torch.float64)
    fig, axes = plt.subplots(1, 2, figsize=(10.5, 4), layout="constrained")
    largest = [0.0, 0.0]
    for beta, color, style in ((0.3, palette.BLUE, "-"), (0.5, palette.VERMILLION, "--"), (0.9, palette.GREEN, "-.")):
        eta, tau = 1 / beta, beta
        sides = (
            (loss_of_gap(gap, REWARD_GAP, beta), torch.square(gap / eta - REWARD_GAP) / (4 * beta)),
            (4 / beta * loss_of_gap(gap, 0.5, beta), torch.square(gap - 1 / (2 * tau))),
        )
        for k, (yours, theirs) in enumerate(sides):
            axes[k].plot(gap, yours, style, color=color, lw=2, label=f"β = {beta}")
            axes[k].plot(gap, theirs, "o", color=color, mfc="none", ms=6)
            largest[k] = max(largest[k], (yours - theirs).abs().max().item())
    names = ("SPO (lines), REBEL/4β (circles)", "(4/β)·SPO (lines), IPO (circles)")
    for ax, name, far, top in zip(axes, names, largest, (5, 16), strict=True):
        ax.set_title(f"{name}\nlargest gap {far:.0e}", fontsize=11)
        ax.set(xlabel="log-ratio difference Δ", ylabel="loss", ylim=(-top / 40, top))
        ax.legend(frameon=False, loc="upper center")
    return fig


# %% [markdown]
# ## 5. Why β/4
#
# Any positive factor has the same minimum. One of them has a meaning. Let both completions of the pair be drawn
# independently from the policy $\pi$ as it is now, and look at the average gradient of the loss.
#
# Write $h(y) = \log\pi(y) - \log\pi_\text{ref}(y)$ for the log-ratio, and $g(y) = h(y) - r(y)/\beta$, so that the
# residual is $g(y_1) - g(y_2)$.
#
# 1. *The square gives a 2.*
#    $\nabla\,\text{SPO} = \frac{\beta}{4}\cdot 2\,\big(g(y_1) - g(y_2)\big)\big(\nabla\log\pi(y_1) - \nabla\log\pi(y_2)\big)$.
# 2. *The two ends give another 2.* Swapping $y_1$ and $y_2$ changes both signs, so on average both ends contribute
#    the same:
#    $\mathbb E\,[\nabla\,\text{SPO}] = \beta\;\mathbb E\,\big[\big(g(y_1) - g(y_2)\big)\,\nabla\log\pi(y_1)\big]$.
# 3. *The other completion drops out.* $y_2$ is independent of $y_1$, so $g(y_2)$ can be replaced by its mean, a
#    constant. And $\mathbb E\,[\nabla\log\pi(y_1)] = 0$, because probabilities always sum to 1. So
#    $\mathbb E\,[\nabla\,\text{SPO}] = \mathbb E\,\big[\big(\beta h(y_1) - r(y_1)\big)\,\nabla\log\pi(y_1)\big]$.
# 4. *This is lesson 1.* The gradient of $\mathbb E[r]$, when the policy moves, is $\mathbb E[r\,\nabla\log\pi]$ (the
#    *policy gradient*), and that of $\mathrm{KL}(\pi\,\|\,\pi_\text{ref})$ is $\mathbb E[h\,\nabla\log\pi]$ (lesson 1, bonus 2). So
#
# $$\boxed{\;\mathbb E_{y_1, y_2 \sim \pi}\,[\nabla\,\text{SPO}] \;=\; -\nabla\big(\mathbb E[r] - \beta\,\mathrm{KL}(\pi \,\|\, \pi_\text{ref})\big)\;}$$
#
# The 4 cancels the two 2s, and the $\beta$ turns $r/\beta$ back into $r$. With the factor $\beta/4$, one gradient
# step of SPO on fresh pairs is, on average, one gradient step on lesson 1's objective: the same direction *and the
# same length*. The second completion plays the part of a *baseline*: something to compare the first one with, which changes
# no average and usually takes out noise.
#
# You need not believe the algebra. In our small language we can list all $25 \times 25$ ordered pairs, a response
# with itself included, weigh each by its probability, and add up. No sampling, no noise. The weights are held fixed
# while differentiating: they say how often a pair is *seen*, and the loss does not look through them.


# %% nbgrader={"grade": false, "grade_id": "figure_why", "locked": true, "schema_version": 3, "solution": false, "task": false}
EVERY_LEFT, EVERY_RIGHT = (axis.flatten() for axis in torch.meshgrid(torch.arange(25), torch.arange(25), indexing="ij"))


def expected_spo_gradient(beta, pairs_from):
    """Gradient (6, 5) of SPO at OTHER_TABLE, averaged over all pairs drawn from the table `pairs_from`."""
    table = OTHER_TABLE.clone().requires_grad_()
    logp, reference = all_logps(table), all_logps(REFERENCE_TABLE)
    chance = all_logps(pairs_from).detach().exp()
    i, j = EVERY_LEFT, EVERY_RIGHT
    loss = spo_loss(logp[i], logp[j], reference[i], reference[j], REWARDS[i], REWARDS[j], beta)
    return torch.autograd.grad((chance[i] * chance[j] * loss).sum(), table)[0]


def minus_objective_gradient(beta):
    """Gradient (6, 5) of -(E[r] - beta KL) at OTHER_TABLE; both expectations are sums over the 25 responses."""
    table = OTHER_TABLE.clone().requires_grad_()
    logp = all_logps(table)
    penalized = REWARDS - beta * (logp - all_logps(REFERENCE_TABLE))
    return torch.autograd.grad(-(logp.exp() * penalized).sum(), table)[0]


@picture(
    alt="Each of the 30 entries of the averaged SPO gradient against the same entry of minus the gradient of "
    "lesson 1's objective. Left: with pairs drawn from the policy, for beta 0.1, 0.5 and 2, all points should "
    "lie on the diagonal; the title gives the largest gap, about 1e-16 for correct functions. Right: with "
    "pairs drawn from the reference, they scatter around it.",
    needs=[logp_completion, spo_loss],
)
def draw_why():
    fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), sharex=True, sharey=True, layout="constrained")
    sources = (("pairs from the policy π", OTHER_TABLE), ("pairs from the reference", REFERENCE_TABLE))
    looks = ((0.1, palette.BLUE, "o"), (0.5, palette.VERMILLION, "s"), (2.0, palette.GREEN, "^"))
    for ax, (name, source) in zip(axes, sources, strict=True):
        largest = 0.0
        for beta, color, marker in looks:
            objective, spo = minus_objective_gradient(beta), expected_spo_gradient(beta, source)
            ax.plot(objective.flatten(), spo.flatten(), marker, color=color, mfc="none", ms=7, label=f"β = {beta}")
            largest = max(largest, (objective - spo).abs().max().item())
        ax.axline((0, 0), slope=1, color="black", lw=1, ls="--", zorder=0)
        ax.set_title(f"{name}\nlargest gap {largest:.2g}", fontsize=11)
        ax.set(xlabel="−∂J/∂(table entry)")
    axes[0].set_ylabel("E[∂SPO/∂(table entry)]")
    axes[0].legend(frameon=False)
    return fig


# %% [markdown]
# On the left, equality to the last digit that float64 has. On the right, what the identity needs: pairs from $\pi$
# itself. Drawn from anyone else, the average gradient is a different one.
#
# That is less sad than it looks. **The identity** needs fresh pairs; **the minimum** does not. Whoever supplies the
# pairs, the loss of each is lowest where its residual is 0, and one policy, $\pi^*$, brings all residuals to 0 at
# once. Section 3 relied on it: there the 300 pairs were never sampled from anything. So SPO can learn from a fixed
# data set, where a plain policy gradient needs fresh samples from the policy it is changing.

# %% [markdown]
# ## 6. The road to lesson 3
#
# SPO needs rewards as numbers. People often give less: *I prefer this one*. The **Bradley–Terry** model says how such
# a label comes about: completion 1 is preferred with probability $\sigma(r_1 - r_2)$. DPO fits
# $-\log\sigma(\beta\Delta)$ to such labels.
#
# Averaged over the label, DPO's loss at the margin $z = \beta\Delta$ is
#
# $$\mathbb E_\text{BT}[\text{DPO}](z) = -\sigma(r_1 - r_2)\,\log\sigma(z) - \sigma(r_2 - r_1)\,\log\sigma(-z).$$
#
# It is a cross-entropy, so it is lowest at $z = r_1 - r_2$: **exactly where SPO is lowest**. Its value there is some
# constant, the entropy of the label. Around $z = 0$ the logistic loss curves with second derivative
# $\sigma'(0) = \frac14$. So, for small margins,
#
# $$\mathbb E_\text{BT}[\text{DPO}] - \text{const} \approx \tfrac12\cdot\tfrac14\,\big(z - (r_1 - r_2)\big)^2
# \qquad\text{that is}\qquad \frac{2}{\beta}\big(\mathbb E_\text{BT}[\text{DPO}] - \text{const}\big) \approx \text{SPO}.$$
#
# The left panels compare the two curves. The right panel measures how fast they meet, at the reference (margin 0): as the
# reward difference shrinks, the relative gap between the two falls with its square.


# %% nbgrader={"grade": false, "grade_id": "figure_neighbours", "locked": true, "schema_version": 3, "solution": false, "task": false}
def neighbour_of_spo(margin, reward_gap, beta):
    """(2/beta)(E_BT[DPO] - const): the label averaged out, the lowest value subtracted."""
    real = torch.as_tensor(reward_gap, dtype=torch.float64)

    def averaged(z):
        return -torch.sigmoid(real) * functional.logsigmoid(z) - torch.sigmoid(-real) * functional.logsigmoid(-z)

    return 2 / beta * (averaged(margin) - averaged(real))


@picture(
    alt="Two left panels: SPO and the rescaled average DPO loss against the margin, for a reward difference of "
    "0.5 and of 4, at beta 1. Both curves touch zero at the reward difference. For 0.5 they run together near "
    "it; for 4 DPO's curve is far flatter. Right panel, both axes logarithmic: the relative gap between the "
    "two at margin zero against the reward difference, parallel to a dashed line of slope 2.",
    needs=[spo_loss],
)
def draw_neighbours():
    beta = 1.0
    fig, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
    for ax, real in zip(axes, (0.5, 4.0), strict=False):
        margin = torch.linspace(-2, 6, 201, dtype=torch.float64)
        ax.plot(margin, loss_of_gap(margin / beta, real, beta), "-", color=palette.BLUE, lw=2, label="SPO (yours)")
        ax.plot(
            margin, neighbour_of_spo(margin, real, beta), "-.", color=palette.GREEN, lw=2, label="(2/β)(E[DPO] − const)"
        )
        ax.axvline(real, color="0.6", lw=1, ls=":")
        ax.set(xlabel="margin βΔ", ylim=(-0.1, 3), title=f"r₁ − r₂ = {real:g}")
    axes[0].set_ylabel("loss")
    axes[0].legend(frameon=False, fontsize=9, loc="upper left")
    scale = torch.logspace(-2, 1, 40, dtype=torch.float64)
    zero = torch.zeros(1, dtype=torch.float64)
    gap = torch.cat([1 - neighbour_of_spo(zero, s, beta) / loss_of_gap(zero, s.item(), beta) for s in scale])
    axes[2].loglog(scale, gap.abs(), "o", color=palette.PURPLE, ms=4, label="relative gap at margin 0")
    axes[2].loglog(scale, gap[0].abs() * (scale / scale[0]) ** 2, "--", color="black", lw=1, label="slope 2")
    axes[2].set(xlabel="reward difference r₁ − r₂", ylim=(1e-6, 10), title="how fast they meet")
    axes[2].legend(frameon=False, fontsize=9, loc="upper left")
    return fig


# %% [markdown]
# So DPO is SPO's neighbour: the same target, seen through noisy yes-or-no labels, and with a loss that flattens where
# SPO keeps growing. Flat tails are gentle on outliers and merciless on careless floating point, and that is lesson 3.

# %% [markdown]
# ## Bonus. A large vocabulary is a memory bill
#
# *Ungraded; 10 minutes.* Logits are a very large tensor: batch × positions × vocabulary numbers.
# Normalize them all, and you make a second tensor of that size, and autograd keeps it for the backward pass. Yet you
# need **one** number per position.
#
# Two observations shrink the bill.
#
# * **One number per position.** $\log\mathrm{softmax}(x)[k] = x[k] - \log\sum_v e^{x_v}$. The first term is a
#   look-up, the second one number per position (`torch.logsumexp`, which is stable). For the backward pass autograd
#   keeps the logits, which are there anyway.
# * **One row at a time.** Inside, `logsumexp` still makes a temporary tensor as large as what you hand it. Hand it
#   one response at a time, and the temporary is as small as one response. `selective_log_softmax` in the
#   library TRL does this.
#
# Write it that way, for `logits` of shape `(B, T, V)` with B ≥ 1; otherwise as in exercise 1.


# %% nbgrader={"grade": false, "grade_id": "practice_by_rows", "locked": false, "schema_version": 3, "solution": true, "task": false}
def logp_by_rows(logits, tokens, mask):
    """The same as logp_completion for logits (B, T, V), B >= 1, without a second tensor as large as the logits.

    Returns:
        (B,) tensor. One response is handled at a time, so temporaries are at most (T, V).
    """
    ### BEGIN SOLUTION
    sums = []
    for row, ids, chosen in zip(logits, tokens, mask, strict=True):
        picked = row[:-1].gather(-1, ids[1:].unsqueeze(-1)).squeeze(-1)
        sums.append(((picked - row[:-1].logsumexp(-1)) * chosen[1:]).sum())
    return torch.stack(sums)
    ### END SOLUTION


# %% [markdown]
# PyTorch's profiler reports every allocation and every release of tensor memory, temporaries inside an operation
# included. Adding them up gives two numbers: the highest point during the forward pass, and what is still held at its
# end, for the backward pass. Both are measured in units of the logits themselves: 1 means "as much again". (A highest
# point near 2 is a `log_softmax` of `logits[..., :-1, :]`: it first copies the slice, then makes the result.)


# %% nbgrader={"grade": false, "grade_id": "figure_memory", "locked": true, "schema_version": 3, "solution": false, "task": false}
os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else the profiler talks on stderr


def tensor_bytes(function, *args):
    """(result, highest point, held at the end) in bytes of tensor memory beyond the arguments."""
    with profile(profile_memory=True) as record:
        result = function(*args)
    live = np.cumsum([e.nbytes() for e in record.profiler.kineto_results.events() if e.name() == "[memory]"])
    return result, int(live.max(initial=0)), int(live[-1]) if live.size else 0


@picture(
    alt="Horizontal bars: extra tensor memory of your two functions.",
    needs=[logp_completion, logp_by_rows],
)
def draw_memory():
    batch, length, vocab = 8, 32, 16_384
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(batch, length, vocab, generator=generator).requires_grad_()
    ids = torch.randint(vocab, (batch, length), generator=generator)
    chosen = torch.ones(batch, length, dtype=torch.bool)
    unit = logits.numel() * logits.element_size()
    fig, ax = plt.subplots(figsize=(9.5, 3), layout="constrained")
    results, said = [], []
    for place, function in enumerate((logp_by_rows, logp_completion)):
        result, highest, held = tensor_bytes(function, logits, ids, chosen)
        results.append(result.detach())
        said.append(f"{function.__name__} {highest / unit:.2f} and {held / unit:.2f}")
        look = {"height": 0.32, "edgecolor": palette.BLUE}
        ax.barh(place + 0.18, highest / unit, color=palette.BLUE, label="highest point, forward", **look)
        ax.barh(place - 0.18, held / unit, color="white", hatch="///", label="held for the backward pass", **look)
        for y, size in ((place + 0.18, highest), (place - 0.18, held)):
            ax.text(size / unit + 0.015, y, f"{size / unit:.2f}  ({size / 1e6:.2f} MB)", va="center", fontsize=9)
    apart = ((results[0] - results[1]) / results[1]).abs().max().item()
    ax.set_yticks((0, 1), ("logp_by_rows", "logp_completion"))
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(handles[:2], labels[:2], frameon=False, loc="lower right")
    ax.set(xlabel=f"tensor memory beyond the logits (1 = the logits themselves, {unit / 1e6:.1f} MB)")
    ax.set_xlim(0, max(1.3, ax.get_xlim()[1] * 1.2))
    real = 8 * 2048 * 128_000 * 4
    ax.set_title(
        f"The answers agree to {apart:.0e}. With 8 × 2048 positions, 128 000 words, 4 bytes each, 1 is {real / 1e9:.1f} GB",
        fontsize=10,
    )
    return fig, (
        "Horizontal bars: tensor memory beyond the logits, in units of the logits; solid for the highest point of the "
        f"forward pass, hatched for what is held for the backward pass. Measured: {'; '.join(said)}."
    )


# %% [markdown]
# The backward pass must still make one gradient as large as the logits, whichever way you write it. To save that too,
# the logits themselves must be computed in pieces, as the fused losses of Liger Kernel do
# ([arXiv:2410.10989](https://arxiv.org/abs/2410.10989)).
#
# ## What you take along
#
# * Token $t$ is scored by `logits[t-1]`; the mask goes with the tokens; the result is a sum, not a mean.
# * Differences between two completions of one prompt cancel $Z$. That turns a search for the best policy into a
#   regression.
# * A higher $\beta$ means a smaller target $(r_1 - r_2)/\beta$, and an optimum closer to the reference.
# * The factor $\beta/4$ makes SPO's average gradient on fresh pairs exactly that of lesson 1's objective.
# * DPO has the same target, knows less, and pulls more gently. **Next: lesson 3.**

# %% nbgrader={"grade": false, "grade_id": "demo_progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
progress()
