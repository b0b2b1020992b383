"""Wrong versions of `optimal_policy`: run as submissions, one function per misconception."""

import numpy as np


def _normalized(x):
    top = np.max(x)
    return x - (top + np.log(np.sum(np.exp(x - top))))


def _tilted(log_ref, rewards, beta):
    return _normalized(log_ref + rewards / beta)


def not_normalized(log_ref, rewards, beta):
    """The normalizer is missing.

    1. Do the probabilities of what you return add up to one?
    2. The normalizer must sum over exactly the weights that you return the logarithms of.
    3. Exponentiate your result and sum it, for two quite different sets of rewards.
    """
    return log_ref + rewards / beta


def largest_subtracted(log_ref, rewards, beta):
    """Subtracts the largest exponent only.

    1. Do the probabilities of what you return add up to one?
    2. The normalizer must sum over exactly the weights that you return the logarithms of.
    3. Exponentiate your result and sum it, for two quite different sets of rewards.
    """
    x = log_ref + rewards / beta
    return x - x.max()


def sum_subtracted(log_ref, rewards, beta):
    """Subtracts the sum of the exponents.

    1. Do the probabilities of what you return add up to one?
    2. The normalizer must sum over exactly the weights that you return the logarithms of.
    3. Exponentiate your result and sum it, for two quite different sets of rewards.
    """
    x = log_ref + rewards / beta
    return x - x.sum()


def normalizer_without_reference(log_ref, rewards, beta):
    """The normalizer leaves out the reference.

    1. Do the probabilities of what you return add up to one?
    2. The normalizer must sum over exactly the weights that you return the logarithms of.
    3. Exponentiate your result and sum it, for two quite different sets of rewards.
    """
    top = np.max(rewards / beta)
    return log_ref + rewards / beta - top - np.log(np.sum(np.exp(rewards / beta - top)))


def mean_in_normalizer(log_ref, rewards, beta):
    """The normalizer averages instead of summing.

    1. Do the probabilities of what you return add up to one?
    2. The normalizer must sum over exactly the weights that you return the logarithms of.
    3. Exponentiate your result and sum it, for two quite different sets of rewards.
    """
    x = log_ref + rewards / beta
    return x - (x.max() + np.log(np.mean(np.exp(x - x.max()))))


def normalizer_times_beta(log_ref, rewards, beta):
    """The normalizer is multiplied by beta.

    1. Do the probabilities of what you return add up to one?
    2. The normalizer must sum over exactly the weights that you return the logarithms of.
    3. Exponentiate your result and sum it, for two quite different sets of rewards.
    """
    x = log_ref + rewards / beta
    top = x.max()
    return x - beta * (top + np.log(np.sum(np.exp(x - top))))


def normalizer_added(log_ref, rewards, beta):
    """The normalizer is added.

    1. Do the probabilities of what you return add up to one?
    2. The normalizer must sum over exactly the weights that you return the logarithms of.
    3. Exponentiate your result and sum it, for two quite different sets of rewards.
    """
    x = log_ref + rewards / beta
    top = x.max()
    return x + (top + np.log(np.sum(np.exp(x - top))))


def shift_forgotten(log_ref, rewards, beta):
    """Takes the largest exponent out and does not put it back.

    1. Do the probabilities of what you return add up to one?
    2. The normalizer must sum over exactly the weights that you return the logarithms of.
    3. Exponentiate your result and sum it, for two quite different sets of rewards.
    """
    x = log_ref + rewards / beta
    return x - np.log(np.sum(np.exp(x - x.max())))


def beta_multiplies(log_ref, rewards, beta):
    """Multiplies the rewards by beta.

    1. Does a larger beta keep the optimum closer to the reference, or pull it away?
    2. Beta is the price of moving. When it is high, should the reward matter more or less?
    3. Try a very large beta: the result should be the reference itself.
    """
    return _normalized(log_ref + rewards * beta)


def beta_missing(log_ref, rewards, beta):
    """No beta.

    1. Does a larger beta keep the optimum closer to the reference, or pull it away?
    2. Beta is the price of moving. When it is high, should the reward matter more or less?
    3. Try a very large beta: the result should be the reference itself.
    """
    return _normalized(log_ref + rewards)


