"""Shards where Ray is not installed, or not needed: refusals. With Ray: tests/runs/test_ray.py."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import dpsumm
from dpsumm.data import shards as workers
from dpsumm.data.shards import Shard
from dpsumm.errors import InvalidParameterError, MissingExtraError, ShardLostError

REFUSED = {
    "no list": ("a.npy", "list of paths"),
    "no paths": ([np.zeros((2, 2))], "list of paths"),
    "a dict of one path": ({"disk": "a.npy"}, "list of paths"),
    "none": ([], "at least one file"),
    "none in a dict": ({"disk": []}, "at least one file"),
    "twice": (["a.npy", "./a.npy"], "twice"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_files_are_checked(case):
    files, message = REFUSED[case]
    with pytest.raises(InvalidParameterError, match=message):
        dpsumm.data.Shards(files)


@pytest.mark.parametrize("name", ["n_candidates", "block_rows", "n_workers"])
def test_numbers_are_checked(name):
    with pytest.raises(InvalidParameterError, match=name):
        dpsumm.data.Shards(["a.npy"], **{name: 0})


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"dpsumm\[ray\]"):
        dpsumm.data.Shards(["a.npy"])


def fake_ray(**more):
    return SimpleNamespace(
        cluster_resources=lambda: {"CPU": 2.0, "disk-a": 1.0},
        is_initialized=lambda: True,
        **more,
    )


def test_a_resource_that_no_node_has_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", fake_ray())
    with pytest.raises(InvalidParameterError, match="'disk-b'"):
        dpsumm.data.Shards({"disk-a": ["a.npy"], "disk-b": ["b.npy"]})


def test_a_node_that_is_gone_is_not_waited_for():
    ray = fake_ray(wait=lambda pending, timeout: ([], pending))
    with pytest.raises(ShardLostError, match="'disk-b' any more"):
        list(workers._answers(ray, ["task"], {None, "disk-a", "disk-b"}))


@pytest.mark.parametrize(("n_workers", "sizes"), [(1, [7]), (2, [3, 4]), (99, [1] * 7)])
def test_files_are_shared_out_evenly_and_stay_where_they_are(n_workers, sizes):
    shards = [Shard(f"{i}.npy", None, 10 * i, 10) for i in range(7)]
    groups = workers._shared_out(shards, n_workers, fake_ray())
    assert sorted(map(len, groups)) == sizes
    assert sorted(s.path for group in groups for s in group) == [s.path for s in shards]
    shards += [Shard(f"b{i}.npy", "disk-a", 70 + i, 1) for i in range(3)]
    groups = workers._shared_out(shards, n_workers, fake_ray())
    assert all(len({shard.resource for shard in group}) == 1 for group in groups)
    assert sorted(s.first_row for group in groups for s in group) == [s.first_row for s in shards]
