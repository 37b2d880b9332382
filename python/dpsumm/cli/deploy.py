"""The commands ``dpsumm deploy ...``. Need the extras ``cli`` and ``flower``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpsumm.basics.checks import counted
from dpsumm.cli import console
from dpsumm.cli.options import described

app = typer.Typer(
    no_args_is_help=True, help="Across silos: make, start and end a trial with Flower."
)


@app.command()
@described
def init(
    folder: Annotated[Path, typer.Argument()],
    owner: list[str],
    data: Annotated[Path, typer.Option(exists=True)],
    schema: Annotated[Path, typer.Option(exists=True)],
    task: str = "summarize",
    port: int = 8000,
    records: int = 100_000,
) -> None:
    """Write certificates, keys, configuration and start scripts of a trial on this machine.

    Parameters
    ----------
    folder : FOLDER
        Made if absent.
    owner : NAME
        An owner's name; once per owner.
    data : DIRECTORY
        Holds each owner's NAME.csv, and for the curator target.csv, or public.csv to learn.
    schema : FILE
        The public schema; for synthesize a directory with each owner's NAME.toml.
    task
        What is run across silos: summarize, learn or synthesize.
    port
        Of the SuperLink; those of the SuperNodes follow it.
    records
        Of which an owner may ever tell, in all runs.
    """
    from dpsumm.basics.documents import read_toml
    from dpsumm.flower.tasks import task_of
    from dpsumm.flower.trial import make_trial

    made = make_trial(
        folder,
        owner,
        data=data,
        schema=schema,
        task=task,
        port=port,
        records=records,
    )
    told = read_toml(made / "curator" / "curator.toml", "trial")
    console.echo(
        f"Written to {made}. Then:",
        f"  dpsumm deploy up {made}",
        f"  sh {made}/curator/run.sh -c '{task_of(task).example}'",
        f"  dpsumm deploy down {made}",
        f"What comes out goes to {made}/curator/{told['out']}.",
    )


@app.command()
@described
def up(folder: Annotated[Path, typer.Argument()]) -> None:
    """Start the SuperLink and all SuperNodes of a trial on this machine.

    Returns when all are connected; they go on until [bold]dpsumm deploy down[/]. Their logs are in
    FOLDER/logs.

    Parameters
    ----------
    folder : FOLDER
        Made by [bold]dpsumm deploy init[/].
    """
    from dpsumm.basics.documents import read_toml
    from dpsumm.flower.running import start_trial
    from dpsumm.flower.tasks import task_of

    try:
        logs = start_trial(folder, console.echo)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("what was started has been ended") from None
    project = read_toml(folder / "app" / "pyproject.toml", "trial")
    task = project["tool"]["flwr"]["app"]["config"]["task"]
    console.echo(
        f"The trial is up, its logs are in {logs}. Then:",
        f"  sh {folder}/curator/run.sh -c '{task_of(task).example}'",
        f"  dpsumm deploy down {folder}",
    )


@app.command()
@described
def down(folder: Annotated[Path, typer.Argument()]) -> None:
    """End what dpsumm deploy up has started, and nothing else.

    A run that is going on is cut short, and can be resumed under its name.

    Parameters
    ----------
    folder : FOLDER
        Of the trial.
    """
    from dpsumm.flower.running import end_trial

    console.echo(f"{counted(end_trial(folder), 'process', 'processes')} ended.")
