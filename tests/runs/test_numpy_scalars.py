"""Parameters that are scalars of NumPy give the bits that Python's own give."""

import numpy as np
import pytest

import dpsumm
from dpsumm.papers import Auction

UNIT = [(0, 1), (0, 1)]


def kept(value):
    return value


def of_numpy(value):
    kinds = {bool: np.bool_, int: np.int64, float: np.float64}
    return kinds.get(type(value), lambda x: x)(value)


@pytest.fixture
def x(rng):
    return rng.random((400, 2))


@pytest.mark.parametrize(
    "protocol",
    [
        lambda s: dpsumm.Offers(reads_per_record=s(3), n_features=s(64)),
        lambda s: Auction(n_features=s(64), batch=s(5), coalition=s(1), spare_rounds=s(1)),
    ],
)
def test_points(x, protocol):
    def points(scalar):
        summary = dpsumm.summarize(
            {"a": x[:200], "b": x[200:]}, x[:100], schema=UNIT, size=scalar(10), seed=scalar(1),
            epsilon=scalar(2.0), delta=scalar(1e-5), protocol=protocol(scalar),
        )  # fmt: skip
        return summary.points, protocol(scalar)

    (first, one), (second, other) = points(kept), points(of_numpy)
    np.testing.assert_array_equal(first, second)
    assert repr(one) == repr(other)


@pytest.mark.filterwarnings("ignore:learn")
@pytest.mark.parametrize(
    "protocol",
    [
        lambda s: dpsumm.Updates(records_per_owner=s(10)),
        lambda s: dpsumm.Voting(models_per_owner=s(2), grid=s(7)),
    ],
)
def test_models(x, protocol, tmp_path, rng):
    points = rng.random((300, 2))
    parties = [(x[i::20], (x[i::20, 0] > 0.5).astype(int)) for i in range(20)]

    def learnt(scalar):
        model = dpsumm.learn(
            parties, points, schema=UNIT, classes=[scalar(0), scalar(1)], seed=scalar(1),
            epsilon=scalar(3.0), delta=scalar(1e-5), protocol=protocol(scalar),
            allow_weak_privacy=scalar(True),
        )  # fmt: skip
        model.save(tmp_path / "model.dpsumm")
        return model.predict_proba(points), protocol(scalar)

    (first, one), (second, other) = learnt(kept), learnt(of_numpy)
    np.testing.assert_array_equal(first, second)
    assert repr(one) == repr(other)


def test_rows(x, tmp_path):
    def made(scalar):
        synthetic = dpsumm.synthesize(
            {"a": x[:, :1], "b": x[:, 1:]}, seed=scalar(1), epsilon=scalar(1.0),
            schema={"a": {"x": (0, 1)}, "b": {"y": (scalar(0), scalar(1))}},
            protocol=dpsumm.Tables(bins=scalar(5), components=scalar(3), max_steps=scalar(20)),
        )  # fmt: skip
        synthetic.save(tmp_path / "rows.csv", scalar(20), seed=scalar(3))
        return (tmp_path / "rows.csv").read_bytes()

    assert made(kept) == made(of_numpy)
