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
# # Lesson 3 · A stable DPO loss
#
# In lesson 1 a reward pulled the policy and a KL penalty held it back. In lesson 2 a regression did the same from
# pairs with known rewards. In this lesson there is **no reward at all**: somebody read two responses and said which
# one is better. That is enough.
#
# | | |
# |---|---|
# | **You will be able to** | derive the DPO loss and its gradient by hand; write both so that they stay exact for margins of thousands; check a gradient, and know when the check lies |
# | **You need to know** | logarithms, the chain rule, numpy. Lessons 1 and 2 help but are not required |
# | **Time** | about 75 minutes: 40 to read and look, 35 for the exercises |
# | **Graded** | `implicit_reward`, `dpo_loss`, `dpo_grad`; numpy only |
#
# << course_map("03_stable_dpo") >>

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import matplotlib.pyplot as plt
import numpy as np

from grader import check, explore, hint, palette, picture, progress

# %% [markdown]
# ## 1. A policy is a reward model in disguise
#
# Lesson 1's objective, E[r] − β·KL, has a best policy, and it can be written down (lesson 4 derives it):
#
# $$\pi^*(y) = \frac{1}{Z}\,\pi_{\text{ref}}(y)\,e^{r(y)/\beta}$$
#
# Read it from left to right: take the reference, *tilt* it towards reward (multiply each response's probability by
# $e^{r/\beta}$), and divide by $Z$, the number that makes the probabilities sum to one.
#
# Now read it from right to left. Take logarithms and solve for the reward:
#
# $$r(y) = \beta\,\bigl(\log \pi^*(y) - \log \pi_{\text{ref}}(y)\bigr) + \beta \log Z$$
#
# So whoever has the best policy *and* the reference can read the reward off, up to a constant. Rafailov et al. (2023,
# [arXiv:2305.18290](https://arxiv.org/abs/2305.18290)) call the part that can be read off the **implicit reward**.
# The next cell does it with four responses.

# %% nbgrader={"grade": false, "grade_id": "demo_reward_in_policy", "locked": true, "schema_version": 3, "solution": false, "task": false}
true_reward = np.array([0.0, 1.0, 2.0, -1.0])
reference = np.array([0.4, 0.3, 0.2, 0.1])
tilted = reference * np.exp(true_reward / 0.5)  # beta = 0.5
best = tilted / tilted.sum()
read_off = 0.5 * np.log(best / reference)
print("true reward    ", true_reward)
print("read off       ", read_off.round(4))
print("difference     ", (true_reward - read_off).round(4), " <- the same for every response: beta log Z")

# %% [markdown]
# The constant $\beta \log Z$ is the catch: $Z$ is a sum over *all* responses, and a language model has more of them
# than there are atoms. But look at the **difference** of two implicit rewards. The constant is in both, so it cancels.
# Whoever only ever compares two responses to the same prompt never needs $Z$. That cancellation is the whole trick of
# DPO.
#
# ## Exercise 1. `implicit_reward`
#
# | **Exercise card** | |
# |---|---|
# | **Idea** | How much more likely is this completion under the policy than under the reference, in units of β? |
# | **Formula** | $\beta\,(\log \pi - \log \pi_{\text{ref}})$ |
# | **Difficulty** | 1 of 5 |
# | **Importance** | 4 of 5: the quantity behind every direct method |
# | **Minutes** | 5 |
#
# << points("implicit_reward") >>
#
# **Predict first.** What is the implicit reward of every response when the policy *is* the reference?
#
# <details><summary>Answer</summary>
#
# Zero. The untrained policy has no opinion beyond the reference. This will give us log 2 below.
#
# </details>
#
# **The contract.**
#
# | argument | shape, dtype | what |
# |---|---|---|
# | `policy_logprob` | (N,) float64 | log probability of each completion under the policy |
# | `ref_logprob` | (N,) float64 | the same completions under the reference |
# | `beta` | number | 0 < β ≤ 10; an `int` or a `float` |
# | **result** | (N,) float64 | one implicit reward per completion, in the order given: no mean, no sum |
#
# - 1 ≤ N ≤ 1000. Log probabilities go down to −5000. They are already logarithms: do not take another.
# - The input arrays must come back as you got them: `x -= y` writes into the caller's array.
# - numpy (and the standard library) only.
# - Tolerance: << tolerance("implicit_reward") >>; and 1e-12 where every input is a multiple of 1/8 and β a power of two
#   from 1/8 to 8. In the tests the two log probabilities are either equal or at least 0.01 apart.
# - Stretch (shown, no points): log probabilities in an integer array give the same rewards.
#
# **For example.**
#
# << examples("implicit_reward") >>

# %% nbgrader={"grade": false, "grade_id": "implicit_reward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def implicit_reward(policy_logprob: np.ndarray, ref_logprob: np.ndarray, beta: float) -> np.ndarray:
    """Implicit reward of each completion, up to a constant that is the same for all completions of a prompt.

    Args:
        policy_logprob: (N,) float64, log probabilities under the policy, left as they are.
        ref_logprob: (N,) float64, the same completions under the reference, left as they are.
        beta: KL penalty coefficient, 0 < beta <= 10.

    Returns:
        (N,) float64: beta * (log pi - log pi_ref).

    Source: equation 5 of arXiv:2305.18290 without the constant beta log Z.
    """
    ### BEGIN SOLUTION
    return beta * (policy_logprob - ref_logprob)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_implicit_reward", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false} tags=["raises-exception"]
check(implicit_reward)

# %% [markdown]
# << hints("implicit_reward") >>
#
# **The picture you should see.** Your function reads the reward out of the four-response policy above: its points lie
# on a line of slope 1, shifted by the constant that never matters.

# %% nbgrader={"grade": false, "grade_id": "figure_implicit_reward", "locked": true, "schema_version": 3, "solution": false, "task": false}
@picture(
    alt="Implicit reward against true reward for four responses. Right points lie on the dashed line of slope one that "
    "runs parallel to, and below, the line where both are equal; the gap is beta log Z.",
    needs=[implicit_reward],
)
def draw_implicit_reward():
    yours = implicit_reward(np.log(best), np.log(reference), 0.5)
    shift = 0.5 * np.log(tilted.sum())
    figure, axis = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
    ends = np.array([-1.2, 2.2])
    axis.plot(ends, ends, ":", color=palette.BLACK, label="equal to the true reward")
    axis.plot(ends, ends - shift, "--", color=palette.VERMILLION, label="expected: shifted by β log Z")
    axis.plot(true_reward, yours, "o", color=palette.BLUE, ms=9, label="yours")
    axis.annotate("", (0.5, 0.5 - shift), (0.5, 0.5), arrowprops={"arrowstyle": "<->"})
    axis.set(xlabel="true reward", ylabel="implicit reward", title=f"the gap: β log Z = {shift:.2f}")
    axis.legend(frameon=False)
    return figure


