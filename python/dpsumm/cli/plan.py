"""The commands ``dpsumm plan PRODUCT``, which say what to expect before any data are read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from dpsumm.basics.atomic import write_atomically
from dpsumm.basics.checks import check_installed
from dpsumm.cli import console
from dpsumm.cli.options import described
from dpsumm.cli.typed import typed
from dpsumm.data.short import schema_said
from dpsumm.ensemble import options as votes
from dpsumm.ensemble.plans import plan_learning
from dpsumm.errors import InvalidParameterError
from dpsumm.summary.kernel import RBF
from dpsumm.summary.plan import PointsPlan
from dpsumm.summary.plan import plan as make_plan
from dpsumm.summary.protocols.features import FeatureChoice
from dpsumm.summary.protocols.offers import Offers
from dpsumm.vertical import options as rows
from dpsumm.vertical.plan import plan_synthesis

app = typer.Typer(no_args_is_help=True)


@app.command()
@described
def summarize(
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
    rarity: Annotated[float | None, typer.Option(show_default="unknown")] = None,
    plot: Path | None = None,
) -> None:
    """Predict how close to the target the points will be.

    Parameters
    ----------
    target_size
        Records of the target, at least 2.
    size
        Points in the summary, at least 1.
    epsilon
        Budget of the target's records.
    delta
        Probability that the bound of epsilon need not cover.
    reads_per_record
        Points to read for each point of the summary.
    features
        Features of the release, auto, landmarks or random, as for `dpsumm summarize`.
    n_features
        Number of features. It must be even for random ones.
    schema : FILE or NAME=WHAT
        The public schema. With bounds or categories for all columns the release needs less noise.
    gamma
        The run's bandwidth, if it does not follow from the schema.
    rarity
        Public guess of the share of the owners' records that are like the target.
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
        rarity=rarity,
    )
    if plot is not None:
        _draw(made, plot)
    console.echo(*typed(str(made)).splitlines())
    if plot is not None:
        console.echo(f"wrote {plot}")


@app.command()
@described
def learn(
    points: int,
    parties: int,
    method: votes.Method,
    classes: str | None = None,
    schema: list[str] | None = None,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    unit: votes.Unit = votes.Unit.OWNER,
) -> None:
    """Predict how much a classifier will learn in spite of the noise.

    Parameters
    ----------
    points
        Public points without labels, at least 20.
    parties
        Number of parties, at least 2.
    classes : A,B,...
        All labels. By default they are the categories of the schema's label.
    schema : FILE or NAME=WHAT
        The parties' public schema, as for `dpsumm learn`.
    epsilon
        Budget of the parties' records.
    delta
        Probability that the bound of epsilon need not cover.
    unit
        Data that are protected together, all records of a party or one record.
    """
    made = plan_learning(
        parties,
        points,
        len(votes.labels_of(classes, schema)),
        epsilon=epsilon,
        delta=delta,
        protocol=method.asked,
        unit=unit.value,
    )
    console.echo(*typed(str(made)).splitlines())


@app.command()
@described
def synthesize(
    records: int,
    schema: list[str],
    method: rows.Method,
    ids: str | None = None,
    epsilon: float = 1.0,
    delta: float = 1e-5,
) -> None:
    """Predict how much of the tables synthetic rows will show in spite of the noise.

    Parameters
    ----------
    records
        Number of records, at least 1.
    schema : NAME=FILE
        An owner's public schema. Repeat it for each owner.
    ids : COLUMN
        A column of identifiers that all owners have, of kind 'ignore' in the schemas.
    epsilon
        Budget of one record towards every party.
    delta
        Probability that the bound of epsilon need not cover.
    """
    made = plan_synthesis(
        rows.schemas_of(schema),
        records,
        epsilon=epsilon,
        delta=delta,
        label=method.label,
        protocol=method.protocol,
        ids=ids,
    )
    console.echo(*typed(str(made)).splitlines())


def _draw(made: PointsPlan, path: Path) -> None:
    check_installed("matplotlib", "--plot needs", "report")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    made.plot(figure.subplots())
    try:
        write_atomically(path, figure.savefig)
    except (OSError, ValueError) as error:
        why = str(error).removeprefix(f"cannot write {path}: ")
        raise InvalidParameterError(f"--plot: cannot write {path}: {why}") from None
