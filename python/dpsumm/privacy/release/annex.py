"""Mechanisms that are no noisy sum, each with a proof of its own.

They run only on request. `tests/privacy/test_kernel.py` runs the defaults of all products and
fails when one gets here. ``docs/privacy/kernel.md`` has a line for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpsumm.errors import InvalidParameterError
from dpsumm.kernels.mechanisms import mwem
from dpsumm.kernels.noise import rounded_normal
from dpsumm.privacy.events import Charge, Event, Observer, Protected, Seeded, Unit
from dpsumm.privacy.ledger import Ledger

__all__ = [
    "ANNEX",
    "Entry",
    "charge_of",
    "mwem",
    "release",
    "rounded_normal",
]


@dataclass(frozen=True)
class Entry:
    """A mechanism of the annex.

    Attributes
    ----------
    name
        Its name here.
    reached
        The call that asks for it.
    page
        Where it is proved, below ``docs``.
    tests
        What would fail if its noise or its charge were wrong.
    """

    name: str
    reached: str
    page: str
    tests: str


ANNEX = (
    Entry(
        "mean of a user's own mechanism, MWEM, or none",
        "`Offers(release=...)`, `Auction(target_release=..., summary_release=...)`",
        "privacy/auction.md",
        "tests/papers/test_mwem_release.py",
    ),
    Entry(
        "request coins",
        '`protocol="auction"`',
        "privacy/auction.md",
        "tests/papers/test_requests.py",
    ),
    Entry(
        "objective perturbation",
        "`Summary.private_model()`",
        "privacy/private-models.md",
        "tests/summary/test_model_parts.py",
    ),
)
_KNOWN = {entry.name for entry in ANNEX}


def charge_of(
    protected: Protected,
    message: str,
    event: Event,
    count: int = 1,
    *,
    observer: Observer = Observer.OWNER,
    unit: Unit = Unit.REPLACE_RECORD,
    seeded: bool = False,
) -> Charge:
    """Return one line of the ledger, for a seeded run without a guarantee."""
    if seeded:
        event, count = Seeded(), 1
    return Charge(protected, message, event, count, observer, unit)


def release(
    name: str,
    ledger: Ledger,
    key: str,
    charges: Sequence[Charge],
    draw: Callable[[], bytes],
    *,
    binding: str = "",
) -> bytes:
    """Charge the cost of a mechanism of the annex, by its own proof, and return its draw.

    Parameters
    ----------
    name
        Of an `Entry`.
    ledger, key, charges, draw, binding
        As for `dpsumm.privacy.ledger.Ledger.release`.
    """
    if name not in _KNOWN:
        raise InvalidParameterError(f"annex: has no entry {name!r}, so nobody has argued its cost")
    return ledger.release(key, charges, draw, binding=binding)
