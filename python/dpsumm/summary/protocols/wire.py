"""The written messages of summaries, with names on the wire, types and ranges of fields."""

from __future__ import annotations

from typing import Any

from dpsumm.basics.checks import MAX_LANDMARKS
from dpsumm.exchange.codec import Codec, Kind
from dpsumm.exchange.fields import (
    are_texts,
    is_array,
    is_column,
    is_fingerprint,
    is_number,
    is_share,
    is_whole,
)
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


CODEC = Codec(
    [
        Kind("OfferRequest", OfferRequest, _is_offer_request, version=2),
        Kind("DrawRequest", DrawRequest, lambda m: is_whole(m.count)),
        Kind("BidRequest", BidRequest, _is_bid_request),
        Kind("Bids", Bids, _is_bids),
        Kind("SendRequest", SendRequest, _is_send_request),
        Kind("Points", Points, _is_points, sends=_sends_points),
    ],
    parts={"FeatureMap": FeatureMap, "LandmarkMap": LandmarkMap, "Release": Release},
)
encode, decode = CODEC.encode, CODEC.decode
