"""Wrong versions of `reward_kl_frontier`: run as submissions, one function per misconception."""

import numpy as np


def _log_optimal(log_ref, rewards, betas):
    x = log_ref + rewards / np.asarray(betas, dtype=np.float64)[:, None]
    top = x.max(axis=1, keepdims=True)
    return x - top - np.log(np.sum(np.exp(x - top), axis=1, keepdims=True))


def _averages(log_policy, log_ref, rewards):
    policy = np.exp(log_policy)
    return policy @ rewards, np.sum(policy * (log_policy - log_ref), axis=1)


def reward_under_reference(log_ref, rewards, betas):
    """Averages the reward under the reference.

    1. Which distribution do the averages run over?
    2. The frontier shows what the tilted policy earns and what that costs.
    3. At a tiny beta the expected reward must approach the best reward. Does yours?
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return np.full(len(betas), np.exp(log_ref) @ rewards), kl


def plain_mean_reward(log_ref, rewards, betas):
    """Averages the rewards without weights.

    1. Which distribution do the averages run over?
    2. The frontier shows what the tilted policy earns and what that costs.
    3. At a tiny beta the expected reward must approach the best reward. Does yours?
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return np.full(len(betas), rewards.mean()), kl


def best_reward(log_ref, rewards, betas):
    """Returns the best reward.

    1. Which distribution do the averages run over?
    2. The frontier shows what the tilted policy earns and what that costs.
    3. At a tiny beta the expected reward must approach the best reward. Does yours?
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return np.full(len(betas), rewards.max()), kl


def reward_of_best_answer(log_ref, rewards, betas):
    """Returns the reward of the most probable answer.

    1. Which distribution do the averages run over?
    2. The frontier shows what the tilted policy earns and what that costs.
    3. At a tiny beta the expected reward must approach the best reward. Does yours?
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return rewards[np.argmax(log_policy, axis=1)], kl


def penalized_reward(log_ref, rewards, betas):
    """Subtracts beta times the divergence from the reward.

    1. Is the height of the frontier the reward itself, or what is left of it after the penalty?
    2. The frontier shows what the tilted policy earns and what that costs.
    3. At a tiny beta the expected reward must approach the best reward. Does yours?
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward - betas * kl, kl


def reward_over_beta(log_ref, rewards, betas):
    """Divides the reward by beta.

    1. Which distribution do the averages run over?
    2. The frontier shows what the tilted policy earns and what that costs.
    3. At a tiny beta the expected reward must approach the best reward. Does yours?
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward / betas, kl


def reward_gain(log_ref, rewards, betas):
    """Returns the gain over the reference.

    1. Where does your curve start for a very large beta: at zero, or at the reward of the reference?
    2. The frontier shows what the tilted policy earns and what that costs.
    3. At a tiny beta the expected reward must approach the best reward. Does yours?
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward - np.exp(log_ref) @ rewards, kl


def summed_reward(log_ref, rewards, betas):
    """Weighs rewards by unnormalized weights.

    1. Which distribution do the averages run over?
    2. The frontier shows what the tilted policy earns and what that costs.
    3. At a tiny beta the expected reward must approach the best reward. Does yours?
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    x = log_ref + rewards / betas[:, None]
    return np.exp(x) @ rewards, kl


def absolute_reward(log_ref, rewards, betas):
    """Averages the sizes of the rewards.

    1. Which distribution do the averages run over?
    2. The frontier shows what the tilted policy earns and what that costs.
    3. At a tiny beta the expected reward must approach the best reward. Does yours?
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return np.exp(log_policy) @ np.abs(rewards), kl


def log_weighted_reward(log_ref, rewards, betas):
    """Weighs rewards by log probabilities.

    1. Which distribution do the averages run over?
    2. The frontier shows what the tilted policy earns and what that costs.
    3. At a tiny beta the expected reward must approach the best reward. Does yours?
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return log_policy @ rewards, kl


