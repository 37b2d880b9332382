"""TOML and JSON that somebody else wrote, parsed within public limits.

Python's own parsers end hostile texts with bare errors, or after minutes. No other module of dpsumm
calls them.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from dpsumm.errors import InvalidDataError, InvalidParameterError

# A schema of 300,000 columns.
MOST_TOML = 2**24
MOST_JSON = 2**26
# Of tables and lists in each other; what dpsumm writes has 5 at most.
MOST_DEPTH = 64
# Of a key such as a.b.c, which takes `tomllib` quadratic time; what dpsumm reads has 3 at most.
MOST_PARTS = 8
# Whole numbers are smaller in size: in TOML 64 bits, as it promises, in JSON 40 digits.
WHOLE_TOML, WHOLE_JSON = 2**64, 10**40
_STRINGS = re.compile(
    r'"""(?:[^\\]|\\.)*?(?:"""|\Z)|\'\'\'.*?(?:\'\'\'|\Z)'
    r'|"(?:[^"\\\n]|\\.)*+"?|\'[^\'\n]*+\'?|#[^\n]*+',
    re.DOTALL,
)
TOO_DEEP = f"lists and tables stand in each other more than {MOST_DEPTH} deep"
_LONG_KEY = re.compile(rf"(?:\.[\w \t-]*+){{{MOST_PARTS}}}")


def read_text(path: Path, what: str) -> str:
    """Return a text file's contents, UTF-8; `what` it is begins the messages."""
    try:
        return _read(path, MOST_TOML)
    except FileNotFoundError:
        raise InvalidParameterError(f"{what}: there is no file {path}. Check the path") from None
    except OSError as error:
        raise InvalidParameterError(f"{what}: {path} cannot be read ({error.strerror})") from None
    except ValueError as error:
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error
        raise InvalidParameterError(f"{what}: {path} is no text file ({why})") from None


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Return the content of a TOML file, with the errors of `read_text` and `parse_toml`."""
    return parse_toml(read_text(path, what), f"{what}: {path}")


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """Return the content of a TOML text. `where` begins the message."""
    try:
        _check_length(text, MOST_TOML)
        if _LONG_KEY.search(_STRINGS.sub("x", text)):
            raise ValueError(f"a key has more than {MOST_PARTS} parts")
        return _checked(tomllib.loads(text), WHOLE_TOML)  # type: ignore[no-any-return]
    except (ValueError, RecursionError) as error:
        why = TOO_DEEP if isinstance(error, RecursionError) else error
        raise InvalidParameterError(f"{where}: this is not TOML ({why})") from None


def read_json(path: Path) -> Any:
    """Return the content of a JSON file, with the errors of `parse_json`, and `OSError`."""
    try:
        text = _read(path, MOST_JSON)
    except ValueError:
        raise InvalidDataError(f"{path}: no text file, or too long") from None
    return parse_json(text)


def parse_json(text: str | bytes) -> Any:
    """Return the content of a JSON text."""
    try:
        _check_length(text, MOST_JSON)
        return _checked(json.loads(text), WHOLE_JSON)
    except (ValueError, RecursionError):
        raise InvalidDataError("not JSON that dpsumm reads. Write the file anew") from None


def _read(path: Path, most: int) -> str:
    with path.open("rb") as file:
        data = file.read(most + 1)
    _check_length(data, most)
    # With the byte order mark that editors on Windows write, or without.
    return data.decode("utf-8-sig")


def _check_length(text: str | bytes, most: int) -> None:
    if len(text) > most:
        raise ValueError(f"it is longer than {most >> 20} MiB")


def _checked(whole: Any, most: int) -> Any:
    """Return a parsed value; ValueError if it is too deep, or has a whole number too large."""
    level = [whole]
    for _ in range(MOST_DEPTH):
        if not level:
            return whole
        if any(type(value) is int and abs(value) >= most for value in level):
            raise ValueError("a whole number is too large")
        level = [
            one
            for value in level
            if isinstance(value, (dict, list))
            for one in (value.values() if isinstance(value, dict) else value)
        ]
    raise ValueError(TOO_DEEP)
