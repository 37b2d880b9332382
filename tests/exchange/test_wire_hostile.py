"""Bytes that nobody sent: refused without a value, in bounded time and memory, or a message."""

import json
import struct
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpsumm.data.inputs import read_table
from dpsumm.errors import DpsummError, ProtocolError
from dpsumm.summary.protocols import Owner
from dpsumm.summary.protocols.messages import DrawRequest, FeatureMap
from dpsumm.summary.protocols.wire import decode, encode
from dpsumm.summary.release import Release
from reference.messages import ENCODED, EXAMPLES, MAGIC, messages, parts, raw, rewritten, same


def refused(data, **options):
    with pytest.raises(ProtocolError) as caught:
        decode(data, **options)
    # Whoever logs the error logs its context too.
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


@pytest.mark.parametrize("data", ENCODED.values(), ids=ENCODED)
def test_every_truncation_and_extension_is_refused(data):
    for length in range(len(data)):
        refused(data[:length])
    for more in (b"\0", b"x" * 8, data):
        refused(data + more)
        refused(more + data)


@pytest.mark.parametrize("data", ENCODED.values(), ids=ENCODED)
def test_every_flipped_bit_gives_a_refusal_or_another_message(data):
    for position in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[position // 8] ^= 1 << position % 8
        flipped = bytes(flipped)
        try:
            message = decode(flipped)
        except ProtocolError:
            continue
        # What passes is a message in its own right, and in its only spelling.
        assert rewritten(message, flipped)


def test_wrong_magic_and_other_types_are_refused():
    for data in (b"", b"dpsm", MAGIC, b"dpsm\x01" + ENCODED["draw"][5:], b"PK\x03\x04" * 9):
        assert "not a dpsumm message" in refused(data)
    assert "cut short" in refused(MAGIC + struct.pack("<I", 2**32 - 1) + b"{}")


def test_a_message_over_the_limit_is_refused_at_its_length():
    data = ENCODED["points"]
    assert same(decode(data, max_bytes=len(data)), EXAMPLES["points"])
    assert str(len(data)) in refused(data, max_bytes=len(data) - 1)


def variants(value):
    """Every way to put something wrong in one place of a header, with the place's name."""
    wrong = [None, True, -1, 0.5, 2**126, "x", "", [], [1], [[]], {}]
    wrong += [{"array": "<i8", "shape": [0]}, {"kind": "DrawRequest", "fields": {"count": 1}}]
    if isinstance(value, dict):
        for key in value:
            for item in variants(value[key]):
                yield {**value, key: item}
            yield {k: v for k, v in value.items() if k != key}
        yield {**value, "more": 1}
    if isinstance(value, list):
        for i in range(len(value)):
            for item in variants(value[i]):
                yield [*value[:i], item, *value[i + 1 :]]
    yield from wrong


@pytest.mark.parametrize("data", ENCODED.values(), ids=ENCODED)
def test_a_header_with_anything_wrong_anywhere_is_refused_or_another_message(data):
    header, body = parts(data)
    accepted = 0
    for other in variants(header):
        changed = raw(other, body)
        try:
            message = decode(changed)
        except ProtocolError:
            continue
        accepted += 1
        assert rewritten(message, changed)
    # Other numbers of the right kind, other sequences of the right items; nothing more.
    assert accepted < 40


def with_field(name, path, value, body=None):
    header, arrays = parts(ENCODED[name])
    place = header["fields"]
    for key in path[:-1]:
        place = place[key]["fields"]
    assert path[-1] in place
    place[path[-1]] = value
    return raw(header, arrays if body is None else body)


@pytest.mark.parametrize(
    "data",
    [
        with_field("offer", ["feature_map", "kind"], "fourier"),
        with_field("offer", ["feature_map", "kind"], {"array": "<U6", "shape": [1]}),
        with_field("offer", ["feature_map", "kind"], {"array": "<i8", "shape": [2]}),
        with_field("offer", ["feature_map", "orthogonal"], 1),
        with_field("offer", ["feature_map", "n_columns"], 0),
        with_field("offer", ["feature_map", "n_columns"], 2**40),
        with_field("offer", ["feature_map", "n_features"], 6),
        with_field("offer", ["feature_map", "seed"], 2**64),
        with_field("landmarks", ["feature_map", "gamma"], 0),
        with_field("landmarks", ["feature_map", "n_columns"], 0),
        with_field("landmarks", ["feature_map", "n_features"], 5),
        with_field("landmarks", ["feature_map", "n_features"], 2**14),
        with_field("landmarks", ["feature_map", "seed"], -1),
        with_field("landmarks", ["feature_map", "schema"], "0123456789AB"),
        with_field("landmarks", ["feature_map", "schema"], None),
        with_field("landmarks", ["feature_map", "sample"], 3),
        with_field("sample", ["feature_map", "n_columns"], 3),
        with_field("sample", ["feature_map", "sample"], {"array": "<f4", "shape": [4, 2]}),
        with_field("sample", ["feature_map", "sample"], {"array": "<f8", "shape": [8]}),
        with_field("offer", ["noise"], True),
        with_field("offer", ["noise"], -0.5),
        with_field("offer", ["count"], 1.0),
        with_field("offer", ["target", "count"], 0),
        with_field("offer", ["target", "count"], 2**40),
        with_field("offer", ["target", "state"], [0.1] * 4),
        with_field("bid", ["target"], {"array": "<f8", "shape": [4]}),
        with_field("bid", ["target"], {"array": "<i8", "shape": [2, 2]}),
        with_field("send", ["wanted"], [1, 0]),
        with_field("bids", ["rows"], [1.0, 2.0]),
        with_field("bids", ["rows"], [True]),
        raw({"kind": "Release", "fields": parts(ENCODED["offer"])[0]["fields"]["target"]}),
        raw({"kind": "Reject", "fields": {}}),
        raw({"kind": ["DrawRequest"], "fields": {"count": 1}}),
        raw({"kind": "DrawRequest", "fields": {}}),
        raw({"kind": "DrawRequest", "fields": {"count": 1, "size": 1}}),
        raw({"kind": "DrawRequest", "fields": [["count", 1]]}),
        raw({"kind": "DrawRequest", "fields": {"self": 1}}),
        raw([1]),
        raw(1),
        raw(None),
        raw("DrawRequest"),
    ],
)
def test_wrong_types_ranges_kinds_and_fields_are_refused(data):
    assert "malformed" in refused(data)


@pytest.mark.parametrize(
    "header",
    [
        b'{"fields":{"count":1,"count":2},"kind":"DrawRequest"}',
        b'{"fields":{"count":1},"kind":"Bids","kind":"DrawRequest"}',
        b'{"kind":"DrawRequest","fields":{"count":1}}',
        b'{"fields": {"count":1},"kind":"DrawRequest"}',
        b'{"fields":{"count":1},"kind":"DrawRequest"} ',
        b'{"fields":{"count":01},"kind":"DrawRequest"}',
        b'{"fields":{"count":-0},"kind":"DrawRequest"}',
        b'{"fields":{"count":1},"kind":"Draw\\u0052equest"}',
        '{"fields":{"count":1},"kind":"DrawRequest"}'.encode("utf-16"),
        '{"fields":{"count":1},"kind":"DrawRequest"}'.encode("utf-32-le"),
        b'\xef\xbb\xbf{"fields":{"count":1},"kind":"DrawRequest"}',
        b'{"fields":{"count":\xff},"kind":"DrawRequest"}',
        b'{"fields":{"count":1e0},"kind":"DrawRequest"}',
    ],
)
def test_another_spelling_of_a_good_header_is_refused(header):
    assert same(decode(raw(b'{"fields":{"count":1},"kind":"DrawRequest"}')), DrawRequest(count=1))
    assert "malformed" in refused(raw(header))


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity", "1e999", "0.250", "9" * 5000])
def test_numbers_that_json_takes_and_we_do_not(literal):
    header, body = parts(ENCODED["offer"])
    text = json.dumps(header, separators=(",", ":"), sort_keys=True)
    assert '"noise":0.25' in text
    data = raw(text.replace('"noise":0.25', f'"mass":{literal}').encode(), body)
    assert literal not in refused(data)


def points_header(**fields):
    plain = {
        "carried": [],
        "labels": None,
        "rows": {"array": "<i8", "shape": [0]},
        "values": {"array": "<f8", "shape": [0, 1]},
    }
    return {"kind": "Points", "fields": {**plain, **fields}}


@pytest.mark.parametrize(
    "fields",
    [
        {"rows": {"array": "<i8", "shape": [2**61]}},
        {"rows": {"array": "<i8", "shape": [2**100]}},
        {"rows": {"array": "<i8", "shape": [-1]}},
        {"rows": {"array": "<i8", "shape": [True]}},
        {"rows": {"array": "<i8", "shape": []}},
        {"rows": {"array": "<i8", "shape": "11"}},
        {"rows": {"array": "<i8", "shape": 1}},
        {"values": {"array": "<f8", "shape": [0, 2**62]}},
        {"values": {"array": "<f8", "shape": [2**32, 2**32]}},
        {"values": {"array": "<f8", "shape": [1, 1, 0]}},
        {"values": {"array": "|O", "shape": [0, 1]}},
        {"values": {"array": "<c16", "shape": [0, 1]}},
        {"values": {"array": ["<f8"], "shape": [0, 1]}},
        {"labels": {"array": "<U4097", "shape": [0]}},
        {"labels": {"array": "<U0", "shape": [0]}},
        {"labels": {"array": "<U01", "shape": [0]}},
        {"labels": {"array": "<U1\n", "shape": [0]}},
        {"labels": {"array": "<M8[s]", "shape": [0]}},
        {"labels": {"text": []}},
        {"labels": "x"},
        {"labels": {"array": "<M8[D]", "shape": [0]}},
        {"carried": None},
        {"carried": "xy"},
        {"carried": [None]},
        {"carried": [[]]},
        {"carried": [{"array": "<M8[ns]", "shape": [0]}]},
        {"carried": [{"array": "<U4097", "shape": [0]}]},
        {"carried": [{"array": "<f8", "shape": [0, 1]}]},
        {"carried": {"array": "<f8", "shape": [0]}},
    ],
    ids=str,
)
def test_shapes_and_types_that_lie_are_refused(fields):
    assert len(decode(raw(points_header())).rows) == 0
    refused(raw(points_header(**fields)))


@pytest.mark.parametrize("code", [0xD800, 0xDFFF, 0x110000, 0xFFFFFFFF])
def test_text_that_is_not_unicode_and_booleans_that_are_neither_are_refused(code):
    one = {"rows": {"array": "<i8", "shape": [0]}, "values": {"array": "<f8", "shape": [0, 1]}}
    text = points_header(labels={"array": "<U1", "shape": [1]}, **one)
    assert decode(raw(text, struct.pack("<I", ord("ü")))).labels.tolist() == ["ü"]
    refused(raw(text, struct.pack("<I", code)))
    flag = points_header(labels={"array": "|b1", "shape": [1]}, **one)
    assert decode(raw(flag, b"\1")).labels.tolist() == [True]
    refused(raw(flag, b"\2"))


def hostile(size):
    """Messages of about this many bytes that cost as much as they can."""
    n = size // 4
    bids = '{"fields":{"rows":[],"scores":[%s]},"kind":"Bids"}'
    yield "open brackets", raw(b"[" * size)
    yield "nested objects", raw(b'{"kind":[' * (size // 9))
    yield "empty objects", raw(b"[" + b"{}," * (size // 3) + b"{}]")
    yield "empty strings", raw((bids % ('"",' * n + '""')).encode())
    yield "keys", raw(b"{" + b",".join(b'"%x":1' % i for i in range(size // 9)) + b"}")
    yield "integers", raw((bids % ("300," * n + "300")).encode())
    yield "small integers", raw((bids % ("7," * (2 * n) + "7")).encode())
    yield "fractions", raw((bids % ("0.5," * n + "0.5")).encode())
    yield "digits", raw((bids % ("9" * size)).encode())
    yield "a long text", raw((bids % f'"{"x" * size}"').encode())
    yield "spaces", raw(b" " * size + b"1")
    yield "a long body", ENCODED["draw"] + bytes(size)
    long = points_header(
        rows={"array": "<i8", "shape": [0]}, labels={"array": "<U4096", "shape": [2**40]}
    )
    yield "a lying label", raw(long, bytes(size))


@pytest.mark.parametrize(("name", "data"), [pytest.param(*x, id=x[0]) for x in hostile(2**18)])
def test_time_and_memory_are_bounded_by_the_message(name, data):
    tracemalloc.start()
    started = time.process_time()
    try:
        decode(data)
    except ProtocolError:
        pass
    else:
        assert "integers" in name  # long lists of whole numbers are good bids
    finally:
        seconds, (_, peak) = time.process_time() - started, tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 40 * len(data)
    assert seconds < 10  # with memory traced; it is far less


@given(st.binary(max_size=300))
def test_any_bytes_after_the_magic_are_refused_or_a_message(data):
    for whole in (data, MAGIC + data, raw(data)):
        try:
            assert encode(decode(whole)) == whole
        except ProtocolError:
            continue


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda x: st.lists(x, max_size=4) | st.dictionaries(
        st.sampled_from("kind fields array shape count".split()), x, max_size=4
    ),
    max_leaves=20,
))  # fmt: skip
def test_any_json_is_refused_or_a_message(value):
    data = raw(value)
    try:
        assert rewritten(decode(data), data)
    except ProtocolError:
        return


@pytest.mark.parametrize(("name", "data"), ENCODED.items(), ids=ENCODED)
def test_no_refusal_repeats_a_value(name, data):
    header, body = parts(data)
    spoilt = [raw({**header, "fields": {**header["fields"], f: "98765"}}, body)
              for f in header["fields"]]  # fmt: skip
    for other in [*spoilt, data[:-1], data + b"98765"]:
        text = refused(other)
        assert "98765" not in text
        assert "0.25" not in text


# --- an owner that is sent a hostile message --------------------------------------------------


FAR = replace(EXAMPLES["sample"].feature_map, sample=np.array([[1e300, np.nan]] * 4))
OWNED = read_table(np.linspace(-1, 1, 40).reshape(20, 2), name="a")


def fitting(made):
    if isinstance(made, FeatureMap):
        return FeatureMap(made.gamma, 2, made.n_features, 1)
    sample = None if made.sample is None else np.resize(made.sample, (made.n_features, 2))
    return replace(made, n_columns=2, schema=OWNED.schema.fingerprint, sample=sample)


@given(messages(), st.integers(2, 20))
@example(EXAMPLES["landmarks"], 4)  # of a schema without bounds
@example(EXAMPLES["sample"], 4)
@example(replace(EXAMPLES["sample"], feature_map=FAR), 4)
@example(replace(EXAMPLES["offer"], count=2**50), 4)
@example(replace(EXAMPLES["offer"], noise=5e-324), 4)
@example(replace(EXAMPLES["offer"], target=Release(np.full(4, 2**63 - 1), 2**40 - 1)), 4)
@example(replace(EXAMPLES["bid"], count=2**62 - 1), 4)
@example(replace(EXAMPLES["bid"], target_factor=2**62 - 1, summary_factor=2**62 - 1), 4)
@example(replace(EXAMPLES["bid"], target=np.full(4, -(2**63))), 4)
def test_an_owner_answers_a_decoded_message_or_refuses_it(message, n_features):
    if hasattr(message, "feature_map"):  # otherwise hardly any would fit the owner's data
        message = replace(message, feature_map=fitting(message.feature_map))
    owner = Owner(OWNED, seed=0)
    try:
        answer = owner.answer(decode(encode(message)))
    except DpsummError:
        return
    assert len(getattr(answer, "rows", ())) <= 20  # a description has none
    decode(encode(answer))
