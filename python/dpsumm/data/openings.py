"""Openings: rows of which anybody can check that an owner had committed to them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpsumm.atomic import write_text
from dpsumm.checks import listed
from dpsumm.data.leaves import record_of
from dpsumm.data.merkle import DEPTH, MOST_ROWS, SIZE, climb, leaf
from dpsumm.documents import read_json
from dpsumm.errors import InvalidDataError, InvalidParameterError, ProtocolError

_FORMAT = "dpsumm openings 1"


def root_of(run: str, schema: str, tree: bytes) -> str:
    """Return what is published of a tree: it is of one run and one schema."""
    return hashlib.sha256(b"\x02" + bytes.fromhex(run) + schema.encode() + tree).hexdigest()


@dataclass(frozen=True)
class Opening:
    """A row, and what shows that it is one of a table.

    Attributes
    ----------
    position
        Its leaf, from 0.
    row
        As `dpsumm.data.leaves.bytes_of` writes it.
    salt, path
        32 bytes; 1024 bytes.
    """

    position: int
    row: bytes = field(repr=False)
    salt: bytes = field(repr=False)
    path: bytes = field(repr=False)

    def root(self, run: str, schema: str) -> str:
        """Return the root that the row is below, if it is below any."""
        digest = leaf(self.salt, self.row)
        return root_of(run, schema, climb(digest, self.position, self.path))


@dataclass(frozen=True)
class Commitments:
    """Commitments of a run's owners, and rows that they have opened.

    Attributes
    ----------
    run, schema
        What the run is called in commitments, and the schema's fingerprint.
    owners
        Owner's name to its root and its openings. Real records: for the consumer, and for whoever
        it may show them to.

    See Also
    --------
    dpsumm.summary.verify_openings : Checks a file of them.
    dpsumm.summary.open_rows : Opens further rows.

    Examples
    --------
    >>> import numpy as np, dpsumm
    >>> rng = np.random.default_rng(0)
    >>> owners, target = {"north": rng.normal(0, 1, (100, 2))}, rng.normal(0, 1, (50, 2))
    >>> kernel = dpsumm.RBF(0.25)
    >>> summary = dpsumm.summarize(owners, target, size=5, kernel=kernel, commitments=True)
    >>> made = summary.commitments
    >>> list(made.roots), len(made.owners["north"][1])  # every point that was read is opened
    (['north'], 20)
    """

    run: str
    schema: str
    owners: Mapping[str, tuple[str, tuple[Opening, ...]]] = field(repr=False)

    @property
    def roots(self) -> dict[str, str]:
        """Owner's name to root, 64 hexadecimal digits: what may be published."""
        return {name: root for name, (root, _) in self.owners.items()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a JSON file that `verify_openings` and ``dpsumm commitment verify`` read.

        It holds real records, and so is readable by its user alone.

        Raises
        ------
        InvalidParameterError
            The file cannot be written.
        """
        owners = {
            name: {
                "root": root,
                "openings": [
                    {
                        "position": one.position,
                        "row": one.row.hex(),
                        "salt": one.salt.hex(),
                        "path": one.path.hex(),
                    }
                    for one in openings
                ],
            }
            for name, (root, openings) in self.owners.items()
        }
        whole = {"format": _FORMAT, "run": self.run, "schema": self.schema, "owners": owners}
        write_text(path, json.dumps(whole, indent=1) + "\n")


def verify_openings(
    path: str | os.PathLike[str], roots: Mapping[str, str] | None = None
) -> Commitments:
    """Return the openings of a file, each of which was checked.

    Parameters
    ----------
    path
        A file of `Commitments.save`, or of ``dpsumm commitment open``.
    roots
        Owner's name to its root, from where it was published; all owners of the file must be among
        them. Without them the openings are checked against the file's own roots, which whoever
        wrote the file chose. Of an owner without openings the root alone is compared.

    Raises
    ------
    InvalidParameterError
        A root is not 64 hexadecimal digits.
    InvalidDataError
        The file is none of these, has no opening at all or one position twice, or an opening does
        not lead to its owner's root.

    See Also
    --------
    dpsumm.summary.Commitments : What it returns.
    dpsumm.summary.open_rows : Makes openings of rows that somebody asks for.

    Examples
    --------
    >>> import tempfile, numpy as np, dpsumm
    >>> rng = np.random.default_rng(0)
    >>> owners, target = {"north": rng.normal(0, 1, (100, 2))}, rng.normal(0, 1, (50, 2))
    >>> kernel = dpsumm.RBF(0.25)
    >>> summary = dpsumm.summarize(owners, target, size=5, kernel=kernel, commitments=True)
    >>> file = f"{tempfile.mkdtemp()}/openings.json"
    >>> summary.commitments.save(file)
    >>> published = summary.commitments.roots
    >>> len(dpsumm.summary.verify_openings(file, published).owners["north"][1])
    20
    """
    published = None if roots is None else {n: _published(n, root) for n, root in roots.items()}
    opened = _read(Path(path))
    if not any(openings for _, openings in opened.owners.values()):
        raise InvalidDataError(f"{path}: there is no opening in it, so nothing was checked")
    for name, (root, openings) in opened.owners.items():
        if published is not None and name not in published:
            raise InvalidDataError(
                f"{path}: there is no published root of {name!r}; give one of every owner of the "
                f"file: {listed(list(opened.owners))}"
            )
        if published is not None and published[name] != root:
            raise InvalidDataError(f"{path}: the root of {name!r} is not the one published")
        if len({one.position for one in openings}) < len(openings):
            raise InvalidDataError(f"{path}: a position of {name!r} is opened more than once")
        for one in openings:
            if one.root(opened.run, opened.schema) != root:
                raise InvalidDataError(
                    f"{path}: the row at position {one.position} is none of the table that "
                    f"{name!r} committed to"
                )
    return opened


def _read(path: Path) -> Commitments:
    try:
        whole = read_json(path)
        if whole["format"] != _FORMAT:
            raise ValueError("another format")
        run, schema = _hex(whole["run"], 16).hex(), str(whole["schema"])
        owners = {
            str(name): (_hex(one["root"], SIZE).hex(), tuple(map(_opening, one["openings"])))
            for name, one in whole["owners"].items()
        }
        "".join([schema, *owners]).encode()  # no half of a character, which is no text
    except OSError as error:
        raise InvalidDataError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, TypeError, LookupError, AttributeError, ProtocolError):
        raise InvalidDataError(f"{path}: not a file of openings") from None
    return Commitments(run, schema, owners)


def _published(name: str, root: str) -> str:
    try:
        return _hex(root, SIZE).hex()
    except (ValueError, TypeError):
        raise InvalidParameterError(
            f"roots: the root of {name!r} must be {2 * SIZE} hexadecimal digits (on the command "
            "line --root NAME=DIGITS)"
        ) from None


def _opening(one: Mapping[str, Any]) -> Opening:
    position, row = one["position"], bytes.fromhex(one["row"])
    if type(position) is not int or not 0 <= position < MOST_ROWS:
        raise ValueError("position")
    record_of(row)
    return Opening(position, row, _hex(one["salt"], SIZE), _hex(one["path"], SIZE * DEPTH))


def _hex(text: str, size: int) -> bytes:
    value = bytes.fromhex(text)
    if len(value) != size:
        raise ValueError("length")
    return value
