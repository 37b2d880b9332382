"""One rule for weak privacy in all products, in Python and on the command line."""

import subprocess
import sys
import warnings

import numpy as np
import polars as pl
import pytest

import dpsumm
from dpsumm import RBF, Column, Schema
from dpsumm.data.inputs import read_table
from dpsumm.errors import InvalidParameterError
from dpsumm.papers import Auction, Requests
from dpsumm.privacy import Ledger, weak
from dpsumm.summary.silos import summarize_silos
from helpers.command_line import dpsumm as command
from helpers.silo_curator import Loopback

N = 300
SCHEMAS = {
    "north": Schema([Column("a", bounds=(0, 1))]),
    "south": Schema([Column("b", bounds=(0, 1))]),
}
WEAK = [({"epsilon": 50.0}, "epsilon 50 promises"), ({"delta": 0.01}, "delta 0.01 is not below")]


def points(**given):
    rng = np.random.default_rng(1)
    owners = [rng.random((60, 2)), rng.random((60, 2))]
    target, kernel = rng.random((N, 2)), dpsumm.RBF(1.0)
    return dpsumm.summarize(owners, target, size=5, kernel=kernel, **given)


def votes(**given):
    """Of so many parties that a delta of 0.01 is weak."""
    rng = np.random.default_rng(1)
    parties = [(rng.random((4, 1)), np.array([0, 1, 0, 1])) for _ in range(100)]
    return dpsumm.learn(parties, rng.random((20, 1)), classes=[0, 1], **given)


def rows(**given):
    rng = np.random.default_rng(1)
    owners = {
        name: pl.DataFrame({column: rng.random(N)})
        for name, column in (("north", "a"), ("south", "b"))
    }
    return dpsumm.synthesize(owners, schema=SCHEMAS, **given)


PRODUCTS = [points, votes, rows]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize(("given", "message"), WEAK)
def test_a_weak_budget_never_runs_by_default(product, given, message):
    with pytest.raises(InvalidParameterError, match=message) as refused:
        product(**given)
    assert "`allow_weak_privacy=True`" in str(refused.value)


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize(("given", "message"), WEAK)
def test_a_weak_budget_that_is_allowed_says_so_in_its_result(product, given, message):
    made = product(**given, allow_weak_privacy=True)
    told = " ".join([*made.notes, *getattr(made, "notes", ())]).lower()
    assert message in told


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("given", [{}, {"epsilon": 10.0}, {"epsilon": 50.0, "seed": 3}])
def test_other_budgets_run_and_a_seeded_one_promises_nothing(product, given):
    made = product(**given)
    assert made.privacy.seeded == ("seed" in given)


@pytest.mark.parametrize("product", PRODUCTS)
def test_it_is_said_once_that_no_ledger_remembers(product, tmp_path, monkeypatch):
    monkeypatch.setattr(weak.Unrecorded, "is_said", False)
    names = ("north", "south") if product is rows else ("one",)
    books = {name: Ledger.create(tmp_path / f"{name}.db").path for name in names}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        product(ledger=books if product is rows else books["one"])
        product(seed=1)
        assert not [one for one in told if one.category is weak.Unrecorded]
        product()
        product()
    (one,) = (one for one in told if one.category is weak.Unrecorded)
    assert "dpsumm.Ledger.create" in str(one.message)
    assert one.filename == __file__


def test_the_command_line_says_it_in_options_alone(tmp_path):
    rng = np.random.default_rng(1)
    for name in ("north", "target"):
        pl.DataFrame({"a": rng.random(N)}).write_csv(tmp_path / f"{name}.csv")
    words = (
        "summarize --owner north=north.csv --target target.csv --schema a=0:1 --size 5 --out o.csv"
    )
    done = command(*words.split(), cwd=tmp_path)
    assert done.returncode == 0
    assert "No ledger" in done.stderr
    assert "--ledger FILE" in done.stderr
    assert "no ledger:" not in done.stderr
    assert command(*words.split(), "--epsilon", "50", cwd=tmp_path).returncode == 2


def test_strict_warnings_stop_a_run_before_it_spends():
    code = "import numpy as np, dpsumm; x = np.eye(9); " + (
        "dpsumm.summarize([x, x], x, size=2, kernel=dpsumm.RBF(1.0))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "no ledger" in done.stderr


@pytest.mark.parametrize("across", [False, True], ids=["here", "silos"])
def test_delta_is_judged_by_the_owners_records_too(across, rng):
    """The Auction protects them at the same delta as the target's."""
    protocol = Auction(n_features=16, batch=5, requests=Requests.ALL)
    given = {"size": 5, "kernel": RBF(0.3), "protocol": protocol, "delta": 1 / 500}
    target = rng.normal(size=(90, 2))
    owners = {name: rng.normal(size=(400, 2)) for name in "ab"}
    if across:
        schema = Schema([Column(f"x{j}", bounds=(-5, 5)) for j in range(2)])
        channel = Loopback()
        channel.tables = {
            name: read_table(data, name=name, schema=schema) for name, data in owners.items()
        }

        def run(**more):
            return summarize_silos(channel, list("ab"), target, schema=schema, **given, **more)
    else:

        def run(**more):
            return dpsumm.summarize(owners, target, **given, **more)

    with pytest.raises(InvalidParameterError, match="not below 1 / 800, one over the protected"):
        run()
    assert len(run(allow_weak_privacy=True).points) == 5
