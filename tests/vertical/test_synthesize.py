"""The one call: types that come back, dependence across owners, books and files."""

import json
import math
from datetime import date

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from dpsumm import Column, Schema, Tables, synthesize
from dpsumm.errors import BudgetExceededError, InvalidParameterError
from dpsumm.privacy import Ledger
from dpsumm.vertical.dependence import hidden_pairs
from dpsumm.vertical.owner import Owner
from dpsumm.vertical.wire import CODEC
from helpers.joined import SCHEMAS, frames
from helpers.same_draws import repeat


@pytest.fixture(scope="module")
def synthetic():
    with pytest.MonkeyPatch.context() as patch:
        repeat(patch, 0)
        return synthesize(frames(), schema=SCHEMAS, ids="person", label="status", epsilon=2.0)


def test_rows_have_the_columns_and_types_of_the_owners(synthetic):
    rows = synthetic.to_frame()
    assert isinstance(rows, pl.DataFrame)
    assert rows.schema == {
        "age": pl.Int64,
        "moved": pl.Date,
        "income": pl.Float64,
        "status": pl.String,
        "kind": pl.String,
    }
    assert len(rows) == synthetic.n_records == 4000
    assert rows["age"].is_between(18, 90).all()
    assert rows["moved"].drop_nulls().is_between(date(2020, 1, 1), date(2023, 12, 31)).all()
    assert rows["income"].is_between(0, 200).all()
    assert set(rows["status"].drop_nulls()) <= {"single", "married", "else"}
    assert set(rows["kind"]) == {"person"}
    assert 0.1 < rows["moved"].null_count() / 4000 < 0.3
    assert 0.05 < rows["status"].null_count() / 4000 < 0.15


@pytest.mark.parametrize("backend", ["pandas", "pyarrow"])
def test_rows_come_in_other_libraries(synthetic, backend):
    rows = synthetic.sample(7, backend=backend)
    assert type(rows).__module__.split(".")[0] == backend
    assert len(rows) == 7


def test_columns_of_two_owners_depend_on_each_other(synthetic):
    rows = synthetic.sample(20_000, seed=1)
    assert rows.select(pl.corr("age", "income")).item() > 0.4
    ages = dict(rows.group_by("status").agg(pl.col("age").mean()).iter_rows())
    assert ages["married"] - ages["single"] > 10


# Whether someone moved depends on nothing, which noise hides.
@pytest.mark.filterwarnings("ignore:given")
def test_rows_given_a_value_have_it_and_are_drawn_given_it(synthetic):
    married = synthetic.sample(5000, given={"status": "married"}, seed=1)
    single = synthetic.sample(5000, given={"status": "single", "kind": "person"}, seed=1)
    assert set(married["status"]) == {"married"}
    assert married["age"].mean() - single["age"].mean() > 10
    old = synthetic.sample(500, given={"age": 88}, seed=1)
    assert old["age"].min() > 80
    assert synthetic.sample(5, given={"moved": None})["moved"].null_count() == 5


def test_what_noise_hides_of_given_columns_is_warned_of():
    rng = np.random.default_rng(0)
    a = rng.random((3000, 1))
    data = {"a": a, "b": np.hstack([a, rng.random((3000, 1))])}
    schemas = {
        "a": Schema([Column("a", bounds=(0, 1))]),
        "b": Schema([Column("b", bounds=(0, 1)), Column("c", bounds=(0, 1))]),
    }
    # Of a seed whose noise hides what there is not.
    synthetic = synthesize(data, schema=schemas, seed=1)
    assert hidden_pairs(synthetic.tables) == [(0, 2), (1, 2)]
    for given, named in (({"a": 0.5}, "c depend on a"), ({"c": 0.5}, "a, b depend on c"),
                         ({"a": 0.5, "b": 0.5}, "c depend on a, b")):  # fmt: skip
        with pytest.warns(UserWarning, match=f"given: the noise hides whether {named};"):
            synthetic.sample(1, given=given)
    synthetic.sample(1, given={"a": 0.5, "c": 0.5, "b": 0.5})
    synthetic.sample(1)


@pytest.mark.same_draws
def test_nothing_is_warned_of_what_is_seen():
    rng = np.random.default_rng(0)
    a = rng.random((4000, 1))
    schemas = {name: Schema([Column(name, bounds=(0, 1))]) for name in "ab"}
    rows = synthesize({"a": a, "b": a}, schema=schemas).sample(500, given={"a": 0.5})
    assert rows["a"].is_between(0.4, 0.6).all()
    assert rows["b"].std() < 0.25