# %% [markdown]
# *Bonus.* Add 7 to every true reward and run the picture again in your head: what moves, the points or the constant?
#
# ## 2. From a comparison to a loss
#
# **Who wins?** Bradley and Terry (1952) say: of two responses with rewards $r_w$ and $r_l$, the first is preferred with
# probability $\sigma(r_w - r_l)$, where $\sigma(z) = 1/(1+e^{-z})$ is the sigmoid. Equal rewards give a coin toss.
#
# **Put the implicit rewards in.** From here on, $w$ (winner) marks the preferred response and $l$ (loser) the rejected one.
# Write $\hat r$ for an implicit reward, to keep it apart from a true one. The difference of the two is the **margin**
#
# $$z = \hat r_w - \hat r_l = \beta\,\bigl[(\log\pi_w - \log\pi_{\text{ref},w}) - (\log\pi_l - \log\pi_{\text{ref},l})\bigr]$$
#
# and $\beta \log Z$ is gone.
#
# **Make what happened likely.** The best explanation of the data gives the highest probability $\sigma(z)$ to what
# people chose. Take −log, average over pairs, and you have the DPO loss:
#
# $$L = \frac{1}{N}\sum_i -\log \sigma(z_i)$$
#
# That is all of DPO. It is logistic regression in which the score is an implicit reward.
#
# **By hand.** The worked example has three pairs and β = 0.1. For the first, the preferred response went from −13 under
# the reference to −12 under the policy: up by 1. The rejected one went from −14 to −15: down by 1. So
# $z_1 = 0.1\,(1 - (-1)) = 0.2$. Work out the other two before you run the cell.

# %% nbgrader={"grade": false, "grade_id": "demo_by_hand", "locked": true, "schema_version": 3, "solution": false, "task": false}
for pair, (up_preferred, up_rejected) in enumerate([(1.0, -1.0), (-1.0, 1.0), (0.5, -0.5)], start=1):
    z_pair = 0.1 * (up_preferred - up_rejected)
    print(f"pair {pair}: margin z = {z_pair:+.1f}    probability of what was chosen = {1 / (1 + np.exp(-z_pair)):.6f}")

# %% [markdown]
# **Log 2 at the start.** Training starts at policy = reference. Then every implicit reward is 0, every margin is 0,
# every probability is ½, and the loss is $-\log \tfrac12 = \log 2$, whatever the data, whatever β. If the first number a DPO
# run prints is not this one, stop it: something is wired wrongly. It is the cheapest test there is.

# %% nbgrader={"grade": false, "grade_id": "demo_log_two", "locked": true, "schema_version": 3, "solution": false, "task": false}
print("log 2 =", np.log(2.0))

# %% [markdown]
# ## 3. The naive twin, and where it breaks
#
# Type the formula as it stands and you get the function below. We keep it, name it, and **pin** it: the cell asserts
# exactly where it fails. If a future numpy changes that, this cell will say so.

# %% nbgrader={"grade": false, "grade_id": "demo_naive_twin", "locked": true, "schema_version": 3, "solution": false, "task": false}
def naive_loss(z):
    """-log(sigmoid(z)), as the formula says it and as nobody should ship it."""
    return -np.log(1 / (1 + np.exp(-z)))


with np.errstate(all="ignore"):  # the overflow warnings are the point here; elsewhere, read them
    for z_at in (1.0, 0.0, -1.0, 40.0, -709.0, -710.0, -3000.0):
        print(f"z = {z_at:7.0f}    naive loss = {naive_loss(z_at) + 0.0}")
    assert np.isclose(naive_loss(0.0), np.log(2.0))  # fine in the middle
    assert naive_loss(40.0) == 0.0  # wrong: the true loss is small, not zero
    assert naive_loss(-710.0) == np.inf  # wrong: the true loss is 710
print(f"the largest float64 is about exp({np.log(np.finfo(np.float64).max):.2f})")
print(f"the next float64 after 1 is 1 + {np.finfo(np.float64).eps:.1e}, and exp(-40) is {np.exp(-40.0):.1e}")

# %% [markdown]
# Two different things go wrong, one on each side.
#
# **On the left, overflow.** For $z < -709.78$ the number $e^{-z}$ is larger than any float64, becomes `inf`, the
# probability becomes 0, and its logarithm −inf. One such pair in a batch makes the mean infinite.
#
# **On the right, absorption.** At z = 40 the number $e^{-40} \approx 4\cdot10^{-18}$ is added to 1 and vanishes:
# next to 1, float64 resolves only $2.2\cdot10^{-16}$. The loss is printed as 0, and a small true loss is lost.
#
# Are margins like these real? A log probability is a sum over tokens: a response of 1000 tokens at −5 each has −5000.
# If the policy and the reference disagree by 1 per token over such a response, the log-ratio is 1000.
#
# **Predict first.** Without a computer, to ten digits: what is $-\log\sigma(-1000)$? And $-\log\sigma(40)$?
#
# <details><summary>Answer</summary>
#
# $-\log\sigma(z) = \log(1 + e^{-z})$. At z = −1000 the 1 is nothing beside $e^{1000}$, so the loss is 1000.000000. At
# z = 40, $\log(1 + \varepsilon) \approx \varepsilon$, so the loss is $e^{-40}$.
#
# So you know both ends already. The exercise is to write one expression that knows them too.
#
# </details>
#
# ### "Just add an epsilon"
#
# The popular repair is $-\log(\sigma(z) + 10^{-8})$. It is finite. It is also a **bug**, for three reasons; the next
# cell computes them.

# %% nbgrader={"grade": false, "grade_id": "demo_epsilon", "locked": true, "schema_version": 3, "solution": false, "task": false}
EPSILON = 1e-8


def sigmoid_where_safe(z):
    return 1 / (1 + np.exp(-z))


print("1. It flattens: the loss at z = -50, -500 and -700 is",
      [float(np.round(-np.log(sigmoid_where_safe(z) + EPSILON), 4)) for z in (-50.0, -500.0, -700.0)],
      "= -log(1e-8)")
