"""Commands whose docstrings are their help, and how these become options."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import is_dataclass
from inspect import Parameter, Signature, getdoc, signature
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo

from dpsumm.cli.typed import OPTIONS, typed
from dpsumm.errors import DpsummError

# An entry of a docstring in NumPy's style: ``name : WHAT``, then indented lines.
_ENTRY = re.compile(r"^(\w+)(?: : (.+))?\n((?: {4}.+(?:\n|$))+)", re.MULTILINE)

Seed = Annotated[int | None, typer.Option(min=0)]


def described(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with options whose help is what its docstring says of its parameters.

    A parameter that is a dataclass stands for its fields, options in a panel of that name. A text
    after a type is the default that is shown.
    """
    groups = {
        name: parameter.annotation
        for name, parameter in signature(command, eval_str=True).parameters.items()
        if isinstance(parameter.annotation, type) and is_dataclass(parameter.annotation)
    }
    options = {name: list(_options(group)) for name, group in groups.items()}

    @functools.wraps(command)
    def called(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{option.name: given.pop(option.name) for option in options[name]})
        before = OPTIONS.set(typable)
        try:
            command(**given)
        except DpsummError as error:
            raise DpsummError(typed(str(error))) from error
        finally:
            OPTIONS.reset(before)

    plain = [option for option in _options(command) if option.name not in groups]
    own = [*plain, *(option for each in options.values() for option in each)]
    typable = {one.name for one in own if isinstance(get_args(one.annotation)[1], OptionInfo)}
    called.__signature__ = Signature(own)  # type: ignore[attr-defined]
    called.__doc__ = (getdoc(command) or "").partition("\n\nParameters\n")[0]
    return called


def _options(holder: Callable[..., Any]) -> Iterator[Parameter]:
    """Give a function's parameters, or a dataclass's fields, with the help of its docstring."""
    # A dataclass may take fields of another one, and say more of them.
    docs = [getdoc(one) or "" for one in reversed(getattr(holder, "__mro__", (holder,)))]
    texts = {name: (what, text) for doc in docs for name, what, text in _ENTRY.findall(doc)}
    kinds = get_type_hints(holder, include_extras=True)
    for name, parameter in signature(holder).parameters.items():
        kind = kinds[name]
        if get_origin(kind) is Annotated:
            kind, option = get_args(kind)
            option = typer.Option(show_default=option) if isinstance(option, str) else copy(option)
        else:  # a flag has no negation
            option = typer.Option(*[f"--{name.replace('_', '-')}"] * (kind is bool))
        what, text = texts.get(name, ("", ""))  # Python leaves docstrings out if told to
        option.metavar, option.help = what or None, " ".join(text.split())
        option.rich_help_panel = holder.__name__ if is_dataclass(holder) else None
        yield parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=Annotated[kind, option])
