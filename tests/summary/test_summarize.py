"""The one call: what a summary is, from which sources, by which protocol, with which seed."""

import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpsumm
from dpsumm import RBF, Offers, Pool, kernels
from dpsumm.papers import Auction, Requests
from dpsumm.report.notes import Severity
from dpsumm.summary import Greedy, Uniform
from dpsumm.summary.mechanisms import Gaussian
from dpsumm.summary.settings import held_to

GAMMA = 0.25
BOX = {"x0": (-6.0, 6.0), "x1": (-6.0, 6.0)}
LABELLED = {"a": "number", "b": "number", "y": "label"}


def world(dtype=np.float64, seed=0, n_target=120):
    rng = np.random.default_rng(seed)
    owners = {
        name: rng.normal(shift, 1, (n, 2)).astype(dtype)
        for name, shift, n in (("west", -3, 40), ("mid", 0, 55), ("east", 3, 70))
    }
    return owners, rng.normal(2, 1, (n_target, 2)).astype(dtype)


PROTOCOLS = {
    "offers": Offers(),
    "offers, light": Offers(reads_per_record=1.5, n_features=64),
    "pool": Pool(),
    "uniform": Uniform(),
    "greedy": Greedy(),
    "auction": Auction(batch=4),
    "auction, private": Auction(batch=3, requests=Requests.PRIVATE),
    "auction, winner": Auction(requests=Requests.WINNER),
    "auction, reselect": Auction(batch=5, reselect=True),
    "auction, published": Auction.published(12),
}
PUBLISHED = "auction, published"


def check_invariants(summary, owners, target, size, bounds=None):
    """What holds for every summary, by any protocol."""
    names, data = tuple(owners), list(owners.values())
    p = len(summary)
    assert summary.names == names
    assert summary.n_records == tuple(map(len, data))
    assert summary.size_requested == size
    assert 1 <= p <= size
    assert summary.points.shape == (p, data[0].shape[1])
    assert summary.points.dtype == data[0].dtype
    assert summary.owner.dtype == summary.index.dtype == np.int64
    for point, i, row in zip(summary.points, summary.owner, summary.index, strict=True):
        np.testing.assert_array_equal(point, data[i][row])
    pairs = set(zip(summary.owner.tolist(), summary.index.tolist(), strict=True))
    assert len(pairs) == p, "a record was taken twice"
    assert p <= summary.accesses <= sum(summary.n_records)
    assert summary.accesses == len(summary.pool) == len(summary.pool.scaled)
    assert summary.reads_per_record == summary.accesses / p >= 1
    assert summary.curve.shape == (p,)
    assert summary.curve[-1] == summary.mmd2 >= 0

    def scaled(a):
        if bounds is None:
            return a
        low, high = np.array(list(bounds.values())).T
        return (np.clip(a.astype(float), low, high) - low) / (high - low)

    np.testing.assert_array_equal(summary.scaled, scaled(summary.points))
    np.testing.assert_array_equal(summary.target, scaled(target))
    for t in {1, p // 2 + 1, p}:
        again = kernels.mmd2(summary.scaled[:t].copy(), summary.target, summary.gamma)
        assert summary.curve[t - 1] == pytest.approx(again, abs=1e-12)
    pool = summary.pool
    for name in ("points", "owner", "index", "scaled"):
        np.testing.assert_array_equal(getattr(pool, name)[pool.picks], getattr(summary, name))
    for point, i, row in zip(pool.points, pool.owner, pool.index, strict=True):
        np.testing.assert_array_equal(point, data[i][row])
    for text in (names[0], f"{p} point{'s' * (p != 1)} of "):
        assert text in repr(summary) + str(summary.names)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bounds", [None, BOX], ids=["free", "bounded"])
@pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if name != PUBLISHED])
def test_every_protocol_keeps_the_invariants(protocol, bounds, dtype):
    check_protocol(protocol, bounds, dtype)


@pytest.mark.parametrize(("bounds", "dtype"), [(None, np.float32), (BOX, np.float64)])
def test_the_published_protocol_keeps_them_too(bounds, dtype):
    """Its MWEM is slow, and is the same code for any points: two of the four cases."""
    check_protocol(PUBLISHED, bounds, dtype)


