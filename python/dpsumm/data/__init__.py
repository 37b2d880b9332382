"""A party's data as arrays with publicly known columns."""

from typing import TYPE_CHECKING

from dpsumm.basics.lazy import names_of

if TYPE_CHECKING:
    from dpsumm.data.file import File, FileFormat
    from dpsumm.data.kinds.kind import Kind, WhenMissing
    from dpsumm.data.shards import Shards
    from dpsumm.data.stream import Stream

__all__ = ["File", "FileFormat", "Kind", "Shards", "Stream", "WhenMissing"]

__getattr__, __dir__ = names_of(
    __name__,
    {
        "file": "File FileFormat",
        "kinds.kind": "Kind WhenMissing",
        "shards": "Shards",
        "stream": "Stream",
    },
)
