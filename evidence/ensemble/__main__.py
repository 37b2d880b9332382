"""Measure `learn` beside what it competes with; write the figures of docs/results-learn.md.

    python -m evidence.ensemble --data FOLDER    what the results lack, then page and tables
    python -m evidence.ensemble                  only the page, from the results
    python -m evidence.ensemble --earlier        the same, with results of earlier code, too

Results of other code are measured anew, those of updates and those of votes by themselves.
Accuracies are of test points. What each choice was made by is in `Method` below: the default
student's by the noisy votes alone.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dpsumm.ensemble.ballots import hard_votes
from dpsumm.ensemble.curator import VoteCurator
from dpsumm.ensemble.messages import VOTES, Votes
from dpsumm.ensemble.students import Spectral
from dpsumm.ensemble.students.choose import Validation, choose
from dpsumm.privacy import Ledger, Unit
from evidence.ensemble import page, updates
from evidence.ensemble.rehearsal import Rehearsal
from evidence.ensemble.tasks import TASKS, held, parameters
from evidence.runner import THREADS, made_with, write
from evidence.sources import PACKAGE, code

RESULTS = Path(__file__).with_name("results.parquet")
EPSILONS, DELTA, LABELS = (0.1, 0.3, 1.0, 3.0), 1e-5, 200
# In the order in which they are measured: what matters most first.
PARTS = [
    ("MNIST", 100),
    ("MNIST", 1000),
    ("Adult", 100),
    ("Adult", 1000),
    ("shift, target's points", 100),
    ("shift, other points", 100),
    ("shift, target's points", 1000),
    ("shift, other points", 1000),
    ("digits", 10),
    ("digits", 100),
    ("Adult", 10),
    ("MNIST", 10),
]
SCHEMA = {
    "scenario": pl.String,
    "seed": pl.Int64,
    "method": pl.String,
    "code": pl.String,
    "parties": pl.Int64,
    "epsilon": pl.Float64,
    "mean": pl.Float64,
    "spread": pl.Float64,
    "best": pl.String,
}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser("evidence.ensemble", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--earlier", action="store_true", help="show results of earlier code, too")
    parser.add_argument("--only", choices=("updates", "votes"), help="measure no others")
    parser.add_argument("--draws", type=int, default=10, help="of the noise")
    given = parser.parse_args()
    table = pl.read_parquet(RESULTS) if RESULTS.exists() else pl.DataFrame(schema=SCHEMA)
    today = {"updates": key(UPDATES), "votes": key(VOTING)}
    of_updates = pl.col("method").is_in(updates.METHODS)
    groups = {"updates": of_updates, "votes": ~of_updates}
    if given.data is not None:
        for name in THREADS:
            os.environ.setdefault(name, "1")
        wanted = [given.only] if given.only else list(groups)
        for (name, n_parties), group in product(PARTS, wanted):
            mine = (pl.col("scenario") == name) & (pl.col("parties") == n_parties) & groups[group]
            if not table.filter(mine & (pl.col("code") == today[group])).is_empty():
                continue
            facts = {"scenario": name, "seed": 0, "code": today[group], "parties": n_parties}
            rows = [
                facts | row for row in MEASURED[group](name, n_parties, given.data, given.draws)
            ]
            table = pl.concat([table.filter(~mine), pl.DataFrame(rows, schema=SCHEMA)])
            write(table, RESULTS)
            print(f"{name}, {n_parties} parties, {group}: {len(rows)} rows", flush=True)
    shown = table if given.earlier else table.filter(pl.col("code").is_in(list(today.values())))
    if shown.is_empty():
        parser.error("no results are of today's code: give --data")
    print(page.write(shown, made_with(RESULTS), page.ROOT))


HERE = Path(__file__).parent
# What results depend on.
WHITENED = PACKAGE / "ensemble/students/whitened.py"  # of updates alone
VOTING = [
    *(HERE / f"{name}.py" for name in ("__main__", "baselines", "rehearsal", "tasks")),
    *sorted(set((PACKAGE / "ensemble/students").glob("*.py")) - {WHITENED}),
    *(PACKAGE / f"{name}.py" for name in ("ensemble/release", "papers/hamm")),
]
UPDATES = [
    *(HERE / f"{name}.py" for name in ("updates", "tasks")),
    *sorted((PACKAGE / "ensemble/updates").glob("*.py")),
    *(PACKAGE / f"ensemble/students/{name}.py" for name in ("bases", "plain")),
    WHITENED,
]


def key(files: Sequence[Path]) -> str:
    """Name what results depend on: the code."""
    text = "\n".join(code(path.read_text(), ".py") for path in files)
    return sha256(text.encode()).hexdigest()[:12]


def updated(name: str, n_parties: int, folder: Path, draws: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of updates of one data set and number of parties."""
    yield from updates.measured(TASKS[name](folder), n_parties, EPSILONS, DELTA, draws)


def measured(name: str, n_parties: int, folder: Path, draws: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of one data set and number of parties."""
    task = TASKS[name](folder)
    given = held(task, n_parties)
    shifted = name.startswith("shift")
    fitted = None if shifted else parameters(task, given)
    rehearsal = Rehearsal(given, fitted)
    for epsilon in EPSILONS:
        for row in rehearsal.rows(epsilon, DELTA, draws):
            if np.isfinite(row.epsilon) or epsilon == EPSILONS[-1]:
                yield {
                    "method": row.method,
                    "epsilon": row.epsilon,
                    "mean": row.accuracy,
                    "spread": row.spread,
                    "best": row.best,
                }
        helped = [labelled(rehearsal, epsilon, draw) for draw in range(draws)]
        yield {
            "method": "noisy votes, by 200 labels",
            "epsilon": epsilon,
            "mean": float(np.mean(helped)),
            "spread": float(np.std(helped)),
        }
    if (name, n_parties) == ("MNIST", 1000):
        for what, seconds in speed(rehearsal):
            yield {"method": what, "mean": seconds}


def labelled(rehearsal: Rehearsal, epsilon: float, draw: int) -> float:
    """Return the accuracy when labels of the consumer choose, on the other test points."""
    given = rehearsal.held
    order = np.random.default_rng(draw).permutation(len(given.places))
    most = min(LABELS, len(order) // 2)
    mine, rest = order[:most], order[most:]
    judges = Validation(given.test[mine], given.places[mine])
    used, _ = choose(rehearsal.candidates(given.release(epsilon, DELTA)), judges)
    return float(rehearsal.right(used)[rest].mean())


def speed(rehearsal: Rehearsal) -> Iterator[tuple[str, float]]:
    """Yield what was timed and its CPU seconds: 1000 parties, 10,000 points, 10 classes."""
    given = rehearsal.held
    terms, points = given.terms, given.points
    made = hard_votes(np.arange(terms.n_points) % terms.n_classes, terms).astype(VOTES)
    names = [f"p{i}" for i in range(terms.n_parties)]
    started = time.process_time()
    with Ledger() as book:
        curator = VoteCurator(
            points, terms, names, unit=Unit.WHOLE_OWNER, epsilon=1.0, delta=DELTA, ledger=book
        )
        curator.send()
        for name in names:
            curator.receive(name, Votes(book.run, terms.digest, made))
        votes = curator.result()
    yield "seconds: the curator, from votes to release", time.process_time() - started
    for bases in (("linear", "features"), ("linear", "features", "graph")):
        started = time.process_time()
        choose(Spectral(bases).candidates(points, votes), None)
        yield f"seconds: student in {', '.join(bases)}", time.process_time() - started


MEASURED = {"updates": updated, "votes": measured}

if __name__ == "__main__":
    main()