def check_protocol(protocol, bounds, dtype):
    owners, target = world(dtype)
    kernel = None if bounds else RBF(GAMMA)
    summary = dpsumm.summarize(
        owners,
        target,
        size=12,
        protocol=PROTOCOLS[protocol],
        kernel=kernel,
        schema=bounds,
        allow_weak_privacy=True,
    )
    check_invariants(summary, owners, target, 12, bounds)
    assert len(summary) == 12
    assert summary.gamma == (3.0 if bounds else GAMMA)
    expected = (
        "Little overlap",
        "Epsilon ∞ between owners",
        "does not follow the target",
        "promises little",
    )
    told = [note for note in summary.notes if not any(text in note for text in expected)]
    assert told == [] or bounds


def test_memory_order_of_data_changes_nothing():
    owners, target = world()
    kept = [
        dpsumm.summarize(
            {name: layout(data) for name, data in owners.items()},
            layout(target),
            size=9,
            kernel=RBF(GAMMA),
            protocol=Auction(batch=3, seed_points=layout(target[:5])),
            seed=4,
        )
        for layout in (np.ascontiguousarray, np.asfortranarray)
    ]
    np.testing.assert_array_equal(kept[0].points, kept[1].points)
    assert kept[0].mmd2 == kept[1].mmd2


@pytest.mark.same_draws
def test_greedy_is_the_greedy_on_all_data_and_bounds_what_others_reach():
    owners, target = world()
    everything = np.concatenate(list(owners.values()))
    rows = kernels.greedy(
        everything, kernels.kernel_means(everything, target, GAMMA), GAMMA, 12
    ).rows
    best = dpsumm.summarize(owners, target, size=12, kernel=RBF(GAMMA), protocol=Greedy())
    np.testing.assert_array_equal(best.points, everything[rows])
    assert best.accesses == 165
    offers, uniform = (
        np.mean(
            [
                dpsumm.summarize(owners, target, size=12, kernel=RBF(GAMMA), protocol=p).mmd2
                for _ in range(5)
            ]
        )
        for p in (Offers(), Uniform())
    )
    assert best.mmd2 < offers < uniform


@pytest.mark.parametrize("name", ["offers", "auction", "pool", "uniform", "greedy"])
def test_the_name_of_a_protocol_stands_for_its_defaults(name):
    rng = np.random.default_rng(3)
    owners, target = [rng.uniform(0, 1, (60, 2)) for _ in range(2)], rng.uniform(0, 1, (90, 2))
    meant = {"offers": Offers(), "auction": Auction(), "pool": Pool(), "uniform": Uniform()}
    runs = [
        dpsumm.summarize(owners, target, size=6, protocol=given, kernel=RBF(1), seed=2)
        for given in (name, meant.get(name, Greedy()))
    ]
    assert runs[0].protocol == runs[1].protocol
    np.testing.assert_array_equal(runs[0].points, runs[1].points)


def test_list_and_dict_give_the_same():
    owners, target = world()
    owners = {f"owner-{i}": points for i, points in enumerate(owners.values())}
    kept = [
        dpsumm.summarize(given, target, size=8, kernel=RBF(GAMMA), seed=3)
        for given in (owners, list(owners.values()), tuple(owners.values()))
    ]
    assert [s.names for s in kept[1:]] == [("owner-0", "owner-1", "owner-2")] * 2
    for other in kept[1:]:
        np.testing.assert_array_equal(other.points, kept[0].points)


@pytest.mark.parametrize("n_records", [[1, 1], [1, 50], [3]])
def test_tiny_owners_and_a_summary_of_everything(n_records):
    rng = np.random.default_rng(1)
    owners = {f"o{i}": rng.normal(size=(n, 1)) for i, n in enumerate(n_records)}
    goal = np.array([[0.9], [1.1]])
    for size in (1, sum(n_records)):
        for name, protocol in PROTOCOLS.items():
            if name == PUBLISHED and (len(owners) == 1 or size > 1):
                continue  # slow, and its rounds end as those of the other auctions
            given = {"kernel": RBF(1.0), "protocol": protocol, "allow_weak_privacy": True}
            summary = dpsumm.summarize(owners, goal, size=size, **given)
            check_invariants(summary, owners, goal, size)
            if size > 1 and isinstance(protocol, Auction | Greedy | Pool | Uniform):
                assert len(summary) == size


