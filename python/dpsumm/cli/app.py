"""The commands of ``dpsumm``, put together. Needs the extra ``cli``.

What only one command needs, that command imports when it runs, so that ``--help`` is quick and asks
for no extra.
"""

from __future__ import annotations

from typing import Annotated

import typer

from dpsumm import __version__
from dpsumm.cli.audit import audit
from dpsumm.cli.demo import demo
from dpsumm.cli.deploy import deploy_app
from dpsumm.cli.ledger import ledger_app
from dpsumm.cli.plan import plan
from dpsumm.cli.run import run
from dpsumm.cli.schema import schema_app

# Pretty tracebacks print local variables, and here these are people's data.
app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Private summaries of distributed data: real points of many owners that match a target.",
)
for command in (audit, plan, demo, run):
    app.command()(command)
app.add_typer(ledger_app, name="ledger")
app.add_typer(schema_app, name="schema")
app.add_typer(deploy_app, name="deploy")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dpsumm {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and leave.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Private summaries of distributed data: real points of many owners that match a target."""
