"""Wrong versions of `implicit_reward`: run as submissions, one function per misconception."""

import numpy as np
import torch


def reference_minus_policy(policy_logprob, ref_logprob, beta):
    """The difference is taken the other way round.

    1. If training made a completion more likely than before, should its implicit reward be positive?
    2. Name which model is being trained and which stays fixed.
    3. Take a completion the policy likes more than the reference, and follow the sign through your
       expression.
    """
    return beta * (ref_logprob - policy_logprob)


def beta_forgotten(policy_logprob, ref_logprob, beta):
    """Beta does not appear.

    1. Double beta: what should the rewards do?
    2. As beta shrinks, the leash to the reference vanishes. Does the implied reward then grow or shrink?
    3. Compare your result for beta = 1 and for beta = 2 on the same two numbers; their ratio tells what beta
       does.
    """
    return policy_logprob - ref_logprob


def divided_by_beta(policy_logprob, ref_logprob, beta):
    """Divides by beta.

    1. Double beta: what should the rewards do?
    2. As beta shrinks, the leash to the reference vanishes. Does the implied reward then grow or shrink?
    3. Compare your result for beta = 1 and for beta = 2 on the same two numbers; their ratio tells what beta
       does.
    """
    return (policy_logprob - ref_logprob) / beta


def beta_squared(policy_logprob, ref_logprob, beta):
    """Multiplies by beta twice.

    1. Double beta: what should the rewards do?
    2. As beta shrinks, the leash to the reference vanishes. Does the implied reward then grow or shrink?
    3. Compare your result for beta = 1 and for beta = 2 on the same two numbers; their ratio tells what beta
       does.
    """
    return beta * beta * (policy_logprob - ref_logprob)


def beta_as_integer(policy_logprob, ref_logprob, beta):
    """Rounds beta down to a whole number.

    1. Double beta: what should the rewards do?
    2. As beta shrinks, the leash to the reference vanishes. Does the implied reward then grow or shrink?
    3. Compare your result for beta = 1 and for beta = 2 on the same two numbers; their ratio tells what beta
       does.
    """
    return int(beta) * (policy_logprob - ref_logprob)


def beta_added(policy_logprob, ref_logprob, beta):
    """Adds beta.

    1. Double beta: what should the rewards do?
    2. As beta shrinks, the leash to the reference vanishes. Does the implied reward then grow or shrink?
    3. Compare your result for beta = 1 and for beta = 2 on the same two numbers; their ratio tells what beta
       does.
    """
    return beta + (policy_logprob - ref_logprob)


def beta_on_policy_only(policy_logprob, ref_logprob, beta):
    """Scales the policy only.

    1. What is the reward of a completion on which both models agree?
    2. The reward is a comparison of two models, so both log probabilities must matter, and in opposite ways.
    3. Set both log probabilities equal, at -3 and then at -30: the reward should be the same both times.
    """
    return beta * policy_logprob - ref_logprob


def beta_on_reference_only(policy_logprob, ref_logprob, beta):
    """Scales the reference only.

    1. What is the reward of a completion on which both models agree?
    2. The reward is a comparison of two models, so both log probabilities must matter, and in opposite ways.
    3. Set both log probabilities equal, at -3 and then at -30: the reward should be the same both times.
    """
    return policy_logprob - beta * ref_logprob


def probability_ratio(policy_logprob, ref_logprob, beta):
    """Returns beta times the ratio of probabilities.

    1. What is the reward of a completion on which both models agree?
    2. The reward is a comparison of two models, so both log probabilities must matter, and in opposite ways.
    3. Set both log probabilities equal, at -3 and then at -30: the reward should be the same both times.
    """
    return beta * np.exp(policy_logprob - ref_logprob)


def reference_ignored(policy_logprob, ref_logprob, beta):
    """Uses the policy only.

    1. What is the reward of a completion on which both models agree?
    2. The reward is a comparison of two models, so both log probabilities must matter, and in opposite ways.
    3. Set both log probabilities equal, at -3 and then at -30: the reward should be the same both times.
    """
    return beta * policy_logprob


