"""The commands ``dpsumm deploy ...``. Need the extras ``cli`` and ``flower``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpsumm.basics.checks import counted
from dpsumm.cli import console
from dpsumm.cli.options import described

app = typer.Typer(no_args_is_help=True)


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
        It is created if needed.
    owner : NAME
        An owner's name. Repeat it for each owner.
    data : DIRECTORY
        Folder with each owner's NAME.csv, and target.csv (or public.csv for learn) for the curator.
    schema : FILE
        The public schema. For synthesize, a folder with each owner's NAME.toml.
    task
        The product, which is summarize, learn or synthesize.
    port
        Port of the SuperLink. The SuperNodes use the ports that follow it.
    records
        Largest number of records that may ever leave an owner, in all runs.
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

    It returns when all are connected. They run until dpsumm deploy down. Their logs are in
    FOLDER/logs.

    Parameters
    ----------
    folder : FOLDER
        The folder that dpsumm deploy init made.
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
    """Stop all that dpsumm deploy up has started.

    A run in progress is interrupted, and can be resumed under its name.

    Parameters
    ----------
    folder : FOLDER
        The trial's folder.
    """
    from dpsumm.flower.running import end_trial

    console.echo(f"{counted(end_trial(folder), 'process', 'processes')} ended.")