flat = sigmoid_where_safe(-50.0)
print(f"2. So the push dies where it is needed most: at z = -50 the slope is {-flat * (1 - flat) / (flat + EPSILON):.1e}"
      " instead of -1")
print(f"3. It goes negative on the right: at z = 40 the loss is {-np.log(sigmoid_where_safe(40.0) + EPSILON):.1e}")
assert np.isclose(-np.log(EPSILON), 18.42, atol=5e-3)
assert -np.log(sigmoid_where_safe(40.0) + EPSILON) < 0

# %% [markdown]
# A pair at z = −50 is the one the policy gets most wrong. With the epsilon its loss no longer depends on the policy,
# so nothing is learned from it, and no error message says so. A floor under the logarithm, such as the −100 at which
# [PyTorch's BCELoss](https://docs.pytorch.org/docs/stable/generated/torch.nn.BCELoss.html) clamps it, does the same
# further out.
#
# The rule of this lesson: **no constant inside a logarithm.** If a logarithm needs protection, it is the wrong
# expression.
#
# ## Exercise 2. `dpo_loss`
#
# | **Exercise card** | |
# |---|---|
# | **Idea** | How surprised is the policy, on average, by what people preferred? |
# | **Formula** | $L = \dfrac1N \displaystyle\sum_i -\log\sigma(z_i), \qquad z_i = \hat r_{w,i} - \hat r_{l,i}$, with the implicit rewards $\hat r$ of the preferred ($w$) and the rejected ($l$) completion |
# | **Difficulty** | 3 of 5: one line, if it is the right one |
# | **Importance** | 5 of 5 |
# | **Minutes** | 15 |
#
# << points("dpo_loss") >>
#
# **Predict first.** β is doubled and nothing else changes. Does the loss at policy = reference change?
#
# <details><summary>Answer</summary>
#
# No. The margin is β times 0. It is still log 2.
#
# </details>
#
# **The contract.**
#
# | argument | shape, dtype | what |
# |---|---|---|
# | `policy_logprob_preferred` | (N,) float64 | $\log\pi_w$: the preferred completions under the policy |
# | `policy_logprob_rejected` | (N,) float64 | $\log\pi_l$: the rejected completions under the policy |
# | `ref_logprob_preferred` | (N,) float64 | $\log\pi_{\text{ref},w}$ |
# | `ref_logprob_rejected` | (N,) float64 | $\log\pi_{\text{ref},l}$ |
# | `beta` | number | 0 < β ≤ 10, an `int` or a `float`; part of the margin, so *inside* the sigmoid |
# | **result** | Python `float` | the mean over pairs. `np.float64` is a Python float and is fine; a 0-d array is not |
#
# - Pair *i* is preferred *i* against rejected *i*, never each against all. 1 ≤ N ≤ 1000.
# - Log probabilities go down to −5000; margins reach several thousand **either way**.
# - Exact, not only finite. Tolerance: << tolerance("dpo_loss") >> (two groups of the table above; x is the true value). A loss of $10^{-200}$ must come out as that
#   number, not as 0. Where the true value is below $10^{-300}$, anything from 0 to $10^{-300}$ is accepted.
# - Where every input is a multiple of 1/8 and β is a power of two from 1/8 to 8, and on the worked example, the relative
#   error must be ≤ 1e-12: there z has no rounding error to hide behind.
# - Keep float64 throughout. Natural logarithm. No label smoothing. No constant inside the log. A clipped margin is not
#   exact.
# - Inputs untouched; numpy and the standard library only (no torch, no scipy).
# - Stretch (no points): integer arrays give the same loss.
#
# **For example.**
#
# << examples("dpo_loss") >>

# %% nbgrader={"grade": false, "grade_id": "dpo_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def dpo_loss(
    policy_logprob_preferred: np.ndarray,
    policy_logprob_rejected: np.ndarray,
    ref_logprob_preferred: np.ndarray,
    ref_logprob_rejected: np.ndarray,
    beta: float,
) -> float:
    """Mean of -log sigmoid(z) over pairs, exact for margins z of thousands either way.

    Args:
        policy_logprob_preferred: (N,) float64, 1 <= N <= 1000, values down to -5000; left as they are, like all inputs.
        policy_logprob_rejected: (N,) float64.
        ref_logprob_preferred: (N,) float64.
        ref_logprob_rejected: (N,) float64.
        beta: KL penalty coefficient, 0 < beta <= 10.

    Returns:
        A Python float (np.float64 is one, a 0-d array is not), relative error at most 1e-9.

    Source: equation 7 of arXiv:2305.18290.
    """
    ### BEGIN SOLUTION
    z = implicit_reward(policy_logprob_preferred, ref_logprob_preferred, beta) - implicit_reward(
        policy_logprob_rejected, ref_logprob_rejected, beta
    )
    # -log sigmoid(z) = log(e^0 + e^-z): logaddexp takes out the larger exponent, so nothing overflows or is absorbed
    return float(np.mean(np.logaddexp(0.0, -z)))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_dpo_loss", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false} tags=["raises-exception"]
check(dpo_loss)

# %% [markdown]
# << hints("dpo_loss") >>
#
# **The picture you should see.** Your loss at single pairs, beside points computed with 50 digits by `mpmath`. On the
# right the scale is logarithmic: a straight line down is what *exact* looks like.

# %% nbgrader={"grade": false, "grade_id": "demo_oracle", "locked": true, "schema_version": 3, "solution": false, "task": false}
import mpmath  # arbitrary precision: far too slow for training, just right as a referee


DECADES = [1.0, 1e-100, 1e-200, 1e-300]  # axis ticks


def true_loss(z):
    """-log sigmoid(z) with 50 digits and more, for a float z."""
    with mpmath.workdps(50 + int(abs(z))):
        return mpmath.log(1 + mpmath.exp(-mpmath.mpf(z)))


def true_weight(z):
    """sigmoid(-z) with 50 digits and more."""
    with mpmath.workdps(50 + int(abs(z))):
        return 1 / (1 + mpmath.exp(mpmath.mpf(z)))


def one_pair(z):
    """Arguments of a single pair whose margin is exactly z at beta = 1: log probabilities 0 except for one."""
    preferred, rejected = (z, 0.0) if z < 0 else (0.0, -z)
    return np.array([preferred]), np.array([rejected]), np.zeros(1), np.zeros(1), 1.0


