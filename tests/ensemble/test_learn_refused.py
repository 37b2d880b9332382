"""What is refused or warned of before anything is spent, and runs that are resumed."""

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import dpsumm
from dpsumm.errors import (
    BudgetExceededError,
    InvalidDataError,
    InvalidParameterError,
)
from helpers.learning import FAST, Failing, N, Short, learn, people
from helpers.votes import one_hot


def test_a_reused_run_of_other_public_settings_is_refused_and_of_other_data_says_so(
    parties, public_points, tmp_path, rng, caplog
):
    caplog.set_level("INFO", "dpsumm")
    books = tmp_path / "books"
    dpsumm.Ledger.create(books).close()

    def again(held=parties, **given):
        return learn(held, public_points, **({"ledger": books, "run": "r"} | given))

    first = again(learner=LogisticRegression(C=2.0))
    assert "noisy votes of" in caplog.text
    for other in (
        {"learner": LogisticRegression(C=3.0)},
        {"learner": "tree"},
        {"points_are": "consumer"},
    ):
        caplog.clear()
        with pytest.raises(
            InvalidParameterError, match=r"other parameters \(learner, schema or points_are\)"
        ):
            again(**({"learner": LogisticRegression(C=2.0)} | other))
        assert "noisy votes of" not in caplog.text  # no party was asked
    for other in (
        {"classes": [0, 2]},
        {"epsilon": 3.0},
        {"held": dict(list(parties.items())[:-1])},
    ):
        with pytest.raises(InvalidParameterError, match="of run 'r' was made with other param"):
            again(**({"learner": LogisticRegression(C=2.0)} | other))
    # Whether records are those of then, nobody learns: the same votes, and the same warnings.
    equal = again(learner=LogisticRegression(C=2.0))
    others = again({name: people(rng, 5) for name in parties}, learner=LogisticRegression(C=2.0))
    assert first.votes.to_bytes() == equal.votes.to_bytes() == others.votes.to_bytes()
    assert equal.foreseen == others.foreseen
    assert "If parties' data are not those of its first part" in others.foreseen[-1]
    assert others.notes == equal.notes
    with dpsumm.Ledger(books) as book:
        assert len(book.charges()) == 1
        assert book.spent("owners") == (first.privacy.epsilon(), 1e-5)


def test_a_run_that_died_before_its_release_does_not_say_that_it_was_resumed(
    parties, public_points, tmp_path, monkeypatch
):
    books = tmp_path / "books"
    dpsumm.Ledger.create(books, caps={"owners": (1, 1e-4)}).close()
    given = {"ledger": books, "run": "r"}
    with pytest.raises(BudgetExceededError):
        learn(parties, public_points, **given, epsilon=4)
    # Nothing was released, so nothing binds it.
    model = learn(parties, public_points, **given, epsilon=1, learner="tree")
    assert not any("resumed" in note for note in model.foreseen)


REFUSED = [
    # The parties hold 1,500 records, which are what is protected.
    (
        {"unit": "replace one record", "delta": 1 / 1400},
        InvalidParameterError,
        "not below 1 / 1,500",
    ),
    ({"epsilon": 0}, InvalidParameterError, "epsilon"),
    ({"delta": 1}, InvalidParameterError, "delta"),
    ({"unit": "add or remove one record"}, InvalidParameterError, "unit must be 'one whole owner'"),
    ({"seed": -1}, InvalidParameterError, "seed must be a whole number"),
    ({"seed": 1, "ledger": "books"}, InvalidParameterError, "Leave out one of the two"),
    ({"classes": [0, 0]}, InvalidParameterError, "listed twice"),
    ({"classes": ["a", "b"]}, InvalidDataError, "'p0': labels are numbers, the classes text"),
    ({"parties": {"a": (np.zeros((3, 2)), [0, 1, 1])}}, InvalidParameterError, "at least 2"),
    ({"parties": 3}, InvalidParameterError, "parties must be a dict"),
    ({"learner": Failing()}, InvalidParameterError, "learner: it failed with ValueError"),
    ({"learner": Short()}, InvalidParameterError, "learner"),
    (
        {"learner": LogisticRegression(solver="liblinear"), "classes": [0, 1, 2]},
        InvalidParameterError,
        "failed with ValueError on made-up points .* 3 classes",
    ),
    ({"learner": Failing}, InvalidParameterError, "learner must be a scikit-learn classifier"),
    ({"learner": "oracle"}, InvalidParameterError, "learner must be logistic or tree"),
    ({"student": "tree"}, InvalidParameterError, "student must be"),
    (
        {"student": [FAST, FAST]},
        InvalidParameterError,
        "list needs .* as validation",
    ),
    ({"validation": np.zeros((3, 2))}, InvalidParameterError, "validation must be a pair"),
    (
        {"validation": (np.zeros((3, 2)), [0, 1])},
        InvalidParameterError,
        "3 points need as many labels",
    ),
    ({"validation": (np.zeros((3, 5)), [0, 1, 1])}, InvalidDataError, "validation"),
    ({"public_points": np.full((N, 2), np.nan)}, InvalidDataError, "'public_points'"),
]


