"""The commands of ``dpsumm``, put together. Needs the extra ``cli``.

``--help`` is quick and asks for no other extra: a command's module loads when its word is given.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dpsumm.basics.visible import visible
from dpsumm.cli.help import WIDTH, Command
from dpsumm.cli.options import described
from dpsumm.cli.stopped import Interrupted

# The words in the order of the list, and what the list says of each: the first paragraph of
# its help. The command is the function of that name, or the `app`, in the module of that name.
COMMANDS = {
    "audit": "Measure what the mechanisms leak, on made-up data, and catch broken copies.",
    "plan": "Predict the result of a run from public numbers, before any data are read.",
    "compare": "Rehearse pool, offers and uniform, to see the cost and the quality of each.",
    "demo": "Compare protocols on handwritten digits, in less than a minute.",
    "summarize": "Select points of owners that match a target.",
    "learn": "Learn a classifier from parties' records or models, and unlabelled public points.",
    "predict": "Predict classes of rows by a model that `dpsumm learn --model` wrote.",
    "synthesize": "Make synthetic rows of a table whose columns several owners hold.",
    "run": "Run the product that a TOML file names, with the options in the file.",
    "dossier": "Write one page for a data-protection officer about recipients, messages and cost.",
    "ledger": "Create, show or export a ledger of spent budgets, or set a cap.",
    "schema": "Draft a public schema from a public sample, or check your own data against one.",
    "deploy": "Set up, start and stop a trial across silos with Flower.",
    "node": "Set an owner's rules for records that may leave its machine, and show its log.",
}

# These have one module for their options.
CALLS = ("summarize", "learn", "synthesize")

# Click's, wherever this version of Typer has it.
UsageError: Any = typer.BadParameter.__base__


@contextmanager
def _spelled() -> Iterator[None]:
    """Show a word of the line that is wrong, such as the name of somebody's file, in one line."""
    try:
        yield
    except UsageError as error:
        error.message = visible(error.message)
        raise


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        """Run the command. An interruption is for `main` to tell of, not for Click."""
        try:
            with warnings.catch_warnings(), _spelled():
                # `tell_uncounted` says it in options.
                warnings.filterwarnings("ignore", "no ledger:")
                return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Interrupted(str(error)) from None

    def make_context(self, *args: Any, **given: Any) -> Any:
        """Read the options before the command's word."""
        with _spelled():
            return super().make_context(*args, **given)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load the command that the first word names."""
        name, _, rest = super().resolve_command(ctx, args)
        if name == "run" and rest and not rest[0].startswith("-"):
            from dpsumm.cli.run import take_file

            name, rest = take_file(ctx, Path(rest[0])), rest[1:]
        return name, load(str(name)), rest


def load(name: str) -> Any:
    """Return the command, or the group of commands, of a word."""
    module = import_module(f"dpsumm.cli.{'calls' if name in CALLS else name}")
    holder = typer.Typer(rich_markup_mode=None)
    if hasattr(module, "app"):
        holder.add_typer(module.app, name=name, help=COMMANDS[name], context_settings=WIDTH)
        for one in module.app.registered_commands:
            one.cls, one.context_settings = Command, WIDTH
    else:
        holder.command(name, cls=Command, context_settings=WIDTH)(getattr(module, name))
    return typer.main.get_group(holder).commands[name]


def words() -> Iterator[str]:
    """Give the words of each command, such as ``ledger show``."""
    for name in COMMANDS:
        yield from [f"{name} {one}" for one in getattr(load(name), "commands", ())] or [name]


# Pretty tracebacks print local variables, and here these are people's data.
app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=WIDTH,
)


def _listed() -> None:
    """Stand in the list for a command that is not loaded."""


for word, text in COMMANDS.items():
    app.command(word, help=text)(_listed)


def _print_version(wanted: bool) -> None:
    if wanted:
        from dpsumm import __version__

        typer.echo(f"dpsumm {__version__}")
        raise typer.Exit


@app.callback()
@described
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Private summaries of distributed data: real points of many owners that match a target.

    Parameters
    ----------
    version
        Print the version and leave.
    """
