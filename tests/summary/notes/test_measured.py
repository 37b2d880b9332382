"""Labels that are numbers, at one owner elsewhere than at all others."""

import numpy as np
import polars as pl
import pytest
from tests.helpers.noted import AGE, BMI, WARNING, found, frame, with_columns

from dpsumm.data.column import Column

FAR = "Nearly all labels in the points read of 'south' lie far from every other owner's: "
SIDE = "Nearly all labels in the points read of 'south' lie on one side of every other owner's: "
SOME = "Some labels in the points read of 'south' lie far from every other owner's: "
EUROS = np.exp(np.linspace(3, 5.5, 60))  # 20 to 245
COST = Column("cost", kind="label")


def summary_of(rng, **costs):
    owners = {
        name: frame(rng, len(cost)).with_columns(cost=pl.Series(cost))
        for name, cost in costs.items()
    }
    return with_columns(owners, frame(rng), AGE, BMI, COST)


def told(rng, **costs):
    return [note for note in summary_of(rng, **costs).notes if "labels in the points" in note]


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (EUROS, None),
        (1.5 * EUROS, None),
        (100 * EUROS, FAR),
        (EUROS / 1000, SIDE),
        (EUROS / 10_000, FAR),
        (12 * EUROS, SIDE),
        (np.round(100 * EUROS), FAR),
        (np.where(np.arange(60) % 10 == 3, 100 * EUROS, EUROS), SOME),
        (np.where(np.arange(60) % 15 == 3, 100 * EUROS, EUROS), None),
        (np.full(60, 99_999.0), FAR),
        (100 * EUROS[::4], None),  # 15 points
    ],
)
def test_an_owner_whose_labels_are_in_other_units_is_told_of(rng, labels, said):
    notes = told(rng, north=EUROS, south=labels, west=1.1 * EUROS, east=0.9 * EUROS)
    assert len(notes) == (said is not None)
    assert said is None or notes[0].startswith(said)
    assert said is None or notes[0].severity is WARNING


def test_of_two_owners_one_may_be_far_but_not_on_one_side(rng):
    assert told(rng, north=EUROS, south=100 * EUROS)[0].startswith(FAR)
    days = np.linspace(100, 200, 60)
    assert told(rng, north=days, south=days + 80) == []
    assert told(rng, north=days, south=days + 80, west=days)[0].startswith(SIDE)
    assert told(rng, north=days, south=days + 60, west=days) == []
    assert told(rng, south=EUROS) == []


def test_classes_and_mostly_zeros_are_in_no_unit(rng):
    """Numbers of classes; costs that most have not; text."""
    ten = np.resize(np.arange(10), 60)
    assert told(rng, north=ten, south=100 + ten, west=ten) == []
    none = np.where(np.arange(60) % 20 == 0, EUROS, 0.0)
    assert told(rng, north=none, south=EUROS, west=none) == []
    words = [f"{cost:.0f} euros" for cost in EUROS]
    assert told(rng, north=words, south=words, west=words) == []


def test_owners_of_one_kind_are_not_told_of():
    """Skewed labels of many owners and few points each."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        costs = {
            f"o{i}": np.exp(rng.normal(4 + rng.normal(0, 0.3), 1.5, rng.integers(16, 80)))
            for i in range(8)
        }
        assert told(rng, **costs) == []


def test_no_label_is_said(rng):
    summary = summary_of(rng, north=EUROS, south=np.full(60, 98_765.0), west=EUROS)
    assert found(summary, FAR) is WARNING
    assert not any("765" in note for note in summary.notes)