for z_at in (-3000.0, -40.0, 0.0, 40.0, 600.0):
    print(f"z = {z_at:6.0f}    true loss = {mpmath.nstr(true_loss(z_at), 20)}")

# %% nbgrader={"grade": false, "grade_id": "figure_loss", "locked": true, "schema_version": 3, "solution": false, "task": false}
@picture(
    alt="Two panels of the loss against the margin. Left, from -12 to 12: the loss is close to -z on the left, log 2 at "
    "zero, and close to zero on the right. Right, margins 0 to 690 on a logarithmic scale: a right curve falls in "
    "a straight line through the mpmath circles to about 1e-300, while the naive loss stops near margin 37.",
    needs=[dpo_loss],
)
def draw_loss():
    figure, (near, far) = plt.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained")
    margins = np.linspace(-12, 12, 97)
    near.plot(margins, [dpo_loss(*one_pair(z)) for z in margins], color=palette.BLUE, lw=2, label="yours")
    points = np.arange(-12.0, 13.0, 4.0)
    near.plot(points, [float(true_loss(z)) for z in points], "o", mfc="none", color=palette.BLACK, label="mpmath")
    near.annotate("log 2 at the start", (0, np.log(2)), (1.5, 4), arrowprops={"arrowstyle": "->"})
    near.set(xlabel="margin z", ylabel="loss", title="near the start")
    near.legend(frameon=False)
    margins = np.linspace(0, 690, 139)
    far.semilogy(margins, [dpo_loss(*one_pair(z)) for z in margins], color=palette.BLUE, lw=2, label="yours")
    points = np.arange(0.0, 691.0, 115.0)
    far.semilogy(points, [float(true_loss(z)) for z in points], "o", mfc="none", color=palette.BLACK, label="mpmath")
    inside = margins[naive_loss(margins) > 0]
    far.semilogy(inside, naive_loss(inside), "-x", color=palette.VERMILLION, ms=5, label="naive twin, until it is 0")
    far.set(xlabel="margin z", ylabel="loss (log scale)", title="far on the right", yticks=DECADES)
    far.legend(frameon=False)
    return figure


# %% [markdown]
# *Bonus.* Write the loss a second way, with no function that does the whole job for you, and compare the two with
# `np.max(np.abs(a / b - 1))` over margins from −700 to 700. Which is more exact? Section 7 has a way to tell.
#
# ## 4. The gradient by hand
#
# One pair first. Let $f(z) = -\log\sigma(z)$.
#
# **Step 1: through the loss.** The derivative of σ is $\sigma'(z) = \sigma(z)\,(1-\sigma(z))$, so
#
# $$f'(z) = -\frac{\sigma'(z)}{\sigma(z)} = -(1-\sigma(z)) = -\sigma(-z)$$
#
# The last step is algebra: $1 - \frac{1}{1+e^{-z}} = \frac{e^{-z}}{1+e^{-z}} = \frac{1}{1+e^{z}}$. On paper these
# are one number written three ways. On a computer they are not, and that is the next exercise.
#
# **Step 2: through the margin.** z contains $+\beta\log\pi_w$ and $-\beta\log\pi_l$, so $\partial z/\partial\log\pi_w =
# \beta$ and $\partial z/\partial\log\pi_l = -\beta$.
#
# **Step 3: through the mean.** Each pair counts $1/N$. Together:
#
# $$\frac{\partial L}{\partial \log\pi_{w,i}} = -\frac{\beta}{N}\,\sigma(-z_i), \qquad
# \frac{\partial L}{\partial \log\pi_{l,i}} = +\frac{\beta}{N}\,\sigma(-z_i)$$
#
# **Read it.** Gradient *descent* goes against the sign: it raises the preferred response and lowers the rejected one by
# equal amounts. How hard? By $\sigma(-z)$, the probability the policy gives to the *wrong* answer. A pair it gets right
# is left alone; a pair it gets badly wrong gets the full push β/N, and never more.
#
# **Check by hand.** First pair of the worked example: $z = 0.2$, $\sigma(-0.2) = 0.450166$, so the gradient is
# $-0.1 \cdot 0.450166 / 3 = -0.0150055$.
#
# ### Practice (not graded): a gradient check
#
# You should not trust a derivation, nor the code of it, before a computer has tried it. Nudge one number up by $h$ and
# down by $h$, and see what the loss does:
#
# $$\frac{\partial L}{\partial x_i} \approx \frac{L(x + h\,e_i) - L(x - h\,e_i)}{2h}$$
#
# This is the **central difference**. Write it for any function `f` of one array. Give `f` a changed *copy*: the array
# you were handed must stay as it is.

# %% nbgrader={"grade": false, "grade_id": "practice_numeric_gradient", "locked": false, "schema_version": 3, "solution": true, "task": false}
def numeric_gradient(f, x: np.ndarray, h: float) -> np.ndarray:
    """Central differences of the scalar function f at x, one coordinate at a time.

    Args:
        f: takes an (N,) array, returns a float.
        x: (N,) float64, left as it is.
        h: the step.

    Returns:
        (N,) float64.
    """
    ### BEGIN SOLUTION
    gradient = np.empty_like(x)
    for i in range(len(x)):
        up, down = x.copy(), x.copy()
        up[i] += h
        down[i] -= h
        gradient[i] = (f(up) - f(down)) / (2 * h)
    return gradient
    ### END SOLUTION


# %% [markdown]
# Try it where you know the answer: the gradient of $\sum x^2$ is $2x$.

# %% nbgrader={"grade": false, "grade_id": "demo_numeric_gradient", "locked": true, "schema_version": 3, "solution": false, "task": false}
try:
    tried = numeric_gradient(lambda x: float(np.sum(x**2)), np.array([1.0, -2.0, 3.0]), 1e-5)
    print("yours:   ", tried, "\nexpected:", np.array([2.0, -4.0, 6.0]))
except NotImplementedError:
    print("numeric_gradient: not attempted yet (practice, no points)")

