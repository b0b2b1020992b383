"""Differently written right versions of `implicit_reward`: each must earn every point."""

from itertools import starmap

import numpy as np


def plain_formula(policy_logprob, ref_logprob, beta):
    """The contract's formula."""
    return beta * (policy_logprob - ref_logprob)


def scaled_first(policy_logprob, ref_logprob, beta):
    """Beta times each log probability, then the difference."""
    return beta * policy_logprob - beta * ref_logprob


def negated(policy_logprob, ref_logprob, beta):
    """Minus beta times the difference the other way round."""
    return -beta * (ref_logprob - policy_logprob)


def loop(policy_logprob, ref_logprob, beta):
    """A Python loop into a float64 buffer."""
    out = np.empty(len(policy_logprob))
    for i in range(len(policy_logprob)):
        out[i] = beta * (float(policy_logprob[i]) - float(ref_logprob[i]))
    return out


def listed(policy_logprob, ref_logprob, beta):
    """A list comprehension made into an array."""
    return np.array([beta * (p - r) for p, r in zip(policy_logprob, ref_logprob, strict=True)], dtype=float)


def generated(policy_logprob, ref_logprob, beta):
    """A generator read into an array."""
    return np.fromiter(
        starmap(lambda p, r: (p - r) * beta, zip(policy_logprob, ref_logprob, strict=True)), dtype=np.float64
    )


def stacked(policy_logprob, ref_logprob, beta):
    """A matrix product of stacked log probabilities."""
    return np.stack([policy_logprob, ref_logprob], axis=1).astype(np.float64) @ np.array(
        [beta, -beta], dtype=np.float64
    )


def copied(policy_logprob, ref_logprob, beta):
    """In-place operations on a copy."""
    out = np.array(policy_logprob, dtype=np.float64)
    out -= ref_logprob
    out *= beta
    return out


def longdouble(policy_logprob, ref_logprob, beta):
    """Extended precision, returned as float64."""
    wide = np.asarray(policy_logprob, dtype=np.longdouble) - np.asarray(ref_logprob, dtype=np.longdouble)
    return (beta * wide).astype(np.float64)
