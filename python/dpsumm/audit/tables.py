"""Scores of whole runs of `synthesize` as one owner sees them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm.audit.samples import Scores
from dpsumm.exchange.driver import run_in_process
from dpsumm.exchange.roles import Party
from dpsumm.kernels.inputs import Words
from dpsumm.privacy.accounting import compose
from dpsumm.privacy.ledger import Ledger
from dpsumm.privacy.release import PaidNoise
from dpsumm.vertical.charges import table_sums
from dpsumm.vertical.coordinator import TablesCoordinator
from dpsumm.vertical.helper import Helper
from dpsumm.vertical.layout import HELPER, Budget, Layout, Released
from dpsumm.vertical.noise import NoisePlan
from dpsumm.vertical.owner import Owner
from dpsumm.vertical.secret_products import Products

_RUN = "audit"
# Columns of the audited owner: each has its tables and its noise, and is one trial.
_COLUMNS = 12
_OWNERS = ("a", "b")
# A table then costs about as much as one Gaussian release of noise multiplier 1. Nothing is merged:
# noise never exceeds 40 standard deviations.
_BUDGET = Budget(noise_multiplier=0.12, first=0.02, to_label=0.3, keep=-40.0, rows=2)


class Watching(Owner):
    """An honest owner who keeps the noise that it added."""

    added: NDArray[np.int64]

    def _with_noise(self, product: Products, k: int, exact: Words, noise: PaidNoise) -> Words:
        noisy = super()._with_noise(product, k, exact, noise)
        signed = np.int32 if exact.itemsize == 4 else np.int64
        self.added = (noisy - exact).view(signed).astype(np.int64)
        return noisy


@dataclass(frozen=True)
class TablesRun:
    """Two owners: what one learns of one value of the other, by the tables that count it.

    The audited owner has many columns, and one record has another level in each of them. So every
    column's table and its table with the other owner's column are a trial of their own: two cells
    of each move by one, which is the most that one value can do.

    Attributes
    ----------
    place
        Of the audited owner in the layout, whose first owner does another part of the product.
    """

    place: int = 1

    def scores(self, world: int, trials: int) -> Scores:
        """Return log-likelihood ratios of tables less what the other owner added."""
        runs = [self._run(world)[0] for _ in range(-(-trials // _COLUMNS))]
        return np.concatenate(runs)[:trials]

    def claimed(self, delta: float) -> float:
        """Return the epsilon that a ledger is charged for two tables."""
        _, plan = self._run(0)
        stds = [plan.single_std, plan.pair_std[plan.pairs.index(self._pair(0))]]
        charges = table_sums("two tables", [(std, None) for std in stds]).charges
        return compose([(charge.event, charge.count) for charge in charges], delta)

    def _pair(self, j: int) -> tuple[int, int]:
        """Return the places of the audited owner's column j and of the other owner's one."""
        return (0, 1 + j) if self.place else (j, _COLUMNS)

    def _run(self, world: int) -> tuple[NDArray[np.float64], NoisePlan]:
        audited, other = _OWNERS[self.place], _OWNERS[1 - self.place]
        codes = {
            other: np.zeros((2, 1), np.uint32),
            audited: np.stack([np.full(_COLUMNS, world), np.zeros(_COLUMNS)]).astype(np.uint32),
        }
        counts = [codes[name].shape[1] for name in _OWNERS]
        layout = Layout(
            owners=_OWNERS,
            schemas=("a" * 12, "b" * 12),
            columns=tuple(f"x{j}" for j in range(1 + _COLUMNS)),
            sizes=(2,) * (1 + _COLUMNS),
            owner_of=(0,) * counts[0] + (1,) * counts[1],
            label=None,
        )
        keys = {name: secrets.token_bytes(32) for name in _OWNERS}
        with Ledger(run=_RUN) as one, Ledger(run=_RUN) as second:

            def owner(kind: type[Owner], name: str, book: Ledger) -> Owner:
                return kind(
                    name,
                    codes[name],
                    (2,) * codes[name].shape[1],
                    schema=name * 12,
                    order="",
                    ledger=book,
                    secret=keys[name],
                )

            watching = owner(Watching, other, one)
            assert isinstance(watching, Watching)
            coordinator = TablesCoordinator(layout, _BUDGET, _RUN)
            parties: dict[str, Party] = {
                other: watching,
                audited: owner(Owner, audited, second),
                HELPER: Helper(keys),
            }
            released = run_in_process(coordinator, parties)
        return self._scores(released, watching.added), released.plan

    def _scores(self, released: Released, added: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return a log-likelihood ratio for each column, world 1 over world 0, by the plan."""
        scores, plan = [], released.plan
        # The first owner's columns down: now the other owner's.
        added = added if self.place else added.T
        for j in range(_COLUMNS):
            pair = self._pair(j)
            table = released.pairs[pair] if self.place else released.pairs[pair].T
            table = table - added[:, 2 * j : 2 * j + 2]
            std = plan.pair_std[plan.pairs.index(pair)]
            single = released.singles[1 + j if self.place else j]
            score = (single[1] - single[0]) / plan.single_std**2
            scores.append(score + (table[0, 1] - table[0, 0]) / std**2)
        return np.array(scores)
