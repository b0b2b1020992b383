"""Wrong implementations of `logp_completion` that people write, each named by its id.

Run as a submission, never imported by the grader. First docstring line: what is wrong. Numbered lines: the hint, in
three steps that leave the answer to the learner. `Both: a + b.` marks a double mistake, hinted by its parts.
"""

import math

import torch
import torch.nn.functional as F


def _pick(scores, tokens):
    """The entry of each token."""
    return scores.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)


def _picked(logits, tokens):
    """The right log probability of tokens 1 to T - 1."""
    return _pick(torch.log_softmax(logits, -1)[..., :-1, :], tokens[..., 1:])


def _keep(picked, mask):
    """The sum over selected positions."""
    return torch.where(mask.bool(), picked, torch.zeros_like(picked)).sum(-1)


def no_shift(logits, tokens, mask):
    """Scores each token with the logits of its own position.

    1. Which logits does your function use for the second token?
    2. When the model computes the logits at a position, has it already read the token there?
    3. Draw an arrow from each vector of logits to the token that it predicts.
    """
    picked = _pick(torch.log_softmax(logits, -1), tokens)
    return _keep(picked, mask)


def shift_wrong_way(logits, tokens, mask):
    """Scores each token with the logits of the next position.

    1. Which logits does your function use for the second token?
    2. Does a language model predict what comes next, or what came before?
    3. Draw an arrow from each vector of logits to the token that it predicts.
    """
    picked = _pick(torch.log_softmax(logits, -1)[..., 1:, :], tokens[..., :-1])
    return _keep(picked, mask[..., :-1])


def prompt_included(logits, tokens, mask):
    """Ignores the mask: prompt and padding are scored too.

    1. One of the three arguments does not influence your result. Which?
    2. The prompt was given to the model. Whose choice were its tokens?
    3. Change a token of the padding: should the result move?
    """
    picked = _picked(logits, tokens)
    return picked.sum(-1)


def mask_not_shifted(logits, tokens, mask):
    """Moves tokens and logits by one, but not the mask.

    1. After dropping the first token, which entry of the mask belongs to the first number you have?
    2. Try a completion of a single token: does your function count that one, or a neighbor?
    3. Tokens and mask describe the same positions. Did you treat them alike?
    """
    picked = _picked(logits, tokens)
    return _keep(picked, mask[..., :-1])


def mask_inverted(logits, tokens, mask):
    """Counts what the mask leaves out.

    1. Try a mask that selects nothing: what does your function return?
    2. In this mask, does true mean keep or drop?
    3. Which tokens did the policy itself write?
    """
    picked = _picked(logits, tokens)
    return _keep(picked, ~mask[..., 1:].bool())


def first_token_dropped(logits, tokens, mask):
    """Counts a token only if the one in front of it is selected too.

    1. Try a completion of a single token.
    2. The first token of a completion is predicted from the prompt. Does it belong to the completion?
    3. Does it matter whether the mask selects the position whose logits you use?
    """
    picked = _picked(logits, tokens)
    return _keep(picked, mask[..., 1:].bool() & mask[..., :-1].bool())


def last_token_dropped(logits, tokens, mask):
    """Leaves out the last token of the completion.

    1. Try a completion of a single token.
    2. The last token of a completion is often the one that ends it. Did the policy choose it?
    3. Which logits have no partner: the first ones, or the last ones?
    """
    following = F.pad(mask.bool()[..., 2:], (0, 1)) if tokens.shape[-1] > 1 else mask[..., 1:].bool()
    picked = _picked(logits, tokens)
    return _keep(picked, mask[..., 1:].bool() & following)


def gaps_filled(logits, tokens, mask):
    """Counts everything between the first and the last selected token.

    1. Try a mask with a gap.
    2. A completion can hold tokens that the policy did not write, for example the output of a tool.
    3. The mask says of every position whether it counts. Do you use all of what it says?
    """
    chosen = mask[..., 1:].long()
    stretch = (chosen.cumsum(-1) > 0) & (chosen.flip(-1).cumsum(-1).flip(-1) > 0)
    picked = _picked(logits, tokens)
    return _keep(picked, stretch)


