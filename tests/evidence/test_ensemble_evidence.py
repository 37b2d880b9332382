"""Evidence for `learn`: its tables are made from results alone, and every row has a place."""

from pathlib import Path

import polars as pl
import pytest
from evidence.ensemble import __main__ as entry
from evidence.ensemble import page, tasks


@pytest.fixture(scope="module")
def rows():
    """One draw of each on digits, at one epsilon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entry, "EPSILONS", (3.0,))
        votes = list(entry.measured("digits", 10, Path(), 1))
        return votes + list(entry.updated("digits", 10, Path(), 1))


def test_every_method_that_is_measured_is_shown_and_the_other_way_round(rows):
    measured = {row["method"] for row in rows}
    assert measured == {*page.METHODS, *page.RECORDS, *page.OPEN}
    by_name = {row["method"]: row["mean"] for row in rows}
    assert by_name["ensemble's majority"] > by_name["one party alone, mean"] > 0.4
    assert all(0 <= value <= 1 for value in by_name.values())


def test_the_page_has_what_the_table_has(rows, tmp_path):
    facts = {"scenario": "digits", "seed": 0, "code": "c", "parties": 10}
    table = pl.DataFrame([facts | row for row in rows], schema=entry.SCHEMA)
    shown = page.write(table, {"code": "0123"}, tmp_path)
    text = (tmp_path / page.PAGE).read_text()
    assert shown in text
    assert "| digits: parties, epsilon | 10, 3 |" in shown
    assert "| digits, one record protected: parties, epsilon | 10, 3 |" in shown
    alone = next(row["mean"] for row in rows if row["method"] == "one party alone, mean")
    assert f"| one party alone | {100 * alone:.1f} |" in shown
    assert shown.endswith("Made with code 0123. Learning's own code: c.")
    assert text.split("<!-- measured -->")[0] in (page.ROOT / page.PAGE).read_text()


def test_no_record_is_both_private_and_public():
    task = tasks.digits(Path())
    seen = [
        {row.tobytes() for row in part} for part in (task.points, task.public_points, task.test)
    ]
    assert [len(task.points), len(task.public_points), len(task.test)] == [900, 600, 297]
    assert not seen[0] & seen[1] | seen[0] & seen[2] | seen[1] & seen[2]
    parts = [x for x, _ in tasks.dealt(task, 7)]
    assert sum(map(len, parts)) == 900
