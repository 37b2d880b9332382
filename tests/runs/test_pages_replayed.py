"""Pages that everybody may have are functions of what was released, and of nothing else private.

A run that is resumed sends its release again, whatever the data are by now. So a page of a resumed
run on other records must be the same bytes: then it tells of a record only what was charged.
"""

import re

import numpy as np
import polars as pl
import pytest

import dpsumm
from dpsumm import Column, Schema

pytestmark = [
    pytest.mark.filterwarnings("ignore:learn"),
    pytest.mark.filterwarnings("ignore:no ledger"),
]
BOUNDS = {"x0": (0, 1), "x1": (0, 1)}
# When a run ended, which is a fact of the clock.
CLOCK = re.compile(r"\d{1,2} \w+ \d{4}, \d\d:\d\d UTC|\d{4}-\d\d-\d\d \d\d:\d\d UTC")


def bytes_of(result, folder):
    result.report(folder / "page.html")
    return CLOCK.sub("then", (folder / "page.html").read_text("utf-8"))


@pytest.mark.parametrize("protocol", ["votes", "updates"])
@pytest.mark.parametrize("unit", ["one whole owner", "replace one record"])
def test_the_page_of_a_model(tmp_path, rng, unit, protocol):
    points = rng.random((80, 2))
    dpsumm.Ledger.create(tmp_path / "b.db").close()

    def page(parties):
        model = dpsumm.learn(
            parties, points, epsilon=1, delta=1e-5, classes=["no", "yes"], schema=BOUNDS,
            unit=unit, ledger=tmp_path / "b.db", run="r", protocol=protocol,
        )  # fmt: skip
        return bytes_of(model, tmp_path)

    parties = {f"p{i}": (rng.random((60, 2)), rng.choice(["no", "yes"], 60)) for i in range(5)}
    n = 60 if unit == "replace one record" else 40  # sizes are public there
    other = {name: (rng.random((n, 2)), np.repeat("yes", n)) for name in parties}
    page(parties)  # releases
    assert page(parties) == page(other)


def test_the_page_of_synthetic_rows(tmp_path, rng):
    schemas = {
        "l": Schema([Column("x0", bounds=(0, 1)), Column("c", categories=["a", "b"])]),
        "r": Schema([Column("x1", bounds=(0, 1))]),
    }
    books = {name: tmp_path / f"{name}.db" for name in schemas}
    for path in books.values():
        dpsumm.Ledger.create(path).close()

    def page(x):
        frames = {
            "l": pl.DataFrame({"x0": x[:, 0], "c": np.where(x[:, 2] < 0.5, "a", "b")}),
            "r": pl.DataFrame({"x1": x[:, 1]}),
        }
        made = dpsumm.synthesize(
            frames, schema=schemas, epsilon=1, delta=1e-5, ledger=books, run="r"
        )
        return bytes_of(made, tmp_path)

    rows = rng.random((500, 3))
    page(rows)  # releases
    assert page(rows) == page(0.1 * rows)