def padding_counted(logits, tokens, mask):
    """Counts everything from the first selected token on.

    1. Try a short completion with padding behind it.
    2. Where does a completion end, and who tells you?
    3. The mask says of every position whether it counts. Do you use all of what it says?
    """
    begun = mask.long().cumsum(-1)[..., 1:] > 0
    picked = _picked(logits, tokens)
    return _keep(picked, begun)


def zero_is_padding(logits, tokens, mask):
    """Treats token id 0 as padding.

    1. Try a completion in which one of the ids is 0.
    2. Which ids are special differs from tokenizer to tokenizer. Does the contract name any?
    3. What decides whether a position counts?
    """
    picked = _picked(logits, tokens)
    return _keep(picked, mask[..., 1:].bool() & (tokens[..., 1:] != 0))


def first_row_mask(logits, tokens, mask):
    """Uses the first sequence's mask for all of them.

    1. The first sequence of a batch is right. What about the others?
    2. Prompts of one batch have different lengths.
    3. How many masks does a batch of sequences have?
    """
    picked = _picked(logits, tokens)
    return _keep(picked, mask.reshape(-1, mask.shape[-1])[0, 1:])


def position_zero_wrapped(logits, tokens, mask):
    """Rolls the logits around, so that the last ones score the first token.

    1. All is well until the mask selects position 0.
    2. After a roll, what stands in the place that became free?
    3. What does the model know before the first token?
    """
    picked = _pick(torch.log_softmax(logits, -1).roll(1, -2), tokens)
    return _keep(picked, mask)


def position_zero_uniform(logits, tokens, mask):
    """Gives a selected first token the probability of a blind guess.

    1. All is well until the mask selects position 0.
    2. What predicts the first token?
    3. Read once more which positions the sum of the contract runs over.
    """
    guess = -math.log(logits.shape[-1]) * mask[..., 0].float()
    picked = _picked(logits, tokens)
    return _keep(picked, mask[..., 1:]) + guess


def length_normalized(logits, tokens, mask):
    """Divides by the number of counted tokens.

    1. Compare a completion of one token with one of three.
    2. How does one get the logarithm of a product from those of its factors?
    3. Is a long completion as likely as its average token?
    """
    counts = mask[..., 1:].sum(-1).clamp(min=1)
    picked = _picked(logits, tokens)
    return _keep(picked, mask[..., 1:]) / counts


def raw_logits(logits, tokens, mask):
    """Adds up logits without normalizing them.

    1. Add 7 to every logit: should a log probability move?
    2. Exponentiate your numbers for one position: do they sum to one?
    3. What lies between a logit and a log probability?
    """
    picked = _pick(logits[..., :-1, :], tokens[..., 1:])
    return _keep(picked, mask[..., 1:])


def probabilities_summed(logits, tokens, mask):
    """Adds up probabilities.

    1. Your results are positive. Can the logarithm of a probability be?
    2. The probability of a sequence is a product. What turns a product into a sum?
    3. Which quantity has to be added over the tokens?
    """
    picked = _pick(torch.softmax(logits, -1)[..., :-1, :], tokens[..., 1:])
    return _keep(picked, mask[..., 1:])


def exponentiated(logits, tokens, mask):
    """Returns the probability of the completion, not its logarithm.

    1. Your results lie between 0 and 1. Can the logarithm of a probability be positive?
    2. What would become of your result for a completion of 500 tokens?
    3. One step too many: which?
    """
    picked = _picked(logits, tokens)
    return _keep(picked, mask[..., 1:]).exp()


def logsigmoid(logits, tokens, mask):
    """Scores every logit on its own, without looking at the other tokens.

    1. Raise the logit of a token that was not written: should the result move?
    2. Exponentiate your numbers for one position: do they sum to one?
    3. The tokens of a vocabulary exclude each other. Which function shares one probability out among them?
    """
    picked = _pick(F.logsigmoid(logits)[..., :-1, :], tokens[..., 1:])
    return _keep(picked, mask[..., 1:])