def test_a_draw_can_be_repeated(synthetic):
    assert synthetic.sample(50, seed=3).equals(synthetic.sample(50, seed=3))
    assert not synthetic.sample(50).equals(synthetic.sample(50))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.sample(-1), "n must"),
        (lambda s: s.sample(1, given={"size": 1}), "given .*there is no 'size'"),
        (lambda s: s.sample(1, given={"age": 17}), "given: column 'age'"),
        (lambda s: s.sample(1, given=["age"]), "given must map"),
        (lambda s: s.sample(1, backend="numpy"), "backend must be"),
        (lambda s: s.save("rows.txt"), r"\.parquet or \.csv"),
        (lambda s: s.privacy.epsilon(1.0), "delta must lie"),
    ],
)
def test_what_a_result_cannot_do_is_refused(synthetic, call, message):
    with pytest.raises(InvalidParameterError, match=message):
        call(synthetic)


def test_files_say_that_their_rows_are_synthetic(synthetic, tmp_path):
    synthetic.save(tmp_path / "rows.parquet", 100)
    synthetic.save(tmp_path / "rows.csv", 100)
    assert len(pl.read_parquet(tmp_path / "rows.parquet")) == 100
    assert pl.read_csv(tmp_path / "rows.csv").columns == list(synthetic.columns)
    beside = json.loads((tmp_path / "rows.csv.json").read_text())
    inside = json.loads(pq.read_schema(tmp_path / "rows.parquet").metadata[b"dpsumm"])
    assert beside.pop("rows") != inside.pop("rows")  # each file's own salt
    assert beside == inside
    assert beside["synthetic"] is True
    assert beside["privacy"] == synthetic.privacy.statements()


def test_every_party_is_promised_the_budget_whatever_noise_followed(synthetic):
    privacy, plan = synthetic.privacy, synthetic.tables.plan
    assert 1.999 < privacy.epsilon() <= 2.0
    assert max(plan.mu(who) for who in (None, 0, 1)) <= 1 / privacy.noise_multiplier
    assert privacy.epsilon(1e-9) > privacy.epsilon(1e-5)
    text = " ".join(privacy.statements())
    for part in ("the analyst", "'registry'", "'bank'", "one process", "which records take part"):
        assert part in text
    assert "was trusted" not in text
    assert repr(synthetic).startswith("Synthetic(5 columns of 2 owners, 4000 records: epsilon=2")


def test_owners_in_any_order_of_their_identifiers_are_joined():
    """Only the tables' noise may differ: both runs draw the same."""
    data = frames(600)
    shuffled = dict(data, bank=data["bank"].sample(fraction=1.0, shuffle=True, seed=4))
    one, other = (synthesize(d, schema=SCHEMAS, ids="person", seed=5) for d in (data, shuffled))
    for pair, table in one.tables.pairs.items():
        np.testing.assert_array_equal(table, other.tables.pairs[pair])


def test_whole_numbers_and_texts_are_the_same_identifiers():
    data = frames(300)
    numbers = pl.Series("person", range(300))
    data["registry"] = data["registry"].with_columns(numbers)
    data["bank"] = data["bank"].with_columns(numbers.cast(pl.String).str.pad_start(4, " "))
    assert synthesize(data, schema=SCHEMAS, ids="person", seed=1).n_records == 300


@pytest.mark.same_draws
def test_three_owners_arrays_and_files(tmp_path):
    rng = np.random.default_rng(1)
    a = rng.integers(0, 2, 3000)
    two = pl.DataFrame({"b": np.where(rng.random(3000) < 0.9, a, 1 - a)})
    two.write_csv(tmp_path / "two.csv")
    path = tmp_path / "two.toml"
    Schema([Column("b", categories=(0, 1))]).save(path)
    data = {
        "one": a[:, None].astype(float),
        "two": tmp_path / "two.csv",
        "three": rng.random((3000, 1)),
    }
    schemas = {
        "one": Schema([Column("a", categories=(0, 1))]),
        "two": path,
        "three": Schema([Column("c", bounds=(0, 1))]),
    }
    synthetic = synthesize(data, schema=schemas, epsilon=4.0)
    rows = synthetic.sample(4000, backend="pandas")
    assert (rows["a"] == rows["b"]).mean() > 0.8
    assert "was trusted" in synthetic.privacy.statements()[-1]
    assert 3.999 < synthetic.privacy.epsilon() <= 4


