"""The rows of one run, at an owner that is made anew for every exchange."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from dpsumm.atomic import write_atomically
from dpsumm.errors import InvalidDataError


@dataclass(frozen=True, eq=False)
class Rows:
    """Levels of an owner's records, and the nonce of the pads that hide these and no others.

    They are written together before the run's first release, and read together in every exchange
    after it. So a nonce never hides two matrices, and what an owner answers does not depend on
    whether its data have changed since. The file is the owner's own, as its data are. Another run
    replaces it.

    Attributes
    ----------
    run
        Name of the run.
    codes : (n, d) uint32
        See `Held`.
    order
        Keyed digest of the identifiers.
    nonce
        Hexadecimal.
    """

    run: str
    codes: NDArray[np.uint32]
    order: str
    nonce: str

    def write(self, path: Path) -> None:
        """Write the file, readable by its user alone.

        Raises
        ------
        InvalidDataError
            It cannot be written.
        """

        def write(temporary: Path) -> None:
            with temporary.open("wb") as file:
                np.savez(file, run=self.run, codes=self.codes, order=self.order, nonce=self.nonce)

        try:
            write_atomically(path, write)
        except OSError as error:
            raise InvalidDataError(
                f"ledger: {path} cannot be written ({error.strerror or error}); nothing was "
                "released. Put the cause right and run again under the same name"
            ) from None

    @classmethod
    def read(cls, path: Path, run: str) -> Rows:
        """Return the rows of a run that has released.

        Raises
        ------
        InvalidDataError
            The file is gone, or of another run.
        """
        rows: Rows | None = None
        try:
            with np.load(path, allow_pickle=False) as kept:
                rows = cls(str(kept["run"]), kept["codes"], str(kept["order"]), str(kept["nonce"]))
        except (OSError, EOFError, ValueError, KeyError, BadZipFile):
            pass
        if rows is None or rows.run != run:
            raise InvalidDataError(
                f"run: {run!r} has released, and its rows are not in {path} any more. Give the new "
                "run another name"
            )
        return rows
