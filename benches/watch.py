"""What one call uses; in a process of its own, with its memory."""

from __future__ import annotations

import multiprocessing
import os
import resource
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Spent:
    """What a call used: CPU-seconds of all threads in the program and in the system, wall seconds.

    Memory in bytes above what was there before, NaN if it is not known.
    """

    user: float
    system: float
    wall: float
    result: Any
    memory: float = float("nan")


def watched(call: Callable[[], Any]) -> Spent:
    """Run a call here."""
    before, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    result = call()
    after, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - wall
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return Spent(user, system, wall, result)


def commanded(arguments: Sequence[str]) -> Spent:
    """Run a command to its end, with one thread; what it prints is not kept."""
    # Compiled modules are part of an installation, whatever this shell says.
    around = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    # As in the other cases: OpenBLAS starts its threads while NumPy is imported.
    around["OPENBLAS_NUM_THREADS"] = "1"
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, env=around)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return Spent(user, system, time.perf_counter() - wall, None)


def in_child(
    call: Callable[..., Any],
    arguments: tuple[Any, ...],
    before: Callable[[], None],
    threads: int,
) -> Spent:
    """Run `before()` and then, measured, `call(*arguments)` in a fresh process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(_with_memory, call, arguments, before, threads).result()


def _with_memory(
    call: Callable[..., Any],
    arguments: tuple[Any, ...],
    before: Callable[[], None],
    threads: int,
) -> Spent:
    from benches.timing import thread_count  # which imports this module

    before()
    at_first, most = _private_memory(), [0.0]
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.01):
            most[0] = max(most[0], _private_memory())

    watcher = threading.Thread(target=look)
    with thread_count(threads):
        watcher.start()
        spent = watched(lambda: call(*arguments))
        done.set()
        watcher.join()
    return replace(spent, memory=max(most[0], _private_memory()) - at_first)


def _private_memory() -> float:
    """Resident memory that is not a page of a mapped file, which the system can drop."""
    if not STATUS.exists():
        return float("nan")
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("RssAnon"))
    return float(line.split()[1]) * 1024
