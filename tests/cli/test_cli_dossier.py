"""``dpsumm dossier``: one page of a finished run, with the ledger's numbers and what is wrong."""

import html
import json
import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpsumm
from dpsumm import Column, Ledger, Schema
from dpsumm.audit.suite import audits
from dpsumm.papers import Auction, Requests
from dpsumm.privacy.events import Charge, Protected, Pure
from dpsumm.privacy.record import code_digest
from dpsumm.report.audits import AuditResults, Result
from dpsumm.summary.kernel import RBF
from dpsumm.summary.protocols import Greedy, Pool, Uniform
from helpers.command_line import dpsumm as command

MODEL = "weights of a model of 2 classes, 900 points (model)"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run of each subsystem, saved, with its ledgers."""
    folder = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(0)
    owners = {name: rng.normal(size=(40, 2)) for name in ("north", "south")}
    target = rng.normal(size=(50, 2))
    given = {"size": 4, "kernel": RBF(0.3), "ledger": folder / "b.db"}
    Ledger.create(folder / "b.db", caps={"target": (5, 1e-3)}).close()
    summary = dpsumm.summarize(owners, target, run="offers &1", **given)
    summary.save(folder / "offers.csv")
    summary.save(folder / "offers.parquet")
    dpsumm.summarize(owners, target, run="auction", protocol=Auction(n_features=8), **given).save(
        folder / "auction.parquet"
    )
    for name, drawn in (("pool", Pool()), ("uniform", Uniform()), ("greedy", Greedy())):
        dpsumm.summarize(owners, target, run=name, protocol=drawn, **given).save(
            folder / f"{name}.parquet"
        )
    points = rng.normal(size=(60, 2))
    votes = {f"p{i}": rng.multinomial(1, [0.5, 0.5], size=60) for i in range(40)}
    with pytest.warns(UserWarning, match="learn: "):
        model = dpsumm.learn(votes, points, classes=["no", "yes"], delta=1e-3)
    model.save_predictions(folder / "votes.parquet")
    for name in ("registry", "bank"):
        Ledger.create(folder / f"{name}.db").close()
    dpsumm.synthesize(
        {"registry": rng.integers(0, 2, (900, 1)), "bank": rng.integers(0, 3, (900, 1))},
        schema={
            "registry": Schema([Column("smoker", categories=(0, 1))]),
            "bank": Schema([Column("rating", categories=(0, 1, 2))]),
        },
        ledger={name: folder / f"{name}.db" for name in ("registry", "bank")},
        run="rows",
    ).save(folder / "rows.parquet")
    write_audits(folder / "audit.json")
    return folder


def write_audits(path, *, failing=None, only=None, **other):
    """Write results as `dpsumm audit` does, of this package unless others are given."""
    results = tuple(
        Result(audit.name != failing, audit.name, "ε ≤ 1", "9", "ε ≥ 0.5", "0.2", "100", "1 of 1")
        for audit in audits()
        if only is None or audit.name in only
    )
    values = {"version": dpsumm.__version__, "code": code_digest(), "written": "2026-11-22T10:00"}
    made = AuditResults(**values | other, quick=False, results=results)
    path.write_text(json.dumps(made.to_json()))


def test_a_resumed_run_says_so_and_is_not_red(runs, tmp_path):
    rng = np.random.default_rng(0)
    shutil.copy(runs / "audit.json", tmp_path)
    Ledger.create(tmp_path / "b.db").close()
    given = {"size": 4, "kernel": RBF(0.3), "ledger": tmp_path / "b.db", "run": "r"}
    owners = {name: rng.normal(size=(40, 2)) for name in ("north", "south")}
    target = rng.normal(size=(50, 2))
    for resumed in (False, True):
        dpsumm.summarize(owners, target, **given).save(tmp_path / "s.csv")
        text, _ = made(tmp_path, "s.csv", "--ledger", "b.db")
        assert ("The run was resumed: " in text) is resumed
        assert red(tmp_path) == []
        assert "2 parties" in text


BOOKS = ["--ledger", "registry=registry.db", "--ledger", "bank=bank.db"]
GOOD = {
    "offers.csv": ["--ledger", "b.db"],
    "offers.parquet": ["--ledger", "b.db"],
    "auction.parquet": ["--ledger", "b.db"],
    "pool.parquet": ["--ledger", "b.db"],
    "uniform.parquet": ["--ledger", "b.db"],
    "greedy.parquet": ["--ledger", "b.db"],
    "rows.parquet": BOOKS,
}


def made(folder, result, *more, audit="audit.json"):
    """Return the page as text without markup, and the command's last words."""
    given = [] if audit is None else ["--audit", audit]
    done = command("dossier", result, *more, *given, "--out", "d.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    page = (folder / "d.html").read_text("utf-8")
    return text_of(page), done


def text_of(page):
    body = page.partition("<main>")[2]
    text = html.unescape(re.sub(r"<[^>]*>", " ", body)).replace("\u2011", "-")
    return " ".join(text.split())


def red(folder):
    """What stands in red at the top of the last page."""
    page = (folder / "d.html").read_text("utf-8")
    return [text_of(f"<main>{part}") for part in re.findall(r'note alarm">(.*?)</div>', page, re.S)]


@pytest.mark.parametrize("result", GOOD)
def test_a_sound_run_has_nothing_in_red(runs, result):
    text, done = made(runs, result, *GOOD[result])
    assert red(runs) == []
    assert "who holds the result →" not in text  # all charges are those of messages
    assert "Look at this first" not in done.stderr
    for heading in (
        *("What is guaranteed", "Conditions that people", "Who received which", "What was charged"),
        *("What each charge claims", "Audits of this code", "Versions, hashes", "Trust, exposure"),
    ):
        assert heading in text
    for words in (dpsumm.__version__, code_digest(), "Exposure at collection", "holds"):
        assert words in text


def test_the_page_needs_nothing_from_outside_and_escapes_names(runs):
    made(runs, "offers.parquet", "--ledger", "b.db")
    page = (runs / "d.html").read_text("utf-8")
    assert not re.search(r"""(?:src|href)=|url\(|@import|<script|<1>""", page)
    assert "offers &amp;1" in page


@pytest.mark.parametrize("result", ["offers.parquet", "auction.parquet", "rows.parquet"])
def test_numbers_are_those_of_the_ledger(runs, result, monkeypatch):
    monkeypatch.setenv("COLUMNS", "250")
    text, _ = made(runs, result, *GOOD[result])
    charged = text.partition("What was charged")[2].partition("What each charge claims")[0]
    for given in GOOD[result][1::2]:
        shown = command("ledger", "show", given.rpartition("=")[2], cwd=runs).stdout
        book = shown.partition("all runs")[2].splitlines()[1:]
        totals = {line.split()[0]: line.split()[1:3] for line in book if line.strip()}
        for whose in ("records",) if "=" in given else ("target", "owners"):
            epsilon, delta = totals[whose]
            delta = delta.replace("e-0", "e-")
            assert re.search(rf"all runs \(\d runs?\) {re.escape(epsilon)} {delta} ", charged)
    for line in shown.splitlines():
        if "Gaussian" in line and result == "rows.parquet":
            assert line.split()[-2] in charged


def test_messages_are_those_of_the_protocol(runs):
    sent = {
        "offers.parquet": ({"OfferRequest", "Points"}, {"BidRequest", "DrawRequest", "Describe"}),
        "auction.parquet": ({"BidRequest", "Bids", "SendRequest", "Points"}, {"OfferRequest"}),
        "greedy.parquet": ({"DrawRequest", "Points"}, {"OfferRequest", "BidRequest"}),
        "votes.parquet": ({"VoteTask", "Votes", "NoisyVotes"}, {"Classifiers", "Describe"}),
        "rows.parquet": ({"TwoWay", "Deal", "Records"}, {"MaskedRows", "Describe"}),
    }
    for result, (there, absent) in sent.items():
        text, _ = made(runs, result, *GOOD.get(result, []))
        table = text.partition("Who received which")[2].partition("What was charged")[0]
        words = set(re.findall(r"\b[A-Z]\w+", table))
        assert there <= words
        assert not absent & words
        assert ("Every record of every owner is read" in text) == (result == "greedy.parquet")


def test_what_was_charged_since_is_on_the_page(runs, tmp_path):
    for name in ("offers.parquet", "b.db", "b.db.seen", "audit.json"):
        shutil.copy(runs / name, tmp_path / name)
    with Ledger(tmp_path / "b.db", run="offers &1") as book:
        book.release("x", [Charge(Protected.OWNERS, MODEL, Pure(0.25))], lambda: b"")
        book.release("y", [Charge(Protected.OWNERS, "a surprise", Pure(0.25))], lambda: b"")
    text, _ = made(tmp_path, "offers.parquet", "--ledger", "b.db")
    assert "learns of a record of an owner what the run's charges allow" in text
    assert red(tmp_path) == [
        "Look at this first. No claim is registered for the charge 'a surprise'.",
        "Look at this first. The ledger holds 2 charges that the run made after its result was "
        f"written: {MODEL} (on the owners' records), a surprise (on the owners' records). "
        "The sentences on what is guaranteed are older: these charges come on top of them. The "
        "totals are the ledger's and include them.",
    ]
    guaranteed = text.partition("What is guaranteed to whom")[2]
    assert "The run was charged for more since" in guaranteed.partition("Conditions")[0]
    assert "That a model was wanted" in guaranteed
    messages = text.partition("Who received which")[2].partition("What was charged")[0]
    assert "weights of a model of who holds the result → everyone to whom" in messages


def test_a_model_that_was_charged_after_saving_is_told_in_red(runs, tmp_path):
    Ledger.create(tmp_path / "m.db").close()
    rng = np.random.default_rng(2)
    owners = {name: (rng.uniform(size=(900, 2)), rng.integers(0, 2, 900)) for name in "ab"}
    summary = dpsumm.summarize(
        *(owners, rng.uniform(size=(50, 2))),
        size=900,
        protocol=Uniform(),
        schema={"x0": (0, 1), "x1": (0, 1)},
        ledger=tmp_path / "m.db",
    )
    shutil.copy(runs / "audit.json", tmp_path)
    summary.save(tmp_path / "before.parquet")
    summary.private_model([0, 1], epsilon=1.0)
    summary.save(tmp_path / "after.parquet")
    for result, outdated in (("before.parquet", True), ("after.parquet", False)):
        text, _ = made(tmp_path, result, "--ledger", "m.db")
        assert any("weights of a model" in note for note in red(tmp_path)) == outdated
        assert ("charged for more since" in text) == outdated
        assert "weights of a model of who holds the result → everyone" in text


def save_run(path, **more):
    rng = np.random.default_rng(1)
    owners = {name: rng.normal(size=(40, 2)) for name in ("north", "south")}
    given = {"size": 4, "kernel": RBF(0.3), "allow_weak_privacy": True, **more}
    dpsumm.summarize(owners, rng.normal(size=(50, 2)), **given).save(path)


@pytest.mark.parametrize(
    ("more", "title", "words"),
    [
        ({"seed": 1}, "This run guarantees nothing", "a seed was given"),
        (
            {"protocol": Auction(n_features=8, requests=Requests.WINNER)},
            "No guarantee for the owners' records",
            "only the winner sent its point",
        ),
        ({"epsilon": 30.0}, "Read the red notes first", "promises next to nothing"),
        ({"delta": 0.1}, "Read the red notes first", "delta 0.1 is not below 1 / 50"),
    ],
)
def test_a_run_that_means_nothing_does_not_look_good(runs, tmp_path, more, title, words):
    save_run(tmp_path / "s.parquet", **more)
    shutil.copy(runs / "audit.json", tmp_path)
    text, done = made(tmp_path, "s.parquet")
    assert title in text[:300]
    assert any(words in note.lower() or words in note for note in red(tmp_path))
    assert "Look at this first:" in done.stderr
    # Before the first figure.
    page = (tmp_path / "d.html").read_text("utf-8")
    assert page.index('class="note alarm"') < page.index('class="tiles"')


def test_a_title_counts_what_is_to_be_checked(runs, tmp_path):
    Ledger.create(tmp_path / "b.db", caps={"target": (9, 1e-4)}).close()
    save_run(tmp_path / "s.parquet", epsilon=8.0, ledger=tmp_path / "b.db")
    shutil.copy(runs / "audit.json", tmp_path)
    made(tmp_path, "s.parquet", "--ledger", "b.db")
    page = (tmp_path / "d.html").read_text("utf-8")
    many = page.count('class="note warning"')
    assert many
    assert re.search(rf"<h1>Epsilon 8 .*, with {many} warnings? to check</h1>", page)
    assert re.search(r"<title>Epsilon 8 .* to check \(privacy dossier of run \w+\)</title>", page)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"code": "0" * 64, "version": "0.0.9"}, "The audits are of other code (dpsumm 0.0.9"),
        ({"failing": "target release, Gaussian"}, "An audit failed: target release, Gaussian"),
        ({"only": ()}, "The results lack audits of this run's claims: target release, Gaussian"),
        (
            {"only": {audit.name for audit in audits()} - {"reading CSV: every record alone"}},
            "The results lack audits of this run's claims: reading CSV: every record alone. Run",
        ),
    ],
)
def test_audits_that_vouch_for_nothing_are_told_in_red(runs, change, words):
    write_audits(runs / "other.json", **change)
    text, _ = made(runs, "offers.parquet", "--ledger", "b.db", audit="other.json")
    assert any(words in note for note in red(runs))
    assert {"failing", "only"} & change.keys() or "dpsumm audit --out audit.json" in text


