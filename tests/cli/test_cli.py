"""The command line as a user runs it: exit codes, one-line errors, files, help."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from dpsumm import __version__
from dpsumm.cli import main
from dpsumm.cli.app import COMMANDS, load
from dpsumm.data.words import parse_owners
from dpsumm.papers import Auction, Requests
from dpsumm.privacy.ledger import Ledger
from dpsumm.summary.protocols import Offers, Pool
from dpsumm.summary.protocols.choose import choose_protocol
from dpsumm.summary.words import Name
from helpers.disk import full_for

SECRET = 31.4159


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two owners, one near the target, in the current directory."""
    rng = np.random.default_rng(3)
    for name, mean, size in (("near", 7.0, 120), ("far", 2.0, 120), ("goal", 7.0, 400)):
        points = rng.normal(mean, 1.0, (size, 2)).clip(0, 10)
        frame = pl.DataFrame({"a": points[:, 0], "b": points[:, 1], "y": [name] * size})
        frame.write_csv(tmp_path / f"{name}.csv")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def run(*arguments: str) -> int:
    """Return the exit code of the command in this process."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    return int(caught.value.code or 0)


TWO = ("summarize", "--owner", "near=near.csv", "--owner", "far=far.csv", "--target", "goal.csv")
BOX = ("--schema", "a=0:10", "--schema", "b=0:10")


@pytest.mark.same_draws
def test_run_writes_summary_and_report_and_says_what_it_cost(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = (
        "--size",
        "40",
        "--epsilon",
        "2",
        "--reads-per-record",
        "2",
        "--schema",
        "y=label",
        "--report",
        "report.html",
    )
    assert run(*TWO, *BOX, *options) == 0
    frame = pl.read_parquet(data / "summary.parquet")
    assert set(frame.columns) == {"a", "b", "y", "owner", "index"}
    assert 0 < len(frame) <= 40
    assert (frame["owner"] == frame["y"]).all()
    assert (frame["owner"] == "near").mean() > 0.5
    for name in ("near", "far"):
        mine = frame.filter(pl.col("owner") == name)
        given = pl.read_csv(data / f"{name}.csv")[mine["index"].to_list()]
        np.testing.assert_array_equal(mine.select("a", "b"), given.select("a", "b"))
    assert (data / "report.html").read_text("utf-8").startswith("<!doctype html>")
    out = capsys.readouterr().out
    assert f"{len(frame)} of 40 asked for" in out
    assert re.search(r"epsilon, target +(1\.\d+|2) at delta 1e-05", out)
    assert re.search(r"epsilon, between owners +0 *\n", out)
    assert "wrote summary.parquet" in out
    assert "wrote report.html" in out


def test_streamed_files_give_the_same_summary(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("near", "far"):
        pl.read_csv(f"{name}.csv").write_parquet(f"{name}.parquet")
    owners = ("summarize", "--owner", "near=near.parquet", "--owner", "far=far.parquet")
    options = (
        *owners,
        "--target",
        "goal.csv",
        *BOX,
        "--schema",
        "y=label",
        "--size",
        "20",
        "--seed",
        "5",
    )
    assert run(*options, "--out", "whole.parquet") == 0
    assert run(*options, "--stream", "--out", "streamed.parquet") == 0
    capsys.readouterr()
    assert pl.read_parquet("streamed.parquet").equals(pl.read_parquet("whole.parquet"))
    assert run(*TWO, *BOX, "--size", "20", "--stream", "--out", "csv.parquet") == 2
    assert "suffix" in capsys.readouterr().err


def test_weights_are_written_when_asked_and_a_column_of_that_name_refused_before_the_run(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = (*TWO, *BOX, "--size", "20")
    assert run(*options, "--weights", "--out", "s.csv") == 0
    frame = pl.read_csv("s.csv")
    assert frame.columns == ["a", "b", "owner", "index", "weight"]
    assert frame["weight"].mean() == pytest.approx(1)
    for name in ("near", "far", "goal"):
        pl.read_csv(f"{name}.csv").rename({"b": "weight"}).write_csv(f"{name}.csv")
    capsys.readouterr()
    taken = (*TWO, "--schema", "a=0:10", "--schema", "weight=0:10", "--size", "20")
    assert run(*taken, "--weights", "--ledger", "books", "--out", "t.csv") == 2
    assert "called 'weight' already" in capsys.readouterr().err
    assert not Path("books").exists()
    assert not Path("t.csv").exists()
    assert run(*taken, "--out", "t.csv") == 0


@pytest.mark.parametrize("protocol", ["pool", "uniform", "greedy"])
def test_baselines_spend_nothing(
    data: Path, protocol: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--size", "10", "--protocol", protocol, "--out", "s.csv", "--gamma", "3")
    assert run(*TWO, *BOX, *options) == 0
    assert re.search(r"epsilon, target +0 at", capsys.readouterr().out)
    assert len(pl.read_csv(data / "s.csv")) == 10


def test_seeded_run_repeats_and_is_called_not_private(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seeded = (*TWO, *BOX, "--size", "20", "--seed", "7")
    for name in ("one.csv", "two.csv"):
        assert run(*seeded, "--out", name) == 0
    assert (data / "one.csv").read_bytes() == (data / "two.csv").read_bytes()
    captured = capsys.readouterr()
    assert re.search(r"epsilon, target +∞", captured.out)
    assert re.search(r"verdict +not private \(a seed was given\);", captured.out)
    assert "nothing is guaranteed" in captured.err


def test_headerless_files_with_missing_values(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("near", "far", "goal"):
        lines = (data / f"{name}.csv").read_text().splitlines()[1:]
        text = "\n".join(["-9,1,u", *lines]).replace(",", ";")
        (data / f"{name}.csv").write_text(text)
    options = (
        "--format",
        "names=a,b,y",
        "--format",
        "separator=;",
        "--schema",
        "b=0:10",
        "--size",
        "20",
    )
    marked = "a={bounds=[0, 10], missing=['-9']"
    assert run(*TWO, *options, "--schema", f"{marked}}}") == 2
    assert "column 'a' has missing values" in capsys.readouterr().err
    assert run(*TWO, *options, "--schema", f"{marked}, when_missing='drop'}}") == 0


ERRORS: dict[str, tuple[tuple[str, ...], str]] = {
    "no such file": ((*BOX, "--owner", "third=none.csv"), "'third'.*no such file"),
    "owner form": (("--owner", "third"), "NAME=FILE"),
    "owner twice": (("--owner", "near=near.csv"), "'near' is given twice"),
    "column form": (("--schema", "a=0-10"), "NAME=LOW:HIGH, NAME=A,B,... .categories. or"),
    "column unknown": (("--schema", "z=number", "--gamma", "1"), "has no column 'z'"),
    "columns and a file": ((*BOX, "--schema", "z.toml"), "--schema: give one file, or each col"),
    "column twice": ((*BOX, "--schema", "a=0:1"), "column 'a' is given twice"),
    "bounds": (("--schema", "a=3:3"), "column 'a' needs finite low < high"),
    "label": ((*BOX, "--schema", "z=label"), "no label column 'z'"),
    "text column": (("--gamma", "1"), "column 3 of the file is not numeric"),
    "size": ((*BOX, "--size", "0"), "size"),
    "size too large": ((*BOX, "--size", "241"), "size"),
    "epsilon": ((*BOX, "--epsilon", "0"), "epsilon"),
    "delta": ((*BOX, "--delta", "1"), "delta"),
    "gamma": ((*BOX, "--gamma", "-1"), "gamma"),
    "reads_per_record": ((*BOX, "--reads-per-record", "0.5"), "--reads-per-record must"),
    "features": ((*BOX, "--features", "both"), "features must be 'auto', 'landmarks', 'random'"),
    "number of features": ((*BOX, "--features", "random", "--n-features", "7"), "even"),
    "idle features": (
        (*BOX, "--features", "random", "--protocol", "auction"),
        "--features means nothing",
    ),
    "sample": ((*BOX, "--sample", "no.npy"), "--sample: cannot read no.npy"),
    "spread": ((*BOX, "--spread", "1.5"), "spread"),
    "idle spread": (
        (*BOX, "--spread", "0.5", "--protocol", "pool"),
        "--spread means nothing",
    ),
    "idle option": (
        (*BOX, "--reads-per-record", "2", "--protocol", "uniform"),
        "--reads-per-record means nothing",
    ),
    "suffix": ((*BOX, "--out", "s.txt"), "--out must end in"),
    "directory": ((*BOX, "--out", "none/s.csv"), "--out: .*directory"),
    "report": ((*BOX, "--report", "none/r.html"), "--report: .*directory"),
    "separator": ((*BOX, "--format", "separator=::"), "--format separator"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_one_line_and_exit_2(
    data: Path, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options, message = ERRORS[case]
    size = () if "--size" in options else ("--size", "10")
    before = set(os.listdir(data))
    assert run(*TWO, *size, *options) == 2
    captured = capsys.readouterr()
    assert re.fullmatch(rf"dpsumm: .*{message}.*\n", captured.err)
    assert captured.out == ""
    assert set(os.listdir(data)) == before


@pytest.mark.parametrize("option", ["--out", "--report"])
def test_a_place_that_cannot_be_written_is_found_before_the_run(
    data: Path, option: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(dir: Path) -> None:
        raise PermissionError(13, "Permission denied", str(dir))

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    (data / "there").mkdir()
    place = {"--out": "there/s.csv", "--report": "there/r.html"}[option]
    assert run(*TWO, *BOX, "--size", "5", "--ledger", "books", option, place) == 2
    assert "cannot write in" in capsys.readouterr().err
    assert not (data / "books").exists()


def test_error_in_a_process_shows_no_traceback_and_no_data(data: Path) -> None:
    (data / "near.csv").write_text(f"a,b\n{SECRET},2\n{SECRET}\n3,4\n")
    command = [sys.executable, "-m", "dpsumm", *TWO, "--size", "2", "--gamma", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=data)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "not a well-formed CSV file" in done.stderr
    assert "Traceback" not in done.stderr
    assert str(SECRET) not in done.stderr + done.stdout


def test_wrong_options_are_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("summarize", "--target", "x.csv", "--size", "3") == 2
    assert "--owner" in capsys.readouterr().err
    assert run("summarize", "--nonsense") == 2
    assert run("fly") == 2


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    assert capsys.readouterr().out == f"dpsumm {__version__}\n"
    assert run("summarize", "--help") == 0
    text = capsys.readouterr().out
    for panel in ("Data", "Privacy", "Method", "Output"):
        assert panel in text
    assert run("demo", "--help") == 0
    assert "report.html" in capsys.readouterr().out


@pytest.mark.parametrize("module", ["typer", "rich"])
def test_missing_extra_is_named(module: str) -> None:
    code = f"import sys; sys.modules[{module!r}] = None; from dpsumm.cli import main; main([])"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'dpsumm[cli]'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_arguments_are_parsed() -> None:
    assert parse_owners(["a=x=y.csv", "b=z.csv"]) == {"a": Path("x=y.csv"), "b": Path("z.csv")}
    assert choose_protocol(Name.OFFERS, 10) == Offers()
    assert choose_protocol(Name.OFFERS, 10, n_features=64) == Offers(n_features=64)
    assert choose_protocol(Name.OFFERS, 10, spread=0.0) == Offers(spread=0.0)
    assert choose_protocol(Name.AUCTION, 10, batch=5) == Auction(batch=5)
    published = choose_protocol(Name.AUCTION, 10, requests=Requests.PUBLISHED)
    assert published == Auction.published(10)
    assert choose_protocol(Name.POOL, 10, reads_per_record=2.0) == Pool(reads_per_record=2.0)


@pytest.mark.same_draws
def test_demo_compares_protocols_and_writes_both_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    out = tmp_path / "new" / "demo"
    assert run("demo", "--out", str(out)) == 0
    assert sorted(os.listdir(out)) == ["report.html", "summary.parquet"]
    assert pl.read_parquet(out / "summary.parquet").shape[1] == 64 + 3
    # Points are shown as the images that they are.
    pairs = re.findall(
        r'<img src="data:image/png;base64,([^"]+)"',
        (out / "report.html").read_text("utf-8").partition('class="pairs"')[2],
    )
    sizes = {Image.open(io.BytesIO(base64.b64decode(one))).size for one in pairs[:20]}
    assert len(pairs) > 20
    assert sizes == {(8, 8)}
    text = capsys.readouterr().out
    rows = [line for line in text.splitlines() if "%  " in line]
    assert [row.split("  ")[0] for row in rows] == [
        "Offers",
        "random pool",
        "uniform",
        "greedy on all data",
    ]
    offers, pool, uniform, greedy = ([float(x) for x in re.findall(r"\d\.\d{4}", r)] for r in rows)
    assert greedy[0] < uniform[0]
    assert offers[0] < uniform[0]
    assert pool[0] < uniform[0]


def test_a_budget_that_promises_nothing_needs_accept(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = (*TWO, *BOX, "--size", "20", "--epsilon", "11")
    assert run(*options) == 2
    refused = " ".join(capsys.readouterr().err.split())
    assert "promises next to nothing" in refused
    assert "--allow-weak-privacy" in refused
    assert run(*options, "--allow-weak-privacy") == 0
    warned = " ".join(capsys.readouterr().err.split())
    assert "Look at this first: Epsilon 11 promises next to nothing" in warned
    auction = (*TWO, *BOX, "--size", "20", "--protocol", "auction", "--requests", "private")
    assert run(*auction, "--epsilon-owners", "50") == 2
    assert "--epsilon-owners 50 promises next to nothing" in " ".join(
        capsys.readouterr().err.split()
    )
    assert run(*auction, "--epsilon-owners", "50", "--allow-weak-privacy") == 0
    warned = " ".join(capsys.readouterr().err.split())
    assert "Look at this first: Epsilon 50 between owners promises next to nothing" in warned
    # Nothing is spent by this protocol, whatever is given.
    assert run(*TWO, *BOX, "--size", "20", "--protocol", "pool", "--epsilon", "3") == 0
    told = capsys.readouterr()
    assert "--epsilon 3 was not needed" in told.err
    assert "verdict" in told.out


def test_bounds_of_another_unit_are_refused(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*TWO, "--schema", "a=1000:2000", "--schema", "b=0:10", "--size", "20") == 2
    assert "every value of column 'a' is outside its bounds" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("summary.parquet", "nothing was written"),
        ("report.html", "summary.parquet was written"),
    ],
)
@pytest.mark.parametrize("book", [(), ("--ledger", "books", "--run", "monday")])
def test_a_full_disk_says_what_is_spent_and_how_to_resume(
    data: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    book: tuple[str, ...],
    name: str,
    written: str,
) -> None:
    Ledger.create("books").close()
    options = (*TWO, *BOX, "--size", "20", *book, "--report", "report.html")
    with monkeypatch.context() as patch:
        full_for(patch, name)
        assert run(*options) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"{name} cannot be written (No space left on device); {written}. " in said
    assert "Epsilon 1 of the target is spent. " in said
    assert ("with --ledger books and --run monday: nothing is charged twice" in said) == bool(book)
    assert not Path(name).exists()
    assert not list(Path().glob(".*.part*"))
    if book:
        assert run(*options) == 0
    with Ledger("books") as books:
        assert len(books.charges()) == len(book) / 4


def test_the_name_and_the_end_of_a_run_are_shown_and_stand_in_its_files(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = datetime.now(UTC).replace(second=0, microsecond=0)
    abouts = []
    for out in ("one.parquet", "two.csv"):
        assert run(*TWO, *BOX, "--size", "20", "--run", f"run of {out}", "--out", out) == 0
        shown = re.search(r"^run +(.+), ([0-9-]+ [0-9:]+) UTC *$", capsys.readouterr().out, re.M)
        assert shown is not None
        when = datetime.strptime(f"{shown[2]} +0000", "%Y-%m-%d %H:%M %z")
        assert before <= when <= datetime.now(UTC)
        about = json.loads(
            pl.read_parquet_metadata(out)["dpsumm"]
            if out.endswith("parquet")
            else Path(f"{out}.json").read_text("utf-8")
        )
        assert about["run"] == about["record"]["run"] == shown[1] == f"run of {out}"
        assert datetime.fromisoformat(about["finished"]).replace(second=0, microsecond=0) == when
        assert "epsilon" not in about["verdict"]
        assert any("(1, 1e-05)-differential privacy" in text for text in about["privacy"])
        abouts.append(about)
    assert abouts[0].keys() == abouts[1].keys()


def test_a_delta_of_one_over_the_target_is_refused_and_a_large_one_is_told_of(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Ledger.create("books").close()
    options = (*TWO, *BOX, "--size", "20", "--ledger", "books")
    assert run(*options, "--delta", "0.0025") == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "delta 0.0025 is not below 1 / 400, one over the protected records" in said
    assert "--allow-weak-privacy" in said
    with Ledger("books") as books:
        assert books.charges() == ()
    for delta, told in (("0.00125", True), ("0.0001", False)):
        assert run(*options, "--delta", delta) == 0
        said = " ".join(capsys.readouterr().err.split())
        assert ("Check this: Delta 0.00125 is 0.5 / 400, close to one over" in said) == told
    assert run(*options, "--delta", "0.0025", "--allow-weak-privacy") == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "Look at this first: Delta 0.0025 is not below 1 / 400" in said


@pytest.mark.parametrize("word", COMMANDS)
def test_the_list_says_of_a_command_what_its_own_help_says_first(word):
    assert (load(word).help or "").partition("\n\n")[0].replace("\n", " ") == COMMANDS[word]


@pytest.mark.parametrize("book", [(), ("--ledger", "books", "--run", "monday")])
def test_an_interruption_while_the_report_is_made_says_what_is_complete(
    data: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    book: tuple[str, ...],
) -> None:
    Ledger.create("books").close()

    def stop(path: Path, text: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dpsumm.report.page.write_text", stop)
    options = (*TWO, *BOX, "--size", "20", *book, "--report", "report.html")
    assert run(*options) == 130
    said = capsys.readouterr().err
    assert said.startswith("dpsumm: interrupted; complete: summary.parquet; ")
    assert "epsilon 1 of the target is spent" in said if book else "no --ledger kept it" in said
    assert (data / "summary.parquet").exists()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ((), True),
        (("--ledger", "books"), False),
        (("--protocol", "pool"), False),  # spends nothing
        (("--seed", "3"), False),  # spends what cannot be counted, and says so
    ],
)
def test_a_run_says_that_no_ledger_counts_what_it_spent(
    data: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], told: bool
) -> None:
    Ledger.create("books").close()
    assert run(*TWO, *BOX, "--size", "20", *more) == 0
    said = " ".join(capsys.readouterr().err.split())
    line = "Good to know: No ledger: nothing adds this epsilon to that of other runs; --ledger "
    assert (line in said) == told


@pytest.mark.parametrize(
    ("place", "why"),
    [("there.csv", "there.csv is a directory"), ("none/s.csv", "there is no directory none.")],
)
def test_a_place_that_is_none_is_said_to_be_which(
    data: Path, capsys: pytest.CaptureFixture[str], place: str, why: str
) -> None:
    (data / "there.csv").mkdir()
    assert run(*TWO, *BOX, "--size", "20", "--out", place) == 2
    assert f"dpsumm: --out: {why}" in capsys.readouterr().err
