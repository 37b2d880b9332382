"""``dpsumm run --openings`` and ``dpsumm commitment``: what a third party does with roots."""

import json
import secrets

import numpy as np
import polars as pl
import pytest

from dpsumm import Column, Schema
from dpsumm.summary import verify_openings
from helpers.command_line import dpsumm

RUN = "0123456789abcdef" * 2


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(1)
    for name, rows in (("p", 40), ("q", 40), ("target", 60)):
        frame = pl.DataFrame({"a": rng.random(rows), "b": rng.random(rows)})
        if name != "target":
            frame = frame.with_columns(id=pl.Series([f"{name}-{i}" for i in range(rows)]))
        frame.write_csv(tmp_path / f"{name}.csv")
    unit = {"bounds": (0, 1)}
    Schema([Column("a", **unit), Column("b", **unit), Column("id", "ignore")]).save(
        tmp_path / "schema.toml"
    )
    (tmp_path / "key").write_text(secrets.token_hex(32) + "\n")
    return tmp_path


def test_a_runs_openings_are_verified_against_published_roots(folder):
    made = dpsumm(
        *("run", "--owner", "p=p.csv", "--owner", "q=q.csv", "--target", "target.csv"),
        *("--schema", "schema.toml", "--size", "5", "--openings", "openings.json"),
        cwd=folder,
    )
    assert made.returncode == 0, made.stderr
    roots = verify_openings(folder / "openings.json").roots
    published = [word for name in roots for word in ("--root", f"{name}={roots[name]}")]
    done = dpsumm("commitment", "verify", "openings.json", *published, "--rows", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert f"p {roots['p']}: 10 rows are of that table" in done.stdout
    assert done.stdout.count("  row ") == 20
    assert "p-" in done.stdout
    assert "file's own" not in done.stdout
    unchecked = dpsumm("commitment", "verify", "openings.json", cwd=folder)
    assert "These roots are the file's own" in unchecked.stdout
    other = ["--root", f"p={'0' * 64}", "--root", f"q={roots['q']}"]
    failed = dpsumm("commitment", "verify", "openings.json", *other, cwd=folder)
    assert failed.returncode == 2
    assert "not the one published" in failed.stderr
    whole = json.loads((folder / "openings.json").read_text())
    whole["owners"]["p"]["openings"][0]["salt"] = "00" * 32
    (folder / "changed.json").write_text(json.dumps(whole))
    failed = dpsumm("commitment", "verify", "changed.json", *published, cwd=folder)
    assert failed.returncode == 2
    assert "none of the table that 'p' committed to" in " ".join(failed.stderr.split())


def opened(folder, *rows, out="rows.json"):
    return dpsumm(
        *("commitment", "open", "p.csv", "--schema", "schema.toml", "--key", "key", "--run", RUN),
        *(word for row in rows for word in ("--row", str(row))),
        *("--out", out),
        cwd=folder,
    )


def test_an_owner_opens_rows_that_somebody_asks_for(folder):
    done = opened(folder, 39, 0, 7)
    assert done.returncode == 0, done.stderr
    made = verify_openings(folder / "rows.json")
    assert [one.position for one in made.owners["p"][1]] == [0, 7, 39]
    shown = dpsumm("commitment", "verify", "rows.json", "--rows", cwd=folder).stdout
    assert "row 7:" in shown
    assert "p-7" in shown
    # The same root whichever rows are asked for; another one once a cell has changed.
    opened(folder, 3, out="others.json")
    assert verify_openings(folder / "others.json").roots == made.roots
    text = (folder / "p.csv").read_text()
    (folder / "p.csv").write_text(text.replace("p-20", "p-21", 1))
    opened(folder, 3, out="changed.json")
    assert verify_openings(folder / "changed.json").roots != made.roots


@pytest.mark.parametrize(
    ("rows", "out", "words"),
    [
        ((40,), "a.json", "rows must be rows"),
        ((-1,), "a.json", "rows must be rows"),
        ((0,), "key", "exists already"),
    ],
)
def test_rows_that_are_not_there_are_refused(folder, rows, out, words):
    failed = opened(folder, *rows, out=out)
    assert failed.returncode == 2
    assert words in " ".join(failed.stderr.split())
    assert not (folder / "a.json").exists()
