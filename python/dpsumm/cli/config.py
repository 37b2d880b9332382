"""A run's options in a TOML file: ``dpsumm run --config run.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import typer

from dpsumm.errors import InvalidParameterError

# Options whose value is a path: relative to the file that has it.
PATHS = ("target", "schema", "ledger", "out", "report")


def use_config(context: typer.Context, path: Path | None) -> Path | None:
    """Take a file's options as defaults of a command's; what is typed comes first.

    Raises
    ------
    InvalidParameterError
        No such file, no TOML, or an option that the command does not have.
    """
    if path is None:
        return None
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InvalidParameterError(f"--config: there is no file {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise InvalidParameterError(f"--config: {path} is not a TOML file") from None
    known = {parameter.name for parameter in context.command.params} - {"config", "help"}
    options: dict[str, Any] = {}
    for key, value in given.items():
        name = key.replace("-", "_")
        if name not in known:
            raise InvalidParameterError(
                f"--config: {path}: unknown option {key!r}; known are {', '.join(sorted(known))}"
            )
        options[name] = _as_typed(name, value, path.parent, f"{path}: {key}")
    context.default_map = {**(context.default_map or {}), **options}
    return path


def _as_typed(name: str, value: Any, folder: Path, where: str) -> Any:
    """Return a value as it would be typed."""
    if name == "owner" and isinstance(value, dict):
        return [f"{owner}={folder / str(file)}" for owner, file in value.items()]
    if name == "owner":
        parts = (str(item).rpartition("=") for item in _listed(value, where))
        return [f"{owner}{equals}{folder / file}" for owner, equals, file in parts]
    if name == "column" and isinstance(value, dict):
        return [f"{column}{_bounds(pair, where)}" for column, pair in value.items()]
    if name in ("column", "missing"):
        return list(map(str, _listed(value, where)))
    if isinstance(value, (dict, list)):
        raise InvalidParameterError(f"--config: {where} must be one value")
    return str(folder / value) if name in PATHS and isinstance(value, str) else value


def _listed(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidParameterError(f"--config: {where} must be a list")
    return value


def _bounds(pair: Any, where: str) -> str:
    if pair == []:
        return ""
    if not (isinstance(pair, list) and len(pair) == 2):
        raise InvalidParameterError(f"--config: {where} must hold [low, high], or [] for no bounds")
    return f"={pair[0]}:{pair[1]}"
