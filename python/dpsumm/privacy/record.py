"""Public facts and charges that a finished run leaves for a dossier, next to its result.

Of numbers that depend on records it has only released and charged ones. It has no number of read
points, no distance and no warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Self

import dpsumm
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import accounting, book_format
from dpsumm.privacy.events import Charge, Protected
from dpsumm.privacy.package import package_digest

VERSION = 2


@cache
def code_digest() -> str:
    """Return `package_digest`, as it was when this process first asked."""
    return package_digest()


@dataclass(frozen=True)
class Books:
    """The content of one ledger of a run at its end.

    Attributes
    ----------
    charges
        Of this run.
    """

    file: str | None
    charges: tuple[Charge, ...]


@dataclass(frozen=True)
class RunRecord:
    """The public facts of a finished run.

    Attributes
    ----------
    delta
        At which it is accounted for.
    seeded
        Whether a seed was given, so that noise can be drawn again.
    parties
        Names of all whose records took part, registered before the run.
    units
        Whose records (`Protected`) to how many units of protection there are, a public number. One
        over it is what delta is compared with. Absent where sizes are private.
    settings
        Name to value, as text: public parameters.
    observers
        Observer to epsilon, if an observer's figure is not the sum of one ledger.
    """

    command: str
    protocol: str
    run: str
    finished: str
    delta: float
    seeded: bool
    parties: tuple[str, ...]
    units: Mapping[str, int]
    schemas: Mapping[str, str]
    settings: Mapping[str, str]
    statements: tuple[str, ...]
    books: Mapping[str, Books]
    across: bool = False
    observers: Mapping[str, float] = field(default_factory=dict)
    resumed: bool = False
    version: str = dpsumm.__version__
    code: str = field(default_factory=code_digest)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON, which `from_json` reads."""
        books = {
            whose: [one.file, [book_format.charge_to_row(charge) for charge in one.charges]]
            for whose, one in self.books.items()
        }
        observers = {who: repr(epsilon) for who, epsilon in self.observers.items()}
        return {"format": VERSION} | vars(self) | {"books": books, "observers": observers}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return what `to_json` wrote."""
        values = dict(value)
        if values.pop("format", None) != VERSION:
            raise ValueError("a record of another format")
        try:
            values["books"] = {
                whose: Books(file, tuple(book_format.charge_from_row(*row) for row in rows))
                for whose, (file, rows) in values["books"].items()
            }
            values["observers"] = {who: float(x) for who, x in values["observers"].items()}
            for name in ("parties", "statements"):
                if not isinstance(values[name], list | tuple):  # a text has letters
                    raise TypeError(name)
                values[name] = tuple(values[name])
            made = cls(**values)
            accounting.check_delta(made.delta)
            datetime.fromisoformat(made.finished)
            if made._well_typed() and made._makes_sense():
                return made
        except (TypeError, AttributeError, KeyError, InvalidParameterError):
            pass
        raise ValueError("a record that lacks something")

    def _makes_sense(self) -> bool:
        """Return whether a run can have such figures."""
        return (
            # Somebody's books, or what somebody learns: a page begins with epsilon.
            bool(self.books or self.observers)
            and all(epsilon >= 0 for epsilon in self.observers.values())  # NaN is not
            and all(count >= 0 for count in self.units.values())
            and {*self.units} <= {*Protected.known()}
        )

    def _well_typed(self) -> bool:
        """Return whether all that a page shows is of its type."""
        texts = [self.command, self.protocol, self.run, self.finished, self.version, self.code]
        texts += [
            *self.parties,
            *self.statements,
            *self.books,
            *self.observers,
            *self.units,
        ]
        for pairs in (self.schemas, self.settings):
            texts += [*pairs.keys(), *pairs.values()]
        texts += [one.file for one in self.books.values() if one.file is not None]
        return (
            all(type(text) is str for text in texts)
            and all(type(flag) is bool for flag in (self.seeded, self.across, self.resumed))
            and all(type(count) is int for count in self.units.values())
        )
