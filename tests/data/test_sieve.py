"""Candidates of a whole are those of its parts, however it is split and in whatever order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpsumm.data import table as tables
from dpsumm.data.column import Column
from dpsumm.data.marks import Marks, choose, merged
from dpsumm.data.schema import Schema
from dpsumm.data.stream import Sieve
from dpsumm.data.table import Table, read_table
from dpsumm.kernels import Draws

SCHEMA = Schema([Column("x")])


def twin(scores, keys, wanted):
    """The definition: the first rows by score and row, and the first by key and row."""
    rows = range(len(scores))
    best = sorted(rows, key=lambda row: (-scores[row], row))[:wanted]
    drawn = sorted(rows, key=lambda row: (keys[row], row))[:wanted]
    return sorted({*best, *drawn})


@st.composite
def split(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(1, 80))
    # Few values, so that ties are everywhere.
    scores, keys = rng.integers(0, draw(st.integers(1, 30)), (2, n)).astype(float)
    cuts = np.sort(rng.integers(0, n + 1, draw(st.integers(0, 8))))
    parts = [part for part in np.split(np.arange(n), cuts) if len(part)]
    return scores, keys, [parts[i] for i in rng.permutation(len(parts))], draw(st.integers(1, 6))


def table(rows, scores):
    values = scores[rows, None]
    counts = {"n_clipped": (len(rows),), "n_missing": (0,), "n_unknown": (len(rows),)}
    return Table(rows, values, None, name="o", schema=SCHEMA, **counts)


def sieved(scores, keys, wanted, blocks):
    sieve = Sieve(wanted)
    for rows in blocks:
        sieve.add(table(rows, scores), Marks(rows, scores[rows], keys[rows]))
    return sieve.candidates()


@given(split())
def test_a_sieve_keeps_the_same_of_any_blocks(case):
    scores, keys, parts, wanted = case
    found = sieved(scores, keys, wanted, parts)
    expected = twin(scores, keys, wanted)
    np.testing.assert_array_equal(found.marks.rows, expected)
    np.testing.assert_array_equal(found.table.rows, expected)
    np.testing.assert_array_equal(found.table.values[:, 0], scores[expected])
    np.testing.assert_array_equal(found.marks.scores, scores[expected])
    np.testing.assert_array_equal(found.marks.keys, keys[expected])
    assert found.counts.tolist() == [[len(scores)], [0], [len(scores)]]


@given(split(), st.integers(1, 5))
def test_merged_parts_give_the_whole(case, block):
    scores, keys, parts, wanted = case
    kept = [
        sieved(scores, keys, wanted, np.array_split(part, range(block, len(part), block))).marks
        for part in parts
    ]
    expected = twin(scores, keys, wanted)
    np.testing.assert_array_equal(merged(kept, wanted).rows, expected)
    # One by one, as answers come, too.
    one = kept[0]
    for other in kept[1:]:
        one = merged([one, other], wanted)
    np.testing.assert_array_equal(one[choose(one, wanted)].rows, expected)


def test_the_twin_is_not_the_best_rows_alone():
    marks = Marks(np.arange(4), np.array([3.0, 2, 1, 0]), np.array([0.9, 0.8, 0.1, 0.2]))
    np.testing.assert_array_equal(choose(marks, 1), [0, 2])
    assert twin(marks.scores, marks.keys, 1) == [0, 2]


def test_points_are_made_block_by_block(rng, monkeypatch):
    """The candidates are those of all rows at once, and never do all points lie in memory."""
    schema = Schema([Column("x", bounds=(0, 1)), Column("c", categories=(0, 1, 2))])
    values = np.column_stack([rng.uniform(0, 1, 500), rng.integers(0, 3, 500)])
    blocks = []

    def score(points):
        blocks.append(len(points))
        return points @ np.array([[1.0, 0.0], [0.5, 1.0], [0.25, 2.0], [0.0, 3.0]])

    def sifted(block_rows):
        monkeypatch.setattr(tables, "BLOCK_ROWS", block_rows)
        monkeypatch.setattr(tables, "CANDIDATES", 40)
        whole = read_table(values, name="o", schema=schema)
        found, marks = whole.sift(score, Draws(bytes(32)), 5)
        assert "scaled" not in vars(whole)
        return found.rows.tolist(), found.scaled.tobytes(), marks.scores.tobytes()

    together = sifted(500)
    assert len(together[0]) < 500
    assert sifted(64) == together
    assert blocks == [500, *[64] * 7, 52]
