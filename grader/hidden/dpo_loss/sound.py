"""Differently written right versions of `dpo_loss`: each must earn every point."""

import math
from statistics import fmean

import numpy as np


def plain_formula(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """The contract's formula with logaddexp."""
    z = beta * ((policy_logprob_preferred - ref_logprob_preferred) - (policy_logprob_rejected - ref_logprob_rejected))
    return float(np.mean(np.logaddexp(0.0, -z)))


def log1p_of_exp(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """log1p of a safe exponential, plus the lost part of the margin."""
    z = beta * ((policy_logprob_preferred - ref_logprob_preferred) - (policy_logprob_rejected - ref_logprob_rejected))
    return float(np.mean(np.log1p(np.exp(-np.abs(z))) + np.maximum(-z, 0.0)))


def numpy_float(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Returns np.float64; the margin by policy and reference."""
    z = beta * ((policy_logprob_preferred - policy_logprob_rejected) - (ref_logprob_preferred - ref_logprob_rejected))
    return np.logaddexp(0, -z).mean()


def scaled_terms(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Beta times each of the four first."""
    z = (
        beta * policy_logprob_preferred
        - beta * ref_logprob_preferred
        - beta * policy_logprob_rejected
        + beta * ref_logprob_rejected
    )
    return np.mean(np.logaddexp(-z, 0.0))


def warning_branches(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """np.where between two forms; the branch not taken overflows and warns."""
    z = beta * ((policy_logprob_preferred - ref_logprob_preferred) - (policy_logprob_rejected - ref_logprob_rejected))
    return float(np.where(z > 0, np.log1p(np.exp(-z)), np.log1p(np.exp(z)) - z).mean())


def math_loop(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """A Python loop with math and a branch."""
    total = 0.0
    for a, b, c, d in zip(
        policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, strict=True
    ):
        z = float(beta * ((a - c) - (b - d)))
        total += math.log1p(math.exp(-z)) if z >= 0 else math.log1p(math.exp(z)) - z
    return total / len(policy_logprob_preferred)


def two_rewards(policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta):
    """Two implicit rewards; logaddexp of their difference."""
    won, lost = (
        beta * (policy_logprob_preferred - ref_logprob_preferred),
        beta * (policy_logprob_rejected - ref_logprob_rejected),
    )
    return float(np.mean(np.logaddexp(0.0, lost - won)))


def fmean_of_generator(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """A generator into statistics.fmean."""

    def one(z):
        return max(-z, 0.0) + math.log1p(math.exp(-abs(z)))

    z = (
        beta * (a - b - c + d)
        for a, b, c, d in zip(
            policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, strict=True
        )
    )
    return fmean(one(float(x)) for x in z)


def masked_branches(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """Each branch only where it belongs; dot product with 1/N."""
    z = beta * ((policy_logprob_preferred - ref_logprob_preferred) - (policy_logprob_rejected - ref_logprob_rejected))
    loss = np.empty_like(z, dtype=np.float64)
    won = z >= 0
    loss[won] = np.log1p(np.exp(-z[won]))
    loss[~won] = np.log1p(np.exp(z[~won])) - z[~won]
    return float(np.sum(loss) / loss.size)


def reduced_logaddexp(
    policy_logprob_preferred, policy_logprob_rejected, ref_logprob_preferred, ref_logprob_rejected, beta
):
    """logaddexp.reduce over a stacked axis."""
    z = beta * ((policy_logprob_preferred - ref_logprob_preferred) - (policy_logprob_rejected - ref_logprob_rejected))
    return np.average(np.logaddexp.reduce(np.stack([np.zeros_like(z, dtype=float), -z]), axis=0))
