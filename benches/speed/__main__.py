"""Measure kernels, protocols and their peers; print the table."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from pathlib import Path

from benches.speed.machine import describe, limits
from benches.speed.page import plot, table
from benches.speed.subjects import SUBJECTS

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Run, print progress, write the table, the numbers and the plot."""
    parser = argparse.ArgumentParser(prog="python -m benches.speed", description=__doc__)
    parser.add_argument("--short", action="store_true", help="tiny sizes: that it runs, no more")
    parser.add_argument("--large", action="store_true", help="offers from 10,000,000 rows, too")
    parser.add_argument("--only", choices=SUBJECTS, action="append", help="some subjects")
    parser.add_argument("--out", type=Path, help="results folder; nothing is written without it")
    options = parser.parse_args()
    run = {
        "command": "make bench",
        "date": datetime.date.today().isoformat(),
        "machine": describe(),
        "limits": limits(options.short),
        "rows": [],
    }
    for subject in options.only or SUBJECTS:
        more = {"large": options.large} if subject == "offers" else {}
        for row in SUBJECTS[subject](options.short, **more):
            run["rows"].append(row.as_dict())
            if options.out:  # what was measured stays, whatever comes after
                options.out.mkdir(parents=True, exist_ok=True)
                (options.out / "speed.json").write_text(json.dumps(run, indent=1) + "\n")
            print(f"{subject}: {row.who} {row.size} {row.cpu} {row.extra}", file=sys.stderr)
    if options.out:
        (options.out / "speed.md").write_text(table(run))
        plot(run, ROOT / "docs" / "images")
    print(table(run))


if __name__ == "__main__":
    main()
