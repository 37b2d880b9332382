"""The privacy kernel is the one way out for anything that depends on private records.

Read it in this order; ``docs/privacy/kernel.md`` guides through it in a day.

1. `query`: a sum of integers, and by how much one unit of the data moves it at most.
2. `noise`: exact noise for these sums, each draw independent, each used once.
3. `gaussian`: the charge for them, then the noise, then the bytes, in one transaction.
4. `annex`: the mechanisms that are no noisy sum. Default runs do not reach it.

Import contracts let no other module draw noise for privacy, and a test finds every charge that is
made elsewhere (``tests/privacy/test_kernel.py``).
"""

from dpsumm.privacy.release.gaussian import Sums, release, share
from dpsumm.privacy.release.noise import PaidNoise
from dpsumm.privacy.release.query import Bound, Query, multiplier_for

__all__ = ["Bound", "PaidNoise", "Query", "Sums", "multiplier_for", "release", "share"]