def softmax_over_time(logits, tokens, mask):
    """Normalizes over time instead of over the vocabulary.

    1. Change the logits of a later position: should the score of an earlier token move?
    2. At one position the model chooses among what?
    3. Exponentiate your numbers along the vocabulary: do they sum to one?
    """
    picked = _pick(torch.log_softmax(logits, -2)[..., :-1, :], tokens[..., 1:])
    return _keep(picked, mask[..., 1:])


def best_token(logits, tokens, mask):
    """Scores the likeliest token instead of the one that was written.

    1. One of the three arguments does not influence your result. Which?
    2. Whose probability is asked for: that of the model's favorite, or that of what was written?
    3. Exchange one token for another: should the result move?
    """
    picked = torch.log_softmax(logits, -1)[..., :-1, :].amax(-1)
    return _keep(picked, mask[..., 1:])


def log_of_softmax(logits, tokens, mask):
    """Takes the logarithm of a softmax, which underflows to zero.

    1. Your values are right until one logit stands far above the others.
    2. What is the smallest positive number a float32 can hold, and is your intermediate result above it?
    3. Is there a way from logits to log probabilities that never passes through a probability?
    """
    picked = _pick(torch.softmax(logits, -1).log()[..., :-1, :], tokens[..., 1:])
    return _keep(picked, mask[..., 1:])


def log_of_softmax_multiplied(logits, tokens, mask):
    """Takes the logarithm of a softmax, which underflows to zero, and multiplies minus infinity by the mask.

    1. Your values are right until one logit stands far above the others; then they are not even numbers.
    2. What is the smallest positive number a float32 can hold, and is your intermediate result above it?
    3. Is there a way from logits to log probabilities that never passes through a probability?
    """
    picked = _pick(torch.softmax(logits, -1).log()[..., :-1, :], tokens[..., 1:])
    return (picked * mask[..., 1:]).sum(-1)


def epsilon_in_log(logits, tokens, mask):
    """Adds a small number inside the logarithm, so that no result falls below a floor.

    1. Your values are right until one logit stands far above the others.
    2. What is the lowest value your logarithm can return?
    3. Is there a way from logits to log probabilities that needs no rescue?
    """
    picked = _pick(torch.log(torch.softmax(logits, -1) + 1e-12)[..., :-1, :], tokens[..., 1:])
    return _keep(picked, mask[..., 1:])


def scores_clamped(logits, tokens, mask):
    """Lets no log probability fall below -100.

    1. Your values are right until a token is all but impossible.
    2. Does the contract set a lowest log probability?
    3. Two tokens, one of which is far less likely than the other: should they score alike?
    """
    picked = _picked(logits, tokens)
    picked = picked.clamp(min=-100)
    return _keep(picked, mask[..., 1:])


def exp_overflow(logits, tokens, mask):
    """Exponentiates logits as they are, which overflows.

    1. Your values are right for small logits. Try 100.
    2. What is the largest number whose exponential a float32 can hold?
    3. Adding one number to all logits of a position changes no probability. Can that help?
    """
    normalizer = logits.exp().sum(-1).log()[..., :-1]
    picked = _pick(logits[..., :-1, :], tokens[..., 1:]) - normalizer
    return _keep(picked, mask[..., 1:])


def one_maximum(logits, tokens, mask):
    """Subtracts one and the same maximum everywhere, so that lower positions underflow.

    1. Your values are right while all positions have logits of one size.
    2. Over which axes is your maximum taken?
    3. Which logits does one softmax look at?
    """
    centered = logits - logits.max()
    normalizer = centered.exp().sum(-1).log()[..., :-1]
    picked = _pick(centered[..., :-1, :], tokens[..., 1:]) - normalizer
    return _keep(picked, mask[..., 1:])


def half_precision(logits, tokens, mask):
    """Computes in half precision.

    1. Your numbers are nearly right: compare the digits.
    2. How many digits does a 16-bit float hold? And how many does the contract ask for?
    3. Look for a conversion that you do not need.
    """
    picked = _pick(torch.log_softmax(logits.half(), -1)[..., :-1, :], tokens[..., 1:]).to(logits.dtype)
    return _keep(picked, mask[..., 1:])