def policy_ignored(policy_logprob, ref_logprob, beta):
    """Uses the reference only.

    1. What is the reward of a completion on which both models agree?
    2. The reward is a comparison of two models, so both log probabilities must matter, and in opposite ways.
    3. Set both log probabilities equal, at -3 and then at -30: the reward should be the same both times.
    """
    return -beta * ref_logprob


def sum_of_logs(policy_logprob, ref_logprob, beta):
    """Adds the two log probabilities.

    1. What is the reward of a completion on which both models agree?
    2. The reward is a comparison of two models, so both log probabilities must matter, and in opposite ways.
    3. Set both log probabilities equal, at -3 and then at -30: the reward should be the same both times.
    """
    return beta * (policy_logprob + ref_logprob)


def log_of_log_prob(policy_logprob, ref_logprob, beta):
    """Takes logarithms of log probabilities.

    1. Are the numbers you are given probabilities or logarithms already?
    2. A ratio of probabilities becomes something simpler once logarithms are taken.
    3. Try a completion of log probability -2000: which of your steps still makes sense?
    """
    return beta * (np.log(policy_logprob) - np.log(ref_logprob))


def log_of_negated(policy_logprob, ref_logprob, beta):
    """Takes logarithms of the negated log probabilities.

    1. Are the numbers you are given probabilities or logarithms already?
    2. A ratio of probabilities becomes something simpler once logarithms are taken.
    3. Try a completion of log probability -2000: which of your steps still makes sense?
    """
    return beta * (np.log(-policy_logprob) - np.log(-ref_logprob))


def ratio_of_logs(policy_logprob, ref_logprob, beta):
    """Divides one log probability by the other.

    1. Are the numbers you are given probabilities or logarithms already?
    2. A ratio of probabilities becomes something simpler once logarithms are taken.
    3. Try a completion of log probability -2000: which of your steps still makes sense?
    """
    return beta * (policy_logprob / ref_logprob)


def probability_difference(policy_logprob, ref_logprob, beta):
    """Subtracts probabilities.

    1. Are the numbers you are given probabilities or logarithms already?
    2. A ratio of probabilities becomes something simpler once logarithms are taken.
    3. Try a completion of log probability -2000: which of your steps still makes sense?
    """
    return beta * (np.exp(policy_logprob) - np.exp(ref_logprob))


def through_probabilities(policy_logprob, ref_logprob, beta):
    """Goes through probabilities, which underflow for long completions.

    1. Are the numbers you are given probabilities or logarithms already?
    2. A ratio of probabilities becomes something simpler once logarithms are taken.
    3. Try a completion of log probability -2000: which of your steps still makes sense?
    """
    return beta * np.log(np.exp(policy_logprob) / np.exp(ref_logprob))


def base_ten(policy_logprob, ref_logprob, beta):
    """Uses a logarithm of base ten.

    1. Are the numbers you are given probabilities or logarithms already?
    2. A ratio of probabilities becomes something simpler once logarithms are taken.
    3. Try a completion of log probability -2000: which of your steps still makes sense?
    """
    return beta * (policy_logprob - ref_logprob) / np.log(10.0)


def base_two(policy_logprob, ref_logprob, beta):
    """Uses a logarithm of base two.

    1. Are the numbers you are given probabilities or logarithms already?
    2. A ratio of probabilities becomes something simpler once logarithms are taken.
    3. Try a completion of log probability -2000: which of your steps still makes sense?
    """
    return beta * (policy_logprob - ref_logprob) / np.log(2.0)


def mean_returned(policy_logprob, ref_logprob, beta):
    """Averages over the batch.

    1. One reward per completion, or one per batch?
    2. A completion's reward must not change when other completions join the batch.
    3. Call your function for each completion alone and for all together, and compare entry by entry.
    """
    return float(np.mean(beta * (policy_logprob - ref_logprob)))


