"""The result: a model of the joined table, and rows drawn from it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from dpsumm.basics.checks import check_whole
from dpsumm.data.frame import Backend, as_series, backend_of, framed
from dpsumm.data.written import write_rows
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.record import RunRecord
from dpsumm.privacy.seeds import check_seed
from dpsumm.report.notes import Note
from dpsumm.report.page import Page
from dpsumm.report.verdict import Verdict
from dpsumm.vertical.dependence import hidden_pairs
from dpsumm.vertical.grid import Drawn
from dpsumm.vertical.label_model import LabelModel
from dpsumm.vertical.label_score import LabelScore
from dpsumm.vertical.layout import Released
from dpsumm.vertical.notes import verdict_of
from dpsumm.vertical.page import render
from dpsumm.vertical.pooled import Pooled
from dpsumm.vertical.privacy import SynthesisPrivacy


@dataclass(frozen=True, eq=False)
class Synthetic:
    """A model of a table that no owner has, made of noisy tables only.

    It is computed from released numbers. So every observer that `privacy` covers may see it, and
    more rows cost no privacy.

    Attributes
    ----------
    model
        The models from which rows are drawn by turns, a mixture of products and a chain of
        regressions.
    label_model
        The model from which the label is drawn, given all other columns. None without a label.
    label_score
        How well the label can be predicted on real records, as a range. None without a label.
    tables
        The noisy tables to which the models are fitted.
    privacy
        Guarantee, and on which condition.
    n_records
        Number of records, which is public.
    levels
        The columns in order, owner by owner, and their levels.
    seconds
        Wall time of the run.
    notes
        Warnings and facts to know before you rely on the rows, the worst first.
    fits
        Whether the model reached the tables within their noise.
    run, finished
        Name of the run, as the ledgers have it, and when it ended (UTC).
    record
        The run's public facts, which saved rows keep for its dossier.
    seed
        Seed of a seeded run, which repeats its rows.

    See Also
    --------
    dpsumm.synthesize : Makes one, with an example.
    dpsumm.vertical.SynthesisPrivacy : Its cost.
    """

    model: Pooled
    tables: Released
    privacy: SynthesisPrivacy
    n_records: int
    levels: tuple[Drawn, ...] = field(repr=False)
    seconds: float
    notes: tuple[Note, ...] = ()
    fits: bool = True
    run: str | None = None
    finished: datetime | None = None
    backend: Backend | None = field(default=None, repr=False)
    record: RunRecord | None = field(default=None, repr=False)
    label_model: LabelModel | None = field(default=None, repr=False)
    label_score: LabelScore | None = None
    seed: int | None = field(default=None, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(levels.name for levels in self.levels)

    def __repr__(self) -> str:
        return (
            f"Synthetic({len(self.columns)} columns of {len(self.privacy.owners)} owners, "
            f"{self.n_records} records: epsilon={self.privacy.epsilon():.4g} "
            f"at delta={self.privacy.delta:g})"
        )

    @property
    def verdict(self) -> Verdict:
        """What the rows are worth, in a few words, by the noisy tables alone.

        If a label was named, it is judged by `label_score`. An alarm among the `notes` takes the
        verdict's place, and warnings are counted in it. It begins with a given seed.
        """
        reached = verdict_of(self.tables, self.label_score, self.fits)
        return reached.qualified(seeded=self.privacy.seeded, notes=self.notes)

    def report(self, path: str | os.PathLike[str] | None = None) -> Page:
        """Return a self-contained HTML report, which a notebook shows, and write it to `path`.

        It holds released numbers and their post-processing alone, so you may show it to anyone who
        may see the rows. It needs the extra ``report``. A file is written whole or not at all.
        """
        return Page(render(self), path)

    def sample(
        self,
        n: int | None = None,
        *,
        given: Mapping[str, Any] | None = None,
        seed: int | None = None,
        backend: Backend | None = None,
    ) -> Any:
        """Return new rows in the original columns and types.

        Parameters
        ----------
        n
            How many. As many as the owners have records by default.
        given
            Column to value. All rows have these values, and the others are drawn given them. A
            number or a date means its bin or cell.
        seed
            Repeats a draw. By default that of a seeded run, else one from the operating system. It
            does not touch privacy.
        backend
            ``"pandas"``, ``"polars"`` or ``"pyarrow"``. The first owner's kind by default, polars
            for arrays and files.

        Warns
        -----
        UserWarning
            The noise hides whether a column depends on any of those given.

        Returns
        -------
        data frame
            Numbers and dates are drawn uniformly within their cells, or within bins that were
            given. A missing value is missing.

        Raises
        ------
        InvalidParameterError
            `given` names no column or no value of it, or `n` or `backend` is out of range.
        MissingExtraError
            The library is not installed.
        """
        n = self.n_records if n is None else n
        check_whole(n, "n", 0, 10**8)
        seed = self.seed if seed is None else seed
        check_seed(seed)
        backend = backend_of(backend, self.backend)
        known = self._given(given or {})
        if blind := self._blind(known):
            text = (
                f"given: the noise hides whether {', '.join(blind)} depend on "
                f"{', '.join(given or {})}; do not rely on how these depend on each other"
            )
            warnings.warn(Note(text), stacklevel=2)
        rng = np.random.default_rng(seed)
        codes = self.model.draw(n, known, seed)
        if self.label_model is not None and known[self.label_model.label] is None:
            codes[:, self.label_model.label] = self.label_model.draw(codes, rng)
        data = {}
        for levels, column in zip(self.levels, codes.T, strict=True):
            values, dtype = levels.column.how.originals(levels.decode(column, rng))
            data[levels.name] = as_series(levels.name, values, dtype, backend)
        return framed(data, backend)

    def _given(self, given: Mapping[str, Any]) -> list[int | None]:
        if not isinstance(given, Mapping) or (unknown := set(given) - set(self.columns)):
            named = "" if not isinstance(given, Mapping) else f"; there is no {min(unknown)!r}"
            raise InvalidParameterError(f"given must map names of columns to values{named}")
        return [
            levels.level_of(given[levels.name]) if levels.name in given else None
            for levels in self.levels
        ]

    def _blind(self, known: Sequence[int | None]) -> list[str]:
        """Return columns of which no table with a given column shows anything beyond noise."""
        given = {j for j, level in enumerate(known) if level is not None}
        plan, hidden = self.tables.plan, set(hidden_pairs(self.tables)) if given else set()
        seen = [set(pair) for pair in plan.pairs if pair not in hidden]
        told = {j for pair in seen if pair & given for j in pair}
        return [self.columns[j] for j in plan.counted if given and j not in told | given]

    def to_frame(self, n: int | None = None, *, backend: Backend | None = None) -> Any:
        """Return n new rows, as `sample` does."""
        return self.sample(n, backend=backend)

    def save(
        self, path: str | os.PathLike[str], n: int | None = None, *, seed: int | None = None
    ) -> None:
        """Write n new rows to a Parquet or CSV file, by suffix. Whole or not at all.

        What says that they are synthetic, with their privacy, is in the Parquet file's metadata
        (key ``dpsumm``). Next to a CSV file, in ``<path>.json``.

        Raises
        ------
        InvalidParameterError
            Another suffix.
        """
        write_rows(path, self.sample(n, seed=seed, backend="polars"), self._about())

    def _about(self) -> dict[str, Any]:
        return {
            "synthetic": True,
            "what": "Rows drawn from a model of noisy tables. No row is a person's.",
            "run": self.run,
            "finished": None if self.finished is None else self.finished.isoformat(),
            "records": self.n_records,
            "owners": list(self.privacy.owners),
            "privacy": self.privacy.statements(),
            "notes": list(self.notes),
            "record": None if self.record is None else self.record.to_json(),
        }
