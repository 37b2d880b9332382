"""The messages, claims and conditions of a subsystem, for every dossier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dpsumm.exchange.codec import Codec, Message
from dpsumm.exchange.disclosure import Disclosure
from dpsumm.privacy.claims import Claim
from dpsumm.privacy.events import Protected


@dataclass(frozen=True)
class About:
    """A subsystem.

    Attributes
    ----------
    protects
        Whose records its ledgers are charged on.
    claims
        What its charges pay for.
    audits
        Names of audits that attack a protocol's claims next to those of its charges.
    exposure
        Who holds or sees records as they are.
    """

    name: str
    codecs: tuple[Codec, ...]
    protocols: Mapping[str, tuple[str, ...]]
    protects: tuple[Protected, ...]
    claims: tuple[Claim, ...]
    audits: Mapping[str, tuple[str, ...]]
    conditions: tuple[str, ...]
    trust: str
    exposure: str
    access: str
    afterwards: str
    beside: Mapping[str, tuple[tuple[str, Disclosure], ...]]
    unsent: tuple[type[Message], ...] = ()

    def messages(self, protocol: str) -> list[tuple[str, Disclosure]]:
        """Return the messages of a protocol by name, in the codecs' order."""
        kinds = {kind.type: kind.name for codec in self.codecs for kind in codec.kinds}
        known = [(name, kind.disclosure) for kind, name in kinds.items() if kind not in self.unsent]
        sent = [
            (name, entry)
            for name, entry in known
            if entry is not None and (not entry.protocols or protocol in entry.protocols)
        ]
        return [*sent, *self.beside.get(protocol, ())]
