"""The messages of this subsystem as bytes: their names, and what their fields may hold."""

from __future__ import annotations

from typing import Any

from dpsumm.basics.names import is_name
from dpsumm.basics.visible import visible
from dpsumm.exchange.codec import MAX_BYTES, Codec, Kind
from dpsumm.exchange.fields import is_array, is_hex, is_noise, is_number, is_whole
from dpsumm.kernels.inputs import LEAST_NOISE, MOST_NOISE
from dpsumm.vertical.agreed import MOST_LEVELS
from dpsumm.vertical.messages import (
    ColumnCounts,
    CountColumns,
    Deal,
    Dealt,
    Finish,
    Join,
    Joined,
    MaskedRows,
    NextRows,
    Refine,
    Start,
    TwoWay,
)

# Of digests and nonces: 128 bits. Longer ones could look like numbers that the codec refuses.
DIGITS = 32


def _is_text(value: Any, at_most: int = 200) -> bool:
    return type(value) is str and 0 < len(value) <= at_most and visible(value) == value


def _all(values: Any, valid: Any) -> bool:
    return type(values) is tuple and all(map(valid, values))


def _is_words(value: Any) -> bool:
    return is_array(value, 2, "u4", "u8")


def _are_noises(value: Any, *, none: bool = False) -> bool:
    """Return whether a value is noise of tables, each as of `is_noise`; 0 for none, if allowed."""
    if not is_array(value, 2, "f8"):
        return False
    known = (value >= LEAST_NOISE) & (value <= MOST_NOISE)
    return bool((known | (value == 0) if none else known).all())


def _are_widths(value: Any) -> bool:
    """Return whether a value is the codes of an owner's columns. All owners' have a limit."""
    return (
        is_array(value, 1, "i8")
        and bool(((value >= 1) & (value <= MOST_LEVELS)).all())
        and int(value.sum()) <= MOST_LEVELS
    )


def _is_joined(value: Joined) -> bool:
    order = value.order == "" or is_hex(value.order, DIGITS)
    return is_whole(value.n_records) and order and is_hex(value.schema, 12)


def _is_counts(value: ColumnCounts) -> bool:
    return is_array(value.counts, 1, "i8") and (value.nonce == "" or is_hex(value.nonce, DIGITS))


def _is_join(value: Join) -> bool:
    return (
        is_name(value.run)
        and is_hex(value.parameters, DIGITS)
        and is_noise(value.noise_multiplier)
        and is_number(value.delta)
        and 0 < value.delta < 1
        and (value.ids == "" or _is_text(value.ids))
        and _all(value.columns, _is_text)
        and _all(value.edges, lambda x: is_array(x, 1, "f8"))
        and len(value.columns) == len(value.edges)
    )


def _is_start(value: Start) -> bool:
    lengths = {
        len(part)
        for part in (
            *(value.peers, value.widths, value.sides, value.nonces, value.noise),
            *(value.peer_bins, value.peer_labels),
        )
        if type(part) is tuple
    }
    return (
        lengths == {len(value.peers)}
        and is_array(value.codes, 1, "i8")
        and bool((value.codes >= 0).all())
        and _are_noises(value.within, none=True)
        and _all(value.peers, is_name)
        and _all(value.widths, _are_widths)
        and _all(value.sides, lambda x: type(x) is bool)
        and _all(value.nonces, lambda x: is_hex(x, DIGITS))
        and _all(value.noise, _are_noises)
        and is_whole(value.rows)
        and value.rows >= 1
        and value.ring in (32, 64)
        and all(
            is_array(part, 1, "i8")
            for part in (value.bins, *value.peer_bins, value.groups, *value.peer_groups)
        )
        and len(value.peer_groups) in (0, len(value.peers))
        and all(type(at) is int and -1 <= at < MOST_LEVELS for at in _labels(value))
    )


def _labels(value: Start) -> tuple[Any, ...]:
    return (value.label, *value.peer_labels)


def _is_deal(value: Deal) -> bool:
    sides = [value.left, value.right, value.left_nonces, value.right_nonces]
    widths = [value.left_widths, value.right_widths]
    return (
        len({len(part) for part in (*sides, *widths)}) == 1
        and all(_all(names, is_name) for names in sides[:2])
        and all(_all(nonces, lambda x: is_hex(x, DIGITS)) for nonces in sides[2:])
        and all(_all(w, lambda x: is_whole(x, MOST_LEVELS + 1) and x >= 1) for w in widths)
        and is_name(value.run)
        and is_whole(value.rows, 2**40)
        and value.ring in (32, 64)
        # What is dealt must fit in an answer: the helper makes all of it first.
        and sum(a * b for a, b in zip(*widths, strict=True)) * value.ring // 8 < MAX_BYTES
    )


CODEC = Codec(
    [
        Kind("Join", Join, _is_join),
        Kind("Joined", Joined, _is_joined),
        Kind("CountColumns", CountColumns, lambda m: is_noise(m.noise_std)),
        Kind("ColumnCounts", ColumnCounts, _is_counts),
        Kind("Start", Start, _is_start, version=2),
        Kind(
            "MaskedRows", MaskedRows, lambda m: is_whole(m.first_row) and _all(m.masked, _is_words)
        ),
        Kind("NextRows", NextRows, lambda m: is_whole(m.first_row) and _all(m.received, _is_words)),
        Kind(
            "Finish",
            Finish,
            lambda m: (
                is_whole(m.first_row) and _all(m.received, _is_words) and _all(m.dealt, _is_words)
            ),
        ),
        Kind(
            "Refine",
            Refine,
            lambda m: (
                _are_noises(m.within, none=True)
                and _all(m.noise, lambda noise: _are_noises(noise, none=True))
            ),
        ),
        Kind("TwoWay", TwoWay, lambda m: is_array(m.within, 2, "i8") and _all(m.shares, _is_words)),
        Kind("Deal", Deal, _is_deal),
        Kind("Dealt", Dealt, lambda m: _all(m.corrections, _is_words)),
    ]
)
