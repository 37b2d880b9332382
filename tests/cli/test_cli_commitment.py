"""``dpsumm run --openings`` and ``dpsumm commitment``: what a third party does with roots."""

import json
import os
import secrets

import numpy as np
import polars as pl
import pytest

from dpsumm import Column, Schema
from dpsumm.errors import InvalidDataError
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


def opened(folder, *rows, out="rows.json", root=None):
    return dpsumm(
        *("commitment", "open", "p.csv", "--schema", "schema.toml", "--key", "key", "--run", RUN),
        *(word for row in rows for word in ("--row", str(row))),
        *("--out", out, *(() if root is None else ("--root", root))),
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


def test_an_owner_s_file_is_opened_in_the_format_that_it_took_part_with(folder):
    opened(folder, 7)
    text = (folder / "p.csv").read_text().replace(",", ";").replace(".", ",")
    (folder / "p.dat").write_bytes(text.replace("p-3", "pä3").encode("cp1252"))
    given = ("commitment", "open", "p.dat", "--schema", "schema.toml", "--key", "key", "--run", RUN)
    form = ("--kind", "csv", "--separator", ";", "--decimal", ",")
    failed = dpsumm(*given, *form, "--row", "7", "--out", "other.json", cwd=folder)
    assert failed.returncode == 2
    assert "--encoding cp1252" in " ".join(failed.stderr.split())
    form += ("--encoding", "cp1252")
    done = dpsumm(*given, *form, "--row", "7", "--out", "other.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    first, other = (verify_openings(folder / f"{n}.json").owners["p"] for n in ("rows", "other"))
    # The same row; another table, of which one cell has changed.
    assert other[1][0].row == first[1][0].row
    assert other[0] != first[0]


@pytest.mark.parametrize(
    ("rows", "out", "words"),
    [
        ((40,), "a.json", "rows must be rows"),
        ((-1,), "a.json", "rows must be rows"),
        ((0, 10**20), "a.json", "rows must be rows"),
        ((-(10**20),), "a.json", "rows must be rows"),
        ((0,), "key", "exists already"),
    ],
)
def test_rows_that_are_not_there_are_refused(folder, rows, out, words):
    failed = opened(folder, *rows, out=out)
    assert failed.returncode == 2
    assert words in " ".join(failed.stderr.split())
    assert not (folder / "a.json").exists()


@pytest.mark.skipif(os.name != "posix", reason="needs modes of files")
def test_openings_are_readable_by_their_user_alone(folder):
    assert opened(folder, 3).returncode == 0
    assert (folder / "rows.json").stat().st_mode & 0o777 == 0o600


def test_an_owner_opens_nothing_under_a_root_that_was_not_published(folder):
    done = opened(folder, 3)
    root = verify_openings(folder / "rows.json").roots["p"]
    assert f"p {root}: 1 row in rows.json" in done.stdout
    assert "Compare this root" in done.stdout
    done = opened(folder, 3, out="again.json", root=root.upper())
    assert done.returncode == 0, done.stderr
    assert "Compare" not in done.stdout
    (folder / "key").write_text(secrets.token_hex(32) + "\n")
    failed = opened(folder, 3, out="other.json", root=root)
    assert failed.returncode == 2
    assert "not the one given" in " ".join(failed.stderr.split())
    assert not (folder / "other.json").exists()


def test_what_shows_nothing_is_an_error_that_says_so(folder):
    opened(folder, 3, 4)
    whole = json.loads((folder / "rows.json").read_text())
    one = whole["owners"]["p"]
    openings, root = one["openings"], one["root"]
    for changed, roots, words in (
        (openings, ["p=" + root.upper()], None),
        (openings * 25, [f"p={root}"], "is opened more than once"),
        ([], [f"p={root}"], "no opening in it"),
        (openings, ["p"], "give NAME=DIGITS"),
        (openings, [f"p={root}"] * 2, "once for each owner"),
        (openings, [f"q={root}"], "no published root of 'p'"),
        (openings, ["p=" + root[2:]], "must be 64 hexadecimal digits"),
        (openings, ["p=" + "x" * 64], "must be 64 hexadecimal digits"),
        (openings, ["p=" + "0" * 64], "not the one published"),
    ):
        one["openings"] = changed
        (folder / "changed.json").write_text(json.dumps(whole))
        given = [word for root in roots for word in ("--root", root)]
        done = dpsumm("commitment", "verify", "changed.json", *given, cwd=folder)
        assert done.returncode == (2 if words else 0), done.stderr
        assert (words or "") in " ".join(done.stderr.split())
    one["openings"] = openings
    nobody = {"q": {"root": root, "openings": []}}
    (folder / "changed.json").write_text(json.dumps(whole | {"owners": whole["owners"] | nobody}))
    done = dpsumm("commitment", "verify", "changed.json", cwd=folder)
    assert f"p {root}: 2 rows are of that table" in done.stdout
    assert f"q {root}: no row was opened or checked" in done.stdout


def test_a_file_of_no_text_is_none_of_openings(folder):
    opened(folder, 3)
    whole = json.loads((folder / "rows.json").read_text())
    for changed in ({"schema": "\ud800"}, {"owners": {"\ud800": whole["owners"]["p"]}}):
        (folder / "changed.json").write_text(json.dumps(whole | changed))
        with pytest.raises(InvalidDataError, match="not a file of openings"):
            verify_openings(folder / "changed.json")
