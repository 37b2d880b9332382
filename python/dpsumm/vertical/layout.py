"""The public columns of a run, its budget, and what it releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm.vertical.noise import NoisePlan, plan_noise

# The party that deals pads; no owner may have this name.
HELPER = "helper"


@dataclass(frozen=True)
class Layout:
    """The public columns of all owners, in order."""

    owners: tuple[str, ...]
    schemas: tuple[str, ...]
    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    owner_of: tuple[int, ...]
    label: int | None
    edges: tuple[tuple[float, ...], ...] = ()
    ids: str = ""

    def of_owner(self, owner: int) -> list[int]:
        """Return the positions of an owner's columns."""
        return [j for j, p in enumerate(self.owner_of) if p == owner]


@dataclass(frozen=True)
class Budget:
    """How the noise is planned, and how records are sent.

    Attributes
    ----------
    noise_multiplier, first, label_weight
        See `plan_noise`.
    keep
        Levels with fewer noisy records than so many standard deviations of their noise share a
        code.
    delta
        At which owners account for the run.
    """

    noise_multiplier: float
    first: float
    label_weight: float
    keep: float
    rows: int
    by_mpyc: bool = False
    delta: float = 1e-5

    def plan(
        self,
        layout: Layout,
        sizes: Sequence[int],
        singles: tuple[Sequence[int], float] | None = None,
    ) -> NoisePlan:
        """Return the plan for columns of these sizes; see `plan_noise`."""
        return plan_noise(
            sizes,
            layout.owner_of,
            self.noise_multiplier,
            first=self.first,
            label=layout.label,
            label_weight=self.label_weight,
            singles=singles,
        )


@dataclass(frozen=True, eq=False)
class Released:
    """All that was released: what the model is made of.

    Attributes
    ----------
    n_records
        Records, public.
    pairs
        Noisy two-way counts of the merged codes, by columns (i, j), i < j.
    plan
        Their noise.
    """

    n_records: int
    singles: tuple[NDArray[np.int64], ...]
    codes: tuple[NDArray[np.int64], ...]
    pairs: Mapping[tuple[int, int], NDArray[np.int64]]
    plan: NoisePlan
