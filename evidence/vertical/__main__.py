"""Figures of docs/results-rows.md and the tables behind it: `make evidence-vertical DATA=folder`.

Each run (table, method, epsilon, seed) is a line of results.jsonl. A run that is there is not
repeated. Delete the file to begin anew. The pages' tables are written from it.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path

from dpsumm import kernels
from evidence.vertical import parts
from evidence.vertical.data import Task, adult, adult_rare, clinic
from evidence.vertical.methods import METHODS
from evidence.vertical.page import summed_up, written
from evidence.vertical.score import judged

RESULTS = Path(__file__).with_name("results.jsonl")
PAGE, TABLES = Path("docs/results-rows.md"), Path("evidence/results/rows.md")
# Seeds below were looked at when parameters were chosen.
FIRST_SEED = 100
TASKS: dict[str, Callable[[Path], Task]] = {
    "adult": lambda folder: adult(folder, 2),
    "adult-3": lambda folder: adult(folder, 3),
    "adult-rare": adult_rare,
    "clinic": lambda folder: clinic(1),
}


def main() -> None:
    """Run what is not there yet, and write the page's tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tasks", nargs="*", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--methods", nargs="*", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--epsilons", nargs="*", type=float, default=[0.5, 1.0, 2.0, 4.0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="run nothing, write the page")
    given = parser.parse_args()
    kernels.set_threads(1)
    if not given.write:
        # Seeds outermost: whenever it is stopped, all methods have about as many.
        for seed in range(FIRST_SEED, FIRST_SEED + given.seeds):
            for name in given.tasks:
                for method in given.methods:
                    for epsilon in given.epsilons:
                        run(name, TASKS[name](given.data), method, epsilon, seed)
        if "default" in given.methods and "adult" in given.tasks:
            parts.run(TASKS["adult"](given.data), FIRST_SEED)
    TABLES.write_text(written(TABLES.read_text(), known(), parts.table(parts.known())))
    PAGE.write_text(summed_up(PAGE.read_text(), known()))


def known() -> list[dict[str, object]]:
    """Return the results that are there."""
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text().splitlines()]


def run(name: str, task: Task, method: str, epsilon: float, seed: int) -> None:
    """Add one run, unless it is there. What took too long is noted as such."""
    if method in ("real", "alone", "majority"):
        epsilon, seed = 0.0, FIRST_SEED
    if method == "dpvi-published":
        epsilon = 1.0
    about = {"task": name, "method": method, "epsilon": epsilon, "seed": seed}
    if any(about.items() <= line.items() for line in known()):
        return
    started = used()
    try:
        rows = METHODS[method](task, epsilon, seed)
        seconds = used()
        found = judged(task, rows, alone=method == "alone")
    except TimeoutError:
        seconds, found = used(), {"stopped": True}
    line = about | {"cpu": round(seconds - started, 2)} | found
    print(json.dumps(line), flush=True)
    with RESULTS.open("a") as file:
        file.write(json.dumps(line) + "\n")


def used() -> float:
    """Return the seconds of processor time of this process and its ended children."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


if __name__ == "__main__":
    main()