def kl_reversed(log_ref, rewards, betas):
    """Takes the divergence from the reference to the policy.

    1. In which direction is the divergence taken, and who is it averaged under?
    2. The samples come from the optimal policy, so its log probability comes first and it does the weighing.
    3. Compute the divergence of two coins by hand, in both directions, and compare.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward, np.sum(np.exp(log_ref) * (log_ref - log_policy), axis=1)


def kl_under_reference(log_ref, rewards, betas):
    """Averages the log-ratio under the reference.

    1. In which direction is the divergence taken, and who is it averaged under?
    2. The samples come from the optimal policy, so its log probability comes first and it does the weighing.
    3. Compute the divergence of two coins by hand, in both directions, and compare.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward, np.sum(np.exp(log_ref) * (log_policy - log_ref), axis=1)


def kl_negated(log_ref, rewards, betas):
    """Takes the log-ratio the other way round.

    1. In which direction is the divergence taken, and who is it averaged under?
    2. The samples come from the optimal policy, so its log probability comes first and it does the weighing.
    3. Compute the divergence of two coins by hand, in both directions, and compare.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward, -kl


def kl_unweighted(log_ref, rewards, betas):
    """Averages the log-ratio without weights.

    1. In which direction is the divergence taken, and who is it averaged under?
    2. The samples come from the optimal policy, so its log probability comes first and it does the weighing.
    3. Compute the divergence of two coins by hand, in both directions, and compare.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward, np.mean(log_policy - log_ref, axis=1)


def kl_summed(log_ref, rewards, betas):
    """Sums the log-ratio without weights.

    1. In which direction is the divergence taken, and who is it averaged under?
    2. The samples come from the optimal policy, so its log probability comes first and it does the weighing.
    3. Compute the divergence of two coins by hand, in both directions, and compare.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward, np.sum(log_policy - log_ref, axis=1)


def kl_absolute(log_ref, rewards, betas):
    """Averages the size of the log-ratio.

    1. In which direction is the divergence taken, and who is it averaged under?
    2. The samples come from the optimal policy, so its log probability comes first and it does the weighing.
    3. Compute the divergence of two coins by hand, in both directions, and compare.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward, np.sum(np.exp(log_policy) * np.abs(log_policy - log_ref), axis=1)


def kl_squared(log_ref, rewards, betas):
    """Averages half the squared log-ratio.

    1. In which direction is the divergence taken, and who is it averaged under?
    2. The samples come from the optimal policy, so its log probability comes first and it does the weighing.
    3. Compute the divergence of two coins by hand, in both directions, and compare.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward, np.sum(np.exp(log_policy) * (log_policy - log_ref) ** 2, axis=1) / 2.0


def kl_symmetric(log_ref, rewards, betas):
    """Averages both directions.

    1. In which direction is the divergence taken, and who is it averaged under?
    2. The samples come from the optimal policy, so its log probability comes first and it does the weighing.
    3. Compute the divergence of two coins by hand, in both directions, and compare.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    back = np.sum(np.exp(log_ref) * (log_ref - log_policy), axis=1)
    return reward, (kl + back) / 2.0


def kl_of_probabilities(log_ref, rewards, betas):
    """Averages the difference of probabilities.

    1. In which direction is the divergence taken, and who is it averaged under?
    2. The samples come from the optimal policy, so its log probability comes first and it does the weighing.
    3. Compute the divergence of two coins by hand, in both directions, and compare.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    policy = np.exp(log_policy)
    return reward, np.sum(policy * (policy - np.exp(log_ref)), axis=1)


def negative_entropy(log_ref, rewards, betas):
    """Leaves out the reference.

    1. In which direction is the divergence taken, and who is it averaged under?
    2. The samples come from the optimal policy, so its log probability comes first and it does the weighing.
    3. Compute the divergence of two coins by hand, in both directions, and compare.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward, np.sum(np.exp(log_policy) * log_policy, axis=1)


def cross_entropy(log_ref, rewards, betas):
    """Leaves out the policy.

    1. In which direction is the divergence taken, and who is it averaged under?
    2. The samples come from the optimal policy, so its log probability comes first and it does the weighing.
    3. Compute the divergence of two coins by hand, in both directions, and compare.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward, -np.sum(np.exp(log_policy) * log_ref, axis=1)


def kl_from_uniform(log_ref, rewards, betas):
    """Compares with a uniform reference.

    1. In which direction is the divergence taken, and who is it averaged under?
    2. The samples come from the optimal policy, so its log probability comes first and it does the weighing.
    3. Compute the divergence of two coins by hand, in both directions, and compare.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward, np.sum(np.exp(log_policy) * (log_policy + np.log(rewards.size)), axis=1)


