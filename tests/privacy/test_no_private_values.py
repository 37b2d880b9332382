"""Planted values: in no log, repr, error message, ledger, or output of the command line."""

import contextlib
import dataclasses
import io
import itertools
import logging
import traceback

import numpy as np
import pytest
import transcripts

import dpsumm
from dpsumm import _core
from dpsumm.attribution import release_attribution
from dpsumm.cli import main
from dpsumm.errors import DpsummError
from dpsumm.kernel import RBF
from dpsumm.privacy import Ledger, Protected
from dpsumm.protocol.messages import Bids, Points
from dpsumm.release import Exact, Mwem
from dpsumm.tables import read_inputs

# Values that nothing else would print, in every spelling they could be printed in.
PLANTED = [73519.28461, -61.937284, 918273645.5]
LABEL = "zebra-crossing-4711"


def spellings(value):
    digits = f"{abs(value):.10g}"
    found = {digits[:7], repr(abs(value))[:8], f"{abs(value):.4e}"[:6], f"{abs(value):,.3f}"[:8]}
    # Shorter ones turn up by chance, in a figure that is meant to be shown.
    return {text for text in found if sum(c.isdigit() for c in text) >= 5}


FORBIDDEN = {LABEL, *itertools.chain.from_iterable(map(spellings, PLANTED))}


def assert_clean(text):
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
    dpsumm.Uniform(),
    dpsumm.Greedy(),
    dpsumm.Auction(n_features=8),
    dpsumm.Auction(n_features=8, requests=dpsumm.Requests.WINNER, target_release=Exact()),
    dpsumm.Auction.published(4),
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_logs_prints_and_reprs_nothing_private(protocol, world, caplog, capfd, tmp_path):
    owners, target = world
    path = tmp_path / "books"
    with caplog.at_level(logging.DEBUG):
        summary = dpsumm.summarize(
            owners, target, size=4, protocol=protocol, kernel=RBF(0.1), ledger=path, run="r"
        )
    # Power: the values are there, in the summary.
    assert PLANTED[0] in summary.points
    with Ledger(path, run="r") as book:
        shown = [
            repr(summary),
            str(summary),
            repr(summary.privacy),
            *summary.privacy.statements(),
            *summary.warnings,
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
        selection = curator.select()
        shown += [repr(setting), repr(curator), repr(selection)]
        shown += [str(value) for value in (selection, answer, tables[0])]
        features = request.feature_map.build()
        shown += [repr(features), repr(_core.Bidder(features.on_grid(goal.scaled)))]
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
    bounds = {f"x{j}": (0.0, 1.0) for j in range(3)}
    for call in (
        lambda: run(target=nan),
        lambda: run(target=infinite),
        lambda: run(target=huge),
        lambda: run({**arrays, "alpha": nan}),
        lambda: run({**arrays, "alpha": target[:, :2]}),
        lambda: run(size=10**6),
        lambda: run(target=target[:1]),
        lambda: run(kernel=None),
        lambda: run(bounds=bounds, columns=["nobody"]),
        lambda: run({"alpha": csv}, csv),
        lambda: run({"alpha": short}, short),
        lambda: run({"alpha": target.astype(str)}, target),
        lambda: run({"alpha": [[PLANTED[0], LABEL]]}, target),
        lambda: RBF.from_public(np.full((4, 2), PLANTED[0])),
    ):
        assert_clean(refused(call))


def test_protocol_errors_show_no_value(world):
    owners, target = world
    arrays = {name: points for name, (points, _) in owners.items()}
    with Ledger() as book:
        setting = transcripts.setting_of(target, dict.fromkeys(owners, 20), book, size=4)
        curator = dpsumm.Auction(n_features=8).curator(setting)
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


def test_noisy_attribution_shows_noisy_values_only(world):
    owners, target = world
    summary = dpsumm.summarize(owners, target, size=4, kernel=RBF(0.1))
    exact = summary.attribution
    with Ledger() as book:
        noisy = release_attribution(summary, epsilon=1.0, ledger=book)
        assert {c.protected for c in book.charges()} == set(Protected)
    # An owner without points has 0.0, which any number may begin with.
    assert any(exact.values())
    assert all(repr(value) not in repr(noisy) for value in exact.values() if value)


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
    given = [item for name in owners for item in ("--owner", f"{name}={files[name]}")]
    common = ["run", *given, "--size", "4", "--label", "kind", "--ledger", tmp_path / "books"]
    fine = ["--target", files["target"], "--gamma", "0.1", "--out", tmp_path / "s.parquet"]
    texts = [
        run_cli(*common, *fine, "--report", tmp_path / "r.html"),
        run_cli(*common, *fine, "--protocol", "auction", "--features", 8),
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
    for text in (f"row {PLANTED[0]}", f"{PLANTED[1]:.9f}", f"{PLANTED[2]:.6e}", LABEL):
        with pytest.raises(AssertionError, match="planted"):
            assert_clean(text)
