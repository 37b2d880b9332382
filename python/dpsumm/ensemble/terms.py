"""The public terms of a vote: what every party, the curator and the consumer agree on."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsumm.basics.checks import check_whole, counted
from dpsumm.data.kinds.label import are_distinct
from dpsumm.data.schema import Schema
from dpsumm.data.words import values_said
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.exchange.fields import is_hex, is_whole

Label = bool | int | float | str

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")

MOST_CELLS = 10**7
MOST_CLASSES = 1000
FEWEST_POINTS = 20
MOST_GRID = 255
MOST_SHARDS = 255
MOST_PARTIES = 10**6


@dataclass(frozen=True)
class Terms:
    """Public numbers of one vote, and the digest of the points that are voted on.

    Make them by :meth:`of`, which checks them.

    Attributes
    ----------
    n_points
        Public points, N.
    shards
        Classifiers of each party, J, trained on disjoint parts of its records.
    """

    classes: tuple[Label, ...]
    n_points: int
    n_parties: int
    grid: int
    shards: int
    digest: str

    @classmethod
    def of(
        cls,
        points: NDArray[np.float64],
        classes: ArrayLike | Sequence[Label],
        n_parties: int,
        *,
        grid: int = 1,
        shards: int = 1,
    ) -> Terms:
        """Return the terms of a vote on (N, d) points."""
        labels = _classes(classes)
        check_whole(n_parties, "parties: their number", 2, MOST_PARTIES)
        check_whole(grid, "grid", 1, MOST_GRID)
        check_whole(shards, "models_per_owner", 1, MOST_SHARDS)
        n = len(points)
        if n < FEWEST_POINTS:
            raise InvalidParameterError(
                f"public_points: has {counted(n, 'point', 'points')}, and at least "
                f"{FEWEST_POINTS} are needed (usual: thousands). They need no labels"
            )
        if n * len(labels) > MOST_CELLS:
            raise InvalidParameterError(
                f"public_points: {n} points times {len(labels)} classes are above {MOST_CELLS}. "
                "Give fewer points, drawn at random"
            )
        if not np.isfinite(points).all():
            raise InvalidDataError(
                "public_points: has values that are missing or infinite. Impute them, or leave "
                "such points out"
            )
        public = json.dumps([labels, list(points.shape), n_parties, grid, shards])
        whole = hashlib.sha256(public.encode())
        whole.update(np.ascontiguousarray(points, dtype="<f8").tobytes())
        return cls(labels, n, int(n_parties), int(grid), int(shards), whole.hexdigest())

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.classes)

    @property
    def columns(self) -> int:
        """Columns of the released counts, one of two classes, else one for each class."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def total(self) -> int:
        """Votes that a whole party gives to a point: grid times shards."""
        return self.grid * self.shards

    @property
    def unit_squared(self) -> int:
        """Square of the most that any vote of one classifier moves a row of counts.

        Two classes: the row is the signed number v1 - v0 in [-B, B], which moves by at most 2 B.
        More: rows of integers from 0 up and of sum at most B lie at most B sqrt(2) apart. An
        absent one is the zero row, which is among them.
        """
        return (4 if self.n_classes == 2 else 2) * self.grid**2

    @property
    def sensitivity(self) -> float:
        """L2 distance that one classifier replaced moves all counts, not rounded down."""
        return math.sqrt(self.unit_squared * self.n_points) * (1 + 1e-12)

    @property
    def labels(self) -> NDArray[Any]:
        """Classes as an array, ascending."""
        return np.array(self.classes)


def are_terms(value: Any) -> bool:
    """Return whether a value from a message can be terms."""
    return (
        isinstance(value, Terms)
        and are_classes(value.classes)
        and is_whole(value.n_points)
        and value.n_points >= FEWEST_POINTS
        and value.n_points * value.n_classes <= MOST_CELLS
        and is_whole(value.n_parties, MOST_PARTIES + 1)
        and value.n_parties >= 2
        and is_whole(value.grid, MOST_GRID + 1)
        and value.grid >= 1
        and is_whole(value.shards, MOST_SHARDS + 1)
        and value.shards >= 1
        and is_hex(value.digest, 64)
    )


def are_classes(value: Any) -> bool:
    """Return whether a value from a message is a tuple of classes, as `Terms.classes`."""
    return (
        isinstance(value, tuple)
        and all(type(x) in (bool, int, float, str) for x in value)
        and value == _classes(value)
    )


def classes_of(text: str) -> tuple[Label, ...]:
    """Return the classes that a text lists with commas: whole numbers, numbers, or texts.

    Codes such as 01 are texts. A class with a comma needs Python.

    Examples
    --------
    >>> classes_of("no, yes"), classes_of("0,1,2"), classes_of("0.5,1"), classes_of("01,02")
    (('no', 'yes'), (0, 1, 2), (0.5, 1.0), ('01', '02'))
    """
    words = values_said(text)
    if "" in words:
        raise InvalidParameterError(
            "classes: list all labels, public, with commas between, such as no,yes"
        )
    if "." in text and all(_NUMBER.fullmatch(str(word)) for word in words):
        return _classes([float(word) for word in words])
    return _classes(words)


def classes_in(schema: Schema | None) -> tuple[Label, ...]:
    """Return the categories of a schema's label, where classes are not given."""
    label = None if schema is None else schema.label
    if label is None or not label.categories:
        raise InvalidParameterError(
            "classes: list all labels, public and the same for all parties, or give a `schema` "
            "whose label has categories"
        )
    return tuple(label.categories)


def _classes(classes: Any) -> tuple[Label, ...]:
    try:
        array = np.asarray(list(classes))
    except TypeError:
        raise InvalidParameterError(
            f"classes must be a list of all labels, got {type(classes).__name__}"
        ) from None
    if array.ndim != 1 or len(array) < 2:
        raise InvalidParameterError(
            "classes: at least two labels are needed, in a list, public and the same for all "
            "parties"
        )
    if len(array) > MOST_CLASSES:
        raise InvalidParameterError(
            f"classes: {len(array)} labels, at most {MOST_CLASSES} are voted on. Group them"
        )
    if array.dtype.kind not in "biufU" or (
        array.dtype.kind == "U" and not all(isinstance(x, str) for x in classes)
    ):
        raise InvalidParameterError("classes must be all text, or all numbers")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InvalidParameterError("classes must be finite numbers")
    labels = tuple(sorted(array.tolist()))
    if not are_distinct(labels):
        raise InvalidParameterError("classes: a label is listed twice; 1, 1.0 and '1' are one")
    return labels
