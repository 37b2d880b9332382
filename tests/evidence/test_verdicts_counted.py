"""The count of how often the verdict on points is right."""

from pathlib import Path

import pytest
from evidence.runner import scenarios
from evidence.verdicts import run


@pytest.mark.filterwarnings("ignore")
def test_summaries_and_rows_drawn_in_their_place_are_judged():
    known = scenarios()
    found = run(known["digits"].problem(Path(), 1), 50, 1)
    kinds, levels, _ = zip(*found, strict=True)
    assert kinds == ("help", "drawn evenly") * 2
    assert set(levels[1::2]) == {"ALARM"}
    assert set(levels[::2]) <= {"INFO", "WARNING"}
    labelled = {kind: level for kind, level, _ in run(known["synthetic"].problem(Path(), 1), 50, 1)}
    assert labelled["help, with own labels"] != "ALARM"
    assert labelled["labels exchanged"] == labelled["help"]
    assert labelled["labels exchanged, with own labels"] == "ALARM"
    assert labelled["labels at random, with own labels"] != "INFO"
