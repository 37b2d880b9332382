"""Seeds of seeded runs, which are for tests and experiments and not private."""

from __future__ import annotations

import hashlib

from dpsumm.basics.checks import check_whole
from dpsumm.errors import InvalidParameterError


def derived_seed(seed: int, key: str) -> int:
    """Return a seed for one use of a run's seed, so that no two uses share coins. Not private."""
    digest = hashlib.sha256(f"{seed}/{key}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def check_seed(seed: object, ledger: object = None) -> None:
    """Refuse a wrong seed, and the ledger of a seeded run. None, without a seed, is fine."""
    if seed is None:
        return
    check_whole(seed, "seed", 0, 2**63 - 1)
    if ledger is not None:
        raise InvalidParameterError(
            "seed: a seeded run is not private and would make the ledger's total infinite. Leave "
            "out one of the two"
        )
