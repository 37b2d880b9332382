"""The worlds in which the plan of updates was tried can be run."""

import numpy as np
import pytest
from evidence.ensemble import worlds


def small(rng):
    return *worlds.world(rng, 20 * 50 + 600, 4, 2), 20, 50


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("drawn", [small, worlds.table])
def test_a_run_falls_somewhere(drawn):
    rng, counted = np.random.default_rng(1), []
    while not counted:
        counted = worlds.run(rng, drawn)
    runs, fell, kept, told = counted
    assert runs == "runs"
    assert fell in {"in", "below", "above", "worse than one label for all"}
    assert told.startswith(kept)


def test_a_share_falls_where_it_lies():
    found = [worlds.where(share, 0.3, 0.8) for share in (-0.1, 0.1, 0.5, 0.9)]
    assert found == ["worse than one label for all", "below", "in", "above"]


def test_made_up_worlds_have_records_for_all(rng):
    for _ in range(5):
        x, y, n_parties, n = worlds.made(rng)
        assert len(x) == len(y) == n_parties * n + worlds.POINTS + worlds.TEST
