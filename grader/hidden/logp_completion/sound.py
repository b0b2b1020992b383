"""Correct implementations of `logp_completion`, written differently: each must earn full marks."""

import torch
import torch.nn.functional as F


def plain_formula(logits, tokens, mask):
    """The contract's formula: log-softmax, gather, multiply by the mask, sum."""
    scores = torch.log_softmax(logits[..., :-1, :], dim=-1)
    picked = scores.gather(-1, tokens[..., 1:].unsqueeze(-1)).squeeze(-1)
    return (picked * mask[..., 1:]).sum(-1)


def where_masked(logits, tokens, mask):
    """Chooses with `torch.where`, so that infinities at masked positions do not matter."""
    scores = logits.log_softmax(-1)[..., :-1, :]
    picked = torch.gather(scores, -1, tokens[..., 1:, None])[..., 0]
    return torch.where(mask[..., 1:].bool(), picked, torch.zeros_like(picked)).sum(dim=-1)


def gather_minus_logsumexp(logits, tokens, mask):
    """The chosen logit minus logsumexp."""
    before, after = logits[..., :-1, :], tokens[..., 1:]
    chosen = before.gather(-1, after.unsqueeze(-1)).squeeze(-1)
    return ((chosen - torch.logsumexp(before, dim=-1)) * mask[..., 1:]).sum(-1)


def cross_entropy_kept(logits, tokens, mask):
    """Cross entropy without reduction on flattened positions, reshaped."""
    before, after = logits[..., :-1, :], tokens[..., 1:]
    costs = F.cross_entropy(before.reshape(-1, logits.shape[-1]), after.reshape(-1), reduction="none")
    return -(costs.reshape(after.shape) * mask[..., 1:]).sum(-1)


def ignored_index(logits, tokens, mask):
    """Cross entropy with masked tokens as the ignored index, in copies."""
    after = tokens[..., 1:].masked_fill(~mask[..., 1:].bool(), -100)
    before = logits[..., :-1, :]
    costs = F.cross_entropy(before.flatten(end_dim=-2), after.flatten(), ignore_index=-100, reduction="none")
    return costs.view(after.shape).sum(-1).neg()


def float64_inside(logits, tokens, mask):
    """Computes in float64, rounds at the end."""
    scores = logits.double()[..., :-1, :].log_softmax(-1)
    picked = scores.gather(-1, tokens[..., 1:].unsqueeze(-1)).squeeze(-1)
    return picked.masked_fill(mask[..., 1:] == 0, 0).sum(-1).to(logits.dtype)


def time_loop(logits, tokens, mask):
    """One position after the other."""
    total = torch.zeros(tokens.shape[:-1], dtype=logits.dtype)
    for t in range(1, tokens.shape[-1]):
        scores = torch.log_softmax(logits[..., t - 1, :], dim=-1)
        picked = scores.gather(-1, tokens[..., t].unsqueeze(-1)).squeeze(-1)
        total = total + picked * mask[..., t]
    return total


def one_hot_einsum(logits, tokens, mask):
    """One-hot tokens contracted with the log-softmax."""
    scores = torch.log_softmax(logits, -1)[..., :-1, :]
    hot = F.one_hot(tokens[..., 1:], logits.shape[-1]).to(scores.dtype)
    return torch.einsum("...tv,...tv,...t->...", scores, hot, mask[..., 1:].to(scores.dtype))


def shifted_by_hand(logits, tokens, mask):
    """Subtracts each position's largest logit before the exponential."""
    before = logits[..., :-1, :]
    centered = before - before.amax(-1, keepdim=True)
    normalizer = centered.exp().sum(-1).log()
    chosen = torch.take_along_dim(centered, tokens[..., 1:].unsqueeze(-1), -1).squeeze(-1)
    return torch.where(mask[..., 1:] != 0, chosen - normalizer, 0.0).sum(-1)


def padded_front(logits, tokens, mask):
    """Keeps T positions: shifts the logits with zeros in front and clears position 0 in a copy of the mask."""
    moved = torch.cat([torch.zeros_like(logits[..., :1, :]), logits[..., :-1, :]], dim=-2)
    keep = mask.clone()
    keep[..., 0] = 0
    picked = moved.log_softmax(-1).gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    return (picked * keep).sum(-1)


def row_by_row(logits, tokens, mask):
    """Flattens the leading axes and indexes the selected positions of each row."""
    lead = tokens.shape[:-1]
    rows = []
    flat = zip(
        logits.reshape(-1, *logits.shape[-2:]), tokens.reshape(-1, tokens.shape[-1]), mask.reshape(-1, mask.shape[-1])
    )
    for scores, ids, keep in flat:
        positions = [t for t in range(1, len(ids)) if keep[t]]
        terms = [scores[t - 1].log_softmax(-1)[ids[t]] for t in positions]
        rows.append(sum(terms, scores.new_zeros(())))
    return torch.stack(rows).reshape(lead)