# %% [markdown]
# ## Exercise 3. `dpo_grad`
#
# | **Exercise card** | |
# |---|---|
# | **Idea** | Push each pair apart, in proportion to how wrong the policy is about it. |
# | **Formula** | $\text{grad\_preferred}_i = -\dfrac{\beta}{N}\,\sigma(-z_i), \qquad \text{grad\_rejected}_i = +\dfrac{\beta}{N}\,\sigma(-z_i)$ |
# | **Difficulty** | 4 of 5 |
# | **Importance** | 5 of 5 |
# | **Minutes** | 15 |
#
# << points("dpo_grad") >>
#
# **Predict first.** What does Python give for `1 - 1 / (1 + np.exp(-40.0))`, and what should it give?
#
# <details><summary>Answer</summary>
#
# Exactly 0.0. It should give $\sigma(-40) \approx 4.2\cdot10^{-18}$. Subtracting two numbers that agree in all their
# digits leaves none. This is called *cancellation*.
#
# </details>
#
# **The contract.**
#
# | argument | shape, dtype | what |
# |---|---|---|
# | the five of `dpo_loss` | | same names, same order, same ranges |
# | **result** | tuple of two (N,) float64 arrays | `(grad_preferred, grad_rejected)`, each with its β and its 1/N |
#
# - The derivative is with respect to the *policy's* log probabilities. One entry per pair: not summed.
# - Exact throughout: << tolerance("dpo_grad") >> (two groups of the table above; x is the true value). At z = 600 the answer is about $10^{-261}$, and 0 is wrong. Below
#   $10^{-300}$ anything of magnitude up to $10^{-300}$ is accepted.
# - As for the loss, 1e-12 where every input is a multiple of 1/8 and β a power of two from 1/8 to 8. The worked example
#   is printed to 8 decimals, and there an absolute error of 5e-9 is accepted.
# - At z = −3000 the weight is 1: no `nan`. (A warning about an overflow in a branch that you do not use costs nothing.)
# - Inputs untouched; numpy and the standard library only.
# - Stretch (no points): integer arrays give the same gradient.
#
# **For example.**
#
# << examples("dpo_grad") >>

