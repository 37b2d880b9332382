"""A message is a function of the records in it: no unsent record changes one bit of it.

The columns that choose records, and what an owner is asked, are the same on both sides. Where the
choice hangs on no record, as under `DrawRequest`, the unsent records change in every column.
"""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st

from dpsumm import Column, Schema
from dpsumm.data.inputs import read_table
from dpsumm.errors import InvalidDataError
from dpsumm.summary.protocols import Owner
from dpsumm.summary.protocols.messages import (
    BidRequest,
    DrawRequest,
    FeatureMap,
    OfferRequest,
    SendRequest,
)
from dpsumm.summary.protocols.wire import CODEC
from dpsumm.summary.release import Release
from helpers.effort import examples

SCHEMA = Schema(
    [
        Column("x", bounds=(0, 1), when_missing="encode"),
        Column("note", "ignore"),
        Column("y", "label"),
    ]
)
COUNT = 6
XS = [0.1, 0.9, 0.2, 0.8, 0.3, 0.7]
MAP = FeatureMap(gamma=2.0, n_columns=2, n_features=8, seed=3)
BIDS = BidRequest(MAP, np.full(8, 2**20), np.zeros(8, np.int64), 1, 0, 2)
HOSTILE = [
    "", "x" * 40, "007", "1.50", "1e400", "-0", "True", "nan", "2024-02-30", "2024-02-29",
    "2024-02-29T10:00:00", "schizophrenia, paranoid", " a", "ü\U0001f600", "9" * 200,
]  # fmt: skip
TEXTS = st.sampled_from(HOSTILE) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"), max_size=6
)
INTS = st.sampled_from([0, 1, 2**53, 2**53 + 1, -(2**63), 2**63 - 1]) | st.integers(-9, 9)
FLOATS = st.sampled_from([0.5, 1.0, -0.0, 2.0**53, 1e300, 5e-324]) | st.floats(
    allow_nan=False, allow_infinity=False
)
DAYS = st.dates()
TIMES = st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1))
GAPS = st.none()
# The kind of a column, which the owner's source fixes: values of a record that may be in it.
COLUMNS = {
    "text": (pl.String, TEXTS | GAPS),
    "whole": (pl.Int64, INTS | GAPS),
    "large": (pl.UInt64, st.integers(0, 2**64 - 1) | GAPS),
    "float": (pl.Float64, FLOATS | GAPS | st.just(float("nan"))),
    "truth": (pl.Boolean, st.booleans() | GAPS),
    "day": (pl.Date, DAYS | GAPS),
    "time": (pl.Datetime("us"), TIMES | GAPS),
}
MIXED = TEXTS | INTS | FLOATS | st.booleans() | GAPS
LABELS = {
    "text": (pl.String, TEXTS.filter(lambda text: text.strip() not in ("", "nan", "1e400"))),
    "whole": (pl.Int64, INTS),
    "float": (pl.Float64, FLOATS),
    "truth": (pl.Boolean, st.booleans()),
}
REQUESTS = {
    "draw": [DrawRequest(2)],
    "offer": [OfferRequest(MAP, Release(np.arange(8), 50), 0.25, 2, 0.5)],
    "bids": [BIDS],
    "sent bids": [BIDS, SendRequest((True, False))],
}


def answered(table, requests):
    """Return the last answer of an owner, and as bytes."""
    owner = Owner(table, seed=1)
    for request in requests:
        answer = owner.answer(request)
    return answer, CODEC.encode(answer)


def unchanged(make, requests, sent, others):
    """Assert that the answer stays if the unsent records are `others` in place of `sent`."""
    try:
        table = read_table(make(*sent), name="north", schema=SCHEMA)
    except InvalidDataError:
        reject()  # refused before anything is asked
    answer, data = answered(table, requests)
    rows = (
        set(answer.rows) if not isinstance(answer.rows, np.ndarray) else set(answer.rows.tolist())
    )
    columns = [
        [old if i in rows else new for i, (old, new) in enumerate(zip(*pair, strict=True))]
        for pair in zip(sent, others, strict=True)
    ]
    try:
        table = read_table(make(*columns), name="north", schema=SCHEMA)
    except InvalidDataError:
        reject()
    _, other = answered(table, requests)
    assert data == other


