"""Wrong implementations of `spo_loss` that people write, each named by its id.

Run as a submission, never imported by the grader. First docstring line: what is wrong. Numbered lines: the hint, in
three steps that leave the answer to the learner. `Both: a + b.` marks a double mistake, hinted by its parts.
"""

import torch
import torch.nn.functional as F


def beta_over_two(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Has twice the factor in front of the square.

    1. Your losses are off by one and the same factor. Which?
    2. Check one pair by hand, with rewards that are equal.
    3. Read once more what stands in front of the square.
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return beta / 2 * (ratios - gap) ** 2


def factor_dropped(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Returns the bare squared residual.

    1. Divide your losses by the expected ones: does the quotient depend on beta?
    2. Check one pair by hand, with rewards that are equal.
    3. Read once more what stands in front of the square.
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return (ratios - gap) ** 2


def beta_missing_in_factor(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Divides by four, without beta.

    1. Divide your losses by the expected ones: does the quotient depend on beta?
    2. Check one pair by hand, with rewards that are equal.
    3. How often does beta appear in the formula?
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return (ratios - gap) ** 2 / 4


def beta_squared(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Squares beta together with the residual.

    1. Divide your losses by the expected ones: does the quotient depend on beta?
    2. Written in units of reward, the residual has a beta inside the square. What does that do to the factor in front?
    3. Try beta = 2 on one pair by hand.
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    return (beta * ratios - (reward_1 - reward_2)) ** 2 / 4


def rewards_not_divided(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Compares log ratios with the bare reward gap.

    1. With equal rewards all is well. Otherwise not.
    2. For which difference of log ratios is your loss zero? And for which should it be?
    3. A reward and a log ratio are measured in different units. What turns one into the other?
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    return beta / 4 * (ratios - (reward_1 - reward_2)) ** 2


def rewards_times_beta(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Multiplies the reward gap by beta.

    1. With equal rewards all is well. Otherwise not.
    2. For which difference of log ratios is your loss zero? And for which should it be?
    3. Does a larger beta ask the policy to move further from the reference, or less far?
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    return beta / 4 * (ratios - beta * (reward_1 - reward_2)) ** 2


def reward_sign(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Adds the reward gap.

    1. With equal rewards all is well. Otherwise not.
    2. The first completion earns more. Should the loss fall or rise when its log ratio grows?
    3. For which difference of log ratios is your loss zero?
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return beta / 4 * (ratios + gap) ** 2


def reward_2_ignored(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Leaves out the second reward.

    1. One of the seven arguments does not influence your result. Which?
    2. Add one number to both rewards: should the loss move?
    3. The regression compares differences, on both of its sides.
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    return beta / 4 * (ratios - reward_1 / beta) ** 2


def rewards_added(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Adds up the two rewards.

    1. Add one number to both rewards: should the loss move?
    2. Swap the two completions together with their rewards: should the loss move?
    3. The regression compares differences, on both of its sides.
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    return beta / 4 * (ratios - (reward_1 + reward_2) / beta) ** 2


def reward_order_only(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Uses only which reward is larger, and not by how much.

    1. Double the reward gap: should the loss move?
    2. What does a regression on rewards know that a comparison does not?
    3. Which numbers does your residual see of the two rewards?
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    return beta / 4 * (ratios - torch.sign(reward_1 - reward_2) / beta) ** 2


def constant_target(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Uses a reward gap of one half for every pair, as IPO does.

    1. Two of the seven arguments do not influence your result. Which?
    2. There is a related loss that knows only which completion is preferred. Is it the one asked for?
    3. What should a larger reward gap do to the target of a pair?
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    return beta / 4 * (ratios - 1 / (2 * beta)) ** 2


def reference_added(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Adds the reference's log probabilities instead of subtracting them.

    1. Let policy and reference be the same model: what is your log ratio?
    2. The logarithm of a quotient is which combination of two logarithms?
    3. Check the sign of each of the four log probabilities, one at a time.
    """
    ratios = (logp_1 + logp_ref_1) - (logp_2 + logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return beta / 4 * (ratios - gap) ** 2


def reference_forgotten(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Leaves the reference out.

    1. Two of the seven arguments do not influence your result. Which?
    2. Move only the reference: should the loss move?
    3. An implicit reward measures how far the policy has moved. From where?
    """
    ratios = logp_1 - logp_2
    gap = (reward_1 - reward_2) / beta
    return beta / 4 * (ratios - gap) ** 2


def second_reference_forgotten(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Leaves out the reference of the second completion.

    1. One of the seven arguments does not influence your result. Which?
    2. Both completions are compared with the same reference model.
    3. Swap the two completions together with their rewards: should the loss move?
    """
    ratios = (logp_1 - logp_ref_1) - logp_2
    gap = (reward_1 - reward_2) / beta
    return beta / 4 * (ratios - gap) ** 2


def second_ratio_added(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Adds the two log ratios.

    1. Swap the two completions together with their rewards: should the loss move?
    2. Raise both log ratios by one: should the loss move?
    3. Check the sign of each of the four log probabilities, one at a time.
    """
    ratios = (logp_1 - logp_ref_1) + (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return beta / 4 * (ratios - gap) ** 2


def brackets_lost(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Drops the brackets around the second log ratio.

    1. Let policy and reference be the same model: what is the difference of your log ratios?
    2. What does a minus in front of a bracket do to what stands inside?
    3. Check the sign of each of the four log probabilities, one at a time.
    """
    ratios = logp_1 - logp_ref_1 - logp_2 - logp_ref_2
    gap = (reward_1 - reward_2) / beta
    return beta / 4 * (ratios - gap) ** 2


def absolute_residual(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Takes the size of the residual instead of its square.

    1. Double the residual of one pair: how does your loss grow, and how should it?
    2. Where is your loss flat?
    3. A squared error and an absolute error agree at two sizes of the residual only.
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return beta / 4 * (ratios - gap).abs()


def huber_loss(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Squares small residuals only and grows linearly beyond.

    1. Small residuals come out right. Which do not?
    2. Double a large residual: how does your loss grow, and how should it?
    3. Robust losses have their uses. Does the contract ask for one?
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return beta / 2 * F.huber_loss(ratios, gap, reduction="none")


def residual_clipped(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Clips the residual to at most 20 either way.

    1. Most pairs come out right. Which do not?
    2. Does the contract set a largest residual?
    3. What would a policy learn from a pair if its loss had become constant?
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return beta / 4 * (ratios - gap).clamp(-20, 20) ** 2


def ratio_clipped(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Clips each log ratio to at most 10 either way.

    1. Most pairs come out right. Which do not?
    2. Does the contract set a largest log ratio?
    3. Compare a pair in which the policy moved far from the reference with one in which it moved a little.
    """
    first, second = (logp_1 - logp_ref_1).clamp(-10, 10), (logp_2 - logp_ref_2).clamp(-10, 10)
    ratios = first - second
    gap = (reward_1 - reward_2) / beta
    return beta / 4 * (ratios - gap) ** 2


def beta_floor(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Does not let beta fall below 0.05.

    1. Most values of beta come out right. Which do not?
    2. Which values of beta does the contract allow?
    3. Look for a fixed number in your code that the formula does not have.
    """
    beta = max(beta, 0.05)
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return beta / 4 * (ratios - gap) ** 2


def epsilon_in_division(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Adds a small number to beta before dividing by it.

    1. Your values agree to seven digits. Compare more of them, with float64 arguments.
    2. How many digits does the contract ask for in float64?
    3. Can beta be zero? If not, what does a safeguard against that cost?
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    return beta / 4 * (ratios - (reward_1 - reward_2) / (beta + 1e-8)) ** 2


def float32_inside(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Converts to float32, whatever comes in.

    1. Your values agree to seven digits. Compare more of them, with float64 arguments.
    2. How many digits does a float32 hold?
    3. Look for a conversion that you do not need.
    """
    values = (logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2)
    logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2 = (x.float() for x in values)
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return beta / 4 * (ratios - gap) ** 2


def half_precision(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Computes in half precision.

    1. Your numbers are nearly right: compare the digits.
    2. How many digits does a 16-bit float hold? And how many does the contract ask for?
    3. Look for a conversion that you do not need.
    """
    ratios = (logp_1.half() - logp_ref_1.half()) - (logp_2.half() - logp_ref_2.half())
    gap = (reward_1 - reward_2) / beta
    return beta / 4 * (ratios - gap) ** 2


def mean_over_pairs(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Averages over the pairs.

    1. One pair comes out right, several do not.
    2. How many numbers should come back for three pairs?
    3. Which of your operations removes an axis?
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return (beta / 4 * (ratios - gap) ** 2).mean()


def sum_over_pairs(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Adds up the pairs.

    1. One pair comes out right, several do not.
    2. How many numbers should come back for three pairs?
    3. Which of your operations removes an axis?
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return (beta / 4 * (ratios - gap) ** 2).sum()


def mean_over_last_axis(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Averages over the last axis.

    1. One pair comes out right, several do not.
    2. What shape should come back for a table of pairs?
    3. Which of your operations removes an axis?
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return (beta / 4 * (ratios - gap) ** 2).mean(-1)


def crossed_pairs(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Compares every first completion with every second one.

    1. How many numbers should come back for three pairs?
    2. What does torch do when it subtracts a row from a column?
    3. Which completion is to be compared with which?
    """
    ratios = (logp_1 - logp_ref_1).unsqueeze(-1) - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return beta / 4 * (ratios - gap) ** 2


def flattened(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Returns a row, whatever the shape of the arguments.

    1. Your numbers are right. Look at their shape for one pair without axes, and for a table of pairs.
    2. Which of your operations changes a shape, and does anything undo it?
    3. The result should have the shape of the arguments.
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return (beta / 4 * (ratios - gap) ** 2).reshape(-1)


def squeezed(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Squeezes the result, so that axes of length one vanish.

    1. Your values are right. Look at the shape of the result for a single pair in a row.
    2. Some operations remove every axis of length one. Which did you mean?
    3. The result should have the shape of the arguments.
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return (beta / 4 * (ratios - gap) ** 2).squeeze()


def columns(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Gives the result an extra axis of length one.

    1. Your values are right. Look at the shape of the result.
    2. Which of your operations adds an axis?
    3. The result should have the shape of the arguments.
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return (beta / 4 * (ratios - gap) ** 2).unsqueeze(-1)


def array_returned(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Returns a numpy array instead of a tensor.

    1. Your values are right. Look at the type of the result.
    2. Can autograd follow a numpy array back to where it came from?
    3. What does an optimizer need in order to lower this loss?
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return (beta / 4 * (ratios - gap) ** 2).detach().numpy()


def negative_loss(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Returns the negative of the loss.

    1. Can a squared error be negative?
    2. An optimizer makes your result smaller. Is that what you want?
    3. Is this function a score to be raised or a loss to be lowered?
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return -beta / 4 * (ratios - gap) ** 2


def logistic_loss(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Uses DPO's logistic loss on the pair, ordered by reward.

    1. Double the reward gap: should the loss move?
    2. There is a related loss for comparisons. Does the formula asked for have a logarithm in it?
    3. Which numbers does your loss see of the two rewards?
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    return -F.logsigmoid(beta * ratios * torch.sign(reward_1 - reward_2))


def graph_cut(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Cuts the graph: right values, no gradient.

    1. Your values are right. Ask autograd for the derivative in each of the two log probabilities.
    2. Which operations end the chain from a result back to its inputs?
    3. Can an optimizer follow your loss back to the policy?
    """
    ratios = ((logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)).detach()
    gap = (reward_1 - reward_2) / beta
    return beta / 4 * (ratios - gap) ** 2


def second_detached(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Lets no gradient through the second completion.

    1. Your values are right. Ask autograd for the derivative in each of the two log probabilities.
    2. Which of the two completions may the policy learn from?
    3. The residual holds both log probabilities. How should it move with each?
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2).detach()
    gap = (reward_1 - reward_2) / beta
    return beta / 4 * (ratios - gap) ** 2


def first_detached(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Lets no gradient through the first completion.

    1. Your values are right. Ask autograd for the derivative in each of the two log probabilities.
    2. Which of the two completions may the policy learn from?
    3. The residual holds both log probabilities. How should it move with each?
    """
    ratios = (logp_1 - logp_ref_1).detach() - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return beta / 4 * (ratios - gap) ** 2


def half_gradient(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Treats one of the two factors of the square as a constant.

    1. Your values are right. Ask autograd for the derivative in each of the two log probabilities.
    2. Compare with a finite difference of your own loss: by what factor are you off?
    3. What is the slope of a square?
    """
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    residual = ratios - gap
    return beta / 4 * residual * residual.detach()


def logps_overwritten(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Subtracts in place, in the caller's log probabilities.

    1. Your values are right. Print your arguments before and after the call.
    2. A short way of writing a subtraction may also write into its left side.
    3. What would a second call with the same arguments return?
    """
    with torch.no_grad():
        logp_1 -= logp_ref_1
        logp_2 -= logp_ref_2
    gap = (reward_1 - reward_2) / beta
    return beta / 4 * ((logp_1 - logp_2) - gap) ** 2


def references_overwritten(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Writes into the reference model's log probabilities.

    1. Your values are right. Print your arguments before and after the call.
    2. Operations whose name ends with an underscore do something that their twins do not.
    3. Who else may still need the reference model's numbers?
    """
    ratios = logp_ref_1.neg_() + logp_1 - (logp_ref_2.neg_() + logp_2)
    gap = (reward_1 - reward_2) / beta
    return beta / 4 * (ratios - gap) ** 2


def rewards_overwritten(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Divides the caller's rewards in place.

    1. Your values are right. Print your arguments before and after the call.
    2. A short way of writing a division may also write into its left side.
    3. What would a second call with the same arguments return?
    """
    reward_1 /= beta
    reward_2 /= beta
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    return beta / 4 * (ratios - (reward_1 - reward_2)) ** 2


def reward_1_overwritten(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Subtracts in place, in the caller's first reward.

    1. Your values are right. Print your arguments before and after the call.
    2. A short way of writing a subtraction may also write into its left side.
    3. What would a second call with the same arguments return?
    """
    reward_1 -= reward_2
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    return beta / 4 * (ratios - reward_1 / beta) ** 2


def doubled_and_added(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Both: beta_over_two + reward_sign."""
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return beta / 2 * (ratios + gap) ** 2


def bare_difference(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Both: factor_dropped + rewards_not_divided."""
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    return (ratios - (reward_1 - reward_2)) ** 2


def bare_mean(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Both: factor_dropped + mean_over_pairs."""
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    gap = (reward_1 - reward_2) / beta
    return ((ratios - gap) ** 2).mean()


def no_reference_mean(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Both: reference_forgotten + mean_over_pairs."""
    gap = (reward_1 - reward_2) / beta
    return (beta / 4 * (logp_1 - logp_2 - gap) ** 2).mean()


def undivided_and_added(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Both: rewards_not_divided + reward_sign."""
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    return beta / 4 * (ratios + (reward_1 - reward_2)) ** 2


def no_reference_undivided(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Both: reference_forgotten + rewards_not_divided."""
    return beta / 4 * (logp_1 - logp_2 - (reward_1 - reward_2)) ** 2
