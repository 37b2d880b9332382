"""Records: parts of them, and parts put together, keep everything of a row together."""

import numpy as np
import pytest

from dpsumm.data.column import Column
from dpsumm.data.inputs import read_table
from dpsumm.data.records import Records
from dpsumm.data.schema import Schema
from dpsumm.data.table import Table

PLAIN = Schema([Column("a")])
BOUNDED = Schema([Column("a", bounds=(0, 10))])


def records(rows: list[int], *, labelled: bool = True) -> Records:
    """Records whose every part tells their row."""
    index = np.array(rows, dtype=np.int64)
    return Records(
        index,
        index[:, None] + 0.5,
        index + 100 if labelled else None,
        (index.astype(np.str_), index + 0.25),
    )


def rows_of(found: Records) -> list[int]:
    """The rows, of which every part must speak."""
    rows = found.rows
    np.testing.assert_array_equal(found.values[:, 0], rows + 0.5)
    if found.labels is not None:
        np.testing.assert_array_equal(found.labels, rows + 100)
    text, number = found.carried
    assert text.tolist() == [str(row) for row in rows]
    np.testing.assert_array_equal(number, rows + 0.25)
    return rows.tolist()


@pytest.mark.parametrize("labelled", [True, False])
def test_parts_put_together_are_the_whole(labelled: bool) -> None:
    whole = records([3, 1, 4, 15, 9], labelled=labelled)
    assert rows_of(whole.take(np.array([4, 0, 0]))) == [9, 3, 3]
    parts = [whole.take(np.array(index, dtype=np.int64)) for index in ([2, 1], [], [0, 3, 4])]
    found = Records.concat(parts)
    assert (rows_of(found), len(found)) == ([4, 1, 3, 15, 9], 5)
    assert (found.labels is None) is not labelled


@pytest.mark.parametrize("schema", [PLAIN, BOUNDED])
def test_a_table_s_points_stay_with_their_rows(schema: Schema) -> None:
    table = read_table(np.arange(8.0)[:, None], name="north", schema=schema)
    parts = [table.take(np.array(index)) for index in ([7, 2], [5])]
    found = Table.concat(parts)
    assert (found.name, found.schema) == ("north", schema)
    np.testing.assert_array_equal(found.rows, [7, 2, 5])
    np.testing.assert_array_equal(found.scaled, table.scaled[[7, 2, 5]])
    # Points that are the values take no memory of their own.
    assert [part.scaled is part.values for part in (*parts, found)] == [schema is PLAIN] * 3
