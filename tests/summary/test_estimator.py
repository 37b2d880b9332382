"""The estimator: what scikit-learn asks of one, and the function's results."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import ParameterGrid
from sklearn.utils import estimator_checks as checks
from sklearn.utils.validation import check_is_fitted

import dpsumm
from dpsumm import RBF, Column, Pool, Schema, summarize
from dpsumm.errors import InvalidParameterError
from dpsumm.summary import Summarizer


@pytest.fixture
def parties(rng: np.random.Generator) -> tuple[dict[str, Any], Any]:
    names = ["a", "b"]
    owners = {
        f"o{i}": pl.DataFrame(rng.uniform(size=(40, 2)), schema=names).with_columns(y=pl.lit(i))
        for i in range(3)
    }
    return owners, pl.DataFrame(rng.uniform(size=(60, 2)), schema=names)


NUMBERS = {"a": (0, 1), "b": (0, 1), "y": "label"}


def test_parameters_are_those_of_the_function() -> None:
    ours = inspect.signature(Summarizer).parameters
    theirs = dict(inspect.signature(summarize).parameters)
    del theirs["owners"], theirs["target"]
    assert list(ours) == list(theirs)
    for name, parameter in theirs.items():
        assert ours[name].annotation == parameter.annotation, name
        if name != "size":
            assert ours[name].default == parameter.default, name


def test_fit_is_the_function(parties: Any) -> None:
    given: dict[str, Any] = {
        "size": 9,
        "schema": Schema(
            [Column("a", bounds=(0, 1)), Column("b", bounds=(0, 1)), Column("y", "label")]
        ),
        "seed": 5,
    }
    estimator = Summarizer(**given)
    assert estimator.fit(*parties) is estimator
    wanted = summarize(*parties, **given)
    np.testing.assert_array_equal(estimator.points_, wanted.points)
    np.testing.assert_array_equal(estimator.labels_, wanted.labels)
    np.testing.assert_array_equal(estimator.owner_, wanted.owner)
    np.testing.assert_array_equal(estimator.index_, wanted.index)
    np.testing.assert_array_equal(estimator.weights_, wanted.weights)
    assert not hasattr(Summarizer(), "weights_")
    assert estimator.mmd2_ == wanted.mmd2
    assert estimator.gamma_ == wanted.gamma == 3
    assert estimator.privacy_ is estimator.summary_.privacy
    assert estimator.schema_ is given["schema"]
    assert estimator.n_features_in_ == 2
    assert estimator.feature_names_in_.tolist() == ["a", "b"]


def test_clone_has_the_parameters_and_not_the_result(parties: Any) -> None:
    estimator = Summarizer(5, protocol=Pool(), kernel=RBF(0.5), schema=NUMBERS)
    estimator.fit(*parties)
    copy = clone(estimator)
    assert type(copy) is Summarizer
    assert repr(copy.get_params()) == repr(estimator.get_params())
    assert copy.get_params()["schema"] is not estimator.schema
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)
    check_is_fitted(estimator)
    copy.fit(*parties)
    assert len(copy.points_) == 5
    assert isinstance(clone(Summarizer(schema=Schema([Column("a")]))).schema, Schema)


def test_parameters_by_a_grid(parties: Any) -> None:
    base = Summarizer(schema=NUMBERS, protocol=Pool(), kernel=RBF(1))
    sizes = []
    for parameters in ParameterGrid({"size": [3, 6], "kernel": [RBF(1), RBF(2)]}):
        fitted = clone(base).set_params(**parameters).fit(*parties)
        sizes.append((len(fitted.points_), fitted.gamma_))
    assert sorted(sizes) == [(3, 1), (3, 2), (6, 1), (6, 2)]
    assert base.size == 100


def test_unknown_parameters_are_refused_and_nothing_is_set() -> None:
    estimator = Summarizer()
    with pytest.raises(InvalidParameterError, match=r"no parameter 'sizes'. It has size, epsilon"):
        estimator.set_params(epsilon=3, sizes=4)
    assert estimator.epsilon == 1
    with pytest.raises(ValueError, match=r"kernel__gamma. Set it as a whole first"):
        estimator.set_params(kernel__gamma=4)
    with pytest.raises(ValueError, match=r"protocol__size. It has reads_per_record"):
        Summarizer(protocol=Pool()).set_params(protocol__size=4)
    with pytest.raises(dpsumm.errors.NotFittedError, match="Call fit first"):
        _ = estimator.weights_


def test_parameters_of_parameters_by_name(parties: Any) -> None:
    estimator = Summarizer(5, kernel=RBF(0.5), protocol=Pool(), schema=NUMBERS, seed=2)
    assert estimator.get_params()["kernel__gamma"] == 0.5
    assert "kernel__gamma" not in estimator.get_params(deep=False)
    copy = clone(estimator).set_params(kernel__gamma=2.0, protocol__reads_per_record=6, size=4)
    assert (copy.kernel, copy.protocol, estimator.kernel) == (RBF(2.0), Pool(6), RBF(0.5))
    assert clone(estimator).set_params(kernel=RBF(9.0), kernel__gamma=1.0).kernel == RBF(1.0)
    X, y, sample_weight = copy.fit_resample(*parties)
    np.testing.assert_array_equal(X, copy.points_)
    np.testing.assert_array_equal(y, copy.labels_)
    np.testing.assert_allclose(sample_weight, 4 * copy.weights_)


def test_a_refused_fit_leaves_the_former_result(parties: Any) -> None:
    estimator = Summarizer(5, kernel=RBF(1), protocol=Pool(), schema=NUMBERS).fit(*parties)
    kept = estimator.points_
    with pytest.raises(InvalidParameterError, match="epsilon"):
        estimator.set_params(epsilon=-1).fit(*parties)
    assert estimator.points_ is kept


def test_repr_tells_what_is_not_the_default() -> None:
    assert repr(Summarizer()) == "Summarizer()"
    assert repr(Summarizer(100, epsilon=0.5, run="a")) == "Summarizer(epsilon=0.5, run='a')"


CHECKS = [
    checks.check_parameters_default_constructible,
    checks.check_get_params_invariance,
    checks.check_set_params,
    checks.check_no_attributes_set_in_init,
    checks.check_estimator_repr,
    checks.check_estimator_cloneable,
    checks.check_estimator_tags_renamed,
    checks.check_valid_tag_types,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_scikit_learns_checks_that_need_no_x_and_y(check: Any) -> None:
    check("Summarizer", Summarizer())


def test_no_check_passes_whatever_it_is_given() -> None:
    class Broken(Summarizer):
        def __init__(self, size: int = 100) -> None:
            super().__init__(size + 1)

    with pytest.raises((AssertionError, RuntimeError)):
        checks.check_parameters_default_constructible("Broken", Broken())


def test_scikit_learn_and_a_notebook_know_it() -> None:
    assert isinstance(Summarizer(), BaseEstimator)
    assert "size" in Summarizer(7)._repr_html_()
    copy = pickle.loads(pickle.dumps(Summarizer(7)))
    assert copy.get_params() == Summarizer(7).get_params()


def test_scikit_learn_need_not_be_there() -> None:
    program = (
        "import sys; sys.modules['sklearn'] = None; import dpsumm, numpy as np; "
        "e = dpsumm.summary.Summarizer(2, kernel=dpsumm.RBF(1), protocol=dpsumm.Pool());"
        "e.fit([np.eye(4)], np.eye(4)); print(e, e.get_params()['size'], len(e.points_))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip().endswith(" 2 2")
    assert dpsumm.summary.Summarizer is Summarizer


def test_no_helper_of_scikit_learn_can_seed_a_run():
    """Such as `_set_random_states`, which ensembles call: it goes by the parameters' names."""
    assert not [name for name in Summarizer().get_params() if "random_state" in name]
