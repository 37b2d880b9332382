"""The tables of docs/results-rows.md and evidence/results/rows.md from the results."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from evidence.markdown import markdown

Lines = Sequence[Mapping[str, object]]
NAMES = {
    "adult": "Adult, two owners",
    "adult-3": "Adult, three owners",
    "adult-rare": "Adult, rare label",
    "clinic": "Clinic, two owners",
}
METHODS = {
    "default": "`Tables()`",
    "mixture": "`Tables()`, rows of its mixture alone",
    "chain": "`Tables()`, rows of its chain alone",
    "by-hand": "`Tables(bins=...)`, by hand",
    "MST": "MST, a trusted curator",
    "AIM": "AIM, a trusted curator",
    "dpvi": "`Dpvi`, the paper's method corrected",
    "dpvi-published": "`Dpvi.published()`, what the paper calls 1",
}

REAL = {"real": "the real rows", "alone": "the real rows, the label owner's columns alone"}


# What the guide's page shows, at this epsilon.
_USUAL = 1.0
_SHORT = ("default", "by-hand", "MST", "dpvi", "dpvi-published")


def written(page: str, results: Lines, of_parts: str = "") -> str:
    """Return the page of all tables with those between its marks replaced."""
    tables = {
        "accuracy": accuracy(results),
        "auc": _table(results, ("auc",), REAL | {"majority": "most frequent"}),
        "distance": distance(results),
        "parts": of_parts,
    }
    return _filled(page, tables)


def summed_up(page: str, results: Lines) -> str:
    """Return the guide's page with its table replaced."""
    rows = []
    for task in ("adult", "adult-rare", "clinic"):
        for method, words in (METHODS | REAL).items():
            mine = [r for r in results if (r["task"], r["method"]) == (task, method)]
            wanted = _SHORT if method in METHODS else REAL
            mine = [line for line in mine if "auc" in line and line["epsilon"] in (0, _USUAL)]
            if mine and method in wanted:
                across = "across" if method != "alone" else None
                cells = [_mean(mine, key) for key in ("trees", "auc", across)]
                rows.append([NAMES[task], words, *cells])
    head = ["table", "rows", "accuracy", "AUC", "distance across owners"]
    return _filled(page, {"short": markdown(head, rows)})


def _mean(lines: Lines, key: str | None) -> str:
    return "" if key is None else _short(np.mean([line[key] for line in lines]))


def _filled(page: str, tables: Mapping[str, str]) -> str:
    for name, text in tables.items():
        mark = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        page, found = mark.subn(lambda m, text=text: f"{m[1]}{text}\n{m[2]}", page)
        if found != 1:
            raise ValueError(f"the page needs one mark {name}")
    return page


def accuracy(results: Lines) -> str:
    """Return accuracies, linear / trees."""
    return _table(results, ("linear", "trees"), REAL | {"majority": "most frequent"})


def distance(results: Lines) -> str:
    """Return total variations, within / across owners."""
    return _table(results, ("within", "across"), {"real": REAL["real"]})


def _table(results: Lines, keys: Sequence[str], fixed: Mapping[str, str]) -> str:
    results = [line for line in results if keys[0] in line or "stopped" in line]
    epsilons = sorted({line["epsilon"] for line in results if line["epsilon"]})
    rows = []
    for task, name in NAMES.items():
        for method, words in METHODS.items():
            mine = [r for r in results if (r["task"], r["method"]) == (task, method)]
            if mine:
                cells = [_cell([r for r in mine if r["epsilon"] == e], keys) for e in epsilons]
                rows.append([name, words, *cells])
        for line in results:
            if line["task"] == task and line["method"] in fixed:
                cell = " / ".join(_short(line[key]) for key in keys)
                rows.append([name, fixed[line["method"]], cell, *[""] * (len(epsilons) - 1)])
    return markdown(["table", "method", *(f"epsilon {e:g}" for e in epsilons)], rows)


def _cell(lines: Lines, keys: Sequence[str]) -> str:
    done = [line for line in lines if keys[0] in line]
    if not done:
        return f"stopped after {max(line['cpu'] for line in lines):.0f} s" if lines else ""
    means = [_short(np.mean([line[key] for line in done])) for key in keys]
    few = "" if len(done) == 5 else f" ({len(done)})"
    return " / ".join(means) + few


def _short(value: object) -> str:
    return f"{value:.3f}".lstrip("0")
