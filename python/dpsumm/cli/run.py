"""The command ``dpsumm run FILE``: the command that a file names, with the file's options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dpsumm.cli.products import read_run
from dpsumm.cli.stopped import OptionsFile


def run(file: Annotated[Path, typer.Argument(metavar="FILE")]) -> None:
    """Run the product that a TOML file names, with the options in the file.

    FILE has product = "summarize", "learn" or "synthesize", and any options of that
    command without their dashes, such as size = 200. Paths are relative to the file.
    Options after FILE take precedence.
    """
    raise AssertionError("`take_file` gives the product's command its place")


def take_file(context: Any, path: Path) -> str:
    """Take a file's options as defaults of its product's command, and return the command's word.

    Raises
    ------
    InvalidParameterError
        As `read_run`.
    """
    product, options = read_run(path)
    context.default_map = {product: options}
    OptionsFile.path = path
    return product
