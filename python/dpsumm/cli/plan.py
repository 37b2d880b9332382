"""The command ``dpsumm plan``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpsumm.summary.plan import plan as make_plan


def plan(
    target_size: Annotated[int, typer.Option(help="Records of the target, at least 2.")],
    size: Annotated[int, typer.Option(help="Points in the summary, at least 1.")],
    epsilon: Annotated[float, typer.Option(help="Budget for the target's records.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Probability of failure.")] = 1e-5,
    parsimony: Annotated[
        float, typer.Option(help="Points read for each summary point, at the most.")
    ] = 4.0,
    n_features: Annotated[int, typer.Option(help="Random features of the release, even.")] = 2048,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the expected quality against epsilon to this .png or .svg."),
    ] = None,
) -> None:
    """What to expect of a run, from public numbers, before any data are touched."""
    made = make_plan(
        target_size,
        size,
        epsilon=epsilon,
        delta=delta,
        parsimony=parsimony,
        n_features=n_features,
    )
    typer.echo(str(made))
    if plot is not None:
        made.plot(plot)
        typer.echo(f"wrote {plot}")
