"""Run the experiments and write docs/results.md.

    python -m evidence --data FOLDER      everything that is not in the results yet, then the page
    python -m evidence                    without FOLDER only scenarios that need no files
    python -m evidence --short            one seed of two small scenarios, keeps nothing
    python -m evidence --page             only the page, from the results
    python -m evidence --page --earlier   also those of earlier code, which the page then says
    python -m evidence --splits 1 ..      no more than the first split of each scenario
    python -m evidence --adopt FILE       takes over from earlier results what today's code gives:
                                          see evidence/adoption.py

FOLDER holds mnist/, adult/ and heart/; evidence/results/points.md says where to obtain them.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from dataclasses import replace
from pathlib import Path

from evidence import page
from evidence.adoption import adopt
from evidence.methods import METHODS, SHORT
from evidence.runner import current, made_with, run, scenarios

RESULTS = Path(__file__).with_name("results.parquet")


def main() -> None:
    """Run from the command line."""
    known = scenarios()
    parser = argparse.ArgumentParser("evidence", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--only", nargs="*", choices=list(known), default=list(known))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--short", action="store_true", help="that it runs; keeps nothing")
    parser.add_argument("--page", action="store_true", help="write the page, run nothing")
    parser.add_argument("--earlier", action="store_true", help="show results of earlier code, too")
    parser.add_argument("--adopt", type=Path, metavar="FILE", help="results of earlier code")
    parser.add_argument("--splits", type=int, help="at most so many of each scenario")
    given = parser.parse_args()
    if given.data is not None and not given.data.is_dir():
        parser.error(f"--data: {given.data} is not a folder")
    if given.short:
        with tempfile.TemporaryDirectory(prefix="dpsumm-evidence-") as folder:
            few = [replace(known[name], seeds=(0,)) for name in ("digits", "synthetic-p50")]
            results = Path(folder) / "results.parquet"
            table = run(few, SHORT, None, results, 1)
            page.write(table, known, made_with(results), Path(folder))
            print((Path(folder) / "docs/results.md").read_text())
        return
    wanted = [] if given.page or given.adopt else [known[name] for name in given.only]
    if given.adopt:
        print(f"{adopt(list(known.values()), given.adopt, RESULTS):,} runs are taken over")
    fewer = [replace(scenario, seeds=scenario.seeds[: given.splits]) for scenario in wanted]
    table = run(fewer, list(METHODS), given.data, RESULTS, given.jobs)
    shown = current(table, known, earlier=given.earlier)
    if len(shown) < len(table):
        print(f"{len(table) - len(shown)} results of earlier code or scenarios are left out")
    if not len(shown):
        parser.error("no results are of today's code and scenarios: run without --page")
    page.write(shown, known, made_with(RESULTS), page.ROOT)


if __name__ == "__main__":
    main()