def sum_returned(policy_logprob, ref_logprob, beta):
    """Sums over the batch.

    1. One reward per completion, or one per batch?
    2. A completion's reward must not change when other completions join the batch.
    3. Call your function for each completion alone and for all together, and compare entry by entry.
    """
    return float(np.sum(beta * (policy_logprob - ref_logprob)))


def divided_by_n(policy_logprob, ref_logprob, beta):
    """Divides every reward by the number of completions.

    1. One reward per completion, or one per batch?
    2. A completion's reward must not change when other completions join the batch.
    3. Call your function for each completion alone and for all together, and compare entry by entry.
    """
    return beta * (policy_logprob - ref_logprob) / len(policy_logprob)


def centred(policy_logprob, ref_logprob, beta):
    """Subtracts the batch mean from every reward.

    1. One reward per completion, or one per batch?
    2. A completion's reward must not change when other completions join the batch.
    3. Call your function for each completion alone and for all together, and compare entry by entry.
    """
    reward = beta * (policy_logprob - ref_logprob)
    return reward - reward.mean()


def whitened(policy_logprob, ref_logprob, beta):
    """Subtracts the mean and divides by the spread.

    1. One reward per completion, or one per batch?
    2. A completion's reward must not change when other completions join the batch.
    3. Call your function for each completion alone and for all together, and compare entry by entry.
    """
    reward = beta * (policy_logprob - ref_logprob)
    return (reward - reward.mean()) / (reward.std() + 1e-8)


def all_pairs(policy_logprob, ref_logprob, beta):
    """Compares every policy entry with every reference entry.

    1. One reward per completion, or one per batch?
    2. A completion's reward must not change when other completions join the batch.
    3. Call your function for each completion alone and for all together, and compare entry by entry.
    """
    return (beta * (policy_logprob[:, None] - ref_logprob[None, :])).mean(axis=1)


def absolute_value(policy_logprob, ref_logprob, beta):
    """Returns the size of the reward.

    1. Can a reward be negative?
    2. Look at a completion the policy likes less than the reference does.
    3. Both signs carry information: keep the one that comes out.
    """
    return np.abs(beta * (policy_logprob - ref_logprob))


def negative_dropped(policy_logprob, ref_logprob, beta):
    """Replaces negative rewards by zero.

    1. Can a reward be negative?
    2. Look at a completion the policy likes less than the reference does.
    3. Both signs carry information: keep the one that comes out.
    """
    return np.maximum(beta * (policy_logprob - ref_logprob), 0.0)


def ratio_clipped_at_20(policy_logprob, ref_logprob, beta):
    """Limits the log-ratio to ±20.

    1. How large may a log-ratio be here, and what happens to yours?
    2. The implicit reward is linear in the log-ratio, without a ceiling and without a bend.
    3. Compare the reward of a log-ratio of 3 with that of 3000: by which factor should they differ?
    """
    return beta * np.clip(policy_logprob - ref_logprob, -20.0, 20.0)


def ratio_clipped_at_1000(policy_logprob, ref_logprob, beta):
    """Limits the log-ratio to ±1000.

    1. How large may a log-ratio be here, and what happens to yours?
    2. The implicit reward is linear in the log-ratio, without a ceiling and without a bend.
    3. Compare the reward of a log-ratio of 3 with that of 3000: by which factor should they differ?
    """
    return beta * np.clip(policy_logprob - ref_logprob, -1000.0, 1000.0)


def log_probs_floored(policy_logprob, ref_logprob, beta):
    """Limits log probabilities to -100.

    1. How large may a log-ratio be here, and what happens to yours?
    2. The implicit reward is linear in the log-ratio, without a ceiling and without a bend.
    3. Compare the reward of a log-ratio of 3 with that of 3000: by which factor should they differ?
    """
    return beta * (np.maximum(policy_logprob, -100.0) - np.maximum(ref_logprob, -100.0))


def squashed(policy_logprob, ref_logprob, beta):
    """Puts the reward through tanh.

    1. How large may a log-ratio be here, and what happens to yours?
    2. The implicit reward is linear in the log-ratio, without a ceiling and without a bend.
    3. Compare the reward of a log-ratio of 3 with that of 3000: by which factor should they differ?
    """
    return np.tanh(beta * (policy_logprob - ref_logprob))