def test_a_first_dossier_asks_for_audits_and_is_not_red(runs):
    text, _ = made(runs, "offers.parquet", "--ledger", "b.db", audit=None)
    assert red(runs) == []
    assert "This page has no results of audits" in text
    assert "dpsumm audit --out audit.json" in text


def test_a_ledger_that_lost_charges_or_was_accepted_is_told_in_red(runs, tmp_path):
    for name in ("auction.parquet", "audit.json"):
        shutil.copy(runs / name, tmp_path / name)
    Ledger.create(tmp_path / "b.db", run="auction").close()
    with Ledger(tmp_path / "b.db", run="auction") as book:
        book.release("x", [Charge(Protected.OWNERS, MODEL, Pure(0.25))], lambda: b"")
    shutil.move(tmp_path / "b.db.seen", tmp_path / "lost")
    with Ledger(tmp_path / "b.db") as book:
        assert book.accept()
    made(tmp_path, "auction.parquet", "--ledger", "b.db")
    assert any("lacks 2 charges" in note or "lacks" in note for note in red(tmp_path))
    assert any("accepted although entries may be missing" in note for note in red(tmp_path))


def test_swapped_names_are_the_first_cause_that_is_told(tmp_path):
    rng = np.random.default_rng(3)
    columns = {"a": 1, "b": 2}  # other numbers of columns, other charges
    for name in columns:
        Ledger.create(tmp_path / f"{name}.db").close()
    dpsumm.synthesize(
        {name: rng.integers(0, 2, (900, count)) for name, count in columns.items()},
        schema={
            name: Schema([Column(f"{name}{i}", categories=(0, 1)) for i in range(count)])
            for name, count in columns.items()
        },
        ledger={name: tmp_path / f"{name}.db" for name in columns},
    ).save(tmp_path / "rows.parquet")
    made(tmp_path, "rows.parquet", "--ledger", "a=b.db", "--ledger", "b=a.db", audit=None)
    (note,) = (note for note in red(tmp_path) if "The ledger of 'b' lacks" in note)
    assert 0 < note.index("with the names swapped") < note.index("put back or changed the file")
    assert not any("made after its result was written" in note for note in red(tmp_path))


