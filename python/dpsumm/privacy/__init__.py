"""The cost of each message, the protected parties, and the books."""

from typing import TYPE_CHECKING

from dpsumm.basics.lazy import names_of

if TYPE_CHECKING:
    from dpsumm.privacy.events import (
        Approximate,
        BoundedRange,
        Charge,
        Event,
        Gaussian,
        NonPrivate,
        Observer,
        Protected,
        Pure,
        Seeded,
        Unit,
    )
    from dpsumm.privacy.guarantees import PrivacyReport
    from dpsumm.privacy.ledger import Ledger

__all__ = [
    "Approximate",
    "BoundedRange",
    "Charge",
    "Event",
    "Gaussian",
    "Ledger",
    "NonPrivate",
    "Observer",
    "PrivacyReport",
    "Protected",
    "Pure",
    "Seeded",
    "Unit",
]

__getattr__, __dir__ = names_of(
    __name__,
    {
        "events": "Approximate BoundedRange Charge Event Gaussian NonPrivate Observer "
        "Protected Pure Seeded Unit",
        "guarantees": "PrivacyReport",
        "ledger": "Ledger",
    },
)