def negative_log_likelihood(logits, tokens, mask):
    """Returns the negative: a loss instead of a log probability.

    1. Your results are positive. Can the logarithm of a probability be?
    2. A likelier completion should have a higher result. Does it?
    3. Is this function a score to be raised or a loss to be lowered?
    """
    picked = _picked(logits, tokens)
    return -_keep(picked, mask[..., 1:])


def cross_entropy_mean(logits, tokens, mask):
    """Returns the negative of the mean cross entropy over all tokens of the batch.

    1. How many numbers should come back for a batch of two sequences?
    2. What does the loss function you call do with the losses of single tokens, unless told otherwise?
    3. Does a long completion have the same log probability as its average token?
    """
    labels = tokens[..., 1:].masked_fill(mask[..., 1:] == 0, -100)
    return -F.cross_entropy(logits[..., :-1, :].reshape(-1, logits.shape[-1]), labels.reshape(-1))


def batch_summed(logits, tokens, mask):
    """Adds up all sequences as well.

    1. How many numbers should come back for a batch of two sequences?
    2. Which axes does your sum remove, and which may it remove?
    3. What happens to the shape of a table when entries are picked with a mask?
    """
    picked = _picked(logits, tokens)
    return _keep(picked, mask[..., 1:]).sum()


def batch_axis_required(logits, tokens, mask):
    """Works for exactly one leading axis.

    1. A batch of sequences comes out right. Try one sequence alone, and a table of sequences.
    2. Where does your code count on three axes?
    3. Axes can be counted from the end as well as from the front.
    """
    batch, length, size = logits.shape
    picked = _picked(logits.reshape(batch, length, size), tokens.reshape(batch, length))
    return _keep(picked, mask[..., 1:])


def leading_axes_merged(logits, tokens, mask):
    """Merges the leading axes into one and leaves it so.

    1. Your numbers are right. Look at their shape for one sequence alone, and for a table of sequences.
    2. What did your function do to the leading axes, and does anything undo it?
    3. The result should have the shape of the tokens without their last axis.
    """
    picked = _picked(logits, tokens)
    return _keep(picked, mask[..., 1:]).reshape(-1)


def single_position_fails(logits, tokens, mask):
    """Fails when there is nothing to predict.

    1. All is well until T = 1.
    2. An empty sum is a number. Which one?
    3. What does your code do with an empty list of positions?
    """
    steps = range(1, tokens.shape[-1])
    picked = torch.stack([_pick(torch.log_softmax(logits[..., t - 1, :], -1), tokens[..., t]) for t in steps], -1)
    return _keep(picked, mask[..., 1:])


def mean_of_nothing(logits, tokens, mask):
    """Averages and multiplies back, which gives NaN where nothing is selected.

    1. All is well until nothing is selected.
    2. What is zero divided by zero?
    3. Do you need a mean on the way to a sum?
    """
    counts = mask[..., 1:].sum(-1)
    picked = _picked(logits, tokens)
    return _keep(picked, mask[..., 1:]) / counts * counts


def columns(logits, tokens, mask):
    """Keeps the summed axis.

    1. Your values are right. Look at the shape of the result.
    2. What does a sum do with the axis it sums over?
    3. The result should have the shape of the tokens without their last axis.
    """
    picked = _picked(logits, tokens)
    return _keep(picked, mask[..., 1:]).unsqueeze(-1)


def squeezed(logits, tokens, mask):
    """Squeezes the result, so that leading axes of length one vanish.

    1. Your values are right. Look at the shape of the result for a batch of one sequence.
    2. Some operations remove every axis of length one. Which did you mean?
    3. The result should have the shape of the tokens without their last axis.
    """
    picked = _picked(logits, tokens)
    return _keep(picked, mask[..., 1:]).squeeze()


def array_returned(logits, tokens, mask):
    """Returns a numpy array instead of a tensor.

    1. Your values are right. Look at the type of the result.
    2. Can autograd follow a numpy array back to where it came from?
    3. What does an optimizer need in order to raise this log probability?
    """
    picked = _picked(logits, tokens)
    return _keep(picked, mask[..., 1:]).detach().numpy()


