"""A file to remember by, for channels that tests make without a fixture."""

import shutil
import tempfile
import weakref
from pathlib import Path


def kept_by(owner):
    """Return a path in a folder that goes when `owner` does."""
    folder = tempfile.mkdtemp()
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return Path(folder) / "kept"
