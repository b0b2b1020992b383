"""Differently written right versions of `reward_kl_frontier`: each must earn every point."""

import numpy as np


def _optimal(log_ref, rewards, beta):
    x = log_ref + rewards / beta
    top = np.max(x)
    return x - top - np.log(np.sum(np.exp(x - top)))


def plain_formula(log_ref, rewards, betas):
    """The contract's formulas, beta by beta."""
    reward, kl = np.zeros(len(betas)), np.zeros(len(betas))
    for i, beta in enumerate(betas):
        log_policy = _optimal(log_ref, rewards, beta)
        policy = np.exp(log_policy)
        reward[i], kl[i] = np.sum(policy * rewards), np.sum(policy * (log_policy - log_ref))
    return reward, kl


def broadcast(log_ref, rewards, betas):
    """One matrix with a row per beta."""
    x = log_ref[None, :] + rewards[None, :] / betas[:, None]
    x = x - x.max(axis=1, keepdims=True)
    log_policy = x - np.log(np.exp(x).sum(axis=1, keepdims=True))
    policy = np.exp(log_policy)
    return policy @ rewards, (policy * (log_policy - log_ref)).sum(axis=1)


def from_normalizer(log_ref, rewards, betas):
    """The divergence from reward and normalizer."""
    reward, kl = [], []
    for beta in betas:
        x = log_ref + rewards / beta
        z = np.logaddexp.reduce(x)
        reward.append(np.exp(x - z) @ rewards)
        kl.append(reward[-1] / beta - z)
    return np.array(reward), np.array(kl)


def from_objective(log_ref, rewards, betas):
    """The divergence as what the objective lacks, over beta; best reward taken off."""
    best = rewards.max()
    betas = np.asarray(betas, dtype=np.float64)
    x = log_ref + (rewards - best) / betas[:, None]
    z = np.logaddexp.reduce(x, axis=1)
    gain = np.exp(x - z[:, None]) @ (rewards - best)
    return gain + best, (gain - betas * z) / betas


def ratio_of_probabilities(log_ref, rewards, betas):
    """The logarithm of a ratio of probabilities, zero where a probability underflows."""
    reward, kl = [], []
    ref = np.exp(log_ref)
    for beta in betas:
        weight = np.exp((rewards - rewards.max()) / beta) * ref
        p = weight / weight.sum()
        reward.append(float((p * rewards).sum()))
        kl.append(float((np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0) / ref), 0.0)).sum()))
    return np.array(reward), np.array(kl)


def log_of_weights(log_ref, rewards, betas):
    """A comprehension; nansum drops zero times minus infinity."""

    def point(beta):
        p = np.exp(_optimal(log_ref, rewards, beta))
        return p @ rewards, np.nansum(p * (np.log(p) - log_ref))

    points = np.array([point(beta) for beta in betas])
    return points[:, 0], points[:, 1]


def list_of_two(log_ref, rewards, betas):
    """A list of two arrays is a pair too."""
    logs = [_optimal(log_ref, rewards, float(beta)) for beta in betas]
    return [np.array([np.exp(p) @ rewards for p in logs]), np.array([np.exp(p) @ (p - log_ref) for p in logs])]


def centred_log_ratio(log_ref, rewards, betas):
    """The log-ratio as tilt minus its log mean."""
    tilt = rewards / np.asarray(betas, dtype=float)[:, None]
    top = tilt.max(axis=1, keepdims=True)
    log_ratio = tilt - top - np.log(np.exp(tilt - top) @ np.exp(log_ref))[:, None]
    policy = np.exp(log_ref + log_ratio)
    return np.einsum("mk,k->m", policy, rewards), np.einsum("mk,mk->m", policy, log_ratio)


def fsum_like(log_ref, rewards, betas):
    """Sorted summation in Python floats."""

    def total(terms):
        return sum(sorted(map(float, terms), key=abs))

    reward, kl = np.empty(len(betas)), np.empty(len(betas))
    for i, beta in enumerate(betas):
        log_policy = _optimal(log_ref, rewards, beta)
        reward[i] = total(np.exp(log_policy) * rewards)
        kl[i] = total(np.exp(log_policy) * (log_policy - log_ref))
    return reward, kl
