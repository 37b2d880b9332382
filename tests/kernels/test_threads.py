"""Threads, the interpreter and forks: same bytes, nobody waits, nothing hangs."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from dpsumm.kernels import _core
from helpers.patience import PATIENCE
from reference.everything import assert_identical, every_result


@pytest.fixture(autouse=True)
def all_threads_afterwards():
    yield
    _core.set_threads(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_number_of_threads_changes_no_byte(rng, dtype):
    points, others = (rng.normal(size=(n, 7)).astype(dtype) for n in (3001, 1999))
    results = []
    for n_threads in (1, 3, 0):
        _core.set_threads(n_threads)
        results.append(every_result(points, others))
    assert_identical(results[0], results[1])
    assert_identical(results[0], results[2])


def longest_wait(points):
    """How long this thread waited at most while another computed, as a share of that time."""
    spans = []

    def compute():
        start = time.perf_counter()
        _core.mean_kernel_self(points, 0.1)
        spans.append((start, time.perf_counter()))

    worker = threading.Thread(target=compute)
    worker.start()
    ticks = []
    while worker.is_alive():
        ticks.append(time.perf_counter())
        time.sleep(0.001)
    worker.join()
    ((start, end),) = spans
    return max(np.diff([start, *(t for t in ticks if start < t < end), end])) / (end - start)


def test_python_runs_on_while_a_kernel_computes(rng):
    _core.set_threads(1)
    points = rng.normal(size=(16_000, 8))
    # Held, the interpreter would leave one gap as long as the kernel's time, always. A busy machine
    # may leave one now and then, so any time without counts.
    assert any(longest_wait(points) < 0.7 for _ in range(50))


def test_python_threads_share_one_object(rng):
    features = _core.RandomFeatures("paired", True, 0.5, 4, 64, 1)
    points = rng.normal(size=(2000, 4))
    wanted = features.sum_on_grid(points, 2**20)
    found = []
    workers = [
        threading.Thread(target=lambda: found.append(features.sum_on_grid(points, 2**20)))
        for _ in range(8)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 8
    for sums in found:
        np.testing.assert_array_equal(sums, wanted)


def test_eight_threads_call_every_kernel_at_once_and_agree(rng):
    points, others = (rng.normal(size=(n, 5)) for n in (401, 299))
    wanted = every_result(points, others)
    found, start = [], threading.Barrier(8)

    def call():
        start.wait()
        found.append(every_result(points, others))

    workers = [threading.Thread(target=call) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 8
    for results in found:
        assert_identical(results, wanted)


FORK = """
import os, sys, threading
import numpy as np
from dpsumm.kernels import _core
points = np.random.default_rng(0).normal(size=(3000, 5))
_core.set_threads(3)
before = _core.kernel_means(points, points, 0.5)
busy = threading.Thread(target=lambda: [_core.mean_kernel_self(points, 0.5) for _ in range(20)])
if {busy}:
    busy.start()
child = os.fork()
if child == 0:
    if {reset}:
        _core.set_threads(2)
    same = (_core.kernel_means(points, points, 0.5) == before).all()
    noise = _core.rounded_normal(1e9, 4)
    print("child", bool(same), *noise, flush=True)
    os._exit(0)
_, status = os.waitpid(child, 0)
if {busy}:
    busy.join()
same = (_core.kernel_means(points, points, 0.5) == before).all()
print("parent", bool(same), *_core.rounded_normal(1e9, 4))
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("reset", [False, True])
def test_a_forked_child_computes_and_has_noise_of_its_own(busy, reset):
    command = [sys.executable, "-c", FORK.format(busy=busy, reset=reset)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    child, parent = sorted(line.split() for line in done.stdout.splitlines())
    assert child[:2] == ["child", "True"]
    assert parent[:2] == ["parent", "True"]
    assert child[2:] != parent[2:]
