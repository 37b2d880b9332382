"""The command ``dpsumm deploy init``. Needs the extras ``cli`` and ``flower``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

deploy_app = typer.Typer(no_args_is_help=True, help="Across silos: files for a trial with Flower.")


@deploy_app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Made if absent.")],
    owner: Annotated[
        list[str], typer.Option(metavar="NAME", help="An owner's name; once per owner.")
    ],
    data: Annotated[
        Path,
        typer.Option(
            metavar="DIRECTORY", help="Holds target.csv and each owner's NAME.csv.", exists=True
        ),
    ],
    schema: Annotated[Path, typer.Option(metavar="FILE", help="The public schema.", exists=True)],
    port: Annotated[
        int, typer.Option(help="Of the SuperLink; those of the SuperNodes follow it.")
    ] = 8000,
    max_points: Annotated[
        int, typer.Option(help="Records that an owner sends in a run, at most.")
    ] = 10_000,
) -> None:
    """Write certificates, keys, configuration and start scripts of a trial on this machine."""
    from dpsumm.flower.trial import make_trial

    made = make_trial(
        folder,
        owner,
        data=data,
        schema=schema,
        port=port,
        max_points=max_points,
    )
    typer.echo(
        f"Written to {made}. Start each of these in a terminal of its own, the first one first:\n"
        f"  sh {made}/curator/superlink.sh\n"
        f"  sh {made}/curator/register.sh"
    )
    for name in owner:
        typer.echo(f"  sh {made}/{name}/supernode.sh")
    typer.echo(
        f"  sh {made}/curator/run.sh -c 'size=100 epsilon=1.0'\n"
        f"The summary comes to {made}/curator/summary.parquet."
    )


# Typer makes a group of one command the command itself; this keeps the word `init`.
@deploy_app.callback()
def root() -> None:
    """Across silos: files for a trial with Flower."""
