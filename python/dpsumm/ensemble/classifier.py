"""`learn` as an estimator of scikit-learn, which need not be installed for it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsumm.basics.checks import Estimator, scikit_learn_base
from dpsumm.data.inputs import Source
from dpsumm.data.short import SchemaLike
from dpsumm.ensemble.learn import learn
from dpsumm.ensemble.protocols import Protocol
from dpsumm.exchange.driver import Progress
from dpsumm.privacy.events import Unit


@dataclass(eq=False, repr=False)
class PrivateEnsembleClassifier(Estimator, scikit_learn_base()):  # type: ignore[misc]
    """A classifier whose :meth:`fit` is :func:`dpsumm.learn`.

    It is for code that keeps parameters apart from data: `get_params`, `set_params`, `predict`,
    `score` and ``sklearn.base.clone`` work as they do for scikit-learn's own estimators. It is
    fitted to parties and public points, and not to X and y. Do not put it into a search that
    fits it again and again, since every `fit` is a run of its own and spends its own budget. To
    compare students use `Model.refit`, at no privacy cost.

    Parameters
    ----------
    classes, epsilon, delta, ...
        As for :func:`dpsumm.learn`, where they are checked when :meth:`fit` is called.

    Attributes
    ----------
    model_ : Model
        The result, with what follows and more.
    classes_ : (K,)
        Labels, ascending.
    privacy_ : LearningPrivacy
        Its cost and guarantees.
    n_features_in_ : int
        Columns of the public points.
    feature_names_in_ : object array
        Their names.

    See Also
    --------
    dpsumm.learn : The same as one call.

    Examples
    --------
    >>> import numpy as np, dpsumm
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 30, 2))
    >>> parties = [(points, (points[:, 0] > 0).astype(int)) for points in x]
    >>> classifier = dpsumm.ensemble.PrivateEnsembleClassifier([0, 1], epsilon=2)
    >>> fitted = classifier.fit(parties, rng.normal(size=(1000, 2)))
    >>> bool(fitted.score(x[0], parties[0][1]) > 0.7)
    True
    >>> classifier
    PrivateEnsembleClassifier(classes=[0, 1], epsilon=2)
    """

    _result = "model_"

    classes: ArrayLike | None = None
    _: KW_ONLY
    epsilon: float = 1.0
    delta: float = 1e-5
    protocol: Protocol | str | None = None
    validation: Any = None
    unit: Unit | str = Unit.WHOLE_OWNER.value
    schema: SchemaLike | None = None
    ledger: str | os.PathLike[str] | None = None
    run: str | None = None
    seed: int | None = None
    allow_weak_privacy: bool = False
    progress: Progress | None = None

    def fit(self, parties: Mapping[str, Any] | Sequence[Any], public_points: Source) -> Self:
        """Learn from the parties' votes on the public points. Return the estimator.

        Raises
        ------
        As :func:`dpsumm.learn`. The result of an earlier `fit` is then unchanged.
        """
        model = learn(parties, public_points, **self.get_params(deep=False))
        self.model_ = model
        self.classes_: NDArray[Any] = model.classes_
        self.privacy_ = model.privacy
        self.n_features_in_ = len(model.columns)
        self.feature_names_in_: NDArray[np.object_] = np.array(model.columns, dtype=object)
        return self

    def predict(self, X: Source) -> NDArray[Any]:
        """Return the most probable class of each point, (n,). See `Model.predict`."""
        self._check_fitted()
        return self.model_.predict(X)

    def predict_proba(self, X: Source) -> NDArray[np.float64]:
        """Return probabilities of the classes, (n, K). See `Model.predict_proba`."""
        self._check_fitted()
        return self.model_.predict_proba(X)

    def score(self, X: Source, y: ArrayLike) -> float:
        """Return the share of points whose class is predicted right."""
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn, the only one who asks, what kind of estimator this is."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=False),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(two_d_array=False),
            no_validation=True,
            non_deterministic=True,
        )