@pytest.mark.filterwarnings("ignore:no ledger")
def test_the_ledger_of_the_only_owner_that_has_one_needs_no_name(tmp_path):
    rng = np.random.default_rng(3)
    Ledger.create(tmp_path / "a.db").close()
    dpsumm.synthesize(
        {name: rng.integers(0, 2, (900, 1)) for name in "ab"},
        schema={name: Schema([Column(f"{name}0", categories=(0, 1))]) for name in "ab"},
        ledger={"a": tmp_path / "a.db"},
    ).save(tmp_path / "rows.parquet")
    text, _ = made(tmp_path, "rows.parquet", "--ledger", "a.db", audit=None)
    named, _ = made(tmp_path, "rows.parquet", "--ledger", "a=a.db", audit=None)
    digests = re.compile("[0-9a-f]{64}")
    assert digests.sub("", text) == digests.sub("", named)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ("offers.parquet", "The ledger was not given ("),
        ("rows.parquet", "The ledger of 'bank' was not given ("),
        ("votes.parquet", "No ledger was kept in a file"),
    ],
)
def test_charges_that_no_ledger_confirms_are_told_in_red(runs, result, words):
    made(runs, result)
    assert any(words in note for note in red(runs))


def test_the_page_says_near_its_top_what_it_takes_on_trust(runs):
    for result, given in GOOD.items():
        text, _ = made(runs, result, *given)
        top = text.partition("What is guaranteed to whom")[0]
        assert "Nothing signs that record" in top
        assert "The rows of the result are compared with the digest" in top
        assert ("What parties learn is the record's own figure" in top) == (
            result == "rows.parquet"
        )


