"""A less trusted curator (section 3 of the paper, last paragraph): it sees features, not points.

Consumer and owners share a secret map. Every record is sent as ``h(x)``, and the protocol runs on
these vectors as if they were the points. What the owners learn is protected as before. The curator
lacks the map, but **this is obfuscation and not differential privacy**: the features reveal all
pairwise distances, and so the data up to rotation and translation, and slightly more known records
than columns reveal the rest (``docs/privacy/offers.md``, where the attack is shown).
So no public seed points, and no owner or consumer who talks to the curator.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.data.schema import Schema
from dpsumm.data.table import Table
from dpsumm.errors import InvalidParameterError
from dpsumm.summary.kernel import RBF, FloatArray


@dataclass(frozen=True, eq=False)
class Embedding:
    """A secret random-feature map with a secret phase.

    ``h(x) = sqrt(2/d) [cos(w x + b), sin(w x + b)]``: norm 1, and inner products near
    ``exp(-gamma ||x - y||^2)`` for any phases. Make one with `draw`. Anyone who has the
    object can read what the curator sees.

    Attributes
    ----------
    weights : (d / 2, c + 1) float64
        Frequencies, and the phase in the last column. Secret.

    See Also
    --------
    dpsumm.summarize : Takes it as `kernel`.

    Examples
    --------
    >>> import numpy as np, dpsumm
    >>> from dpsumm.summary import Embedding
    >>> secret = Embedding.draw(dpsumm.RBF(0.2), n_columns=3)
    >>> features = secret.transform(np.zeros((4, 3)))
    >>> features.shape
    (4, 512)
    """

    weights: NDArray[np.float64] = field(repr=False)

    @classmethod
    def draw(
        cls, kernel: RBF, n_columns: int, n_features: int = 512, *, seed: int | None = None
    ) -> Embedding:
        """Draw a map from the operating system's randomness; `seed` for tests only.

        Parameters
        ----------
        kernel
            Public. In the space of the points, after scaling.
        n_columns
            Columns of the points.
        n_features
            d, even.
        """
        if n_features < 2 or n_features % 2:
            raise InvalidParameterError(
                f"n_features must be an even number of at least 2, got {n_features!r}"
            )
        if n_columns < 1:
            raise InvalidParameterError(f"n_columns must be at least 1, got {n_columns!r}")
        rng = np.random.default_rng(secrets.randbits(256) if seed is None else seed)
        frequencies = rng.normal(0.0, np.sqrt(2 * kernel.gamma), (n_features // 2, n_columns))
        phases = rng.uniform(0.0, 2 * np.pi, (n_features // 2, 1))
        return cls(np.hstack([frequencies, phases]))

    @property
    def n_features(self) -> int:
        """Length of an embedded record, d."""
        return 2 * len(self.weights)

    def transform(self, points: FloatArray) -> FloatArray:
        """Return the points as the curator sees them, (n, d), same dtype.

        Parameters
        ----------
        points : (n, c)
            In the kernel's space, scaled by the public bounds, if there are any.

        Raises
        ------
        InvalidParameterError
            The map is for another number of columns.
        """
        if points.ndim != 2 or points.shape[1] + 1 != self.weights.shape[1]:
            raise InvalidParameterError(
                f"points must have {self.weights.shape[1] - 1} columns, got shape {points.shape}"
            )
        # The phase is the frequency of a constant column.
        ones = np.ones((len(points), 1), dtype=points.dtype)
        features = kernels.RandomFeatures.from_parts("paired", self.weights, np.empty(0))
        return features.transform(np.hstack([points, ones]))


def embed(table: Table, embedding: Embedding) -> Table:
    """Return a party's table as the curator may see it: features for points, and its labels."""
    features = embedding.transform(table.scaled)
    return replace(
        table,
        schema=Schema.numbers(
            [f"h{j}" for j in range(embedding.n_features)],
            label=None if table.schema.label is None else table.schema.label.name,
        ),
        values=features,
        carried=(),  # originals would undo it
        n_clipped=(),
        n_missing=(),
        n_unknown=(),
    )
