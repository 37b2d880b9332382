"""A summary as columns of a data frame, in original units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from dpsumm.data.frame import Backend, as_series
from dpsumm.data.kinds.label import PLAIN
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidParameterError
from dpsumm.summary.kernel import FloatArray

# The column of `Summary.to_frame` that holds weights.
WEIGHT = "weight"


def columns_of(
    schema: Schema,
    points: FloatArray,
    labels: NDArray[Any] | None,
    carried: Sequence[NDArray[Any]],
    backend: Backend,
    own: Mapping[str, NDArray[Any]],
) -> dict[str, Any]:
    """Return the schema's columns in its order, then the summary's `own` under free names."""
    encoded = dict(zip(schema.names, points.T, strict=True))
    along = dict(zip((c.name for c in schema.carried), carried, strict=True))
    data: dict[str, Any] = {}
    for column in schema.columns:
        name = column.name
        if name in encoded:
            data[name] = as_series(name, *column.how.originals(encoded[name]), backend)
        elif name in along:
            data[name] = as_series(name, *column.how.originals(along[name]), backend)
        elif labels is not None:
            data[name] = column.how.originals(labels)[0]
    if labels is not None and schema.label is None:
        own = {"label": PLAIN.originals(labels)[0], **own}
    for name, values in own.items():
        while name in data:
            name += "_"  # noqa: PLW2901 (a free name for it)
        data[name] = values
    return data


def check_weight_is_free(schema: Schema) -> None:
    """Refuse a schema in whose frames a column of weights would have the name of another."""
    if WEIGHT in (column.name for column in schema.columns):
        raise InvalidParameterError(
            f"weights: the data have a column called {WEIGHT!r} already. Rename that, or leave out "
            "weights and take them from Summary.weights"
        )
