"""Results of the audits as a file that a dossier reads, bound to the code that was audited."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from dpsumm.basics.documents import read_json
from dpsumm.errors import InvalidDataError, InvalidParameterError

FORMAT = 1


@dataclass(frozen=True)
class Result:
    """One audit, in the words of its table.

    Attributes
    ----------
    name, claim, ceiling, measured, delta, trials, twins
        As ``dpsumm audit`` shows them; `twins` is how many broken twins were caught.
    """

    passed: bool
    name: str
    claim: str
    ceiling: str
    measured: str
    delta: str
    trials: str
    twins: str


@dataclass(frozen=True)
class AuditResults:
    """All audits of one package.

    Attributes
    ----------
    version, code
        Of the audited package, see `dpsumm.privacy.record.code_digest`.
    """

    version: str
    code: str
    written: str
    quick: bool
    results: tuple[Result, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON, which `read` reads."""
        return {"format": FORMAT} | asdict(self)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Return the results in a file."""
        try:
            value = read_json(Path(path))
            return cls._of(value)
        except OSError as error:
            raise InvalidParameterError(
                f"audit: {path} cannot be read ({error.strerror}). Make it once with "
                "`dpsumm audit --out FILE.json`"
            ) from None
        except (ValueError, TypeError, KeyError, AttributeError):
            raise InvalidDataError(
                f"audit: {path} does not hold results of this format. Give a file that "
                "`dpsumm audit --out FILE.json` wrote"
            ) from None

    @classmethod
    def _of(cls, value: Mapping[str, Any]) -> Self:
        values = dict(value)
        if values.pop("format") != FORMAT:
            raise ValueError("another format")
        values["results"] = tuple(Result(**one) for one in values["results"])
        made = cls(**values)
        words = [made.version, made.code, made.written]
        for one in made.results:
            passed, *texts = vars(one).values()
            words += texts
            if type(passed) is not bool:
                raise ValueError("a verdict is no truth value")
        if type(made.quick) is not bool or not all(type(word) is str for word in words):
            raise ValueError("a text is none")
        return made
