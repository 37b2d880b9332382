"""One call in a process of its own: its CPU-seconds, wall seconds and memory."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Spent:
    """What a call used; memory in bytes, above what was there before, or NaN if it is not known."""

    cpu: float
    wall: float
    memory: float
    result: Any


def in_child(
    call: Callable[..., Any],
    arguments: tuple[Any, ...],
    before: Callable[[], None],
    threads: int,
) -> Spent:
    """Run `before()` and then, measured, `call(*arguments)` in a fresh process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(_watched, call, arguments, before, threads).result()


def _watched(
    call: Callable[..., Any],
    arguments: tuple[Any, ...],
    before: Callable[[], None],
    threads: int,
) -> Spent:
    from benches.timing import thread_count  # which imports this module

    before()
    at_first, most = _private_memory(), [0.0]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            most[0] = max(most[0], _private_memory())

    watcher = threading.Thread(target=watch)
    with thread_count(threads):
        watcher.start()
        cpu, wall = time.process_time(), time.perf_counter()
        result = call(*arguments)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        done.set()
        watcher.join()
    return Spent(cpu, wall, max(most[0], _private_memory()) - at_first, result)


def _private_memory() -> float:
    """Resident memory that is not a page of a mapped file, which the system can drop."""
    if not STATUS.exists():
        return float("nan")
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("RssAnon"))
    return float(line.split()[1]) * 1024