def sigmoid_returned(policy_logprob, ref_logprob, beta):
    """Puts the reward through a sigmoid.

    1. How large may a log-ratio be here, and what happens to yours?
    2. The implicit reward is linear in the log-ratio, without a ceiling and without a bend.
    3. Compare the reward of a log-ratio of 3 with that of 3000: by which factor should they differ?
    """
    return 1.0 / (1.0 + np.exp(-beta * (policy_logprob - ref_logprob)))


def k3_estimator(policy_logprob, ref_logprob, beta):
    """Returns the always-positive KL estimator.

    1. Can a reward be negative?
    2. Look at a completion the policy likes less than the reference does.
    3. Both signs carry information: keep the one that comes out.
    """
    log_ratio = policy_logprob - ref_logprob
    return beta * (np.exp(-log_ratio) - 1.0 + log_ratio)


def constant_added(policy_logprob, ref_logprob, beta):
    """Adds a small constant to the log-ratio.

    1. What is the reward of a completion on which both models agree?
    2. The reward is a comparison of two models, so both log probabilities must matter, and in opposite ways.
    3. Set both log probabilities equal, at -3 and then at -30: the reward should be the same both times.
    """
    return beta * (policy_logprob - ref_logprob + 1e-8)


def float32_inputs(policy_logprob, ref_logprob, beta):
    """Casts both inputs to float32.

    1. How many digits of a log probability near -5000 survive in single or half precision?
    2. Log probabilities nearly cancel in the margin, so their last digits become its first ones.
    3. Look for every conversion in your code and ask which precision it keeps.
    """
    return beta * (policy_logprob.astype(np.float32) - ref_logprob.astype(np.float32)).astype(float)


def float32_policy(policy_logprob, ref_logprob, beta):
    """Casts the policy to float32.

    1. How many digits of a log probability near -5000 survive in single or half precision?
    2. Log probabilities nearly cancel in the margin, so their last digits become its first ones.
    3. Look for every conversion in your code and ask which precision it keeps.
    """
    return beta * (policy_logprob.astype(np.float32).astype(float) - ref_logprob)


def float32_reference(policy_logprob, ref_logprob, beta):
    """Casts the reference to float32.

    1. How many digits of a log probability near -5000 survive in single or half precision?
    2. Log probabilities nearly cancel in the margin, so their last digits become its first ones.
    3. Look for every conversion in your code and ask which precision it keeps.
    """
    return beta * (policy_logprob - ref_logprob.astype(np.float32).astype(float))


def float16_policy(policy_logprob, ref_logprob, beta):
    """Casts the policy to float16.

    1. How many digits of a log probability near -5000 survive in single or half precision?
    2. Log probabilities nearly cancel in the margin, so their last digits become its first ones.
    3. Look for every conversion in your code and ask which precision it keeps.
    """
    return beta * (policy_logprob.astype(np.float16).astype(float) - ref_logprob)


def float32_beta(policy_logprob, ref_logprob, beta):
    """Casts beta to float32.

    1. How many digits of a log probability near -5000 survive in single or half precision?
    2. Log probabilities nearly cancel in the margin, so their last digits become its first ones.
    3. Look for every conversion in your code and ask which precision it keeps.
    """
    return float(np.float32(beta)) * (policy_logprob - ref_logprob)


def float32_result(policy_logprob, ref_logprob, beta):
    """Returns float32.

    1. How many digits of a log probability near -5000 survive in single or half precision?
    2. Log probabilities nearly cancel in the margin, so their last digits become its first ones.
    3. Look for every conversion in your code and ask which precision it keeps.
    """
    return (beta * (policy_logprob - ref_logprob)).astype(np.float32)


def rounded(policy_logprob, ref_logprob, beta):
    """Rounds to six decimals.

    1. How small can the right answer be, and how many decimals do you keep?
    2. A number can be tiny and still be asked for to nine significant digits.
    3. Return the number as computed; formatting is for printing.
    """
    return np.round(beta * (policy_logprob - ref_logprob), 6)


