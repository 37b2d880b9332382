"""Which dpsumm this is: a digest of the installed package's files."""

from __future__ import annotations

import hashlib
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


def package_digest(folder: Path = _PACKAGE) -> str:
    """Return SHA-256 over names and contents of a package's files, in hexadecimal digits.

    The compiled core is one of them, so that builds for two systems differ. What Python compiles
    itself (``__pycache__``) is left out. It says that these files are as they were, not that the
    libraries below them are, and not what the process that computes it has loaded.

    >>> package_digest() == package_digest()
    True
    """
    whole = hashlib.sha256()
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    for name, path in sorted(files.items()):
        if "__pycache__" in path.parts or not path.is_file():
            continue
        data = path.read_bytes()
        whole.update(f"{name}\0{len(data)}\0".encode())
        whole.update(data)
    return whole.hexdigest()
