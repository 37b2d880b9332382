"""Privacy: what each message costs, who is protected, and the books.

Only :mod:`dpsumm.privacy.accounting` knows the accountant (dp-accounting).
"""

from dpsumm.privacy.events import (
    Approximate,
    BoundedRange,
    Charge,
    Event,
    Gaussian,
    Laplace,
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
    "Laplace",
    "Ledger",
    "NonPrivate",
    "Observer",
    "PrivacyReport",
    "Protected",
    "Pure",
    "Seeded",
    "Unit",
]
