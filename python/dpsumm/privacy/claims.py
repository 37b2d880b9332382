"""The register of charges, with the meaning of each charge's text and the place of its proof."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dpsumm.privacy.events import Charge


@dataclass(frozen=True)
class Claim:
    """The meaning of one kind of charge. Every kind that the package makes has one.

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
    """Return the entry of a charge, or None if its text is not registered."""
    return next((one for one in claims if charge.message.startswith(one.begins)), None)
