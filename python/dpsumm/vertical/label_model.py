"""The label's model is logistic in the codes of all other columns. Fitted by `label_fit`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.extract import Source
from dpsumm.errors import InvalidParameterError
from dpsumm.kernels import softmax_shares
from dpsumm.vertical.grid import Drawn
from dpsumm.vertical.inputs import levels_of
from dpsumm.vertical.merged import drawn_codes, drawn_levels

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LabelModel:
    """Logistic regression of the label on all other columns, made of noisy tables alone.

    Post-processing of releases, like the rows. Anyone who may see these may use it.

    Attributes
    ----------
    columns
        All columns in order, and their levels.
    label
        Place of the label among them.
    maps
        Of each block of weights the column, and the code of each of its levels: its bins, then, as
        a block of their own, its finer bins.
    sizes
        Codes of each block.
    weights : (W, K)
        Of all codes, block after block.
    start : (K,)
        Shares of the label's codes without any block.
    level_shares, code_of
        Share of each of the label's levels in its code, and that code.

    See Also
    --------
    dpsumm.synthesize : Fits one if a label is named.

    Examples
    --------
    >>> import numpy as np, dpsumm
    >>> from dpsumm import Column, Schema
    >>> rng = np.random.default_rng(0)
    >>> age = rng.integers(20, 80, 5000)
    >>> ill = rng.random(5000) < age / 100
    >>> made = dpsumm.synthesize(
    ...     {"registry": age[:, None], "clinic": ill[:, None].astype(int)},
    ...     schema={
    ...         "registry": Schema([Column("age", bounds=(20, 80), whole=True)]),
    ...         "clinic": Schema([Column("ill", categories=(0, 1))]),
    ...     },
    ...     label="ill",
    ... )
    >>> young, old = made.label_model.predict_proba(np.array([[25], [75]]))[:, 1]
    >>> bool(young < 0.4 < 0.6 < old)
    True
    """

    columns: tuple[Drawn, ...] = field(repr=False)
    label: int
    maps: tuple[tuple[int, NDArray[np.int64]], ...] = field(repr=False)
    sizes: tuple[int, ...] = field(repr=False)
    weights: Floats = field(repr=False)
    start: Floats = field(repr=False)
    level_shares: Floats = field(repr=False)
    code_of: NDArray[np.int64] = field(repr=False)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The label's categories, then `other` and None for a missing value if it has them.

        Raises
        ------
        InvalidParameterError
            The label is a number or a date.
        """
        column = self.columns[self.label].column
        if not column.how.classes:
            raise InvalidParameterError(
                f"label: {column.name!r} has no classes, because it is a number or a date. Use "
                "predict, which returns its mean"
            )
        return column.how.classes

    def predict_proba(self, data: Source) -> NDArray[np.float64]:
        """Return the probability of each class, (n, K), in the order of `classes`.

        Parameters
        ----------
        data
            Data frame or file with all other columns of the schemas, by name. Others are ignored.
            Or an array (n, columns) of all columns without the label, owner by owner.

        Raises
        ------
        InvalidDataError, InvalidParameterError
            The data do not fit the schemas, or the label has no classes.
        """
        size = len(self.classes)
        levels = self._levels(data)
        shares: Floats = self.shares(levels)[:, self.code_of] * self.level_shares
        return shares[:, :size]

    def predict(self, data: Source) -> NDArray[Any]:
        """Return the most probable class of each record, (n,). Of a number or a date the mean.

        Parameters and errors are those of `predict_proba`.
        """
        levels = self._levels(data)
        drawn = self.columns[self.label]
        shares = self.shares(levels)
        if drawn.column.how.classes:
            chosen = (shares[:, self.code_of] * self.level_shares).argmax(axis=1)
            classes = np.array(self.classes, object if None in self.classes else None)
            found: NDArray[Any] = classes[chosen]
            return found
        mass, middles = self.middles
        means = shares @ (mass * middles) / np.maximum(shares @ mass, 1e-12)
        values, _dtype = drawn.column.how.originals(means)
        return np.array(values)

    @property
    def middles(self) -> tuple[Floats, Floats]:
        """Of each code of a number or a date the part that is known, and its mean, (codes,)."""
        drawn, size = self.columns[self.label], len(self.start)
        codes, known = self.code_of[: drawn.n_known], self.level_shares[: drawn.n_known]
        of_levels = [sum(drawn.ends(level)) / 2 for level in range(drawn.n_known)]
        mass = np.bincount(codes, known, size).astype(np.float64)
        return mass, np.bincount(codes, known * of_levels, size) / np.maximum(mass, 1e-12)

    def _levels(self, data: Source) -> NDArray[np.uint32]:
        others = [one for j, one in enumerate(self.columns) if j != self.label]
        return np.insert(levels_of(data, "data", others), self.label, 0, axis=1)

    def shares(self, levels: NDArray[np.uint32]) -> Floats:
        """Return the share of each of the label's codes for records of these levels, (n, codes).

        Parameters
        ----------
        levels : (n, columns) uint32
            The label's own are not looked at.
        """
        codes = np.stack([codes[levels[:, j]] for j, codes in self.maps], axis=1)
        return softmax_shares(codes, self.sizes, self.weights, self.start)

    def draw(self, levels: NDArray[np.uint32], rng: np.random.Generator) -> NDArray[np.uint32]:
        """Return a level of the label for each record, (n,)."""
        codes = drawn_codes(levels, self.shares, rng)
        return drawn_levels(codes, self.code_of, self.level_shares, rng)
