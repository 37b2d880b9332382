"""Synthetic rows of UCI Adult, cut into two files, by the commands that docs/vertical.md prints."""

import gzip
import re
import shlex
import time
from pathlib import Path

import polars as pl
import pytest
from test_real_data import DATA, needs_data

from dpsumm.cli import main
from dpsumm.privacy import Ledger

pytestmark = needs_data
NAMES = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
    "capital-gain capital-loss hours-per-week native-country income"
).split()
PARTS = {
    "registry": "person age education-num marital-status relationship race sex native-country",
    "bank": "person workclass occupation capital-gain capital-loss hours-per-week income",
}
PAGE = Path(__file__).parents[2] / "docs" / "vertical.md"


def rows_of(file):
    with gzip.open(DATA / "adult" / file, "rt") as lines:
        rows = [line.rstrip(".\n").split(", ") for line in lines if line.count(",") == 14]
    return pl.DataFrame(dict(zip(NAMES, zip(*rows, strict=True), strict=True)))


@pytest.fixture(scope="module")
def printed():
    (block,) = re.findall("```console\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    lines = block.replace("\\\n", " ").splitlines()
    return [shlex.split(line)[1:] for line in lines if line]


def test_the_commands_of_the_page_work(printed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    private, public = rows_of("adult.data.gz"), rows_of("adult.test.gz")
    for name, columns in PARTS.items():
        mine = private.with_row_index("person").select(columns.split())
        mine.sample(fraction=1.0, shuffle=True, seed=len(name)).write_csv(f"{name}.csv")
        public.with_row_index("person").select(columns.split()).write_csv(f"public-{name}.csv")
    started = time.process_time()
    for words in printed:
        with pytest.raises(SystemExit) as end:
            main(words)
        assert not end.value.code, capsys.readouterr().err
    print(f"{time.process_time() - started:.1f} s of processor time")
    rows = pl.read_parquet("rows.parquet")
    assert len(rows) == 32_561
    # What both owners hold together: who earns more works more and is married more often.
    more = rows.filter(pl.col("income") == ">50K")
    less = rows.filter(pl.col("income") == "<=50K")
    assert 0.2 < len(more) / len(rows) < 0.28
    married = [(part["marital-status"] == "Married-civ-spouse").mean() for part in (more, less)]
    assert married[0] > 0.75
    assert married[1] < 0.45
    assert more["education-num"].mean() > less["education-num"].mean() + 1
    assert re.search(
        r"<h1>13 columns of 2 owners: \d+ of 42 pairs", Path("report.html").read_text()
    )
    for name in PARTS:
        with Ledger(f"{name}.db") as book:
            assert 0.9 < book.spent("records")[0] <= 1
