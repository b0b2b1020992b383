"""Differently written right versions of `optimal_policy`: each must earn every point."""

import math

import numpy as np


def plain_formula(log_ref, rewards, beta):
    """The contract's formula, the largest exponent taken out of the normalizer."""
    x = log_ref + rewards / beta
    top = np.max(x)
    return x - (top + np.log(np.sum(np.exp(x - top))))


def shifted_first(log_ref, rewards, beta):
    """The largest exponent taken out of everything first."""
    x = log_ref + rewards / beta
    x = x - x.max()
    return x - np.log(np.exp(x).sum())


def logaddexp_reduce(log_ref, rewards, beta):
    """The normalizer by logaddexp.reduce."""
    x = log_ref + rewards / beta
    return x - np.logaddexp.reduce(x)


def rewards_centred(log_ref, rewards, beta):
    """The best reward taken off the rewards: a constant does not matter."""
    x = log_ref + (rewards - np.max(rewards)) / beta
    top = x.max()
    return x - top - np.log(np.sum(np.exp(x - top)))


def inverse_temperature(log_ref, rewards, beta):
    """One over beta as a factor; the mean reward taken off."""
    x = log_ref + (1.0 / beta) * (rewards - rewards.mean())
    return x - np.logaddexp.reduce(x)


def math_loop(log_ref, rewards, beta):
    """Python lists and math."""
    x = [float(a) + float(r) / beta for a, r in zip(log_ref, rewards, strict=True)]
    top = max(x)
    z = top + math.log(math.fsum(math.exp(v - top) for v in x))
    return np.array([v - z for v in x])


def weighted_normalizer(log_ref, rewards, beta):
    """The normalizer as a reference average of exponentials of shifted tilts."""
    tilt = rewards / beta
    top = np.max(tilt)
    return log_ref + (tilt - top) - np.log(np.exp(log_ref) @ np.exp(tilt - top))


def pairwise(log_ref, rewards, beta):
    """Each entry from its differences to all others, no normalizer in sight."""
    x = log_ref + rewards / beta
    gap = x[None, :] - x[:, None]
    top = np.maximum(gap.max(axis=1), 0.0)
    return -(top + np.log(np.exp(gap - top[:, None]).sum(axis=1)))


def longdouble(log_ref, rewards, beta):
    """Extended precision, returned as float64."""
    x = log_ref.astype(np.longdouble) + rewards.astype(np.longdouble) / beta
    x = x - x.max()
    return (x - np.log(np.exp(x).sum())).astype(np.float64)


def running_logaddexp(log_ref, rewards, beta):
    """The normalizer added up one answer at a time."""
    z = -math.inf
    for a, r in zip(log_ref, rewards, strict=True):
        z = np.logaddexp(z, a + r / beta)
    return np.fromiter((a + r / beta - z for a, r in zip(log_ref, rewards, strict=True)), dtype=float)
