"""Messages of every kind: Hypothesis strategies, one example of each, and raw bytes by hand."""

import dataclasses
import json
import struct

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpsumm.errors import ProtocolError
from dpsumm.exchange.messages import Describe, Description
from dpsumm.summary.protocols.messages import (
    BidRequest,
    Bids,
    DrawRequest,
    FeatureMap,
    LandmarkMap,
    OfferRequest,
    Points,
    SendRequest,
)
from dpsumm.summary.protocols.wire import encode
from dpsumm.summary.release import Release

MAGIC = b"dpsm\x02"
WHOLE = st.integers(0, 2**62 - 1)
POSITIVE = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
SCORE = st.integers(-(2**127) + 1, 2**127 - 1)
# No unpaired surrogates, which are not text, and no NUL, which NumPy drops at the end.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=9)


def maps(n_features):
    return st.builds(
        FeatureMap,
        gamma=POSITIVE,
        n_columns=st.integers(1, 2**20),
        n_features=st.just(n_features),
        seed=st.integers(0, 2**64 - 1),
        kind=st.sampled_from(["paired", "phase"]),
        orthogonal=st.booleans(),
    )


@st.composite
def landmark_maps(draw, n_features):
    n_columns = draw(st.integers(1, 5))
    return LandmarkMap(
        draw(POSITIVE),
        n_columns,
        n_features,
        draw(st.integers(0, 2**64 - 1)),
        draw(st.from_regex("[0-9a-f]{12}", fullmatch=True)),
        draw(st.none() | hnp.arrays(np.float64, (n_features, n_columns))),
    )


def steps(n_features):
    return hnp.arrays(np.int64, n_features)


@st.composite
def offer_requests(draw):
    n = draw(st.integers(2, 20))
    state = draw(st.none() | hnp.arrays(np.float64, n))
    release = Release(draw(steps(n)), draw(st.integers(1, 2**40 - 1)), state)
    noise = draw(st.just(0.0) | POSITIVE)
    made = draw(st.one_of(maps(n), landmark_maps(n)))
    return OfferRequest(made, release, noise, draw(WHOLE), draw(st.floats(0, 1)))


@st.composite
def bid_requests(draw):
    n = draw(st.integers(2, 20))
    return BidRequest(
        draw(maps(n)), draw(steps(n)), draw(steps(n)), draw(WHOLE), draw(WHOLE), draw(WHOLE)
    )


@st.composite
def points(draw):
    count = draw(st.integers(0, 6))
    values = hnp.arrays(
        st.sampled_from([np.dtype("f4"), np.dtype("f8")]), (count, draw(st.integers(0, 4)))
    )
    texts = st.lists(TEXT, min_size=count, max_size=count).map(lambda x: np.array(x, np.str_))
    return Points(
        draw(hnp.arrays(np.int64, count)),
        draw(values),
        draw(st.none() | texts),
        tuple(draw(st.lists(texts, max_size=3))),
    )


def messages():
    """Every kind of message, with any fields that can be sent."""
    return st.one_of(
        offer_requests(),
        st.just(Describe()),
        st.builds(Description, WHOLE, st.from_regex("[0-9a-f]{12}", fullmatch=True)),
        st.builds(DrawRequest, WHOLE),
        bid_requests(),
        st.builds(SendRequest, st.lists(st.booleans()).map(tuple)),
        points(),
        st.builds(Bids, st.lists(SCORE).map(tuple), st.lists(SCORE).map(tuple)),
    )


MAP = FeatureMap(gamma=0.3, n_columns=2, n_features=4, seed=7)
EXAMPLES = {
    "offer": OfferRequest(MAP, Release(np.arange(4), 50), 0.25, 5, 0.5),
    "landmarks": OfferRequest(
        LandmarkMap(0.3, 2, 4, 7, "0123456789ab"), Release(np.arange(4), 50), 0.25, 5, 0.5
    ),
    "sample": OfferRequest(
        LandmarkMap(0.3, 2, 4, 7, "0123456789ab", np.arange(8.0).reshape(4, 2)),
        Release(np.arange(4), 50),
        0.25,
        5,
        0.5,
    ),
    "describe": Describe(),
    "description": Description(9, "0123456789ab"),
    "draw": DrawRequest(3),
    "bid": BidRequest(MAP, np.arange(4), np.arange(4), 1, 1, 1),
    "send": SendRequest((True, False)),
    "points": Points(
        np.arange(3),
        np.full((3, 2), 987654.321),
        np.array(["a", "bc", "é"]),
        (np.array(["2020-01-01", "", "2021-05-06"]), np.array(["", "x", "y"])),
    ),
    "bids": Bids((2**100, 3), (4, 5)),
}
ENCODED = {name: encode(message) for name, message in EXAMPLES.items()}


def same(a, b):
    """Whether two values are equal in type, shape and every bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    if dataclasses.is_dataclass(a):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def rewritten(message, data):
    """Whether a message that was read gives the same bytes, or points as an older version wrote."""
    try:
        return encode(message) == data
    except ProtocolError:
        return isinstance(message, Points)


def raw(header, body=b""):
    """A message with any header, as JSON or as bytes, and any body."""
    if not isinstance(header, bytes):
        header = json.dumps(header, separators=(",", ":"), sort_keys=True).encode()
    return MAGIC + struct.pack("<I", len(header)) + header + body


def parts(data):
    """The header, as JSON, and the body of an encoded message."""
    (length,) = struct.unpack("<I", data[5:9])
    return json.loads(data[9 : 9 + length]), data[9 + length :]
