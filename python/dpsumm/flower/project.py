"""The Flower project of a task, which is the app of curator and owners, and its recognition."""

from __future__ import annotations

import importlib
import io
import os
import re
import zipfile
from pathlib import Path

from dpsumm.basics.atomic import write_new
from dpsumm.basics.documents import parse_toml
from dpsumm.errors import InvalidParameterError
from dpsumm.flower.settings import USUAL_TASK

_SETTINGS = "pyproject.toml"
# Flower's own list of a packed app's files.
_CONTENT = ".info/CONTENT"
_MAX_BYTES = 2**20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_CONFIG = "\n[tool.flwr.app.config]\n"
_COMMENT = re.compile(r" *(#[^\x00-\x1f\x7f]*)?")
_SETTING = re.compile(
    r"[A-Za-z][A-Za-z0-9_-]{0,63} = ("
    r'"([^"\\\x00-\x1f\x7f]|\\["\\bfnrt]|\\u00[0-9a-fA-F]{2}){0,4096}"'
    r"|[+-]?(0|[1-9][0-9]{0,17})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,4})?"
    r"|[+-]?(inf|nan)|true|false)" + _COMMENT.pattern
)


def write_project(folder: str | os.PathLike[str], task: str = USUAL_TASK) -> None:
    """Write the Flower project of a task. That of summaries is in ``deploy/flower``."""
    folder = Path(folder)
    if folder.exists():
        raise InvalidParameterError(f"{folder} exists already. Give another folder")
    for name, text in _files(task).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_new(path, text)


def is_own_app(packed: bytes) -> bool:
    """Return whether a packed app is a project of `write_project` with any settings.

    Its code is then a few lines that import the apps of the installed `dpsumm.flower`, and nothing
    else that the curator sends runs. The answer is yes or no for all bytes, because texts are
    compared and not parsed. Settings are lines of a key with a short text, number or truth
    value, so that Flower, which parses them next, meets no other form.
    """
    if len(packed) > _MAX_BYTES:
        return False
    own = _files(USUAL_TASK)  # tasks differ in their settings alone
    names = sorted({*own, _CONTENT})
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            entries = archive.infolist()
            if sorted(entry.filename for entry in entries) != names:
                return False
            if sum(entry.file_size for entry in entries) > _MAX_BYTES:
                return False
            if any(entry.compress_type not in _METHODS for entry in entries):
                return False
            found = {entry.filename: archive.read(entry).decode() for entry in entries}
    except Exception:  # zipfile and zlib raise what they like: none of it is dpsumm's app
        return False
    settings, wanted = found.pop(_SETTINGS), own.pop(_SETTINGS)
    del found[_CONTENT]
    return found == own and _only_settings_differ(settings, wanted)


def _only_settings_differ(settings: str, own: str) -> bool:
    """Return whether a file of settings is `own`, or as Flower packs it, up to public values."""
    dumps = importlib.import_module("tomli_w").dumps  # Flower's, where there are nodes

    head, mark, values = settings.partition(_CONFIG)
    lasting = own.partition(_CONFIG)[0]
    packed = dumps(parse_toml(own, "project")).partition(_CONFIG)[0]
    lines = [line for line in values.split("\n") if line and not _COMMENT.fullmatch(line)]
    keys = [line.partition(" ")[0] for line in lines]
    return (
        bool(mark)
        and head in (lasting, packed)
        and all(map(_SETTING.fullmatch, lines))
        and len(set(keys)) == len(keys)
    )


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
