"""Options that several commands have, and commands whose options are fields of values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import is_dataclass
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer

# Panels of the help.
DATA, PRIVACY, METHOD, OUTPUT = "Data", "Privacy", "Method", "Output"

Size = Annotated[
    int, typer.Option(help="Points in the summary, at least 1.", rich_help_panel=METHOD)
]
Epsilon = Annotated[
    float,
    typer.Option(
        help="Budget for the target's records towards an owner, in nats, above 0; smaller is "
        "more private.",
        rich_help_panel=PRIVACY,
    ),
]
Delta = Annotated[
    float,
    typer.Option(
        help="Probability of failure of the guarantee, between 0 and 1; usual: well below "
        "1 / target records.",
        rich_help_panel=PRIVACY,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        help="Repeatable run for tests: [bold]not private[/], epsilon is then infinite.",
        rich_help_panel=PRIVACY,
        min=0,
    ),
]
NAMES = "Column names, for CSV files without a header row."
SEPARATOR = "Character between CSV fields."


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the fields of its dataclass parameters as options of their own."""
    own = signature(command, eval_str=True).parameters
    groups = {
        name: signature(parameter.annotation, eval_str=True).parameters
        for name, parameter in own.items()
        if isinstance(parameter.annotation, type) and is_dataclass(parameter.annotation)
    }

    @functools.wraps(command)
    def called(**given: Any) -> None:
        for name, options in groups.items():
            given[name] = own[name].annotation(**{option: given.pop(option) for option in options})
        command(**given)

    called.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            option.replace(kind=Parameter.KEYWORD_ONLY)
            for name, parameter in own.items()
            for option in (groups[name].values() if name in groups else [parameter])
        ]
    )
    return called
