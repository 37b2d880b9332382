"""The fit of plans: it finds curves that made the runs, and worlds are as rare as is said."""

import numpy as np
import pytest
from evidence.calibrate import RECORDS, clusters, covered, curves, fit, runs, world

from dpsumm.summary.plan import READS_PER_RECORD


def made(rng, n, spread=0.3):
    noise, rarity = rng.uniform(0.1, 3, n), rng.choice([0.01, 0.1, 1.0], n)
    ratio = (1.1 + (noise / 4) ** 3 / rarity) * np.exp(rng.normal(0, spread, n))
    return noise, rarity, ratio


@pytest.mark.same_draws
def test_the_curve_that_made_the_runs_is_found(rng):
    base, scale = fit(*made(rng, 4000), 0.5)
    assert base == pytest.approx(1.1, rel=0.1)
    assert scale == pytest.approx(4, rel=0.1)
    low, high = (fit(*made(rng, 4000), q) for q in (0.1, 0.9))
    assert low[0] < base < high[0]


@pytest.mark.same_draws
def test_eight_of_ten_runs_are_in_their_range(rng):
    reads = np.repeat(READS_PER_RECORD, 400)
    noise, rarity, ratio = made(rng, len(reads))
    found = {"reads": reads, "noise": noise, "rarity": rarity, "ratio": ratio}
    inside = int(covered(found, curves(found), known=True).split("range ")[1].split("%")[0])
    assert 76 <= inside <= 84


@pytest.mark.parametrize("rarity", [0.01, 0.3, 1.0])
def test_owners_have_the_share_of_records_that_is_said(rarity, rng):
    def source(rng):
        return np.ones((3 * RECORDS, 1)), np.zeros((RECORDS, 1))

    one = world(source, rarity, 50, rng)
    assert np.concatenate(one.owners).mean() == pytest.approx(rarity, rel=1e-3)
    assert one.target.all()
    assert one.fresh.all()


@pytest.mark.slow
def test_a_world_gives_a_run_for_each_reads_and_epsilon():
    rows = list(runs(clusters, 0))
    assert 0 < len(rows) <= 9
    assert all(row["ratio"] > 0 for row in rows)
