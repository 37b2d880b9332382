"""Every kind of request is in a protocol that owners' policies can name, or is left out on purpose.

So a new kind is refused by nodes until it is given a protocol, and is not forgotten.
"""

import importlib.util
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.effort import examples

import dpsumm
from dpsumm.ensemble.holder import CODEC as LEARN
from dpsumm.errors import ProtocolError
from dpsumm.exchange.codec import kind_of
from dpsumm.exchange.messages import Describe, Request
from dpsumm.summary.protocols.messages import DrawRequest
from dpsumm.summary.protocols.wire import CODEC as POINTS
from dpsumm.vertical.wire import CODEC as ROWS

# By its path: its package wants Flower.
FILE = Path(dpsumm.__file__).parent / "flower" / "tasks" / "protocols.py"
SPEC = importlib.util.spec_from_file_location("protocols", FILE)
protocols = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(protocols)

MAGIC = POINTS.encode(Describe())[:5]
# Protocols across silos draw no records at random; rows' parties describe themselves by joining.
LEFT_OUT = {"summarize": {"DrawRequest"}, "learn": set(), "synthesize": {"Describe", "Expect"}}


@pytest.mark.parametrize(
    ("task", "codec"), [("summarize", POINTS), ("learn", LEARN), ("synthesize", ROWS)]
)
def test_every_request_is_in_a_protocol(task, codec):
    requests = {name for name, kind in codec._types.items() if issubclass(kind, Request)}
    kinds = set().union(*(protocols.PROTOCOLS[name] for name in protocols.of_task(task)))
    # An envelope stands there with what may be in it.
    allowed = {part for kind in kinds for part in kind.split("/")}
    assert requests - LEFT_OUT[task] == allowed


def test_protocols_are_named_by_task_and_version():
    assert sum(len(protocols.of_task(task)) for task in LEFT_OUT) == len(protocols.PROTOCOLS)
    for name, kinds in protocols.PROTOCOLS.items():
        _, _, version = name.split("/")
        latest = max(int(kind.partition(".")[2] or 1) for kind in kinds)
        assert int(version) == latest


def test_the_kind_of_a_message_is_the_one_that_a_policy_sees():
    assert kind_of(POINTS.encode(Describe())) == "Describe"
    assert kind_of(POINTS.encode(DrawRequest(3))) == "DrawRequest"


HEADERS = st.one_of(
    st.binary(max_size=60),
    st.sampled_from([b'{"kind":"A"}', b'{"kind":3}', b"[]", b"3", b'"kind"', b"[" * 300, b"{}"]),
)


@examples(50)
@given(header=HEADERS, length=st.one_of(st.none(), st.integers(0, 2**32 - 1)), start=st.booleans())
def test_of_anything_else_it_is_refused(header, length, start):
    size = struct.pack("<I", len(header) if length is None else length)
    data = (MAGIC if start else b"") + size + header
    try:
        kind = kind_of(data)
    except ProtocolError:
        return
    assert kind == "A"
