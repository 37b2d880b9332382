"""A run with nothing to choose from, and one that is resumed, with its target or another."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.helpers.noted import ALARM, GREEDY, INFO, WARNING, found, frame, run

import dpsumm
from dpsumm.summary.mechanisms import Exact
from dpsumm.summary.release import TARGET, Draw


def test_with_as_many_points_read_as_kept_nothing_was_chosen(rng):
    said = "the curator had none to choose from"
    for protocol in (
        dpsumm.Pool(reads_per_record=1),
        dpsumm.Offers(reads_per_record=1, n_features=64),
    ):
        assert found(run([frame(rng)], frame(rng), protocol=protocol), said) is WARNING
    for protocol in (dpsumm.Pool(reads_per_record=2), dpsumm.summary.Uniform(), GREEDY):
        assert found(run([frame(rng)], frame(rng), protocol=protocol), said) is None


def test_that_nearly_all_records_were_read_is_said(rng):
    owners, target, said = (
        [frame(rng), frame(rng)],
        frame(rng),
        "the curator sees nearly all of their data",
    )
    for protocol in (
        dpsumm.Pool(reads_per_record=1000),
        dpsumm.Offers(reads_per_record=12, n_features=64),
    ):
        reads = f"{protocol.reads_per_record:g} reads per record, so"
        read = f"120 of the owners' 120 records were read with {reads}"
        summary = run(owners, target, protocol=protocol)
        assert found(summary, f"{read} {said}") is WARNING
    assert found(run(owners, target, protocol=dpsumm.Pool(reads_per_record=10.8)), said) is WARNING
    for protocol in (dpsumm.Pool(reads_per_record=10.6), dpsumm.summary.Uniform(), GREEDY):
        assert found(run(owners, target, protocol=protocol), said) is None
    assert found(run(owners, target, protocol=dpsumm.Pool(), size=120), said) is None


@pytest.mark.parametrize(
    ("small", "size", "reads_per_record", "severity"),
    [
        (60, 60, 2.0, WARNING),
        (60, 61, 2.0, INFO),  # it is smaller than the summary
        (49, 40, 4.0, None),
        (60, 60, 1.7, None),  # 51 of 60
    ],
)
def test_owners_of_whom_nearly_all_was_read_are_counted(
    rng, small, size, reads_per_record, severity
):
    owners, protocol = (
        [frame(rng, small), frame(rng, 300)],
        dpsumm.Pool(reads_per_record=reads_per_record),
    )
    summary = run(owners, frame(rng), protocol=protocol, size=size)
    said = f"Nearly all records of 1 of 2 owners, {small} in all, were read with"
    assert found(summary, said) is severity
    assert found(summary, "Nearly all records of") is severity
    assert found(summary, "the curator sees nearly all") is None
    for other in (GREEDY, dpsumm.summary.Uniform()):
        assert found(run(owners, frame(rng), protocol=other, size=size), "Nearly all") is None


@pytest.mark.parametrize(
    ("size", "far", "severity"), [(1, 0, None), (2, 0, None), (1, 1, WARNING), (20, 1, WARNING)]
)
def test_few_points_are_far_from_a_target_that_owners_have(size, far, severity):
    """Of 4 places alike, one point is 3/4 off, by what a fresh record would be, too."""
    places = np.repeat(np.arange(4.0)[:, None] * 9, 50, axis=0)
    kernel = dpsumm.RBF(1.0)
    summary = run([places + 4 * far], places, size=size, schema=None, kernel=kernel)
    assert summary.mmd2 > 0.2 * summary.target_self
    assert found(summary, "Little overlap") is severity


@pytest.mark.parametrize(("gamma", "severity"), [(3.0, None), (1000.0, WARNING)])
def test_a_bandwidth_that_takes_all_for_unlike_is_told_of(rng, gamma, severity):
    """Fresh records would be as far, as no point is like another: no reason to be silent."""
    summary = run([frame(rng, 2000)], frame(rng, 200), size=60, kernel=dpsumm.RBF(gamma))
    fresh = (1 - summary.target_self) / 60
    assert summary.mmd2 < fresh
    assert found(summary, "or the bandwidth is too small") is severity


def test_points_chosen_for_noise_are_not_called_few(rng):
    near, kernel = [rng.normal(0, 1, (200, 2))], dpsumm.RBF(0.5)
    summary = run(near, rng.normal(9, 1, (8, 2)), schema=None, kernel=kernel,
                  protocol=dpsumm.Offers())  # fmt: skip
    assert summary.mmd2 > 0.2 * summary.target_self
    assert found(summary, "The noise of the release is") is ALARM
    assert found(summary, "Little overlap") is None


@pytest.mark.parametrize(
    "protocol",
    [
        dpsumm.Offers(),
        dpsumm.Offers(features="random", n_features=64),
        dpsumm.Offers(release=Exact()),
        dpsumm.papers.Auction(batch=5, n_features=64),
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
    assert other.verdict.text.startswith("check: read the warnings first")
    # What owners see, and what is charged, is the same.
    assert other.privacy.charges == again.privacy.charges == first.privacy.charges
    with dpsumm.Ledger(tmp_path / "books") as book:
        assert len(book.charges()) == len(first.privacy.charges)


def test_the_noise_explains_the_same_target_and_no_other(rng):
    """A release is within the bound but for 1e-9; a bound of half the noise refuses all."""
    features = dpsumm.kernels.RandomFeatures(2, 256, gamma=1.0, seed=1)
    points, mechanism = rng.uniform(0, 1, (500, 2)), dpsumm.summary.Gaussian(5.0)
    draw = Draw(features, points, TARGET, 500)
    half = dpsumm.summary.Gaussian(2.5)
    for _ in range(20):
        made = mechanism.draw(draw)
        assert mechanism.fits(draw, made)
        assert not half.fits(draw, made)
    assert not mechanism.fits(replace(draw, points=points + 9), made)
    assert dpsumm.papers.Mwem.published(0.1, 3).fits(draw, made) is None


@pytest.mark.parametrize(("size", "severity"), [(1, WARNING), (7, WARNING), (9, None)])
def test_a_summary_of_so_few_points_tells_next_to_nothing(rng, size, severity):
    summary = run([frame(rng, 200)], frame(rng, 400), size=size)
    assert found(summary, "so few that their columns may be") is severity
    assert found(summary, "Ask for more points with `size`") is severity


def test_a_target_of_so_few_records_asks_for_more_of_them(rng):
    summary = run([frame(rng, 200)], frame(rng, 5), size=20)
    assert found(summary, "apart by chance: next to nothing can be said of the summary") is WARNING
    assert found(summary, "Give more target records") is WARNING


@pytest.mark.parametrize(("runs", "severity"), [(1, None), (2, INFO), (5, WARNING)])
def test_what_all_runs_of_a_ledger_spent_is_told_from_the_second_on(rng, tmp_path, runs, severity):
    owners, target, path = [frame(rng, 300)], frame(rng, 200), tmp_path / "books.db"
    with dpsumm.Ledger.create(path):
        pass
    for _ in range(runs):
        summary = run(owners, target, protocol=None, epsilon=1.0, ledger=path)
    with dpsumm.Ledger(path) as book:
        spent, _ = book.spent("target")
    assert spent == pytest.approx(runs, rel=1e-3)
    said = f"The ledger's {runs} runs have spent epsilon {runs} of the target's records"
    assert found(summary, said) is severity
