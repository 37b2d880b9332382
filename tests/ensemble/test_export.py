"""A model that protects the public points: what a record can move, its charge, its use."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

import dpsumm
from dpsumm import Ledger, Voting
from dpsumm.ensemble import load_model
from dpsumm.ensemble.export import GRID, noisy_sums, queries_of, weights_of, whole
from dpsumm.errors import BudgetExceededError, InvalidParameterError
from dpsumm.privacy import Protected
from dpsumm.privacy.accounting import compose
from dpsumm.privacy.release import PaidNoise, Query, Sums
from helpers.chance import FALSE_ALARM
from helpers.votes import noisy


def noise_at(multiplier):
    return PaidNoise([Query.at(query.bound, multiplier) for query in queries_of(1.0, 1e-6)])


def split(sums, d, columns):
    return sums[: d * columns].astype(float), sums[d * columns :].astype(float)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_no_record_moves_the_sums_by_more_than_is_hidden(n_classes, rng, monkeypatch):
    """Whatever its point, and whatever the parties vote there and the noise adds to it."""
    stds, columns = [], 1 if n_classes == 2 else n_classes

    def nothing(std, size, seed):
        stds.append(std)
        return np.zeros(size, dtype=np.int64)

    monkeypatch.setattr("dpsumm.privacy.release.noise.rounded_normal", nothing)
    n, d = 30, 3
    votes = noisy(rng.dirichlet(np.ones(n_classes), n), 50, 40.0, rng)
    points = rng.normal(size=(n, d)) * 3
    points[0], votes.counts[0] = [9, 0, 0], [1000, *[0] * (columns - 1)]

    def moved(record, point, row):
        """How far a record moves both sums if it becomes another."""
        other, counts = points.copy(), votes.counts.copy()
        other[record], counts[record] = point, row
        first, second = (
            split(noisy_sums(p, replace(votes, counts=c), 2.0, noise_at(5.0)), d + 1, columns)
            for p, c in ((points, votes.counts), (other, counts))
        )
        return [float(np.linalg.norm(a - b)) for a, b in zip(first, second, strict=True)]

    # The opposite votes, and a point at a right angle: the worst of each, nearly reached.
    opposite, across = moved(0, points[0], -votes.counts[0]), moved(0, [0, 9, 0], votes.counts[0])
    assert opposite[0] > 1.99 * GRID**2
    assert across[1] > 0.95 * math.sqrt(2) * GRID**2
    for reached in (
        opposite,
        across,
        *(
            moved(
                int(rng.integers(2)),
                rng.normal(size=d) * rng.choice([0, 1e-9, 1, 1e9]),
                rng.normal(size=columns) * rng.choice([0, 1, 1e3, 1e12]),
            )
            for _ in range(60)
        ),
    ):
        assert reached[0] <= 2 * GRID**2
        assert reached[1] <= math.sqrt(2) * GRID**2
    assert min(stds[0::2]) >= 5.0 * 2 * GRID**2
    assert min(stds[1::2]) >= 5.0 * math.sqrt(2) * GRID**2


def test_lengths_are_measured_in_integers(rng):
    rows = rng.normal(size=(100, 5))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * rng.choice([0.9, 1, 1 + 1e-4], (100, 1))
    for row in whole(rows):
        assert sum(int(v) ** 2 for v in row) <= GRID**2
    assert not whole(np.array([[1.0, 1.0]])).any()


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_both_releases_cost_what_is_said(epsilon):
    (charge,) = Sums(queries_of(epsilon, 1e-6), Protected.TARGET, "both").charges
    spent = compose([(charge.event, charge.count)], 1e-6)
    assert 0.9999 * epsilon < spent <= epsilon


def test_noise_is_drawn_as_charged(rng):
    votes = noisy(np.full((20, 2), 0.5), 50, 40.0, rng)
    votes = replace(votes, counts=np.zeros_like(votes.counts))
    points, drawn = np.zeros((20, 3)), [[], []]
    for _ in range(400):
        found = split(noisy_sums(points, votes, 1.0, noise_at(3.0)), 4, 1)
        # But for the constant's product with itself.
        drawn[0].append(found[0])
        drawn[1].append(found[1][:-1])
    for values, moved in zip(drawn, (2, math.sqrt(2)), strict=True):
        for factor, right in ((1, True), (0.7, False), (1.4, False)):
            std = factor * 3.0 * moved * GRID**2
            p = stats.kstest(np.concatenate(values) / std, "norm").pvalue
            assert bool(p > FALSE_ALARM) is right


def test_without_noise_the_weights_are_a_ridge_regressions(rng):
    x, y = rng.normal(size=(500, 4)), rng.normal(size=(500, 3))
    second = x.T @ x / 500
    sums = np.concatenate([(x.T @ y / 500).ravel(), second[np.triu_indices(4)]])
    ridge = 2 * 7.0 * math.sqrt(2) / 500 * 2
    wanted = np.linalg.solve(second + ridge * np.eye(4), x.T @ y / 500)
    np.testing.assert_allclose(weights_of(sums, 3, 7.0, 500), wanted, rtol=1e-9)


def learnt(rng, n_classes, n=3000, **more):
    def people(n):
        x = rng.uniform(-1, 1, (n, 2))
        return x, np.digitize(x @ [2, 1], np.linspace(-2, 2, n_classes + 1)[1:-1])

    parties = []
    for _ in range(60):
        x, y = people(60)
        parties.append(LogisticRegression(C=10.0).fit(x, y))
    points = people(n)[0]
    model = dpsumm.learn(
        parties,
        points,
        classes=range(n_classes),
        epsilon=4.0,
        protocol=Voting(points_are="consumer", student=dpsumm.ensemble.Spectral(("linear",))),
        **more,
    )
    return model, people(1000)


@pytest.mark.same_draws
@pytest.mark.parametrize(("n_classes", "least"), [(2, 0.9), (3, 0.6)])
def test_an_exported_model_is_of_use_and_says_whom_it_protects(n_classes, least, rng, tmp_path):
    model, (x, y) = learnt(rng, n_classes)
    with pytest.raises(InvalidParameterError, match=r"Model\.export"):
        pickle.dumps(model)
    with pytest.raises(InvalidParameterError, match=r"Model\.export"):
        model.save(tmp_path / "model")
    page = model.report().html
    assert "Parties learn\n<strong>nothing</strong>\nabout your points." in page
    assert "their classifiers, as numbers" in page
    assert "<code>model.save(path)</code>" not in page  # it would be refused
    for weak, named in (
        ({"epsilon": 20.0}, "epsilon 20 promises next to nothing"),
        ({"delta": 2 / len(x)}, "not below 1 / "),
    ):
        with pytest.raises(InvalidParameterError, match=named):
            model.export(norm=1.5, **weak)
        model.export(norm=1.5, **weak, allow_weak_privacy=True)
    out = model.export(norm=1.5, epsilon=2.0)
    assert (out.predict(x) == y).mean() > least
    out.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert (again.predict(x) == out.predict(x)).all()
    text = " ".join(again.statements)
    assert "towards everybody who sees this model: (2, 1e-05)-differential privacy" in text
    assert "keep both" not in text
    assert model.votes.terms.digest not in repr(vars(out))  # of the points
    assert model.privacy.epsilon() <= 4


@pytest.mark.filterwarnings("ignore:learn")
def test_its_charge_is_the_targets_in_the_consumers_books(rng, tmp_path):
    model, _ = learnt(rng, 2, 200)
    path = tmp_path / "mine.db"
    Ledger.create(path, caps={"target": (1.5, 1e-5)}).close()
    first, again = (model.export(norm=1.5, ledger=path) for _ in range(2))
    assert (first.learnt.weights == again.learnt.weights).all()
    with Ledger(path) as book:
        assert 0.999 < book.spent("target")[0] <= 1
        assert book.spent("owners")[0] == 0
    with pytest.raises(InvalidParameterError, match="made with other parameters"):
        model.export(norm=1.0, ledger=path)
    with pytest.raises(BudgetExceededError):
        model.export(norm=1.5, ledger=path, key="second", epsilon=1.4)
    with Ledger(path) as book:
        book.set_cap("target", 10, 1e-4)
    # Decided on after the first was seen, it adds to it: no tighter composition holds.
    model.export(norm=1.5, ledger=path, key="second", epsilon=1.4, delta=2e-5)
    with Ledger(path) as book:
        assert book.spent("target") == pytest.approx((2.4, 3e-5), rel=1e-3)
    fresh = model.export(norm=1.5)
    assert (fresh.learnt.weights != first.learnt.weights).any()


@pytest.mark.filterwarnings("ignore:learn")
def test_public_points_need_no_export(rng):
    x = rng.normal(size=(50, 2))
    made = LogisticRegression().fit(x, x[:, 0] > 0)
    model = dpsumm.learn([made] * 3, x, classes=[False, True], epsilon=9)
    with pytest.raises(InvalidParameterError, match=r"Use Model\.save"):
        model.export(norm=1.0)
