"""Weights of a summary's points: closer to the target, and to fresh points like it."""

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize

import dpsumm
from dpsumm.errors import InvalidParameterError
from dpsumm.kernels import kernel_means, mmd2, weights

KERNEL = dpsumm.RBF(0.1)


@pytest.fixture
def summary(rng):
    owners = [rng.normal(shift, 1, (300, 3)) for shift in (-2, 0, 2)]
    protocol = dpsumm.Pool(reads_per_record=1.5)
    return dpsumm.summarize(
        owners, rng.normal(1, 0.7, (400, 3)), size=40, kernel=KERNEL, protocol=protocol
    )


def slow_mmd2(a, b, weights):
    def k(x, y):
        return np.exp(-KERNEL.gamma * np.square(x[:, None] - y[None]).sum(axis=2))

    return weights @ k(a, a) @ weights - 2 * weights @ k(a, b).mean(axis=1) + k(b, b).mean()


def test_weighted_mmd2_equals_the_slow_twin(rng):
    a, b = rng.normal(0, 1, (1100, 3)), rng.normal(5, 1, (30, 3))
    weights = rng.dirichlet(np.full(1100, 0.3))
    assert mmd2(a, b, KERNEL.gamma, weights) == pytest.approx(slow_mmd2(a, b, weights), abs=1e-12)
    equal = np.full(1100, 1 / 1100)
    assert mmd2(a, b, KERNEL.gamma, equal) == pytest.approx(mmd2(a, b, KERNEL.gamma), abs=1e-12)
    for wrong in (np.full(1100, 1.0), np.ones(1)):
        with pytest.raises(InvalidParameterError, match="weights"):
            mmd2(a, b, KERNEL.gamma, wrong)


@pytest.mark.same_draws
def test_weights_bring_the_summary_closer(summary, rng):
    assert summary.weights.min() >= 0
    assert summary.weights.sum() == pytest.approx(1, abs=1e-9)
    assert mmd2(summary.scaled, summary.target, KERNEL.gamma, summary.weights) < 0.8 * summary.mmd2


def test_the_effective_size_is_shown_once_there_are_weights(summary, tmp_path):
    assert "weights" not in repr(summary)
    assert not summary.has_weights
    summary.report(tmp_path / "without.html")
    assert summary.effective_size == pytest.approx(1 / (summary.weights @ summary.weights))
    assert summary.effective_size >= 20 * (1 - 1e-9)
    shown = f"worth {summary.effective_size:.0f}"
    assert f"weights {shown} points" in repr(summary)
    summary.report(tmp_path / "with.html")
    assert shown in (tmp_path / "with.html").read_text()
    assert shown not in (tmp_path / "without.html").read_text()


def slow_weights(gram, attraction, floor):
    """Sequential quadratic programming, with the conditions as they are written."""
    n = len(attraction)
    conditions = (
        {"type": "eq", "fun": lambda w: w.sum() - 1},
        {"type": "ineq", "fun": lambda w: 1 / floor - w @ w},
    )
    found = minimize(
        lambda w: w @ gram @ w - 2 * w @ attraction,
        np.full(n, 1 / n),
        bounds=[(0, 1)] * n,
        constraints=conditions,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert found.success
    return found.x


@pytest.mark.parametrize("floor", [6.0, 9.5])
def test_weights_under_a_floor_equal_the_slow_twin(rng, floor):
    points, target = rng.normal(0, 2, (10, 2)), rng.normal(1, 1, (50, 2))
    attraction = kernel_means(points, target, KERNEL.gamma)
    gram = np.array([kernel_means(points, points[i : i + 1], KERNEL.gamma) for i in range(10)])
    slow = slow_weights(gram, attraction, floor)
    fast = weights(points, attraction, KERNEL.gamma, effective_size=floor)
    assert 1 / (fast @ fast) >= floor * (1 - 1e-9)

    def loss(w):
        return w @ gram @ w - 2 * w @ attraction

    assert loss(fast) <= loss(slow) + 1e-9
    np.testing.assert_allclose(fast, slow, atol=5e-3)


@pytest.mark.parametrize("floor", [0.5, 10.5, -1.0, float("nan")])
def test_a_floor_that_no_weights_have_is_refused(rng, floor):
    points = rng.normal(0, 1, (10, 2))
    with pytest.raises(InvalidParameterError, match="effective_size"):
        weights(points, np.full(10, 0.5), 1.0, effective_size=floor)


def test_equal_points_and_a_floor_of_all_points_have_equal_weights(rng):
    same, apart = np.ones((6, 2)), rng.normal(0, 1, (6, 2))
    attraction = rng.random(6)
    for points in (apart, same):
        found = weights(points, attraction, 1.0, effective_size=6.0)
        np.testing.assert_allclose(found, 1 / 6, rtol=1e-12)
    found = weights(same, np.full(6, 0.3), 1.0, effective_size=3.0)
    np.testing.assert_allclose(found, 1 / 6, rtol=1e-12)
    assert weights(apart[:1], [0.5], 1.0, effective_size=1.0).tolist() == [1.0]


def test_no_other_weights_are_better(summary, rng):
    ridge = (1 - summary.target_self) / 400

    def loss(weights):
        penalty = ridge * weights @ weights
        return mmd2(summary.scaled, summary.target, KERNEL.gamma, weights) + penalty

    best = loss(summary.weights)
    for size in (1e-3, 1e-2, 1e-1):
        for _ in range(50):
            other = np.maximum(summary.weights + size * rng.normal(0, 1, 40) / 40, 0)
            other /= other.sum()
            assert 1 / (other @ other) < 20 or loss(other) > best - 1e-7


def test_one_point_has_all_the_weight(rng):
    summary = dpsumm.summarize(
        [rng.normal(0, 1, (9, 2))],
        rng.normal(0, 1, (5, 2)),
        size=1,
        kernel=KERNEL,
        protocol=dpsumm.Pool(),
    )
    assert summary.weights.tolist() == [1.0]


def test_frame_and_file_have_the_weights_when_asked(summary, tmp_path):
    assert "weight" not in summary.to_frame().columns
    for backend in ("pandas", "polars", "pyarrow"):
        frame = summary.to_frame(backend, weights=True)
        assert list(pl.DataFrame(frame).columns) == ["x0", "x1", "x2", "owner", "index", "weight"]
        np.testing.assert_array_equal(np.asarray(frame["weight"]), 40 * summary.weights)
    for name, read in (("s.csv", pl.read_csv), ("s.parquet", pl.read_parquet)):
        summary.save(tmp_path / name, weights=True)
        np.testing.assert_array_equal(read(tmp_path / name)["weight"], 40 * summary.weights)
        summary.save(tmp_path / name)
        assert "weight" not in read(tmp_path / name).columns


@pytest.mark.parametrize("options", [{}, {"schema": {"a": "number", "weight": "label"}}])
def test_a_column_called_weight_is_not_covered_up(rng, options):
    data = pl.DataFrame({"a": rng.normal(0, 1, 30), "weight": rng.normal(70, 9, 30)})
    summary = dpsumm.summarize(
        [data], data, size=5, kernel=KERNEL, protocol=dpsumm.Pool(), **options
    )
    with pytest.raises(InvalidParameterError, match=r"weights: .* called 'weight'"):
        summary.to_frame(weights=True)
    assert set(summary.to_frame()["weight"]) <= set(data["weight"])