def kl_divided_by_k(log_ref, rewards, betas):
    """Divides by the number of answers.

    1. In which direction is the divergence taken, and who is it averaged under?
    2. The samples come from the optimal policy, so its log probability comes first and it does the weighing.
    3. Compute the divergence of two coins by hand, in both directions, and compare.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward, kl / rewards.size


def kl_times_beta(log_ref, rewards, betas):
    """Multiplies the divergence by beta.

    1. In which unit is the divergence, and is anything multiplied in?
    2. Natural logarithms are used throughout, and the penalty coefficient is not part of the divergence.
    3. At a tiny beta the divergence must approach minus the log probability that the reference gives to the
       best answer.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward, betas * kl


def kl_in_bits(log_ref, rewards, betas):
    """Counts in bits.

    1. In which unit is the divergence, and is anything multiplied in?
    2. Natural logarithms are used throughout, and the penalty coefficient is not part of the divergence.
    3. At a tiny beta the divergence must approach minus the log probability that the reference gives to the
       best answer.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward, kl / np.log(2.0)


def total_variation(log_ref, rewards, betas):
    """Returns the total variation distance.

    1. In which unit is the divergence, and is anything multiplied in?
    2. Natural logarithms are used throughout, and the penalty coefficient is not part of the divergence.
    3. At a tiny beta the divergence must approach minus the log probability that the reference gives to the
       best answer.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward, np.abs(np.exp(log_policy) - np.exp(log_ref)).sum(axis=1) / 2.0


def kl_second_order(log_ref, rewards, betas):
    """Uses the quadratic approximation.

    1. In which unit is the divergence, and is anything multiplied in?
    2. Natural logarithms are used throughout, and the penalty coefficient is not part of the divergence.
    3. At a tiny beta the divergence must approach minus the log probability that the reference gives to the
       best answer.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    mean = np.exp(log_ref) @ rewards
    return reward, (np.exp(log_ref) @ (rewards - mean) ** 2) / (2.0 * betas**2)


def kl_log_normalizer(log_ref, rewards, betas):
    """Returns the log normalizer.

    1. In which unit is the divergence, and is anything multiplied in?
    2. Natural logarithms are used throughout, and the penalty coefficient is not part of the divergence.
    3. At a tiny beta the divergence must approach minus the log probability that the reference gives to the
       best answer.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward, reward / betas - kl


def kl_of_log_of_probability(log_ref, rewards, betas):
    """Takes logarithms of probabilities: zero times minus infinity.

    1. Which intermediate number leaves the range of float64 when a tilt is 10000?
    2. A logarithm of a probability can be -20000 while the probability itself is zero in float64.
    3. Stay with logarithms, and take the largest exponent out of the sum before any exponential.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    policy = np.exp(log_policy)
    return reward, np.sum(policy * (np.log(policy) - log_ref), axis=1)


def kl_with_constant(log_ref, rewards, betas):
    """A constant of 1e-8 inside the logarithm.

    1. How many digits do you keep?
    2. Nine significant digits are asked for.
    3. Look for conversions and constants in your code, and ask what each costs.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    policy = np.exp(log_policy)
    return reward, np.sum(policy * (np.log(policy + 1e-8) - log_ref), axis=1)


def overflowing_softmax(log_ref, rewards, betas):
    """Exponentials of the bare exponents.

    1. Which intermediate number leaves the range of float64 when a tilt is 10000?
    2. A logarithm of a probability can be -20000 while the probability itself is zero in float64.
    3. Stay with logarithms, and take the largest exponent out of the sum before any exponential.
    """
    weight = np.exp(log_ref + rewards / betas[:, None])
    policy = weight / weight.sum(axis=1, keepdims=True)
    return policy @ rewards, np.sum(policy * np.log(policy / np.exp(log_ref)), axis=1)


def overflow_hidden(log_ref, rewards, betas):
    """Replaces what overflowed by zero.

    1. Which intermediate number leaves the range of float64 when a tilt is 10000?
    2. A logarithm of a probability can be -20000 while the probability itself is zero in float64.
    3. Stay with logarithms, and take the largest exponent out of the sum before any exponential.
    """
    weight = np.exp(log_ref + rewards / betas[:, None])
    policy = np.nan_to_num(weight / weight.sum(axis=1, keepdims=True))
    log_policy = np.log(np.maximum(policy, 1e-300))
    return policy @ rewards, np.sum(policy * (log_policy - log_ref), axis=1)


