"""The methods: from a task, epsilon and a seed to as many rows as there are records."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from dpsumm import Tables, synthesize
from dpsumm.papers import Dpvi
from evidence.vertical.data import Task, Values

DELTA = 1e-5
# Of the environment that `make evidence-vertical` makes for dpmm.
PEERS = Path(".venv-rows/bin/python")
# Seconds of processor time after which a peer is stopped.
PATIENCE = 900


def tables(
    task: Task, epsilon: float, seed: int, protocol: Tables, half: str | None = None
) -> Values:
    """Run the call; its noise is the operating system's, the draw of rows is the seed's.

    `half` names a part of the model, from which all rows are drawn then.
    """
    synthetic = synthesize(
        task.owners,
        schema=task.schemas,
        label=task.label,
        epsilon=epsilon,
        delta=DELTA,
        protocol=protocol,
    )
    if half is not None:
        synthetic = replace(synthetic, model=getattr(synthetic.model, half))
    return task.values(synthetic.sample(len(task.real), seed=seed, backend="polars"))


def by_default(task: Task, epsilon: float, seed: int) -> Values:
    """`Tables()`."""
    return tables(task, epsilon, seed, Tables())


def mixture(task: Task, epsilon: float, seed: int) -> Values:
    """`Tables()`, all rows from the mixture."""
    return tables(task, epsilon, seed, Tables(), "mixture")


def chain(task: Task, epsilon: float, seed: int) -> Values:
    """`Tables()`, all rows from the chain."""
    return tables(task, epsilon, seed, Tables(), "chain")


def by_hand(task: Task, epsilon: float, seed: int) -> Values:
    """`Tables(bins=...)` with bins made by hand."""
    return tables(task, epsilon, seed, Tables(bins=task.bins))


def dpvi(task: Task, epsilon: float, seed: int) -> Values:
    """The paper's method, corrected, with the guarantee towards analyst and owners."""
    return _inferred(task, Dpvi.for_budget(epsilon, DELTA), seed)


def dpvi_published(task: Task, epsilon: float, seed: int) -> Values:
    """The paper's section 6, with sound products: what it calls epsilon 1, towards the analyst."""
    return _inferred(task, Dpvi.published(), seed)


def _inferred(task: Task, method: Dpvi, seed: int) -> Values:
    found = method.fit(task.owners, schema=task.schemas, bins=task.bins)
    return task.decoded(found.model.draw(len(task.real), seed=seed).astype(np.int64), seed)


def _peer(method: str) -> Callable[[Task, float, int], Values]:
    def run(task: Task, epsilon: float, seed: int) -> Values:
        with tempfile.TemporaryDirectory(prefix="dpsumm-rows-") as folder:
            given, made = Path(folder, "task.npz"), Path(folder, "rows.npy")
            np.savez(given, train=task.train, sizes=task.sizes)
            script = Path(__file__).with_name("peers.py")
            words = [method, repr(epsilon), repr(DELTA), str(seed), str(PATIENCE)]
            ended = subprocess.run([PEERS, script, given, made, *words], check=False)
            if ended.returncode == -signal.SIGXCPU:
                raise TimeoutError
            ended.check_returncode()
            return task.decoded(np.load(made), seed)

    return run


def real(task: Task, epsilon: float, seed: int) -> Values:
    """The real rows."""
    return task.real


def majority(task: Task, epsilon: float, seed: int) -> Values:
    """The real rows with the most frequent label."""
    rows = task.real.copy()
    rows[:, task.target] = np.bincount(task.train[:, task.target]).argmax()
    return rows


METHODS: dict[str, Callable[[Task, float, int], Values]] = {
    "default": by_default,
    "mixture": mixture,
    "chain": chain,
    "by-hand": by_hand,
    "dpvi": dpvi,
    "dpvi-published": dpvi_published,
    "MST": _peer("MST"),
    "AIM": _peer("AIM"),
    "real": real,
    "alone": real,
    "majority": majority,
}
