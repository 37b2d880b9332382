"""Engines of the secret product make the tables of two owners' columns."""

from __future__ import annotations

from dataclasses import dataclass

from dpsumm.basics.checks import is_number
from dpsumm.errors import InvalidParameterError

# What other engines do that nobody should rely on here. Each was tried.
REFUSED = {
    "spu": (
        "by default (TrustedFirstParty) SPU's SEMI2K lets the first party make all triples, and so "
        "read the other's records"
    ),
    "crypten": "CrypTen's default provider lets the first party know all triples",
    "cicada": (
        "with two players Cicada sends the second one's shares to the first, who reads its records"
    ),
}


@dataclass(frozen=True)
class Dealer:
    """Pads that the helper deals. Exact, and quick. The default.

    Anyone with an owner's secret with the helper reads that owner's records from its messages. So
    the helper must not work with another owner, nor with the coordinator.

    See Also
    --------
    dpsumm.vertical.Mpyc : Secret sharing instead of pads. Slow, for checks.

    Examples
    --------
    >>> from dpsumm.vertical import Dealer
    >>> Dealer()  # `Tables(secret_product=...)` takes it
    Dealer()
    """


@dataclass(frozen=True)
class Mpyc:
    """MPyC: Shamir's secret sharing among the two owners and the helper, on this machine.

    Three processes for each pair of owners, over TCP with TLS on loopback. No two of the three may
    work together. None alone sees more than uniform numbers, and the left owner the noisy tables.
    Slow: for checks, and where a helper must not be able to read records with an owner's messages
    alone. Needs ``pip install 'dpsumm[mpyc]'``.

    Parameters
    ----------
    parties
        3. With two MPyC's threshold is 0: it runs, and keeps no secret, so that is refused.
    patience
        Seconds after which a process is ended, from 1 to 86,400.

    See Also
    --------
    dpsumm.vertical.Dealer : The usual engine, much faster.

    Examples
    --------
    >>> from dpsumm.vertical import Mpyc
    >>> Mpyc(patience=60.0)  # `Tables(secret_product=...)` takes it
    Mpyc(parties=3, patience=60.0)
    """

    parties: int = 3
    patience: float = 600.0

    def __post_init__(self) -> None:
        """Refuse what keeps no secret."""
        if self.parties != 3:
            raise InvalidParameterError(
                f"parties must be 3 (two owners and the helper), got {self.parties!r}: with two "
                "MPyC's threshold is 0, and each party's share is the other's records"
            )
        if not (is_number(self.patience) and 1 <= self.patience <= 86_400):
            raise InvalidParameterError(
                f"patience must be seconds from 1 to 86400, got {self.patience!r}"
            )


def check_product(product: object) -> None:
    """Refuse engines that keep no secret."""
    if isinstance(product, Dealer | Mpyc):
        return
    name = product.lower() if isinstance(product, str) else type(product).__name__.lower()
    why = next((f": {text}" for key, text in REFUSED.items() if key in name), "")
    shown = repr(product) if isinstance(product, str) else type(product).__name__
    raise InvalidParameterError(f"secret_product must be Dealer() or Mpyc(), got {shown}{why}")
