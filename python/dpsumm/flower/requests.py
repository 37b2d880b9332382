"""The curator's signature under what owners are asked."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import timedelta

from dpsumm import __version__
from dpsumm.errors import InvalidParameterError
from dpsumm.exchange.signatures import SigningKey
from dpsumm.exchange.statements import LONGEST, SIGNED, VALID, Statement, digest_of, ending
from dpsumm.flower.channel import Sign
from dpsumm.flower.settings import CuratorFile, Public


def signs(public: Public, own: CuratorFile) -> Sign | None:
    """Return what signs the requests of a run; None if the curator has no key."""
    if own.key is None:
        if public.purpose:
            raise InvalidParameterError(
                f"run configuration: purpose is told with a signature. Name a key in "
                f"{own.more.where} (key), or leave it empty"
            )
        return None
    key = SigningKey(own.key)
    if not public.purpose:
        raise InvalidParameterError(
            "run configuration: purpose is missing: say what the result is for, in the words that "
            "the owners' policies have"
        )
    lasts = max(VALID, timedelta(seconds=min(public.timeout, LONGEST.total_seconds())))
    run = own.run or uuid.uuid4().hex

    def sign(name: str, messages: Sequence[bytes]) -> tuple[bytes, bytes]:
        claim = Statement(
            key=key.public,
            party=name,
            task=public.task,
            run=run,
            purpose=public.purpose,
            version=__version__,
            asked=digest_of(messages),
            until=ending(lasts),
        ).to_bytes()
        return claim, key.sign(SIGNED + claim)

    return sign
