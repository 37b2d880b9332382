"""What a private model is made of: norms, the solver's certificate, noise."""

import math

import mpmath
import numpy as np
import pytest

from dpsumm import Column, Schema
from dpsumm.errors import InvalidParameterError
from dpsumm.summary.models import perturbation as models
from dpsumm.summary.models.ball import Ball
from dpsumm.summary.models.noise import calibrated
from dpsumm.summary.models.objective import Objective, tolerance_for

# --- records in the ball ------------------------------------------------------------------------

SCHEMA = Schema(
    [
        Column("age", bounds=(20, 90), when_missing="encode"),
        Column("kind", categories=("a", "b", "c"), other="rest"),
        Column("grade", categories=("low", "mid", "high"), ordered=True, weight=2.0),
    ]
)


def coded(rng, n):
    ages = np.where(rng.random(n) < 0.2, np.nan, rng.uniform(0, 120, n))
    return np.column_stack([ages, rng.integers(0, 4, n), rng.integers(0, 3, n)]).astype(float)


def test_without_a_norm_no_record_in_the_bounds_is_shortened(rng):
    ball = Ball.of(SCHEMA, None)
    scaled = SCHEMA.encode(coded(rng, 2000))
    z = (scaled - ball.centre) / ball.norm
    lengths = np.linalg.norm(z, axis=1)
    assert lengths.max() == pytest.approx(1, abs=0.02)  # reached by the ends
    assert lengths.max() <= 1 + 1e-12
    rows = ball(scaled)
    np.testing.assert_allclose(rows[:, :-1], z * math.sqrt(0.5), rtol=1e-9)
    assert (rows[:, -1] == rows[0, -1]).all()


@pytest.mark.parametrize(("dtype", "largest"), [(np.float32, 30), (np.float64, 90)])
def test_no_image_is_longer_than_one_in_exact_numbers(dtype, largest, rng):
    ball = Ball(np.zeros(5), 0.3)
    sizes = 10.0 ** rng.uniform(-6, largest, (300, 1))
    rows = ball((rng.normal(size=(300, 5)) * sizes).astype(dtype))
    for row in rows:
        assert mpmath.fsum(mpmath.mpf(x) ** 2 for x in row) <= 1


def test_a_record_has_the_same_image_among_any_others(rng):
    ball = Ball(rng.normal(size=7), 2.0)
    points = rng.normal(size=(64, 7)) * 10.0 ** rng.integers(-3, 9, (64, 1))
    together = ball(points)
    for i in range(0, 64, 7):
        assert (ball(points[i : i + 1])[0] == together[i]).all()
        assert (ball(points[i : i + 3])[0] == together[i]).all()


def test_columns_without_bounds_need_a_norm():
    plain = Schema.numbers(["x"])
    with pytest.raises(InvalidParameterError, match="norm must be given"):
        Ball.of(plain, None)
    assert Ball.of(plain, 2.0).norm == 2.0


# --- the solver's certificate -------------------------------------------------------------------