# %% nbgrader={"grade": false, "grade_id": "dpo_grad", "locked": false, "schema_version": 3, "solution": true, "task": false}
def dpo_grad(
    policy_logprob_preferred: np.ndarray,
    policy_logprob_rejected: np.ndarray,
    ref_logprob_preferred: np.ndarray,
    ref_logprob_rejected: np.ndarray,
    beta: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient of `dpo_loss` in the policy's log probabilities, exact for margins of thousands either way.

    Args:
        policy_logprob_preferred: (N,) float64, 1 <= N <= 1000, values down to -5000; left as they are, like all inputs.
        policy_logprob_rejected: (N,) float64.
        ref_logprob_preferred: (N,) float64.
        ref_logprob_rejected: (N,) float64.
        beta: KL penalty coefficient, 0 < beta <= 10.

    Returns:
        (grad_preferred, grad_rejected), two (N,) float64 arrays: -beta sigmoid(-z) / N and +beta sigmoid(-z) / N.

    Source: the gradient in section 4 of arXiv:2305.18290, taken in the log probabilities.
    """
    ### BEGIN SOLUTION
    z = implicit_reward(policy_logprob_preferred, ref_logprob_preferred, beta) - implicit_reward(
        policy_logprob_rejected, ref_logprob_rejected, beta
    )
    # sigmoid(-z) from the exponential that cannot overflow, exp(-|z|); 1 - sigmoid(z) would cancel to 0 from z = 37
    small = np.exp(-np.abs(z))
    weight = np.where(z >= 0, small, 1.0) / (1.0 + small)
    grad = beta * weight / len(z)
    return -grad, grad
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_dpo_grad", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false} tags=["raises-exception"]
check(dpo_grad)

# %% [markdown]
# << hints("dpo_grad") >>
#
# **The picture you should see.** On the left, your gradient against your own gradient check on the worked example: on
# the diagonal. On the right, the weight σ(−z) far out, beside the way in which it is usually lost.

# %% nbgrader={"grade": false, "grade_id": "figure_gradient", "locked": true, "schema_version": 3, "solution": false, "task": false}
WORKED = (
    np.array([-12.0, -20.0, -8.0]),
    np.array([-15.0, -18.0, -9.0]),
    np.array([-13.0, -19.0, -8.5]),
    np.array([-14.0, -19.0, -8.5]),
    0.1,
)


def draw_check(axis):
    """The learner's gradient against the learner's central differences, on the worked example."""
    ticks = [-0.02, -0.01, 0, 0.01, 0.02]
    axis.axline((0, 0), slope=1, color=palette.BLACK, ls=":", lw=1)
    axis.set(xlabel="central difference", ylabel="your gradient", title="worked example", xticks=ticks, yticks=ticks,
             xlim=(-0.022, 0.022), ylim=(-0.022, 0.022))  # fmt: skip
    for side, (name, style, color) in enumerate([("preferred", "o", palette.BLUE), ("rejected", "s", palette.VERMILLION)]):

        def loss_of(x, side=side):
            return dpo_loss(*[x if i == side else value for i, value in enumerate(WORKED)])

        try:
            checked = numeric_gradient(loss_of, WORKED[side], 1e-5)
        except NotImplementedError:
            axis.text(0, 0.004, "write numeric_gradient or dpo_loss\nto see this panel", ha="center")
            return
        axis.plot(checked, dpo_grad(*WORKED)[side], style, color=color, label=name)
    axis.legend(frameon=False)


@picture(
    alt="Left: six gradient entries against their central differences, on the diagonal when right; blue circles for preferred "
    "(negative), vermillion squares for rejected (positive). Right: the weight sigma(-z) on a logarithmic scale for "
    "margins 0 to 690; a right line passes through the mpmath circles, while one minus sigma stops near margin 37.",
    needs=[dpo_grad],
)
def draw_gradient():
    margins = np.linspace(0, 690, 139)
    weights = [dpo_grad(*one_pair(z))[1][0] for z in margins]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")
    draw_check(left)
    right.semilogy(margins, weights, color=palette.BLUE, lw=2, label="yours")
    points = np.arange(0.0, 691.0, 115.0)
    right.semilogy(points, [float(true_weight(z)) for z in points], "o", mfc="none", color=palette.BLACK, label="mpmath")
    lost = 1 - sigmoid_where_safe(margins)
    right.semilogy(margins[lost > 0], lost[lost > 0], "-x", color=palette.VERMILLION, ms=5, label="1 − σ(z), until it is 0")
    right.set(xlabel="margin z", ylabel="weight σ(−z), β = N = 1", title="far on the right", yticks=DECADES)
    right.legend(frameon=False)
    return figure


# %% [markdown]
# *Bonus.* Your gradient costs one exponential per pair. Can the loss and the gradient share it?
#
# ## 5. Why finite differences lie at the extremes
#
# The check has just agreed with you. It would also agree with some wrong code, and disagree with right code. Three
# lies, each to be seen in the figure below.
#
# **Lie 1: the step.** A large $h$ measures the curve and not the slope; the error falls like $h^2$. A small $h$ divides
# rounding noise by $h$; the error grows like $1/h$. Between them is a best $h$, and its error is never zero. Worse,
# the further a number is from 0, the further apart its float64 neighbours are, so near −4000 the number $x + h$ is not
# even where you think it is.
#
# **Lie 2: the crowd.** The loss is a mean. Beside a neighbour whose loss is 5, a pair whose loss is $10^{-17}$ changes
# no digit of the sum. The check says its gradient is 0. Your exact gradient says $10^{-17}$, and is right. This is why
# extremes are judged one pair at a time.
#
# **Lie 3: the accomplice.** A gradient check compares a gradient with *your* loss. If the loss has an epsilon in it,
# the check will happily confirm the epsilon's gradient. It tests consistency and not truth; for truth you need a
# referee from outside, such as mpmath, or a case worked by hand.

# %% nbgrader={"grade": false, "grade_id": "figure_finite_differences", "locked": true, "schema_version": 3, "solution": false, "task": false}
@picture(
    alt="Three panels. Step: relative error of central differences against h for three margins, each V-shaped. Crowd: "
    "the gradient of a pair beside a neighbour with loss 5; the exact line keeps falling while the central differences "
    "turn to noise and then to zero. Accomplice: for a loss with an epsilon, the check agrees with the epsilon's "
    "gradient, and both fall to zero where the true weight is one.",
    needs=[dpo_loss, dpo_grad, numeric_gradient],
)
def draw_finite_differences():
    figure, (step, crowd, accomplice) = plt.subplots(1, 3, figsize=(11.5, 3.8), layout="constrained")
    sizes = 10.0 ** np.arange(-11, 0.01, 0.25)
    for (start, z), style, color in [((-2.0, 1.0), "-o", palette.BLUE), ((-2.0, 30.0), "-s", palette.VERMILLION),
                                     ((-4000.0, 30.0), "-^", palette.BLACK)]:  # fmt: skip
        x, rest = np.array([start]), (np.array([start]), np.zeros(1), np.array([z]), 1.0)
        exact = float(-true_weight(z))
        errors = [
            abs(numeric_gradient(lambda p, r=rest: dpo_loss(p, r[0], r[1] - r[2], r[1], r[3]), x, h)[0] / exact - 1)
            for h in sizes
        ]
        step.loglog(sizes, np.maximum(errors, 1e-13), style, color=color, ms=3, lw=1, label=f"log π = {start:.0f}, z = {z:.0f}")
    step.set(xlabel="step h", ylabel="relative error", title="1. the step", ylim=(1e-13, 1e3))
    step.legend(frameon=False, fontsize=8, loc="upper center")

    margins = np.arange(2.0, 60.0, 2.0)
    zeros, told, known = np.zeros(2), [], []
    for z in margins:
        x = np.array([-5.0, z])  # the neighbour has margin -5; z stands for any log-ratio
        told.append(-numeric_gradient(lambda p: dpo_loss(p, zeros, zeros, zeros, 1.0), x, 1e-5)[1])
        known.append(-dpo_grad(x, zeros, zeros, zeros, 1.0)[0][1])
    told = np.array(told)
    crowd.semilogy(margins, known, color=palette.BLUE, lw=2, label="your dpo_grad")
    seen = told > 0
    crowd.semilogy(margins[seen], told[seen], "s", color=palette.VERMILLION, ms=4, label="central difference")
    crowd.semilogy(margins[~seen], np.full((~seen).sum(), 1e-28), "v", color=palette.VERMILLION, ms=6, label="… says 0 or less")
    crowd.set(xlabel="margin of the small pair", ylabel="gradient (sign dropped)", title="2. the crowd", ylim=(2e-29, 2))
    crowd.legend(frameon=False, fontsize=8, loc="upper right")

    margins = np.arange(-40.0, 10.1, 2.0)

    def epsilon_loss(p):
        return float(-np.log(sigmoid_where_safe(p[0]) + EPSILON))

    checked = [-numeric_gradient(epsilon_loss, np.array([z]), 1e-5)[0] for z in margins]
    s = sigmoid_where_safe(margins)
    accomplice.plot(margins, [float(true_weight(z)) for z in margins], "--", color=palette.BLACK, label="truth, σ(−z)")
    accomplice.plot(margins, s * (1 - s) / (s + EPSILON), color=palette.VERMILLION, label="gradient of the ε loss")
    accomplice.plot(margins, checked, "s", mfc="none", color=palette.VERMILLION, ms=5, label="its gradient check")
    accomplice.set(xlabel="margin z", ylabel="weight of the pair", title="3. the accomplice", ylim=(-0.05, 1.55))
    accomplice.legend(frameon=False, fontsize=8, loc="upper left")
    return figure


# %% [markdown]
# ## 6. Six implementations over margins −5000 … 5000
#
# Everything in one figure. Five ways people write this loss, each with the gradient that goes with it, and yours.
# Open circles are the truth. A value of 0 sits on the bottom rail, infinity on the top rail, and *not a number* is drawn
# as crosses half way up. The first row looks at large losses only, the other two at all of them.

# %% nbgrader={"grade": false, "grade_id": "demo_twins", "locked": true, "schema_version": 3, "solution": false, "task": false}
def twins(z):
    """Five wrong twins at margins z: name -> (loss, and minus its derivative in z as one would write it beside it)."""
    with np.errstate(all="ignore"):
        s = 1 / (1 + np.exp(-z))
        grows = np.exp(-z)
        clipped = np.clip(z, -30, 30)
        return {
            "log of sigmoid": (-np.log(s), 1 - s),
            "ε = 1e-8 in the log": (-np.log(s + EPSILON), s * (1 - s) / (s + EPSILON)),
            "log floored at −100": (-np.maximum(np.log(s), -100), np.where(np.log(s) > -100, 1 - s, 0.0)),
            "log(1 + exp(−z))": (np.log(1 + grows), grows / (1 + grows)),
            "z clipped to ±30": (np.log(1 + np.exp(-clipped)), np.where(np.abs(z) < 30, 1 - s, 0.0)),
        }


probes = np.array([-5000.0, -1000.0, -50.0, 40.0, 300.0])
print("loss".ljust(22), *(f"z={z:.0f}".rjust(11) for z in probes))
for twin, (values, _) in twins(probes).items():
    print(twin.ljust(22), *(f"{value + 0.0:11.3g}" for value in values))
print("truth".ljust(22), *(mpmath.nstr(true_loss(z), 3).rjust(11) for z in probes))
print("\nweight, minus dL/dz".ljust(23), *(f"z={z:.0f}".rjust(11) for z in probes))
for twin, (_, weights) in twins(probes).items():
    print(twin.ljust(22), *(f"{value + 0.0:11.3g}" for value in weights))
print("truth".ljust(22), *(mpmath.nstr(true_weight(z), 3).rjust(11) for z in probes))

# %% nbgrader={"grade": false, "grade_id": "figure_six_implementations", "locked": true, "schema_version": 3, "solution": false, "task": false}
SWEEP = np.concatenate([-np.geomspace(5000, 1, 120), np.linspace(-1, 1, 9), np.geomspace(1, 5000, 120)])
POINTS = np.array([-5000.0, -700, -100, -12, 0, 12, 60, 95, 700, 5000])
PLATEAUS = {"ε = 1e-8 in the log": -np.log(EPSILON), "log floored at −100": 100.0, "z clipped to ±30": 30.0}
# one row each: axis label, 0 for the loss and 1 for the weight, bottom rail, top rail, ticks between
ROWS = [
    ("loss from 1 up", 0, 0.2, 1e6, {1.0: "1", 10.0: "10", 100.0: "100", 1e3: "1000", 1e4: "10000"}),
    ("loss", 0, 1e-45, 1e8, {1e-40: "1e−40", 1e-30: "1e−30", 1e-20: "1e−20", 1e-10: "1e−10", 1.0: "1"}),
    ("weight σ(−z)", 1, 1e-45, 1e5, {1e-40: "1e−40", 1e-30: "1e−30", 1e-20: "1e−20", 1e-10: "1e−10", 1.0: "1"}),
]


def draw_twin(axis, values, truth, rails, yours):
    """One panel: values over SWEEP between the rails, and the truth as open circles."""
    color = palette.BLUE if yours else palette.VERMILLION
    axis.plot(SWEEP, np.clip(values, *rails), color=color, lw=2.2, ls="-" if yours else "--")
    axis.plot(POINTS, np.clip([float(truth(z)) for z in POINTS], *rails), "o", mfc="none", mec=palette.BLACK, ms=5)
    unknown = np.isnan(values)
    if unknown.any():
        axis.plot(SWEEP[unknown][::6], np.full(unknown.sum(), 1e-20)[::6], "x", color=color, ms=6)
        axis.text(-4000, 1e-18, "nan", color=color)
    span = (rails[1] / rails[0]) ** 0.05
    axis.set(yscale="log", ylim=(rails[0] / span, rails[1] * span))
    axis.set_xscale("symlog", linthresh=10)
    axis.set_xticks([-1000, -10, 10, 1000], ["−1000", "−10", "10", "1000"], fontsize=8)
    axis.grid(alpha=0.25)


@picture(
    alt="Three rows of six panels over margins -5000 to 5000: the loss from 1 up, the whole loss, and the weight "
    "sigma(-z). A right answer follows the mpmath circles everywhere, as no twin does. Log of sigmoid and log(1+exp(-z)) jump to "
    "infinity below -709 and to zero above 37, and the second has a gradient that is not a number. The epsilon loss is "
    "flat at 18.42, the floored one at 100, the clipped one at 30, and on those plateaus the weight is zero.",
    needs=[dpo_loss, dpo_grad],
)
def draw_six_implementations():
    drawn = twins(SWEEP)
    drawn["yours"] = (
        np.array([dpo_loss(*one_pair(z)) for z in SWEEP]),
        np.array([dpo_grad(*one_pair(z))[1][0] for z in SWEEP]),
    )
    figure, axes = plt.subplots(3, 6, figsize=(14, 8.4), sharex=True, sharey="row", layout="constrained")
    for column, (name, results) in enumerate(drawn.items()):
        axes[0, column].set_title(name, fontsize=11)
        for row, (_, which, bottom, top, _) in enumerate(ROWS):
            truth = (true_loss, true_weight)[which]
            draw_twin(axes[row, column], results[which], truth, (bottom, top), name == "yours")
        if name in PLATEAUS:
            axes[0, column].text(-4500, PLATEAUS[name] / 1.7, f"flat at\n{PLATEAUS[name]:.4g}", va="top")
    for axis, (label, _, bottom, top, ticks) in zip(axes[:, 0], ROWS, strict=True):
        floor = "less" if label.endswith("up") else "0"
        axis.set_yticks([bottom, *ticks, top], [floor, *ticks.values(), "∞"])
        axis.minorticks_off()
        axis.set_ylabel(label)
    figure.supxlabel("margin z (open circles: mpmath; values below 1e−45 are drawn on the rail marked 0)", fontsize=10)
    return figure


# %% [markdown]
# Look along the bottom row. On the left side of every panel the weight should be 1, because the policy is badly wrong
# there. The ε, the floor and the clip each put a **zero** there: the pairs that matter most teach nothing. And at
# z = 40, `1 − σ(z)` is exactly 0 where the truth is 4e−18.
#
# ## 7. How exact is exact? Counting ulps
#
# An **ulp** (unit in the last place) is the gap between neighbouring float64 numbers. An answer within ½ ulp is the
# best any float64 program can do. The tolerance of this lesson, 1e-9, leaves room for millions of ulps: there is no need
# to be perfect, only to have no hole.
#
# The next figure measures yours with mpmath as referee, at 400 random margins that are exact in float64.

# %% nbgrader={"grade": false, "grade_id": "figure_ulps", "locked": true, "schema_version": 3, "solution": false, "task": false}
@picture(
    alt="Error in ulps against the margin, on a logarithmic scale.",
    needs=[dpo_loss, dpo_grad],
)
def draw_ulps():
    margins = np.random.default_rng(3).uniform(-690, 690, 400)
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.9), sharey=True, layout="constrained")
    worst = []
    rivals = twins(margins)
    for axis, name, truth, yours, rival in [
        (axes[0], "loss", true_loss, [dpo_loss(*one_pair(z)) for z in margins], rivals["log(1 + exp(−z))"][0]),
        (axes[1], "weight σ(−z)", true_weight, [dpo_grad(*one_pair(z))[1][0] for z in margins], rivals["log of sigmoid"][1]),
    ]:
        exact = [truth(z) for z in margins]
        gap = [float(np.spacing(float(e))) for e in exact]

        def ulps(values, exact=exact, gap=gap):
            return np.array([float(abs(mpmath.mpf(float(v)) - e) / g) for v, e, g in zip(values, exact, gap)])

        label = "log(1 + exp(−z))" if name == "loss" else "1 − σ(z)"
        axis.semilogy(margins, np.maximum(ulps(rival), 1e-2), "x", color=palette.VERMILLION, ms=4, label=label)
        axis.semilogy(margins, np.maximum(ulps(yours), 1e-2), "o", color=palette.BLUE, ms=4, mfc="none", label="yours")
        axis.axhline(1e-9 / 2.0**-52, color=palette.BLACK, ls="--", lw=1)
        axis.text(-680, 1e-9 / 2.0**-52 * 2, f"tolerance 1e−9: {1e-9 / 2.0**-52 / 1e6:.1f} million ulps", fontsize=9)
        axis.axhline(0.5, color=palette.BLACK, ls=":", lw=1)
        axis.text(-680, 0.5 * 1.6, "½ ulp, the best possible", fontsize=9)
        axis.set(xlabel="margin z", title=name, ylim=(5e-3, 1e18))
        axis.legend(frameon=False, loc="upper left")
        worst.append(f"{name} at most {ulps(yours).max():.2g} ulps")
    axes[0].set_ylabel("error in ulps")
    text = ("Error in ulps against the margin, on a logarithmic scale. Yours: " + ", ".join(worst) + ". The naive twins are "
            "as good on the left, and from margin 20 on rise through the tolerance to total loss.")  # fmt: skip
    return figure, text


# %% [markdown]
# **A last surprise: z itself.** An exact σ(−z) cannot mend an inexact z. A margin is a difference of four numbers of
# size 5000, and the order of subtraction decides the last digits. Since $e^{-(z+\delta)} = e^{-z}(1-\delta+\dots)$, an
# absolute error δ in z becomes a *relative* error δ in the gradient. The next cell measures two orders.

# %% nbgrader={"grade": false, "grade_id": "demo_association", "locked": true, "schema_version": 3, "solution": false, "task": false}
a, b, c, d = -4073.1, -4582.8, -4614.1, -4388.8  # preferred, rejected, and both under the reference
by_response = 0.7 * (a - c) - 0.7 * (b - d)
by_model = 0.7 * ((a - b) - (c - d))
print(f"z by response {by_response!r}\nz by model    {by_model!r}")
print(f"exp(-z) differs, relatively, by {abs(np.exp(by_model - by_response) - 1):.1e}")
assert 0 < abs(by_response - by_model) < 1e-9  # both are far inside the tolerance: choose the one that reads best

# %% [markdown]
# ## 8. What β does to the loss
#
# Fix a log-ratio difference $\Delta$, so that $z = \beta\Delta$. Move β and watch two things.
#
# - **At Δ = 0, the start,** the loss is log 2 for every β, but its *slope* is β/2. With plain gradient descent a larger β
#   takes a larger first step.
# - **Further right,** a larger β is satisfied sooner: the weight σ(−βΔ) has died before Δ is large. The policy needs less
#   distance from the reference to explain the same preferences, so it stays *closer*.
#
# The two seem to contradict each other, and do not: one is about speed at the start, the other about where it ends.
# Lesson 4 shows both in one experiment.

# %% nbgrader={"grade": false, "grade_id": "figure_beta", "locked": true, "schema_version": 3, "solution": false, "task": false}
def beta_curves(axes, beta, style="-", color=palette.BLUE):
    """Loss and gradient size over log-ratio differences, from the learner's functions."""
    ratios = np.linspace(-8, 8, 81)
    pairs = [(np.array([ratio]), np.zeros(1), np.zeros(1), np.zeros(1), beta) for ratio in ratios]
    axes[0].plot(ratios, [dpo_loss(*pair) for pair in pairs], style, color=color, label=f"β = {beta:g}")
    axes[1].plot(ratios, [dpo_grad(*pair)[1][0] for pair in pairs], style, color=color, label=f"β = {beta:g}")


def beta_axes():
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.5), layout="constrained")
    axes[0].set(xlabel="log-ratio difference Δ", ylabel="loss", ylim=(0, 8.2))
    axes[1].set(xlabel="log-ratio difference Δ", ylabel="push β σ(−βΔ)", ylim=(0, 2.1))
    return figure, axes


