"""Wrong versions of `dpo_grad`: run as submissions, one function per misconception."""

import numpy as np
import torch


def _margin(pw, pl, rw, rl, beta):
    return beta * ((pw - rw) - (pl - rl))


def _sigmoid(z):
    small = np.exp(-np.abs(z))
    return np.where(z >= 0, 1.0, small) / (1.0 + small)


def _sides(weight):
    return -weight, weight


def sign_flipped(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The two signs, or the two arrays, are exchanged.

    1. To lower the loss, in which direction must each of the two log probabilities move?
    2. The gradient points uphill. Which way is uphill for the preferred answer?
    3. Nudge one preferred log probability up a little, look whether your loss rises or falls, and compare
       signs.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    weight = beta * _sigmoid(-z) / z.size
    return weight, -weight


def both_negative(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Both gradients are negative.

    1. The loss depends only on a difference: what must the two gradients add up to?
    2. Move both log probabilities of a pair by the same amount and watch the loss.
    3. Derive both derivatives separately; they share a size.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    weight = beta * _sigmoid(-z) / z.size
    return -weight, -weight


def both_positive(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Both gradients are positive.

    1. The loss depends only on a difference: what must the two gradients add up to?
    2. Move both log probabilities of a pair by the same amount and watch the loss.
    3. Derive both derivatives separately; they share a size.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    weight = beta * _sigmoid(-z) / z.size
    return weight, weight.copy()


def sigmoid_of_plus_z(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Weighs by how right a pair is.

    1. Which pairs should pull hardest: those already right or those still wrong?
    2. The weight of a pair is the derivative of its loss in the margin; sketch it for both signs of the
       margin.
    3. The derivative of the softplus is a sigmoid. Find out of which argument.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * _sigmoid(z) / z.size)


def sigmoid_of_plus_z_uphill(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Swaps the pair: wrong weight and wrong sign.

    1. Which pairs should pull hardest: those already right or those still wrong?
    2. The weight of a pair is the derivative of its loss in the margin; sketch it for both signs of the
       margin.
    3. The derivative of the softplus is a sigmoid. Find out of which argument.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    weight = beta * _sigmoid(z) / z.size
    return weight, -weight


def sigmoid_slope(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Uses the derivative of the sigmoid.

    1. Which pairs should pull hardest: those already right or those still wrong?
    2. The weight of a pair is the derivative of its loss in the margin; sketch it for both signs of the
       margin.
    3. The derivative of the softplus is a sigmoid. Find out of which argument.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * (_sigmoid(z) * _sigmoid(-z)) / z.size)


def log_sigmoid_weight(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Weighs by the loss itself.

    1. Which pairs should pull hardest: those already right or those still wrong?
    2. The weight of a pair is the derivative of its loss in the margin; sketch it for both signs of the
       margin.
    3. The derivative of the softplus is a sigmoid. Find out of which argument.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * np.logaddexp(0.0, -z) / z.size)


def no_weight(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Every pair pulls with weight one.

    1. Which pairs should pull hardest: those already right or those still wrong?
    2. The weight of a pair is the derivative of its loss in the margin; sketch it for both signs of the
       margin.
    3. The derivative of the softplus is a sigmoid. Find out of which argument.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(np.full(z.shape, beta / z.size))


def hinge(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Pulls with full weight until the margin is one, then not at all.

    1. Does a pair that is slightly won still pull?
    2. The weight changes smoothly with the margin; yours does something else.
    3. Evaluate your weight at margins -1, 0 and 1 and compare with a finite difference of the loss.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * (z < 1.0) / z.size)


def lost_only(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Pulls only while the pair is lost.

    1. Does a pair that is slightly won still pull?
    2. The weight changes smoothly with the margin; yours does something else.
    3. Evaluate your weight at margins -1, 0 and 1 and compare with a finite difference of the loss.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * np.where(z < 0, 1.0, 0.0) / z.size)


def zero_at_zero(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Leaves out pairs whose margin is exactly zero.

    1. Does a pair that is slightly won still pull?
    2. The weight changes smoothly with the margin; yours does something else.
    3. Evaluate your weight at margins -1, 0 and 1 and compare with a finite difference of the loss.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * np.where(z == 0.0, 0.0, _sigmoid(-z)) / z.size)


def exponential(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The gradient of the exponential loss.

    1. Which pairs should pull hardest: those already right or those still wrong?
    2. The weight of a pair is the derivative of its loss in the margin; sketch it for both signs of the
       margin.
    3. The derivative of the softplus is a sigmoid. Find out of which argument.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * np.exp(-z) / z.size)


def ipo(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The gradient of the squared loss of IPO.

    1. Which pairs should pull hardest: those already right or those still wrong?
    2. The weight of a pair is the derivative of its loss in the margin; sketch it for both signs of the
       margin.
    3. The derivative of the softplus is a sigmoid. Find out of which argument.
    """
    gap = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, 1.0)
    weight = -2.0 * (gap - 1.0 / (2.0 * beta)) / gap.size
    return -weight, weight


def label_smoothing(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Mixes in a tenth of the flipped gradient.

    1. Which pairs should pull hardest: those already right or those still wrong?
    2. The weight of a pair is the derivative of its loss in the margin; sketch it for both signs of the
       margin.
    3. The derivative of the softplus is a sigmoid. Find out of which argument.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * (_sigmoid(-z) - 0.1) / z.size)


def slight_label_smoothing(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Mixes in a thousandth of the flipped gradient.

    1. Which pairs should pull hardest: those already right or those still wrong?
    2. The weight of a pair is the derivative of its loss in the margin; sketch it for both signs of the
       margin.
    3. The derivative of the softplus is a sigmoid. Find out of which argument.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * (_sigmoid(-z) - 0.001) / z.size)


def absolute_margin(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Uses the size of the margin.

    1. Which pairs should pull hardest: those already right or those still wrong?
    2. The weight of a pair is the derivative of its loss in the margin; sketch it for both signs of the
       margin.
    3. The derivative of the softplus is a sigmoid. Find out of which argument.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * _sigmoid(-np.abs(z)) / z.size)


def no_mean(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """No 1/N.

    1. Compare with a finite difference of your own loss for N = 2: what is the factor between them?
    2. The loss is a mean. What does that do to the derivative in one entry?
    3. Evaluate your function for one pair and for the same pair repeated: each entry must shrink in a known
       way.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * _sigmoid(-z))


def mean_twice(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Carries 1/N twice.

    1. Compare with a finite difference of your own loss for N = 2: what is the factor between them?
    2. The loss is a mean. What does that do to the derivative in one entry?
    3. Evaluate your function for one pair and for the same pair repeated: each entry must shrink in a known
       way.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * _sigmoid(-z) / z.size**2)


def n_minus_1(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Divides by N - 1.

    1. Compare with a finite difference of your own loss for N = 2: what is the factor between them?
    2. The loss is a mean. What does that do to the derivative in one entry?
    3. Evaluate your function for one pair and for the same pair repeated: each entry must shrink in a known
       way.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * _sigmoid(-z) / max(z.size - 1, 1))


def two_n(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Divides by the number of completions instead of pairs.

    1. Compare with a finite difference of your own loss for N = 2: what is the factor between them?
    2. The loss is a mean. What does that do to the derivative in one entry?
    3. Evaluate your function for one pair and for the same pair repeated: each entry must shrink in a known
       way.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * _sigmoid(-z) / (2 * z.size))


def mean_weight(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Gives every pair the mean weight.

    1. One derivative per input number: how many inputs are there?
    2. An optimizer must be able to subtract your result from the array of log probabilities.
    3. Compare the shape of what you return with the shape of the argument it belongs to, for N = 1 and for N
       = 3.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(np.full(z.shape, beta * np.mean(_sigmoid(-z)) / z.size))


def normalised_weights(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Makes the weights add up to one.

    1. Compare with a finite difference of your own loss for N = 2: what is the factor between them?
    2. The loss is a mean. What does that do to the derivative in one entry?
    3. Evaluate your function for one pair and for the same pair repeated: each entry must shrink in a known
       way.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * _sigmoid(-z) / np.sum(_sigmoid(-z)))


def summed(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """One number per side.

    1. One derivative per input number: how many inputs are there?
    2. An optimizer must be able to subtract your result from the array of log probabilities.
    3. Compare the shape of what you return with the shape of the argument it belongs to, for N = 1 and for N
       = 3.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    weight = float(np.sum(beta * _sigmoid(-z) / z.size))
    return -weight, weight


def all_pairs(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Compares every preferred answer with every rejected one.

    1. Which rejected answer belongs to which preferred one?
    2. With N pairs there are N margins. Count how many numbers you average.
    3. Reorder the rejected answers only: the right loss changes, because each is compared with its own
       partner.
    """
    z = beta * (
        (policy_logprob_preferred - ref_logprob_preferred)[:, None]
        - (policy_logprob_rejected - ref_logprob_rejected)[None, :]
    )
    weight = beta * _sigmoid(-z) / z.size
    return -weight.sum(axis=1), weight.sum(axis=0)


def rejected_reversed(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Pairs the answers in opposite orders.

    1. Which rejected answer belongs to which preferred one?
    2. With N pairs there are N margins. Count how many numbers you average.
    3. Reorder the rejected answers only: the right loss changes, because each is compared with its own
       partner.
    """
    z = beta * (
        (policy_logprob_preferred - ref_logprob_preferred) - (policy_logprob_rejected - ref_logprob_rejected)[::-1]
    )
    return _sides(beta * _sigmoid(-z) / z.size)


def beta_missing(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The derivative in the margin: no beta outside.

    1. How many betas does the chain rule produce?
    2. With respect to what is the derivative asked: the margin or a log probability?
    3. One beta sits inside the margin, and differentiating the margin brings down another. Count those in
       your code.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(_sigmoid(-z) / z.size)


def beta_only_outside(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Beta is missing inside the margin.

    1. How many betas does the chain rule produce?
    2. With respect to what is the derivative asked: the margin or a log probability?
    3. One beta sits inside the margin, and differentiating the margin brings down another. Count those in
       your code.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, 1.0)
    return _sides(beta * _sigmoid(-z) / z.size)


def beta_nowhere(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """No beta at all.

    1. How many betas does the chain rule produce?
    2. With respect to what is the derivative asked: the margin or a log probability?
    3. One beta sits inside the margin, and differentiating the margin brings down another. Count those in
       your code.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, 1.0)
    return _sides(_sigmoid(-z) / z.size)


def beta_squared(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Beta applied twice outside.

    1. How many betas does the chain rule produce?
    2. With respect to what is the derivative asked: the margin or a log probability?
    3. One beta sits inside the margin, and differentiating the margin brings down another. Count those in
       your code.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * beta * _sigmoid(-z) / z.size)


def divided_by_beta(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Divides by beta outside.

    1. How many betas does the chain rule produce?
    2. With respect to what is the derivative asked: the margin or a log probability?
    3. One beta sits inside the margin, and differentiating the margin brings down another. Count those in
       your code.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(_sigmoid(-z) / beta / z.size)


def beta_divides_margin(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Divides the margin by beta.

    1. How many betas does the chain rule produce?
    2. With respect to what is the derivative asked: the margin or a log probability?
    3. One beta sits inside the margin, and differentiating the margin brings down another. Count those in
       your code.
    """
    z = _margin(
        policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, 1.0 / beta
    )
    return _sides(beta * _sigmoid(-z) / z.size)


def beta_as_integer(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Rounds beta down to a whole number.

    1. How many betas does the chain rule produce?
    2. With respect to what is the derivative asked: the margin or a log probability?
    3. One beta sits inside the margin, and differentiating the margin brings down another. Count those in
       your code.
    """
    z = _margin(
        policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, int(beta)
    )
    return _sides(int(beta) * _sigmoid(-z) / z.size)


def beta_on_preferred_only(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Beta multiplies one of the two gradients.

    1. How many betas does the chain rule produce?
    2. With respect to what is the derivative asked: the margin or a log probability?
    3. One beta sits inside the margin, and differentiating the margin brings down another. Count those in
       your code.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    weight = _sigmoid(-z) / z.size
    return -beta * weight, weight


def beta_on_rejected_only(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Beta multiplies the other of the two gradients.

    1. How many betas does the chain rule produce?
    2. With respect to what is the derivative asked: the margin or a log probability?
    3. One beta sits inside the margin, and differentiating the margin brings down another. Count those in
       your code.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    weight = _sigmoid(-z) / z.size
    return -weight, beta * weight


def margin_beta_on_policy_only(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Inside the margin only the policy is scaled.

    1. How many betas does the chain rule produce?
    2. With respect to what is the derivative asked: the margin or a log probability?
    3. One beta sits inside the margin, and differentiating the margin brings down another. Count those in
       your code.
    """
    z = beta * (policy_logprob_preferred - policy_logprob_rejected) - (ref_logprob_preferred - ref_logprob_rejected)
    return _sides(beta * _sigmoid(-z) / z.size)


def margin_beta_on_reference_only(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Inside the margin only the reference is scaled.

    1. How many betas does the chain rule produce?
    2. With respect to what is the derivative asked: the margin or a log probability?
    3. One beta sits inside the margin, and differentiating the margin brings down another. Count those in
       your code.
    """
    z = (policy_logprob_preferred - policy_logprob_rejected) - beta * (ref_logprob_preferred - ref_logprob_rejected)
    return _sides(beta * _sigmoid(-z) / z.size)


def reference_ignored(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """No reference in the margin.

    1. Train from an exact copy of the reference: what must the first loss be, and is it?
    2. Both completions have their own reference log probability, and each of the two matters.
    3. Shift one reference log probability alone by one: the margin must move by beta, in a direction you can
       predict.
    """
    z = beta * (policy_logprob_preferred - policy_logprob_rejected)
    return _sides(beta * _sigmoid(-z) / z.size)


def reference_sign(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Adds the reference margin.

    1. Train from an exact copy of the reference: what must the first loss be, and is it?
    2. Both completions have their own reference log probability, and each of the two matters.
    3. Shift one reference log probability alone by one: the margin must move by beta, in a direction you can
       predict.
    """
    z = beta * ((policy_logprob_preferred - policy_logprob_rejected) + (ref_logprob_preferred - ref_logprob_rejected))
    return _sides(beta * _sigmoid(-z) / z.size)


def preferred_reference_ignored(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """No reference for the preferred answer.

    1. Train from an exact copy of the reference: what must the first loss be, and is it?
    2. Both completions have their own reference log probability, and each of the two matters.
    3. Shift one reference log probability alone by one: the margin must move by beta, in a direction you can
       predict.
    """
    z = beta * (policy_logprob_preferred - (policy_logprob_rejected - ref_logprob_rejected))
    return _sides(beta * _sigmoid(-z) / z.size)


def rejected_reference_ignored(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """No reference for the rejected answer.

    1. Train from an exact copy of the reference: what must the first loss be, and is it?
    2. Both completions have their own reference log probability, and each of the two matters.
    3. Shift one reference log probability alone by one: the margin must move by beta, in a direction you can
       predict.
    """
    z = beta * ((policy_logprob_preferred - ref_logprob_preferred) - policy_logprob_rejected)
    return _sides(beta * _sigmoid(-z) / z.size)


def each_side_alone(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Weighs each answer by its own implicit reward.

    1. Train from an exact copy of the reference: what must the first loss be, and is it?
    2. Both completions have their own reference log probability, and each of the two matters.
    3. Shift one reference log probability alone by one: the margin must move by beta, in a direction you can
       predict.
    """
    n = policy_logprob_preferred.size
    return -beta * _sigmoid(-beta * (policy_logprob_preferred - ref_logprob_preferred)) / n, beta * _sigmoid(
        beta * (policy_logprob_rejected - ref_logprob_rejected)
    ) / n


def one_side_zero(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Only the preferred answer gets a gradient.

    1. The loss depends only on a difference: what must the two gradients add up to?
    2. Move both log probabilities of a pair by the same amount and watch the loss.
    3. Derive both derivatives separately; they share a size.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    weight = beta * _sigmoid(-z) / z.size
    return -weight, np.zeros_like(weight)


def other_side_zero(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Only the rejected answer gets a gradient.

    1. The loss depends only on a difference: what must the two gradients add up to?
    2. Move both log probabilities of a pair by the same amount and watch the loss.
    3. Derive both derivatives separately; they share a size.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    weight = beta * _sigmoid(-z) / z.size
    return np.zeros_like(weight), weight


def one_minus_sigmoid(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Subtracts the sigmoid from one.

    1. How many digits are left when a number very close to one meets one?
    2. Look at a margin of 40: the wanted number is about 4e-18, far below the spacing of floats near one.
    3. Find the form in which the small quantity is computed directly, or the library function made for a sum
       with one.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * (1.0 - _sigmoid(z)) / z.size)


def tanh_sigmoid(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The sigmoid through tanh.

    1. How many digits are left when a number very close to one meets one?
    2. Look at a margin of 40: the wanted number is about 4e-18, far below the spacing of floats near one.
    3. Find the form in which the small quantity is computed directly, or the library function made for a sum
       with one.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * 0.5 * (1.0 - np.tanh(z / 2.0)) / z.size)


def exp_of_minus_loss(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """One minus the exponential of the negated loss.

    1. How many digits are left when a number very close to one meets one?
    2. Look at a margin of 40: the wanted number is about 4e-18, far below the spacing of floats near one.
    3. Find the form in which the small quantity is computed directly, or the library function made for a sum
       with one.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * (1.0 - np.exp(-np.logaddexp(0.0, -z))) / z.size)


def overflow_nan(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """A fraction of two exponentials: infinite over infinite for lost pairs.

    1. Which intermediate number leaves the range of float64 when the margin is -3000?
    2. The exponential overflows for one sign of its argument only. Which sign do you give it for a lost pair?
    3. Arrange the formula so that an exponential only ever sees numbers that are not positive, whatever the
       margin.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * (np.exp(-z) / (1.0 + np.exp(-z))) / z.size)


def overflow_for_won(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Right while overflow to infinity is harmless, by way of a doubled exponential.

    1. Which intermediate number leaves the range of float64 when the margin is -3000?
    2. The exponential overflows for one sign of its argument only. Which sign do you give it for a lost pair?
    3. Arrange the formula so that an exponential only ever sees numbers that are not positive, whatever the
       margin.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * (np.exp(-z / 2.0) / (np.exp(z / 2.0) + np.exp(-z / 2.0))) / z.size)


def overflow_to_zero(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Replaces what overflowed by zero.

    1. Which intermediate number leaves the range of float64 when the margin is -3000?
    2. The exponential overflows for one sign of its argument only. Which sign do you give it for a lost pair?
    3. Arrange the formula so that an exponential only ever sees numbers that are not positive, whatever the
       margin.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * np.nan_to_num(np.exp(-z) / (1.0 + np.exp(-z))) / z.size)


def eps_1e_8(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Adds 1e-8 to the weight.

    1. What does your safety constant do to a number that is much smaller than it?
    2. Compare the constant with the sigmoid at margins of 40 and of -40.
    3. No constant is needed if the logarithm never sees an underflowed number: rearrange rather than pad.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * (_sigmoid(-z) + 1e-8) / z.size)


def eps_1e_18(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Adds 1e-18 to the weight.

    1. What does your safety constant do to a number that is much smaller than it?
    2. Compare the constant with the sigmoid at margins of 40 and of -40.
    3. No constant is needed if the logarithm never sees an underflowed number: rearrange rather than pad.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * (_sigmoid(-z) + 1e-18) / z.size)


def eps_1e_300(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Adds 1e-300 to the weight.

    1. What does your safety constant do to a number that is much smaller than it?
    2. Compare the constant with the sigmoid at margins of 40 and of -40.
    3. No constant is needed if the logarithm never sees an underflowed number: rearrange rather than pad.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * (_sigmoid(-z) + 1e-300) / z.size)


def eps_in_log(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Goes through a logarithm with a constant of 1e-12.

    1. What does your safety constant do to a number that is much smaller than it?
    2. Compare the constant with the sigmoid at margins of 40 and of -40.
    3. No constant is needed if the logarithm never sees an underflowed number: rearrange rather than pad.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * np.exp(np.log(_sigmoid(-z) + 1e-12)) / z.size)


def eps_in_denominator(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Adds 1e-8 to a denominator.

    1. What does your safety constant do to a number that is much smaller than it?
    2. Compare the constant with the sigmoid at margins of 40 and of -40.
    3. No constant is needed if the logarithm never sees an underflowed number: rearrange rather than pad.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * (1.0 / (1.0 + np.exp(np.minimum(z, 700.0)) + 1e-8)) / z.size)


def weight_clipped(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Keeps the weight above 1e-7.

    1. How small can your gradient become, and how small should it be for a pair that is won by 600?
    2. A safety net that limits a quantity also changes the answer for the pairs that need it most.
    3. Remove the limit and rearrange the formula instead: done well, nothing ever overflows.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * np.clip(_sigmoid(-z), 1e-7, 1.0) / z.size)


def clip_30(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The margin is limited to ±30.

    1. How small can your gradient become, and how small should it be for a pair that is won by 600?
    2. A safety net that limits a quantity also changes the answer for the pairs that need it most.
    3. Remove the limit and rearrange the formula instead: done well, nothing ever overflows.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * _sigmoid(-np.clip(z, -30.0, 30.0)) / z.size)


def clip_50(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The margin is limited to ±50.

    1. How small can your gradient become, and how small should it be for a pair that is won by 600?
    2. A safety net that limits a quantity also changes the answer for the pairs that need it most.
    3. Remove the limit and rearrange the formula instead: done well, nothing ever overflows.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * _sigmoid(-np.clip(z, -50.0, 50.0)) / z.size)


def clip_500(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The margin is limited to ±500.

    1. How small can your gradient become, and how small should it be for a pair that is won by 600?
    2. A safety net that limits a quantity also changes the answer for the pairs that need it most.
    3. Remove the limit and rearrange the formula instead: done well, nothing ever overflows.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * _sigmoid(-np.clip(z, -500.0, 500.0)) / z.size)


def clip_600(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The margin is limited to ±600.

    1. How small can your gradient become, and how small should it be for a pair that is won by 600?
    2. A safety net that limits a quantity also changes the answer for the pairs that need it most.
    3. Remove the limit and rearrange the formula instead: done well, nothing ever overflows.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * _sigmoid(-np.clip(z, -600.0, 600.0)) / z.size)


def gradient_clipped(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Limits every gradient to ±1.

    1. How small can your gradient become, and how small should it be for a pair that is won by 600?
    2. A safety net that limits a quantity also changes the answer for the pairs that need it most.
    3. Remove the limit and rearrange the formula instead: done well, nothing ever overflows.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(np.minimum(beta * _sigmoid(-z) / z.size, 1.0))


def log_floor(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The log-sigmoid has a floor of -100.

    1. How small can your gradient become, and how small should it be for a pair that is won by 600?
    2. A safety net that limits a quantity also changes the answer for the pairs that need it most.
    3. Remove the limit and rearrange the formula instead: done well, nothing ever overflows.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * np.exp(np.maximum(-np.logaddexp(0.0, z), -100.0)) / z.size)


def log_probs_floored(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Log probabilities below -1000 are raised to it.

    1. How small can your gradient become, and how small should it be for a pair that is won by 600?
    2. A safety net that limits a quantity also changes the answer for the pairs that need it most.
    3. Remove the limit and rearrange the formula instead: done well, nothing ever overflows.
    """
    z = _margin(
        *(
            np.maximum(x, -1000.0)
            for x in (policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected)
        ),
        beta,
    )
    return _sides(beta * _sigmoid(-z) / z.size)


def zero_when_won(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Returns zero for margins above 37.

    1. At which margin does your shortcut switch on, and how good is it exactly there?
    2. A relative error of one part in a billion is asked for, in the tail as well.
    3. The exact form is stable on both sides; the shortcut is not needed.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * np.where(z > 37.0, 0.0, _sigmoid(-z)) / z.size)


def zero_when_far_won(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Returns zero for margins above 500.

    1. At which margin does your shortcut switch on, and how good is it exactly there?
    2. A relative error of one part in a billion is asked for, in the tail as well.
    3. The exact form is stable on both sides; the shortcut is not needed.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * np.where(z > 500.0, 0.0, _sigmoid(-z)) / z.size)


def one_below_20(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Takes the weight as one below a margin of -20.

    1. At which margin does your shortcut switch on, and how good is it exactly there?
    2. A relative error of one part in a billion is asked for, in the tail as well.
    3. The exact form is stable on both sides; the shortcut is not needed.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * np.where(z < -20.0, 1.0, _sigmoid(-z)) / z.size)


def exponential_above_20(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Takes the weight as exponential above a margin of 20.

    1. At which margin does your shortcut switch on, and how good is it exactly there?
    2. A relative error of one part in a billion is asked for, in the tail as well.
    3. The exact form is stable on both sides; the shortcut is not needed.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * np.where(z > 20.0, np.exp(-z), _sigmoid(-z)) / z.size)


def finite_difference(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Central differences of the loss.

    1. How many digits does a difference of two nearly equal losses keep?
    2. A finite difference checks a gradient; it is not one.
    3. Differentiate the formula by hand: it is short, and exact at every margin.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    step = 1e-5
    high, low = np.logaddexp(0.0, -(z + beta * step)), np.logaddexp(0.0, -(z - beta * step))
    slope = (high - low) / (2.0 * step) / z.size
    return slope, -slope


def forward_difference(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """One-sided differences of the loss.

    1. How many digits does a difference of two nearly equal losses keep?
    2. A finite difference checks a gradient; it is not one.
    3. Differentiate the formula by hand: it is short, and exact at every margin.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    step = 1e-6
    slope = (np.logaddexp(0.0, -(z + beta * step)) - np.logaddexp(0.0, -z)) / step / z.size
    return slope, -slope


def float32_inputs(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Casts all inputs to float32.

    1. How many digits of a log probability near -5000 survive in single or half precision?
    2. Log probabilities nearly cancel in the margin, so their last digits become its first ones.
    3. Look for every conversion in your code and ask which precision it keeps.
    """
    z = _margin(
        *(
            x.astype(np.float32)
            for x in (policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected)
        ),
        np.float32(beta),
    )
    return _sides((beta * _sigmoid(-z) / z.size).astype(float))


def float32_preferred(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Casts the preferred policy log probabilities to float32.

    1. How many digits of a log probability near -5000 survive in single or half precision?
    2. Log probabilities nearly cancel in the margin, so their last digits become its first ones.
    3. Look for every conversion in your code and ask which precision it keeps.
    """
    z = _margin(
        policy_logprob_preferred.astype(np.float32).astype(float),
        policy_logprob_rejected,
        ref_logprob_preferred,
        ref_logprob_rejected,
        beta,
    )
    return _sides(beta * _sigmoid(-z) / z.size)


def float32_references(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Casts the reference log probabilities to float32.

    1. How many digits of a log probability near -5000 survive in single or half precision?
    2. Log probabilities nearly cancel in the margin, so their last digits become its first ones.
    3. Look for every conversion in your code and ask which precision it keeps.
    """
    z = _margin(
        policy_logprob_preferred,
        policy_logprob_rejected,
        ref_logprob_preferred.astype(np.float32).astype(float),
        ref_logprob_rejected.astype(np.float32).astype(float),
        beta,
    )
    return _sides(beta * _sigmoid(-z) / z.size)


def float32_result(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Returns float32.

    1. How many digits of a log probability near -5000 survive in single or half precision?
    2. Log probabilities nearly cancel in the margin, so their last digits become its first ones.
    3. Look for every conversion in your code and ask which precision it keeps.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides((beta * _sigmoid(-z) / z.size).astype(np.float32))


def float32_beta(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Casts beta to float32.

    1. How many digits of a log probability near -5000 survive in single or half precision?
    2. Log probabilities nearly cancel in the margin, so their last digits become its first ones.
    3. Look for every conversion in your code and ask which precision it keeps.
    """
    beta = float(np.float32(beta))
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * _sigmoid(-z) / z.size)


def rounded_8(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Rounds to eight decimals.

    1. How small can the right answer be, and how many decimals do you keep?
    2. A number can be tiny and still be asked for to nine significant digits.
    3. Return the number as computed; formatting is for printing.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(np.round(beta * _sigmoid(-z) / z.size, 8))


def stacked(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Returns one array with two rows.

    1. What type does the task ask for, and what is the type of what you return?
    2. Print the type and the shape of your result for one pair and for three.
    3. The numbers are right; only the box they come in differs from the one that is asked for.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return np.stack(_sides(beta * _sigmoid(-z) / z.size))


def lists_of_floats(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Returns two lists.

    1. What type does the task ask for, and what is the type of what you return?
    2. Print the type and the shape of your result for one pair and for three.
    3. The numbers are right; only the box they come in differs from the one that is asked for.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return tuple(side.tolist() for side in _sides(beta * _sigmoid(-z) / z.size))


def columns(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Returns columns.

    1. What type does the task ask for, and what is the type of what you return?
    2. Print the type and the shape of your result for one pair and for three.
    3. The numbers are right; only the box they come in differs from the one that is asked for.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return tuple(side[:, None] for side in _sides(beta * _sigmoid(-z) / z.size))


def squeezed(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Drops the axis when there is one pair.

    1. What type does the task ask for, and what is the type of what you return?
    2. Print the type and the shape of your result for one pair and for three.
    3. The numbers are right; only the box they come in differs from the one that is asked for.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return tuple(np.squeeze(side) for side in _sides(beta * _sigmoid(-z) / z.size))


def only_preferred(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Returns one array only.

    1. One derivative per input number: how many inputs are there?
    2. An optimizer must be able to subtract your result from the array of log probabilities.
    3. Compare the shape of what you return with the shape of the argument it belongs to, for N = 1 and for N
       = 3.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return -beta * _sigmoid(-z) / z.size


def dict_returned(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Returns a dictionary.

    1. What type does the task ask for, and what is the type of what you return?
    2. Print the type and the shape of your result for one pair and for three.
    3. The numbers are right; only the box they come in differs from the one that is asked for.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return dict(zip(("preferred", "rejected"), _sides(beta * _sigmoid(-z) / z.size), strict=True))


def inputs_overwritten(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Writes the gradients into the policy arrays.

    1. Call your function twice with the same arrays: same answer?
    2. Some operators write into the array on their left instead of making a new one.
    3. Print every argument before and after the call, and find the line that changed one.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    weight = beta * _sigmoid(-z) / z.size
    policy_logprob_preferred[:] = -weight
    policy_logprob_rejected[:] = weight
    return policy_logprob_preferred, policy_logprob_rejected


def preferred_overwritten(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Subtracts the reference from the preferred log probabilities in place.

    1. Call your function twice with the same arrays: same answer?
    2. Some operators write into the array on their left instead of making a new one.
    3. Print every argument before and after the call, and find the line that changed one.
    """
    policy_logprob_preferred -= ref_logprob_preferred
    z = beta * (policy_logprob_preferred - (policy_logprob_rejected - ref_logprob_rejected))
    return _sides(beta * _sigmoid(-z) / z.size)


def rejected_overwritten(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Subtracts the reference from the rejected log probabilities in place.

    1. Call your function twice with the same arrays: same answer?
    2. Some operators write into the array on their left instead of making a new one.
    3. Print every argument before and after the call, and find the line that changed one.
    """
    policy_logprob_rejected -= ref_logprob_rejected
    z = beta * ((policy_logprob_preferred - ref_logprob_preferred) - policy_logprob_rejected)
    return _sides(beta * _sigmoid(-z) / z.size)


def reference_overwritten(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Subtracts in place, in the reference.

    1. Call your function twice with the same arrays: same answer?
    2. Some operators write into the array on their left instead of making a new one.
    3. Print every argument before and after the call, and find the line that changed one.
    """
    ref_logprob_rejected -= ref_logprob_preferred
    z = beta * (policy_logprob_preferred - policy_logprob_rejected + ref_logprob_rejected)
    return _sides(beta * _sigmoid(-z) / z.size)


def uses_torch(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Takes the sigmoid from torch.

    1. Which libraries may this exercise use?
    2. Everything needed exists in numpy, if the formula is arranged well.
    3. Replace the call into the other library by an expression of your own that is stable for both signs.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * torch.sigmoid(torch.tensor(-z)).numpy() / z.size)


def integer_buffer(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Fills buffers of the type of the inputs.

    1. What type does your result inherit when the inputs are whole numbers?
    2. A buffer made like an integer array can only hold integers.
    3. Decide the type of the result yourself instead of copying it from an argument.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    preferred, rejected = np.zeros_like(policy_logprob_preferred), np.zeros_like(policy_logprob_rejected)
    preferred[:] = -beta * _sigmoid(-z) / z.size
    rejected[:] = beta * _sigmoid(-z) / z.size
    return preferred, rejected


def flipped_no_mean(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Both: sign_flipped + no_mean."""
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    weight = beta * _sigmoid(-z)
    return weight, -weight


def no_mean_no_beta(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Both: no_mean + beta_missing."""
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(_sigmoid(-z))


def flipped_no_beta(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Both: sign_flipped + beta_missing."""
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    weight = _sigmoid(-z) / z.size
    return weight, -weight


def plus_z_no_mean(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Both: sigmoid_of_plus_z + no_mean."""
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _sides(beta * _sigmoid(z))


def flipped_no_reference(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Both: sign_flipped + reference_ignored."""
    z = beta * (policy_logprob_preferred - policy_logprob_rejected)
    weight = beta * _sigmoid(-z) / z.size
    return weight, -weight