def draw_objective(rng, n=40, d=4, classes=2, regularization=1e-3):
    rows = rng.normal(size=(n, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * (1 + 1e-12)
    answers = rng.integers(-1, classes, n)
    return Objective(rows, answers, classes, regularization)


def true_gradient(made, weights, slope):
    """Return the norm of the gradient, in 60 digits."""
    with mpmath.workdps(60):
        columns = made.shape[1]
        total = [[mpmath.mpf(0)] * columns for _ in range(made.shape[0])]
        for row, answer in zip(made.rows, made.answers, strict=True):
            if answer < 0:
                continue
            margins = [
                mpmath.fsum(mpmath.mpf(x) * mpmath.mpf(w) for x, w in zip(row, column, strict=True))
                for column in weights.T
            ]
            if columns == 1:
                residual = [1 / (1 + mpmath.exp(-margins[0])) - int(answer)]
            else:
                parts = [mpmath.exp(m) for m in margins]
                residual = [p / mpmath.fsum(parts) for p in parts]
                residual[answer] -= 1
            for j, x in enumerate(row):
                for k, r in enumerate(residual):
                    total[j][k] += mpmath.mpf(x) * r / len(made.rows)
        return mpmath.sqrt(
            mpmath.fsum(
                (total[j][k] + mpmath.mpf(made.regularization) * w - mpmath.mpf(slope[j, k])) ** 2
                for j, line in enumerate(weights)
                for k, w in enumerate(map(mpmath.mpf, line))
            )
        )


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scale", [0.0, 1.0, 300.0])
def test_the_bound_of_a_gradient_is_above_the_true_one_and_near_it(classes, scale, rng):
    for _ in range(3):
        made = draw_objective(rng, classes=classes)
        weights = scale * rng.normal(size=made.shape)
        slope = 0.1 * rng.normal(size=made.shape)
        _, bound, _ = made.gradient(weights, slope)
        true = true_gradient(made, weights, slope)
        assert true <= bound <= true * (1 + 1e-8) + 1e-11


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("regularization", [1e-4, 0.3])
def test_a_minimiser_is_certified_where_the_tolerance_is_the_public_one(
    classes, regularization, rng
):
    for std in (1e-3, 0.5):
        made = draw_objective(rng, classes=classes, regularization=regularization)
        tolerance = tolerance_for(*made.rows.shape, classes, regularization, std)
        slope = std * rng.normal(size=made.shape)
        weights = made.minimise(slope, tolerance)
        assert true_gradient(made, weights, slope) <= tolerance <= 1e-9


def test_a_curved_step_is_the_derivative_of_the_gradient(rng):
    for classes in (2, 5):
        made = draw_objective(rng, classes=classes)
        weights, step = rng.normal(size=(2, *made.shape))
        nothing = np.zeros(made.shape)
        ahead, _, _ = made.gradient(weights + 1e-6 * step, nothing)
        behind, _, _ = made.gradient(weights - 1e-6 * step, nothing)
        _, _, chances = made.gradient(weights, nothing)
        expected = (ahead - behind) / 2e-6
        np.testing.assert_allclose(made.curved(chances, step), expected, atol=1e-8)


# --- noise --------------------------------------------------------------------------------------


def noise_of(epsilon=1.0, delta=1e-5, changed=1, n=1000, classes=2, regularization=0.01):
    return calibrated(
        epsilon,
        delta,
        changed=changed,
        n=n,
        classes=classes,
        dimension=10,
        regularization=regularization,
    )


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("changed", [1, 2])
def test_the_noise_of_a_chain_of_single_points_is_within_the_budget(classes, changed):
    made = noise_of(changed=changed, classes=classes, regularization=0.02)
    length = 1.0 if classes == 2 else math.sqrt(2)
    curvature = (
        math.log1p(1 / (4 * 1000 * 0.02))
        if classes == 2
        else (classes - 1) * math.log1p(1 / (classes * 1000 * 0.02))
    )
    steps = 2 * changed
    each = 1.0 / steps
    # Delta of one Gaussian for one point, union over the other classes, chained.
    z = made.slope_std * 1000 / length
    mp = mpmath.mp
    mu, eps = 1 / mp.mpf(z), mp.mpf(each - curvature)
    one = mp.ncdf(mu / 2 - eps / mu) - mp.exp(eps) * mp.ncdf(-mu / 2 - eps / mu)
    total = (classes - 1) * one * mp.fsum(mp.exp(i * each) for i in range(steps))
    assert 0.9e-5 < total < 1e-5


def test_two_points_need_about_twice_the_noise_and_a_tenth_of_the_points_ten_times():
    one, two = (noise_of(changed=k).slope_std for k in (1, 2))
    assert 1.9 < two / one < 2.6
    assert noise_of(n=100, regularization=0.1).slope_std == pytest.approx(10 * one, rel=1e-4)


def test_too_little_regularisation_is_refused_with_what_is_enough():
    with pytest.raises(InvalidParameterError, match="regularization must be at least") as error:
        noise_of(regularization=1e-5)
    least = float(str(error.value).split("at least ")[1].split(" ")[0])
    assert noise_of(regularization=1.01 * least).slope_std > noise_of().slope_std
    assert noise_of(regularization=None).regularization > 0


@pytest.mark.parametrize("classes", [2, 3])
def test_one_dimensional_models_diverge_no_more_than_claimed(classes, rng):
    """By integration over the slope (two classes) or by drawing it, on drawn neighbours."""
    n, epsilon, delta, regularization = 12, 2.0, 0.1, 0.5
    std = calibrated(
        epsilon,
        delta,
        changed=1,
        n=n,
        classes=classes,
        dimension=1,
        regularization=regularization,
    ).slope_std
    for _ in range(4):
        rows, answers = rng.choice([-1.0, 1.0], (n, 1)), rng.integers(0, classes, n)
        first = Objective(rows, answers, classes, regularization)
        changed, turned = rows.copy(), answers.copy()
        changed[0], turned[0] = rng.choice([-1.0, 1.0]), (answers[0] + 1) % classes
        second = Objective(changed, turned, classes, regularization)
        if classes == 2:
            slopes = np.linspace(-6, 6, 301)[:, None, None]
            chances = np.exp(-(slopes[:, 0, 0] ** 2) / 2)
            slopes, chances = std * slopes, chances / chances.sum()
        else:
            slopes = std * rng.normal(size=(400, 1, classes))
            chances = np.full(400, 1 / 400)
        gained = [gain(first, second, slope, std, epsilon) for slope in slopes]
        assert float(np.dot(chances, gained)) <= delta + 5 * np.std(gained) / 20 * (classes > 2)


def gain(first, second, slope, std, epsilon):
    weights = first.minimise(slope, 1e-9)
    nothing = np.zeros_like(weights)
    (_, _, own), (other, _, chances) = (o.gradient(weights, nothing) for o in (first, second))
    volume = [
        np.linalg.slogdet(
            np.array([o.curved(p, e[None])[0] for e in np.eye(weights.shape[1])]).reshape(
                weights.size, weights.size
            )
        )[1]
        for o, p in ((first, own), (second, chances))
    ]
    ratio = (np.square(slope).sum() - np.square(other).sum()) / (2 * std * std)
    return max(0.0, 1 - math.exp(min(epsilon + ratio + volume[1] - volume[0], 50)))


def test_weights_have_the_noise_that_their_error_needs(rng):
    made = draw_objective(rng, n=500, regularization=0.01)
    noise = noise_of(n=500)
    grid = models.Grid.of(made, noise)
    off = grid.tolerance + grid.slope_step * math.sqrt(made.rows.shape[1]) / 2
    off = off / 0.01 + grid.weight_step * math.sqrt(made.rows.shape[1]) / 2
    assert grid.weight_noise * grid.weight_step >= models.SMOOTHING * 2 * off
    assert grid.weight_noise * grid.weight_step < 1e-3
    assert grid.slope_noise * grid.slope_step == noise.slope_std
    for step in (grid.slope_step, grid.weight_step):
        assert math.frexp(step)[0] == 0.5
