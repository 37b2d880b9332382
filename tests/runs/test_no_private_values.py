"""Planted values: in no log, repr, error message, ledger, or output of the command line."""

import contextlib
import dataclasses
import datetime as dt
import io
import itertools
import logging
import re
import traceback

import numpy as np
import polars as pl
import pytest

import dpsumm
from dpsumm import Voting, kernels
from dpsumm.cli import main
from dpsumm.data.column import Column
from dpsumm.data.inputs import read_inputs
from dpsumm.data.schema import Schema
from dpsumm.errors import DpsummError
from dpsumm.papers import Mwem
from dpsumm.privacy import Ledger
from dpsumm.summary import written
from dpsumm.summary.kernel import RBF
from dpsumm.summary.mechanisms import Exact
from dpsumm.summary.protocols.features import features_of
from dpsumm.summary.protocols.messages import Bids, Points
from dpsumm.summary.protocols.owner import Owner, points_of
from dpsumm.summary.protocols.wire import encode
from helpers import transcripts

# Values that nothing else would print, in every spelling they could be printed in.
PLANTED = [73519.28461, -61.937284, 918273645.5]
LABEL = "zebra-crossing-4711"


def spellings(value):
    digits = f"{abs(value):.10g}"
    found = {digits[:7], repr(abs(value))[:8], f"{abs(value):.4e}"[:6], f"{abs(value):,.3f}"[:8]}
    # Shorter ones turn up by chance, in a figure that is meant to be shown.
    return {text for text in found if sum(c.isdigit() for c in text) >= 5}


FORBIDDEN = {LABEL, *itertools.chain.from_iterable(map(spellings, PLANTED))}


# Some seventy random ones are shown by these tests; one would hold 9182736 by chance once in 66,000
# runs of them.
DIGEST = re.compile("[0-9a-f]{32,}")


def assert_clean(text):
    text = DIGEST.sub("a digest", text)
    for words in FORBIDDEN:
        assert words not in text, f"a planted value is shown: {words}"


@pytest.fixture
def world(rng):
    """Owners and a target in which every record carries planted values."""

    def table(n):
        points = rng.normal(size=(n, 3))
        points[:, 0] = PLANTED[0]
        points[::2, 1] = PLANTED[1]
        points[::3, 2] = PLANTED[2]
        return points

    labels = np.full(20, LABEL)
    owners = {name: (table(20), labels) for name in ("alpha", "beta", "gamma")}
    return owners, table(40)


