"""Run by test_ray.py in a process of its own: a cluster loses a node during two passes.

Prints how each ended: the one over files that only that node had, and the one over files that
another node has too.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import ray
from ray.cluster_utils import Cluster

import dpsumm
from dpsumm.data.inputs import read_owners
from dpsumm.errors import ShardLostError
from dpsumm.kernels import Draws

# The loss of a node is noticed after seconds, not after half a minute.
QUICK = {"health_check_period_ms": 1000, "health_check_failure_threshold": 3}


def main(folder: Path) -> None:
    """Lose the node when a worker of each pass is busy on it."""
    head = {"num_cpus": 1, "include_dashboard": False, "_system_config": QUICK}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    doomed = cluster.add_node(num_cpus=1, resources={"disk": 1, "share": 1})
    ray.init(address=cluster.address, log_to_driver=False)
    values = np.random.default_rng(0).normal(size=(4000, 3))
    paths = [folder / f"{i}.npy" for i in range(4)]
    for path, part in zip(paths, np.split(values, 4), strict=True):
        np.save(path, part)
    expected = sift(
        dpsumm.data.Stream(values, n_candidates=60), lambda points: points[:, :2].copy()
    )

    def sharded(case):
        busy = folder / case
        node = doomed.node_id

        def score(points):
            import ray

            if ray.get_runtime_context().get_node_id() == node:
                busy.touch()
                time.sleep(120)  # ended with the node
            return points[:, :2].copy()

        try:
            found = sift(dpsumm.data.Shards({case: paths}, n_candidates=60, n_workers=2), score)
        except ShardLostError as error:
            return f"{case}: {error}"
        np.testing.assert_array_equal(found.rows, expected.rows)
        np.testing.assert_array_equal(found.values, expected.values)
        return f"{case}: equal"

    cases = "disk", "share"
    patience = time.monotonic() + 60
    with ThreadPoolExecutor() as pool:
        ends = [pool.submit(sharded, case) for case in cases]
        while not all((folder / case).exists() for case in cases):
            assert time.monotonic() < patience, "the passes do not start"
            time.sleep(0.1)
        cluster.add_node(num_cpus=1, resources={"share": 1})
        cluster.remove_node(doomed, allow_graceful=False)
        for end in ends:
            print(end.result())
    ray.shutdown()
    cluster.shutdown()


def sift(source, score):
    """Return the candidates of a source."""
    [table] = read_owners([source])
    return table.sift(score, Draws(bytes(32)), 1)[0]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
