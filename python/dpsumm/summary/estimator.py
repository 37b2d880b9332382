"""`summarize` as an estimator of scikit-learn, which need not be installed."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import Estimator, scikit_learn_base
from dpsumm.data.inputs import Owners, Source
from dpsumm.data.short import SchemaLike
from dpsumm.exchange.driver import Progress
from dpsumm.summary.embedding import Embedding
from dpsumm.summary.kernel import RBF, FloatArray
from dpsumm.summary.protocols import Protocol
from dpsumm.summary.result import Summary
from dpsumm.summary.summarize import summarize


@dataclass(eq=False, repr=False)
class Summarizer(Estimator, scikit_learn_base()):  # type: ignore[misc]
    """An estimator whose :meth:`fit` is :func:`dpsumm.summarize`.

    It is for code that keeps parameters apart from data: `get_params`, `set_params` and
    ``sklearn.base.clone`` work as they do for scikit-learn's own estimators. It is fitted to owners
    and a target, and not to X and y, so it cannot be a step of a ``Pipeline``. Fit later models
    to `points_` and `labels_`.

    Parameters
    ----------
    size, epsilon, delta, protocol, kernel, ...
        As for :func:`dpsumm.summarize`, where they are checked when :meth:`fit` is called. Every
        `fit` is a run of its own and spends its own budget. `seed` is not called `random_state`:
        helpers of scikit-learn set a parameter of that name by themselves, and a seeded run is not
        private.

    Attributes
    ----------
    summary_ : Summary
        The result, with all of the following and more.
    points_ : (p, c)
        The summary's points, see `Summary.points`.
    labels_ : (p,) or None
        Their labels.
    owner_, index_ : (p,) int64
        Their owners (position in ``summary_.names``), and their rows there.
    weights_ : (p,) float64
        Weights of sum 1 for averages, see `Summary.weights`. Computed at first use.
    mmd2_ : float
        MMD^2 between summary and target.
    privacy_ : PrivacyReport
        The releases to owners, and their guarantee.
    schema_ : Schema
        The columns.
    gamma_ : float
        Bandwidth of the kernel.
    n_features_in_ : int
        Columns of the points, c.
    feature_names_in_ : (c,) object
        Their names.

    See Also
    --------
    dpsumm.summarize : The same as one call.

    Examples
    --------
    >>> import numpy as np, dpsumm
    >>> rng = np.random.default_rng(0)
    >>> owners = [rng.normal(shift, 1, (500, 2)) for shift in (-3, 0, 3)]
    >>> summarizer = dpsumm.summary.Summarizer(50, kernel=dpsumm.RBF(0.25))
    >>> summarizer.fit(owners, rng.normal(2, 1, (1000, 2))).points_.shape
    (50, 2)
    >>> summarizer
    Summarizer(size=50, kernel=RBF(gamma=0.25))
    """

    _result = "summary_"

    size: int = 100
    _: KW_ONLY
    epsilon: float = 1.0
    delta: float = 1e-5
    protocol: Protocol | str | None = None
    kernel: RBF | Embedding | None = None
    schema: SchemaLike | None = None
    ledger: str | os.PathLike[str] | None = None
    run: str | None = None
    seed: int | None = None
    allow_weak_privacy: bool = False
    drop_target_copies: bool = False
    progress: Progress | None = None

    def fit(self, owners: Owners, target: Source) -> Self:
        """Select points of the owners that match the target. Return the estimator.

        Raises
        ------
        As :func:`dpsumm.summarize`. The result of an earlier `fit` is then unchanged.
        """
        summary = summarize(owners, target, **self.get_params(deep=False))
        self.summary_: Summary = summary
        self.points_: FloatArray = summary.points
        self.labels_: NDArray[Any] | None = summary.labels
        self.owner_: NDArray[np.int64] = summary.owner
        self.index_: NDArray[np.int64] = summary.index
        self.mmd2_ = summary.mmd2
        self.privacy_ = summary.privacy
        self.schema_ = summary.schema
        self.gamma_ = summary.gamma
        self.n_features_in_ = len(summary.columns)
        self.feature_names_in_: NDArray[np.object_] = np.array(summary.columns, dtype=object)
        return self

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Weights (p,) of `points_`, from 0 up and of sum 1. See `Summary.weights`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        self._check_fitted()
        return self.summary_.weights

    def fit_resample(
        self, owners: Owners, target: Source
    ) -> tuple[FloatArray, NDArray[Any] | None, NDArray[np.float64]]:
        """Select points and return X, y and sample_weight to train a model with.

        See `fit` and `Summary.training_data`.
        """
        return self.fit(owners, target).summary_.training_data()

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn, the only one who asks, what kind of estimator this is."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False),
            no_validation=True,
            non_deterministic=True,
        )
