"""How well a label can be predicted: exact measures, independent halves, a range that holds."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from dpsumm import Column, Schema, synthesize
from dpsumm.report.notes import Severity
from dpsumm.vertical.label_fit import tables_with_label
from dpsumm.vertical.label_score import auc, correlation, halves

SCHEMA = {
    "a": Schema([Column("x", bounds=(0, 100)), Column("level", categories=(0, 1, 2))]),
    "b": Schema([Column("z", bounds=(0, 200)), Column("y", categories=(0, 1))]),
}


def table(rng, n):
    """Return x, level, z and y; y follows from x, level from z."""
    x, z = rng.normal(50, 15, n).clip(0, 100), rng.exponential(20, n).clip(0, 200)
    y = (x + rng.normal(0, 12, n) > 55).astype(int)
    return {"x": x, "level": np.digitize(z + rng.normal(0, 8, n), [10, 30]), "z": z, "y": y}


def rows(made, true, label):
    return np.stack([true[name] for name in made.columns if name != label], axis=1)


def run(true, label, epsilon):
    data = {"a": np.stack([true["x"], true["level"]], 1), "b": np.stack([true["z"], true["y"]], 1)}
    return synthesize(data, schema=SCHEMA, epsilon=epsilon, label=label)


def test_measures_are_those_of_labels_that_are_drawn(rng):
    given, truth = rng.dirichlet(np.ones(3), 400), rng.dirichlet(np.ones(3), 400)
    # As many copies of a record as make its shares whole numbers.
    counts = np.rint(truth * 40).astype(int)
    truth = counts / counts.sum(axis=1, keepdims=True)
    label = np.concatenate([np.repeat([0, 1, 2], row) for row in counts])
    scores = np.repeat(given, counts.sum(axis=1), axis=0)
    of_all = np.repeat(truth, counts.sum(axis=1), axis=0)
    known = roc_auc_score(label, scores, multi_class="ovr", average="weighted")
    assert auc(scores, np.eye(3)[label][rng.permutation(len(label))]) == pytest.approx(0.5, abs=0.1)
    order = rng.permutation(len(label))  # ties by chance, as of drawn rows
    assert auc(scores[order], of_all[order]) == pytest.approx(known, abs=0.02)
    middles = np.array([1.0, 5.0, 20.0])
    known = np.corrcoef(scores @ middles, middles[label])[0, 1]
    assert correlation(scores, of_all, middles) == pytest.approx(known, abs=1e-9)


def test_halves_have_independent_noise_of_twice_the_variance(rng):
    """At each cell of 300 draws: a wrong sign, or half of the noise, would be seen by far."""
    released = run(table(rng, 3000), "y", 1.0).tables
    ((pair, std), *_) = tables_with_label(released)
    truth = np.zeros(released.with_label[pair].shape)
    both = []
    for _ in range(300):
        noisy = {p: np.round(rng.normal(0, s, released.with_label[p].shape))
                 for p, s in tables_with_label(released)}  # fmt: skip
        object.__setattr__(released, "with_label", noisy)
        both.append([half.with_label[pair] - truth for half in halves(released, rng)])
    more, less = (np.array(part).ravel() for part in zip(*both, strict=True))
    for part in (more, less):
        assert part.var() == pytest.approx(2 * std**2, rel=0.1)
    wide = norm.isf(0.5e-6) / np.sqrt(len(more))
    assert abs(np.corrcoef(more, less)[0, 1]) < wide + 0.001  # and rounding


@pytest.mark.parametrize(("label", "measure"), [("y", "AUC"), ("x", "correlation")])
@pytest.mark.parametrize(("n", "epsilon"), [(20_000, 1.0), (3000, 1.0)])
def test_real_records_are_in_the_range(rng, label, measure, n, epsilon):
    made, fresh = run(table(rng, n), label, epsilon), table(rng, 20_000)
    score, others = made.label_score, rows(made, fresh, label)
    assert score.measure == measure
    if measure == "AUC":
        found = roc_auc_score(fresh[label], made.label_model.predict_proba(others)[:, 1])
    else:
        found = np.corrcoef(fresh[label], made.label_model.predict(others))[0, 1]
    slack = 0.06 if n == 20_000 else 0.15
    assert score.low - slack < found < score.high + slack
    assert score.high - score.low < (0.06 if n == 20_000 else 0.3)
    assert str(score) in made.verdict.text


def test_a_label_that_follows_from_nothing_is_not_called_predictable(rng):
    true = table(rng, 8000)
    true["y"] = rng.permutation(true["y"])
    made = run(true, "y", 1.0)
    assert made.label_score.low < 0.55
    assert made.verdict.severity is not Severity.INFO


def test_without_a_label_there_is_no_score(rng):
    made = run(table(rng, 1000), None, 1.0)
    assert made.label_score is None


@pytest.mark.same_draws
@pytest.mark.parametrize(
    ("shuffled", "head"), [(False, "models of the rows"), (True, "hardly any")]
)
def test_a_label_that_one_column_of_another_owner_predicts_links_them(shuffled, head, rng):
    """Of 16 pairs across owners one depends; in another order of the records none does."""
    n = 8000
    one, other = rng.normal(size=(2, n, 4))
    other[:, 0] = other[:, 0] + 1.5 * one[:, 0] > 0
    schema = {
        "a": {f"a{j}": (-4, 4) for j in range(4)},
        "b": {"y": [0, 1], **{f"b{j}": (-4, 4) for j in range(1, 4)}},
    }
    data = {"a": rng.permutation(one) if shuffled else one, "b": other}
    verdict = synthesize(data, schema=schema, label="y").verdict
    assert verdict.head.startswith("models of the rows should predict") == (not shuffled)
    assert (verdict.severity is Severity.INFO) == (not shuffled)
