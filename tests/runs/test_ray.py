"""Shards on real Ray workers: the offers of one Stream, lost workers, bounded memory.

``make ray-test`` runs these with Ray installed, ``make ray-test-short`` all but the slow one.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dpsumm
from dpsumm.data import shards as workers
from dpsumm.data.inputs import read_owners
from dpsumm.errors import InvalidDataError, InvalidParameterError, ShardLostError
from dpsumm.kernels import Draws

ray = pytest.importorskip("ray")

SEED = 7
CUTS = [100, 101, 2000, 4000]


@pytest.fixture(scope="module", autouse=True)
def cluster():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(
        "local",
        num_cpus=2,
        resources={"disk-a": 1, "disk-b": 1},
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=2**28,
    )
    yield
    ray.shutdown()


@pytest.fixture
def values():
    return np.random.default_rng(3).normal(size=(5000, 3)).astype(np.float32)


TARGET = np.random.default_rng(4).normal(0.5, 1, (200, 3)).astype(np.float32)


def saved(folder, values, cuts=CUTS):
    paths = []
    for i, part in enumerate(np.split(values, cuts)):
        paths.append(folder / f"{i}.npy")
        np.save(paths[-1], part)
    return paths


def run(owners, target=TARGET, **more):
    more = {"kernel": dpsumm.RBF(0.3), "size": 40, "seed": SEED} | more
    return dpsumm.summarize(owners, target, **more)


def assert_equal(one, two):
    for name in ("index", "points", "labels"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    for name in ("owner", "index", "points", "labels", "picks"):
        np.testing.assert_array_equal(getattr(one.pool, name), getattr(two.pool, name))


@pytest.mark.parametrize("n_workers", [1, 3, None])
def test_shards_give_the_offers_of_one_stream(tmp_path, values, n_workers):
    # Few candidates: which rows they are decides what is offered.
    one = run([dpsumm.data.Stream(values, n_candidates=60)])
    whole = run([values])
    shards = dpsumm.data.Shards(saved(tmp_path, values), n_candidates=60, n_workers=n_workers)
    assert (shards.n_rows, shards.counts) == (5000, (100, 1, 1899, 2000, 1000))
    two = run([shards])
    assert_equal(one, two)
    assert not np.array_equal(two.index, whole.index)
    if n_workers is None:  # all rows are candidates
        assert_equal(run([dpsumm.data.Shards(shards.files)]), whole)
    located = shards.locate(two.index)
    np.testing.assert_array_equal([np.load(path)[row] for path, row in located], two.points)


def test_parquet_labels_columns_and_bounds_as_one_stream(tmp_path, values):
    label = pl.Series("y", [f"label {j % 13}" for j in range(len(values))])
    frame = pl.DataFrame(values, schema=["b", "c", "a"]).with_columns(label)
    frame.write_parquet(tmp_path / "all.parquet")
    files = {"disk-a": [], "disk-b": []}
    for i, (start, stop) in enumerate([(0, 1000), (1000, 1700), (1700, 5000)]):
        path = tmp_path / f"{i}.parquet"
        frame[start:stop].select("y", "a", "b", "c").write_parquet(path)
        files["disk-a" if i < 2 else "disk-b"].append(path)
    goal = pl.DataFrame(TARGET, schema=["b", "c", "a"])
    more = {"schema": {"a": (-2.0, 2.0), "b": (-2.0, 2.0), "y": "label"}}
    options = {"n_candidates": 80, "block_rows": 500}
    one = run({"o": dpsumm.data.Stream(tmp_path / "all.parquet", **options)}, goal, **more)
    two = run({"o": dpsumm.data.Shards(files, **options)}, goal, **more)
    assert_equal(one, two)
    assert one.notes == two.notes
    assert any("clipped" in warning for warning in two.notes)


def sifted(source, score):
    [table] = read_owners([source])
    return table.sift(score, Draws(bytes(32)), 1)


def first_column(points):
    return points[:, :2].astype(np.float64)


def kill_workers():
    from benches.shards import workers

    found = workers()
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    return len(found)


def test_a_worker_lost_during_its_pass_is_started_again(tmp_path, values):
    marker = tmp_path / "died"
    paths = saved(tmp_path, values)

    def score(points):
        if len(points) == 1 and not marker.exists():  # the second file
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return points[:, :2].astype(np.float64)  # no name of this module, which workers lack

    found, marks = sifted(dpsumm.data.Shards(paths, n_candidates=60), score)
    assert marker.exists()
    expected, expected_marks = sifted(dpsumm.data.Stream(values, n_candidates=60), first_column)
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(marks.keys, expected_marks.keys)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_lost_before_they_are_asked_for_rows_make_their_pass_again(
    tmp_path, values, monkeypatch
):
    expected = run([dpsumm.data.Stream(values, n_candidates=60)])
    gathered, killed = workers._gathered, []

    def then_killed(*args):
        answer = gathered(*args)
        killed.append(kill_workers())
        return answer

    monkeypatch.setattr(workers, "_gathered", then_killed)
    found = run([dpsumm.data.Shards(saved(tmp_path, values), n_candidates=60, n_workers=2)])
    assert killed == [2]
    assert_equal(found, expected)


def test_a_worker_lost_again_and_again_ends_the_run(tmp_path, values):
    def score(points):
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(ShardLostError, match="n_candidates or fewer workers"):
        sifted(dpsumm.data.Shards(saved(tmp_path, values)), score)


@pytest.mark.slow
def test_a_node_lost_is_replaced_if_another_can_read_its_files(tmp_path):
    script = Path(__file__).parents[1] / "helpers" / "ray_nodes.py"
    command = [sys.executable, script, tmp_path]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=120, check=True)
    # Ray's own messages are among the lines.
    ends = [line for line in done.stdout.splitlines() if line.startswith(("disk:", "share:"))]
    assert len(ends) == 2
    assert "no node has the Ray resource 'disk' any more" in ends[0]
    assert ends[1] == "share: equal"


def test_a_missing_value_names_its_file_and_a_resumed_run_pays_nothing(tmp_path, values):
    late = values.copy()
    late[3500, 1] = np.nan
    dpsumm.Ledger.create(tmp_path / "ledger.sqlite").close()
    more = {"seed": None, "ledger": tmp_path / "ledger.sqlite", "run": "one"}
    paths = saved(tmp_path, late)
    with pytest.raises(InvalidDataError, match=r"3\.npy.*missing values"):
        run([dpsumm.data.Shards(paths)], **more)
    saved(tmp_path, values)
    summary = run([dpsumm.data.Shards(paths)], **more)
    assert summary.privacy.epsilon(1e-5) <= 1.0
    assert any("resumed" in warning for warning in summary.notes)


def changed(paths):
    shards = dpsumm.data.Shards(paths)
    np.save(paths[2], np.zeros((3, 3), np.float32))
    return run([shards])


def test_labels_of_several_kinds_are_kept_value_by_value(tmp_path):
    for i, y in enumerate(("a", 1)):
        made = pl.DataFrame({"x": [0.0, 1.0], "y": [y, y]})
        made.write_parquet(tmp_path / f"{i}.parquet")
    files = [tmp_path / f"{i}.parquet" for i in range(2)]
    summary = run(
        [dpsumm.data.Shards(files)],
        np.arange(5.0)[:, None],
        schema={"x": "number", "y": "label"},
        size=4,
    )
    assert sorted(map(str, summary.labels)) == ["1", "1", "a", "a"]
    assert {type(one) for one in summary.labels} == {str, int}


def saved_as(path, values):
    np.save(path, values)
    return path


REFUSED = {
    "absent": (
        lambda f, p: dpsumm.data.Shards([*p, f / "absent.npy"]),
        r"absent\.npy.*no such file",
    ),
    "suffix": (lambda f, p: dpsumm.data.Shards([f / "a.csv"]), "suffix"),
    "empty": (
        lambda f, p: dpsumm.data.Shards([*p, saved_as(f / "e.npy", np.zeros((0, 3)))]),
        r"e\.npy.*empty",
    ),
    "resource": (lambda f, p: dpsumm.data.Shards({"disk-c": p}), "'disk-c'"),
    "changed": (lambda f, p: changed(p), r"2\.npy.*changed"),
    "precision": (
        lambda f, p: run([dpsumm.data.Shards([*p, saved_as(f / "w.npy", np.zeros((9, 3)))])]),
        r"w\.npy.*float64",
    ),
    "width": (
        lambda f, p: run([dpsumm.data.Shards([*p, saved_as(f / "w.npy", np.zeros((9, 2)))])]),
        r"w\.npy.*columns",
    ),
    "protocol": (
        lambda f, p: run([dpsumm.data.Shards(p)], protocol=dpsumm.Pool()),
        "works with Offers",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_a_way_out(tmp_path, values, case):
    call, message = REFUSED[case]
    with pytest.raises((InvalidDataError, InvalidParameterError), match=message):
        call(tmp_path, saved(tmp_path, values))


def test_ray_must_run(monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(InvalidParameterError, match=r"ray\.init"):
        dpsumm.data.Shards(["a.npy"])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_of_a_worker_does_not_grow_with_the_rows(tmp_path):
    from benches.shards import summary, watched, write

    peak = {}
    for n in (200_000, 1_200_000):
        (tmp_path / str(n)).mkdir()
        paths = write(tmp_path / str(n), n, n_files=2)
        shards = dpsumm.data.Shards(paths, n_candidates=2000, block_rows=8192, n_workers=1)
        with watched() as seen:
            summary(shards, size=50, features=32)
        [(peak[n], _)] = seen.values()
    # The files grew by 64 MB.
    assert peak[1_200_000] - peak[200_000] < 25e6
