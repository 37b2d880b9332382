"""A run's options in a TOML file: ``dpsumm run --config run.toml``."""

from __future__ import annotations

from pathlib import Path

import typer

from dpsumm.summary.options_file import read_options


def use_config(context: typer.Context, path: Path | None) -> Path | None:
    """Take a file's options as defaults of a command's; what is typed comes first.

    Raises
    ------
    InvalidParameterError
        As `read_options`.
    """
    if path is not None:
        context.default_map = {**(context.default_map or {}), **read_options(path)}
    return path
