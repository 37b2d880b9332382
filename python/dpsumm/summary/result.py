"""The result of a run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.basics.checks import counted, plain
from dpsumm.data.frame import Backend
from dpsumm.data.schema import Schema
from dpsumm.data.written import write_rows
from dpsumm.privacy import accounting
from dpsumm.privacy.guarantees import PrivacyReport
from dpsumm.privacy.ledger import Ledger
from dpsumm.privacy.record import RunRecord
from dpsumm.privacy.weak import check_budget
from dpsumm.report.notes import Severity, alarming, owners_notes, sorted_notes
from dpsumm.report.page import Page
from dpsumm.report.verdict import Verdict
from dpsumm.summary.kernel import FloatArray
from dpsumm.summary.models.model import PrivateModel, Training
from dpsumm.summary.models.sgd import DpSgd
from dpsumm.summary.pool import PointsRead
from dpsumm.summary.scale import Scale, scale_of
from dpsumm.summary.stability import COPIES_DROPPED, Stability
from dpsumm.summary.verdict import FEWEST, judged
from dpsumm.summary.worth import Worth, worth_of
from dpsumm.summary.written import about, frame_of, notebook_html

if TYPE_CHECKING:
    from dpsumm.data.extract import Source
    from dpsumm.summary.fit import FittedModel
    from dpsumm.summary.likeness import Likeness

# How far the weights' objective may be from the least: as a part of the target's sampling error, in
# units of MMD^2, and at least.
WEIGHTS_TOLERANCE, LEAST_TOLERANCE = 1e-2, 1e-7
# Part of a summary's points that the weights are worth at least, as an effective sample size: a
# model trained with weights is as noisy as one of so many points.
LEAST_EFFECTIVE = 0.5


@dataclass(frozen=True, eq=False)
class Summary:
    """Points of the owners that match the target, and their cost.

    It is for curator and consumer. Do not show any field to an owner. There are p points with c
    columns, from K owners.

    Attributes
    ----------
    points : (p, c)
        Points in original units, in the order of the picks. Dates and categories are numbers, as
        for `Schema.encode`. :meth:`to_frame` has them as they were.
    labels : (p,) or None
        Labels of the points, which chose nothing. A label is the number or truth value that it
        spells, or text, unless the schema lists its categories. If there are both, this is an array
        of objects.
    owner, index : (p,) int64
        Owner of each point (position in `names`), and its row in that owner's data, counted from 0.
        A pandas index is not kept. Use ``iloc``, or make it a column by ``reset_index()``.
    names
        Owners' names.
    n_records
        Owners' numbers of records, in the order of `names`.
    schema
        The columns.
    accesses
        Number of points that the curator read.
    mmd2
        MMD^2 (V-statistic) between the summary and the given target records, in the kernel's space.
        The summary is fitted to these, so it is further from the distribution behind them.
    curve : (p,) float64
        MMD^2 after each pick. The last value is `mmd2`.
    gamma
        Bandwidth of the kernel.
    privacy
        The releases to owners, and their guarantee.
    protocol
        Name of the protocol.
    pool
        All points that the curator read, with labels and owners, picked or not.
    scaled : (p, e), target : (m, e)
        Summary and target in the kernel's space, float64.
    target_self
        ``mean k(V, V)`` of the target. J of the summary is this less `mmd2`.
    size_requested
        The `size` of the call. There are fewer `points` if the pool had fewer.
    seconds
        Wall time of the run.
    notes
        Warnings and facts to know before you rely on the summary.
    carried
        A (p,) array for each column of `Schema.carried`, such as identifiers. Its type is the first
        of numbers, truth values, dates and text that gives every value its own text back.
    target_labels : (m,) or None
        Labels of the target's own records, None if one is missing. For `verdict` and `fit`.
    stability
        How much of the summary one record of an owner changes.
    run, ledger
        Name of the run, and the ledger's file (None if the charges are in memory).
    finished
        When the summary was made, in UTC.
    record
        Public facts of the run, which a saved summary keeps for its dossier.

    See Also
    --------
    dpsumm.summarize : Makes one, with an example.
    dpsumm.privacy.PrivacyReport : Its cost, as `Summary.privacy`.
    """

    points: FloatArray
    labels: NDArray[Any] | None
    owner: NDArray[np.int64]
    index: NDArray[np.int64]
    names: tuple[str, ...]
    n_records: tuple[int, ...]
    schema: Schema
    accesses: int
    mmd2: float
    curve: NDArray[np.float64]
    gamma: float
    privacy: PrivacyReport
    protocol: str
    scaled: FloatArray
    pool: PointsRead
    target: FloatArray
    target_self: float
    size_requested: int
    seconds: float
    carried: tuple[NDArray[Any], ...] = ()
    target_labels: NDArray[Any] | None = None
    notes: tuple[str, ...] = ()
    backend: Backend | None = field(default=None)
    stability: Stability = field(default=Stability(None, "nothing is known of the protocol"))
    run: str | None = None
    ledger: Path | None = None
    finished: datetime | None = None
    record: RunRecord | None = field(default=None, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of `points`."""
        return self.schema.names

    @property
    def label(self) -> str | None:
        """Name of the labels' column, None for arrays."""
        return None if self.schema.label is None else self.schema.label.name

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        epsilon = self.privacy.epsilon()
        return (
            f"Summary({counted(len(self), 'point', 'points')} of "
            f"{counted(len(self.names), 'owner', 'owners')} by {self.protocol}: "
            f"mmd2={self.mmd2:.4g}, accesses={self.accesses}, "
            f"epsilon={epsilon:.4g} at delta={self.privacy.delta:g}"
            f"{f', weights worth {self.effective_size:.0f} points' if self.has_weights else ''})"
        )

    @property
    def reads_per_record(self) -> float:
        """Points accessed per point of the summary (rho), at least 1."""
        return self.accesses / len(self)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Weights (p,) from 0 up and of sum 1, in the order of `points`.

        They bring the weighted summary closest to the target, with an effective size of at least
        half the points. They minimise MMD^2 plus a ridge of ``(1 - mean k(V, V)) / m``. That is the
        mean squared distance of the target's sample from its population, so the sample's noise is
        not fitted. Use them for averages and shares. As ``sample_weight`` they did not help
        classifiers in our experiments. For another floor see `dpsumm.kernels.weights`. They are
        computed from summary and target at no charge, and are not for owners.
        """
        attraction = kernels.kernel_means(self.scaled, self.target, self.gamma)
        ridge = max(1.0 - self.target_self, 0.0) / len(self.target)
        floor = max(LEAST_EFFECTIVE * len(self), 1.0)
        tolerance = max(WEIGHTS_TOLERANCE * ridge, LEAST_TOLERANCE)
        found = kernels.weights(
            self.scaled, attraction, self.gamma, ridge, tolerance, effective_size=floor
        )
        found.flags.writeable = False  # one array for all who ask
        return found

    def training_data(self) -> tuple[FloatArray, NDArray[Any] | None, NDArray[np.float64]]:
        """Return X, y and sample_weight, as scikit-learn's ``fit`` takes them.

        Returns
        -------
        points : (p, c)
        labels : (p,) or None
        weights : (p,) float64
            `weights` times p, so of mean 1. Classifiers did not gain from them.

        Examples
        --------
        >>> import numpy as np, dpsumm
        >>> rng = np.random.default_rng(0)
        >>> owner = rng.normal(size=(500, 2)), rng.integers(0, 2, 500)
        >>> target, kernel = rng.normal(size=(300, 2)), dpsumm.RBF(0.5)
        >>> summary = dpsumm.summarize([owner], target, size=30, kernel=kernel)
        >>> X, y, sample_weight = summary.training_data()
        >>> X.shape, y.shape, round(float(sample_weight.mean()), 6)
        ((30, 2), (30,), 1.0)
        """
        return self.points, self.labels, self.weights * len(self)

    def fit(self, estimator: Any, *, own: Source | None = None) -> FittedModel:
        """Train a model for the target on its own labels and on the owners' points.

        All points that the curator received are used, unless a cross-validation on the own labels
        shows that the summary's points, or none, clearly predict them better. Without own labels,
        or with few, it is the summary.

        Parameters
        ----------
        estimator
            A classifier or regressor as scikit-learn's are, or a list of them. Of a list the one
            is taken that predicts the own labels best. Not changed: a clone is trained. It sees
            points in the kernel's space, as `scaled` has them. There a bounded number goes from 0
            to 1 and each category is a column.
        own
            The consumer's labelled records, as ``(X, y)``, a frame or a file, in the schema's
            columns. By default the target's records, if these came with labels. Records without a
            label are left out.

        Returns
        -------
        FittedModel
            Its `predict` takes records as the target's. Its `gain` tells what the owners' points
            were worth next to the own labels, and `trained_on` which were used.

        Raises
        ------
        InvalidParameterError
            No labels travelled with the points, own labels are of one class or of classes that no
            owner has, or the estimator is not of these kinds.
        InvalidDataError
            The data given as `own` do not fit the schema.
        MissingExtraError
            scikit-learn is not installed.

        Privacy
        -------
        It is trained on raw records and may reveal them, so it is for curator and consumer.
        Nothing is sent and nothing is charged. `private_model` makes one that may be shown.

        Examples
        --------
        >>> import numpy as np, dpsumm
        >>> from sklearn.linear_model import LogisticRegression
        >>> rng = np.random.default_rng(0)
        >>> def records(n, at):
        ...     points = rng.normal(at, 1, (n, 2))
        ...     return points, (points.sum(axis=1) > 2 * at).astype(int)
        >>> owners = [records(500, at) for at in (0, 1, 2)]
        >>> summary = dpsumm.summarize(owners, records(100, 1), size=30, kernel=dpsumm.RBF(0.25))
        >>> model = summary.fit([LogisticRegression(C=c) for c in (0.1, 1, 10)])
        >>> model.n_own, model.predict(np.array([[3.0, 3.0], [-1.0, -1.0]])).tolist()
        (100, [1, 0])
        """
        from dpsumm.summary.fit import fit

        copies = self.target if self.stability is COPIES_DROPPED else None
        mine = self.target, self.target_labels
        return fit(estimator, self.pool, own, mine, but=copies)

    @cached_property
    def scale(self) -> Scale:
        """The scale for `mmd2`."""
        return scale_of(self.target, self.target_self, self.pool.scaled, len(self), self.gamma)

    @property
    def verdict(self) -> Verdict:
        """Whether the summary can replace data of the target, with the number of warnings.

        Its `level` is useful, check or do not use. With an alarm among the `notes` it is check at
        best. If a seed was given, it says first that the run is not private.
        """
        warned = [note for note in sorted_notes(self.notes) if note.severity is not Severity.ALARM]
        return self._reached.qualified(seeded=self.privacy.seeded, notes=warned)

    @cached_property
    def likeness(self) -> Likeness | None:
        """Likeness of summary and target, None if one has fewer than 20 rows."""
        if min(len(self), len(self.target)) < FEWEST:
            return None
        from dpsumm.summary.likeness import Likeness, places, standardised

        known = self.schema if len(self.schema.cells) == self.scaled.shape[1] else None
        sets = standardised(known, self.target, self.scaled, self.pool.scaled)
        labels = places(self.target_labels, self.labels)
        return Likeness.of(*sets, labels=labels, chosen=len(self) < self.accesses)

    @cached_property
    def _reached(self) -> Verdict:
        from dpsumm.summary.by_column import not_followed
        from dpsumm.summary.likeness import strangers

        far, alarms = not_followed(self), alarming(self.notes)
        strange = strangers(self.target_labels, self.labels)
        return judged(self.likeness, far, len(self.target), alarms=alarms, strange_labels=strange)

    @property
    def has_weights(self) -> bool:
        """Whether `weights` were computed. Repr and report do not compute them."""
        return "weights" in self.__dict__

    @property
    def effective_size(self) -> float:
        """Effective sample size of `weights`, 1 / sum of their squares, at least p / 2.

        An average over the summary with `weights` varies as one over so many points with equal
        weights.
        """
        return float(1.0 / np.square(self.weights).sum())

    @property
    def attribution(self) -> dict[str, float]:
        """Worth of each owner's points, as a Shapley value in the game of the summary.

        It is the mean of what the owner's points add to ``J`` of a part of the summary, over all
        orders in which owners may join (``docs/privacy/offers.md``). It is exact for up to 12
        owners with points, and sampled for more. The values add up to ``J(summary)`` and can be
        negative. `attribution_error` has their standard errors. They depend on raw data, so they
        are for curator and consumer.
        """
        return dict(zip(self.names, self._worth.values.tolist(), strict=True))

    @property
    def attribution_error(self) -> dict[str, float]:
        """Standard error of each owner's `attribution`.

        It covers other points and target records of the same kind, and other orders if these are
        sampled. For curator and consumer.
        """
        return dict(zip(self.names, self._worth.errors.tolist(), strict=True))

    @property
    def collected_attribution(self) -> dict[str, float]:
        """Shapley value of each owner over all points that it sent, chosen or not.

        It is like `attribution`, but a coalition is worth ``J`` of all points that it sent. It does
        not depend on which of two like points was chosen, so owners of one distribution have more
        similar values. The values add up to ``J(pool)``. For curator and consumer.
        """
        return dict(zip(self.names, self._collected_worth.values.tolist(), strict=True))

    @property
    def collected_attribution_error(self) -> dict[str, float]:
        """Standard error of each owner's `collected_attribution`, like `attribution_error`."""
        return dict(zip(self.names, self._collected_worth.errors.tolist(), strict=True))

    @cached_property
    def _worth(self) -> Worth:
        return worth_of(self.scaled, self.owner, self.target, self.gamma, len(self.names))

    @cached_property
    def _collected_worth(self) -> Worth:
        pool = self.pool
        return worth_of(pool.scaled, pool.owner, self.target, self.gamma, len(self.names))

    def to_frame(self, backend: Backend | None = None, *, weights: bool = False) -> Any:
        """Return a data frame: the columns, the label if any, ``owner`` (name) and ``index`` (row).

        Parameters
        ----------
        backend
            ``"pandas"``, ``"polars"`` or ``"pyarrow"``. By default it is the owners' own kind, and
            polars for arrays and files. If columns of the data are called owner or index, ours are
            ``owner_`` and ``index_``.
        weights
            Add a column ``weight`` with `weights` times the number of points, which has mean 1.

        Raises
        ------
        InvalidParameterError
            The data have a column called weight themselves, and `weights` is true.
        MissingExtraError
            The library is not installed.
        """
        return frame_of(self, backend, weights=weights)

    def save(self, path: str | os.PathLike[str], *, weights: bool = False) -> None:
        """Write `to_frame` to a Parquet or CSV file, by suffix, whole or not at all.

        A Parquet file's metadata (key ``dpsumm``, JSON) have the run, its date, verdict and cost.
        For a CSV file these are in ``<path>.json``.
        """
        write_rows(path, self.to_frame("polars", weights=weights), about(self))

    def report(
        self, path: str | os.PathLike[str] | None = None, *, image: tuple[int, int] | None = None
    ) -> Page:
        """Return a self-contained HTML report, which a notebook shows, and write it to `path`.

        It shows real records, so it is for curator and consumer. It needs the extra ``report``.

        Parameters
        ----------
        path
            File to write, whole or not at all, in an existing directory. By default none.
        image
            (height, width) if a record's columns are the pixels of a grey image, row by row: the
            report then shows points as images.

        Raises
        ------
        MissingExtraError
            matplotlib is not installed.
        InvalidParameterError
            The file cannot be written, or `image` does not fit the data.
        """
        from dpsumm.summary.page import render

        return Page(render(self, image), path)

    def plot(self, axes: Any = None) -> Any:
        """Draw target, summary and pool as clouds of points, and return matplotlib's axes.

        The axes are the two directions in which the target varies most, in the kernel's units. One
        column is drawn as cumulative shares. It shows real records, so it is for curator and
        consumer.

        Parameters
        ----------
        axes
            Axes to draw on, by default those of a new pyplot figure.

        Raises
        ------
        MissingExtraError
            matplotlib is not installed.

        Examples
        --------
        >>> import numpy as np, dpsumm
        >>> from matplotlib.figure import Figure
        >>> rng = np.random.default_rng(0)
        >>> owners = [rng.normal(shift, 1, (500, 2)) for shift in (-3, 0, 3)]
        >>> kernel = dpsumm.RBF(0.25)
        >>> summary = dpsumm.summarize(owners, rng.normal(2, 1, (1000, 2)), size=50, kernel=kernel)
        >>> summary.plot(Figure().subplots()).get_xlabel()
        'first direction'
        """
        from dpsumm.report import figures

        axes = figures.new_axes() if axes is None else axes
        figures.draw_overlay(axes, self.target, self.scaled, self.pool.scaled)
        axes.legend()
        return axes

    def _repr_html_(self) -> str:
        return notebook_html(self)

    def private_model(
        self,
        classes: Sequence[Any],
        *,
        epsilon: float = 1.0,
        method: DpSgd | str = "objective",
        regularization: float | None = None,
        norm: float | None = None,
        key: str = "model",
        allow_weak_privacy: bool = False,
    ) -> PrivateModel:
        """Train a classifier that may be shown to everyone, charged before it is returned.

        The summary must be stable, as those by ``Auction(reselect=False)``, `Uniform` or
        ``Pool(reads_per_record=1)`` are. The charge is added to the run's ledger and to `privacy`.

        Parameters
        ----------
        classes
            A *public* list of 2 to 1000 labels. A point with another label does not count.
        epsilon
            Budget of one record of an owner towards everybody, at the run's delta. The run itself
            has spent a part of it, and the model gets the rest.
        method
            With ``"objective"`` it is logistic regression for two classes, or softmax regression
            for more, by objective perturbation. With ``"sgd"`` or `dpsumm.summary.DpSgd` it is a
            small network by DP-SGD (extra ``sgd``).
        regularization
            Lambda of objective perturbation, the weight of half the squared norm of the weights. By
            default it follows from the sizes.
        norm
            Public length to which points, less the middle of their bounds, are shortened in the
            kernel's space. By default the longest that bounds and categories allow.
        key
            Name of the model in the ledger. A second model needs another name, and a second charge.
            With a ledger's file the same call returns the same model again, uncharged.
        allow_weak_privacy
            Accept an epsilon above 10, or a delta of at least 1 / records of all owners. `notes`
            keep it.

        Raises
        ------
        InvalidParameterError
            The summary is not stable or has no labels, epsilon is spent, or a parameter is out of
            range. Nothing was charged.
        MissingExtraError
            DP-SGD without its libraries. Nothing was charged.
        BudgetExceededError
            The ledger's cap on the owners' records does not allow it.

        Privacy
        -------
        (epsilon, delta)-DP for one record of an owner with its label, in the run's unit, towards
        everyone who sees the model, owners with all their messages included. The target is
        protected as towards the owners. Choose all parameters, and that you want a model, without
        looking at the summary. See ``docs/privacy/private-models.md``.

        Examples
        --------
        >>> import numpy as np, dpsumm
        >>> rng = np.random.default_rng(0)
        >>> def population(n):
        ...     points = rng.uniform(-1, 1, (n, 2))
        ...     return points, (points @ [2, 1] > 0).astype(int)
        >>> summary = dpsumm.summarize(
        ...     [population(3000) for _ in range(4)], population(500)[0], size=4000,
        ...     protocol=dpsumm.summary.Uniform(), schema={"x0": (-1, 1), "x1": (-1, 1)},
        ... )
        >>> model = summary.private_model([0, 1], epsilon=1.0)
        >>> points, labels = population(1000)
        >>> bool((model.predict(points) == labels).mean() > 0.85)
        True
        >>> summary.privacy.epsilon(protected="owners") <= 1.0
        True
        """
        epsilon = plain(epsilon)
        accounting.check_epsilon(epsilon)
        check_budget(
            epsilon,
            self.privacy.delta,
            sum(self.n_records),
            allowed=allow_weak_privacy or self.privacy.seeded,
        )
        training = Training(
            points=self.scaled,
            labels=self.labels,
            size=self.size_requested,
            schema=self.schema,
            stability=self.stability,
            privacy=self.privacy,
        )
        with Ledger(self.ledger, run=self.run, delta=self.privacy.delta) as book:
            model = training.model(
                book,
                classes,
                epsilon=epsilon,
                method=method,
                regularization=regularization,
                norm=norm,
                key=key,
            )
        # The one change that a summary knows: its report says what has left since.
        notes = sorted_notes(dict.fromkeys((*owners_notes(model.privacy), *self.notes)))
        object.__setattr__(self, "privacy", model.privacy)
        object.__setattr__(self, "notes", notes)
        return model
