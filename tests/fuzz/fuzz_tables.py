"""Any bytes as a CSV or Parquet file: `DpsummError`, or a table of usable numbers.

The first byte says which kind of file the rest is, and whether it has a label.
"""

import gzip
import io
import os

import numpy as np
import polars as pl

from dpsumm.data.column import Column
from dpsumm.data.inputs import File, FileFormat, read_table
from dpsumm.data.schema import Schema
from dpsumm.errors import DpsummError

SUFFIXES = (".csv", ".parquet", ".csv.gz", ".txt")
FORMATS = (
    FileFormat(),
    FileFormat(separator="\t"),
    FileFormat(header=False, separator=";"),
)


def _parquet(**options):
    frame = pl.DataFrame({"a": [1.5, -2.0, None], "b": [1, 2, 3], "y": ["x", "y", "z"]})
    stream = io.BytesIO()
    frame.write_parquet(stream, **options)
    return stream.getvalue()


# Added to the first byte: with a label, which of the formats, or by a schema.
LABEL, DROP, PLAIN, BY_SCHEMA = 4, 8, 16, 32
SCHEMA = Schema(
    [
        Column("a", bounds=(-10, 10), when_missing="encode"),
        Column("b", categories=(1, 2), other=0, when_missing="encode"),
        Column("y", "ignore"),
    ]
)
CSV = b"a,b,y\n1.5,2,cat\n-3e5,?,dog\n7,8,\n"
SEEDS = [
    bytes([LABEL + DROP]) + CSV,
    bytes([LABEL]) + CSV,
    bytes([BY_SCHEMA]) + CSV,
    bytes([1 + BY_SCHEMA]) + _parquet(),
    bytes([2 + LABEL + DROP]) + gzip.compress(CSV),
    bytes([3 + PLAIN]) + b"1;2\n3;-4e5\n",
    b'\0a,b\r\n"1","2"\r\n"3.0"," 4"\r\n\r\n',
    bytes([DROP]) + b"\xef\xbb\xbfa\n1\nNA\n",
    bytes([1 + LABEL + DROP]) + _parquet(),
    bytes([1 + LABEL + DROP]) + _parquet(compression="uncompressed"),
]
TOKENS = [b'"', b'""', b"\n", b"\r", b",", b"nan", b"1e999", b"9" * 40, b"\0", b"\xff", b"PAR1"]


def check(data: bytes, folder: str) -> bool:
    """Return whether the bytes are a table; raise if anything goes wrong."""
    kind, data = (data[0], data[1:]) if data else (0, b"")
    path = os.path.join(folder, "table" + SUFFIXES[kind % 4])
    with open(path, "wb") as stream:
        stream.write(data)
    try:
        if kind // 32 % 2:
            table = read_table(path, name="a", schema=SCHEMA)
        else:
            table = read_table(File(path, FORMATS[kind // 8 % 3]), name="a")
    except DpsummError:
        return False
    assert np.isfinite(table.scaled).all()
    assert table.schema.fits(table.values)
    assert table.scaled.shape == (len(table), table.width)
    assert table.values.shape == (len(table), len(table.columns))
    assert table.labels is None or len(table.labels) == len(table)
    return True
