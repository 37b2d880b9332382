"""What an owner does for its offers, in a process of its own: time and memory.

The whole call with one owner, whose data are a file, beside one pass of products and sines over the
same data, which it cannot do without.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpsumm
from benches import data, plain
from benches.subjects import Scale
from benches.subjects.features import SINES
from benches.timing import OURS, Case, Contender, Isolated, Missing
from dpsumm import kernels

M = 1000
BLOCK = 100_000
DECODING = "pyarrow, decoding alone"
VALUES = "kernel values of landmarks alone, NumPy f32"


def cases(scale: Scale) -> Iterator[Case]:
    p, d = scale.of(20, 1000), scale.of(32, 512)
    yield from _case(scale.of(5000, 1_000_000), p, d)
    if scale is Scale.LARGE:
        yield from _case(10_000_000, p, d)
    for n in scale.growth(3000, 30_000, 300_000):
        yield from _case(n, scale.of(20, 200), scale.of(32, 128), "n")


def _case(n: int, p: int, d: int, grows: str = "") -> Iterator[Case]:
    c = data.COLUMNS
    with tempfile.TemporaryDirectory(prefix="dpsumm-bench-") as folder:
        array, table = write(n, Path(folder))
        contenders: dict[str, Contender] = {}
        for features in ("random", "landmarks"):
            more = "" if features == "random" else ", landmarks"
            for kind, path in (("array", array), ("Parquet", table)):
                contenders[f"{OURS}, streamed {kind}{more}"] = (
                    Isolated(offers, (path, p, d, features), imports)
                    if path
                    else Missing("pyarrow is not installed")
                )
        contenders["products and sines alone"] = Isolated(scores, (array, d), imports)
        contenders[VALUES] = Isolated(values, (array, d), imports)
        if table:
            contenders[DECODING] = Isolated(decoded, (table,), imports)
        yield Case(
            {"n": n, "c": c, "m": M, "d": d, "p": p},
            contenders,
            grows,
            threads=1,
            operations=n * d / 2 * (2.0 * c + SINES),
            moved=4.0 * n * c,
        )


def write(n: int, folder: Path) -> tuple[Path, Path | None]:
    """Write n points as a float32 array and as a Parquet file, a block at a time."""
    array, table = folder / "owner.npy", folder / "owner.parquet"
    points = np.lib.format.open_memmap(array, "w+", np.float32, (n, data.COLUMNS))
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        points[start:stop] = data.normals(stop - start, seed=start)
    points.flush()
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        return array, None
    schema = pa.schema([(f"x{i}", pa.float32()) for i in range(data.COLUMNS)])
    with parquet.ParquetWriter(table, schema) as writer:
        for start in range(0, n, BLOCK):
            columns = [pa.array(column) for column in points[start : start + BLOCK].T]
            writer.write_table(pa.table(columns, schema=schema))
    return array, table


def offers(owner: Path, p: int, d: int, features: str) -> int:
    """Summarize from one owner, streamed, who offers up to p points; landmarks of a sample."""
    # Single, as the array's type says for the .npy file.
    return _summarize(dpsumm.data.Stream(owner, single=True), p, d, features)


def _summarize(owner: Any, p: int, d: int, features: str) -> int:
    target = data.normals(M, shift=0.5, seed=1).astype(np.float32)
    sample = landmarks(d) if features == "landmarks" else None
    protocol = dpsumm.Offers(reads_per_record=1, n_features=d, sample=sample)
    kernel = dpsumm.RBF(data.gamma())
    made = dpsumm.summarize([owner], target, size=p, kernel=kernel, protocol=protocol)
    return len(made.points)


def landmarks(d: int) -> NDArray[Any]:
    return data.normals(d, seed=2)


def imports() -> None:
    """Load what a first call loads, so that it is not measured: a small summary."""
    importlib.import_module("pyarrow.parquet")
    _summarize(data.normals(100).astype(np.float32), 10, 16, "random")


def decoded(owner: Path) -> int:
    """Decode all columns of a Parquet file once, by blocks of which nothing is kept."""
    return sum(map(len, dpsumm.data.Stream(owner).blocks()))


def scores(owner: Path, d: int) -> float:
    """One pass of random features over the data, with nothing kept but a number a point."""
    made = kernels.RandomFeatures(data.COLUMNS, d, gamma=data.gamma(), seed=0)
    points = np.load(owner, mmap_mode="r")
    return float(made.scores(points, np.full(d, 1 / d)).max())


def values(owner: Path, d: int) -> float:
    """The kernel values of one pass of landmark features, as matrix products and exponentials."""
    return plain.kernel_values(np.load(owner, mmap_mode="r"), landmarks(d), data.gamma())