def test_a_protocol_of_the_users_own_is_told_in_red(tmp_path):
    class Mine(dpsumm.Pool):
        name = "Mine"

    class Heir(dpsumm.Offers):
        """Sends what it likes, under a name that the register knows."""

    for own in (Mine, Heir):
        save_run(tmp_path / "s.parquet", protocol=own())
        text, _ = made(tmp_path, "s.parquet", audit=None)
        name = f"{__name__}.{own.__qualname__}"
        assert any(f"'{name}' is not dpsumm's own" in note for note in red(tmp_path))
        assert f"Points, by {name}" in text or f", by {name}:" in text


def change_csv(path):
    text = path.read_bytes()
    # All rows may be of one owner.
    one, other = (b"north", b"south") if b"north" in text else (b"south", b"north")
    path.write_bytes(text.replace(one, other, 1))


def leave_out_a_line(path):
    path.write_bytes(b"\n".join(path.read_bytes().split(b"\n")[:-2]) + b"\n")


def change_parquet(path):
    """Another value, under the metadata that there are."""
    table = pq.read_table(path)
    x0 = pa.array([*table["x0"].to_pylist()[:-1], 0.25])
    pq.write_table(table.set_column(0, table.schema.field(0), x0), path)


def rename_a_column(path):
    table = pq.read_table(path)
    renamed = table.rename_columns(["y0", *table.column_names[1:]])
    pq.write_table(renamed.replace_schema_metadata(table.schema.metadata), path)


