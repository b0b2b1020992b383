"""Correct implementations of `kl_penalized_rewards`, written differently: each must earn full marks."""

import torch


def _answer(divergences, penalized, objective):
    return {
        "objective": objective.float(),
        "penalized_rewards": penalized.float(),
        "sampled_divergences": divergences.float(),
    }


def plain_formula(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """The contract's formulas, with `torch.where` before the sum."""
    ratio = policy_log_probs.float() - reference_log_probs.float()
    divergences = torch.where(response_mask.bool(), ratio, torch.zeros_like(ratio)).sum(-1)
    penalized = rewards.float() - beta * divergences
    objective = penalized.mean() if len(penalized) else penalized.new_zeros(())
    return {"objective": objective, "penalized_rewards": penalized, "sampled_divergences": divergences}


def float64_first(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Computes in float64 and rounds at the end."""
    ratio = policy_log_probs.double() - reference_log_probs.double()
    divergences = ratio.masked_fill(~response_mask.bool(), 0).sum(-1)
    penalized = rewards.double() - beta * divergences
    return _answer(divergences, penalized, penalized.sum() / max(len(penalized), 1))


def sums_apart(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Sums policy and reference on their own and subtracts the sums."""
    mask = response_mask.bool()
    policy = torch.where(mask, policy_log_probs.float(), 0.0).sum(-1)
    reference = torch.where(mask, reference_log_probs.float(), 0.0).sum(-1)
    penalized = rewards.float() - beta * policy + beta * reference
    return _answer(policy - reference, penalized, penalized.sum() / max(len(rewards), 1))


def row_loop(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Indexes the selected tokens row by row."""
    divergences = torch.zeros_like(rewards, dtype=torch.float32)
    for row, mask in enumerate(response_mask.bool()):
        selected = policy_log_probs[row][mask].float() - reference_log_probs[row][mask].float()
        divergences[row] = selected.sum()
    penalized = rewards.float() - beta * divergences
    objective = penalized.mean() if len(rewards) else torch.zeros((), device=rewards.device)
    return _answer(divergences, penalized, objective)


def token_loop(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Adds one position after the other, from the last to the first, in float32."""
    policy, reference = policy_log_probs.float(), reference_log_probs.float()
    divergences = torch.zeros_like(rewards, dtype=torch.float32)
    for t in reversed(range(policy.shape[1])):
        step = policy[:, t] - reference[:, t]
        divergences = divergences + torch.where(response_mask[:, t].bool(), step, torch.zeros_like(step))
    penalized = rewards.float() - divergences * beta
    return _answer(divergences, penalized, penalized.sum() / max(1, penalized.numel()))


def einsum_of_clean(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Cleans both inputs with the mask, then contracts with a signed pair of weights."""
    keep = response_mask.bool()
    both = torch.stack([policy_log_probs.float(), reference_log_probs.float()])
    clean = torch.where(keep, both, torch.zeros_like(both))
    signs = torch.tensor([1.0, -1.0], device=clean.device)
    divergences = torch.einsum("k,kbt->b", signs, clean)
    penalized = torch.add(rewards.float(), divergences, alpha=-beta)
    objective = torch.where(torch.tensor(len(rewards) > 0), penalized.sum() / max(len(rewards), 1), torch.zeros(()))
    return _answer(divergences, penalized, objective)


def scattered(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Collects the selected positions of the whole batch and adds each to its row; has an extra key."""
    rows, columns = torch.nonzero(response_mask, as_tuple=True)
    selected = policy_log_probs[rows, columns].float() - reference_log_probs[rows, columns].float()
    divergences = torch.zeros(len(rewards), device=rewards.device).index_add(0, rows, selected)
    penalized = rewards.float() - beta * divergences
    answer = _answer(divergences, penalized, penalized.sum() / max(len(rewards), 1))
    return {"lengths": response_mask.sum(-1), **answer}


def cumulative(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Running sums with a zero in front, read at the end; the objective from means of its parts."""
    ratio = (policy_log_probs.double() - reference_log_probs.double()).masked_fill(response_mask == 0, 0.0)
    padded = torch.cat([ratio.new_zeros(len(ratio), 1), ratio], dim=1)
    divergences = padded.cumsum(1)[:, -1]
    count = max(len(rewards), 1)
    objective = rewards.double().sum() / count - beta * (divergences.sum() / count)
    return _answer(divergences, rewards.double() - beta * divergences, objective)


def inputs_dtype(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Works in the inputs' own dtype (bfloat16 and integers aside) and converts the results."""
    dtype = policy_log_probs.dtype if policy_log_probs.dtype in (torch.float32, torch.float64) else torch.float32
    ratio = torch.sub(policy_log_probs.to(dtype), reference_log_probs.to(dtype))
    divergences = torch.sum(torch.where(response_mask.bool(), ratio, ratio.new_zeros(())), dim=1)
    penalized = rewards.to(dtype) - beta * divergences
    objective = torch.nan_to_num(penalized.mean()) if penalized.shape[0] == 0 else penalized.mean()
    return _answer(divergences, penalized, objective)


def compensated(policy_log_probs, reference_log_probs, rewards, response_mask, beta):
    """Halves the row again and again and adds the halves: pairwise summation."""
    ratio = policy_log_probs.float() - reference_log_probs.float()
    terms = torch.where(response_mask.bool(), ratio, torch.zeros_like(ratio))
    while terms.shape[1] > 1:
        half = terms.shape[1] // 2
        rest = terms[:, 2 * half :]
        terms = torch.cat([terms[:, :half] + terms[:, half : 2 * half], rest], dim=1)
    divergences = terms.sum(1)
    penalized = rewards.float() - beta * divergences
    return _answer(divergences, penalized, penalized.mean() if len(rewards) else rewards.new_zeros(()))
