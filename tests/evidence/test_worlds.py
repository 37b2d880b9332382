"""The worlds in which the plan of updates was tried can be run."""

import numpy as np
import pytest
from evidence.ensemble import worlds

from dpsumm.privacy import Unit


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("unit", [Unit.WHOLE_OWNER, Unit.REPLACE_RECORD])
def test_a_run_falls_somewhere(monkeypatch, unit):
    monkeypatch.setattr(worlds, "POINTS", 300)
    monkeypatch.setattr(worlds, "TEST", 300)
    fell = worlds.where(np.random.default_rng(1), 2, 4, 20, 50, 3.0, unit)
    assert fell in {None, "in", "below", "above", "worse than one label for all"}
