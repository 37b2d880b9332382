"""The page of full tables and the short one of docs/results-learn.md, from the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import polars as pl

from evidence.markdown import markdown
from evidence.page import filled

ROOT = Path(__file__).resolve().parents[2]
PAGE, SHORT = "evidence/results/learn.md", "docs/results-learn.md"
METHODS = {
    "private updates": "private updates, the default",
    "federated averaging": "federated averaging *",
    "noisy votes, Spectral": "noisy votes, default student",
    "noisy votes, by 200 labels": "noisy votes, student by 200 labels",
    "PATE's GNMax": "PATE's GNMax *",
    "averaged parameters": "averaged noisy parameters *",
    "Hamm, Cao & Belkin, soft votes": "soft votes as published *",
}
RECORDS = {
    "private updates, a record": "private updates, the default",
    "DP-SGD of sums, a record": "DP-SGD of sums *",
}
OPEN = {
    "one party alone, mean": "one party alone",
    "ensemble's majority": "the parties' majority",
    "the same student, without noise": "default student, votes without noise",
}
NAMES = {"shift, target's points": "the target's people", "shift, other points": "other people"}
Table = pl.DataFrame


def write(table: Table, machine: Mapping[str, str], folder: Path) -> str:
    """Fill the page's block, into `folder`, and return what stands in it."""
    parts = []
    for data in ("Adult", "MNIST", "digits"):
        if data in set(table["scenario"]):
            parts.append(_accuracies(table.filter(pl.col("scenario") == data), data))
    shifted = table.filter(pl.col("scenario").is_in(list(NAMES)))
    if not shifted.is_empty():
        parts.append(_shift(shifted))
    times = table.filter(pl.col("method").str.starts_with("seconds"))
    rows = [
        [row["method"].removeprefix("seconds: "), f"{row['mean']:.2f}"]
        for row in times.iter_rows(named=True)
    ]
    if rows:
        head = ["1000 parties, 10,000 points, 10 classes", "CPU seconds, one core"]
        parts.append(markdown(head, rows))
    known = ("code", "Python", "numpy", "scikit-learn", "processor")
    codes = " and ".join(sorted(set(table["code"])))
    made = ", ".join(f"{name} {machine[name]}" for name in known if name in machine)
    content = "\n\n".join([*parts, f"Made with {made}. Learning's own code: {codes}."])
    for page, block, made in ((PAGE, "measured", content), (SHORT, "short", _short(table))):
        text = filled((ROOT / page).read_text(), block, made)
        (folder / page).parent.mkdir(parents=True, exist_ok=True)
        (folder / page).write_text(text)
    return content


def _short(table: Table) -> str:
    """Return each method at epsilon 1, for many parties and for few with a record protected."""
    data = ("Adult", "MNIST", "digits")
    parts = []
    for methods, parties, title in (
        (METHODS, 100, "100 parties, each protected as a whole"),
        (RECORDS, 10, "10 parties, one record protected"),
    ):
        rows = [
            [
                shown,
                *(
                    _cell(table, scenario=one, method=method, parties=parties, epsilon=1.0)
                    for one in data
                ),
            ]
            for method, shown in methods.items()
        ]
        parts.append(markdown([title, *data], rows))
    return "\n\n".join(parts)


def _cell(table: Table, **wanted: object) -> str:
    for name, value in wanted.items():
        table = table.filter(pl.col(name) == value)
    if table.is_empty():
        return ""
    row = table.row(0, named=True)
    mean, spread = 100 * row["mean"], 100 * (row["spread"] or 0.0)
    return f"{mean:.1f} ± {spread:.1f}" if spread else f"{mean:.1f}"


def _accuracies(table: Table, data: str) -> str:
    cells = sorted(set(table.filter(pl.col("epsilon").is_finite())["parties"]))
    whole = _private(table, METHODS, f"{data}: parties, epsilon")
    of_records = table.filter(pl.col("method").is_in(list(RECORDS)))
    records = _private(of_records, RECORDS, f"{data}, one record protected: parties, epsilon")
    without = [
        [shown, *(_cell(table, method=method, parties=m) for m in cells)]
        for method, shown in OPEN.items()
    ]
    public = markdown([f"{data}, without privacy: parties", *(f"{m}" for m in cells)], without)
    return "\n\n".join([whole, *([] if of_records.is_empty() else [records]), public])


def _private(table: Table, methods: Mapping[str, str], title: str) -> str:
    finite = table.filter(pl.col("epsilon").is_finite())
    columns = list(product(sorted(set(finite["parties"])), sorted(set(finite["epsilon"]))))
    rows: list[Sequence[str]] = [
        [shown, *(_cell(table, method=method, parties=m, epsilon=e) for m, e in columns)]
        for method, shown in methods.items()
    ]
    return markdown([title, *(f"{m}, {e:g}" for m, e in columns)], rows)


def _shift(table: Table) -> str:
    columns = [(m, e) for m in sorted(set(table["parties"])) for e in (1.0, 3.0)]
    rows = [
        [
            f"{shown}, {words}",
            *(_cell(table, scenario=name, method=method, parties=m, epsilon=e) for m, e in columns),
        ]
        for name, shown in NAMES.items()
        for method, words in (
            ("private updates", "updates"),
            ("federated averaging", "federated averaging *"),
            ("noisy votes, Spectral", "votes"),
        )
    ]
    return markdown(["shift: public points", *(f"{m}, {e:g}" for m, e in columns)], rows)
