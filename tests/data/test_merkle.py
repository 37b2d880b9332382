"""Trees over rows beside a slow twin; what a row's bytes tell apart; files of openings."""

import datetime as dt
import itertools
import json
from dataclasses import replace
from hashlib import sha256

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsumm import Column, Schema
from dpsumm.data.files import FileFormat
from dpsumm.data.inputs import read_owners
from dpsumm.data.large.stream import Stream
from dpsumm.data.leaves import Salts, bytes_of, record_of
from dpsumm.data.merkle import DEPTH, MOST_ROWS, SIZE, Forest, climb, leaf, node
from dpsumm.data.openings import Commitments, Opening, root_of, verify_openings
from dpsumm.data.records import Records
from dpsumm.errors import InvalidDataError, ProtocolError
from reference import merkle

RUN = "0123456789abcdef" * 2
SALTS = Salts(bytes(range(32)), RUN)


def leaves_of(count):
    return [sha256(b"leaf %d" % i).digest() for i in range(count)]


@given(st.integers(1, 40), st.data())
def test_root_and_paths_are_those_of_the_slow_twin_in_any_blocks(count, data):
    leaves = leaves_of(count)
    cuts = sorted(data.draw(st.sets(st.integers(1, count))) | {0, count})
    blocks = data.draw(st.permutations(list(itertools.pairwise(cuts))))
    wanted = data.draw(st.sets(st.integers(0, count - 1)))
    # Some blocks in another forest, as workers have them.
    forests = [Forest(wanted), Forest(wanted)]
    for i, (start, end) in enumerate(blocks):
        forests[i % 2].extend(start, leaves[start:end])
    forests[0].join(forests[1])
    root = forests[0].root(SALTS.filler)
    assert root == merkle.node_at((DEPTH, 0), leaves, SALTS.filler)
    for position in wanted:
        path = forests[0].path(position)
        assert path == merkle.path_of(position, leaves, SALTS.filler)
        assert climb(leaves[position], position, path) == root
        assert len(path) == 1024  # whatever the number of rows


@given(st.integers(0, 5000), st.integers(0, 3000))
def test_salts_of_a_block_are_those_of_its_rows(first, count):
    assert SALTS.of(first, count) == b"".join(
        SALTS.of(i, 1) for i in (*range(first, first + count),)[:3]
    ) + (SALTS.of(first + 3, count - 3) if count > 3 else b"")
    assert len(SALTS.of(first, count)) == SIZE * count


def test_salts_and_fillers_differ_by_row_place_run_and_key():
    others = [SALTS, Salts(bytes(32), RUN), Salts(SALTS.key, "f" * 32)]
    made = [salts.of(i, 1) for salts in others for i in (*range(3), 1023, 1024, 2**31)]
    made += [
        salts.filler((level, number))
        for salts in others
        for level in (0, 1, 31)
        for number in (0, 1, 2)
    ]
    assert len(set(made)) == len(made)


def test_rows_that_are_missing_or_too_many_are_refused():
    with pytest.raises(InvalidDataError, match="all rows"):
        Forest().root(SALTS.filler)
    forest = Forest()
    forest.extend(1, leaves_of(1))
    with pytest.raises(InvalidDataError, match="all rows"):
        forest.root(SALTS.filler)
    with pytest.raises(InvalidDataError, match="at most"):
        Forest().extend(MOST_ROWS, leaves_of(1))


def test_a_node_is_no_leaf():
    salt, row = bytes(32), b"any row at all, longer than a hash is"
    assert leaf(salt, row) != node(salt, row)
    left, right = leaves_of(2)
    # RFC 6962: without the first byte these two would be one.
    assert leaf(left, right) != node(left, right)
    assert leaf(left, right) == sha256(b"\x00" + left + right).digest()


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)


@st.composite
def records(draw):
    count, columns = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    numbers = st.sampled_from([0.0, -0.0, 1.0, 2.5, np.nan])
    kind = draw(st.sampled_from(["f4", "f8"]))
    values = np.array(draw(st.lists(numbers, min_size=columns, max_size=columns)), kind)
    texts = st.lists(TEXT, min_size=count, max_size=count).map(lambda x: np.array(x, np.str_))
    return Records(
        np.sort(np.array(draw(st.lists(st.integers(0, 9), min_size=count, max_size=count)))),
        np.tile(values, (count, 1)),
        draw(st.none() | texts),
        tuple(draw(st.lists(texts, max_size=2))),
    )


def plain(made, i):
    label = None if made.labels is None else str(made.labels[i])
    return int(made.rows[i]), made.values[i], label, tuple(str(x[i]) for x in made.carried)


@given(records())
def test_a_rows_bytes_are_the_twins_and_come_back(made):
    for i, row in enumerate(bytes_of(made)):
        number, values, label, along = plain(made, i)
        assert row == merkle.row_bytes(number, values, label, along)
        back = record_of(row)
        assert (back[0], back[2], back[3]) == (number, label, along)
        assert back[1].tobytes() == values.tobytes()


@given(records(), records())
def test_rows_have_the_same_bytes_only_if_all_is_the_same(one, two):
    for i, a in enumerate(bytes_of(one)):
        for j, b in enumerate(bytes_of(two)):
            left, right = plain(one, i), plain(two, j)
            alike = (left[0], left[2:]) == (right[0], right[2:]) and (
                left[1].dtype,
                left[1].tobytes(),
            ) == (right[1].dtype, right[1].tobytes())
            assert (a == b) == alike