@picture(
    alt="Loss and push against the log-ratio difference for beta 0.25, 1 and 2. All losses cross at log 2 for difference "
    "zero. The push at zero is beta over two; for larger beta it starts higher and dies sooner on the right.",
    needs=[dpo_loss, dpo_grad],
)
def draw_beta():
    figure, axes = beta_axes()
    for beta, style, color in [(0.25, "-", palette.BLUE), (1.0, "--", palette.VERMILLION), (2.0, ":", palette.BLACK)]:
        beta_curves(axes, beta, style, color)
        axes[1].plot(0, beta / 2, "o", color=color)
    axes[0].plot(0, np.log(2), "o", color=palette.BLACK)
    for axis in axes:
        axis.legend(frameon=False)
    return figure


# %% nbgrader={"grade": false, "grade_id": "figure_beta_slider", "locked": true, "schema_version": 3, "solution": false, "task": false}
def draw_beta_slider(beta):
    figure, axes = beta_axes()
    beta_curves(axes, beta)
    axes[0].set_title(f"loss at 0: {np.log(2):.3f}, whatever β")
    axes[1].set_title(f"push at 0: β/2 = {beta / 2:.3f}")
    return figure


explore(draw_beta_slider, alt="Loss and push against the log-ratio difference for the beta of the slider.", beta=(0.05, 2.0, 0.05))

# %% [markdown]
# ## What you take along
#
# - A policy and its reference *are* a reward model; comparing two responses cancels the constant.
# - The loss is log 2 at the start. If it is not, stop.
# - Stability is two failures, overflow and absorption, and one cure: an expression in which neither can occur. A constant
#   in the logarithm hides the failure and takes the gradient away.
# - A gradient check proves consistency. Truth comes from outside.
#
# **Next: lesson 4** trains a small model with the functions you have written, and knows the right answer.

# %% nbgrader={"grade": false, "grade_id": "demo_progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
progress()
