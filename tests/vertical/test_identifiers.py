"""One identifier has one text, however an owner's library holds it."""

import numpy as np
import polars as pl
from hypothesis import example, given
from hypothesis import strategies as st

from dpsumm.data.column import Column
from dpsumm.data.kinds.items import text_of
from dpsumm.data.kinds.label import label_of
from dpsumm.data.schema import Schema
from dpsumm.vertical.agreed import public_levels
from dpsumm.vertical.inputs import identifier, read_held


def slow(text):
    """The definition, for all texts alike."""
    text = text.strip()
    number = label_of(text)
    whole = isinstance(number, float) and number.is_integer() and abs(number) < 2**53
    return text_of(number) if whole or type(number) is int else text


@given(st.text("0123456789aeinftrTruNX+-._ ", min_size=1, max_size=20))
@example("true")
@example("nan")
@example("Infinity")
@example("0")
@example("007")
@example("9007199254740993")
@example("1e3")
def test_a_text_that_is_taken_as_it_is_has_one_spelling(text):
    assert identifier(text) == slow(text)


@given(st.integers(0, 2**53 - 1))
def test_a_whole_number_is_its_text(number):
    assert identifier(number) == identifier(float(number)) == identifier(f" {number}.0")
    assert identifier(str(number)) == str(number)


def test_a_rounded_number_is_none():
    assert identifier(2.0**53) == identifier(float("nan")) == ""


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=9, unique=True))
def test_a_column_of_integers_has_the_texts_of_its_items(numbers):
    schema = Schema([Column("x", categories=("a", "b")), Column("id", "ignore")])
    levels = public_levels({"north": schema}, None, "id")["north"]
    data = pl.DataFrame({"x": ["a"] * len(numbers), "id": np.array(numbers, np.int64)})
    held = read_held(data, "north", schema, levels, "id")
    assert held.identifiers == tuple(sorted(map(identifier, numbers)))
