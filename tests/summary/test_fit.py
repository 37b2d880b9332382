"""Models of the target from all points read and its own labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dpsumm
from dpsumm import Column, Schema
from dpsumm.data import Kind
from dpsumm.errors import InvalidDataError, InvalidParameterError

SCHEMA = Schema(
    [
        Column("dose", bounds=(0, 10)),
        Column("ward", Kind.CATEGORY, categories=("A", "B")),
        Column("died", Kind.LABEL),
    ]
)


def records(seed: int, n: int = 300, *, flip: bool = False) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    dose, ward = rng.uniform(0, 10, n), rng.choice(["A", "B"], n)
    died = (dose + 3 * (ward == "A") + rng.normal(0, 1, n) > 6) ^ flip
    return pl.DataFrame({"dose": dose, "ward": ward, "died": np.where(died, "yes", "no")})


def summary_of(target: pl.DataFrame, *, flip: bool = False, **more) -> dpsumm.summary.Summary:
    owners = {"east": records(1, flip=flip), "west": records(2, flip=flip)}
    return dpsumm.summarize(owners, target, size=30, schema=SCHEMA, **({"seed": 1} | more))


def accuracy(model, data: pl.DataFrame) -> float:
    return float((model.predict(data.drop("died")) == data["died"].to_numpy()).mean())


def test_the_target_s_labels_and_all_points_read_are_trained_on() -> None:
    target, fresh = records(3, 60), records(4, 4000)
    summary = summary_of(target)
    model = summary.fit(LogisticRegression(C=10))
    twin = LogisticRegression(C=10).fit(
        np.concatenate([summary.pool.scaled, summary.target]),
        np.concatenate([summary.pool.labels, target["died"].to_numpy()]),
    )
    np.testing.assert_allclose(model.estimator.coef_, twin.coef_, rtol=1e-12)
    assert (model.trained_on, model.n_own, len(model.losses)) == ("all points", 60, 3)
    assert repr(model).startswith(
        "FittedModel(LogisticRegression(C=10), trained on all points and 60 own labels, gain=0."
    )
    assert accuracy(model, fresh) > 0.85
    chances = model.predict_proba(fresh.drop("died"))
    assert chances.shape == (4000, 2)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    # The same labels, given.
    again = summary_of(target.drop("died")).fit(LogisticRegression(C=10), own=target)
    np.testing.assert_allclose(again.estimator.coef_, twin.coef_, rtol=1e-12)


def test_the_gain_is_the_fall_of_the_loss_on_labels_left_out() -> None:
    model = summary_of(records(3, 40)).fit(LogisticRegression())
    assert model.gain.low > 0, "40 labels are few: the points read must help"
    losses = model.losses
    assert 0 < losses["all points"].value < losses["own labels"].value
    apart = losses["own labels"].value - losses["all points"].value
    assert model.gain.value == pytest.approx(apart)


def test_owners_whose_labels_contradict_the_target_s_are_left_out() -> None:
    target, fresh = records(3, 200), records(4, 2000)
    model = summary_of(target, flip=True).fit(LogisticRegression())
    assert model.gain.high < 0
    assert model.trained_on == "own labels"
    assert accuracy(model, fresh) > 0.85


def test_the_summary_is_trained_on_where_the_other_points_mislead() -> None:
    summary = summary_of(records(3, 60))
    labels = summary.pool.labels
    picked = np.isin(np.arange(len(labels)), summary.pool.picks)
    misled = np.where(picked, labels, np.where(labels == "yes", "no", "yes"))
    pool = replace(summary.pool, records=replace(summary.pool.records, labels=misled))
    model = replace(summary, pool=pool).fit(LogisticRegression())
    assert model.trained_on == "summary"
    assert model.losses["summary"].value < model.losses["all points"].value
    twin = LogisticRegression().fit(
        np.concatenate([summary.scaled, summary.target]),
        np.concatenate([summary.labels, summary.target_labels.astype(str)]),
    )
    np.testing.assert_allclose(model.estimator.coef_, twin.coef_, rtol=1e-12)


def test_the_candidate_with_the_least_loss_is_taken() -> None:
    candidates = [LogisticRegression(C=1e-6), LogisticRegression(C=10)]
    model = summary_of(records(3, 100)).fit(candidates)
    assert model.estimator.C == 10
    assert not hasattr(candidates[1], "coef_"), "a clone is trained"


def test_pipelines_and_classifiers_without_probabilities() -> None:
    model = summary_of(records(3, 100)).fit(make_pipeline(StandardScaler(), Perceptron()))
    assert 0 <= model.losses["all points"].value < 0.3
    assert accuracy(model, records(4)) > 0.7


def test_numbers_are_predicted_by_regressors() -> None:
    rng = np.random.default_rng(0)

    def numbers(n: int) -> tuple[np.ndarray, np.ndarray]:
        points = rng.normal(size=(n, 3))
        return points, points @ [1.0, -2.0, 0.5] + rng.normal(size=n)

    summary = dpsumm.summarize([numbers(500)], numbers(50), size=20, kernel=dpsumm.RBF(0.2))
    model = summary.fit(LinearRegression())
    np.testing.assert_allclose(model.estimator.coef_, [1, -2, 0.5], atol=0.4)
    assert 0.5 < model.losses["all points"].value < 2


def test_without_own_labels_it_is_the_summary_s_model() -> None:
    summary = summary_of(records(3).drop("died"))
    model = summary.fit(LogisticRegression())
    assert (model.trained_on, model.n_own, model.gain, model.losses) == ("summary", 0, None, {})
    twin = LogisticRegression().fit(summary.scaled, summary.labels)
    np.testing.assert_allclose(model.estimator.coef_, twin.coef_, rtol=1e-12)
    assert accuracy(model, records(4)) > 0.8
    some = records(3).with_columns(pl.when(pl.col("dose") > 5).then("died").alias("died"))
    assert summary.fit(LogisticRegression(), own=some).n_own == some["died"].count()


def test_own_pairs_of_arrays_and_of_frames() -> None:
    rng = np.random.default_rng(0)

    def pair(n: int) -> tuple[np.ndarray, np.ndarray]:
        points = rng.normal(size=(n, 2))
        return points, (points[:, 0] > 0).astype(int)

    summary = dpsumm.summarize([pair(400)], pair(50)[0], size=20, kernel=dpsumm.RBF(0.3))
    own = pair(60)
    assert summary.fit(LogisticRegression(), own=own).n_own == 60
    with pytest.raises(InvalidDataError, match="own"):
        summary.fit(LogisticRegression(), own=(own[0][:, :1], own[1]))
    target = records(3, 60)
    made = summary_of(target).fit(
        LogisticRegression(), own=(target.drop("died"), target["died"].to_numpy())
    )
    assert made.n_own == 60


def test_owners_labels_alone_must_train_the_estimator() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 2))
    labels = {
        "must be a classifier": (LinearRegression(), np.array(["a", "b"] * 30)),
        "in two ways": (LogisticRegression(), np.array(["a", 1] * 30, object)),
        "the summary has one": (LogisticRegression(), np.zeros(60, int)),
    }
    for said, (estimator, given) in labels.items():
        summary = dpsumm.summarize([(points, given)], points, size=20, kernel=dpsumm.RBF(1))
        with pytest.raises(InvalidParameterError, match=said):
            summary.fit(estimator)


def test_few_labels_of_a_class_are_used_and_not_compared() -> None:
    rare = records(3, 400).filter((pl.col("died") == "no") | (pl.col("dose") > 9.7))
    rare = pl.concat([rare.filter(died="no").head(40), rare.filter(died="yes").head(3)])
    model = summary_of(rare).fit(LogisticRegression())
    assert (model.n_own, model.gain) == (43, None)


def test_a_class_rarer_than_the_folds_is_compared_without_a_warning(recwarn) -> None:
    target = records(3, 80).to_dicts()
    target[0]["died"] = target[1]["died"] = "unknown"
    model = summary_of(pl.DataFrame(target)).fit(LogisticRegression())
    assert model.gain is not None
    assert [str(one.message) for one in recwarn if one.category is UserWarning] == []


def test_numbers_written_as_text_are_one_class() -> None:
    coded = records(3, 60).with_columns(died=(pl.col("died") == "yes").cast(pl.Int64))
    owners = [records(1).with_columns(died=(pl.col("died") == "yes").cast(pl.Int8).cast(pl.String))]
    summary = dpsumm.summarize(owners, coded, size=20, schema=SCHEMA)
    assert summary.fit(LogisticRegression()).estimator.classes_.tolist() == [0, 1]


def test_copies_that_are_left_out_are_not_trained_on() -> None:
    target = records(3, 100)
    owners = [target, records(1)]
    summary = dpsumm.summarize(owners, target, size=30, schema=SCHEMA, drop_target_copies=True)
    kept = summary.pool.owner == 1
    assert not kept.all()
    model = summary.fit(LogisticRegression())
    twin = LogisticRegression().fit(
        np.concatenate([summary.pool.scaled[kept], summary.target]),
        np.concatenate([summary.pool.labels[kept], target["died"].to_numpy()]),
    )
    np.testing.assert_allclose(model.estimator.coef_, twin.coef_, rtol=1e-12)


def test_nothing_is_charged(tmp_path) -> None:
    books = tmp_path / "books.sqlite"
    dpsumm.Ledger.create(books)
    summary = summary_of(records(3, 60), ledger=books, seed=None)
    before = books.read_bytes(), summary.privacy.charges
    summary.fit(LogisticRegression())
    assert before == (books.read_bytes(), summary.privacy.charges)


@pytest.mark.parametrize(
    ("estimator", "own", "said"),
    [
        (object(), None, "classifier or a regressor"),
        ([], None, "classifier or a regressor"),
        ([LogisticRegression(), LinearRegression()], None, "classifier or a regressor"),
        (LinearRegression(), None, "must be a classifier"),
        (LogisticRegression(), records(3).drop("died"), "own has no labels"),
        (LogisticRegression(), records(3).filter(died="yes"), "of one class"),
        (
            LogisticRegression(),
            records(3).with_columns(died=pl.col("died") + "!"),
            "no label that the owners",
        ),
        (
            LogisticRegression(),
            records(3).with_columns(died=pl.when(died="yes").then(1).otherwise(0)),
            "in two ways",
        ),
        ([LogisticRegression()] * 2, records(3, 8), "to choose from it"),
    ],
)
def test_bad_calls_name_the_parameter(estimator, own, said) -> None:
    with pytest.raises(InvalidParameterError, match=said):
        summary_of(records(3, 60)).fit(estimator, own=own)


def test_own_records_must_fit_the_schema() -> None:
    summary = summary_of(records(3, 60))
    with pytest.raises(InvalidDataError, match="ward"):
        summary.fit(LogisticRegression(), own=records(3).with_columns(ward=pl.lit("C")))
    with pytest.raises(InvalidDataError, match="data"):
        summary.fit(LogisticRegression()).predict(records(3).drop("ward"))


def test_points_without_labels_train_nothing() -> None:
    rng = np.random.default_rng(0)
    summary = dpsumm.summarize([rng.normal(size=(50, 2))], rng.normal(size=(50, 2)), size=9,
                               kernel=dpsumm.RBF(1))  # fmt: skip
    with pytest.raises(InvalidParameterError, match="none travelled"):
        summary.fit(LogisticRegression())