def tilt_clipped(log_ref, rewards, betas):
    """Limits tilts to ±20.

    1. How large may a tilt be, and what happens to yours?
    2. A limit on the tilt makes answers of different reward look alike.
    3. Remove the limit and rearrange the normalizer instead.
    """
    x = log_ref + np.clip(rewards / betas[:, None], -20.0, 20.0)
    log_policy = x - np.log(np.exp(x).sum(axis=1, keepdims=True))
    return _averages(log_policy, log_ref, rewards)


def tilt_clipped_700(log_ref, rewards, betas):
    """Limits tilts to ±700.

    1. How large may a tilt be, and what happens to yours?
    2. A limit on the tilt makes answers of different reward look alike.
    3. Remove the limit and rearrange the normalizer instead.
    """
    x = log_ref + np.clip(rewards / betas[:, None], -700.0, 700.0)
    log_policy = x - np.log(np.exp(x).sum(axis=1, keepdims=True))
    return _averages(log_policy, log_ref, rewards)


def small_kl_dropped(log_ref, rewards, betas):
    """Returns zero for divergences below 1e-4.

    1. How large may a tilt be, and what happens to yours?
    2. A limit on the tilt makes answers of different reward look alike.
    3. Remove the limit and rearrange the normalizer instead.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward, np.where(kl < 1e-4, 0.0, kl)


def not_normalized(log_ref, rewards, betas):
    """Uses weights that do not add up to one.

    1. Do the probabilities of what you return add up to one?
    2. The normalizer must sum over exactly the weights that you return the logarithms of.
    3. Exponentiate your result and sum it, for two quite different sets of rewards.
    """
    x = log_ref + rewards / betas[:, None]
    return _averages(x, log_ref, rewards)


def beta_multiplies(log_ref, rewards, betas):
    """Multiplies the rewards by beta.

    1. Does a larger beta keep the optimum closer to the reference, or pull it away?
    2. Beta is the price of moving. When it is high, should the reward matter more or less?
    3. Try a very large beta: the result should be the reference itself.
    """
    return _averages(_log_optimal(log_ref, rewards, 1.0 / betas), log_ref, rewards)


def beta_missing(log_ref, rewards, betas):
    """No beta.

    1. Does a larger beta keep the optimum closer to the reference, or pull it away?
    2. Beta is the price of moving. When it is high, should the reward matter more or less?
    3. Try a very large beta: the result should be the reference itself.
    """
    return _averages(_log_optimal(log_ref, rewards, np.ones(len(betas))), log_ref, rewards)


def first_beta_for_all(log_ref, rewards, betas):
    """Uses the first beta everywhere.

    1. In which order do the results have to come, and how many are there?
    2. The caller will plot your numbers against the betas as given.
    3. Try betas in falling order, and a repeated one, and compare point by point with single calls.
    """
    return _averages(_log_optimal(log_ref, rewards, np.full(len(betas), betas[0])), log_ref, rewards)


def last_beta_for_all(log_ref, rewards, betas):
    """Uses the last beta everywhere.

    1. In which order do the results have to come, and how many are there?
    2. The caller will plot your numbers against the betas as given.
    3. Try betas in falling order, and a repeated one, and compare point by point with single calls.
    """
    return _averages(_log_optimal(log_ref, rewards, np.full(len(betas), betas[-1])), log_ref, rewards)


def penalized(log_ref, rewards, betas):
    """Tilts away from reward.

    1. Does the best answer gain or lose probability?
    2. Walk through one answer with a high reward and follow the sign.
    3. The expected reward must grow as beta falls. Does yours?
    """
    return _averages(_log_optimal(log_ref, -rewards, betas), log_ref, rewards)


def reference_not_tilted(log_ref, rewards, betas):
    """The policy leaves out the reference.

    1. What comes back when every answer has the same reward?
    2. The optimum is a reweighted reference: answers the reference never gives stay unlikely.
    3. Give all answers equal rewards and an uneven reference, and compare what you return with the reference.
    """
    return _averages(_log_optimal(0.0, rewards, betas), log_ref, rewards)


def betas_sorted(log_ref, rewards, betas):
    """Sorts the betas.

    1. In which order do the results have to come, and how many are there?
    2. The caller will plot your numbers against the betas as given.
    3. Try betas in falling order, and a repeated one, and compare point by point with single calls.
    """
    return _averages(_log_optimal(log_ref, rewards, np.sort(betas)), log_ref, rewards)


def betas_reversed(log_ref, rewards, betas):
    """Returns the points in the opposite order.

    1. In which order do the results have to come, and how many are there?
    2. The caller will plot your numbers against the betas as given.
    3. Try betas in falling order, and a repeated one, and compare point by point with single calls.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward[::-1].copy(), kl[::-1].copy()


