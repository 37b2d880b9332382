"""Any bytes as a message: `ProtocolError`, or a message in its only spelling that an owner can
answer or refuse."""

import contextlib
import tempfile

import numpy as np

from dpsumm.data.inputs import read_table
from dpsumm.errors import DpsummError, ProtocolError
from dpsumm.summary.protocols.owner import Owner
from dpsumm.summary.protocols.wire import decode, encode
from reference.messages import ENCODED, rewritten

SEEDS = list(ENCODED.values())
TOKENS = [b'"kind":"Points"', b'"array":"<U9"', b'"shape":[0,2]', b"null", b"[]", b"1e308", b"-0"]


def check(data: bytes, folder: str = tempfile.gettempdir()) -> bool:
    """Return whether the bytes are a message; raise if anything goes wrong."""
    try:
        message = decode(data)
    except ProtocolError:
        return False
    assert rewritten(message, data)
    owner = Owner(read_table(np.linspace(-1, 1, 40).reshape(20, 2), name="a"), seed=0)
    with contextlib.suppress(DpsummError):
        encode(owner.answer(message))
    return True