def graph_cut(logits, tokens, mask):
    """Detaches the log probabilities: right values, no gradient.

    1. Your values are right. Ask autograd for the derivative in the logits.
    2. Which operations end the chain from a result back to its inputs?
    3. Can an optimizer follow your result back to the model?
    """
    picked = _picked(logits, tokens)
    return _keep(picked.detach(), mask[..., 1:])


def normalizer_detached(logits, tokens, mask):
    """Lets the gradient through the chosen logit only.

    1. Your values are right. Ask autograd for the derivative in the logits of one position, and add it up.
    2. Adding one number to all logits of a position changes nothing. What does that say about their slopes?
    3. By which ways does a logit enter a log probability?
    """
    before = logits[..., :-1, :]
    picked = _pick(before, tokens[..., 1:]) - before.logsumexp(-1).detach()
    return _keep(picked, mask[..., 1:])


def gradient_lost(logits, tokens, mask):
    """Chooses between two formulas after computing both, which makes gradients NaN at large logits.

    1. Your values are right. Ask autograd for the derivative at large logits.
    2. Autograd differentiates both branches of a choice, the one not taken as well.
    3. Is there one formula that holds everywhere?
    """
    chances = torch.softmax(logits, -1)
    scores = torch.where(chances > 1e-30, chances.log(), torch.log_softmax(logits, -1))
    picked = _pick(scores[..., :-1, :], tokens[..., 1:])
    return _keep(picked, mask[..., 1:])


def tokens_overwritten(logits, tokens, mask):
    """Writes zeros over the caller's masked tokens.

    1. Your values are right. Print your arguments before and after the call.
    2. Assigning to a selection changes the tensor itself, not a copy.
    3. Who else may still need these tokens?
    """
    tokens[mask == 0] = 0
    picked = _picked(logits, tokens)
    return _keep(picked, mask[..., 1:])


def mask_overwritten(logits, tokens, mask):
    """Clears position 0 in the caller's mask.

    1. Your values are right. Print your arguments before and after the call.
    2. Assigning to one entry changes the tensor itself, not a copy.
    3. Is there a way to leave position 0 out without writing into the mask?
    """
    mask[..., 0] = False
    picked = _picked(logits, tokens)
    return _keep(picked, mask[..., 1:])


def logits_overwritten(logits, tokens, mask):
    """Centers the caller's logits in place.

    1. Your values are right. Print your arguments before and after the call.
    2. A short way of writing a subtraction may also write into its left side.
    3. Who else may still need these logits?
    """
    with torch.no_grad():
        logits -= logits.amax(-1, keepdim=True)
    picked = _picked(logits, tokens)
    return _keep(picked, mask[..., 1:])


def boolean_mask_only(logits, tokens, mask):
    """Uses the mask as a condition as it is, which fails for integers and floats.

    1. With a mask of trues and falses all is well. Try ones and zeros.
    2. Which dtype does a condition need?
    3. A mask of another dtype can be turned into one at the start.
    """
    picked = _picked(logits, tokens)
    return torch.where(mask[..., 1:], picked, torch.zeros_like(picked)).sum(-1)


def unshifted_and_unmasked(logits, tokens, mask):
    """Both: no_shift + prompt_included."""
    return _pick(torch.log_softmax(logits, -1), tokens).sum(-1)


def mean_negative(logits, tokens, mask):
    """Both: length_normalized + negative_log_likelihood."""
    counts = mask[..., 1:].sum(-1).clamp(min=1)
    picked = _picked(logits, tokens)
    return -_keep(picked, mask[..., 1:]) / counts


def unmasked_mean(logits, tokens, mask):
    """Both: prompt_included + length_normalized."""
    picked = _picked(logits, tokens)
    return picked.sum(-1) / max(picked.shape[-1], 1)


def unshifted_raw(logits, tokens, mask):
    """Both: no_shift + raw_logits."""
    return _keep(_pick(logits, tokens), mask)


def unshifted_mean(logits, tokens, mask):
    """Both: no_shift + length_normalized."""
    picked = _pick(torch.log_softmax(logits, -1), tokens)
    return _keep(picked, mask) / mask.sum(-1).clamp(min=1)
