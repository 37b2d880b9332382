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
PAGE = Path(__file__).parents[2] / "docs" / "vertical.md"


@pytest.fixture(scope="module")
def printed():
    """The program that cuts the files, and the words of each command."""
    page = PAGE.read_text("utf-8")
    (program,), (block,) = (
        re.findall(f"```{kind}\n(.*?)```", page, re.DOTALL) for kind in ("py", "console")
    )
    lines = block.replace("\\\n", " ").splitlines()
    return program, [shlex.split(line)[1:] for line in lines if line]


@pytest.mark.same_draws
def test_the_commands_of_the_page_work(printed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("adult.data", "adult.test"):
        Path(name).write_bytes(gzip.decompress((DATA / "adult" / f"{name}.gz").read_bytes()))
    program, commands = printed
    exec(program, {})
    started = time.process_time()
    for words in commands:
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
    page = Path("report.html").read_text()
    assert "<h1>Models of the rows should predict the label</h1>" in page
    for name in ("registry", "bank"):
        with Ledger(f"{name}.db") as book:
            assert 0.9 < book.spent("records")[0] <= 1