def test_a_short_pool_is_the_summary_and_says_so():
    owners, target = world()
    owners = {"small": owners["west"][:3], "tiny": owners["mid"][:1], "large": owners["east"]}
    protocol = Offers(reads_per_record=1)
    summary = dpsumm.summarize(owners, target, size=30, kernel=RBF(GAMMA), protocol=protocol)
    assert len(summary) == summary.accesses == 3 + 1 + 10
    assert summary.reads_per_record == 1
    assert any("fewer than the 30 asked for" in note for note in summary.notes)


def test_a_size_of_all_records_leaves_nothing_to_choose_and_says_so():
    owners, target = world()

    def notes(size):
        run = dpsumm.summarize(owners, target, size=size, kernel=RBF(GAMMA), protocol=Pool())
        return [note for note in run.notes if "leaves nothing to choose" in note]

    (note,) = notes(40 + 55 + 70)
    assert "165 records in all" in note
    assert "`size`" in note
    assert note.severity is Severity.WARNING
    assert not notes(164)


# --- labels, sources, frames ------------------------------------------------------------------


def test_a_pandas_index_is_not_kept_and_a_note_says_whose():
    owners, target = world()
    frames = {name: pd.DataFrame(data, columns=["a", "b"]) for name, data in owners.items()}
    goal = pd.DataFrame(target, columns=["a", "b"])

    def notes(owners, goal):
        run = dpsumm.summarize(owners, goal, size=9, kernel=RBF(GAMMA))
        return [note for note in run.notes if "index" in note]

    assert not notes(frames, goal)
    assert not notes({name: pl.from_pandas(frame) for name, frame in frames.items()}, goal)
    own = {
        "west": frames["west"].set_index(np.arange(40) + 987_654),
        "mid": frames["mid"][10:],  # counts from 10
        "east": frames["east"].iloc[:20],  # still counts from 0
    }
    (note,) = notes(own, goal.set_index(pd.Index([f"patient {i}" for i in range(120)])))
    assert "of 'west', 'mid', 'target' is not kept" in note
    assert note.severity is Severity.INFO
    assert "9876" not in note
    assert "patient" not in note


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_labels_travel_and_never_matter(protocol):
    owners, target = world()
    rng = np.random.default_rng(7)
    labels = {name: rng.integers(0, 9, len(data)) for name, data in owners.items()}

    def run(with_labels):
        given = {n: (d, with_labels[n]) if with_labels else d for n, d in owners.items()}
        return dpsumm.summarize(
            given, target, size=12, kernel=RBF(GAMMA), protocol=PROTOCOLS[protocol], seed=5
        )

    plain, one = run(None), run(labels)
    other = run({n: rng.permutation(y).astype(str) for n, y in labels.items()})
    assert plain.labels is None
    assert one.labels.dtype.kind == "i"
    for summary in (one, other):
        np.testing.assert_array_equal(summary.points, plain.points)
        np.testing.assert_array_equal(summary.index, plain.index)
        np.testing.assert_array_equal(summary.curve, plain.curve)
    for y, i, row in zip(one.labels, one.owner, one.index, strict=True):
        assert y == labels[one.names[i]][row]


