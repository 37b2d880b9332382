"""The register of what is charged: what a charge's text stands for, and where that is proved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dpsumm.privacy.events import Charge


@dataclass(frozen=True)
class Claim:
    """What one kind of charge pays for. Every kind that the package makes has one.

    Attributes
    ----------
    begins
        How the texts of such charges begin (`Charge.message`). Texts stay in ledgers: never change
        one, add the new one.
    claim
        What anyone who sees it can learn of whose records.
    numerics
        How its noise is drawn.
    """

    begins: str
    receiver: str
    claim: str
    numerics: str
    page: str
    audits: tuple[str, ...] = ()
    condition: str = ""


def claim_of(charge: Charge, claims: Iterable[Claim]) -> Claim | None:
    """Return the entry of a charge, None if nobody has registered what it pays for."""
    return next((one for one in claims if charge.message.startswith(one.begins)), None)
