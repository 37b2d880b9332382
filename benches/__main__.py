"""Measure the kernels and protocols beside their peers, and write tables, pages and plots.

    python -m benches                       every subject; a subject measured anew replaces itself
    python -m benches --only selection mmd
    python -m benches --short               tiny sizes, writes nothing that is kept
    python -m benches --write               tables, pages and plots again, from the kept results

The results are kept in benches/results/performance.json.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from benches import machine, plots, tables
from benches.subjects import Scale, subjects
from benches.timing import measure

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path("benches/results/performance.json")
Results = dict[str, Any]  # subject -> its machine and rows


def main() -> None:
    known = subjects()
    parser = argparse.ArgumentParser("benches", description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=list(known), default=list(known))
    parser.add_argument("--short", action="store_true", help="tiny sizes, two runs each")
    parser.add_argument("--large", action="store_true", help="add the largest sizes")
    parser.add_argument("--write", action="store_true", help="measure nothing, write anew")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each (default 5)")
    parser.add_argument(
        "--patience", type=float, default=100.0, help="CPU-seconds after which one is not repeated"
    )
    given = parser.parse_args()
    if given.short:
        with tempfile.TemporaryDirectory(prefix="dpsumm-bench-") as folder:
            results = measured(given.only, Scale.SHORT, 2, given.patience)
            write(results, Path(folder))
            print(tables.everything(results))
        return
    scale = Scale.LARGE if given.large else Scale.FULL
    new = {} if given.write else measured(given.only, scale, given.repeat, given.patience)
    kept = ROOT / RESULTS  # read now: another subject may have been measured meanwhile
    results = (json.loads(kept.read_text()) if kept.exists() else {}) | new
    results = {name: results[name] for name in known if name in results}
    write(results, ROOT)
    print(tables.everything(results))


def measured(names: list[str], scale: Scale, repeat: int, patience: float) -> Results:
    """Measure subjects."""
    results = {}
    for name in names:
        print(f"measuring {name} ..", flush=True)
        about = machine.describe(short=scale is Scale.SHORT)
        rows = [
            {"case": number} | row
            for number, case in enumerate(subjects()[name](scale))
            for row in measure(case, repeat, patience)
        ]
        results[name] = {"machine": about, "rows": rows}
    return results


def write(results: Results, root: Path) -> None:
    """Write the results, the full table, the pages' tables and the plots under `root`."""
    kept = root / RESULTS
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(results, indent=1, allow_nan=True) + "\n")
    kept.with_suffix(".md").write_text(tables.everything(results))
    (root / "docs/images").mkdir(parents=True, exist_ok=True)
    for page in ("benches/results/limits.md", "docs/kernels.md"):
        (root / page).write_text(tables.fill((ROOT / page).read_text(), results))
    plots.draw(results, root / "docs/images")


if __name__ == "__main__":
    main()
