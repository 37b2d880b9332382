"""Where the bandwidth comes from: bounds or the user, and never the target."""

import re

import polars as pl
import pytest

import dpsumm
from dpsumm import RBF, Column, Offers, Schema
from dpsumm.errors import InvalidParameterError
from dpsumm.papers import Auction
from dpsumm.summary.kernel import median_squared_distance

AGE_COST = "'age': (0, 100), 'cost': (0, 100)"


class Unread(pl.DataFrame):
    """A frame that fails when more of it is read than names and types."""

    def __getattribute__(self, name):
        if name in ("schema", "collect_schema", "columns", "dtypes", "_df", "__class__"):
            return super().__getattribute__(name)
        raise AssertionError(f"data were read: {name}")


@pytest.mark.parametrize("protocol", [None, Offers(), Auction()])
def test_without_a_public_bandwidth_nothing_is_read_and_both_ways_out_are_told(protocol):
    named = Unread({"age": [1], "text": ["a"], "cost": [2.0]})
    for target, columns in (
        (Unread(), "'x0': (0, 100)"),
        (named, AGE_COST),
        ((named, [0]), AGE_COST),
    ):
        with pytest.raises(InvalidParameterError) as caught:
            dpsumm.summarize({"a": Unread()}, target, size=4, protocol=protocol)
        told = str(caught.value)
        assert re.search(r"schema=\{(.*?), ...\}", told).group(1) == columns
        assert "kernel=RBF(gamma)" in told


def test_a_column_without_bounds_is_named(rng, tmp_path):
    owners, target = {"a": rng.normal(size=(50, 3))}, rng.normal(size=(60, 3))
    dpsumm.Ledger.create(tmp_path / "b.db").close()
    schema = Schema([Column("a", bounds=(0, 1)), Column("b"), Column("c")])
    for given in ({"schema": {"x0": (-4, 4), "x1": "number", "x2": "number"}}, {"schema": schema}):
        with pytest.raises(InvalidParameterError, match=r"schema=\{'(x1|b)': .*'(x2|c)'"):
            dpsumm.summarize(owners, target, size=4, ledger=tmp_path / "b.db", **given)
    with dpsumm.Ledger(tmp_path / "b.db") as book:
        assert book.charges() == ()


def test_public_and_given_bandwidths_cost_nothing(rng):
    owners = [rng.normal(size=(50, 2)) for _ in range(2)]
    for kernel in (RBF(0.3), RBF.from_public(rng.normal(size=(50, 2))), RBF.for_unit_box(2)):
        made = dpsumm.summarize(owners, rng.normal(size=(60, 2)), size=4, kernel=kernel)
        assert len(made.privacy.charges) == 1
        assert made.gamma == kernel.gamma


def test_baselines_keep_their_bandwidth_to_themselves(rng):
    """Pool takes the plain median of the target; no message may carry it."""
    owners = [rng.normal(size=(50, 2)) for _ in range(2)]
    target = rng.normal(size=(60, 2))
    made = dpsumm.summarize(owners, target, size=4, protocol=dpsumm.Pool())
    assert made.privacy.charges == ()
    assert made.gamma == 1 / median_squared_distance(target, "target")
