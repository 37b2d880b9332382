"""What a schema meets in a party's own data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpsumm.data.coordinates import faults
from dpsumm.data.extract import Extract, as_frame
from dpsumm.data.files import FileFormat
from dpsumm.data.schema import Column, Kind, Schema, WhenMissing
from dpsumm.data.table import Source, extract_of, opened


@dataclass(frozen=True)
class Found:
    """What a schema meets in one column of somebody's data. Private: for who holds the data.

    Attributes
    ----------
    column
        The column.
    missing, clipped, unknown, unreadable
        Values that are missing, outside the bounds, in no category, or no value of the kind.
    refused
        Why a run would refuse the column, see `dpsumm.data.table.WAY_OUT`; empty if it would not.
    """

    column: Column
    missing: int
    clipped: int = 0
    unknown: int = 0
    unreadable: int = 0
    refused: tuple[str, ...] = ()


def check(
    source: Source, schema: Schema, *, file_format: FileFormat | None = None
) -> tuple[int, list[Found]]:
    """Return the number of rows, and what the schema meets in each column. Nothing leaves.

    Parameters
    ----------
    source
        Data of one party.
    schema
        For the target's data ``schema.for_target()``.

    Raises
    ------
    InvalidDataError, InvalidParameterError, MissingExtraError
        The source cannot be read at all, or lacks a column.
    """
    extract = extract_of(source, "data", schema, file_format)
    codes = dict(zip(schema.names, extract.values.T, strict=True))
    unreadable = dict(zip(schema.names, extract.n_unreadable or [0] * len(codes), strict=True))
    found = [
        _found(column, codes[column.name], unreadable[column.name])
        if column.in_kernel
        else _found_beside(column, extract)
        for column in schema.columns
    ]
    return len(extract.values), found


def strangers(
    source: Source, schema: Schema, *, file_format: FileFormat | None = None
) -> tuple[str, ...]:
    """Return the columns of a party's data that the schema does not name; renamed ones, say.

    Empty if the data lack half of the schema's columns or more: what stands in the header row may
    then be a record. Private like all that is found here, and in no error's message, which may
    travel: for who holds the data.

    Raises
    ------
    InvalidDataError, InvalidParameterError, MissingExtraError
        The source cannot be read at all.
    """
    frame = as_frame(opened(source, "data", schema, file_format), "'data'")
    present = frame.collect_schema().names()
    wanted = [column.name for column in schema.columns]
    if 2 * len(set(wanted) & set(present)) <= len(wanted):
        return ()
    return tuple(name for name in present if name not in wanted)


def _found(column: Column, codes: Any, unreadable: int) -> Found:
    missing = int(np.isnan(codes).sum()) - unreadable
    unknown = int((codes == len(column.categories)).sum()) if column.categories else 0
    limits = column.limits
    clipped = 0 if limits is None else int(((codes < limits[0]) | (codes > limits[1])).sum())
    refuses_missing = missing > 0 and column.when_missing is WhenMissing.REFUSE
    refused = (
        *[f"no {Kind(column.kind).value}"] * (unreadable > 0),
        *(f for f in faults(column, codes) if f != "missing" or refuses_missing),
    )
    return Found(column, missing, clipped, unknown, unreadable, refused)


def _found_beside(column: Column, extract: Extract) -> Found:
    if column.kind is Kind.LABEL:
        absent = extract.unlabelled
        missing = 0 if absent is None else int(absent.sum())
        refused = missing > 0 and column.when_missing is WhenMissing.REFUSE
        return Found(column, missing, refused=("missing labels",) if refused else ())
    values = extract.carried[extract.schema.carried.index(column)]
    gone = values != values if values.dtype.kind in "fM" else values == ""  # noqa: PLR0124
    return Found(column, int(np.sum(gone)) if values.dtype.kind in "fMO" else 0)
