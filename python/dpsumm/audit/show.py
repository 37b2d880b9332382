"""Results of the audits for a reader: a table on the terminal, a page of documentation."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from pathlib import Path

from dpsumm._core import __version__
from dpsumm.atomic import write_atomically
from dpsumm.audit.bound import FALSE_ALARM
from dpsumm.audit.suite import Outcome

HEADS = ("audit", "claimed ε", "measured ε ≥", "at δ", "trials", "verdict")


def rows(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """Return one row of texts per outcome, in the order of `HEADS`."""
    return [
        (
            outcome.audit.name,
            _claim(outcome),
            _finding(outcome),
            "" if outcome.measured is None else f"{outcome.audit.delta:g}",
            f"{outcome.trials:,}",
            _verdict(outcome),
        )
        for outcome in outcomes
    ]


def _claim(outcome: Outcome) -> str:
    if outcome.claimed is None:
        return "bound of a lemma"
    return f"{math.ceil(outcome.claimed * 1000 - 1e-5) / 1000:.3f}"


def _finding(outcome: Outcome) -> str:
    if outcome.measured is not None:
        return f"{outcome.measured:.3f}"
    return outcome.witness or "no witness"


def _verdict(outcome: Outcome) -> str:
    if outcome.audit.broken:
        return "caught" if outcome.passed else "NOT CAUGHT"
    return "holds" if outcome.passed else "FAILS"


def write_page(outcomes: Sequence[Outcome], path: Path, *, quick: bool, seed: int) -> None:
    """Write the results as a Markdown page. Whole or not at all."""
    lines = [
        "# Audits",
        "",
        f"Written on {datetime.date.today()} by dpsumm {__version__}: `dpsumm audit"
        + (" --quick" if quick else "")
        + f" --seed {seed} --out FILE` (the seed is of the made-up data; "
        "noise is fresh). Mechanisms and "
        "whole runs are drawn on worst cases of neighbouring data, through the package's own code, "
        "and epsilon is bounded from below by what an observer could tell apart (Clopper-Pearson; "
        "the event is chosen on one half of the trials and tested on the other; each bound is "
        f"above the truth with probability at most {FALSE_ALARM:g}). A claim fails if the bound "
        "exceeds what the ledger charges. A bound below the claim is no proof: the proofs are on "
        "the other pages.",
        "",
    ]
    for title, broken, text in (
        ("Claims", False, "These must hold."),
        (
            "Broken twins",
            True,
            "Copies with one known mistake each, which the same harness must catch.",
        ),
    ):
        lines += [
            f"## {title}",
            text,
            "",
            "| " + " | ".join(HEADS) + " |",
            "|---" * len(HEADS) + "|",
        ]
        chosen = [outcome for outcome in outcomes if outcome.audit.broken is broken]
        lines += ["| " + " | ".join(row) + " |" for row in rows(chosen)]
        lines.append("")
    text = "\n".join(lines)

    def write(temporary: Path) -> None:
        temporary.write_text(text, encoding="utf-8")

    write_atomically(path, write)
