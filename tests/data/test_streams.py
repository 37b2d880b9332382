"""Streamed owners: the offers of the same data in memory, memory that does not grow, refusals."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import dpsumm
from dpsumm.data.inputs import read_owners
from dpsumm.data.stream import Stream, StreamTable
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.kernels import Draws
from helpers.patience import PATIENCE

SEED = 7


def made(n=3000, dtype=np.float32):
    rng = np.random.default_rng(3)
    owners = [rng.normal(shift, 1, (n, 3)).astype(dtype) for shift in (-1, 0, 1)]
    return owners, rng.normal(0.5, 1, (200, 3)).astype(dtype)


def run(owners, target, **more):
    more = {"kernel": dpsumm.RBF(0.3), "size": 40, "seed": SEED} | more
    return dpsumm.summarize(owners, target, **more)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["npy", "parquet", "memmap", "array"])
def test_a_stream_gives_what_memory_gives(tmp_path, kind, dtype):
    owners, target = made(dtype=dtype)
    streams = {}
    for i, values in enumerate(owners):
        np.save(tmp_path / f"{i}.npy", values)
        frame = pl.DataFrame(values, schema=["x0", "x1", "x2"])
        frame.write_parquet(tmp_path / f"{i}.parquet", row_group_size=700)
        source = {
            "npy": str(tmp_path / f"{i}.npy"),
            "parquet": tmp_path / f"{i}.parquet",
            "memmap": np.load(tmp_path / f"{i}.npy", mmap_mode="r"),
            "array": values,
        }[kind]
        streams[f"owner-{i}"] = Stream(source, block_rows=997, single=dtype == np.float32)
    one = run(owners, target)
    two = run(streams, target)
    np.testing.assert_array_equal(one.points, two.points)
    np.testing.assert_array_equal(one.index, two.index)
    np.testing.assert_array_equal(one.pool.scaled, two.pool.scaled)
    assert two.points.dtype == dtype


def test_labels_columns_and_bounds_as_in_memory(tmp_path):
    owners, target = made()
    schema = {"a": (-2.0, 2.0), "b": (-2.0, 2.0), "y": "label"}
    names = ["b", "c", "a"]
    frames, streams = {}, {}
    for i, values in enumerate(owners):
        label = pl.Series("y", [f"label {j % (3 + i)}" for j in range(len(values))])
        frames[f"o{i}"] = pl.DataFrame(values, schema=names).with_columns(label)
        frames[f"o{i}"].write_parquet(tmp_path / f"o{i}.parquet")
        streams[f"o{i}"] = Stream(tmp_path / f"o{i}.parquet", block_rows=500)
    goal = pl.DataFrame(target, schema=names)
    one, two = run(frames, goal, schema=schema), run(streams, goal, schema=schema)
    np.testing.assert_array_equal(one.points, two.points)
    np.testing.assert_array_equal(one.labels, two.labels)
    assert [w for w in one.notes if "clipped" in w] == [w for w in two.notes if "clipped" in w]
    assert any("clipped" in w for w in two.notes)


def even(points):
    """Scores that are the first column, and equal rates."""
    return np.stack([points[:, 0], np.zeros(len(points))], axis=1)


def test_candidates_are_the_best_rows_and_random_ones(rng):
    values = rng.normal(size=(1000, 2))
    [table] = read_owners([Stream(values, n_candidates=50, block_rows=64)])
    assert isinstance(table, StreamTable)
    drawn = np.zeros(1000)
    best = set(np.argsort(-values[:, 0])[:50])
    for i in range(150):
        found, marks = table.sift(even, Draws(bytes([i] * 32)), 1)
        rows = found.rows
        assert (np.diff(rows) > 0).all()
        assert best <= set(rows)
        assert 50 <= len(rows) <= 100
        np.testing.assert_array_equal(found.values, values[rows])
        np.testing.assert_array_equal(marks.scores, values[rows, 0])
        drawn[rows] += 1
    rest = np.delete(drawn, list(best))
    # Each row is drawn with chance 0.05: halves of the file get their share (5 sigma and more).
    early, late = rest[: len(rest) // 2].sum(), rest[len(rest) // 2 :].sum()
    assert abs(early - late) < 6 * np.sqrt(early + late)
    assert abs(early + late - 150 * 50 * 0.95) < 6 * np.sqrt(150 * 50 * 0.05 * 0.95)


@pytest.mark.parametrize("kind", ["array", "array's file", "Parquet"])
def test_rows_by_position_are_those_rows(tmp_path, rng, kind):
    values = rng.normal(size=(1000, 3))
    np.save(tmp_path / "a.npy", values)
    columns = ["x", "x.y", "z"]
    pl.DataFrame(values, columns).write_parquet(tmp_path / "a.parquet", row_group_size=70)
    sources = {"array": values, "array's file": tmp_path / "a.npy"}
    source = sources.get(kind, tmp_path / "a.parquet")
    [table] = read_owners([Stream(source, block_rows=64)])
    index = np.array([0, 63, 64, 500, 999])
    found = table.rows_at(index)
    np.testing.assert_array_equal(found.values, values[index])
    np.testing.assert_array_equal(found.rows, index)


def test_ties_keep_the_first_rows():
    [table] = read_owners([Stream(np.zeros((300, 1)), n_candidates=10, block_rows=7)])
    found, _ = table.sift(even, Draws(bytes(32)), 1)
    assert set(range(10)) <= set(found.rows)


def test_few_candidates_still_make_a_good_summary():
    owners, target = made(n=20_000)
    streams = [Stream(values, n_candidates=500, block_rows=4096) for values in owners]
    full, sifted = run(owners, target), run(streams, target)
    uniform = run(owners, target, protocol=dpsumm.summary.Uniform())
    assert sifted.mmd2 < (full.mmd2 + uniform.mmd2) / 2


REFUSED = {
    "suffix": (lambda f: Stream(f / "a.csv"), "suffix"),
    "absent": (lambda f: Stream(f / "absent.npy"), "no such file"),
    "frame": (lambda f: Stream(pl.DataFrame({"a": [1]})), "in memory already"),
    "one column": (lambda f: Stream(np.zeros(3)), "shape"),
    "no candidates": (lambda f: Stream(np.zeros((3, 1)), n_candidates=0), "n_candidates"),
    "no rows": (lambda f: Stream(np.zeros((0, 1))), "empty"),
    "text": (lambda f: Stream(f / "text.npy"), "well-formed"),
    "pickle": (lambda f: Stream(f / "pickle.npy"), "well-formed"),
    "columns first": (lambda f: Stream(f / "fortran.npy"), "well-formed"),
    "short": (lambda f: list(Stream(f / "short.npy").blocks()), "cut short"),
    "short, a row": (
        lambda f: read_owners([Stream(f / "short.npy", block_rows=9)])[0].points_at(
            np.array([3, 29])
        ),
        "cut short",
    ),
    "protocol": (
        lambda f: run([Stream(made()[0][0])], made()[1], protocol=dpsumm.Pool()),
        "works with Offers",
    ),
    "drop": (
        lambda f: run(
            [Stream(made()[0][0])],
            made()[1],
            schema={"a": {"when_missing": "drop"}, "b": "number", "c": "number"},
        ),
        "when_missing",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_a_way_out(tmp_path, case):
    (tmp_path / "text.npy").write_text("hello")
    np.save(tmp_path / "pickle.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    np.save(tmp_path / "fortran.npy", np.asfortranarray(np.ones((3, 2))))
    np.save(tmp_path / "short.npy", np.ones((30, 2)))
    data = (tmp_path / "short.npy").read_bytes()
    (tmp_path / "short.npy").write_bytes(data[:-9])
    call, message = REFUSED[case]
    with pytest.raises((InvalidDataError, InvalidParameterError), match=message):
        call(tmp_path)


def test_a_missing_value_found_midway_ends_the_run_and_a_resumed_one_pays_nothing(tmp_path):
    owners, target = made()
    late = owners[0].copy()
    late[2500, 1] = np.nan
    np.save(tmp_path / "late.npy", late)
    ledger = tmp_path / "ledger.sqlite"
    dpsumm.Ledger.create(ledger).close()
    more = {"seed": None, "ledger": ledger, "run": "one"}
    with pytest.raises(InvalidDataError, match="missing values"):
        run([Stream(tmp_path / "late.npy", block_rows=100), owners[1]], target, **more)
    np.save(tmp_path / "late.npy", owners[0])
    summary = run([Stream(tmp_path / "late.npy", block_rows=100), owners[1]], target, **more)
    assert summary.privacy.epsilon(1e-5) <= 1.0
    assert any("resumed" in warning for warning in summary.notes)


GROWTH = """
import sys
import numpy as np
import dpsumm
target = np.random.default_rng(1).normal(size=(500, 16)).astype(np.float32)
dpsumm.summarize([dpsumm.data.Stream(sys.argv[1], n_candidates=2000, block_rows=8192)], target,
                 size=50, kernel=dpsumm.RBF(0.02), protocol=dpsumm.Offers(n_features=32))
# Not ru_maxrss, which a child inherits from its parent.
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_rows(tmp_path):
    peak = {}
    for n in (200_000, 1_200_000):
        path = tmp_path / f"{n}.npy"
        rng = np.random.default_rng(n)
        np.save(path, rng.random((n, 16), dtype=np.float32))
        command = [sys.executable, "-c", GROWTH, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
        peak[n] = int(done.stdout) * 1024
    # The file itself grew by 64 MB.
    assert peak[1_200_000] - peak[200_000] < 25e6


HEADERS = ["(-1, 2)", "(2, -1)", "(10**9, 0)", "(2, 10**11)", "(10**18, 2)", "(2.0, 2)", "(" * 5000]


@pytest.mark.parametrize("shape", HEADERS)
def test_a_header_that_no_bytes_stand_for_is_refused(tmp_path, shape):
    for power in ("10**9", "10**11", "10**18"):
        shape = shape.replace(power, str(10 ** int(power[4:])))
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    head = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
    (tmp_path / "a.npy").write_bytes(head + bytes(64))
    with pytest.raises(InvalidDataError, match=r"not a well-formed|cut short"):
        read_owners([Stream(tmp_path / "a.npy")])[0].sift(even, Draws(bytes(32)), 1)