def betas_unique(log_ref, rewards, betas):
    """Drops repeated betas and sorts them.

    1. In which order do the results have to come, and how many are there?
    2. The caller will plot your numbers against the betas as given.
    3. Try betas in falling order, and a repeated one, and compare point by point with single calls.
    """
    return _averages(_log_optimal(log_ref, rewards, np.unique(betas)), log_ref, rewards)


def sorted_by_kl(log_ref, rewards, betas):
    """Sorts the points by divergence.

    1. In which order do the results have to come, and how many are there?
    2. The caller will plot your numbers against the betas as given.
    3. Try betas in falling order, and a repeated one, and compare point by point with single calls.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    rank = np.argsort(kl)
    return reward[rank], kl[rank]


def reversed_kl_only(log_ref, rewards, betas):
    """Sorts the divergences alone.

    1. In which order do the results have to come, and how many are there?
    2. The caller will plot your numbers against the betas as given.
    3. Try betas in falling order, and a repeated one, and compare point by point with single calls.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward, np.sort(kl)


def averaged_over_betas(log_ref, rewards, betas):
    """Averages over the betas.

    1. In which order do the results have to come, and how many are there?
    2. The caller will plot your numbers against the betas as given.
    3. Try betas in falling order, and a repeated one, and compare point by point with single calls.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return np.mean(reward), np.mean(kl)


def cumulative(log_ref, rewards, betas):
    """Tilts the previous optimum again for each beta.

    1. In which order do the results have to come, and how many are there?
    2. The caller will plot your numbers against the betas as given.
    3. Try betas in falling order, and a repeated one, and compare point by point with single calls.
    """
    reward, kl, current = [], [], log_ref
    for beta in betas:
        current = _log_optimal(current, rewards, [beta])[0]
        r, d = _averages(current[None, :], log_ref, rewards)
        reward.append(r[0])
        kl.append(d[0])
    return np.array(reward), np.array(kl)


def exchanged(log_ref, rewards, betas):
    """Returns the divergence first.

    1. Which of the two numbers comes first?
    2. Read the name of what is returned, from left to right.
    3. At a huge beta one of the two must vanish: which one, and is it in that place?
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return kl, reward


def reward_only(log_ref, rewards, betas):
    """Returns the expected reward only.

    1. Which of the two numbers comes first?
    2. Read the name of what is returned, from left to right.
    3. At a huge beta one of the two must vanish: which one, and is it in that place?
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward


def list_of_pairs(log_ref, rewards, betas):
    """Returns a list of pairs.

    1. What type does the task ask for, and what is the type of what you return?
    2. Print the type and the shape of your result for the smallest input.
    3. The numbers are right; only the box they come in differs from the one that is asked for.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return list(zip(reward.tolist(), kl.tolist(), strict=True))


def two_lists(log_ref, rewards, betas):
    """Returns two lists.

    1. What type does the task ask for, and what is the type of what you return?
    2. Print the type and the shape of your result for the smallest input.
    3. The numbers are right; only the box they come in differs from the one that is asked for.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward.tolist(), kl.tolist()


def stacked(log_ref, rewards, betas):
    """Returns one array with two rows.

    1. What type does the task ask for, and what is the type of what you return?
    2. Print the type and the shape of your result for the smallest input.
    3. The numbers are right; only the box they come in differs from the one that is asked for.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return np.stack([reward, kl])


