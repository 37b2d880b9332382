"""A command that was interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar


class Interrupted(BaseException):
    """As `KeyboardInterrupt`, which Click would report in its own way, with what is left to say."""


class Charging:
    """Whether the command that runs may have charged something, and so may not deny it.

    Attributes
    ----------
    begun
        Set before anything can be charged, and by nothing taken back until another command runs.
    """

    begun = False


class OptionsFile:
    """The file of options that the command line reads, which no output may overwrite."""

    path: ClassVar[Path | None] = None
