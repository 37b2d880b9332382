"""The result of a run."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.atomic import write_atomically
from dpsumm.data.extract import Backend
from dpsumm.data.schema import Schema
from dpsumm.data.values import as_series, carried_to_originals, to_originals
from dpsumm.errors import InvalidParameterError, MissingExtraError
from dpsumm.privacy.guarantees import PrivacyReport
from dpsumm.summary.kernel import FloatArray
from dpsumm.summary.page import write_report

# How far the weights' objective may be from the least, in units of MMD^2.
WEIGHTS_TOLERANCE = 1e-7
# The column of `Summary.to_frame` that holds them.
WEIGHT = "weight"


@dataclass(frozen=True, eq=False)
class Summary:
    """Points of the owners that match the target, and what they cost.

    All of it is for curator and consumer: no field may be shown to an owner. Sizes: p points of c
    columns, from K owners.

    Attributes
    ----------
    points : (p, c)
        In original units, in the order of the picks. Dates and categories as `Schema.encode` takes
        them; :meth:`to_frame` has them as they were.
    labels : (p,) or None
        Labels of the points; they travelled along and were not used.
    owner, index : (p,) int64
        Owner of each point (position in `names`) and its row in that owner's data.
    names
        Owners' names.
    n_records
        Owners' numbers of records, in the order of `names`.
    schema
        What the columns are.
    accesses
        Points of owners that the curator read.
    mmd2
        MMD^2 (V-statistic) between summary and target, in the kernel's space.
    curve : (p,) float64
        MMD^2 after each pick; its last value is `mmd2`.
    gamma
        Bandwidth of the kernel.
    privacy
        What the owners received, and what that guarantees.
    protocol
        Name of the protocol.
    scaled : (p, e), pool : (accesses, e), target : (m, e)
        Summary, accessed points and target in the kernel's space, float64.
    pool_owner : (accesses,) int64
        Owner of each accessed point.
    target_self
        ``mean k(V, V)`` of the target: J of the summary is this less `mmd2`.
    size_requested
        `size` as asked for; `points` may be fewer if the pool was.
    seconds
        Wall time of the run.
    warnings
        What a reader should know before relying on the summary.
    carried
        A (p,) array for each of `Schema.carried`, the columns that travelled along.
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
    pool: FloatArray
    pool_owner: NDArray[np.int64]
    target: FloatArray
    target_self: float
    size_requested: int
    seconds: float
    carried: tuple[NDArray[Any], ...] = ()
    warnings: tuple[str, ...] = ()
    backend: Backend | None = field(default=None)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of `points`."""
        return self.schema.names

    @property
    def label(self) -> str | None:
        """Name of the labels' column; None for arrays."""
        return None if self.schema.label is None else self.schema.label.name

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        epsilon = self.privacy.epsilon()
        return (
            f"Summary({len(self)} points of {len(self.names)} owners by {self.protocol}: "
            f"mmd2={self.mmd2:.4g}, accesses={self.accesses}, "
            f"epsilon={epsilon:.4g} at delta={self.privacy.delta:g})"
        )

    @property
    def parsimony(self) -> float:
        """Points accessed per point of the summary (rho), at least 1."""
        return self.accesses / len(self)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Weights (p,) for training, from 0 up and of sum 1, in the order of `points`.

        They bring the weighted summary closest to the target: the least MMD^2 plus a ridge on the
        weights of ``(1 - mean k(V, V)) / m``, which is how far the target's sample is from its
        population on average (squared), so that its noise is not fitted. Pass
        ``weights * len(summary)`` as ``sample_weight``. Made here from summary and target, so
        nothing is sent and nothing charged; like all else in a summary, not for owners.
        """
        attraction = kernels.kernel_means(self.scaled, self.target, self.gamma)
        ridge = max(1.0 - self.target_self, 0.0) / len(self.target)
        found = kernels.weights(self.scaled, attraction, self.gamma, ridge, WEIGHTS_TOLERANCE)
        found.flags.writeable = False  # one array for all who ask
        return found

    @property
    def attribution(self) -> dict[str, float]:
        """Per owner the sum of the marginal gains ``J(S + y) - J(S)`` of its points.

        The full formula (``docs/privacy/attribution.md``), with ``J`` of the empty set as 0; the
        values add up to ``J(summary)`` and can be negative. A function of raw data: an owner may
        see its own with noise only, by `release_attribution`.
        """
        objective = self.target_self - self.curve
        gains = np.diff(objective, prepend=0.0)
        total = np.bincount(self.owner, weights=gains, minlength=len(self.names))
        return dict(zip(self.names, total.tolist(), strict=True))

    def to_frame(self, backend: Backend | None = None, *, weights: bool = False) -> Any:
        """Return a data frame: the columns, the label if any, ``owner`` (name) and ``index`` (row).

        Parameters
        ----------
        backend
            ``"pandas"``, ``"polars"`` or ``"pyarrow"``; the owners' own kind by default, polars for
            arrays and files. Columns of the data called owner or index keep their names; ours then
            become ``owner_`` and ``index_``.
        weights
            Add a column ``weight``: `weights` times the number of points, so of mean 1, as
            ``sample_weight`` takes it.

        Raises
        ------
        InvalidParameterError
            The data have a column called weight themselves, and `weights` is true.
        MissingExtraError
            The library is not installed.
        """
        import narwhals as nw

        backend = backend or self.backend or "polars"
        if backend not in ("pandas", "polars", "pyarrow"):
            raise InvalidParameterError(
                f"backend must be 'pandas', 'polars' or 'pyarrow', got {backend!r}"
            )
        try:
            return nw.from_dict(self._columns(backend, weights), backend=backend).to_native()
        except ImportError:
            raise MissingExtraError(
                f"backend: {backend} is not installed; pip install {backend}, or "
                "pip install 'dpsumm[files]' for polars"
            ) from None

    def save(self, path: str | os.PathLike[str], *, weights: bool = False) -> None:
        """Write `to_frame` to a Parquet or CSV file, by suffix. Whole or not at all."""
        import narwhals as nw

        target = Path(path)
        if target.suffix not in (".parquet", ".csv"):
            raise InvalidParameterError(f"path must end in .parquet or .csv, got {target.name!r}")
        frame = nw.from_native(self.to_frame("polars", weights=weights), eager_only=True)
        write = frame.write_parquet if target.suffix == ".parquet" else frame.write_csv
        write_atomically(target, lambda temporary: write(str(temporary)))

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a self-contained HTML report. Needs the extra ``report``. Whole or not at all."""
        write_report(self, path)

    def _columns(self, backend: Backend, weights: bool) -> dict[str, Any]:
        if weights:
            check_weight_is_free(self.schema)
        points = dict(zip(self.columns, self.points.T, strict=True))
        along = dict(zip((c.name for c in self.schema.carried), self.carried, strict=True))
        data: dict[str, Any] = {}
        for column in self.schema.columns:
            name = column.name
            if name in points:
                data[name] = as_series(name, *to_originals(column, points[name]), backend)
            elif name in along:
                data[name] = as_series(name, *carried_to_originals(along[name]), backend)
            elif self.labels is not None:
                data[name] = self.labels
        if self.labels is not None and self.label is None:
            data[_free("label", data)] = self.labels
        data[_free("owner", data)] = np.array(self.names)[self.owner]
        data[_free("index", data)] = self.index
        if weights:
            data[WEIGHT] = self.weights * len(self)
        return data


def check_weight_is_free(schema: Schema) -> None:
    """Refuse a schema in whose frames a column of weights would have the name of another.

    Raises
    ------
    InvalidParameterError
        A column, which may be the label, is called weight.
    """
    if WEIGHT in (column.name for column in schema.columns):
        raise InvalidParameterError(
            f"weights: the data have a column called {WEIGHT!r} already; rename that, or leave out "
            "weights and take them from Summary.weights"
        )


def _free(name: str, taken: dict[str, Any]) -> str:
    while name in taken:
        name += "_"
    return name
