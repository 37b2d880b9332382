"""Names of owners and runs that could be taken for options, folders or other files are refused."""

import dataclasses

import numpy as np
import pytest

import dpsumm
import dpsumm.vertical.messages as tables_messages
from dpsumm.basics.names import check_name
from dpsumm.ensemble import messages as votes
from dpsumm.errors import InvalidParameterError, ProtocolError
from dpsumm.exchange.statements import Statement, ending
from dpsumm.vertical import wire as tables

UNSAFE = [
    "",
    "-rf",
    ".",
    "..",
    ".x",
    "a/b",
    "a\\b",
    "a\nb",
    "a\x1b[2J",
    "a\u202eb",
    "nul",
    "COM1.csv",
    "a" * 101,
    " a",
    "a.",
    "c:x",
]


@pytest.mark.parametrize("name", UNSAFE)
def test_an_unsafe_name_is_refused(name):
    with pytest.raises(InvalidParameterError):
        check_name(name, "owners")
    points = np.zeros((10, 2))
    with pytest.raises(InvalidParameterError, match="owners"):
        dpsumm.summarize({name: points}, points, schema={"x": (0, 1), "y": (0, 1)}, size=2)


@pytest.mark.parametrize("name", ["north", "north 2", "Z\u00fcrich", "a.b_c-d", "owner (1)"])
def test_other_names_are_taken(name):
    check_name(name, "owners")


@pytest.mark.parametrize("name", UNSAFE[1:])
def test_an_unsafe_name_of_a_run_is_refused_at_every_entry(name):
    points = np.random.default_rng(1).random((50, 2))
    with pytest.raises(InvalidParameterError, match="run: "):
        dpsumm.summarize({"a": points}, points, size=2, kernel=dpsumm.RBF(1), run=name, seed=1)
    with pytest.raises(InvalidParameterError, match="run: "):
        dpsumm.Ledger(run=name)
    asked = Statement("k", "north", "summarize", name, "care", "0", "0" * 64, ending())
    with pytest.raises(ProtocolError):
        Statement.parse(asked.to_bytes())
    for codec, message in (
        (votes.CODEC, votes.ClassifierTask(name, ("no", "yes"), 100, 1, 2)),
        (tables.CODEC, deal(name)),
    ):
        with pytest.raises(ProtocolError):
            codec.decode(codec.encode(message))


def deal(run):
    fields = {field.name: () for field in dataclasses.fields(tables_messages.Deal)}
    return tables_messages.Deal(**{**fields, "run": run, "rows": 1, "ring": 32})


def test_a_usual_name_of_a_run_passes_there():
    asked = Statement("k", "north", "summarize", "spring 2", "care", "0", "0" * 64, ending())
    assert Statement.parse(asked.to_bytes()) == asked
    for codec, message in (
        (votes.CODEC, votes.ClassifierTask("spring 2", ("no", "yes"), 100, 1, 2)),
        (tables.CODEC, deal("spring 2")),
    ):
        assert codec.decode(codec.encode(message)).run == "spring 2"
