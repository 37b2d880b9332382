"""The numbers on the page are those of the runs that are tried."""

from show import BEGIN, END, PAGE, table
from test_planted_bugs import BUGS
from worlds import WORLDS


def test_the_page_has_the_counts_that_are_tried(whole):
    page = PAGE.read_text(encoding="utf-8")
    assert BEGIN + table({name: whole(name) for name in WORLDS}) + END in page
    assert f"plants {len(BUGS)} bugs" in " ".join(page.split())
