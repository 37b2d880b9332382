"""Owners by the files of a folder, or by a pattern of names."""

from __future__ import annotations

import glob
from pathlib import Path

from dpsumm.data.files import KNOWN_SUFFIXES
from dpsumm.errors import InvalidParameterError


def owner_files(pattern: str) -> dict[str, Path]:
    """Return files in the order of their names; an owner is called by its file's name.

    Parameters
    ----------
    pattern
        A folder, whose files that can be read are taken, or a pattern such as ``sites/*.csv``.

    Raises
    ------
    InvalidParameterError
        There is no such file, or two have the same name but for the suffix.
    """
    folder = Path(pattern)
    if folder.is_dir():
        known = (*KNOWN_SUFFIXES, ".npy")
        files = [file for file in folder.iterdir() if file.name.lower().endswith(known)]
    else:
        files = list(map(Path, glob.glob(pattern)))
    found: dict[str, Path] = {}
    for file in sorted(file for file in files if file.is_file()):
        name = file.name.split(".")[0]
        if not name or name in found:
            raise InvalidParameterError(
                f"owners: two files of {pattern} would be the owner {name!r}; name each file by "
                "its owner, or give names (--owner NAME=FILE)"
            )
        found[name] = file
    if not found:
        raise InvalidParameterError(
            f"owners: {pattern} matches no file; give a folder of {', '.join(KNOWN_SUFFIXES)} "
            "files, or a pattern such as 'sites/*.csv' (in quotes, so that the shell leaves it)"
        )
    return found
