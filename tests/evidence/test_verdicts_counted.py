"""The count of how often the verdict on points is right."""

from pathlib import Path

import pytest
from evidence.runner import scenarios
from evidence.verdicts import run


@pytest.mark.filterwarnings("ignore")
def test_summaries_and_rows_drawn_in_their_place_are_judged():
    found = run(scenarios()["digits"].problem(Path(), 1), 50, 1)
    kinds, levels, _ = zip(*found, strict=True)
    assert kinds == ("help", "drawn evenly") * 2
    assert set(levels[1::2]) == {"ALARM"}
    assert set(levels[::2]) <= {"INFO", "WARNING"}