def damage_the_digest(path):
    beside = path.with_name(f"{path.name}.json")
    about = json.loads(beside.read_text("utf-8"))
    beside.write_text(json.dumps({**about, "rows": {"salt": "no", "digest": 3}}))


def lay_out_anew(path):
    """The same rows in another layout."""
    pq.write_table(pq.read_table(path), path, compression="none", row_group_size=1)


@pytest.mark.parametrize(
    ("result", "change", "told"),
    [
        ("offers.csv", change_csv, True),
        ("offers.csv", leave_out_a_line, True),
        ("offers.csv", damage_the_digest, True),
        ("offers.parquet", change_parquet, True),
        ("offers.parquet", rename_a_column, True),
        ("offers.parquet", lay_out_anew, False),
        ("rows.parquet", lay_out_anew, False),
    ],
)
def test_rows_that_were_changed_are_told_in_red(runs, tmp_path, result, change, told):
    for path in runs.iterdir():
        if path.name.startswith(result) or path.suffix in (".db", ".seen") or "audit" in path.name:
            shutil.copy(path, tmp_path)
    change(tmp_path / result)
    text, done = made(tmp_path, result, *GOOD[result])
    assert any("are not those that were written with this record" in x for x in red(tmp_path)) == (
        told
    )
    assert ("WHICH THEY DO NOT HAVE" in text) == told == ("Look at this first" in done.stderr)


