"""Write files so that a reader sees either the old contents or all of the new ones."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from dpsumm.errors import InvalidParameterError


def write_atomically(path: str | os.PathLike[str], write: Callable[[Path], object]) -> Path:
    """Write a file through a temporary neighbour that replaces it at the end. Return its path.

    If anything goes wrong inside `write`, a file at `path` stays as it was and no temporary
    file is left. After a return the contents are on the disk, not only in a cache.

    Parameters
    ----------
    path
        Where the file will be. Its directory must exist. The new file gets the permissions of
        the file it replaces. Otherwise only its user may read it, since most files hold records.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise InvalidParameterError(
            f"cannot write {path}: directory {path.parent} does not exist. Create it first"
        )
    if path.is_dir():
        raise InvalidParameterError(f"cannot write {path}: it is a directory. Give a file name")
    target = path.resolve()  # a symbolic link keeps pointing to the file that is replaced
    temporary = target.with_name(f".{secrets.token_hex(8)}.part{target.suffix}")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise InvalidParameterError(f"cannot write {path}: {error.strerror}") from None
    try:
        write(temporary)
        if target.exists():
            os.chmod(temporary, target.stat().st_mode & 0o777)
        _sync(temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if os.name == "posix":
        _sync(target.parent)  # the rename itself
    return path


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text file, UTF-8 with its line ends as they are, as `write_atomically` does."""
    data = text.encode("utf-8")
    return write_atomically(path, lambda place: place.write_bytes(data))


def _sync(path: Path) -> None:
    # Windows syncs only handles open for writing; a directory can only be opened for reading.
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_new(path: Path, text: str) -> None:
    """Write a file that must not exist yet, and that its user alone may read.

    If the disk is full there is no such file, and a second try is not refused for half a key.
    """
    with open(path, "x", encoding="utf-8", newline="", opener=_private) as file:
        try:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            path.unlink()
            raise


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
