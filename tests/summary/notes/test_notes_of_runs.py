"""A run with nothing to choose from, and one that is resumed, with its target or another."""

from dataclasses import replace

import polars as pl
import pytest
from tests.helpers.noted import ALARM, GREEDY, WARNING, found, frame, run

import dpsumm
from dpsumm.summary.mechanisms import Exact
from dpsumm.summary.release import TARGET, Draw


def test_with_as_many_points_read_as_kept_nothing_was_chosen(rng):
    said = "the curator had none to choose from"
    for protocol in (dpsumm.Pool(parsimony=1), dpsumm.Offers(parsimony=1, n_features=64)):
        assert found(run([frame(rng)], frame(rng), protocol=protocol), said) is WARNING
    for protocol in (dpsumm.Pool(parsimony=2), dpsumm.Uniform(), GREEDY):
        assert found(run([frame(rng)], frame(rng), protocol=protocol), said) is None


def test_that_nearly_all_records_were_read_is_said(rng):
    owners, target, said = (
        [frame(rng), frame(rng)],
        frame(rng),
        "the curator sees nearly all of their data",
    )
    for protocol in (dpsumm.Pool(parsimony=1000), dpsumm.Offers(parsimony=12, n_features=64)):
        read = f"120 of the owners' 120 records were read with parsimony {protocol.parsimony:g}, so"
        summary = run(owners, target, protocol=protocol)
        assert found(summary, f"{read} {said}") is WARNING
    assert found(run(owners, target, protocol=dpsumm.Pool(parsimony=10.8)), said) is WARNING
    for protocol in (dpsumm.Pool(parsimony=10.6), dpsumm.Uniform(), GREEDY):
        assert found(run(owners, target, protocol=protocol), said) is None
    assert found(run(owners, target, protocol=dpsumm.Pool(), size=120), said) is None


@pytest.mark.parametrize(
    "protocol",
    [
        dpsumm.Offers(),
        dpsumm.Offers(features="random", n_features=64),
        dpsumm.Offers(release=Exact()),
        dpsumm.Auction(batch=5, n_features=64),
    ],
    ids=lambda protocol: repr(protocol)[:60],
)
def test_a_run_resumed_with_another_target_is_an_alarm(rng, tmp_path, protocol):
    dpsumm.Ledger.create(tmp_path / "books").close()
    owners, target = [frame(rng, 100)], frame(rng, 2000)
    given = {"ledger": tmp_path / "books", "run": "r", "protocol": protocol, "delta": 1e-6}
    young = target.with_columns(age=18 + (pl.col("age") - 18) / 3)
    said = "'r' was resumed: what it had released was used again, not released anew. "
    first = run(owners, target, **given)
    assert found(first, "resumed") is None
    again = run(owners, target, **given)
    assert found(again, f"{said}Its noise cannot tell the target given from") is WARNING
    other = run(owners, young, **given)
    assert found(other, f"{said}It was released of another target") is ALARM
    assert other.verdict.startswith("read the warnings first")
    # What owners see, and what is charged, is the same.
    assert other.privacy.charges == again.privacy.charges == first.privacy.charges
    with dpsumm.Ledger(tmp_path / "books") as book:
        assert len(book.charges()) == len(first.privacy.charges)


def test_the_noise_explains_the_same_target_and_no_other(rng):
    """A release is within the bound but for 1e-9; a bound of half the noise refuses all."""
    features = dpsumm.kernels.RandomFeatures(2, 256, gamma=1.0, seed=1)
    points, mechanism = rng.uniform(0, 1, (500, 2)), dpsumm.Gaussian(5.0)
    draw = Draw(features, points, TARGET, 500)
    half = dpsumm.Gaussian(2.5)
    for _ in range(20):
        made = mechanism.draw(draw)
        assert mechanism.fits(draw, made)
        assert not half.fits(draw, made)
    assert not mechanism.fits(replace(draw, points=points + 9), made)
    assert dpsumm.Mwem.published(0.1, 3).fits(draw, made) is None
