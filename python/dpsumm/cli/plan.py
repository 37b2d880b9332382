"""The command ``dpsumm plan``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from dpsumm.atomic import write_atomically
from dpsumm.checks import check_installed
from dpsumm.cli import console
from dpsumm.cli.options import described
from dpsumm.cli.typed import typed
from dpsumm.data.short import schema_said
from dpsumm.errors import InvalidParameterError
from dpsumm.summary.kernel import RBF
from dpsumm.summary.plan import Plan
from dpsumm.summary.plan import plan as make_plan
from dpsumm.summary.protocols.features import FeatureChoice
from dpsumm.summary.protocols.offers import Offers


@described
def plan(
    target_size: int,
    size: int,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    reads_per_record: float = 4.0,
    features: str = "auto",
    n_features: Annotated[
        int | None, typer.Option(show_default="1024 landmarks or 2048 random")
    ] = None,
    schema: list[str] | None = None,
    gamma: float | None = None,
    plot: Path | None = None,
) -> None:
    """What to expect of a run, from public numbers, before any data are touched.

    Parameters
    ----------
    target_size
        Records of the target, at least 2.
    size
        Points in the summary, at least 1.
    epsilon
        Budget for the target's records.
    delta
        Probability of failure.
    reads_per_record
        Points read for each summary point, at the most.
    features
        What the target is released in: auto, landmarks or random, as for `dpsumm summarize`.
    n_features
        How many features; random ones are even in number.
    schema : FILE or NAME=WHAT
        The data's: with bounds or categories for all columns the release needs less noise.
    gamma
        The run's bandwidth, if it does not follow from the schema.
    plot
        Draw the expected quality against epsilon to this .png or .svg.
    """
    made = make_plan(
        target_size,
        size,
        epsilon=epsilon,
        delta=delta,
        protocol=Offers(
            reads_per_record=reads_per_record,
            features=cast(FeatureChoice, features),
            n_features=n_features,
        ),
        schema=schema_said(schema),
        kernel=None if gamma is None else RBF(gamma),
    )
    if plot is not None:
        _draw(made, plot)
    console.echo(*typed(str(made)).splitlines())
    if plot is not None:
        console.echo(f"wrote {plot}")


def _draw(made: Plan, path: Path) -> None:
    check_installed("matplotlib", "--plot needs", "report")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    made.plot(figure.subplots())
    try:
        write_atomically(path, figure.savefig)
    except (OSError, ValueError) as error:
        why = str(error).removeprefix(f"cannot write {path}: ")
        raise InvalidParameterError(f"--plot: cannot write {path}: {why}") from None