def beta_squared(log_ref, rewards, beta):
    """Divides by beta twice.

    1. Does a larger beta keep the optimum closer to the reference, or pull it away?
    2. Beta is the price of moving. When it is high, should the reward matter more or less?
    3. Try a very large beta: the result should be the reference itself.
    """
    return _normalized(log_ref + rewards / beta**2)


def beta_floored(log_ref, rewards, beta):
    """Keeps beta at 0.1 or above.

    1. Does a larger beta keep the optimum closer to the reference, or pull it away?
    2. Beta is the price of moving. When it is high, should the reward matter more or less?
    3. Try a very large beta: the result should be the reference itself.
    """
    return _normalized(log_ref + rewards / max(beta, 0.1))


def beta_plus_constant(log_ref, rewards, beta):
    """Adds a small constant to beta.

    1. How many digits do you keep?
    2. Nine significant digits are asked for.
    3. Look for conversions and constants in your code, and ask what each costs.
    """
    return _normalized(log_ref + rewards / (beta + 1e-8))


def integer_division(log_ref, rewards, beta):
    """Rounds the tilts down.

    1. Does a larger beta keep the optimum closer to the reference, or pull it away?
    2. Beta is the price of moving. When it is high, should the reward matter more or less?
    3. Try a very large beta: the result should be the reference itself.
    """
    return _normalized(log_ref + rewards // beta)


def reference_divided(log_ref, rewards, beta):
    """Divides the reference by beta too.

    1. Does a larger beta keep the optimum closer to the reference, or pull it away?
    2. Beta is the price of moving. When it is high, should the reward matter more or less?
    3. Try a very large beta: the result should be the reference itself.
    """
    return _normalized((log_ref + rewards) / beta)


def reference_multiplied(log_ref, rewards, beta):
    """Multiplies the reference by beta and leaves the rewards.

    1. Does a larger beta keep the optimum closer to the reference, or pull it away?
    2. Beta is the price of moving. When it is high, should the reward matter more or less?
    3. Try a very large beta: the result should be the reference itself.
    """
    return _normalized(beta * log_ref + rewards)


def penalized(log_ref, rewards, beta):
    """Tilts away from reward.

    1. Does the best answer gain or lose probability?
    2. Walk through one answer with a high reward and follow the sign.
    3. Compare the optimum's probability of the best answer with the reference's.
    """
    return _normalized(log_ref - rewards / beta)


def reference_ignored(log_ref, rewards, beta):
    """A softmax of the rewards.

    1. What comes back when every answer has the same reward?
    2. The optimum is a reweighted reference: answers the reference never gives stay unlikely.
    3. Give all answers equal rewards and an uneven reference, and compare what you return with the reference.
    """
    return _normalized(rewards / beta)


def reference_subtracted(log_ref, rewards, beta):
    """Subtracts the reference.

    1. What comes back when every answer has the same reward?
    2. The optimum is a reweighted reference: answers the reference never gives stay unlikely.
    3. Give all answers equal rewards and an uneven reference, and compare what you return with the reference.
    """
    return _normalized(rewards / beta - log_ref)


def reference_as_probability(log_ref, rewards, beta):
    """Adds the probability instead of its logarithm.

    1. What comes back when every answer has the same reward?
    2. The optimum is a reweighted reference: answers the reference never gives stay unlikely.
    3. Give all answers equal rewards and an uneven reference, and compare what you return with the reference.
    """
    return _normalized(np.exp(log_ref) + rewards / beta)


def rewards_ignored(log_ref, rewards, beta):
    """Returns the reference.

    1. Does the optimum put everything on the best answer?
    2. The penalty keeps some probability on every answer the reference gives.
    3. Try a large beta: the result should hardly differ from the reference.
    """
    return _normalized(log_ref.copy())


def log_of_rewards(log_ref, rewards, beta):
    """Takes logarithms of the rewards.

    1. Should doubling all rewards change the optimum?
    2. The size of the rewards, compared with beta, carries information.
    3. Compare two answers: the log-ratio of their probabilities must move by exactly the reward difference
       over beta.
    """
    return _normalized(log_ref + np.log(np.abs(rewards) + 1e-12) / beta)


def standardized(log_ref, rewards, beta):
    """Standardizes the rewards first.

    1. Should doubling all rewards change the optimum?
    2. The size of the rewards, compared with beta, carries information.
    3. Compare two answers: the log-ratio of their probabilities must move by exactly the reward difference
       over beta.
    """
    return _normalized(log_ref + (rewards - rewards.mean()) / (rewards.std() + 1e-8) / beta)


def unit_range(log_ref, rewards, beta):
    """Scales the rewards to [0, 1] first.

    1. Should doubling all rewards change the optimum?
    2. The size of the rewards, compared with beta, carries information.
    3. Compare two answers: the log-ratio of their probabilities must move by exactly the reward difference
       over beta.
    """
    spread = max(rewards.max() - rewards.min(), 1e-12)
    return _normalized(log_ref + (rewards - rewards.min()) / spread / beta)


def rewards_clipped(log_ref, rewards, beta):
    """Limits rewards to ±1.

    1. How large may a tilt be, and what happens to yours?
    2. A limit on the tilt makes answers of different reward look alike.
    3. Remove the limit and rearrange the normalizer instead.
    """
    return _normalized(log_ref + np.clip(rewards, -1.0, 1.0) / beta)


def tilt_clipped_50(log_ref, rewards, beta):
    """Limits tilts to ±50.

    1. How large may a tilt be, and what happens to yours?
    2. A limit on the tilt makes answers of different reward look alike.
    3. Remove the limit and rearrange the normalizer instead.
    """
    return _normalized(log_ref + np.clip(rewards / beta, -50.0, 50.0))


def tilt_clipped_700(log_ref, rewards, beta):
    """Limits tilts to ±700.

    1. How large may a tilt be, and what happens to yours?
    2. A limit on the tilt makes answers of different reward look alike.
    3. Remove the limit and rearrange the normalizer instead.
    """
    return _normalized(log_ref + np.clip(rewards / beta, -700.0, 700.0))


def negative_tilt_dropped(log_ref, rewards, beta):
    """Replaces negative rewards by zero.

    1. How large may a tilt be, and what happens to yours?
    2. A limit on the tilt makes answers of different reward look alike.
    3. Remove the limit and rearrange the normalizer instead.
    """
    return _normalized(log_ref + np.maximum(rewards, 0.0) / beta)


def one_hot(log_ref, rewards, beta):
    """Everything on the best answer.

    1. Does the optimum put everything on the best answer?
    2. The penalty keeps some probability on every answer the reference gives.
    3. Try a large beta: the result should hardly differ from the reference.
    """
    x = log_ref + rewards / beta
    return np.where(np.arange(x.size) == np.argmax(x), 0.0, -np.inf)


def overflowing_normalizer(log_ref, rewards, beta):
    """Exponentials of the bare exponents.

    1. Which intermediate number leaves the range of float64 when a tilt is 10000?
    2. A logarithm of a probability can be -20000 while the probability itself is zero in float64.
    3. Stay with logarithms, and take the largest exponent out of the sum before any exponential.
    """
    x = log_ref + rewards / beta
    return x - np.log(np.sum(np.exp(x)))


def log_of_softmax(log_ref, rewards, beta):
    """A softmax first, then the logarithm: probabilities underflow.

    1. Which intermediate number leaves the range of float64 when a tilt is 10000?
    2. A logarithm of a probability can be -20000 while the probability itself is zero in float64.
    3. Stay with logarithms, and take the largest exponent out of the sum before any exponential.
    """
    return np.log(np.exp(_tilted(log_ref, rewards, beta)))


def reward_weights_overflow(log_ref, rewards, beta):
    """Multiplies reference probabilities by exponentials of rewards.

    1. Which intermediate number leaves the range of float64 when a tilt is 10000?
    2. A logarithm of a probability can be -20000 while the probability itself is zero in float64.
    3. Stay with logarithms, and take the largest exponent out of the sum before any exponential.
    """
    weight = np.exp(log_ref) * np.exp(rewards / beta)
    return np.log(weight / weight.sum())


def smallest_subtracted(log_ref, rewards, beta):
    """Takes the smallest exponent out of the sum.

    1. Which intermediate number leaves the range of float64 when a tilt is 10000?
    2. A logarithm of a probability can be -20000 while the probability itself is zero in float64.
    3. Stay with logarithms, and take the largest exponent out of the sum before any exponential.
    """
    x = log_ref + rewards / beta
    low = x.min()
    return x - (low + np.log(np.sum(np.exp(x - low))))


def overflow_hidden(log_ref, rewards, beta):
    """Replaces what overflowed by zero.

    1. Which intermediate number leaves the range of float64 when a tilt is 10000?
    2. A logarithm of a probability can be -20000 while the probability itself is zero in float64.
    3. Stay with logarithms, and take the largest exponent out of the sum before any exponential.
    """
    x = log_ref + rewards / beta
    return np.nan_to_num(x - np.log(np.sum(np.exp(x))), posinf=0.0, neginf=0.0)


def eps_in_log(log_ref, rewards, beta):
    """A constant of 1e-12 inside a logarithm.

    1. What does the constant do to the logarithm of a probability of 1e-10?
    2. A logarithm of a probability can be -20000 while the probability itself is zero in float64.
    3. Stay with logarithms, and take the largest exponent out of the sum before any exponential.
    """
    return np.log(np.exp(_tilted(log_ref, rewards, beta)) + 1e-12)


def log_floor(log_ref, rewards, beta):
    """A floor of -100 under every log probability.

    1. How large may a tilt be, and what happens to yours?
    2. A limit on the tilt makes answers of different reward look alike.
    3. Remove the limit and rearrange the normalizer instead.
    """
    return np.maximum(_tilted(log_ref, rewards, beta), -100.0)


def probabilities_returned(log_ref, rewards, beta):
    """Returns probabilities.

    1. Is a log distribution asked for, or a distribution?
    2. Every entry of the right result is at most zero.
    3. Check the scale of your result: its exponentials should add up to one.
    """
    return np.exp(_tilted(log_ref, rewards, beta))


def negated(log_ref, rewards, beta):
    """Returns the negative.

    1. Is a log distribution asked for, or a distribution?
    2. Every entry of the right result is at most zero.
    3. Check the scale of your result: its exponentials should add up to one.
    """
    return -_tilted(log_ref, rewards, beta)


def base_two(log_ref, rewards, beta):
    """Logarithms of base two.

    1. Is a log distribution asked for, or a distribution?
    2. Every entry of the right result is at most zero.
    3. Check the scale of your result: its exponentials should add up to one.
    """
    return _tilted(log_ref, rewards, beta) / np.log(2.0)


def base_ten(log_ref, rewards, beta):
    """Logarithms of base ten.

    1. Is a log distribution asked for, or a distribution?
    2. Every entry of the right result is at most zero.
    3. Check the scale of your result: its exponentials should add up to one.
    """
    return _tilted(log_ref, rewards, beta) / np.log(10.0)


def log_ratio(log_ref, rewards, beta):
    """Returns the log-ratio to the reference.

    1. Is a log distribution asked for, or a distribution?
    2. Every entry of the right result is at most zero.
    3. Check the scale of your result: its exponentials should add up to one.
    """
    return _tilted(log_ref, rewards, beta) - log_ref


def sorted(log_ref, rewards, beta):
    """Sorts the result.

    1. To which answer does each entry belong?
    2. The caller matches your entries with the answers by position.
    3. Give rewards in falling order and see whether positions are kept.
    """
    return np.sort(_tilted(log_ref, rewards, beta))


def float32_inputs(log_ref, rewards, beta):
    """Casts the inputs to float32.

    1. How many digits do you keep?
    2. Nine significant digits are asked for.
    3. Look for conversions and constants in your code, and ask what each costs.
    """
    return _tilted(log_ref.astype(np.float32), rewards.astype(np.float32), beta).astype(float)


def float32_rewards(log_ref, rewards, beta):
    """Casts the rewards to float32.

    1. How many digits do you keep?
    2. Nine significant digits are asked for.
    3. Look for conversions and constants in your code, and ask what each costs.
    """
    return _tilted(log_ref, rewards.astype(np.float32).astype(float), beta)


def float32_reference(log_ref, rewards, beta):
    """Casts the reference to float32.

    1. How many digits do you keep?
    2. Nine significant digits are asked for.
    3. Look for conversions and constants in your code, and ask what each costs.
    """
    return _tilted(log_ref.astype(np.float32).astype(float), rewards, beta)


def rounded(log_ref, rewards, beta):
    """Rounds to six decimals.

    1. How many digits do you keep?
    2. Nine significant digits are asked for.
    3. Look for conversions and constants in your code, and ask what each costs.
    """
    return np.round(_tilted(log_ref, rewards, beta), 6)


def float32_result(log_ref, rewards, beta):
    """Returns float32.

    1. How many digits do you keep?
    2. Nine significant digits are asked for.
    3. Look for conversions and constants in your code, and ask what each costs.
    """
    return _tilted(log_ref, rewards, beta).astype(np.float32)


def list_returned(log_ref, rewards, beta):
    """Returns a list.

    1. What type does the task ask for, and what is the type of what you return?
    2. Print the type and the shape of your result for the smallest input.
    3. The numbers are right; only the box they come in differs from the one that is asked for.
    """
    return _tilted(log_ref, rewards, beta).tolist()


def row_returned(log_ref, rewards, beta):
    """Returns a matrix of one row.

    1. What type does the task ask for, and what is the type of what you return?
    2. Print the type and the shape of your result for the smallest input.
    3. The numbers are right; only the box they come in differs from the one that is asked for.
    """
    return _tilted(log_ref, rewards, beta)[None, :]


def squeezed(log_ref, rewards, beta):
    """Drops the axis when there is one answer.

    1. What type does the task ask for, and what is the type of what you return?
    2. Print the type and the shape of your result for the smallest input.
    3. The numbers are right; only the box they come in differs from the one that is asked for.
    """
    return np.squeeze(_tilted(log_ref, rewards, beta))


def reference_overwritten(log_ref, rewards, beta):
    """Tilts the reference in place.

    1. Call your function twice with the same arrays: same answer?
    2. Some operators write into the array on their left instead of making a new one.
    3. Print every argument before and after the call, and find the line that changed one.
    """
    log_ref += rewards / beta
    return _normalized(log_ref)


def rewards_overwritten(log_ref, rewards, beta):
    """Scales the rewards in place.

    1. Call your function twice with the same arrays: same answer?
    2. Some operators write into the array on their left instead of making a new one.
    3. Print every argument before and after the call, and find the line that changed one.
    """
    rewards /= beta
    return _normalized(log_ref + rewards)


def integer_buffer(log_ref, rewards, beta):
    """Fills a buffer of the type of the rewards.

    1. What type does your result inherit when the rewards are whole numbers?
    2. A buffer made like an integer array can only hold integers.
    3. Decide the type of the result yourself instead of copying it from an argument.
    """
    out = np.zeros_like(rewards)
    out[:] = _tilted(log_ref, rewards, beta)
    return out


def no_norm_times_beta(log_ref, rewards, beta):
    """Both: not_normalized + beta_multiplies."""
    return log_ref + rewards * beta


def no_reference_times_beta(log_ref, rewards, beta):
    """Both: reference_ignored + beta_multiplies."""
    return _normalized(rewards * beta)


def no_reference_probabilities(log_ref, rewards, beta):
    """Both: reference_ignored + probabilities_returned."""
    return np.exp(_normalized(rewards / beta))


def times_beta_probabilities(log_ref, rewards, beta):
    """Both: beta_multiplies + probabilities_returned."""
    return np.exp(_normalized(log_ref + rewards * beta))
