"""Every instruction path of the core gives the same bytes; `DPSUMM_SIMD` chooses one for tests."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from dpsumm.kernels import _core
from helpers.patience import PATIENCE
from reference.everything import every_result


def run(setting):
    """Run this file with a setting of `DPSUMM_SIMD`."""
    return subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, "DPSUMM_SIMD": setting, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def digests():
    """Return a line for each result of the core, in both precisions, with far points among near."""
    rng = np.random.default_rng(20)
    for dtype in (np.float32, np.float64):
        points, others = (rng.normal(size=(n, 7)).astype(dtype) for n in (501, 299))
        points[::50] *= 1e12
        for place, result in enumerate(every_result(points, others)):
            yield f"{dtype.__name__} {place} {hashlib.sha256(result.tobytes()).hexdigest()}"


PATHS = ["baseline", "avx2", "avx512"]
HERE = PATHS.index(_core.INSTRUCTIONS)  # the last that this processor has


@pytest.mark.parametrize("path", PATHS[: max(HERE, 1)])
def test_narrower_paths_have_the_same_bytes(path):
    done = run(path)
    assert done.returncode == 0, done.stderr
    found = done.stdout.splitlines()
    assert found[0] == path
    assert found[1:] == list(digests())


@pytest.mark.skipif("DPSUMM_SIMD" in os.environ, reason="the setting keeps from the widest path")
def test_without_the_setting_the_widest_path_runs():
    assert run("").stdout.splitlines()[0] == PATHS[HERE]


def test_an_unknown_setting_is_refused():
    done = run("avx1024")
    assert done.returncode != 0
    assert "DPSUMM_SIMD: must be baseline or avx2, or not set" in done.stderr


if __name__ == "__main__":
    print(_core.INSTRUCTIONS, *digests(), sep="\n")
