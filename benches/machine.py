"""The machine: hardware, versions, and its measured limits (bandwidth and arithmetic)."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benches.timing import thread_count
from dpsumm import kernels

PACKAGES = ("dpsumm", "numpy", "scikit-learn", "polars", "coreax", "jax", "goodpoints")


def describe(short: bool) -> dict[str, Any]:
    """Return hardware, versions, load and limits. Takes a few seconds, in short mode less."""
    with thread_count(1):
        limits = {
            "read_bandwidth": _read_bandwidth(2**22 if short else 2**27),
            "flops_f64": _flops(np.float64, 256 if short else 1536),
            "flops_f32": _flops(np.float32, 256 if short else 1536),
        }
    return {
        "processor": _processor(),
        "instructions": kernels.INSTRUCTIONS,
        "cores": os.cpu_count(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "date": datetime.now(UTC).date().isoformat(),
        "load": os.getloadavg()[0],
        **limits,
    }


def _version(package: str) -> str:
    if package == "dpsumm":
        from dpsumm import __version__

        return __version__
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    fields: dict[str, str] = {}
    for line in info.read_text().split("\n\n")[0].splitlines() if info.exists() else ():
        key, _, value = line.partition(":")
        fields[key.strip()] = value.strip()
    if "model name" not in fields:
        return platform.processor() or platform.machine()
    family, model = fields.get("cpu family", "?"), fields.get("model", "?")
    return f"{fields['model name']} (family {family}, model {model})"


def _best(work: Callable[[], object], amount: float, runs: int = 7) -> float:
    """Return the most of `amount` done in a CPU-second by one thread, of several runs."""
    seconds = []
    for _ in range(runs):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return amount / max(min(seconds), 1e-9)


def _read_bandwidth(count: int) -> float:
    """Bytes a CPU-second that one thread reads: the faster of a BLAS product and a reduction."""
    values = np.ones(count)
    words = values.view(np.int64)
    return max(
        _best(lambda: np.dot(values, values), values.nbytes),
        _best(lambda: np.bitwise_or.reduce(words), values.nbytes),
    )


def _flops(dtype: type, n: int) -> float:
    """Operations a CPU-second of one thread in the fastest thing it does: a product of matrices."""
    a = np.random.default_rng(0).random((n, n)).astype(dtype)
    out = np.empty_like(a)
    return _best(lambda: np.matmul(a, a, out=out), 2.0 * n**3)