@pytest.mark.parametrize(
    ("change", "error", "match"), REFUSED, ids=[f"{next(iter(c))} {m[:20]}" for c, _, m in REFUSED]
)
def test_what_is_refused_is_refused_before_anything_is_spent(
    parties, public_points, change, error, match, monkeypatch
):
    def never(*given, **named):
        raise AssertionError("released")

    monkeypatch.setattr("dpsumm.privacy.release.noise.rounded_normal", never)
    given = {"parties": parties, "public_points": public_points, **change}
    with pytest.raises(error, match=match) as caught:
        learn(**given)
    assert "cannot fit" not in str(caught.value)


@pytest.mark.parametrize(
    ("party", "more", "match"),
    [
        (np.full((N, 2), 0.5), {}, "labels are missing.* votes must be an array of integers"),
        (np.zeros((N, 3), int), {}, "votes must be an array of integers of shape"),
        (one_hot(np.zeros(N, int), 2, 2), {}, "add up to 1 for each of 1 shards"),
        (one_hot(np.zeros(N, int), 2) * [[-1, 2]], {}, "whole numbers from 0 up"),
        (
            LogisticRegression().fit([[0.0, 0], [1, 1]], [0, 1]),
            {"models_per_owner": 2},
            "1 classifiers",
        ),
        (Failing(), {"grid": 3}, "needs classifiers with predict_proba"),
        ((np.zeros((5, 2)), np.zeros(4)), {}, "one label per row"),
        (np.zeros((5, 2)).tolist(), {}, "p0"),
        (pl.DataFrame({"x0": [1.0], "x1": [1.0]}), {}, "label"),
    ],
)
def test_a_party_that_cannot_vote_is_refused_before_anything_is_spent(
    parties, public_points, party, more, match
):
    with pytest.raises((InvalidDataError, InvalidParameterError), match=match):
        learn({**parties, "p0": party}, public_points, **more)


WARNED = [
    ({"parties": 10}, "10 parties are few to protect all records of one .*models_per_owner"),
    ({"epsilon": 0.05}, "Noise over signal is .*, above 1. .*larger epsilon"),
    ({"public_points": 100}, "100 public points are few .*Give more"),
]


@pytest.mark.parametrize(("change", "match"), WARNED, ids=[m[:20] for _, m in WARNED])
def test_warnings_come_before_anything_is_spent(parties, public_points, change, match, monkeypatch):
    """From public numbers: the same words whatever the records are."""
    if "parties" in change:
        change, parties = {"epsilon": 10}, dict(list(parties.items())[:10])
    if "public_points" in change:
        change, public_points = {}, public_points[:100]
    spoken = []
    for held in (parties, {name: (-x, 1 - y) for name, (x, y) in parties.items()}):
        with pytest.warns(UserWarning, match=match) as caught:
            model = learn(held, public_points, **change)
        spoken.append([str(one.message) for one in caught])
        assert [f"learn: {note}" for note in model.foreseen] == spoken[-1]
    assert spoken[0] == spoken[1]

    def refuse(*given, **named):
        raise RuntimeError("drawn")

    monkeypatch.setattr("dpsumm.privacy.release.noise.rounded_normal", refuse)
    with pytest.warns(UserWarning, match=match), pytest.raises(RuntimeError, match="drawn"):
        learn(parties, public_points, **change)
