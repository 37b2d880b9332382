"""The rows of one run, at an owner that is made anew for every exchange."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.atomic import write_atomically
from dpsumm.errors import InvalidDataError

# Runs of one owner that can be open at a time.
KEPT = 8


@dataclass(frozen=True, eq=False)
class Rows:
    """Levels of an owner's records, and the nonce of the pads that hide these and no others.

    They are written together before the run's first release, and read together in every exchange
    after it. So a nonce never hides two matrices, and an owner's answers do not depend on
    whether its data have changed since. The files are the owner's own, as its data are: one for
    each of the latest `KEPT` runs.

    Attributes
    ----------
    codes : (n, d) uint32
        See `Held`.
    """

    run: str
    codes: NDArray[np.uint32]
    order: str
    nonce: str

    def write(self, folder: Path) -> None:
        """Write the file, readable by its user alone, and remove those of old runs."""

        def write(temporary: Path) -> None:
            with temporary.open("wb") as file:
                np.savez(file, run=self.run, codes=self.codes, order=self.order, nonce=self.nonce)

        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            write_atomically(_file(folder, self.run), write)
            files = sorted(folder.glob("*.npz"), key=lambda one: one.stat().st_mtime_ns)
            for old in files[:-KEPT]:
                old.unlink(missing_ok=True)
        except OSError as error:
            raise InvalidDataError(
                f"ledger: {folder} cannot be written ({error.strerror or error}). Nothing was "
                "released. Put the cause right and run again under the same name"
            ) from None

    @classmethod
    def read(cls, folder: Path, run: str) -> Rows:
        """Return the rows of a run that has released."""
        rows: Rows | None = None
        try:
            with np.load(_file(folder, run), allow_pickle=False) as kept:
                rows = cls(str(kept["run"]), kept["codes"], str(kept["order"]), str(kept["nonce"]))
        except (OSError, EOFError, ValueError, KeyError, BadZipFile):
            pass
        if rows is None or rows.run != run:
            raise InvalidDataError(
                f"run: {run!r} has released, and its rows are not in {folder} any more. Give the "
                "new run another name"
            )
        return rows


def _file(folder: Path, run: str) -> Path:
    return folder / f"{hashlib.sha256(run.encode()).hexdigest()[:32]}.npz"
