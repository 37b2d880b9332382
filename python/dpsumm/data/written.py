"""Rows as a Parquet or CSV file, whole or not at all, with a digest that shows a change."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpsumm.basics.atomic import write_atomically, write_text
from dpsumm.basics.documents import parse_json, read_json
from dpsumm.basics.names import to_cell
from dpsumm.errors import InvalidDataError, InvalidParameterError, MissingExtraError

_SALT_BYTES = 32


@dataclass(frozen=True)
class Digest:
    """What shows whether the rows of a file are those that were written.

    Attributes
    ----------
    value
        SHA-256 of a salt and the rows, 64 hexadecimal digits. It tells nothing of the rows to who
        lacks the salt: 32 random bytes, which stay in what the file says of itself.
    holds
        Whether the rows have it.
    """

    value: str
    holds: bool


def write_rows(path: str | os.PathLike[str], rows: Any, about: Mapping[str, Any]) -> None:
    """Write a polars data frame, by suffix, and its description.

    Parameters
    ----------
    path
        Ends in ``.parquet`` or ``.csv``. In a CSV file a text that a spreadsheet would run as a
        formula has a ``'`` before it, which dpsumm takes off when it reads the file.
    rows
        The frame.
    about
        Becomes JSON in a Parquet file's metadata (key ``dpsumm``). For a CSV file it is a file next
        to it. ``rows`` is added: salt and digest of the rows, see `check_rows`.
    """
    target = Path(path)
    if target.suffix not in (".parquet", ".csv"):
        raise InvalidParameterError(f"path must end in .parquet or .csv, got {target.name!r}")
    if target.suffix == ".csv":
        data = _without_formulas(rows).write_csv().encode()
        write_text(beside(target), _said(about, [data]) + "\n")
        write_atomically(target, lambda temporary: temporary.write_bytes(data))
        return
    pq = _parquet()
    table = rows.to_arrow()
    table = table.replace_schema_metadata({"dpsumm": _said(about, _columns(table))})
    write_atomically(target, lambda temporary: pq.write_table(table, str(temporary)))


def _without_formulas(rows: Any) -> Any:
    """Return a frame whose texts no spreadsheet runs; `dpsumm.data` reads them as they were."""
    import polars

    texts = [name for name, dtype in rows.schema.items() if dtype == polars.String]
    safe = [polars.col(name).map_elements(to_cell, polars.String) for name in texts]
    made = rows.with_columns(safe) if safe else rows
    return made.rename({name: to_cell(name) for name in made.columns})


def beside(path: Path) -> Path:
    """Return the path of a CSV file's description, ``FILE.csv.json``."""
    return path.with_name(f"{path.name}.json")


def read_about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the description that `write_rows` wrote with a file."""
    target = Path(path)
    if target.suffix not in (".parquet", ".csv"):
        raise InvalidParameterError(f"path must end in .parquet or .csv, got {target.name!r}")
    if not target.is_file():
        raise InvalidParameterError(f"there is no file {target}")
    try:
        if target.suffix == ".csv":
            about = read_json(beside(target))
        else:
            about = parse_json(_metadata(target)[b"dpsumm"])
    except (OSError, ValueError, KeyError):
        about = None
    if not isinstance(about, dict):
        where = beside(target) if target.suffix == ".csv" else target
        raise InvalidDataError(
            f"{where} does not say of which run it is. Give rows as a run of dpsumm wrote them"
        )
    return about


def check_rows(path: str | os.PathLike[str], about: Mapping[str, Any]) -> Digest | None:
    """Return the digest of a file's rows, and whether they have it.

    Of a CSV file every byte counts, of a Parquet file the columns' names and values. Someone
    who changes the rows can change the digest, too. Then it differs from a copy kept elsewhere.

    Returns
    -------
    None if the file has no digest, because an earlier version of dpsumm wrote it.
    """
    if "rows" not in about:
        return None
    target = Path(path)
    try:
        salt, value = bytes.fromhex(about["rows"]["salt"]), str(about["rows"]["digest"])
        # Earlier versions took a column as the text of its values.
        columns = _columns if about["rows"].get("by") == "values" else _texts
        csv = target.suffix == ".csv"
        parts = [target.read_bytes()] if csv else columns(_parquet().read_table(target))
        return Digest(value, _digest(salt, parts) == value)
    except (OSError, ValueError, TypeError, KeyError):  # damaged: these are not the rows
        return Digest("none that can be read", False)


def _said(about: Mapping[str, Any], parts: Iterable[bytes]) -> str:
    salt = secrets.token_bytes(_SALT_BYTES)
    rows = {"salt": salt.hex(), "digest": _digest(salt, parts), "by": "values"}
    return json.dumps({**about, "rows": rows}, indent=1)


def _digest(salt: bytes, parts: Iterable[bytes]) -> str:
    whole = hashlib.sha256(salt)
    for part in parts:
        whole.update(len(part).to_bytes(8, "little"))
        whole.update(part)
    return whole.hexdigest()


def _columns(table: Any) -> Iterator[bytes]:
    """Give the columns of an arrow table as bytes, the same however the file lays it out."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        yield name.encode()
        yield from _values(column)


def _values(column: Any) -> Iterator[bytes]:
    """Give a column: its kind, which values are missing, and the others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    one, types = column.type, pa.types
    kind: Any
    none: Any
    if types.is_string(one) or types.is_large_string(one):
        kind, none = pa.large_string(), ""
    elif types.is_boolean(one) or types.is_signed_integer(one):
        kind, none = pa.int64(), 0
    elif types.is_floating(one):
        kind, none = pa.float64(), 0.0
    else:
        yield json.dumps([str(one), column.to_pylist()], default=str).encode()
        return
    whole = column.cast(kind).combine_chunks()
    yield str(kind).encode()
    yield pc.is_null(whole).to_numpy(zero_copy_only=False).tobytes()
    full = pc.fill_null(whole, none)
    if kind != pa.large_string():
        yield full.to_numpy().tobytes()
        return
    yield pc.binary_length(full).to_numpy().tobytes()
    yield "".join(full.to_pylist()).encode()


def _texts(table: Any) -> Iterator[bytes]:
    for name, column in zip(table.column_names, table.columns, strict=True):
        yield json.dumps([name, column.to_pylist()], default=str).encode()


def _metadata(path: Path) -> dict[bytes, bytes]:
    metadata: dict[bytes, bytes] = _parquet().read_schema(path).metadata or {}
    return metadata


def _parquet() -> Any:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError(
            "path: Parquet needs pyarrow. Run pip install 'dpsumm[files]'"
        ) from None
    return pq