def squeezed(policy_logprob, ref_logprob, beta):
    """Drops the axis when there is one completion.

    1. What type does the task ask for, and what is the type of what you return?
    2. Print the type and the shape of your result for one pair and for three.
    3. The numbers are right; only the box they come in differs from the one that is asked for.
    """
    return np.squeeze(beta * (policy_logprob - ref_logprob))


def column_returned(policy_logprob, ref_logprob, beta):
    """Returns a column.

    1. What type does the task ask for, and what is the type of what you return?
    2. Print the type and the shape of your result for one pair and for three.
    3. The numbers are right; only the box they come in differs from the one that is asked for.
    """
    return (beta * (policy_logprob - ref_logprob))[:, None]


def list_returned(policy_logprob, ref_logprob, beta):
    """Returns a list.

    1. What type does the task ask for, and what is the type of what you return?
    2. Print the type and the shape of your result for one pair and for three.
    3. The numbers are right; only the box they come in differs from the one that is asked for.
    """
    return list(beta * (policy_logprob - ref_logprob))


def in_place(policy_logprob, ref_logprob, beta):
    """Writes the result into the policy array.

    1. Call your function twice with the same arrays: same answer?
    2. Some operators write into the array on their left instead of making a new one.
    3. Print every argument before and after the call, and find the line that changed one.
    """
    policy_logprob -= ref_logprob
    policy_logprob *= beta
    return policy_logprob


def policy_difference_in_place(policy_logprob, ref_logprob, beta):
    """Subtracts in place and returns a new array.

    1. Call your function twice with the same arrays: same answer?
    2. Some operators write into the array on their left instead of making a new one.
    3. Print every argument before and after the call, and find the line that changed one.
    """
    policy_logprob -= ref_logprob
    return beta * policy_logprob


def reference_scaled_in_place(policy_logprob, ref_logprob, beta):
    """Scales the reference in place.

    1. Call your function twice with the same arrays: same answer?
    2. Some operators write into the array on their left instead of making a new one.
    3. Print every argument before and after the call, and find the line that changed one.
    """
    ref_logprob *= beta
    return beta * policy_logprob - ref_logprob


def written_into_reference(policy_logprob, ref_logprob, beta):
    """Writes the result into the reference array.

    1. Call your function twice with the same arrays: same answer?
    2. Some operators write into the array on their left instead of making a new one.
    3. Print every argument before and after the call, and find the line that changed one.
    """
    np.subtract(policy_logprob, ref_logprob, out=ref_logprob)
    return beta * ref_logprob


def uses_torch(policy_logprob, ref_logprob, beta):
    """Computes it in torch.

    1. Which libraries may this exercise use?
    2. Everything needed exists in numpy, if the formula is arranged well.
    3. Replace the call into the other library by an expression of your own that is stable for both signs.
    """
    return (beta * (torch.tensor(policy_logprob) - torch.tensor(ref_logprob))).numpy()


def integer_buffer(policy_logprob, ref_logprob, beta):
    """Fills a buffer of the type of the input.

    1. What type does your result inherit when the inputs are whole numbers?
    2. A buffer made like an integer array can only hold integers.
    3. Decide the type of the result yourself instead of copying it from an argument.
    """
    reward = np.zeros_like(policy_logprob)
    for i in range(len(reward)):
        reward[i] = beta * (policy_logprob[i] - ref_logprob[i])
    return reward


def sign_and_beta(policy_logprob, ref_logprob, beta):
    """Both: reference_minus_policy + divided_by_beta."""
    return (ref_logprob - policy_logprob) / beta


def sign_and_no_beta(policy_logprob, ref_logprob, beta):
    """Both: reference_minus_policy + beta_forgotten."""
    return ref_logprob - policy_logprob


def sign_and_mean(policy_logprob, ref_logprob, beta):
    """Both: reference_minus_policy + mean_returned."""
    return float(np.mean(beta * (ref_logprob - policy_logprob)))
