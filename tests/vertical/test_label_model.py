"""Tables with the label have finer codes; its model has their moments; nothing finer leaves."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

import dpsumm.privacy.release as kernel
from dpsumm import Column, Schema, Tables, synthesize
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.vertical.coded import Coded
from dpsumm.vertical.messages import TwoWay
from dpsumm.vertical.trees import Tree
from dpsumm.vertical.wire import CODEC
from helpers.columns import World
from reference.vertical import one_hot

CELLS = tuple(range(0, 400, 2))
WIDE = Tree.of_cells(400, CELLS, (0, 199), missing=False)
LABEL = 2  # of the columns of both owners: the second one's first


def world(rng, label=LABEL):
    made = World(
        rng, [[400, 3], [2, 400]], 4000, trees=((WIDE, Tree(3)), (Tree(2), WIDE)), label=label
    )
    return made


def exact(made, released, pair):
    """The table of two columns as it is released, record by record."""
    both = np.hstack(made.codes)
    codes = []
    for j, size in zip(pair, released.plan.shape(pair), strict=True):
        of_level = released.fine[j] if LABEL in pair else released.codes[j]
        starts = released.starts[j]
        level = both[:, j] if starts is None else np.searchsorted(starts, both[:, j], "right") - 1
        codes.append(one_hot(of_level[level][:, None], size))
    return codes[0].T @ codes[1]


def test_every_cell_has_the_noise_of_its_owners_and_nothing_else_leaves(rng, monkeypatch):
    monkeypatch.setattr(kernel.noise, "rounded_normal", lambda std, size, seed: np.full(size, 7))
    made = world(rng)
    released = made.run()
    plan = released.plan
    assert max(plan.fine) > 12 >= max(plan.sizes[j] for j in (0, 3)) - 1
    for pair in plan.pairs:
        table = released.with_label.get(pair, released.pairs[pair])
        assert table.shape == plan.shape(pair)
        noise = table - exact(made, released, pair)
        assert set(noise.ravel().tolist()) == {14 if plan.is_cross(pair) else 7}
    cells = {
        True: sum(np.prod(plan.shape(pair)) for pair in plan.pairs if plan.is_cross(pair)),
        False: [
            sum(np.prod(plan.shape(pair)) for pair in plan.pairs if {*pair} <= own)
            for own in ({0, 1}, {2, 3})
        ],
    }
    sent = [CODEC.decode(raw) for _, _, raw in made.sent]
    answers = [one for one in sent if isinstance(one, TwoWay)]
    assert [np.count_nonzero(one.within) for one in answers] == cells[False]
    for one in answers:
        # A share is uniform where a table is, else nothing.
        assert cells[True] - 3 <= np.count_nonzero(one.shares[0]) <= cells[True]


def test_owners_are_charged_what_the_plan_says(rng):
    made = world(rng)
    plan = made.run().plan
    for p, book in enumerate(made.books.values()):
        squares = sum(c.count / c.event.noise_multiplier**2 for c in book.charges())
        assert squares == pytest.approx(plan.mu_charged(p) ** 2, rel=1e-9)
    assert max(plan.mu(v) for v in (None, 0, 1)) <= 1 / made.budget.noise_multiplier


def test_bins_of_an_owner_s_start_are_those_of_its_codes(rng):
    one = Coded(6, np.ones(6), np.array([0, 0, 1, 1, 1, 2]), None, np.array([0, 1, 2, 2, 3, 4]))
    assert one.code_of_fine.tolist() == [0, 0, 1, 1, 2]


@pytest.mark.filterwarnings("ignore:given")  # x and z say nothing of each other
@pytest.mark.parametrize("label", ["y", "level", "x"])
def test_labels_of_all_kinds_depend_on_the_others_as_in_the_records(rng, label):
    n = 6000
    x = rng.normal(50, 15, n).clip(0, 100)
    z = rng.exponential(20, n).clip(0, 200)
    y = (x + rng.normal(0, 8, n) > 55).astype(int)
    level = np.digitize(z + rng.normal(0, 4, n), [10, 30])
    data = {"a": np.stack([x, level], 1), "b": np.stack([z, y], 1)}
    schema = {
        "a": Schema([Column("x", bounds=(0, 100)), Column("level", categories=(0, 1, 2))]),
        "b": Schema([Column("z", bounds=(0, 200)), Column("y", categories=(0, 1))]),
    }
    true = {"x": x, "level": level, "z": z, "y": y}
    made = synthesize(data, schema=schema, epsilon=4.0, label=label)
    rows = made.sample(20_000, seed=1)
    # By ranks: a few false values far out say little of how columns depend.
    for one, other in (("x", "y"), ("z", "level")):
        found = spearmanr(rows[one], rows[other]).statistic
        assert found == pytest.approx(spearmanr(true[one], true[other]).statistic, abs=0.1)
    model = made.label_model
    assert model.label == made.columns.index(label)
    others = np.stack([true[name] for name in made.columns if name != label], axis=1)
    said = model.predict(others)
    np.testing.assert_array_equal(model.predict(pl.DataFrame(true)), said)
    if label == "x":
        # The mean of x given z, level and y, of which y alone tells of x.
        for value in (0, 1):
            assert said[y == value].mean() == pytest.approx(x[y == value].mean(), abs=3)
        with pytest.raises(InvalidParameterError, match="no classes"):
            model.predict_proba(others)
    else:
        shares = model.predict_proba(others)
        np.testing.assert_allclose(shares.sum(1), 1)
        np.testing.assert_array_equal(np.array(model.classes)[shares.argmax(1)], said)
        assert (said == true[label]).mean() > 0.8
        # Probabilities are those of the records.
        for k, value in enumerate(model.classes):
            assert shares[:, k].mean() == pytest.approx((true[label] == value).mean(), abs=0.05)
    one = {"y": 1, "level": 2, "x": 80.0}[label]
    assert len(made.sample(500, given={label: one})) == 500


def test_without_a_label_there_is_no_model():
    rng = np.random.default_rng(0)
    data = {name: rng.integers(2, size=(500, 1)) for name in "ab"}
    schema = {name: Schema([Column(name, categories=(0, 1))]) for name in "ab"}
    made = synthesize(data, schema=schema, protocol=Tables(components=2), seed=0)
    assert made.label_model is None
    assert made.tables.with_label == {}


def test_labels_are_those_of_the_schema(rng):
    """Missing, other and merged rare categories, and data that do not fit."""
    n = 4000
    x = rng.integers(5, size=n)
    kind = np.array(["a", "b", "rare", "?"])[np.where(rng.random(n) < 0.01, 2, np.minimum(x, 3))]
    data = {
        "one": pl.DataFrame({"x": x, "seen": rng.integers(2, size=n)}),
        "two": pl.DataFrame({"kind": [None if one == "?" else one for one in kind]}),
    }
    schema = {
        "one": Schema([
            Column("x", bounds=(0, 4), whole=True), Column("seen", categories=(0, 1))
        ]),
        "two": Schema([
            Column("kind", categories=("a", "b"), other="else", when_missing="encode")
        ]),
    }  # fmt: skip
    made = synthesize(data, schema=schema, epsilon=2.0, label="kind")
    model = made.label_model
    assert model.classes == ("a", "b", "else", None)
    said = model.predict(data["one"])
    assert [said[x == value].tolist().count(None) > 0 for value in range(5)] == [
        *[False] * 3, *[True] * 2
    ]  # fmt: skip
    assert set(made.sample(3000)["kind"].to_list()) == {"a", "b", "else", None}
    with pytest.raises(InvalidDataError, match="seen"):
        model.predict(pl.DataFrame({"x": [1], "seen": [None]}))


def test_a_drawn_label_has_the_shares_of_its_model(rng):
    """Numbers of many cells, by a draw that looks them all up at once."""
    n = 5000
    x = rng.exponential(30, n).clip(0, 10_000).round()
    data = {"a": x[:, None], "b": (x + rng.exponential(5, n)).clip(0, 10_000).round()[:, None]}
    schema = {
        name: Schema([Column(name, bounds=(0, 10_000), whole=True, when_missing="encode")])
        for name in data
    }
    model = synthesize(data, schema=schema, epsilon=3.0, label="a").label_model
    one = np.full((100_000, 2), model.columns[1].level_of(40), np.uint32)
    drawn = np.bincount(model.draw(one, rng), minlength=model.columns[0].size) / len(one)
    wanted = model.shares(one[:1])[0][model.code_of] * model.level_shares
    assert wanted.sum() == pytest.approx(1)
    # Six standard deviations of a draw.
    assert (abs(drawn - wanted) <= 6 * np.sqrt((wanted + 1e-4) / len(one))).all()
