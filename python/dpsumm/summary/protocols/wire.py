"""The messages of summaries as they are written: names on the wire, types and ranges of fields."""

from __future__ import annotations

from typing import Any

from dpsumm.checks import MAX_LANDMARKS
from dpsumm.data.merkle import DEPTH, MOST_ROWS, SIZE
from dpsumm.exchange.codec import Codec, Kind
from dpsumm.exchange.fields import (
    are_texts,
    is_array,
    is_column,
    is_fingerprint,
    is_hex,
    is_number,
    is_share,
    is_whole,
)
from dpsumm.summary.protocols.messages import (
    BidRequest,
    Bids,
    Commitment,
    CommitRequest,
    DrawRequest,
    FeatureMap,
    LandmarkMap,
    OfferRequest,
    OpenedPoints,
    OpenRequest,
    Points,
    SendRequest,
)
from dpsumm.summary.release import Release

# Scores are below 2**126 (39 digits); no integer of a message needs more.
_MAX_INTEGER = 2**127


def _is_offer_request(message: OfferRequest) -> bool:
    return (
        (_is_map(message.feature_map) or _is_landmarks(message.feature_map))
        and _is_release(message.target, message.feature_map)
        and (is_share(message.noise) or is_number(message.noise))
        and is_whole(message.count)
        and is_share(message.spread)
    )


def _is_bid_request(message: BidRequest) -> bool:
    return (
        _is_map(message.feature_map)
        and _is_vector(message.target, "i8", message.feature_map)
        and _is_vector(message.summary, "i8", message.feature_map)
        and is_whole(message.target_factor)
        and is_whole(message.summary_factor)
        and is_whole(message.count)
    )


def _is_send_request(message: SendRequest) -> bool:
    return isinstance(message.wanted, tuple) and all(type(x) is bool for x in message.wanted)


def _is_points(message: Points) -> bool:
    return (
        is_array(message.rows, 1, "i8")
        and is_array(message.values, 2, "f4", "f8")
        and (message.labels is None or is_column(message.labels))
        and (message.labels is None or message.labels.dtype.kind != "M")
        and isinstance(message.carried, tuple)
        and all(map(is_column, message.carried))
    )


def _sends_points(message: Points) -> bool:
    """Whether labels and carried columns are texts: another type tells of records that stay."""
    return (message.labels is None or are_texts(message.labels)) and all(
        map(are_texts, message.carried)
    )


def _is_bids(message: Bids) -> bool:
    return all(
        isinstance(part, tuple) and all(type(x) is int and abs(x) < _MAX_INTEGER for x in part)
        for part in (message.scores, message.rows)
    )


def _is_map(value: Any) -> bool:
    return (
        isinstance(value, FeatureMap)
        and is_number(value.gamma)
        and is_whole(value.n_columns, 2**20 + 1)
        and value.n_columns >= 1
        and is_whole(value.n_features, 2**18 + 1)
        and value.n_features >= 2
        and is_whole(value.seed, 2**64)
        and type(value.kind) is str  # an array would be compared item by item
        and value.kind in ("paired", "phase")
        and type(value.orthogonal) is bool
    )


def _is_landmarks(value: Any) -> bool:
    return (
        isinstance(value, LandmarkMap)
        and is_number(value.gamma)
        and is_whole(value.n_columns, 2**20 + 1)
        and value.n_columns >= 1
        and is_whole(value.n_features, MAX_LANDMARKS + 1)
        and value.n_features >= 1
        and is_whole(value.seed, 2**64)
        and is_fingerprint(value.schema)
        and (value.sample is None or _is_sample(value))
    )


def _is_sample(value: LandmarkMap) -> bool:
    sample = value.sample
    shape = value.n_features, value.n_columns
    return sample is not None and is_array(sample, 2, "f8") and sample.shape == shape


def _is_vector(value: Any, dtype: str, feature_map: FeatureMap | LandmarkMap) -> bool:
    return is_array(value, 1, dtype) and value.shape == (feature_map.n_features,)


def _is_release(value: Any, feature_map: FeatureMap | LandmarkMap) -> bool:
    return (
        isinstance(value, Release)
        and _is_vector(value.steps, "i8", feature_map)
        and is_whole(value.count, 2**40)  # times LEVELS it is still an int64
        and value.count >= 1
        and (value.state is None or _is_vector(value.state, "f8", feature_map))
    )


def _is_commitment(message: Commitment) -> bool:
    return (
        is_fingerprint(message.schema)
        and is_whole(message.n_records, MOST_ROWS + 1)
        and is_array(message.digest, 1, "u1")
        and message.digest.shape == (SIZE,)
    )


def _is_open_request(message: OpenRequest) -> bool:
    inner = {kind.type: kind.valid for kind in _REQUESTS}.get(type(message.request))
    return is_hex(message.run, RUN_DIGITS) and inner is not None and inner(message.request)


def _is_opened(message: OpenedPoints) -> bool:
    count = len(message.rows)
    return (
        _is_points(message)
        and is_array(message.positions, 1, "i8")
        and is_array(message.salts, 2, "u1")
        and is_array(message.paths, 2, "u1")
        and message.positions.shape == (count,)
        and message.salts.shape == (count, SIZE)
        and message.paths.shape == (count, SIZE * DEPTH)
    )


# Of the name that a run has in commitments.
RUN_DIGITS = 32
_REQUESTS = (
    Kind("OfferRequest", OfferRequest, _is_offer_request, version=2),
    Kind("DrawRequest", DrawRequest, lambda m: is_whole(m.count)),
    Kind("BidRequest", BidRequest, _is_bid_request),
    Kind("SendRequest", SendRequest, _is_send_request),
)
CODEC = Codec(
    [
        *_REQUESTS[:3],
        Kind("Bids", Bids, _is_bids),
        _REQUESTS[3],
        Kind("Points", Points, _is_points, sends=_sends_points),
        Kind("CommitRequest", CommitRequest, lambda m: is_hex(m.run, RUN_DIGITS)),
        Kind("Commitment", Commitment, _is_commitment),
        Kind("OpenRequest", OpenRequest, _is_open_request),
        Kind("OpenedPoints", OpenedPoints, _is_opened, sends=_sends_points),
    ],
    parts={"FeatureMap": FeatureMap, "LandmarkMap": LandmarkMap, "Release": Release},
)
encode, decode = CODEC.encode, CODEC.decode