def frames(kind, owners, tmp_path):
    """The owners' data in another form; the same numbers."""
    made = {}
    for name, data in owners.items():
        columns = {"a": data[:, 0], "b": data[:, 1], "y": [name] * len(data)}
        if kind == "pandas":
            made[name] = pd.DataFrame(columns, index=np.arange(len(data)) * 3 + 100)
        elif kind == "polars":
            made[name] = pl.DataFrame(columns)
        elif kind == "lazy":
            made[name] = pl.LazyFrame(columns)
        elif kind == "pyarrow":
            made[name] = pa.table(columns)
        else:
            made[name] = tmp_path / f"{name}.{kind}"
            frame = pl.DataFrame(columns)
            (frame.write_csv if kind == "csv" else frame.write_parquet)(made[name])
    return made


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "pyarrow", "csv", "parquet"])
def test_every_kind_of_source_gives_the_same_summary(kind, tmp_path):
    owners, target = world()
    wanted = dpsumm.summarize(owners, target, size=12, kernel=RBF(GAMMA), seed=3)
    given = frames(kind, {**owners, "target": target}, tmp_path)
    goal = given.pop("target")
    summary = dpsumm.summarize(given, goal, size=12, kernel=RBF(GAMMA), seed=3, schema=LABELLED)
    np.testing.assert_array_equal(summary.points, wanted.points)
    np.testing.assert_array_equal(summary.index, wanted.index)
    assert summary.columns == ("a", "b")
    frame = summary.to_frame()
    native = {"pandas": pd.DataFrame, "pyarrow": pa.Table}.get(kind, pl.DataFrame)
    assert isinstance(frame, native)
    for backend, cls in (("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)):
        again = summary.to_frame(backend)
        assert isinstance(again, cls)
        table = again if backend == "pandas" else again.to_pandas()
        assert list(table.columns) == ["a", "b", "y", "owner", "index"]
        np.testing.assert_array_equal(table[["a", "b"]].to_numpy(), wanted.points)
        assert (table["owner"] == table["y"]).all()
        np.testing.assert_array_equal(table["index"], wanted.index)


def test_columns_called_owner_and_index_keep_their_names():
    data = pl.DataFrame({"owner": [1.0, 2.0, 4.0], "index": [3.0, 5.0, 9.0]})
    summary = dpsumm.summarize([data], data, size=2, kernel=RBF(0.1), protocol=Greedy())
    frame = summary.to_frame()
    assert frame.columns == ["owner", "index", "owner_", "index_"]
    np.testing.assert_array_equal(frame["owner"], summary.points[:, 0])
    assert set(frame["owner_"]) == {"owner-0"}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_save_keeps_values_and_is_whole_or_not_at_all(tmp_path, dtype, monkeypatch):
    owners, target = world(dtype)
    summary = dpsumm.summarize(owners, target, size=7, kernel=RBF(GAMMA))
    for name in ("s.parquet", "s.csv"):
        path = tmp_path / name
        path.write_text("old")
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
            with pytest.raises(OSError, match="disk full"):
                summary.save(path)
        assert path.read_text() == "old"
        summary.save(path)
        read = pl.read_parquet(path) if name.endswith("parquet") else pl.read_csv(path)
        np.testing.assert_array_equal(read["x0"].to_numpy().astype(dtype), summary.points[:, 0])
        assert read["owner"].to_list() == [summary.names[i] for i in summary.owner]
    assert sorted(os.listdir(tmp_path)) == ["s.csv", "s.csv.json", "s.parquet"]
    assert pl.read_parquet(tmp_path / "s.parquet")["x0"].to_numpy().dtype == dtype
    for bad in ("s.txt", "s", "none/s.csv"):
        with pytest.raises(dpsumm.errors.InvalidParameterError):
            summary.save(tmp_path / bad)
    with pytest.raises(dpsumm.errors.InvalidParameterError, match="backend"):
        summary.to_frame("spark")


# --- seeds, kernel, budget --------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_seeded_runs_repeat_and_guarantee_nothing(protocol):
    owners, target = world()
    run = lambda seed: dpsumm.summarize(  # noqa: E731
        owners, target, size=12, kernel=RBF(GAMMA), protocol=PROTOCOLS[protocol], seed=seed
    )
    one, two = run(11), run(11)
    np.testing.assert_array_equal(one.points, two.points)
    np.testing.assert_array_equal(one.pool.scaled, two.pool.scaled)
    releases = not isinstance(PROTOCOLS[protocol], Pool | Uniform | Greedy)
    assert one.privacy.epsilon() == (np.inf if releases else 0.0)
    assert one.privacy.seeded == releases
    if isinstance(PROTOCOLS[protocol], Auction):
        assert one.privacy.epsilon(protected="owners") == np.inf
    if not isinstance(PROTOCOLS[protocol], Greedy):
        assert any(
            (len(run(seed).pool), run(seed).mmd2) != (len(one.pool), one.mmd2)
            for seed in (12, 13, 14)
        )


@pytest.mark.parametrize("protocol", [Offers(), Pool(), Uniform(), Auction()])
def test_unseeded_runs_differ(protocol):
    owners, target = world()
    seen = {
        dpsumm.summarize(owners, target, size=12, kernel=RBF(GAMMA), protocol=protocol).mmd2
        for _ in range(6)
    }
    assert len(seen) > 1


def test_the_default_kernel_is_of_the_bounds():
    owners, target = world(n_target=2000)
    boxed = dpsumm.summarize(owners, target, size=5, schema=BOX)
    assert boxed.gamma == RBF.for_unit_box(2).gamma == 3.0
    (charge,) = boxed.privacy.charges
    assert charge.message.startswith("target's noisy mean embedding")
    assert 0.9 < boxed.privacy.epsilon() <= 1.0
    assert boxed.privacy.epsilon(protected="owners") == 0.0


def test_public_bandwidth_does_not_see_an_offset():
    sample = np.random.default_rng(2).normal(size=(300, 4))
    near = RBF.from_public(sample).gamma
    assert near == pytest.approx(1 / (2 * 4 - 1), rel=0.3)
    for offset in (1e4, 1e7, 1e9):
        assert RBF.from_public(sample + offset).gamma == pytest.approx(near, rel=1e-5)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_offers_spend_what_was_given_and_no_more(epsilon):
    owners, target = world()
    privacy = dpsumm.summarize(
        owners, target, size=5, epsilon=epsilon, delta=1e-6, kernel=RBF(GAMMA)
    ).privacy
    assert epsilon * 0.999 < privacy.epsilon(1e-6) <= epsilon
    assert privacy.epsilon(1e-5) < epsilon < privacy.epsilon(1e-7)


def test_a_resumed_run_is_charged_once_and_a_cap_refuses(tmp_path):
    owners, target = world()
    books = tmp_path / "books.db"
    dpsumm.Ledger.create(books).close()
    once = dict(size=5, kernel=RBF(GAMMA), ledger=books)
    one = dpsumm.summarize(owners, target, run="first", **once)
    two = dpsumm.summarize(owners, target, run="first", **once)
    np.testing.assert_array_equal(one.points, two.points)
    with dpsumm.Ledger(books) as ledger:
        assert len(ledger.charges()) == 1
        ledger.set_cap(one.privacy.charges[0].protected, 1.5, 1e-4)
    with pytest.raises(dpsumm.errors.BudgetExceededError, match=r"cap.*Nothing was sent"):
        dpsumm.summarize(owners, target, run="second", **once)


OTHERS = {
    "owners": lambda given: given | {"owners": {"z": given["owners"]["mid"]}},
    "size": lambda given: given | {"size": 6},
    "protocol": lambda given: given | {"protocol": Offers(spread=0.4)},
    "schema": lambda given: given | {"schema": {"x0": (-6.0, 6.0), "x1": "number"}},
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_reused_name_of_other_public_settings_is_refused(tmp_path, name):
    owners, target = world()
    dpsumm.Ledger.create(tmp_path / "b").close()
    given = dict(owners=owners, target=target, size=5, kernel=RBF(GAMMA))
    books = dict(ledger=tmp_path / "b", run="r")
    first = dpsumm.summarize(**given, **books)
    assert not first.record.resumed
    with pytest.raises(dpsumm.errors.InvalidParameterError, match=rf"'r' .*\({name}\).*`run`"):
        dpsumm.summarize(**OTHERS[name](given), **books)
    with dpsumm.Ledger(tmp_path / "b") as ledger:
        assert len(ledger.charges()) == 1
    # The same ones, owners in another order: the run goes on, and says so.
    turned = given | {"owners": dict(reversed(owners.items()))}
    again = dpsumm.summarize(**turned, **books)
    assert again.record.resumed
    assert "was resumed" in again.notes[-1] + again.notes[0]
    assert {*map(tuple, again.points)} == {*map(tuple, first.points)}
    dpsumm.summarize(**OTHERS[name](given), **books | {"run": "s"})
    with dpsumm.Ledger(tmp_path / "b") as ledger:
        assert len(ledger.charges()) == 2


def test_a_run_that_a_cap_refused_is_free_to_begin_with_another_size(tmp_path):
    owners, target = world()
    dpsumm.Ledger.create(tmp_path / "b", caps={"target": (0.5, 1e-4)}).close()
    given = dict(kernel=RBF(GAMMA), ledger=tmp_path / "b", run="r")
    with pytest.raises(dpsumm.errors.BudgetExceededError):
        dpsumm.summarize(owners, target, size=5, **given)
    assert not dpsumm.summarize(owners, target, size=6, epsilon=0.4, **given).record.resumed


def test_a_protocol_without_a_text_of_its_own_is_the_same_in_another_process():
    class Mine(Offers):
        __repr__ = object.__repr__

    one, two = Mine(), Mine()
    assert repr(one) != repr(two)
    schema = dpsumm.Schema.numbers(("x0",))
    assert held_to("ab", 5, one, schema) == held_to("ba", 5, two, schema)
    assert held_to("ab", 5, one, schema) != held_to("ab", 5, Offers(), schema)


def test_progress_reaches_its_end():
    owners, target = world()
    told = []
    dpsumm.summarize(owners, target, size=5, kernel=RBF(GAMMA), progress=lambda *a: told.append(a))
    assert [t for t in told if t[0] == "owners"] == [("owners", i, 3) for i in (1, 2, 3)]
    assert told[-1] == ("selection", 1, 1)


def test_release_with_noise_of_its_own_is_reported_as_it_is():
    owners, target = world()
    protocol = Offers(release=Gaussian(1.9938))
    privacy = dpsumm.summarize(owners, target, size=5, kernel=RBF(GAMMA), protocol=protocol).privacy
    assert privacy.epsilon() == pytest.approx(2.0, rel=1e-4)


def test_resuming_with_another_bandwidth_is_refused(tmp_path):
    owners, target = world()
    books = tmp_path / "books.db"
    dpsumm.Ledger.create(books).close()
    dpsumm.summarize(owners, target, size=5, kernel=RBF(0.3), ledger=books, run="first")
    # The recorded sum is of other features: under this bandwidth it means nothing.
    with pytest.raises(dpsumm.errors.InvalidParameterError, match="first"):
        dpsumm.summarize(owners, target, size=5, kernel=RBF(3.0), ledger=books, run="first")


def test_noise_above_the_signal_and_little_overlap_are_told(rng):
    near = [rng.normal(0, 1, (200, 2)) for _ in range(2)]

    def notes(target, epsilon):
        summary = dpsumm.summarize(near, target, size=20, epsilon=epsilon, kernel=RBF(GAMMA))
        return " ".join(summary.notes)

    like = rng.normal(0, 1, (400, 2))
    assert notes(like, 1.0) == ""
    assert "noise of the release is" in notes(like[:8], 1.0)
    assert "Little overlap" in notes(like + 9, 1.0)


def test_notes_count_in_good_english() -> None:
    rng = np.random.default_rng(0)
    data = pl.DataFrame({"a": [*rng.uniform(0, 1, 28), 7.0, 0.5], "b": rng.uniform(0, 1, 30)})
    goal = data.with_columns(
        a=rng.uniform(0, 1, 30), b=pl.Series([2.0, 3.0, *rng.uniform(0, 1, 28)])
    )
    summary = dpsumm.summarize(
        {"one": data}, goal, size=3, schema={"a": (0, 1), "b": (0, 1)}, protocol=Greedy()
    )
    assert summary.notes[1:3] == (
        "one: 1 value of a was clipped to the public bounds.",
        "target: 2 values of b were clipped to the public bounds.",
    )
