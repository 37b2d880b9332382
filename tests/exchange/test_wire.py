"""Messages as bytes: what is sent arrives as it was, in one encoding; the rest is not encoded."""

import copy
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import example, given

from dpsumm import Offers
from dpsumm.data.inputs import read_table
from dpsumm.data.kinds.along import MOST_CHARACTERS
from dpsumm.errors import ProtocolError
from dpsumm.exchange.codec import MAX_TEXT, kind_of
from dpsumm.papers import Auction, Mwem, Requests
from dpsumm.privacy.ledger import Ledger
from dpsumm.summary.protocols import Owner
from dpsumm.summary.protocols.messages import Bids, DrawRequest, Points
from dpsumm.summary.protocols.wire import decode, encode
from dpsumm.summary.release import Release
from helpers.settings import setting_of
from reference.messages import ENCODED, EXAMPLES, MAP, messages, same


@given(messages())
@example(Points(np.empty(0, np.int64), np.empty((0, 2)), None))
@example(Points(np.empty(0, np.int64), np.empty((0, 2), np.float32), np.empty(0, "<U1")))
@example(Bids((), ()))
def test_a_message_comes_back_as_it_was_and_has_one_encoding(message):
    data = encode(message)
    back = decode(data)
    assert same(back, message)
    assert data == encode(message) == encode(back) == encode(copy.deepcopy(message))


# Of the bytes that the first version of each kind wrote: a journal that it began must be resumed.
DIGESTS = {
    "offer": "57c43e20b957ee1d",
    "landmarks": "e06021f0d074aef4",
    "sample": "98aff04a98d929d8",
    "describe": "c1ab85c6f298b0d0",
    "description": "7ba8f489c677b37e",
    "draw": "887739116f426081",
    "bid": "35d445e99cd90d93",
    "send": "76f58e31fd406cde",
    "points": "10c694bf19c92463",
    "bids": "1d853ba109f897d6",
}


def test_the_bytes_of_every_kind_are_those_of_its_first_release():
    digests = {name: sha256(data).hexdigest()[:16] for name, data in ENCODED.items()}
    assert digests == DIGESTS


def test_texts_may_be_as_long_as_data_may_hold():
    assert MAX_TEXT == MOST_CHARACTERS


def test_arrays_come_back_as_the_receivers_own():
    back = decode(ENCODED["points"])
    assert back.values.flags.writeable
    assert back.values.flags.aligned
    assert back.values.flags.owndata


def test_layout_and_byte_order_of_the_senders_arrays_do_not_show():
    message = EXAMPLES["points"]
    labels = message.labels.astype(message.labels.dtype.newbyteorder())
    strided = np.asfortranarray(message.values)[:, :]
    assert encode(replace(message, labels=labels, values=strided)) == ENCODED["points"]


def test_numpy_scalars_are_sent_as_numbers():
    wide = replace(MAP, seed=np.int64(7), gamma=np.float64(0.3), n_features=np.int32(4))
    message = replace(EXAMPLES["offer"], feature_map=wide, count=np.int64(5))
    assert encode(message) == ENCODED["offer"]


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["x", None], object),
        np.ones(2, complex),
        np.array(["x", "y" * 4097]),
        np.ones((2, 1)),
        np.array(["x", "\ud800"]),
        np.array(["2020-01-01", "2021-01-01"], "datetime64[D]"),
        np.array([1, 2]),
        np.array(["a", "b"], "<U2"),  # of a longer text that is not sent
        ["a", "b"],
    ],
    ids=lambda labels: str(getattr(labels, "dtype", "list")),
)
def test_what_could_not_be_decoded_is_not_encoded(labels):
    with pytest.raises(ProtocolError):
        encode(Points(np.arange(2), np.ones((2, 1)), labels))


@pytest.mark.parametrize(
    "message",
    [
        Points(np.arange(2, dtype=np.int32), np.ones((2, 1)), None),
        Points(np.arange(2), np.ones((2, 1), np.float16), None),
        Bids((2**127,), (0,)),
        DrawRequest(True),
        DrawRequest(-1),
        replace(EXAMPLES["offer"], noise=np.nan),
        replace(EXAMPLES["offer"], noise=10**400),
        replace(EXAMPLES["offer"], target=Release(np.arange(5), 1)),
        Release(np.arange(4), 1),
        None,
        {"kind": "DrawRequest"},
    ],
    ids=lambda message: type(message).__name__,
)
def test_a_message_out_of_range_is_not_encoded(message):
    with pytest.raises(ProtocolError, match="malformed"):
        encode(message)


def test_a_header_beyond_the_limit_is_not_encoded():
    with pytest.raises(ProtocolError, match="too long"):
        encode(Bids((2**126,) * 110_000, (0,) * 110_000))


def run(protocol, carry):
    """A seeded run in which every message passes through `carry`."""
    rng = np.random.default_rng(3)
    owners = {}
    for i, name in enumerate("abc"):
        source = rng.normal(i, 1, (30, 2)).astype(np.float32), np.array(["x", "yy", "ü"] * 10)
        owners[name] = Owner(read_table(source, name=name), seed=i)
    with Ledger() as books:
        target, sizes = rng.normal(1.5, 1, (60, 2)).astype(np.float32), dict.fromkeys("abc", 30)
        setting = setting_of(target, sizes, books, size=12, labelled=True, seed=1)
        curator = protocol.curator(setting)
        kinds = set()
        while requests := curator.send():
            for name, request in requests.items():
                answer = owners[name].answer(carry(request))
                curator.receive(name, carry(answer))
                kinds |= {type(request).__name__, type(answer).__name__}
        return curator.result(), kinds


@pytest.mark.parametrize(
    ("protocol", "kinds"),
    [
        (Offers(n_features=64), {"OfferRequest", "Points"}),
        (
            Auction(batch=2, requests=Requests.PRIVATE, n_features=64),
            {"BidRequest", "Bids", "SendRequest", "Points"},
        ),
        (
            Auction(
                summary_release=Mwem(5, 0.1, 0.1), target_release=Mwem(9, 0.1, 0.1), n_features=64
            ),
            {"BidRequest", "Bids", "SendRequest", "Points"},
        ),
    ],
    ids=["offers", "auction", "auction with MWEM"],
)
def test_a_run_over_the_wire_gives_the_same_summary(protocol, kinds):
    plain, _ = run(protocol, lambda message: message)
    wired, carried = run(protocol, lambda message: decode(encode(message)))
    assert carried == kinds
    assert len(plain.records) == 12
    assert same(plain, wired)


def test_the_version_is_part_of_a_kind():
    assert kind_of(ENCODED["draw"]) == "DrawRequest"
    assert kind_of(ENCODED["offer"]) == "OfferRequest.2"
