"""Correct implementations of `spo_loss`, written differently: each must earn full marks."""

import torch
import torch.nn.functional as F


def plain_formula(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """The contract's formula."""
    ratios = (logp_1 - logp_ref_1) - (logp_2 - logp_ref_2)
    return beta / 4 * (ratios - (reward_1 - reward_2) / beta) ** 2


def policy_minus_reference(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Groups the policy's difference and the reference's."""
    residual = (logp_1 - logp_2) - (logp_ref_1 - logp_ref_2) - (reward_1 - reward_2) / beta
    return residual.square() * (beta / 4)


def implicit_rewards(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """In units of reward: the squared gap between implicit and real reward differences, over 4 beta."""
    implied = beta * (logp_1 - logp_ref_1) - beta * (logp_2 - logp_ref_2)
    return (implied - (reward_1 - reward_2)).pow(2) / (4 * beta)


def rebel_identity(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """REBEL's squared error at eta = 1 / beta, divided by 4 beta."""
    eta = 1 / beta
    rebel = ((logp_1 - logp_ref_1 - (logp_2 - logp_ref_2)) / eta - (reward_1 - reward_2)) ** 2
    return rebel / (4 * beta)


def mean_squared_error(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """torch's squared error without reduction."""
    ratios = torch.sub(logp_1, logp_ref_1) - torch.sub(logp_2, logp_ref_2)
    return 0.25 * beta * F.mse_loss(ratios, (reward_1 - reward_2) / beta, reduction="none")


def float64_inside(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Computes in float64, rounds at the end."""
    first, second, reference_1, reference_2 = (x.double() for x in (logp_1, logp_2, logp_ref_1, logp_ref_2))
    gap = reward_1.double() - reward_2.double()
    return (beta / 4 * (first - reference_1 - second + reference_2 - gap / beta) ** 2).to(logp_1.dtype)


def one_completion_at_a_time(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """The difference of each completion's own miss, its log ratio minus its reward over beta."""
    miss_1 = (logp_1 - logp_ref_1) - reward_1 / beta
    miss_2 = (logp_2 - logp_ref_2) - reward_2 / beta
    return beta * ((miss_1 - miss_2) / 2) ** 2


def times_itself(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Multiplies the residual by itself, the other way round."""
    target = torch.div(reward_1 - reward_2, beta)
    residual = target - (logp_1 - logp_ref_1) + (logp_2 - logp_ref_2)
    return torch.mul(residual, residual).mul(beta).div(4)


def pair_loop(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """One pair after the other."""
    columns = (x.reshape(-1) for x in (logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2))
    losses = []
    for first, second, reference_1, reference_2, gain_1, gain_2 in zip(*columns):
        losses.append(beta / 4 * (first - reference_1 - (second - reference_2) - (gain_1 - gain_2) / beta) ** 2)
    return torch.stack(losses).reshape(logp_1.shape)


def signed_stack(logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2, beta):
    """Contracts the stacked arguments with a vector of weights."""
    stacked = torch.stack([logp_1, logp_2, logp_ref_1, logp_ref_2, reward_1, reward_2])
    weights = torch.tensor([1, -1, -1, 1, -1 / beta, 1 / beta], dtype=stacked.dtype)
    return torch.einsum("k...,k->...", stacked, weights).pow(2) * beta / 4
