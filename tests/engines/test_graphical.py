"""The graphical model by mbi: `make engines`. Most of its time is compiling."""

import numpy as np
import pytest

from dpsumm import Column, Schema, Tables, synthesize
from dpsumm.errors import InvalidParameterError
from dpsumm.vertical import Graphical
from helpers.same_draws import repeat

pytest.importorskip("mbi")


@pytest.fixture(scope="module")
def chain():
    """a -> b -> c -> d, one column at each owner in turn; e is alone."""
    rng = np.random.default_rng(0)
    n = 20_000
    a = rng.integers(0, 4, n)
    b = np.where(rng.random(n) < 0.8, a, rng.integers(0, 4, n))
    c = np.where(rng.random(n) < 0.8, b % 3, rng.integers(0, 3, n))
    d = np.where(rng.random(n) < 0.8, c % 2, rng.integers(0, 2, n))
    e = rng.integers(0, 5, n)
    one = Schema([Column("a", categories=range(4)), Column("c", categories=range(3))])
    two = Schema(
        [
            Column("b", categories=range(4)),
            Column("d", categories=range(2)),
            Column("e", categories=range(5)),
            Column("f", categories=(7,)),
        ]
    )
    table = np.stack([a, c, b, d, e], axis=1)
    data = {"one": table[:, :2], "two": np.c_[table[:, 2:], np.full(n, 7)]}
    data = {name: part.astype(float) for name, part in data.items()}
    protocol = Tables(model="graphical", megabytes=1e-3)
    with pytest.MonkeyPatch.context() as patch:
        repeat(patch, 0)
        found = synthesize(data, schema={"one": one, "two": two}, epsilon=2.0, protocol=protocol)
    return np.c_[table, np.zeros(n, int)], found


def joint(rows, *columns):
    counts = np.zeros([int(rows[:, c].max()) + 1 for c in columns])
    np.add.at(counts, tuple(rows[:, c] for c in columns), 1 / len(rows))
    return counts


def test_three_way_tables_are_the_data_s(chain):
    table, synthetic = chain
    model = synthetic.model
    assert isinstance(model, Graphical)
    assert model.sizes == (4, 3, 4, 2, 5, 1)
    assert model.chi2 < 1.5
    rows = model.draw(20_000, seed=1).astype(int)
    for columns in ((0, 2, 1), (2, 1, 3), (0, 1, 4)):
        assert np.abs(joint(rows, *columns) - joint(table, *columns)).sum() / 2 < 0.04


def test_rows_given_levels_have_them_and_the_others_follow(chain):
    table, synthetic = chain
    model = synthetic.model
    for given in ([0, None, None, None, None, None], [None, 2, None, 1, None, 0]):
        rows = model.draw(20_000, given, seed=1).astype(int)
        known = [j for j, level in enumerate(given) if level is not None]
        wanted = [given[j] for j in known]
        assert (rows[:, known] == wanted).all()
        real = table[(table[:, known] == wanted).all(axis=1)]
        for columns in ((0, 2), (2, 1), (1, 3)):
            assert np.abs(joint(rows, *columns).sum() - 1) < 1e-9
            parts = [
                np.histogram2d(*r[:, columns].T, bins=5, range=[[0, 5]] * 2)[0] / len(r)
                for r in (rows, real)
            ]
            assert np.abs(parts[0] - parts[1]).sum() / 2 < 0.06
    with pytest.warns(UserWarning, match="given: the noise hides whether .*e"):  # e is alone
        frame = synthetic.sample(50, given={"d": 1}, backend="polars")
    assert set(frame["d"]) == {1}
    assert set(frame["f"]) == {7}


def test_a_draw_is_repeated_by_its_seed(chain):
    model = chain[1].model
    np.testing.assert_array_equal(model.draw(99, seed=4), model.draw(99, seed=4))
    assert (model.draw(99) != model.draw(99)).any()
    assert model.draw(0).shape == (0, 6)


def test_a_small_model_follows_fewer_pairs():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 6, 5000)
    data = {"one": np.c_[x, x].astype(float), "two": np.c_[x, x].astype(float)}
    schemas = {
        name: Schema([Column(f"{name}{j}", categories=range(6)) for j in range(2)]) for name in data
    }
    cells = 36 * 8 / 2**20
    protocol = Tables(model="graphical", megabytes=4.2 * cells, max_steps=50)
    model = synthesize(data, schema=schemas, epsilon=4.0, protocol=protocol).model
    assert len(model.pairs) == 3  # a tree of the four columns
    with pytest.raises(InvalidParameterError, match="megabytes"):
        Tables(model="graphical", megabytes=0)