def test_owners_may_be_the_files_of_a_folder(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("north", "south"):
        ages = pl.DataFrame({"age": rng.integers(20, 90, 300), "ill": rng.integers(0, 2, 300)})
        ages.write_csv(tmp_path / f"{name}.csv")
    made = synthesize(tmp_path, schema={"age": (20, 90), "ill": [0, 1]}, epsilon=1, delta=1e-6)
    assert made.sample(5, backend="polars").columns == ["age", "ill"]


def test_ledgers_are_the_owners_own_and_kept(tmp_path):
    books = {name: tmp_path / name for name in SCHEMAS}
    for path in books.values():
        Ledger.create(path).close()
    data = frames(3000)
    first = synthesize(data, schema=SCHEMAS, ledger=books, run="one", ids="person")
    again = synthesize(data, schema=SCHEMAS, ledger=books, run="one", ids="person")
    for pair, table in first.tables.pairs.items():
        np.testing.assert_array_equal(table, again.tables.pairs[pair])
    np.testing.assert_array_equal(first.model.mixture.theta, again.model.mixture.theta)
    assert [one.record.resumed for one in (first, again)] == [False, True]
    assert [any("was resumed" in n for n in one.notes) for one in (first, again)] == [
        False,
        True,
    ]
    # Another owner, or other public settings, beside one that knows the run.
    other = {"z": "registry", "bank": "bank"}
    Ledger.create(tmp_path / "z").close()
    for changed in (
        {
            "owners": {name: data[held] for name, held in other.items()},
            "schema": {name: SCHEMAS[held] for name, held in other.items()},
            "ledger": {"bank": books["bank"], "z": tmp_path / "z"},
        },
        {"protocol": Tables(bins=3)},
    ):
        same = {"owners": data, "schema": SCHEMAS, "ledger": books}
        with pytest.raises(InvalidParameterError, match=r"run 'one'|does not know it"):
            synthesize(**(same | changed), run="one", ids="person")
    for path in books.values():
        with Ledger(path) as book:
            epsilon, delta = book.spent("records")
            assert len(book.charges()) == 2
            # What another owner learns of this one's columns, at most what was asked for.
            assert 0.5 < epsilon <= 1.0
            assert delta == 1e-5
            book.set_cap("records", 1.2, 1e-4)
    with pytest.raises(BudgetExceededError):
        synthesize(data, schema=SCHEMAS, ledger=books, run="two", ids="person")


def test_a_run_that_dies_at_any_message_goes_on_and_is_charged_once(tmp_path, monkeypatch):
    data, protocol = frames(300), Tables(bins=3, keep=0.0, rows=200, components=2, max_steps=5)
    answer, left, stops = Owner.answer, [], [None]

    def watched(self, request):
        given = CODEC.encode(answer(self, request))
        left.append((self.name, type(request).__name__, given))
        if stops[0] == len(left) - 1:
            raise KeyboardInterrupt
        return CODEC.decode(given)

    def counted():
        """Return what was released; rows and shares are hidden anew."""
        answers = {name: CODEC.decode(raw) for name, kind, raw in left if kind == "CountColumns"}
        return {name: answer.counts.tolist() for name, answer in answers.items()}

    monkeypatch.setattr(Owner, "answer", watched)
    for point in range(8):
        books = {name: tmp_path / f"{name}{point}" for name in SCHEMAS}
        for path in books.values():
            Ledger.create(path).close()
        given = {"schema": SCHEMAS, "ids": "person", "ledger": books, "run": "r"}
        left.clear()
        stops[0] = point
        with pytest.raises(KeyboardInterrupt):
            synthesize(data, protocol=protocol, **given)
        first = counted()
        left.clear()
        stops[0] = None
        again = synthesize(data, protocol=protocol, **given)
        assert len(left) == 8
        assert first.items() <= counted().items()
        counts = again.tables.singles[0]
        assert abs(counts.sum() - 300) < 6 * len(counts) ** 0.5 * again.tables.plan.single_std
        for path in books.values():
            with Ledger(path) as book:
                assert len(book.charges()) == 2


def test_a_run_of_which_one_owner_lost_the_books_needs_a_new_name(tmp_path):
    books = {name: tmp_path / name for name in SCHEMAS}
    for path in books.values():
        Ledger.create(path).close()
    with Ledger(books["bank"], run="one") as book:
        book.release("two-way", (), lambda: b"")
    with pytest.raises(InvalidParameterError, match=r"ledger of 'registry' does not.* new name"):
        synthesize(frames(100), schema=SCHEMAS, ledger=books, run="one", ids="person")


def test_a_seeded_run_is_not_private_and_says_so():
    one, other = (synthesize(frames(300), schema=SCHEMAS, ids="person", seed=5) for _ in range(2))
    assert one.privacy.epsilon() == math.inf
    assert one.privacy.statements() == [
        "Nothing is guaranteed: the noise came from a seed, and can be drawn again."
    ]
    np.testing.assert_array_equal(one.model.mixture.theta, other.model.mixture.theta)


def test_tables_of_pairs_that_are_named_have_less_noise():
    data, given = frames(3000), {"schema": SCHEMAS, "ids": "person", "epsilon": 0.5}
    usual = synthesize(data, **given).tables
    named = synthesize(data, **given, protocol=Tables(pairs=[("income", "age")])).tables
    stds = [dict(zip(one.plan.pairs, one.plan.pair_std, strict=True)) for one in (usual, named)]
    order = ("age", "moved", "income", "status", "kind")
    pair = (order.index("age"), order.index("income"))
    assert stds[1][pair] < 0.8 * stds[0][pair]
    others = [std / stds[0][p] for p, std in stds[1].items() if p != pair and p in stds[0]]
    assert others
    assert max(others) < 2
