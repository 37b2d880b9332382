"""Shapes that cost nothing to send: no rows without bytes beyond what a loop can bear."""

from dataclasses import dataclass

import numpy as np
import pytest

from dpsumm.errors import ProtocolError
from dpsumm.exchange.codec import Codec, Kind
from dpsumm.exchange.messages import Request


@dataclass(frozen=True, eq=False)
class Table(Request):
    """Any array at all."""

    values: np.ndarray


CODEC = Codec([Kind("Table", Table, lambda _: True)])


@pytest.mark.parametrize("shape", [(10**15, 0), (0, 10**15), (2**20 + 1, 0), (0, 2**20 + 1)])
def test_rows_without_bytes_are_refused(shape):
    good = CODEC.encode(Table(np.zeros((0, 1))))
    header = good[9:].replace(b"[0,1]", b"[%d,%d]" % shape)
    data = good[:5] + len(header).to_bytes(4, "little") + header
    with pytest.raises(ProtocolError, match="malformed"):
        CODEC.decode(data)
    with pytest.raises(ProtocolError, match="at most 1048576 rows"):
        CODEC.encode(Table(np.zeros(shape)))


@pytest.mark.parametrize("shape", [(0,), (0, 0), (3, 0), (0, 2**20), (2, 3)])
def test_other_shapes_come_back(shape):
    assert CODEC.decode(CODEC.encode(Table(np.zeros(shape)))).values.shape == shape
