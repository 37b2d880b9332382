"""The command ``dpsumm audit``. Needs the extra ``cli``."""

from __future__ import annotations

import secrets
from pathlib import Path

import typer

from dpsumm import kernels
from dpsumm.cli import console
from dpsumm.cli.options import Seed, described


@described
def audit(quick: bool = False, seed: Seed = None, out: Path | None = None) -> None:
    """Measure what the mechanisms leak, on made-up data, and catch broken copies.

    Ends with exit code 1 if a claim fails or a broken twin is not caught.

    Parameters
    ----------
    quick
        Run fewer trials, for about a minute instead of five.
    seed
        Seed of the made-up data. Noise and coins are always fresh.
    out : FILE
        File for the results, as .json for dpsumm dossier or else as a Markdown page.
    """
    from dpsumm.audit import run_audits
    from dpsumm.audit.show import HEADS, TWIN_HEADS, rows, twin_rows, write_results

    seed = secrets.randbits(32) if seed is None else seed
    kernels.set_threads(1)  # inputs are tiny: handing them to threads costs more than the work
    try:
        with console.progress() as progress:
            outcomes = run_audits(quick=quick, seed=seed, progress=progress)
    finally:
        kernels.set_threads(0)
    for heads, texts, holds in (
        (HEADS, rows(outcomes), [outcome.passed for outcome in outcomes]),
        (TWIN_HEADS, twin_rows(outcomes), [found.refuted for o in outcomes for found in o.twins]),
    ):
        bad = {i: "bold red" for i, good in enumerate(holds) if not good}
        console.show_table(heads, texts, styles=bad)
    if out is not None:
        write_results(outcomes, out, quick=quick, seed=seed)
        console.show_files([out])
    if not all(outcome.passed for outcome in outcomes):
        raise typer.Exit(1)
