"""TOML and JSON that another party may have written: parsed, or refused as not well-formed."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from typing import Any

#: Most characters of a document: a schema of 100,000 categories has a quarter of them.
MOST_TEXT = 2**23
# Parts of a dotted key; `tomllib` takes quadratic time for it. Possessive, so that this does not.
_LONG_KEY = re.compile(r"""(?:\.[ \t]*+(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+){64}""")


def parse_toml(text: str) -> dict[str, Any]:
    """Return what a TOML text says.

    Raises
    ------
    ValueError
        It is none, longer than `MOST_TEXT`, nested too deeply, has a key of more than 64 parts, or
        a whole number that no float holds. Nothing else is raised, whatever the text.
    """
    if len(text) > MOST_TEXT or _LONG_KEY.search(text):
        raise ValueError("too long, or a key of too many parts")
    value: dict[str, Any] = _guarded(tomllib.loads, text)
    return value


def parse_json(text: str | bytes) -> Any:
    """Return what a JSON text says; as `parse_toml`, for texts of any length."""
    return _guarded(json.loads, text)


def _guarded(parse: Any, text: str | bytes) -> Any:
    try:
        value = parse(text)
        _check_numbers(value)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def _check_numbers(value: Any) -> None:
    """Refuse whole numbers on which `float` would fail, wherever they stand."""
    if isinstance(value, dict):
        for one in value.values():
            _check_numbers(one)
    elif isinstance(value, list):
        for one in value:
            _check_numbers(one)
    elif isinstance(value, int) and abs(value) > sys.float_info.max:
        raise ValueError("a number out of range")
