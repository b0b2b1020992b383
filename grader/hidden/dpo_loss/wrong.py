"""Wrong versions of `dpo_loss`: run as submissions, one function per misconception."""

import numpy as np
import torch


def _margin(pw, pl, rw, rl, beta):
    return beta * ((pw - rw) - (pl - rl))


def _losses(z):
    return np.logaddexp(0.0, -z)


def _sigmoid(z):
    small = np.exp(-np.abs(z))
    return np.where(z >= 0, 1.0, small) / (1.0 + small)


def pair_swapped(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The rejected answer plays the preferred one: the margin has the wrong sign.

    1. Make the preferred answer more likely and nothing else: should your number fall or rise?
    2. Write down which implicit reward is taken from which, and check the sign on a pair the policy already
       gets right.
    3. Feed one pair with a large positive margin and one with a large negative margin; only one of them
       should cost much.
    """
    z = _margin(policy_logprob_rejected, policy_logprob_preferred, ref_logprob_rejected, ref_logprob_preferred, beta)
    return float(np.mean(_losses(z)))


def missing_minus(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Returns the logarithm of the sigmoid without the minus.

    1. Can a negative log-likelihood be below zero?
    2. A logarithm of a probability is never positive. What do you return?
    3. Gradient descent lowers the loss: check that lowering yours makes the preferred answer more likely.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(-_losses(z)))


def sum_not_mean(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Sums over the batch.

    1. Repeat the same batch twice: should the loss double, halve or stay?
    2. Say in words which statistic of the per-pair losses is asked for, and over how many pairs.
    3. Compute the losses of two very different pairs one at a time and combine them by hand; compare with the
       batch.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.sum(_losses(z)))


def median_not_mean(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Takes the median.

    1. Repeat the same batch twice: should the loss double, halve or stay?
    2. Say in words which statistic of the per-pair losses is asked for, and over how many pairs.
    3. Compute the losses of two very different pairs one at a time and combine them by hand; compare with the
       batch.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.median(_losses(z)))


def mean_over_n_minus_1(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Divides by N - 1.

    1. Repeat the same batch twice: should the loss double, halve or stay?
    2. Say in words which statistic of the per-pair losses is asked for, and over how many pairs.
    3. Compute the losses of two very different pairs one at a time and combine them by hand; compare with the
       batch.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.sum(_losses(z)) / max(z.size - 1, 1))


def mean_over_2n(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Divides by the number of completions instead of pairs.

    1. Repeat the same batch twice: should the loss double, halve or stay?
    2. Say in words which statistic of the per-pair losses is asked for, and over how many pairs.
    3. Compute the losses of two very different pairs one at a time and combine them by hand; compare with the
       batch.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.sum(_losses(z)) / (2 * z.size))


def divided_by_n_twice(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Divides the mean by N again.

    1. Repeat the same batch twice: should the loss double, halve or stay?
    2. Say in words which statistic of the per-pair losses is asked for, and over how many pairs.
    3. Compute the losses of two very different pairs one at a time and combine them by hand; compare with the
       batch.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(_losses(z)) / z.size)


def worst_pair_only(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Returns the largest loss of the batch.

    1. Repeat the same batch twice: should the loss double, halve or stay?
    2. Say in words which statistic of the per-pair losses is asked for, and over how many pairs.
    3. Compute the losses of two very different pairs one at a time and combine them by hand; compare with the
       batch.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.max(_losses(z)))


def first_pair_only(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Returns the loss of the first pair.

    1. Repeat the same batch twice: should the loss double, halve or stay?
    2. Say in words which statistic of the per-pair losses is asked for, and over how many pairs.
    3. Compute the losses of two very different pairs one at a time and combine them by hand; compare with the
       batch.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(_losses(z)[0])


def loss_of_mean_margin(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Averages the margins first.

    1. Repeat the same batch twice: should the loss double, halve or stay?
    2. Say in words which statistic of the per-pair losses is asked for, and over how many pairs.
    3. Compute the losses of two very different pairs one at a time and combine them by hand; compare with the
       batch.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(_losses(np.mean(z)))


def log_of_mean_sigmoid(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Averages the probabilities before taking the logarithm.

    1. Repeat the same batch twice: should the loss double, halve or stay?
    2. Say in words which statistic of the per-pair losses is asked for, and over how many pairs.
    3. Compute the losses of two very different pairs one at a time and combine them by hand; compare with the
       batch.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(-np.log(np.mean(np.exp(-_losses(z)))))


def beta_missing(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The margin has no beta.

    1. Halve beta on a pair whose margin is not zero: what in your result ought to change, and does it?
    2. Beta belongs to the implicit reward. Find every place where an implicit reward appears in what you
       wrote.
    3. Send beta towards zero: the loss of any pair tends to one well-known constant, and every gradient to
       zero. Compare.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, 1.0)
    return float(np.mean(_losses(z)))


def beta_outside(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Beta multiplies the loss instead of the margin.

    1. Halve beta on a pair whose margin is not zero: what in your result ought to change, and does it?
    2. Beta belongs to the implicit reward. Find every place where an implicit reward appears in what you
       wrote.
    3. Send beta towards zero: the loss of any pair tends to one well-known constant, and every gradient to
       zero. Compare.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, 1.0)
    return float(np.mean(beta * _losses(z)))


def beta_inside_and_outside(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Beta multiplies both margin and loss.

    1. Halve beta on a pair whose margin is not zero: what in your result ought to change, and does it?
    2. Beta belongs to the implicit reward. Find every place where an implicit reward appears in what you
       wrote.
    3. Send beta towards zero: the loss of any pair tends to one well-known constant, and every gradient to
       zero. Compare.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(beta * _losses(z)))


def loss_divided_by_beta(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Divides the loss by beta.

    1. Halve beta on a pair whose margin is not zero: what in your result ought to change, and does it?
    2. Beta belongs to the implicit reward. Find every place where an implicit reward appears in what you
       wrote.
    3. Send beta towards zero: the loss of any pair tends to one well-known constant, and every gradient to
       zero. Compare.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(_losses(z) / beta))


def beta_divides(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Divides the margin by beta.

    1. Halve beta on a pair whose margin is not zero: what in your result ought to change, and does it?
    2. Beta belongs to the implicit reward. Find every place where an implicit reward appears in what you
       wrote.
    3. Send beta towards zero: the loss of any pair tends to one well-known constant, and every gradient to
       zero. Compare.
    """
    z = _margin(
        policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, 1.0 / beta
    )
    return float(np.mean(_losses(z)))


def beta_squared(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Applies beta twice.

    1. Halve beta on a pair whose margin is not zero: what in your result ought to change, and does it?
    2. Beta belongs to the implicit reward. Find every place where an implicit reward appears in what you
       wrote.
    3. Send beta towards zero: the loss of any pair tends to one well-known constant, and every gradient to
       zero. Compare.
    """
    z = _margin(
        policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta * beta
    )
    return float(np.mean(_losses(z)))


def beta_as_integer(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Rounds beta down to a whole number.

    1. Halve beta on a pair whose margin is not zero: what in your result ought to change, and does it?
    2. Beta belongs to the implicit reward. Find every place where an implicit reward appears in what you
       wrote.
    3. Send beta towards zero: the loss of any pair tends to one well-known constant, and every gradient to
       zero. Compare.
    """
    z = _margin(
        policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, int(beta)
    )
    return float(np.mean(_losses(z)))


def beta_on_preferred_only(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Scales the preferred side only.

    1. Halve beta on a pair whose margin is not zero: what in your result ought to change, and does it?
    2. Beta belongs to the implicit reward. Find every place where an implicit reward appears in what you
       wrote.
    3. Send beta towards zero: the loss of any pair tends to one well-known constant, and every gradient to
       zero. Compare.
    """
    z = beta * (policy_logprob_preferred - ref_logprob_preferred) - (policy_logprob_rejected - ref_logprob_rejected)
    return float(np.mean(_losses(z)))


def beta_on_rejected_only(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Scales the rejected side only.

    1. Halve beta on a pair whose margin is not zero: what in your result ought to change, and does it?
    2. Beta belongs to the implicit reward. Find every place where an implicit reward appears in what you
       wrote.
    3. Send beta towards zero: the loss of any pair tends to one well-known constant, and every gradient to
       zero. Compare.
    """
    z = (policy_logprob_preferred - ref_logprob_preferred) - beta * (policy_logprob_rejected - ref_logprob_rejected)
    return float(np.mean(_losses(z)))


def beta_on_policy_only(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Scales the policy only.

    1. Halve beta on a pair whose margin is not zero: what in your result ought to change, and does it?
    2. Beta belongs to the implicit reward. Find every place where an implicit reward appears in what you
       wrote.
    3. Send beta towards zero: the loss of any pair tends to one well-known constant, and every gradient to
       zero. Compare.
    """
    z = beta * (policy_logprob_preferred - policy_logprob_rejected) - (ref_logprob_preferred - ref_logprob_rejected)
    return float(np.mean(_losses(z)))


def beta_on_reference_only(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Scales the reference only.

    1. Halve beta on a pair whose margin is not zero: what in your result ought to change, and does it?
    2. Beta belongs to the implicit reward. Find every place where an implicit reward appears in what you
       wrote.
    3. Send beta towards zero: the loss of any pair tends to one well-known constant, and every gradient to
       zero. Compare.
    """
    z = (policy_logprob_preferred - policy_logprob_rejected) - beta * (ref_logprob_preferred - ref_logprob_rejected)
    return float(np.mean(_losses(z)))


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
    return float(np.mean(_losses(z)))


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
    return float(np.mean(_losses(z)))


def policy_ignored(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Only the reference margin.

    1. Train from an exact copy of the reference: what must the first loss be, and is it?
    2. Both completions have their own reference log probability, and each of the two matters.
    3. Shift one reference log probability alone by one: the margin must move by beta, in a direction you can
       predict.
    """
    z = beta * (ref_logprob_preferred - ref_logprob_rejected)
    return float(np.mean(_losses(z)))


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
    return float(np.mean(_losses(z)))


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
    return float(np.mean(_losses(z)))


def preferred_only(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """The rejected answer plays no part.

    1. Train from an exact copy of the reference: what must the first loss be, and is it?
    2. Both completions have their own reference log probability, and each of the two matters.
    3. Shift one reference log probability alone by one: the margin must move by beta, in a direction you can
       predict.
    """
    z = beta * (policy_logprob_preferred - ref_logprob_preferred)
    return float(np.mean(_losses(z)))


def rejected_only(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The preferred answer plays no part.

    1. Train from an exact copy of the reference: what must the first loss be, and is it?
    2. Both completions have their own reference log probability, and each of the two matters.
    3. Shift one reference log probability alone by one: the margin must move by beta, in a direction you can
       predict.
    """
    z = -beta * (policy_logprob_rejected - ref_logprob_rejected)
    return float(np.mean(_losses(z)))


def reference_never_subtracted(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Adds all policy terms of a side to its reference.

    1. Train from an exact copy of the reference: what must the first loss be, and is it?
    2. Both completions have their own reference log probability, and each of the two matters.
    3. Shift one reference log probability alone by one: the margin must move by beta, in a direction you can
       predict.
    """
    z = beta * ((policy_logprob_preferred + ref_logprob_preferred) - (policy_logprob_rejected - ref_logprob_rejected))
    return float(np.mean(_losses(z)))


def absolute_margin(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Uses the size of the margin.

    1. Make the preferred answer more likely and nothing else: should your number fall or rise?
    2. Write down which implicit reward is taken from which, and check the sign on a pair the policy already
       gets right.
    3. Feed one pair with a large positive margin and one with a large negative margin; only one of them
       should cost much.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(_losses(np.abs(z))))


def naive_log_sigmoid(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """The logarithm of a sigmoid written out as a fraction.

    1. Which intermediate number leaves the range of float64 when the margin is -3000?
    2. The exponential overflows for one sign of its argument only. Which sign do you give it for a lost pair?
    3. Arrange the formula so that an exponential only ever sees numbers that are not positive, whatever the
       margin.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(-np.log(1.0 / (1.0 + np.exp(-z)))))


def softplus_overflow(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """The softplus written out: right until the exponential overflows.

    1. Which intermediate number leaves the range of float64 when the margin is -3000?
    2. The exponential overflows for one sign of its argument only. Which sign do you give it for a lost pair?
    3. Arrange the formula so that an exponential only ever sees numbers that are not positive, whatever the
       margin.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(np.log1p(np.exp(-z))))


def mirrored_softplus(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Right for lost pairs, overflows for won ones.

    1. Which intermediate number leaves the range of float64 when the margin is -3000?
    2. The exponential overflows for one sign of its argument only. Which sign do you give it for a lost pair?
    3. Arrange the formula so that an exponential only ever sees numbers that are not positive, whatever the
       margin.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(np.log1p(np.exp(z)) - z))


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
    return float(np.mean(np.nan_to_num(np.log1p(np.exp(-z)), posinf=0.0)))


def overflow_to_largest(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Replaces what overflowed by the largest float.

    1. Which intermediate number leaves the range of float64 when the margin is -3000?
    2. The exponential overflows for one sign of its argument only. Which sign do you give it for a lost pair?
    3. Arrange the formula so that an exponential only ever sees numbers that are not positive, whatever the
       margin.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(np.nan_to_num(np.log1p(np.exp(-z)))))


def shared_shift(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Takes one common maximum for the whole batch out of the exponentials.

    1. Does a pair's loss change when an extreme pair joins the batch?
    2. The largest exponent of the batch is not the largest exponent of each pair.
    3. Take out what is largest separately for each pair.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    top = max(0.0, float(np.max(-z)))
    return float(np.mean(np.log(np.exp(-top) + np.exp(-z - top)) + top))


def one_branch_for_all(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Chooses the branch by the sign of the mean margin.

    1. May one branch serve a batch with margins of both signs?
    2. The choice must be made pair by pair.
    3. Try a batch of one hopelessly lost and one safely won pair.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    if np.mean(z) >= 0:
        return float(np.mean(np.log1p(np.exp(-z))))
    return float(np.mean(np.log1p(np.exp(z)) - z))


def eps_1e_8(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """A constant of 1e-8 inside the logarithm.

    1. What does your safety constant do to a number that is much smaller than it?
    2. Compare the constant with the sigmoid at margins of 40 and of -40.
    3. No constant is needed if the logarithm never sees an underflowed number: rearrange rather than pad.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(-np.log(_sigmoid(z) + 1e-8)))


def eps_1e_12(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """A constant of 1e-12 inside the logarithm.

    1. What does your safety constant do to a number that is much smaller than it?
    2. Compare the constant with the sigmoid at margins of 40 and of -40.
    3. No constant is needed if the logarithm never sees an underflowed number: rearrange rather than pad.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(-np.log(_sigmoid(z) + 1e-12)))


def eps_1e_18(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """A constant of 1e-18 inside the logarithm.

    1. What does your safety constant do to a number that is much smaller than it?
    2. Compare the constant with the sigmoid at margins of 40 and of -40.
    3. No constant is needed if the logarithm never sees an underflowed number: rearrange rather than pad.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(-np.log(_sigmoid(z) + 1e-18)))


def eps_1e_300(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """A constant of 1e-300 inside the logarithm.

    1. What does your safety constant do to a number that is much smaller than it?
    2. Compare the constant with the sigmoid at margins of 40 and of -40.
    3. No constant is needed if the logarithm never sees an underflowed number: rearrange rather than pad.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(-np.log(_sigmoid(z) + 1e-300)))


def eps_in_softplus(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """A constant of 1e-300 inside a stable softplus.

    1. What does your safety constant do to a number that is much smaller than it?
    2. Compare the constant with the sigmoid at margins of 40 and of -40.
    3. No constant is needed if the logarithm never sees an underflowed number: rearrange rather than pad.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(np.log1p(np.exp(-np.abs(z)) + 1e-300) + np.maximum(-z, 0.0)))


def eps_1e_30_in_softplus(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """A constant of 1e-30 inside a stable softplus.

    1. What does your safety constant do to a number that is much smaller than it?
    2. Compare the constant with the sigmoid at margins of 40 and of -40.
    3. No constant is needed if the logarithm never sees an underflowed number: rearrange rather than pad.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(np.log1p(np.exp(-np.abs(z)) + 1e-30) + np.maximum(-z, 0.0)))


def loss_plus_constant(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Adds 1e-12 to the loss.

    1. What does your safety constant do to a number that is much smaller than it?
    2. Compare the constant with the sigmoid at margins of 40 and of -40.
    3. No constant is needed if the logarithm never sees an underflowed number: rearrange rather than pad.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(_losses(z) + 1e-12))


def log_floor(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The log-sigmoid has a floor of -100.

    1. How large can your loss become, and how large should it be for a margin of -3000?
    2. A safety net that limits a quantity also changes the answer for the pairs that need it most.
    3. Remove the limit and rearrange the formula instead: done well, nothing ever overflows.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(-np.maximum(-_losses(z), -100.0)))


def sigmoid_clipped(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """The sigmoid is kept within 1e-7 of 0 and 1.

    1. How large can your loss become, and how large should it be for a margin of -3000?
    2. A safety net that limits a quantity also changes the answer for the pairs that need it most.
    3. Remove the limit and rearrange the formula instead: done well, nothing ever overflows.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(-np.log(np.clip(_sigmoid(z), 1e-7, 1.0 - 1e-7))))


def clip_30(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The margin is limited to ±30.

    1. How large can your loss become, and how large should it be for a margin of -3000?
    2. A safety net that limits a quantity also changes the answer for the pairs that need it most.
    3. Remove the limit and rearrange the formula instead: done well, nothing ever overflows.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(_losses(np.clip(z, -30.0, 30.0))))


def clip_50(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The margin is limited to ±50.

    1. How large can your loss become, and how large should it be for a margin of -3000?
    2. A safety net that limits a quantity also changes the answer for the pairs that need it most.
    3. Remove the limit and rearrange the formula instead: done well, nothing ever overflows.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(_losses(np.clip(z, -50.0, 50.0))))


def clip_500(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The margin is limited to ±500.

    1. How large can your loss become, and how large should it be for a margin of -3000?
    2. A safety net that limits a quantity also changes the answer for the pairs that need it most.
    3. Remove the limit and rearrange the formula instead: done well, nothing ever overflows.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(_losses(np.clip(z, -500.0, 500.0))))


def clip_700(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The margin is limited to ±700.

    1. How large can your loss become, and how large should it be for a margin of -3000?
    2. A safety net that limits a quantity also changes the answer for the pairs that need it most.
    3. Remove the limit and rearrange the formula instead: done well, nothing ever overflows.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(_losses(np.clip(z, -700.0, 700.0))))


def clip_5000(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The margin is limited to ±5000.

    1. How large can your loss become, and how large should it be for a margin of -3000?
    2. A safety net that limits a quantity also changes the answer for the pairs that need it most.
    3. Remove the limit and rearrange the formula instead: done well, nothing ever overflows.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(_losses(np.clip(z, -5000.0, 5000.0))))


def exponent_clipped(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """The argument of the exponential is limited to 80.

    1. How large can your loss become, and how large should it be for a margin of -3000?
    2. A safety net that limits a quantity also changes the answer for the pairs that need it most.
    3. Remove the limit and rearrange the formula instead: done well, nothing ever overflows.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(np.log1p(np.exp(np.minimum(-z, 80.0)))))


def log_probs_floored(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Log probabilities below -1000 are raised to it.

    1. How large can your loss become, and how large should it be for a margin of -3000?
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
    return float(np.mean(_losses(z)))


def through_probabilities(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Goes through probabilities, which underflow for long completions.

    1. What is the exponential of -5000 in float64?
    2. A product of many token probabilities underflows; the sum of their logarithms does not.
    3. Stay with logarithms until the margin is formed.
    """
    ratio = (
        np.exp(policy_logprob_preferred)
        / np.exp(ref_logprob_preferred)
        / (np.exp(policy_logprob_rejected) / np.exp(ref_logprob_rejected))
    )
    return float(np.mean(np.log1p(ratio**-beta)))


def log_of_one_plus(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Adds the exponential to one before a plain logarithm: tiny losses vanish.

    1. How many digits are left when a number very close to one meets one?
    2. Look at a margin of 40: the wanted number is about 4e-18, far below the spacing of floats near one.
    3. Find the form in which the small quantity is computed directly, or the library function made for a sum
       with one.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(np.log(1.0 + np.exp(-np.abs(z))) + np.maximum(-z, 0.0)))


def log_of_stable_sigmoid(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """A logarithm of a stable sigmoid: tiny losses vanish and large ones are infinite.

    1. How many digits are left when a number very close to one meets one?
    2. Look at a margin of 40: the wanted number is about 4e-18, far below the spacing of floats near one.
    3. Find the form in which the small quantity is computed directly, or the library function made for a sum
       with one.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(-np.log(_sigmoid(z))))


def tanh_sigmoid(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The sigmoid through tanh.

    1. How many digits are left when a number very close to one meets one?
    2. Look at a margin of 40: the wanted number is about 4e-18, far below the spacing of floats near one.
    3. Find the form in which the small quantity is computed directly, or the library function made for a sum
       with one.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(-np.log(0.5 * (1.0 + np.tanh(z / 2.0)))))


def zero_when_won(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Returns zero for margins above 37.

    1. At which margin does your shortcut switch on, and how good is it exactly there?
    2. A relative error of one part in a billion is asked for, in the tail as well.
    3. The exact form is stable on both sides; the shortcut is not needed.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(np.where(z > 37.0, 0.0, _losses(z))))


def zero_when_far_won(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Returns zero for margins above 500.

    1. At which margin does your shortcut switch on, and how good is it exactly there?
    2. A relative error of one part in a billion is asked for, in the tail as well.
    3. The exact form is stable on both sides; the shortcut is not needed.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(np.where(z > 500.0, 0.0, _losses(z))))


def linear_below_20(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Takes the loss as linear below a margin of -20.

    1. At which margin does your shortcut switch on, and how good is it exactly there?
    2. A relative error of one part in a billion is asked for, in the tail as well.
    3. The exact form is stable on both sides; the shortcut is not needed.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(np.where(z < -20.0, -z, _losses(z))))


def exponential_above_15(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Takes the loss as exponential above a margin of 15.

    1. At which margin does your shortcut switch on, and how good is it exactly there?
    2. A relative error of one part in a billion is asked for, in the tail as well.
    3. The exact form is stable on both sides; the shortcut is not needed.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(np.where(z > 15.0, np.exp(-z), _losses(z))))


def sigmoid_returned(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """One minus the sigmoid, without a logarithm.

    1. What is the loss at margin zero, how does it grow for lost pairs and fade for won ones?
    2. Compare that shape with the negative logarithm of a probability that the preferred answer wins.
    3. At margin zero the two answers are equally likely to win: start from the negative logarithm of that
       probability.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(np.exp(-np.logaddexp(0.0, z))))


def hinge(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The hinge loss.

    1. What is the loss at margin zero, how does it grow for lost pairs and fade for won ones?
    2. Compare that shape with the negative logarithm of a probability that the preferred answer wins.
    3. At margin zero the two answers are equally likely to win: start from the negative logarithm of that
       probability.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(np.maximum(0.0, 1.0 - z)))


def exponential(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The exponential loss.

    1. What is the loss at margin zero, how does it grow for lost pairs and fade for won ones?
    2. Compare that shape with the negative logarithm of a probability that the preferred answer wins.
    3. At margin zero the two answers are equally likely to win: start from the negative logarithm of that
       probability.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(np.exp(-z)))


def relu(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Only the lost part: zero for won pairs.

    1. What is the loss at margin zero, how does it grow for lost pairs and fade for won ones?
    2. Compare that shape with the negative logarithm of a probability that the preferred answer wins.
    3. At margin zero the two answers are equally likely to win: start from the negative logarithm of that
       probability.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(np.maximum(-z, 0.0)))


def squared_ipo(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The squared loss of IPO.

    1. What is the loss at margin zero, how does it grow for lost pairs and fade for won ones?
    2. Compare that shape with the negative logarithm of a probability that the preferred answer wins.
    3. At margin zero the two answers are equally likely to win: start from the negative logarithm of that
       probability.
    """
    gap = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, 1.0)
    return float(np.mean((gap - 1.0 / (2.0 * beta)) ** 2))


def squared_log_sigmoid(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Squares the per-pair loss.

    1. What is the loss at margin zero, how does it grow for lost pairs and fade for won ones?
    2. Compare that shape with the negative logarithm of a probability that the preferred answer wins.
    3. At margin zero the two answers are equally likely to win: start from the negative logarithm of that
       probability.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(_losses(z) ** 2))


def label_smoothing(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Mixes in a tenth of the flipped loss.

    1. What is the loss at margin zero, how does it grow for lost pairs and fade for won ones?
    2. Compare that shape with the negative logarithm of a probability that the preferred answer wins.
    3. At margin zero the two answers are equally likely to win: start from the negative logarithm of that
       probability.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(0.9 * _losses(z) + 0.1 * _losses(-z)))


def slight_label_smoothing(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Mixes in a thousandth of the flipped loss.

    1. What is the loss at margin zero, how does it grow for lost pairs and fade for won ones?
    2. Compare that shape with the negative logarithm of a probability that the preferred answer wins.
    3. At margin zero the two answers are equally likely to win: start from the negative logarithm of that
       probability.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(0.999 * _losses(z) + 0.001 * _losses(-z)))


def minus_log_two(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Shifts the loss to zero where the models agree.

    1. What is the loss at margin zero, how does it grow for lost pairs and fade for won ones?
    2. Compare that shape with the negative logarithm of a probability that the preferred answer wins.
    3. At margin zero the two answers are equally likely to win: start from the negative logarithm of that
       probability.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(_losses(z) - np.log(2.0)))


def base_two(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Logarithm of base two.

    1. What is the loss at margin zero: one, or the natural logarithm of something?
    2. Which base does the likelihood use?
    3. Compare your value at margin zero with 0.693.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(_losses(z) / np.log(2.0)))


def base_two_throughout(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Powers and logarithm of base two instead of e.

    1. At margin zero your loss is one. What should it be for two answers that are equally likely?
    2. Log probabilities come as natural logarithms. Which base turns them back into probabilities?
    3. Look at the last character of the numpy function you call.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(np.logaddexp2(0.0, -z)))


def base_ten(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Logarithm of base ten.

    1. What is the loss at margin zero: 0.301, or the natural logarithm of something?
    2. Which base does the likelihood use?
    3. Compare your value at margin zero with 0.693.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(_losses(z) / np.log(10.0)))


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
    return float(np.mean(_losses(z)))


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
    return float(np.mean(_losses(z)))


def sorted_margins(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Sorts both sides before pairing them.

    1. Which rejected answer belongs to which preferred one?
    2. With N pairs there are N margins. Count how many numbers you average.
    3. Reorder the rejected answers only: the right loss changes, because each is compared with its own
       partner.
    """
    z = beta * (
        np.sort(policy_logprob_preferred - ref_logprob_preferred)
        - np.sort(policy_logprob_rejected - ref_logprob_rejected)
    )
    return float(np.mean(_losses(z)))


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
    return float(np.mean(np.logaddexp(np.float32(0.0), -z)))


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
    return float(np.mean(_losses(z)))


def float32_rejected(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Casts the rejected policy log probabilities to float32.

    1. How many digits of a log probability near -5000 survive in single or half precision?
    2. Log probabilities nearly cancel in the margin, so their last digits become its first ones.
    3. Look for every conversion in your code and ask which precision it keeps.
    """
    z = _margin(
        policy_logprob_preferred,
        policy_logprob_rejected.astype(np.float32).astype(float),
        ref_logprob_preferred,
        ref_logprob_rejected,
        beta,
    )
    return float(np.mean(_losses(z)))


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
    return float(np.mean(_losses(z)))


def float16_preferred(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Casts the preferred policy log probabilities to float16.

    1. How many digits of a log probability near -5000 survive in single or half precision?
    2. Log probabilities nearly cancel in the margin, so their last digits become its first ones.
    3. Look for every conversion in your code and ask which precision it keeps.
    """
    z = _margin(
        policy_logprob_preferred.astype(np.float16).astype(float),
        policy_logprob_rejected,
        ref_logprob_preferred,
        ref_logprob_rejected,
        beta,
    )
    return float(np.mean(_losses(z)))


def float32_beta(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Casts beta to float32.

    1. How many digits of a log probability near -5000 survive in single or half precision?
    2. Log probabilities nearly cancel in the margin, so their last digits become its first ones.
    3. Look for every conversion in your code and ask which precision it keeps.
    """
    z = _margin(
        policy_logprob_preferred,
        policy_logprob_rejected,
        ref_logprob_preferred,
        ref_logprob_rejected,
        float(np.float32(beta)),
    )
    return float(np.mean(_losses(z)))


def float32_margin(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Casts the margin to float32.

    1. How many digits of a log probability near -5000 survive in single or half precision?
    2. Log probabilities nearly cancel in the margin, so their last digits become its first ones.
    3. Look for every conversion in your code and ask which precision it keeps.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(np.mean(_losses(z.astype(np.float32).astype(float))))


def rounded_6(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Rounds the loss to six decimals.

    1. How small can the right answer be, and how many decimals do you keep?
    2. A number can be tiny and still be asked for to nine significant digits.
    3. Return the number as computed; formatting is for printing.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return round(float(np.mean(_losses(z))), 6)


def rounded_12(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Rounds the loss to twelve decimals.

    1. How small can the right answer be, and how many decimals do you keep?
    2. A number can be tiny and still be asked for to nine significant digits.
    3. Return the number as computed; formatting is for printing.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return round(float(np.mean(_losses(z))), 12)


def array_returned(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Returns the loss of every pair.

    1. What type does the task ask for, and what is the type of what you return?
    2. Print the type and the shape of your result for one pair and for three.
    3. The numbers are right; only the box they come in differs from the one that is asked for.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return _losses(z)


def zero_dim_array(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Returns a 0-d array.

    1. What type does the task ask for, and what is the type of what you return?
    2. Print the type and the shape of your result for one pair and for three.
    3. The numbers are right; only the box they come in differs from the one that is asked for.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return np.array(np.mean(_losses(z)))


def one_element_array(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Returns an array of one number.

    1. What type does the task ask for, and what is the type of what you return?
    2. Print the type and the shape of your result for one pair and for three.
    3. The numbers are right; only the box they come in differs from the one that is asked for.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return np.mean(_losses(z), keepdims=True)


def float32_scalar(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Returns a float32 scalar.

    1. How many digits of a log probability near -5000 survive in single or half precision?
    2. Log probabilities nearly cancel in the margin, so their last digits become its first ones.
    3. Look for every conversion in your code and ask which precision it keeps.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return np.float32(np.mean(_losses(z)))


def text_returned(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Returns text.

    1. What type does the task ask for, and what is the type of what you return?
    2. Print the type and the shape of your result for one pair and for three.
    3. The numbers are right; only the box they come in differs from the one that is asked for.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return str(np.mean(_losses(z)))


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
    return float(np.mean(_losses(z)))


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
    return float(np.mean(_losses(z)))


def both_overwritten(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Subtracts the references in place.

    1. Call your function twice with the same arrays: same answer?
    2. Some operators write into the array on their left instead of making a new one.
    3. Print every argument before and after the call, and find the line that changed one.
    """
    policy_logprob_preferred -= ref_logprob_preferred
    policy_logprob_rejected -= ref_logprob_rejected
    z = beta * (policy_logprob_preferred - policy_logprob_rejected)
    return float(np.mean(_losses(z)))


def reference_overwritten(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Subtracts in place, in the reference.

    1. Call your function twice with the same arrays: same answer?
    2. Some operators write into the array on their left instead of making a new one.
    3. Print every argument before and after the call, and find the line that changed one.
    """
    ref_logprob_preferred -= ref_logprob_rejected
    z = beta * (policy_logprob_preferred - policy_logprob_rejected - ref_logprob_preferred)
    return float(np.mean(_losses(z)))


def uses_torch(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Takes the log-sigmoid from torch.

    1. Which libraries may this exercise use?
    2. Everything needed exists in numpy, if the formula is arranged well.
    3. Replace the call into the other library by an expression of your own that is stable for both signs.
    """
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta)
    return float(-torch.nn.functional.logsigmoid(torch.tensor(z)).mean())


def swapped_no_beta(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Both: pair_swapped + beta_missing."""
    z = _margin(policy_logprob_rejected, policy_logprob_preferred, ref_logprob_rejected, ref_logprob_preferred, 1.0)
    return float(np.mean(_losses(z)))


def swapped_no_reference(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Both: pair_swapped + reference_ignored."""
    z = beta * (policy_logprob_rejected - policy_logprob_preferred)
    return float(np.mean(_losses(z)))


def sum_no_beta(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Both: sum_not_mean + beta_missing."""
    z = _margin(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, 1.0)
    return float(np.sum(_losses(z)))


def swapped_sum(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Both: pair_swapped + sum_not_mean."""
    z = _margin(policy_logprob_rejected, policy_logprob_preferred, ref_logprob_rejected, ref_logprob_preferred, beta)
    return float(np.sum(_losses(z)))


def no_reference_no_beta(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Both: reference_ignored + beta_missing."""
    z = policy_logprob_preferred - policy_logprob_rejected
    return float(np.mean(_losses(z)))


def swapped_naive(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Both: pair_swapped + naive_log_sigmoid."""
    z = _margin(policy_logprob_rejected, policy_logprob_preferred, ref_logprob_rejected, ref_logprob_preferred, beta)
    return float(np.mean(-np.log(1.0 / (1.0 + np.exp(-z)))))
