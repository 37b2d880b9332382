"""A run's options in a TOML file: ``dpsumm run --config run.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import typer

from dpsumm.errors import InvalidParameterError

# Options whose value is a path: relative to the file that has it.
PATHS = ("schema", "ledger", "out", "report")


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
    formats: list[str] = []
    for key, value in given.items():
        name = key.replace("-", "_")
        if name not in known:
            raise InvalidParameterError(
                f"--config: {path}: unknown option {key!r}; known are {', '.join(sorted(known))}"
            )
        where = f"{path}: {key}"
        formats += _formats(name, value, where)
        options[name] = _as_typed(name, value, path.parent, where)
    if formats:
        options["format"] = [*options.get("format", []), *formats]
    context.default_map = {**(context.default_map or {}), **options}
    return path


def _as_typed(name: str, value: Any, folder: Path, where: str) -> Any:
    """Return a value as it would be typed."""
    if name == "owner" and isinstance(value, dict):
        return [f"{owner}={folder / _file(file, where)}" for owner, file in value.items()]
    if name == "target":
        return str(folder / _file(value, where))
    if name == "owner":
        parts = (str(item).rpartition("=") for item in _listed(value, where))
        return [f"{owner}{equals}{folder / file}" for owner, equals, file in parts]
    if name == "column" and isinstance(value, dict):
        return [f"{column}{_bounds(pair, where)}" for column, pair in value.items()]
    if name in ("column", "missing", "format"):
        return list(map(str, _listed(value, where)))
    if isinstance(value, (dict, list)):
        raise InvalidParameterError(f"--config: {where} must be one value")
    return str(folder / value) if name in PATHS and isinstance(value, str) else value


def _formats(name: str, value: Any, where: str) -> list[str]:
    """Return what tables of an owner or the target say of their files, as it would be typed."""
    files = {"target": value} if name == "target" else value if name == "owner" else {}
    return [
        f"{party}:{key}={','.join(said) if isinstance(said, list) else said}"
        for party, file in (files.items() if isinstance(files, dict) else ())
        if isinstance(file, dict)
        for key, said in file.items()
        if key != "file"
    ]


def _file(value: Any, where: str) -> str:
    """Return the path of a file that stands alone or in a table with its format."""
    path = value.get("file") if isinstance(value, dict) else value
    if not isinstance(path, str):
        raise InvalidParameterError(
            f"--config: {where} must hold paths, or tables such as "
            '{ file = "a.dat", kind = "csv" }'
        )
    return path


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
