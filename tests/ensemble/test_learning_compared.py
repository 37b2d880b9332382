"""The rehearsal of `learn`: protocols with and without noise, beside what parties reach alone."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dpsumm import Updates, Voting
from dpsumm.ensemble import compare
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.privacy import Unit


def clinics(rng, parties=60, records=20):
    """Return labelled parties, public points, and labelled points to judge by."""
    x = rng.normal(size=(parties, records, 2))
    test = rng.normal(size=(500, 2))
    given = [(points, (points[:, 0] > 0).astype(int)) for points in x]
    return given, rng.normal(size=(400, 2)), (test, (test[:, 0] > 0).astype(int))


@pytest.mark.same_draws
def test_one_call_compares_both_protocols(rng):
    parties, public, (test, labels) = clinics(rng)
    told = []
    found = compare(
        parties,
        public,
        (test, labels),
        classes=[0, 1],
        epsilon=2.0,
        runs=2,
        progress=lambda *words: told.append(words),
    )
    rows = {row.method: row for row in found.rows}
    assert list(rows) == [
        "updates",
        "updates, hardly any noise",
        "votes",
        "votes, hardly any noise",
        "majority of the parties' own models",
        "one party alone, mean",
        "always the commonest class",
    ]
    # By hand: what each party would have said.
    votes = []
    for points, own in parties:
        made = LogisticRegression(C=10.0, max_iter=200)
        votes.append(
            made.fit(points, own).predict(test) if 0 < own.sum() < 20 else own[0] + 0 * labels
        )
    majority = (np.mean(votes, axis=0) > 0.5).astype(int)
    own = "majority of the parties' own models"
    assert rows[own].accuracy == pytest.approx((majority == labels).mean())
    alone = np.mean([(one == labels).mean() for one in votes])
    assert rows["one party alone, mean"].accuracy == pytest.approx(alone)
    assert rows["always the commonest class"].accuracy == max(labels.mean(), 1 - labels.mean())
    for name in ("updates", "votes"):
        noisy, exact = rows[name], rows[f"{name}, hardly any noise"]
        assert (noisy.epsilon, exact.epsilon) == (2.0, 1e4)
        assert 0.7 < noisy.accuracy <= exact.accuracy + 0.02
        assert exact.accuracy > 0.93
    assert math.isinf(rows[own].epsilon)
    assert told[0] == ("runs", 0, 6)
    assert told[-1] == ("runs", 6, 6)
    text = str(found)
    assert text.startswith("60 parties, 400 points, 2 classes, epsilon 2\nmethod")


@pytest.mark.same_draws
def test_protocols_and_the_unit_are_the_users(rng):
    parties, public, test = clinics(rng, parties=6, records=100)
    found = compare(
        parties,
        public,
        test,
        classes=[0, 1],
        unit=Unit.REPLACE_RECORD,
        protocols=[
            Updates(),
            Voting(models_per_owner=5),
            Voting(models_per_owner=5, learner="tree"),
        ],
        runs=1,
    )
    names = [row.method for row in found.rows]
    assert names[::2][:3] == ["updates", "votes", "votes 2"]
    assert found.rows[0].accuracy > 0.85
    for wrong in ("votes", []):
        with pytest.raises(InvalidParameterError, match="protocols must be a list"):
            compare(parties, public, test, classes=[0, 1], protocols=wrong)


def test_classifiers_may_be_compared_and_votes_may_not(rng):
    _, x, (test, labels) = clinics(rng)
    made = LogisticRegression().fit(x, x[:, 0] > 0)
    judges = (test, labels == 1)
    found = compare([made] * 30, x, judges, classes=[False, True], runs=1)
    assert next(row.method for row in found.rows) == "votes"
    with pytest.raises(InvalidParameterError, match="gives no records"):
        compare([made] * 30, x, judges, classes=[False, True], protocols=["updates"])
    with pytest.raises(InvalidParameterError, match="a rehearsal needs records or classifiers"):
        compare([np.zeros((400, 2), int)] * 3, x, judges, classes=[0, 1])
    with pytest.raises(InvalidParameterError, match="test must be a pair"):
        compare([made] * 3, x, test, classes=[False, True])
    with pytest.raises(InvalidDataError):
        compare([made] * 3, x, (test * np.nan, labels == 1), classes=[False, True])
