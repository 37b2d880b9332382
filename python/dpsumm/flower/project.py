"""The Flower project of a task: the app that curator and owners run, and how to recognize it."""

from __future__ import annotations

import io
import os
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from dpsumm.atomic import write_new
from dpsumm.errors import InvalidParameterError
from dpsumm.flower.settings import USUAL_TASK

_SETTINGS = "pyproject.toml"
# Flower's own list of a packed app's files.
_CONTENT = ".info/CONTENT"
_MAX_BYTES = 2**20


def write_project(folder: str | os.PathLike[str], task: str = USUAL_TASK) -> None:
    """Write the Flower project of a task; that of summaries is in ``deploy/flower``.

    Raises
    ------
    InvalidParameterError
        The folder exists.
    """
    folder = Path(folder)
    if folder.exists():
        raise InvalidParameterError(f"{folder} exists already; give another folder")
    for name, text in _files(task).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_new(path, text)


def is_own_app(packed: bytes) -> bool:
    """Return whether a packed app is a project as `write_project` makes it, whatever its settings.

    Its code is then a few lines that import the apps of the installed `dpsumm.flower`, and nothing
    else that the curator sends runs.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            entries = archive.infolist()
            if sum(entry.file_size for entry in entries) > _MAX_BYTES:
                return False
            found = {entry.filename: archive.read(entry).decode() for entry in entries}
    except (zipfile.BadZipFile, UnicodeDecodeError, NotImplementedError, RuntimeError, OSError):
        return False
    own = _files(USUAL_TASK)  # tasks differ in their settings alone
    if len(found) < len(entries) or found.keys() != {*own, _CONTENT}:
        return False
    if any(found[name] != text for name, text in own.items() if name != _SETTINGS):
        return False
    try:
        return _lasting(found[_SETTINGS]) == _lasting(own[_SETTINGS])
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError):
        return False


def _lasting(settings: str) -> dict[str, Any]:
    """Return what a project's settings say beside the public ones, which every run has anew."""
    read = tomllib.loads(settings)
    read["tool"]["flwr"]["app"].pop("config", None)
    return read


def _files(task: str) -> dict[str, str]:
    """Return the texts of a project's files by name."""
    here = Path(__file__).parent
    settings = [here / "project.toml", here / "tasks" / f"{task}.toml"]
    files = {
        _SETTINGS: "\n".join(path.read_text(encoding="utf-8") for path in settings),
        "dpsumm_silos/__init__.py": (
            '"""The Flower app of curator and owners; all of it is in `dpsumm.flower`."""\n'
        ),
    }
    for name, app, role in (
        ("curator", "server_app", "The curator."),
        ("owner", "client_app", "An owner."),
    ):
        files[f"dpsumm_silos/{name}.py"] = (
            f'"""{role}"""\n\nfrom dpsumm.flower import {app} as app\n\n__all__ = ["app"]\n'
        )
    return files