def test_a_row_is_the_same_in_whatever_type_its_label_arrives():
    rows, values = np.arange(2), np.ones((2, 1))
    kinds = [[1, 2], [1.0, 2.0], ["1", "2"], np.array([1, 2], object)]
    found = {tuple(bytes_of(Records(rows, values, np.array(kind)))) for kind in kinds}
    assert len(found) == 1


@pytest.mark.parametrize("cut", [0, 5, 18, -1])
def test_a_malformed_row_is_refused(cut):
    (row,) = bytes_of(Records(np.arange(1), np.ones((1, 2)), np.array(["yes"])))
    for bad in (row[:cut], row + b"x", row[:8] + b"f9" + row[10:]):
        with pytest.raises(ProtocolError, match="malformed"):
            record_of(bad)


def tree_of(table):
    return table.plant(Forest(), SALTS).root(SALTS.filler)


# Missing values, whole numbers that blocks hold as other types, dates, text.
MIXED = Schema(
    [
        Column("a", bounds=(-3, 3), when_missing="encode"),
        Column("b", categories=("f", "m"), other="other"),
        Column("beds", "ignore"),
        Column("born", "ignore"),
        Column("y", "label"),
    ]
)


def test_a_streams_root_is_that_of_the_table_in_memory(tmp_path):
    n = 700
    frame = pl.DataFrame(
        {
            "a": [None if i % 5 == 0 and i > 300 else i / n for i in range(n)],
            "b": [("f", "m", "x")[i % 3] for i in range(n)],
            # Only the later blocks lack some: there a library makes floats of them.
            "beds": [None if i > 500 else i for i in range(n)],
            "born": [dt.date(2000, 1, 1) + dt.timedelta(i) if i % 2 else None for i in range(n)],
            "y": [i % 4 for i in range(n)],
        }
    )
    frame.write_parquet(tmp_path / "o.parquet", row_group_size=300)
    roots = set()
    for source in (frame, Stream(tmp_path / "o.parquet", block_rows=129)):
        (table,) = read_owners({"o": source}, schema=MIXED)
        roots.add(table.plant(Forest(), SALTS).root(SALTS.filler))
    assert len(roots) == 1
    # Which of the rows a path is for is told by the row's number.
    assert (table.positions_of(np.array([0, 699])) == [0, 699]).all()


def test_a_rows_place_is_among_the_rows_that_are_used(rng):
    values = rng.normal(size=(6, 1))
    values[[1, 4]] = np.nan
    (table,) = read_owners({"o": values}, file_format=FileFormat(drop_missing=True))
    assert table.rows.tolist() == [0, 2, 3, 5]
    assert table.positions_of(np.array([2, 5])).tolist() == [1, 3]


def saved(tmp_path, rng):
    made = Records(np.arange(5), rng.normal(size=(5, 2)), np.array(list("abcde")))
    forest = Forest(range(5))
    SALTS.plant(forest, 0, made)
    root = root_of(RUN, "0123456789ab", forest.root(SALTS.filler))
    openings = tuple(
        Opening(i, row, SALTS.of(i, 1), forest.path(i)) for i, row in enumerate(bytes_of(made))
    )
    commitments = Commitments(RUN, "0123456789ab", {"o": (root, openings)})
    commitments.save(tmp_path / "openings.json")
    return commitments, tmp_path / "openings.json"


def test_openings_come_back_and_are_checked(tmp_path, rng):
    commitments, path = saved(tmp_path, rng)
    assert verify_openings(path) == verify_openings(path, commitments.roots) == commitments
    assert not any(
        opening.row.hex() in repr(commitments) for opening in [*commitments.owners["o"][1]]
    )
    with pytest.raises(InvalidDataError, match="not the one published"):
        verify_openings(path, {"o": "0" * 64})
    with pytest.raises(InvalidDataError, match="no published root of 'o'"):
        verify_openings(path, {"p": commitments.roots["o"]})


CHANGED = {
    "row": lambda one: {"row": one["row"][:-2] + "ff"},
    "salt": lambda one: {"salt": "00" * 32},
    "path": lambda one: {"path": "00" * 1024},
    "position": lambda one: {"position": one["position"] + 10**6},
}


@pytest.mark.parametrize("change", CHANGED)
def test_a_changed_opening_is_refused(tmp_path, rng, change):
    commitments, path = saved(tmp_path, rng)
    whole = json.loads(path.read_text())
    one = whole["owners"]["o"]["openings"][2]
    one.update(CHANGED[change](one))
    path.write_text(json.dumps(whole))
    with pytest.raises(InvalidDataError, match=r"none of the table|not a file of openings"):
        verify_openings(path, commitments.roots)


@pytest.mark.parametrize("fact", ["run", "schema"])
def test_an_opening_of_another_run_or_schema_is_refused(tmp_path, rng, fact):
    commitments, path = saved(tmp_path, rng)
    other = {"run": "f" * 32, "schema": "ffffffffffff"}[fact]
    replace(commitments, **{fact: other}).save(path)
    with pytest.raises(InvalidDataError, match="none of the table"):
        verify_openings(path, commitments.roots)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"format": "dpsumm openings 2"}',
        '{"format": "dpsumm openings 1", "run": 3}',
    ],
)
def test_what_is_no_file_of_openings_is_refused(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InvalidDataError, match="not a file of openings"):
        verify_openings(tmp_path / "x.json")
    with pytest.raises(InvalidDataError, match="cannot be read"):
        verify_openings(tmp_path / "absent.json")
