"""The count of how often the verdict on points is right."""

from pathlib import Path

import pytest
from evidence.runner import scenarios
from evidence.verdicts import run


@pytest.mark.filterwarnings("ignore")
def test_summaries_and_rows_drawn_in_their_place_are_judged():
    known = scenarios()
    found = run(known["digits"].problem(Path(), 1), 50, 1)
    kinds = ["help", "drawn evenly", "labels exchanged", "labels at random"]
    each = [name for kind in kinds for name in (kind, f"{kind}, with own labels of more")]
    assert [kind for kind, _, _ in found] == each * 2
    levels = {kind: {level for name, level, _ in found if name == kind} for kind in each}
    assert levels["drawn evenly"] == {"ALARM"}
    assert levels["labels exchanged"] == levels["help"] <= {"INFO", "WARNING"}
    assert "ALARM" not in levels["help, with own labels of more"]
    for spoilt in ("labels exchanged", "labels at random"):
        assert "INFO" not in levels[f"{spoilt}, with own labels of more"]
    labelled = {kind: level for kind, level, _ in run(known["synthetic"].problem(Path(), 1), 50, 1)}
    assert labelled["help, with own labels of two classes"] != "ALARM"
    assert labelled["labels exchanged"] == labelled["help"]
    assert labelled["labels exchanged, with own labels of two classes"] == "ALARM"
    assert labelled["labels at random, with own labels of two classes"] != "INFO"