def column(values):
    return st.lists(values, min_size=COUNT, max_size=COUNT)


@pytest.mark.parametrize("requests", REQUESTS.values(), ids=REQUESTS)
@pytest.mark.parametrize("name", COLUMNS)
@examples(4)
@given(data=st.data())
def test_of_columns_whose_type_the_source_has(name, requests, data):
    kind, values = COLUMNS[name]
    label, labels = LABELS[data.draw(st.sampled_from(sorted(LABELS)))]
    types = {"x": pl.Float64, "note": kind, "y": label}

    def make(*columns):
        frame = pl.DataFrame(dict(zip(types, columns, strict=True)), schema=types)
        return frame if not arrow else frame.to_arrow()

    arrow = data.draw(st.booleans())
    notes, ys = (data.draw(st.tuples(column(one), column(one))) for one in (values, labels))
    xs = data.draw(column(st.floats(0, 1) | GAPS)) if requests == REQUESTS["draw"] else XS
    unchanged(make, requests, (XS, notes[0], ys[0]), (xs, notes[1], ys[1]))


def pandas(*columns):
    items = dict(zip(("x", "note", "y"), columns, strict=True))
    return pd.DataFrame({"x": items["x"]}).assign(
        **{k: pd.Series(v, dtype=object) for k, v in items.items() if k != "x"}
    )


@pytest.mark.parametrize("requests", REQUESTS.values(), ids=REQUESTS)
@examples(12)
@given(
    notes=st.tuples(column(MIXED), column(MIXED)),
    ys=st.tuples(*2 * [column(LABELS["text"][1] | INTS | FLOATS | st.booleans())]),
)
@example(
    notes=([1, 2, 3, 4, 5, 6], ["refused", None, 0.5, True, 2**60, "x" * 4096]),
    ys=([True, False] * 3, [2, 0.5, "schizophrenia, paranoid", 2**60, "007", False]),
)
def test_of_columns_of_anything(requests, notes, ys):
    unchanged(pandas, requests, (XS, notes[0], ys[0]), (XS, notes[1], ys[1]))


@pytest.mark.parametrize("requests", REQUESTS.values(), ids=REQUESTS)
@examples(4)
@given(notes=st.tuples(*2 * [column(TEXTS)]), ys=st.tuples(*2 * [column(LABELS["text"][1])]))
def test_of_text_files(tmp_path_factory, requests, notes, ys):
    folder = tmp_path_factory.mktemp("owner")

    def make(*columns):
        pl.DataFrame(dict(zip(("x", "note", "y"), columns, strict=True))).write_csv(
            folder / "north.csv"
        )
        return folder / "north.csv"

    unchanged(make, requests, (XS, notes[0], ys[0]), (XS, notes[1], ys[1]))


def test_types_come_back_at_the_consumer():
    """What several owners sent as text is numbers, truth values and dates again."""
    import dpsumm

    rng = np.random.default_rng(0)
    schema = Schema([Column("x", bounds=(0, 1)), *(Column(n, "ignore") for n in "abcde")])
    day = datetime.date(2024, 2, 29)

    def owner(first):
        rows = {
            "x": rng.uniform(0, 1, 20), "a": [1, 2] * 10, "b": [0.5, first] * 10,
            "c": [True, False] * 10, "d": [day, None] * 10,
            "e": [datetime.datetime(2024, 1, 1, 10), datetime.datetime(2024, 1, 1)] * 10,
        }  # fmt: skip
        return pl.DataFrame(rows)

    made = dpsumm.summarize(
        [owner(1.0), owner(2.5)],
        pl.DataFrame({"x": rng.uniform(0, 1, 20)}),
        size=30,
        schema=schema,
        kernel=dpsumm.RBF(1),
        protocol=dpsumm.summary.Greedy(),
    )
    kinds = [column.dtype for column in made.carried]
    assert kinds == [np.dtype(x) for x in ("i8", "f8", "?", "M8[D]", "M8[us]")]
    frame = made.to_polars() if hasattr(made, "to_polars") else None
    assert frame is None or frame["d"].drop_nulls().unique().to_list() == [day]
