"""What this machine is, and its measured limits: the roofline that kernels are held against."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version

import numpy as np

PACKAGES = ("dpsumm", "numpy", "scikit-learn", "coreax", "jax", "goodpoints")


def describe() -> dict[str, str]:
    """Return processor, system and versions."""
    found = {"processor": _processor(), "cores": str(os.cpu_count()), "system": platform.system()}
    found["python"] = platform.python_version()
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def limits(short: bool) -> dict[str, float]:
    """Return measured limits of one thread, the best of several tries.

    ``read`` bytes/s of summing a large array, ``f32`` and ``f64`` flop/s of NumPy's matrix product.
    """
    n = 2**22 if short else 2**27
    data = np.ones(n, np.int32)
    read = n * 4 / min(_seconds(data.max) for _ in range(7))
    found = {"read": read}
    m = 256 if short else 2000
    for name, dtype in (("f32", np.float32), ("f64", np.float64)):
        a = np.random.default_rng(0).random((m, m)).astype(dtype)
        out = np.empty_like(a)
        best = min(_seconds(lambda a=a, out=out: np.matmul(a, a, out=out)) for _ in range(7))
        found[name] = 2 * m**3 / best
    return found


def _seconds(work) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(
                line.split(":")[1].strip() for line in file if line.startswith("model name")
            )
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
