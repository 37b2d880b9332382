"""What is refused before anything is sent: a sample that holds records of the target."""

import numpy as np
import pytest

import dpsumm
from dpsumm.data.table import read_table
from dpsumm.errors import InvalidDataError
from dpsumm.privacy.ledger import Ledger
from helpers.silo_curator import SCHEMA, Loopback, owners_of
from helpers.silo_curator import run as run_across


def uniform(rng, n, levels=2**50):
    return rng.integers(0, levels, (n, 3)) / levels


def run(target, sample, **more):
    rng = np.random.default_rng(1)
    owners = {name: uniform(rng, 100) for name in ("north", "south")}
    protocol = dpsumm.Offers(sample=sample)
    given = {"kernel": dpsumm.RBF(1.0)} | more
    return dpsumm.summarize(owners, target, size=10, protocol=protocol, **given)


@pytest.mark.parametrize("count", [20, 200])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_a_sample_of_target_records_is_refused_and_costs_nothing(rng, tmp_path, count, precision):
    target, books = uniform(rng, 200).astype(precision), tmp_path / "books.db"
    Ledger.create(books).close()
    sample = np.concatenate([uniform(rng, 100), target[:count]])
    with pytest.raises(InvalidDataError, match=f"sample: holds {count} of 200 target records"):
        run(target, sample, ledger=books)
    with pytest.raises(InvalidDataError, match="sample: holds"):
        run(target, sample, allow_weak_privacy=True)
    with Ledger(books) as book:
        assert book.charges() == ()


def test_another_sample_of_the_same_kind_is_taken(rng):
    target = uniform(rng, 200)
    assert len(run(target, uniform(rng, 300))) == 10
    assert len(run(target, np.concatenate([uniform(rng, 300), target[:19]]))) == 10


def test_equal_rows_that_chance_makes_are_no_copies(rng):
    """Of 125 different rows nearly all are in both."""
    target, sample = uniform(rng, 200, 5), uniform(rng, 400, 5)
    assert np.isin(target @ [1, 10, 100], sample @ [1, 10, 100]).mean() > 0.5
    assert len(run(target, sample)) == 10


def test_across_silos_it_is_refused_before_anybody_is_asked():
    channel, (_, target) = Loopback(), owners_of()
    sample = read_table(target, name="target", schema=SCHEMA.for_target()).scaled
    with pytest.raises(InvalidDataError, match="sample: holds"):
        run_across(channel, protocol=dpsumm.Offers(sample=sample))
    assert channel.steps == 0
