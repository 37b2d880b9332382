"""`learn` as an estimator: what scikit-learn asks of one, and the function's results."""

import inspect

import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError as TheirNotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import estimator_checks as checks
from sklearn.utils.validation import check_is_fitted

import dpsumm
from dpsumm import learn
from dpsumm.ensemble import PrivateEnsembleClassifier, Spectral
from dpsumm.errors import InvalidParameterError, NotFittedError

GIVEN = {
    "classes": [0, 1],
    "epsilon": 4,
    "protocol": dpsumm.Voting(learner=GaussianNB(), student=Spectral(("linear",))),
    "seed": 1,
}


@pytest.fixture
def given(rng):
    x = rng.normal(size=(50, 20, 2))
    return [(points, (points[:, 0] > 0).astype(int)) for points in x], rng.normal(size=(1000, 2))


def test_parameters_are_those_of_the_function():
    ours = inspect.signature(PrivateEnsembleClassifier).parameters
    theirs = dict(inspect.signature(learn).parameters)
    del theirs["parties"], theirs["public_points"]
    assert list(ours) == list(theirs)
    for name, parameter in theirs.items():
        assert ours[name].annotation == parameter.annotation, name
        assert ours[name].default == parameter.default, name


def test_fit_is_the_function(given, rng):
    estimator = PrivateEnsembleClassifier(**GIVEN)
    assert estimator.fit(*given) is estimator
    wanted = learn(*given, **GIVEN)
    x = rng.normal(size=(300, 2))
    assert (estimator.predict(x) == wanted.predict(x)).all()
    assert (estimator.predict_proba(x) == wanted.predict_proba(x)).all()
    y = (x[:, 0] > 0).astype(int)
    assert estimator.score(x, y) == (wanted.predict(x) == y).mean() > 0.8
    assert estimator.privacy_ is estimator.model_.privacy
    assert estimator.n_features_in_ == 2
    assert estimator.feature_names_in_.tolist() == ["x0", "x1"]
    check_is_fitted(estimator)
    copy = clone(estimator)
    assert type(copy) is PrivateEnsembleClassifier
    assert repr(copy.get_params()) == repr(estimator.get_params())
    with pytest.raises(TheirNotFittedError):
        check_is_fitted(copy)
    for ask in (copy.predict, copy.predict_proba):
        with pytest.raises(NotFittedError, match="Call fit first"):
            ask(x)
    kept = estimator.model_
    with pytest.raises(InvalidParameterError, match="epsilon"):
        estimator.set_params(epsilon=-1).fit(*given)
    assert estimator.model_ is kept
    assert is_classifier(estimator)
    with pytest.raises(InvalidParameterError, match="no parameter 'labels'"):
        estimator.set_params(labels=3)


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
def test_scikit_learns_checks_that_need_no_x_and_y(check):
    check("PrivateEnsembleClassifier", PrivateEnsembleClassifier())


def test_its_room_exports_it():
    assert "PrivateEnsembleClassifier" in dpsumm.ensemble.__all__
