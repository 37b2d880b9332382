"""Run the experiments and write docs/results.md.

    python -m evidence --data FOLDER      everything that is not in the results yet, then the page
    python -m evidence                    without FOLDER only scenarios that need no files
    python -m evidence --short            one seed of two small scenarios, keeps nothing
    python -m evidence --page             only the page, from the results

FOLDER holds mnist/, adult/ and heart/; docs/results.md says where to obtain them.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from dataclasses import replace
from pathlib import Path

from evidence import page
from evidence.methods import METHODS, SHORT
from evidence.runner import run, scenarios

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "evidence/results.parquet"


def main() -> None:
    """Run from the command line."""
    known = scenarios()
    parser = argparse.ArgumentParser("evidence", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--only", nargs="*", choices=list(known), default=list(known))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--short", action="store_true", help="that it runs; keeps nothing")
    parser.add_argument("--page", action="store_true", help="write the page, run nothing")
    given = parser.parse_args()
    if given.data is not None and not given.data.is_dir():
        parser.error(f"--data: {given.data} is not a folder")
    if given.short:
        with tempfile.TemporaryDirectory(prefix="dpsumm-evidence-") as folder:
            few = [replace(known[name], seeds=(0,)) for name in ("digits", "synthetic-p50")]
            table = run(few, SHORT, None, Path(folder) / "results.parquet", 1)
            page.write(table, known, ROOT / "docs/results.md", Path(folder))
            print((Path(folder) / "results.md").read_text())
        return
    wanted = [] if given.page else [known[name] for name in given.only]
    table = run(wanted, list(METHODS), given.data, RESULTS, given.jobs)
    page.write(table, known, ROOT / "docs/results.md", ROOT / "docs")


if __name__ == "__main__":
    main()
