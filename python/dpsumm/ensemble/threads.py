"""How many threads matrix libraries use in a run of `learn`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """Have matrix libraries use one thread, unless the environment says how many.

    The matrices of a party are small. More threads take two to three times the processor time, and
    wait for each other on a busy machine.
    """
    if any(name in os.environ for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")):
        yield
        return
    # Only loaded libraries are limited.
    import scipy.linalg
    from threadpoolctl import threadpool_limits

    assert scipy.linalg
    with threadpool_limits(1):
        yield
