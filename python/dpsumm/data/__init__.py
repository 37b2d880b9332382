"""What a party has, as arrays with publicly known columns."""

from dpsumm.data.column import Kind, WhenMissing
from dpsumm.data.file import File
from dpsumm.data.files import FileFormat

__all__ = ["File", "FileFormat", "Kind", "WhenMissing"]
