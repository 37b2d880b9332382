"""The less trusted curator: what its view depends on, and the attack that reads it all the same."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import dpsumm
from dpsumm import RBF, Offers, Pool
from dpsumm.errors import InvalidParameterError
from dpsumm.papers import Auction
from dpsumm.summary import Embedding
from helpers.chance import FALSE_ALARM
from reference import dense
from reference.attack import read_features
from reference.laws import same_law

COLUMNS = 5
MAPS = 20_000  # pairs of one wide map: independent draws of (frequency, phase)


def moved(points, rng):
    """All points turned by one rotation and shifted by one vector."""
    turn = stats.ortho_group.rvs(points.shape[1], random_state=rng)
    shift = rng.normal(0, 3, points.shape[1])
    return points @ turn.T + shift, turn, shift


def without_phase(embedding):
    """The broken twin: a map whose phases are all zero."""
    weights = embedding.weights.copy()
    weights[:, -1] = 0
    return replace(embedding, weights=weights)


def cosines(embedding, points):
    """The cosine half, as numbers in [-1, 1]: (n, pairs), columns independent and alike."""
    half = embedding.n_features // 2
    return embedding.transform(points)[:, :half] * np.sqrt(half)


def test_features_are_the_formula(rng):
    points = rng.normal(size=(30, COLUMNS))
    embedding = Embedding.draw(RBF(0.3), COLUMNS, 64)
    angles = points @ embedding.weights[:, :-1].T + embedding.weights[:, -1]
    expected = np.sqrt(2 / 64) * np.hstack([np.cos(angles), np.sin(angles)])
    np.testing.assert_allclose(embedding.transform(points), expected, rtol=0, atol=1e-12)


def test_moving_all_data_is_undone_by_an_equally_likely_map(rng):
    # h at Q x + a under (w, b) is h at x under (Q^T w, b + w.a). Frequencies are rotation invariant
    # and phases uniform, so both maps have the same law, and so have both views.
    points = rng.normal(size=(200, COLUMNS))
    elsewhere, turn, shift = moved(points, rng)
    one = Embedding.draw(RBF(0.2), COLUMNS, 128)
    frequencies, phase = one.weights[:, :-1], one.weights[:, -1]
    other = Embedding(np.column_stack([frequencies @ turn, phase + frequencies @ shift]))
    np.testing.assert_allclose(
        other.transform(points), one.transform(elsewhere), rtol=0, atol=1e-12
    )


def test_view_has_one_law_wherever_the_data_are(rng):
    points = rng.normal(size=(2, COLUMNS))
    elsewhere, _, _ = moved(points, rng)
    here, there = (
        cosines(Embedding.draw(RBF(0.2), COLUMNS, 2 * MAPS), at) for at in (points, elsewhere)
    )
    for view in (lambda c: c[0], lambda c: c[0] * c[1], lambda c: c[0] - 2 * c[1]):
        assert same_law(view(here), view(there), FALSE_ALARM)


def test_view_depends_on_distances(rng):
    # The twin of the test above with a changed distance: the check has power.
    near, far = (moved(np.eye(COLUMNS)[:2] * length, rng)[0] for length in (0.5, 1.5))
    here, there = (cosines(Embedding.draw(RBF(0.2), COLUMNS, 2 * MAPS), at) for at in (near, far))
    assert not same_law(here[0] * here[1], there[0] * there[1], FALSE_ALARM)


def test_phase_hides_norms_and_its_absence_does_not(rng):
    direction = rng.normal(size=COLUMNS)
    direction /= np.linalg.norm(direction)
    gamma = 0.5
    points = np.stack([0.6 * direction, 1.2 * direction])
    embedding = Embedding.draw(RBF(gamma), COLUMNS, 2 * MAPS)
    # Means of numbers in [-1, 1]: Hoeffding, two points, both signs.
    slack = np.sqrt(2 * np.log(4 / FALSE_ALARM) / MAPS)
    assert np.abs(cosines(embedding, points).mean(axis=1)).max() < slack
    bare = cosines(without_phase(embedding), points).mean(axis=1)
    told = np.sqrt(-np.log(bare) / gamma)  # E cos(w.x) = exp(-gamma |x|^2)
    np.testing.assert_allclose(told, [0.6, 1.2], atol=0.1)


def test_norms_are_one_and_inner_products_do_not_know_the_phase(rng):
    points = rng.normal(size=(40, COLUMNS)) * 10.0 ** rng.integers(-3, 4, size=(40, 1))
    embedding = Embedding.draw(RBF(0.4), COLUMNS, 256)
    features = embedding.transform(points)
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1.0, rtol=0, atol=1e-12)
    bare = without_phase(embedding).transform(points)
    np.testing.assert_allclose(features @ features.T, bare @ bare.T, rtol=0, atol=1e-12)


def test_inner_products_are_near_the_kernel(rng):
    points = rng.normal(size=(20, COLUMNS))
    features = Embedding.draw(RBF(0.2), COLUMNS, 2 * MAPS).transform(points)
    # Means of MAPS cosines, 190 pairs, both signs: Hoeffding.
    slack = np.sqrt(2 * np.log(400 / FALSE_ALARM) / MAPS)
    assert np.abs(features @ features.T - dense.kernel(points, points, 0.2)).max() < slack


def test_distances_are_read_off(rng):
    # What the page admits: the curator knows all distances between records, but for 1/sqrt(d).
    points = rng.normal(size=(50, COLUMNS))
    features = Embedding.draw(RBF(0.05), COLUMNS, 2 * MAPS).transform(points)
    squared = -np.log(np.maximum(features @ features.T, 1e-3)) / 0.05
    true = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    near = true < 20
    assert np.abs(squared - true)[near].max() < 3


@pytest.mark.same_draws
def test_a_handful_of_known_records_reveals_the_others(rng):
    known, unknown = 12, 60
    points = rng.normal(size=(known + unknown, 8))
    gamma = 1 / np.median(((points[:, None] - points[None]) ** 2).sum(axis=2))
    view = Embedding.draw(RBF(gamma), 8, 512).transform(points)
    read = read_features(points[:known], view[:known], view[known:])
    right = np.abs(read - points[known:]).max(axis=1) < 1e-9
    assert right.mean() >= 0.95


@pytest.mark.same_draws
def test_fewer_known_records_than_columns_do_not(rng):
    # The attack's system of equations has columns + 1 unknowns per frequency.
    points = rng.normal(size=(40, 8))
    view = Embedding.draw(RBF(0.06), 8, 512).transform(points)
    read = read_features(points[:7], view[:7], view[7:])
    assert (np.abs(read - points[7:]).max(axis=1) > 1e-2).mean() > 0.5


def test_the_map_is_not_shown_and_is_drawn_anew():
    one, other = (Embedding.draw(RBF(0.5), 3, 8) for _ in range(2))
    assert "weights" not in repr(one)
    assert not np.isin(one.weights, other.weights).any()
    again = [Embedding.draw(RBF(0.5), 3, 8, seed=4).weights for _ in range(2)]
    np.testing.assert_array_equal(*again)


@pytest.mark.parametrize(("columns", "features"), [(3, 7), (3, 0), (0, 8)])
def test_impossible_maps_are_refused(columns, features):
    with pytest.raises(InvalidParameterError):
        Embedding.draw(RBF(0.5), columns, features)


def test_a_map_for_other_columns_is_refused(rng):
    embedding = Embedding.draw(RBF(0.5), 3, 8)
    for points in (rng.normal(size=(4, 2)), rng.normal(size=4)):
        with pytest.raises(InvalidParameterError, match="3 columns"):
            embedding.transform(points)


# --- through the one call -----------------------------------------------------------------------


def data(rng, dtype=np.float64):
    tables = [rng.normal(shift, 1, (60, 4)).astype(dtype) for shift in (-1, 0, 1)]
    owners = [(table, np.arange(60) + 100 * i) for i, table in enumerate(tables)]
    return tables, owners, rng.normal(0.5, 1, (80, 4)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "protocol",
    [Offers(n_features=64), Auction(batch=5, n_features=32), Pool()],
    ids=lambda protocol: protocol.name,
)
def test_protocols_run_on_features(rng, protocol, dtype):
    tables, owners, target = data(rng, dtype)
    embedding = Embedding.draw(RBF(0.1), 4, 128)
    summary = dpsumm.summarize(owners, target, size=20, protocol=protocol, kernel=embedding)
    assert summary.points.shape == (len(summary), 128)
    assert summary.points.dtype == dtype
    assert summary.columns[:2] == ("h0", "h1")
    assert summary.gamma == 0.5
    for point, label, owner, row in zip(
        summary.points, summary.labels, summary.owner, summary.index, strict=True
    ):
        np.testing.assert_array_equal(point, embedding.transform(tables[owner])[row])
        assert label == row + 100 * owner
    seen = summary.privacy.statements()[2]
    assert "towards the curator" in seen
    assert "not differential privacy (epsilon is infinite)" in seen
    assert "labels as they are" in seen
    assert "records as they are" not in seen


def test_owners_are_protected_as_without_a_map(rng):
    _, owners, target = data(rng)
    embedding = Embedding.draw(RBF(0.1), 4, 64)
    for protocol in (Offers(n_features=32), Auction(batch=10, n_features=32)):
        with_map, without = (
            dpsumm.summarize(owners, target, size=20, protocol=protocol, kernel=kernel).privacy
            for kernel in (embedding, RBF(0.5))
        )
        assert with_map.charges == without.charges
        assert with_map.embedded
        assert not without.embedded


def test_known_points_do_not_enter_an_embedded_run(rng):
    _, owners, target = data(rng)
    embedding = Embedding.draw(RBF(0.1), 4, 64)
    raw = np.zeros((3, 4))
    for seed_points in (raw, embedding.transform(raw)):
        protocol = Auction(batch=10, n_features=32, seed_points=seed_points)
        with pytest.raises(InvalidParameterError, match="seed_points"):
            dpsumm.summarize(owners, target, size=20, protocol=protocol, kernel=embedding)


def test_bounds_scale_before_the_map(rng):
    _, owners, target = data(rng)
    bounds = {f"x{j}": (-5.0, 5.0) for j in range(4)}
    embedding = Embedding.draw(RBF(2.0), 4, 64)
    summary = dpsumm.summarize(
        owners, target, size=10, protocol=Pool(), kernel=embedding, schema=bounds
    )
    raw = owners[summary.owner[0]][0][summary.index[0]]
    expected = embedding.transform((np.clip(raw, -5, 5)[None] + 5) / 10)[0]
    np.testing.assert_allclose(summary.points[0], expected, rtol=0, atol=1e-12)
