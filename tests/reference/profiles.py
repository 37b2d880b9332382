"""What one request by a rule guarantees, over all pairs of ranks."""

import math

import numpy as np


def profile_delta(profile, epsilon):
    """Return the least delta for which one request by `profile` is (epsilon, delta)-DP.

    Ranks of neighbouring worlds differ by at most one; both outcomes and both directions count.
    """
    p = profile.probability
    asked = np.concatenate(
        [p[:-1] - math.exp(epsilon) * p[1:], p[1:] - math.exp(epsilon) * p[:-1], [0.0]]
    )
    q = 1 - p
    not_asked = np.concatenate(
        [q[:-1] - math.exp(epsilon) * q[1:], q[1:] - math.exp(epsilon) * q[:-1], [0.0]]
    )
    return float(max(asked.max(), not_asked.max()))
