"""The helper deals pads for a secret product, sees no data and keeps nothing."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from dpsumm.errors import InvalidParameterError, ProtocolError
from dpsumm.exchange.codec import Codec
from dpsumm.exchange.messages import Answer, Request
from dpsumm.exchange.roles import Party
from dpsumm.kernels import Pad
from dpsumm.vertical.keys import SECRET_BYTES
from dpsumm.vertical.messages import Deal, Dealt
from dpsumm.vertical.wire import CODEC


def pad_of(
    secret: bytes,
    *,
    run: str,
    names: tuple[str, str],
    nonces: tuple[str, str],
    widths: tuple[int, int],
    rows: int,
    ring: Literal[32, 64],
    side: int,
) -> Pad:
    """Return an owner's pad for one product, which it and the helper compute alike.

    Its key is bound to the run, the pair, both owners' nonces and the sizes. A nonce is random and
    lives as long as the rows that it hides, never longer. So no key ever hides two matrices.

    Parameters
    ----------
    secret
        Of the owner and the helper: 32 bytes.
    """
    about = json.dumps(["dpsumm pad 1", run, names, nonces, widths, rows, ring, side])
    key = hmac.new(secret, about.encode(), hashlib.sha256).digest()
    return Pad(widths[side], key, ring=ring)


def check_secret(secret: bytes) -> None:
    """Raise `InvalidParameterError` unless a secret is 32 bytes."""
    if not (isinstance(secret, bytes) and len(secret) == SECRET_BYTES):
        raise InvalidParameterError(
            f"secret must be {SECRET_BYTES} bytes, as secrets.token_bytes({SECRET_BYTES}) gives"
        )


class Helper(Party):
    """Deals pads to pairs of owners. Asked the same it answers the same.

    Claim: messages do not depend on data, and are uniform for all but the pair's right owner.
    Assumes that it keeps its secrets from everybody else. With one owner's secret and what another
    sent to that owner, it reads the other's records. So it must not collude with any owner, nor
    with the coordinator, which passes everything on. Numerics: exact.
    Tested by: tests/vertical/test_vertical_roles.py, tests/kernels/test_pads.py.

    Parameters
    ----------
    secrets
        By owner, the 32 bytes that it shares with the helper alone.
    """

    codec: ClassVar[Codec] = CODEC

    def __init__(self, secrets: Mapping[str, bytes]) -> None:
        for secret in secrets.values():
            check_secret(secret)
        if len(set(secrets.values())) < len(secrets):
            raise InvalidParameterError("secrets: two owners have the same. Give each its own")
        self._secrets = dict(secrets)

    def answer(self, request: Request) -> Answer:
        """Deal."""
        if not isinstance(request, Deal):
            raise ProtocolError(f"a helper has no answer to a {type(request).__name__}")
        corrections = []
        for pair in range(len(request.left)):
            left, right = _pads(request, pair, self._secrets)
            # The right owner knows its own pad; for all others this hides what is dealt.
            corrections.append(left.correction(right, request.rows) + right.share(left.width).T)
        return Dealt(tuple(corrections))


def _pads(deal: Deal, pair: int, secrets: Mapping[str, bytes]) -> Sequence[Pad]:
    names = (deal.left[pair], deal.right[pair])
    if unknown := [name for name in names if name not in secrets]:
        raise ProtocolError(f"the helper has no secret of {unknown[0]!r}")
    if names[0] == names[1]:
        raise ProtocolError("a pair needs two owners")
    ring: Literal[32, 64] = 32 if deal.ring == 32 else 64
    return [
        pad_of(
            secrets[name],
            run=deal.run,
            names=names,
            nonces=(deal.left_nonces[pair], deal.right_nonces[pair]),
            widths=(deal.left_widths[pair], deal.right_widths[pair]),
            rows=deal.rows,
            ring=ring,
            side=side,
        )
        for side, name in enumerate(names)
    ]