def columns(log_ref, rewards, betas):
    """Returns columns.

    1. What type does the task ask for, and what is the type of what you return?
    2. Print the type and the shape of your result for the smallest input.
    3. The numbers are right; only the box they come in differs from the one that is asked for.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward[:, None], kl[:, None]


def squeezed(log_ref, rewards, betas):
    """Drops the axis when there is one beta.

    1. What type does the task ask for, and what is the type of what you return?
    2. Print the type and the shape of your result for the smallest input.
    3. The numbers are right; only the box they come in differs from the one that is asked for.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return np.squeeze(reward), np.squeeze(kl)


def dict_returned(log_ref, rewards, betas):
    """Returns a dictionary.

    1. What type does the task ask for, and what is the type of what you return?
    2. Print the type and the shape of your result for the smallest input.
    3. The numbers are right; only the box they come in differs from the one that is asked for.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return {"expected_reward": reward, "kl": kl}


def float32_result(log_ref, rewards, betas):
    """Returns float32.

    1. How many digits do you keep?
    2. Nine significant digits are asked for.
    3. Look for conversions and constants in your code, and ask what each costs.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward.astype(np.float32), kl.astype(np.float32)


def float32_inputs(log_ref, rewards, betas):
    """Casts the inputs to float32.

    1. How many digits do you keep?
    2. Nine significant digits are asked for.
    3. Look for conversions and constants in your code, and ask what each costs.
    """
    log_ref, rewards = log_ref.astype(np.float32).astype(float), rewards.astype(np.float32).astype(float)
    return _averages(_log_optimal(log_ref, rewards, betas), log_ref, rewards)


def rounded(log_ref, rewards, betas):
    """Rounds to six decimals.

    1. How many digits do you keep?
    2. Nine significant digits are asked for.
    3. Look for conversions and constants in your code, and ask what each costs.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return np.round(reward, 6), np.round(kl, 6)


def reference_overwritten(log_ref, rewards, betas):
    """Exponentiates the reference in place.

    1. Call your function twice with the same arrays: same answer?
    2. Some operators write into the array on their left instead of making a new one.
    3. Print every argument before and after the call, and find the line that changed one.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    np.exp(log_ref, out=log_ref)
    return reward, kl


def rewards_overwritten(log_ref, rewards, betas):
    """Centres the rewards in place.

    1. Call your function twice with the same arrays: same answer?
    2. Some operators write into the array on their left instead of making a new one.
    3. Print every argument before and after the call, and find the line that changed one.
    """
    mean = rewards.mean()
    rewards -= mean
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    return reward + mean, kl


def betas_overwritten(log_ref, rewards, betas):
    """Sorts the betas in place and puts the results back in order.

    1. Call your function twice with the same arrays: same answer?
    2. Some operators write into the array on their left instead of making a new one.
    3. Print every argument before and after the call, and find the line that changed one.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    betas.sort()
    return reward, kl


def integer_buffer(log_ref, rewards, betas):
    """Fills buffers of the type of the betas.

    1. What type does your result inherit when the rewards are whole numbers?
    2. A buffer made like an integer array can only hold integers.
    3. Decide the type of the result yourself instead of copying it from an argument.
    """
    log_policy = _log_optimal(log_ref, rewards, betas)
    reward, kl = _averages(log_policy, log_ref, rewards)
    out = np.zeros_like(betas), np.zeros_like(betas)
    out[0][:], out[1][:] = reward, kl
    return out


def times_beta_reversed(log_ref, rewards, betas):
    """Both: beta_multiplies + kl_reversed."""
    log_policy = _log_optimal(log_ref, rewards, 1.0 / betas)
    return np.exp(log_policy) @ rewards, np.sum(np.exp(log_ref) * (log_ref - log_policy), axis=1)


def reference_reward_reversed(log_ref, rewards, betas):
    """Both: reward_under_reference + kl_reversed."""
    log_policy = _log_optimal(log_ref, rewards, betas)
    return np.full(len(betas), np.exp(log_ref) @ rewards), np.sum(np.exp(log_ref) * (log_ref - log_policy), axis=1)


def exchanged_times_beta(log_ref, rewards, betas):
    """Both: exchanged + beta_multiplies."""
    reward, kl = _averages(_log_optimal(log_ref, rewards, 1.0 / betas), log_ref, rewards)
    return kl, reward
