"""Results of the audits for a reader: a table on the terminal, a page of documentation."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Sequence
from pathlib import Path

from dpsumm import __version__
from dpsumm.audit.audit import Found, Outcome
from dpsumm.audit.bound import FALSE_ALARM
from dpsumm.audit.measure import LEAST_CEILING
from dpsumm.audit.witness import Search
from dpsumm.basics.atomic import write_text
from dpsumm.privacy.record import code_digest
from dpsumm.report.audits import AuditResults, Result

HEADS = ("audit", "claim", "ceiling", "measured", "at δ", "trials", "twins caught", "verdict")
TWIN_HEADS = ("broken twin", "of the audit", "claim", "measured", "trials", "verdict")
# Found by halving the variance of all Gaussian noise; the tests named refuse it on every path.
UNSEEN = (
    "Every audit of Gaussian noise refutes noise divided by the root of 2, but for one. That of a "
    "model's weights passes with it, with half of the slope's noise and without noise on the "
    "weights. Its claim adds up four steps of one point each, and no data come near the sum. Of "
    "the summary release, the Auction and the exported model, quick mode has too few trials for "
    "it.",
    "",
    "An audit looks along one score. The audit of votes sums over all points, so it passes with "
    "noise that is drawn for half of them and used twice with other signs. An audit does not see "
    "charges, either.",
    "",
    "`tests/release` sees all of these. It compares each number that left with its own draw, its "
    "width and the charge, on every release path.",
)


def rows(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """Return one row of texts per audit, in the order of `HEADS`."""
    return [
        (
            outcome.audit.name,
            _claim(outcome),
            "one witness" if outcome.ceiling is None else f"{outcome.ceiling:.3f}",
            _finding(outcome.found),
            "" if outcome.claimed is None else f"{outcome.audit.delta:g}",
            f"{outcome.found.trials:,}",
            f"{outcome.caught} of {len(outcome.twins)}",
            "FAILS" if outcome.found.refuted else "holds",
        )
        for outcome in outcomes
    ]


def twin_rows(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """Return one row of texts per broken twin, in the order of `TWIN_HEADS`."""
    return [
        (
            twin.name,
            outcome.audit.name,
            _claim(outcome),
            _finding(found),
            f"{found.trials:,}",
            "caught" if found.refuted else "NOT CAUGHT",
        )
        for outcome in outcomes
        for twin, found in zip(outcome.audit.twins, outcome.twins, strict=True)
    ]


def _claim(outcome: Outcome) -> str:
    if isinstance(outcome.audit.subject, Search):
        return outcome.audit.subject.claim
    assert outcome.claimed is not None
    return f"ε ≤ {math.ceil(outcome.claimed * 1000 - 1e-5) / 1000:.3f}"


def _finding(found: Found) -> str:
    if found.epsilon is not None:
        return f"ε ≥ {found.epsilon:.3f}"
    return found.witness or "no witness"


def write_results(outcomes: Sequence[Outcome], path: Path, *, quick: bool, seed: int) -> None:
    """Write the results as JSON for dossiers, by suffix, else as a Markdown page."""
    if path.suffix == ".json":
        write_text(path, json.dumps(results_of(outcomes, quick=quick).to_json(), indent=1) + "\n")
    else:
        write_page(outcomes, path, quick=quick, seed=seed)


def results_of(outcomes: Sequence[Outcome], *, quick: bool) -> AuditResults:
    """Return the results as a dossier shows them, bound to the package's files."""
    return AuditResults(
        version=__version__,
        code=code_digest(),
        written=datetime.datetime.now(datetime.UTC).isoformat(timespec="minutes"),
        quick=quick,
        results=tuple(
            Result(outcome.passed, *row[:-1])
            for row, outcome in zip(rows(outcomes), outcomes, strict=True)
        ),
    )


def write_page(outcomes: Sequence[Outcome], path: Path, *, quick: bool, seed: int) -> None:
    """Write the results as a Markdown page. Whole or not at all."""
    lines = [
        "# Audits",
        "",
        f"Written on {datetime.date.today()} by dpsumm {__version__}: `dpsumm audit"
        + (" --quick" if quick else "")
        + f" --seed {seed} --out FILE` (the seed is of the made-up data; "
        "noise is fresh).",
        "",
        "Mechanisms and whole runs are drawn on worst cases of neighbouring data, through the "
        "package's own code. An audit bounds epsilon from below by what an observer can tell apart "
        "(Clopper-Pearson; the event is chosen on one half of the trials and tested on the other; "
        f"each bound is above the truth with probability at most {FALSE_ALARM:g}). A claim fails "
        "if the bound exceeds what the ledger charges at the same delta; the charge of a Gaussian "
        "is a claim at every delta. A claim that nothing may move is searched for one witness "
        "against it. A bound below the claim is no proof: the proofs are on the other pages.",
        "",
        "The ceiling is what an audit measures of two worlds that are told apart always. Audits "
        f"refuse to run with a ceiling below {LEAST_CEILING:g} times the claim, because they could "
        "hardly fail. Every audit has a broken twin, a copy with one known mistake such as half of "
        "the noise. It must catch the twin with the same score on the same data, and with no more "
        "trials than the claim gets in quick mode.",
        "",
    ]
    for title, heads, table in (
        ("Claims", HEADS, rows(outcomes)),
        ("Broken twins", TWIN_HEADS, twin_rows(outcomes)),
    ):
        lines += [f"## {title}", "", "| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
        lines += ["| " + " | ".join(row) + " |" for row in table]
        lines.append("")
    lines += ["## What audits do not see", "", *UNSEEN, ""]
    write_text(path, "\n".join(lines))
