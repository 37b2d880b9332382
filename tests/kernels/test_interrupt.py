"""Ctrl-C stops a kernel that would run for minutes, and the next call works."""

import signal
import subprocess
import sys
import time

import pytest

from helpers.patience import PATIENCE

RUN = """
import numpy as np
from dpsumm.kernels import _core
points = np.random.default_rng(0).normal(size=({n}, 8))
some = points[:100]
wanted = _core.mean_kernel_self(some, 0.1)
try:
    print("ready", flush=True)
    {call}
except KeyboardInterrupt:
    print("interrupted", _core.mean_kernel_self(some, 0.1) == wanted)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to another process")
@pytest.mark.parametrize(
    ("n", "call"),
    [
        (800_000, "_core.mean_kernel_self(points, 0.1)"),
        (800_000, "_core.mmd2(some, points, 0.1)"),
        (800_000, "_core.kernel_means(points, points, 0.1)"),
        (200_000, "_core.greedy(points, np.zeros(len(points)), 0.1, 150_000)"),
        (200_000, "_core.greedy_towards(points, some, 0.1, 150_000)"),
        (400_000, "_core.objective(points, np.zeros(len(points)), 0.1)"),
    ],
)
def test_a_long_kernel_stops_at_ctrl_c(n, call):
    command = [sys.executable, "-c", RUN.format(n=n, call=call)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.3)  # well inside the kernel
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert out == "interrupted True\n"
    assert process.returncode == 0
