"""Wrong implementations of `kl_penalized_rewards` that people write, each named by its id.

Run as a submission, never imported by the grader. First docstring line: what is wrong. Numbered lines: the hint, in
three steps that leave the answer to the learner. `Both: a + b.` marks a double mistake, hinted by its parts.
"""

import torch


def _selected(policy_log_probs, reference_log_probs, response_mask):
    """The right log ratio of each token, zero where nothing is selected."""
    ratio = policy_log_probs.float() - reference_log_probs.float()
    return torch.where(response_mask.bool(), ratio, torch.zeros_like(ratio))


def _mean(values):
    return values.mean() if values.numel() else values.new_zeros(())


def _answer(divergences, penalized, objective=None):
    objective = _mean(penalized) if objective is None else objective
    return {"objective": objective, "penalized_rewards": penalized, "sampled_divergences": divergences}


def _finish(divergences, rewards, beta):
    return _answer(divergences, rewards.float() - beta * divergences)


def mask_ignored(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Sums over every position, prompt and padding included.

    1. What is each of the four tensors for? One of them does not influence your divergences.
    2. Rows are made equally long with filler. Which positions hold the response, and who tells you?
    3. Change a number at a position that does not belong to the response: should any result move?
    """
    ratio = policy_log_probs.float() - reference_log_probs.float()
    return _finish(ratio.sum(-1), rewards, beta)


def mask_multiplied(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Zeroes masked positions by multiplying, so NaN and infinities there survive.

    1. Your numbers are right until padding holds something that is not an ordinary number.
    2. Work out zero times NaN, and zero times infinity, in a Python prompt.
    3. The mask should decide which numbers enter the sum at all, instead of scaling them afterwards.
    """
    ratio = policy_log_probs.float() - reference_log_probs.float()
    return _finish((ratio * response_mask).sum(-1), rewards, beta)


def penalty_added(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Adds the penalty, so that drifting away from the reference is rewarded.

    1. Take one response that the policy likes much more than the reference does.
    2. Is that closeness to the reference, or distance from it?
    3. Should the number this response is trained on be above or below its reward?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    return _answer(divergences, rewards.float() + beta * divergences)


def reference_minus_policy(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Takes the log ratio in the other direction.

    1. Look at the sign of your divergence where the policy is surer of every token than the reference.
    2. The tokens were sampled from one of the two models. Which one?
    3. In the KL divergence from a sampling distribution, whose log probability comes first?
    """
    divergences = -_selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    return _finish(divergences, rewards, beta)


def length_normalized(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Divides each divergence by the number of selected tokens.

    1. Compare a short response with a long one that has the same difference at every token.
    2. The log probability of a whole response comes from those of its tokens by one operation. Which?
    3. Does the contract speak of how far a response drifts, or of how far it drifts per token?
    """
    counts = response_mask.sum(-1).clamp(min=1)
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1) / counts
    return _finish(divergences, rewards, beta)


def divergence_clamped(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Clamps each divergence at zero.

    1. Find a response whose divergence came out as exactly zero although its tokens differ.
    2. A KL divergence is an average over many samples and never negative. What about one sample?
    3. If only the low estimates are raised, what happens to their average?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1).clamp(min=0)
    return _finish(divergences, rewards, beta)


def tokens_clamped(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Clamps every single log ratio at zero before the sum.

    1. Try a response in which one token is likelier under the policy and the next less likely.
    2. May one token of a response make up for another?
    3. Nothing in the formula treats tokens of one sign differently from the rest.
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).clamp(min=0).sum(-1)
    return _finish(divergences, rewards, beta)


def absolute_ratio(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Sums the sizes of the log ratios, without their signs.

    1. Try a response in which one token is likelier under the policy and the next less likely.
    2. May one token of a response make up for another?
    3. Your divergences can never be negative. Should that be so for a single sample?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).abs().sum(-1)
    return _finish(divergences, rewards, beta)


def k3_estimator(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Uses the estimator exp(-d) - 1 + d of each token, as GRPO does.

    1. Several estimators share one expectation. Which of them does the task write down?
    2. Compute the first worked example by hand and compare your divergence with it.
    3. Each token enters the sum to the first power only.
    """
    ratio = _selected(policy_log_probs, reference_log_probs, response_mask)
    return _finish((torch.exp(-ratio) - 1 + ratio).sum(-1), rewards, beta)


def k2_estimator(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Uses half the squared log ratio of each token.

    1. Several estimators share nearly one expectation. Which of them does the task write down?
    2. What does your divergence do when policy and reference are swapped? What should it do?
    3. Each token enters the sum to the first power only.
    """
    ratio = _selected(policy_log_probs, reference_log_probs, response_mask)
    return _finish((ratio**2 / 2).sum(-1), rewards, beta)


def probabilities_subtracted(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Subtracts probabilities instead of log probabilities.

    1. The arguments already are logarithms. Do you need anything else?
    2. A KL divergence is built from the ratio of two probabilities.
    3. What does a ratio become when one takes its logarithm?
    """
    probabilities = _selected(policy_log_probs.exp(), reference_log_probs.exp(), response_mask)
    return _finish(probabilities.sum(-1), rewards, beta)


def ratio_through_probabilities(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Goes back to probabilities and takes the logarithm of their ratio, which underflows.

    1. Most of your numbers are right. Look at a token that one model finds all but impossible.
    2. What is the smallest positive number a float32 can hold?
    3. The logarithm of a ratio can be had without ever computing the ratio.
    """
    ratio = torch.log(policy_log_probs.float().exp() / reference_log_probs.float().exp())
    divergences = torch.where(response_mask, ratio, torch.zeros_like(ratio)).sum(-1)
    return _finish(divergences, rewards, beta)


def ratio_clipped(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Clips every log ratio to at most 20 either way.

    1. Most of your numbers are right. Look at a token that one model finds all but impossible.
    2. Does the contract set a largest divergence?
    3. What would a policy learn if, beyond some point, drifting further cost nothing?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).clamp(-20, 20).sum(-1)
    return _finish(divergences, rewards, beta)


def beta_twice(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Reports beta times the divergence and multiplies by beta once more.

    1. Try beta = 2 on a row with divergence 1.
    2. How often does beta appear in the formula of a penalized reward?
    3. Should the reported divergence change when beta does?
    """
    divergences = beta * _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    return _finish(divergences, rewards, beta)


def beta_in_divergence(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Reports the penalty, beta times the divergence, as the divergence.

    1. Your penalized rewards are right. Look at the divergences for two values of beta.
    2. How far a policy has drifted: does that depend on how much we mind?
    3. The penalty and the divergence are two numbers. Which of them is asked for?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    return _answer(beta * divergences, rewards.float() - beta * divergences)


def beta_forgotten(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Subtracts the divergence without beta.

    1. Call your function with two values of beta and compare.
    2. With beta = 0, what must a penalized reward equal?
    3. Which argument sets how strongly drifting is held against a response?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    return _answer(divergences, rewards.float() - divergences)


def objective_summed(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """The objective is a sum over the batch.

    1. Your rows are right. Only the last step, from B numbers to one, differs.
    2. Put the same batch in twice: should the objective double?
    3. The objective estimates an expectation over responses.
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    penalized = rewards.float() - beta * divergences
    return _answer(divergences, penalized, penalized.sum())


def objective_unpenalized(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """The objective is the mean of the raw rewards.

    1. Your rows are right. Only the last step, from B numbers to one, differs.
    2. Raise beta: should the objective stay as it is?
    3. Which of the two reward vectors is the policy to be trained on?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    penalized = rewards.float() - beta * divergences
    return _answer(divergences, penalized, _mean(rewards.float()))


def objective_per_token(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Weights each response by its number of tokens in the objective.

    1. Your rows are right. Only the last step, from B numbers to one, differs.
    2. Make one response longer without changing its penalized reward: should the objective move?
    3. How many votes does each response of the batch have?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    penalized = rewards.float() - beta * divergences
    counts = response_mask.sum(-1)
    objective = (penalized * counts).sum() / counts.sum().clamp(min=1)
    return _answer(divergences, penalized, objective)


def objective_skips_empty_rows(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Leaves responses with nothing selected out of the objective.

    1. Nearly everything is right. Look at a batch with one response of which nothing is selected.
    2. Such a response has a divergence and a reward. What are they?
    3. B counts responses. Does it matter how many tokens each has?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    penalized = rewards.float() - beta * divergences
    return _answer(divergences, penalized, _mean(penalized[response_mask.any(-1)]))


def empty_batch_nan(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """The objective of an empty batch is NaN.

    1. Everything is right, except for one legal input: a batch without responses.
    2. What is the mean of no numbers, as torch computes it?
    3. What does the contract want there?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    penalized = rewards.float() - beta * divergences
    return _answer(divergences, penalized, penalized.mean())


def empty_row_zeroed(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """A response with nothing selected loses its reward.

    1. Nearly everything is right. Look at a response of which nothing is selected.
    2. An empty sum is a number. Which one?
    3. If nothing is subtracted from a reward, what is left?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    penalized = torch.where(response_mask.any(-1), rewards.float() - beta * divergences, 0.0)
    return _answer(divergences, penalized)


def mask_inverted(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Treats the mask as marking what to leave out.

    1. Exchange trues and falses in your mask: do the worked examples come out?
    2. In this mask, does true mean keep or drop?
    3. Try a row in which nothing is selected. What should its divergence be?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, ~response_mask.bool()).sum(-1)
    return _finish(divergences, rewards, beta)


def first_row_mask(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Uses the first response's mask for the whole batch.

    1. The first response is right. What about the others?
    2. Responses of one batch begin and end at different positions.
    3. How many masks does a batch of B responses have?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask[:1]).sum(-1)
    return _finish(divergences, rewards, beta)


def mask_as_length(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Counts the selected tokens and takes that many from the front.

    1. Rows that begin with their response and have no gap come out right. Others do not.
    2. A mask can say more than how many positions are selected.
    3. Does a response always begin at position 0?
    """
    positions = torch.arange(response_mask.shape[-1])
    front = positions < response_mask.sum(-1, keepdim=True)
    divergences = _selected(policy_log_probs, reference_log_probs, front).sum(-1)
    return _finish(divergences, rewards, beta)


def first_token_dropped(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Leaves position 0 out of the sum.

    1. Rows whose response begins later come out right. Which do not?
    2. Which positions does the formula sum over?
    3. Shifting by one belongs to logits, which predict the next token. Are these arguments logits?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask)[:, 1:].sum(-1)
    return _finish(divergences, rewards, beta)


def last_token_dropped(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Leaves the last position out of the sum.

    1. Rows whose response ends earlier come out right. Which do not?
    2. Which positions does the formula sum over?
    3. Shifting by one belongs to logits, which predict the next token. Are these arguments logits?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask)[:, :-1].sum(-1)
    return _finish(divergences, rewards, beta)


def batch_mean_penalty(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Subtracts the batch's mean divergence from every reward.

    1. Your objective is right, and yet single rewards are not.
    2. Take one response that drifted far and one that did not: which should lose more?
    3. How many different penalties should a batch of B responses have?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    return _answer(divergences, rewards.float() - beta * _mean(divergences))


def batch_mean_divergence(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Reports the batch's mean divergence for every response.

    1. Your objective is right, and yet the divergences of single responses are not.
    2. Change one response: which of the reported divergences should move?
    3. Over which axis does the formula of a divergence sum?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    divergences = _mean(divergences).expand(len(rewards))
    return _finish(divergences, rewards, beta)


def batch_total_divergence(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Sums over all responses as well as over tokens.

    1. A batch of one response comes out right. Larger ones do not.
    2. Change one response: whose penalized rewards should move?
    3. Over which of the two axes does the formula of a divergence sum?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum().expand(len(rewards))
    return _finish(divergences, rewards, beta)


def rewards_whitened(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Rescales the penalized rewards to unit variance, keeping their mean.

    1. Your objective is right, and yet single rewards are not.
    2. Rescaling is a later step of some training recipes. Does the formula contain it?
    3. Change the reward of one response: which penalized rewards should move?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    raw = rewards.float() - beta * divergences
    penalized = (raw - _mean(raw)) / (raw.std(unbiased=False) + 1e-8) + _mean(raw)
    return _answer(divergences, penalized)


def rewards_clipped(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Clips the rewards to at most 5 either way before the penalty.

    1. Responses with modest rewards come out right. Which do not?
    2. Clipping is a step of some training recipes. Does the formula contain it?
    3. If two rewards differ by one, by how much should the penalized rewards differ?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    return _answer(divergences, rewards.float().clamp(-5, 5) - beta * divergences)


def penalty_only_in_objective(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Returns the raw rewards as penalized rewards, and penalizes the objective only.

    1. Your objective is right, and yet single rewards are not.
    2. Raise beta: which of the three results should move?
    3. The objective is the mean of a vector that you also return. Is it?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    return _answer(divergences, rewards.float(), _mean(rewards.float() - beta * divergences))


def crossed_rows(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Pairs every reward with every divergence.

    1. Your objective is right. Look at the shape of the penalized rewards.
    2. What does torch do when it subtracts a column from a row?
    3. How many penalized rewards does a batch of B responses have?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    return _answer(divergences, rewards.float() - beta * divergences.unsqueeze(-1))


def nan_hidden(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Replaces every NaN by zero, at selected positions too.

    1. Masked positions are handled well. What about a broken number inside a response?
    2. A model that returns NaN is broken. Who should notice, and when?
    3. Only the mask may decide what is left out.
    """
    ratio = policy_log_probs.float() - reference_log_probs.float()
    return _finish((torch.nan_to_num(ratio) * response_mask).sum(-1), rewards, beta)


def objective_skips_nan(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Leaves broken responses out of the objective.

    1. Your rows show a broken number, and your objective does not.
    2. A model that returns NaN is broken. Who should notice, and when?
    3. The objective averages over how many responses?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    penalized = rewards.float() - beta * divergences
    return _answer(divergences, penalized, penalized.nanmean() if len(rewards) else None)


def half_precision(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Computes in half precision.

    1. Your numbers are nearly right: compare the digits.
    2. How many digits does a 16-bit float hold? And how many does the contract ask for?
    3. Errors of single tokens add up over a response.
    """
    divergences = _selected(policy_log_probs.half(), reference_log_probs.half(), response_mask).half().sum(-1).float()
    return _finish(divergences, rewards, beta)


def cut_at_512(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Looks at the first 512 positions only.

    1. Short responses come out right. Long ones do not.
    2. Look for a fixed number in your code that stands for a length.
    3. How long may a row be?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask)[:, :512].sum(-1)
    return _finish(divergences, rewards, beta)


def graph_cut(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Detaches the log probabilities: right values, no gradient.

    1. Your values are right. Ask autograd for the derivative of the objective.
    2. Which operations end the chain from a result back to its inputs?
    3. Can an optimizer follow your objective back to the policy?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1).detach()
    return _finish(divergences, rewards, beta)


def penalty_detached(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Detaches the penalty; only the reported divergences keep their gradient.

    1. Your values are right. Ask autograd for the derivative of the objective, and then of the divergences.
    2. Some recipes treat the penalty as a constant. Does this contract?
    3. By how much should the objective move when one selected log probability does?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    return _answer(divergences, rewards.float() - beta * divergences.detach())


def objective_detached(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """The objective is cut off from the graph; the rows are not.

    1. Your values are right. Ask autograd for the derivative of each of the three results.
    2. Which operations end the chain from a result back to its inputs?
    3. Which of the three results would an optimizer be given?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    penalized = rewards.float() - beta * divergences
    return _answer(divergences, penalized, _mean(penalized).detach())


def gradient_at_padding(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Right values, but masked positions keep a gradient.

    1. Your values are right. Ask autograd for the derivative at masked positions.
    2. A masked position adds exactly zero, whatever it holds. What is the slope of a constant?
    3. Do you add something and take the same thing away again with its graph cut?
    """
    ratio = _selected(policy_log_probs, reference_log_probs, response_mask)
    ghost = torch.where(response_mask, torch.zeros_like(ratio), torch.nan_to_num(policy_log_probs.float()))
    return _finish((ratio + ghost - ghost.detach()).sum(-1), rewards, beta)


def float64_out(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Keeps the inputs' float64.

    1. Your values are right. Look at the dtype of the three results for float64 inputs.
    2. What dtype does torch give a sum of float64 numbers?
    3. Which dtype does the contract promise, for every input?
    """
    ratio = policy_log_probs - reference_log_probs
    divergences = torch.where(response_mask.bool(), ratio, torch.zeros_like(ratio)).sum(-1)
    penalized = rewards - beta * divergences
    return _answer(divergences, penalized)


def objective_float64(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """The objective alone is float64.

    1. Your values are right. Look at the dtype of each of the three results.
    2. Precision inside a computation and the dtype of its result are two things.
    3. Which dtype does the contract promise, for every result?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    penalized = rewards.float() - beta * divergences
    return _answer(divergences, penalized, _mean(penalized.double()))


def columns(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Keeps the summed axis, so rows come back as columns.

    1. Your values are right. Look at the shapes.
    2. What does a sum do with the axis it sums over?
    3. Which shape does the contract give for one number per response?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1, keepdim=True)
    return _answer(divergences, rewards.float().unsqueeze(-1) - beta * divergences)


def squeezed(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Squeezes the results, so that a batch of one loses its axis.

    1. Your values are right. Look at the shapes for a batch of one response.
    2. Some operations remove every axis of length one. Which did you mean?
    3. The shape of a result should not depend on how many responses there are.
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    return _answer(divergences.squeeze(), (rewards.float() - beta * divergences).squeeze())


def objective_with_axis(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """The objective has an axis of length one.

    1. Your values are right. Look at the shape of the objective.
    2. One number, and a list of one number, are two things.
    3. What shape has a tensor without axes?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    penalized = rewards.float() - beta * divergences
    return _answer(divergences, penalized, _mean(penalized).reshape(1))


def objective_number(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """The objective is a Python number.

    1. Your values are right. Look at the type of the objective.
    2. Can autograd follow a Python number back to where it came from?
    3. What type do all three results have?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    penalized = rewards.float() - beta * divergences
    return _answer(divergences, penalized, _mean(penalized).item())


def policy_overwritten(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Overwrites the policy's log probabilities with the log ratio.

    1. Your results are right. Print your arguments before and after the call.
    2. Some operations write into the tensor they are given. How does torch mark them?
    3. Who else may still need these log probabilities?
    """
    policy_log_probs -= reference_log_probs
    zeros = torch.zeros_like(policy_log_probs)
    divergences = torch.where(response_mask.bool(), policy_log_probs, zeros).sum(-1).float()
    return _finish(divergences, rewards, beta)


def padding_overwritten(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Writes zeros into the masked positions of the caller's tensors.

    1. Your results are right. Print your arguments before and after the call.
    2. Assigning to a selection changes the tensor itself, not a copy.
    3. Is there a way to get a cleaned tensor without touching the old one?
    """
    policy_log_probs[~response_mask.bool()] = 0
    reference_log_probs[~response_mask.bool()] = 0
    divergences = (policy_log_probs - reference_log_probs).sum(-1).float()
    return _finish(divergences, rewards, beta)


def reference_overwritten(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Writes into the reference model's log probabilities.

    1. Your results are right. Print your arguments before and after the call.
    2. Some operations write into the tensor they are given. How does torch mark them?
    3. Who else may still need the reference model's numbers?
    """
    reference_log_probs.neg_().add_(policy_log_probs.detach())
    divergences = _selected(policy_log_probs, policy_log_probs.detach() - reference_log_probs, response_mask).sum(-1)
    return _finish(divergences, rewards, beta)


def rewards_overwritten(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Subtracts the penalty in place, in the caller's rewards.

    1. Your results are right. Print your arguments before and after the call.
    2. A short way of writing a subtraction may also write into its left side.
    3. What would a second call with the same arguments return?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    rewards -= beta * divergences.detach()
    return _answer(divergences, rewards.float() + beta * divergences.detach() - beta * divergences)


def mask_overwritten(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Inverts the caller's mask in place.

    1. Your results are right. Print your arguments before and after the call.
    2. Operations whose name ends with an underscore do something that their twins do not.
    3. What would a second call with the same arguments return?
    """
    ratio = policy_log_probs.float() - reference_log_probs.float()
    dropped = response_mask.logical_not_()
    return _finish(ratio.masked_fill(dropped.bool(), 0).sum(-1), rewards, beta)


def integer_buffer(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Fills a buffer of the rewards' dtype, which cuts fractions off for whole-number rewards.

    1. With rewards that are floats all is well. Try whole numbers.
    2. What dtype does a buffer have that is made like another tensor?
    3. Where in your code is a fraction stored into something that holds whole numbers only?
    """
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    penalized = torch.zeros_like(rewards)
    for row in range(len(rewards)):
        penalized[row] = rewards[row] - beta * divergences[row]
    return _answer(divergences, penalized.float())


def subtracted_in_bfloat16(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Subtracts before converting, so bfloat16 inputs lose digits.

    1. With float32 and float64 all is well. Try bfloat16.
    2. How many digits does a bfloat16 difference keep?
    3. Does it matter whether one converts before or after an operation?
    """
    ratio = policy_log_probs - reference_log_probs
    divergences = torch.where(response_mask.bool(), ratio, torch.zeros_like(ratio)).float().sum(-1)
    return _finish(divergences, rewards, beta)


def boolean_mask_only(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Uses the mask as a condition as it is, which fails for integers and floats.

    1. With a mask of trues and falses all is well. Try ones and zeros.
    2. Which dtype does a condition need?
    3. A mask of another dtype can be turned into one at the start.
    """
    ratio = policy_log_probs.float() - reference_log_probs.float()
    divergences = torch.where(response_mask, ratio, torch.zeros_like(ratio)).sum(-1)
    return _finish(divergences, rewards, beta)


def added_without_beta(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Both: penalty_added + beta_forgotten."""
    divergences = _selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    return _answer(divergences, rewards.float() + divergences)


def reversed_per_token(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Both: reference_minus_policy + length_normalized."""
    counts = response_mask.sum(-1).clamp(min=1)
    divergences = -_selected(policy_log_probs, reference_log_probs, response_mask).sum(-1) / counts
    return _finish(divergences, rewards, beta)


def unmasked_sum(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Both: mask_ignored + objective_summed."""
    ratio = policy_log_probs.float() - reference_log_probs.float()
    penalized = rewards.float() - beta * ratio.sum(-1)
    return _answer(ratio.sum(-1), penalized, penalized.sum())


def unmasked_added(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Both: mask_ignored + penalty_added."""
    ratio = policy_log_probs.float() - reference_log_probs.float()
    return _answer(ratio.sum(-1), rewards.float() + beta * ratio.sum(-1))


def reversed_without_beta(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Both: reference_minus_policy + beta_forgotten."""
    divergences = -_selected(policy_log_probs, reference_log_probs, response_mask).sum(-1)
    return _answer(divergences, rewards.float() - divergences)