def test_a_result_of_before_digests_is_not_vouched_for(runs, tmp_path):
    shutil.copy(runs / "offers.csv", tmp_path)
    about = json.loads((runs / "offers.csv.json").read_text("utf-8"))
    del about["rows"]
    (tmp_path / "offers.csv.json").write_text(json.dumps(about))
    made(tmp_path, "offers.csv", audit=None)
    assert any("has no digest of its rows" in note for note in red(tmp_path))


def test_the_page_has_the_digest_and_not_its_salt(runs, tmp_path):
    """The same rows have another digest in every file: nobody can confirm a guess at them."""
    digests = set()
    for name in ("a.csv", "b.csv"):
        save_run(tmp_path / name, seed=1)
        kept = json.loads((tmp_path / f"{name}.json").read_text("utf-8"))["rows"]
        made(tmp_path, name, audit=None)
        page = (tmp_path / "d.html").read_text("utf-8")
        assert kept["digest"] in page
        assert kept["salt"] not in page
        assert len(bytes.fromhex(kept["salt"])) == 32
        digests.add(kept["digest"])
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["gone.parquet"], "there is no file gone.parquet"),
        (["b.db"], "must end in .parquet or .csv"),
        (["plain.csv"], "does not say of which run it is"),
        (["old.csv"], "has no record of its run"),
        (["offers.parquet", "--ledger", "bank.db"], "has no charge of run 'offers &1'"),
        (["offers.parquet", "--ledger", "gone.db"], "there is no ledger"),
        (["offers.parquet", "--ledger", "b.db", "--ledger", "b.db"], "Give one FILE"),
        (["rows.parquet", "--ledger", "b.db"], "write NAME=FILE"),
        (["rows.parquet", "--ledger", "shop=b.db"], "'shop' is no owner of the run"),
        (["offers.parquet", "--audit", "gone.json"], "cannot be read"),
        (["offers.parquet", "--audit", "old.csv.json"], "does not hold results of this format"),
        (["offers.parquet", "--out", "d.pdf"], "--out must end in .html"),
        (["offers.parquet", "--out", "gone/d.html"], "does not exist"),
    ],
)
def test_errors_say_the_way_out(runs, words, says):
    (runs / "plain.csv").write_text("a\n1\n")
    (runs / "old.csv").write_text("a\n1\n")
    (runs / "old.csv.json").write_text('{"run": "x", "record": {"format": 0}}')
    done = command("dossier", *words, cwd=runs)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_record_that_is_damaged_is_refused(runs, tmp_path):
    about = json.loads((runs / "offers.csv.json").read_text())
    (tmp_path / "s.csv").write_text("a\n1\n")
    for change in (
        *({"delta": None}, {"delta": 2}, {"books": {"": [None, [["nobody"]]]}}, {"extra": 1}),
        *({"settings": {"a": 1}}, {"parties": [1]}, {"run": None}, {"units": {"target": "x"}}),
        *({"observers": {"a": "x"}}, {"statements": None}, {"command": "audit"}, {"seeded": 0}),
        *({"books": {}}, {"observers": {"a": "nan"}}, {"observers": {"a": "-3"}}),
        *({"observers": {"a": "0.1"}}, {"command": "synthesize"}),
        *({"units": {"target": -1}}, {"units": {"nobody": 1}}),
        *({"parties": "north"}, {"statements": "all"}, {"options": []}),
        *({"finished": "today"}, {"books": {"north": [None, []]}}, {"observers": {"a": None}}),
    ):
        (tmp_path / "s.csv.json").write_text(
            json.dumps(about | {"record": about["record"] | change})
        )
        done = command("dossier", "s.csv", cwd=tmp_path)
        assert "has no record" in done.stderr, change
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), change
