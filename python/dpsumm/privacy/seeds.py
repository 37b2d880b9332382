"""Seeds of seeded runs, which are for tests and experiments and not private."""

from __future__ import annotations

import hashlib


def derived_seed(seed: int, key: str) -> int:
    """Return a seed for one use of a run's seed, so that no two uses share coins. Not private."""
    digest = hashlib.sha256(f"{seed}/{key}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1
