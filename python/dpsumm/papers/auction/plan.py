"""Settings of an Auction that follow from public numbers before its first message."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm.errors import InvalidParameterError
from dpsumm.kernels.features import FeatureKind
from dpsumm.papers.auction.requests import Profile
from dpsumm.privacy.events import Charge
from dpsumm.summary.protocols.curator import Setting
from dpsumm.summary.release import Mechanism


@dataclass(frozen=True, eq=False)
class Plan:
    """All of a run that is settled from public numbers before it begins. See `Auction`."""

    rounds: int
    spare_rounds: int
    batch: int
    profile: Profile
    virtual_bids: bool
    tau: int | None
    request_charges: tuple[Charge, ...]
    target: Mechanism
    summary: Mechanism
    n_features: int
    feature_kind: FeatureKind
    seed_points: NDArray[np.floating] | None
    seed_release: Mechanism
    reselect: bool

    def check(self, setting: Setting) -> None:
        """Refuse seed points that the columns do not hold, and an impossible first choice.

        Choices along the way enter later releases, and their sensitivity holds for choices that
        do not look for the target's own records.
        """
        if setting.drop_target_copies and not self.reselect:
            raise InvalidParameterError(
                "drop_target_copies: Auction(reselect=False) chooses while it sends messages. "
                "Use reselect=True, or another protocol"
            )
        seeds, schema = self.seed_points, setting.schema
        if seeds is not None and (
            seeds.ndim != 2
            or seeds.shape[1] != len(setting.columns)
            or not (np.isfinite(seeds).all() if schema is None else schema.fits(seeds))
        ):
            raise InvalidParameterError(
                f"seed_points must be a finite (s, {len(setting.columns)}) array, as Schema.encode "
                "takes it (numbers in their own units)"
            )
