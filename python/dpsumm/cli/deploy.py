"""The command ``dpsumm deploy init``. Needs the extras ``cli`` and ``flower``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpsumm.cli.options import described

app = typer.Typer(no_args_is_help=True, help="Across silos: files for a trial with Flower.")


@app.command()
@described
def init(
    folder: Annotated[Path, typer.Argument()],
    owner: list[str],
    data: Annotated[Path, typer.Option(exists=True)],
    schema: Annotated[Path, typer.Option(exists=True)],
    task: str = "summarize",
    port: int = 8000,
    records_per_run: int = 10_000,
) -> None:
    """Write certificates, keys, configuration and start scripts of a trial on this machine.

    Parameters
    ----------
    folder : FOLDER
        Made if absent.
    owner : NAME
        An owner's name; once per owner.
    data : DIRECTORY
        Holds each owner's NAME.csv, and for the curator target.csv, or auxiliary.csv to learn.
    schema : FILE
        The public schema; for synthesize a directory with each owner's NAME.toml.
    task
        What is run across silos: summarize, learn or synthesize.
    port
        Of the SuperLink; those of the SuperNodes follow it.
    records_per_run
        Records that an owner sends in a run, at most.
    """
    from dpsumm.flower.settings import read_toml
    from dpsumm.flower.tasks import task_of
    from dpsumm.flower.trial import make_trial

    made = make_trial(
        folder,
        owner,
        data=data,
        schema=schema,
        task=task,
        port=port,
        records_per_run=records_per_run,
    )
    curator = read_toml(made / "curator" / "curator.toml")
    supernodes = "".join(f"  sh {made}/{name}/supernode.sh\n" for name in curator["owners"])
    typer.echo(
        f"Written to {made}. Start each of these in a terminal of its own, the first one first:\n"
        f"  sh {made}/curator/superlink.sh\n"
        f"  sh {made}/curator/register.sh\n"
        f"{supernodes}"
        f"  sh {made}/curator/run.sh -c '{task_of(task).example}'\n"
        f"What comes out goes to {made}/curator/{curator['out']}."
    )


# Typer makes a group of one command the command itself; this keeps the word `init`.
@app.callback()
def root() -> None:
    """Across silos: files for a trial with Flower."""