PROTOCOLS = [
    dpsumm.Offers(n_features=16),
    dpsumm.Offers(n_features=16, release=Mwem(5, 0.1, 0.1)),
    dpsumm.Pool(),
    dpsumm.summary.Uniform(),
    dpsumm.summary.Greedy(),
    dpsumm.papers.Auction(n_features=8),
    dpsumm.papers.Auction(
        n_features=8, requests=dpsumm.papers.Requests.WINNER, target_release=Exact()
    ),
    dpsumm.papers.Auction.published(4),
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_logs_prints_and_reprs_nothing_private(protocol, world, caplog, capfd, tmp_path):
    owners, target = world
    path = tmp_path / "books"
    Ledger.create(path).close()
    with caplog.at_level(logging.DEBUG):
        summary = dpsumm.summarize(
            owners,
            target,
            size=4,
            protocol=protocol,
            kernel=RBF(0.1),
            ledger=path,
            run="r",
            allow_weak_privacy=True,
        )
    # Power: the values are there, in the summary.
    assert PLANTED[0] in summary.points
    with Ledger(path, run="r") as book:
        shown = [
            repr(summary),
            str(summary),
            repr(summary.privacy),
            *summary.privacy.statements(),
            *summary.notes,
            repr(protocol),
            repr(book),
            *map(repr, book.charges()),
            repr(RBF(0.1)),
        ]
        book_text = "\n".join(shown)
    assert_clean(book_text)
    assert_clean(caplog.text)
    assert_clean("".join(capfd.readouterr()))
    data = path.read_bytes()
    for value in PLANTED:
        assert np.float64(value).tobytes() not in data
    assert_clean(data.decode("latin-1"))


def test_parties_and_messages_show_no_values(world):
    owners, target = world
    tables, goal = read_inputs(owners, target)
    arrays = {name: points for name, (points, _) in owners.items()}
    shown = [*map(repr, tables), repr(goal)]
    with Ledger() as book:
        sizes = dict.fromkeys(owners, 20)
        setting = transcripts.setting_of(target, sizes, book, size=4)
        curator = dpsumm.Offers(n_features=16).curator(setting)
        roles = transcripts.roles_of(arrays, target)
        for name, request in curator.send().items():
            answer = roles[name].answer(request)
            assert isinstance(answer, Points)
            curator.receive(name, answer)
            shown += [repr(request), repr(answer), repr(roles[name])]
        selection = curator.result()
        shown += [repr(setting), repr(curator), repr(selection)]
        shown += [str(value) for value in (selection, answer, tables[0])]
        features = features_of(request.feature_map)
        shown += [repr(features), repr(kernels.Bidder(features.on_grid(goal.scaled)))]
    for text in shown:
        assert_clean(text)


def test_scores_of_bids_are_not_shown():
    """A bid is a function of an owner's record."""
    bids = Bids((123456789123456789,), (3,))
    assert "123456789" not in repr(bids)


def refused(call):
    """The message, and all that a traceback would print of the exception and its causes."""
    with pytest.raises(DpsummError) as error:
        call()
    return "".join(traceback.format_exception_only(error.value)) + repr(error.value.args)


def test_errors_name_columns_and_parties_but_no_value(world, tmp_path):
    owners, target = world
    arrays = {name: points for name, (points, _) in owners.items()}

    def run(owners=arrays, target=target, **more):
        return dpsumm.summarize(owners, target, **{"size": 4, "kernel": RBF(0.1), **more})

    nan, infinite, huge = (target.copy() for _ in range(3))
    nan[3, 1], infinite[3, 1], huge[3, 1] = np.nan, np.inf, 1e300
    csv = tmp_path / "data.csv"
    csv.write_text(f"a,b,c\n1,2,3\n{PLANTED[0]},{LABEL},4\n")
    short = tmp_path / "short.csv"
    short.write_text(f"a,b,c\n1,2,3\n{PLANTED[0]},4\n")
    for call in (
        lambda: run(target=nan),
        lambda: run(target=infinite),
        lambda: run(target=huge),
        lambda: run({**arrays, "alpha": nan}),
        lambda: run({**arrays, "alpha": target[:, :2]}),
        lambda: run(size=10**6),
        lambda: run(target=target[:1]),
        lambda: run(kernel=None),
        lambda: run(schema={"nobody": (0, 1)}),
        lambda: run({"alpha": csv}, csv),
        lambda: run({"alpha": short}, short),
        lambda: run({"alpha": target.astype(str)}, target),
        lambda: run({"alpha": [[PLANTED[0], LABEL]]}, target),
        lambda: RBF.from_public(np.full((4, 2), PLANTED[0])),
    ):
        assert_clean(refused(call))


SCHEMA = Schema(
    [
        Column("x", bounds=(0, 1), when_missing="encode"),
        Column("code", categories=("a", "b"), other="other", when_missing="encode"),
        Column("note", "ignore"),
        Column("kind", "label"),
    ]
)


def mixed(n):
    """A table of planted values: outside the bounds, in no category, and as free text."""
    return pl.DataFrame(
        {"x": PLANTED * n, "code": [LABEL, "a", None] * n, "note": [LABEL] * 3 * n}
    ).with_columns(kind=pl.lit(LABEL))


def test_a_run_by_a_schema_shows_nothing_private(caplog, capfd):
    owners = {name: mixed(8) for name in ("alpha", "beta")}
    # Not all outside the bounds: that would be refused.
    target = pl.concat([mixed(8), mixed(1).with_columns(x=pl.lit(0.5))])
    with caplog.at_level(logging.DEBUG):
        summary = dpsumm.summarize(owners, target, size=4, schema=SCHEMA)
    assert LABEL in summary.to_frame("polars")["note"].to_list()  # power
    tables, goal = read_inputs(owners, target, schema=SCHEMA)
    points = points_of(tables[0], np.arange(3))
    shown = [summary, summary.schema, *summary.notes, *tables, goal, points]
    for text in (*map(repr, shown), *map(str, shown), caplog.text, "".join(capfd.readouterr())):
        assert_clean(text)
    assert any("in no category" in text for text in summary.notes)


def test_errors_of_a_schema_show_no_value(tmp_path):
    def run(schema, **frames):
        frame = mixed(8).with_columns(**frames)
        return dpsumm.summarize({"alpha": frame}, frame, size=2, schema=schema)

    day = (dt.date(2000, 1, 1), dt.date(2001, 1, 1))
    x = Column("x", bounds=(0, 1))
    long = pl.lit(LABEL * 999)
    path = tmp_path / "alpha.csv"
    path.write_text(f"x,code\n{PLANTED[0]},{LABEL}\n{LABEL},a\n")
    calls = [
        lambda: run(Schema([Column("code", bounds=(0, 1))])),
        lambda: run(Schema([Column("code", bounds=day)])),
        lambda: run(Schema([Column("code", bounds=day, date_format="%d.%m.%Y")])),
        lambda: run(Schema([Column("code", categories=("a",))])),
        lambda: run(Schema([x, Column("code", categories=("a",), other="b")])),
        lambda: run(Schema([x, Column("note", "ignore")]), note=long),
        lambda: run(Schema([x, Column("nobody", "ignore")])),
        lambda: run(Schema([x]), x=pl.lit(float("inf"))),
        lambda: dpsumm.summarize([path], path, size=1, schema=Schema([x])),
    ]
    for call in calls:
        assert_clean(refused(call))
    shown = run_cli("schema", "check", path, "--schema", _saved(tmp_path, Schema([x])))
    assert "refuse" in shown
    assert_clean(shown)


def _saved(folder, schema):
    schema.save(folder / "schema.toml")
    return folder / "schema.toml"


def test_answers_that_break_the_schema_are_refused_without_a_value():
    tables, goal = read_inputs({"alpha": mixed(8), "beta": mixed(8)}, mixed(9), schema=SCHEMA)
    with Ledger() as book:
        setting = transcripts.setting_of(
            goal.scaled,
            {table.name: len(table) for table in tables},
            book,
            columns=SCHEMA.names,
            schema=SCHEMA,
            labelled=True,
            size=4,
        )
        curator = dpsumm.Pool().curator(setting)
        role = Owner(tables[0])
        answer = role.answer(curator.send()["alpha"])
        count = len(answer.rows)
        strange, infinite = answer.values.copy(), answer.values.copy()
        strange[0, 1], infinite[0, 0] = 3, np.inf
        far = np.full(count, np.datetime64(2**40, "D"))
        for wrong in (
            {"values": strange},
            {"values": infinite},
            {"carried": ()},
            {"carried": answer.carried * 2},
            {"carried": (answer.carried[0][1:],)},
            {"carried": (answer.carried[0].astype(object),)},
            {"carried": (far,)},
            {"carried": (far.astype("M8[h]"),)},
            {"carried": (answer.carried[0].tolist(),)},
            {"labels": None},
        ):
            changed = dataclasses.replace(answer, **wrong)
            assert_clean(refused(lambda changed=changed: curator.receive("alpha", changed)))
        curator.receive("alpha", answer)
        assert curator.result().records.carried[0].tolist() == [LABEL] * 4


def test_no_request_depends_on_what_a_schema_counted():
    """Another owner's clipped, missing and unknown values change nothing that an owner is sent."""
    inside = mixed(8).with_columns(x=pl.lit(0.5), code=pl.lit("a"))

    def requests(other, target):
        tables, goal = read_inputs({"alpha": mixed(8), "beta": other}, target, schema=SCHEMA)
        with Ledger(run="r") as book:
            setting = transcripts.setting_of(
                goal.scaled,
                {table.name: len(table) for table in tables},
                book,
                columns=SCHEMA.names,
                schema=SCHEMA,
                labelled=True,
                size=4,
                seed=3,
            )
            sent = dpsumm.Offers(n_features=16).curator(setting).send()
            return {name: encode(request) for name, request in sent.items()}

    once = requests(mixed(8), mixed(9))
    assert requests(inside, mixed(9)) == once
    assert requests(inside, mixed(9).with_columns(x=pl.lit(0.5))) != once  # power: the target


def test_protocol_errors_show_no_value(world):
    owners, target = world
    arrays = {name: points for name, (points, _) in owners.items()}
    with Ledger() as book:
        setting = transcripts.setting_of(target, dict.fromkeys(owners, 20), book, size=4)
        curator = dpsumm.papers.Auction(n_features=8).curator(setting)
        roles = transcripts.roles_of(arrays, target)
        for name, request in curator.send().items():
            curator.receive(name, roles[name].answer(request))
        answer = roles["alpha"].answer(curator.send()["alpha"])
        bad = [
            dataclasses.replace(answer, values=answer.values + 1),
            dataclasses.replace(answer, rows=answer.rows + 1),
            dataclasses.replace(answer, values=answer.values * np.nan),
            dataclasses.replace(answer, labels=np.full(len(answer.rows), LABEL)),
        ]
        for wrong in bad:
            assert_clean(refused(lambda wrong=wrong: curator.receive("alpha", wrong)))


def run_cli(*arguments):
    """Run the command line; return all of stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        contextlib.suppress(SystemExit),
    ):
        main([str(a) for a in arguments])
    return out.getvalue() + err.getvalue()


def test_the_command_line_shows_no_value(world, tmp_path):
    owners, target = world
    files = {}
    for name, (points, labels) in {**owners, "target": (target, np.full(40, LABEL))}.items():
        files[name] = tmp_path / f"{name}.csv"
        rows = [
            ",".join([*map(repr, map(float, p)), str(label)])
            for p, label in zip(points, labels, strict=True)
        ]
        files[name].write_text("\n".join(["a,b,c,kind", *rows]))
    broken = tmp_path / "broken.csv"
    broken.write_text(files["target"].read_text() + f"\n{PLANTED[0]},{LABEL},oops,{LABEL}\n")
    Ledger.create(tmp_path / "books").close()
    given = [item for name in owners for item in ("--owner", f"{name}={files[name]}")]
    known = [item for name in "abc" for item in ("--schema", f"{name}=number")]
    common = ["summarize", *given, "--size", "4", *known, "--schema", "kind=label"]
    common += ["--ledger", tmp_path / "books"]
    fine = ["--target", files["target"], "--gamma", "0.1", "--out", tmp_path / "s.parquet"]
    texts = [
        run_cli(*common, *fine, "--report", tmp_path / "r.html"),
        run_cli(*common, *fine, "--protocol", "auction", "--n-features", 8),
        run_cli(*common, "--target", broken, "--gamma", "0.1", "--out", tmp_path / "s2.parquet"),
        run_cli(*common, "--target", files["target"], "--out", tmp_path / "s3.parquet"),
        run_cli("ledger", "show", tmp_path / "books"),
    ]
    assert "epsilon" in texts[0]
    assert "dpsumm:" in texts[2]
    assert "noisy" in texts[4]
    for text in texts:
        assert_clean(text)
    assert (tmp_path / "s.parquet").exists()


def test_the_check_sees_a_planted_value():
    """Control."""
    digest = "9182736f" * 8
    assert_clean(f"sha256 {digest}")
    beside = f"{digest} {PLANTED[2]}"
    for text in (f"row {PLANTED[0]}", f"{PLANTED[1]:.9f}", f"{PLANTED[2]:.6e}", LABEL, beside):
        with pytest.raises(AssertionError, match="planted"):
            assert_clean(text)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_dossier_shows_nothing_private(protocol, world, tmp_path):
    owners, target = world
    Ledger.create(tmp_path / "books").close()
    summary = dpsumm.summarize(
        owners,
        target,
        size=4,
        protocol=protocol,
        kernel=RBF(0.1),
        ledger=tmp_path / "books",
        allow_weak_privacy=True,
    )
    summary.save(tmp_path / "s.parquet")
    assert PLANTED[0] in pl.read_parquet(tmp_path / "s.parquet").to_numpy()  # power
    page = tmp_path / "d.html"
    run_cli("dossier", tmp_path / "s.parquet", "--ledger", tmp_path / "books", "--out", page)
    assert_clean(page.read_text("utf-8"))
    assert_clean(repr(summary.record))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_record_of_a_run_is_the_same_whatever_the_records_are(protocol, world):
    """Distance, points read and warnings differ with the records; what a dossier has does not."""

    def told(owners, target):
        made = dpsumm.summarize(
            owners,
            target,
            size=4,
            protocol=protocol,
            kernel=RBF(0.1),
            run="r",
            allow_weak_privacy=True,
        )
        return dict(written.about(made)["record"], finished=""), made.mmd2

    owners, target = world
    rng = np.random.default_rng(5)
    others = {name: (rng.uniform(3, 4, p.shape), labels) for name, (p, labels) in owners.items()}
    record, distance = told(owners, target)
    same, other = told(others, rng.normal(size=target.shape))
    assert record == same
    assert distance != other  # power: it could not stand in a record


def test_dossiers_of_votes_and_rows_show_nothing_private(tmp_path):
    x = np.random.default_rng(0).normal(size=(60, 2))
    x[0] = PLANTED[:2]
    votes = {f"p{i}": (x + i, np.array(["no", "yes"] * 30)) for i in range(40)}
    with pytest.warns(UserWarning, match="learn: |public points equal a record"):
        model = dpsumm.learn(
            votes,
            x,
            classes=["no", "yes"],
            delta=1e-3,
            protocol=Voting(points_are="consumer", learner="bayes"),
        )
    model.save_predictions(tmp_path / "v.parquet")
    schema = {name: Schema([Column(name, bounds=(0, 1e9))]) for name in ("a", "b")}
    held = {name: pl.DataFrame({name: PLANTED * 100}) for name in schema}
    dpsumm.synthesize(held, schema=schema).save(tmp_path / "rows.parquet")
    for result in ("v.parquet", "rows.parquet"):
        run_cli("dossier", tmp_path / result, "--out", tmp_path / "d.html")
        assert_clean((tmp_path / "d.html").read_text("utf-8"))
        (tmp_path / "d.html").unlink()
