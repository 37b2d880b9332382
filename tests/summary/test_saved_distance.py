"""What a saved summary says of its distance: too few digits to read a record from."""

import json
import re

import numpy as np
import polars as pl
import pytest

import dpsumm

PROTOCOLS = [dpsumm.Pool(), dpsumm.Offers(), dpsumm.papers.Auction()]


def files(summary, folder):
    """What stands beside the rows, as text, by kind of file."""
    summary.save(folder / "rows.csv")
    summary.save(folder / "rows.parquet")
    return (
        (folder / "rows.csv.json").read_text(),
        pl.read_parquet_metadata(folder / "rows.parquet")["dpsumm"],
    )


def made(protocol, last=0.3, **given):
    rng = np.random.default_rng(3)
    owners = {name: rng.normal(size=(80, 1)) for name in ("east", "north")}
    target = np.append(rng.normal(size=(39, 1)), [[last]], axis=0)
    return dpsumm.summarize(
        owners, target, size=10, kernel=dpsumm.RBF(0.5), protocol=protocol, **given
    )


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda one: type(one).__name__)
def test_no_figure_of_the_target_has_more_than_two_digits(protocol, tmp_path):
    """A figure with all digits and all target records but one would give the last one."""
    for text in files(made(protocol), tmp_path):
        about = json.loads(text)
        # A record has public facts alone (tests/runs/test_no_private_values.py); these are random.
        for public in ("record", "privacy", "run", "finished", "rows"):
            about.pop(public)
        assert about.keys() == {"protocol", "verdict", "notes"}
        figures = re.findall(r"\d[\d,.]*\d|\d", json.dumps(about))
        assert all(len(re.sub(r"[,.]|^0[.0]*", "", one)) <= 2 for one in figures), figures


def test_a_record_that_moves_a_little_does_not_show(tmp_path):
    told = []
    for last in (0.3, 0.3001):
        summary = made(dpsumm.Pool(), last, seed=1, run="r")
        about = [json.loads(text) for text in files(summary, tmp_path)]
        for one in about:
            one.pop("finished"), one.pop("rows"), one["record"].pop("finished")
        told.append((summary, about))
    (first, said), (second, other) = told
    np.testing.assert_array_equal(first.points, second.points)
    assert first.mmd2 != second.mmd2  # power: all digits tell them apart
    assert said == other


def test_a_statement_says_that_what_the_file_says_is_not_protected(tmp_path):
    for text in files(made(dpsumm.Offers()), tmp_path):
        said = json.loads(text)["privacy"]
        assert any("what its file or report says of it" in one for one in said)
