"""The numbers on the page are about those of the runs that are tried; `make faults` renews them."""

import re

import pytest
from show import BEGIN, END, PAGE, table
from test_planted_bugs import BUGS
from worlds import WORLDS


def test_the_page_has_the_counts_that_are_tried(whole):
    page = PAGE.read_text(encoding="utf-8")
    told = page.partition(BEGIN)[2].partition(END)[0]
    counted = table({name: whole(name) for name in WORLDS})
    words = [re.sub(r"[\d,]+", "", text) for text in (told, counted)]
    assert words[0] == words[1]
    numbers = [
        [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", text)]
        for text in (told, counted)
    ]
    # A statement more in the ledger is not worth a failure; a run that is not tried is.
    assert numbers[0] == pytest.approx(numbers[1], rel=0.2)
    assert f"plants {len(BUGS)} bugs" in " ".join(page.split())
