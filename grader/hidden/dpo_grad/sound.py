"""Differently written right versions of `dpo_grad`: each must earn every point."""

import math

import numpy as np


def plain_formula(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The contract's formula with a stable sigmoid."""
    z = beta * ((policy_logprob_preferred - ref_logprob_preferred) - (policy_logprob_rejected - ref_logprob_rejected))
    small = np.exp(-np.abs(z))
    weight = beta * np.where(z >= 0, small, 1.0) / (1.0 + small) / z.size
    return -weight, weight


def exp_of_logaddexp(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """The sigmoid as the exponential of minus a softplus."""
    z = beta * ((policy_logprob_preferred - ref_logprob_preferred) - (policy_logprob_rejected - ref_logprob_rejected))
    weight = beta * np.exp(-np.logaddexp(0.0, z)) / z.size
    return -weight, weight


def expm1_of_loss(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Minus expm1 of the negated loss."""
    z = beta * ((policy_logprob_preferred - ref_logprob_preferred) - (policy_logprob_rejected - ref_logprob_rejected))
    weight = -beta * np.expm1(-np.logaddexp(0.0, -z)) / z.size
    return -weight, weight


def warning_branches(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """np.where between two forms; the branch not taken overflows and warns."""
    z = beta * ((policy_logprob_preferred - policy_logprob_rejected) - (ref_logprob_preferred - ref_logprob_rejected))
    weight = beta * np.where(z > 0, np.exp(-z) / (1 + np.exp(-z)), 1 / (1 + np.exp(z))) / z.size
    return -weight, weight


def overflow_to_infinity(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """One over an exponential that may overflow: one over infinity is right."""
    z = beta * ((policy_logprob_preferred - ref_logprob_preferred) - (policy_logprob_rejected - ref_logprob_rejected))
    weight = beta * 1.0 / (1.0 + np.exp(z)) / z.size
    return -weight, weight


def clipped_at_700(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """The margin limited to ±700 inside the sigmoid."""
    z = beta * ((policy_logprob_preferred - ref_logprob_preferred) - (policy_logprob_rejected - ref_logprob_rejected))
    weight = beta * 1.0 / (1.0 + np.exp(np.clip(z, -700.0, 700.0))) / z.size
    return -weight, weight


def math_loop(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """A Python loop with math and a branch."""
    count = len(policy_logprob_preferred)
    preferred, rejected = np.zeros(count), np.zeros(count)
    for i in range(count):
        z = float(
            beta * (policy_logprob_preferred[i] - ref_logprob_preferred[i])
            - beta * (policy_logprob_rejected[i] - ref_logprob_rejected[i])
        )
        share = math.exp(-z) / (1 + math.exp(-z)) if z > 0 else 1 / (1 + math.exp(z))
        preferred[i], rejected[i] = -beta * share / count, beta * share / count
    return preferred, rejected


def listed(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Lists made into arrays."""

    def share(z):
        return math.exp(-max(z, 0.0)) / (1.0 + math.exp(-abs(z)))

    z = [
        float(beta * a - beta * b - beta * c + beta * d)
        for a, b, c, d in zip(
            policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, strict=True
        )
    ]
    rejected = np.array([beta * share(x) for x in z]) / len(z)
    return -rejected, rejected


def expit_like(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """A sigmoid that flushes to zero past 708, as library versions do."""
    z = beta * ((policy_logprob_preferred - ref_logprob_preferred) - (policy_logprob_rejected - ref_logprob_rejected))
    weight = beta * np.where(z > 708.0, 0.0, np.exp(-np.maximum(z, 0.0)) / (1.0 + np.exp(-np.abs(z)))) / z.size
    return -weight, weight


def list_of_two(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """A list of two arrays is a pair too."""
    z = beta * ((policy_logprob_preferred - ref_logprob_preferred) - (policy_logprob_rejected - ref_logprob_rejected))
    weight = beta * np.exp(-np.logaddexp(z, 0.0)) / z.size
    return [-weight, weight]


def scaled_terms(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Beta times each of the four first; 1/N as a factor."""
    z = (
        beta * policy_logprob_preferred
        - beta * policy_logprob_rejected
        - beta * ref_logprob_preferred
        + beta * ref_logprob_rejected
    )
    scale = np.full(z.shape, 1.0 / len(z))
    softplus = np.log1p(np.exp(-np.abs(z))) + np.maximum(z, 0.0)
    return -beta * np.exp(-softplus) * scale, beta * np.exp(-softplus) * scale
