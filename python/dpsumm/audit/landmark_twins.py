"""BROKEN ON PURPOSE: landmark features with one mistake each, which audits must catch."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsumm import kernels
from dpsumm.audit.landmarks import GAMMA, REGION, public_landmarks
from dpsumm.summary.kernel import FloatArray


class NoContraction(kernels.LandmarkFeatures):
    """BROKEN: takes the kernel values themselves, without A: near landmarks add up."""

    def sum_on_grid(self, points: ArrayLike, levels: int) -> NDArray[np.int64]:
        """Return a sum that one record moves by more than is claimed."""
        squares = ((np.asarray(points)[:, None] - self.landmarks[None]) ** 2).sum(axis=2)
        values = np.exp(-self.gamma * squares)
        return np.asarray(np.rint(values * levels).sum(axis=0), dtype=np.int64)


class OneColumn(kernels.LandmarkFeatures):
    """BROKEN: takes the least kernel value from records that differ in the first column alone."""

    def grid_difference(self, levels: int) -> float:
        """Return less than one record can move."""
        first = kernels.LandmarkFeatures(self.landmarks[:, :1], gamma=self.gamma, region=REGION[:1])
        return first.grid_difference(levels)


def no_contraction(target: FloatArray) -> kernels.LandmarkFeatures:
    """BROKEN: see `NoContraction`."""
    return NoContraction(public_landmarks(), gamma=GAMMA, region=REGION)


def one_column(target: FloatArray) -> kernels.LandmarkFeatures:
    """BROKEN: see `OneColumn`."""
    return OneColumn(public_landmarks(), gamma=GAMMA, region=REGION)


def private_landmarks(target: FloatArray) -> kernels.LandmarkFeatures:
    """BROKEN: the target's own records are the landmarks."""
    return kernels.LandmarkFeatures(target, gamma=GAMMA, region=REGION)
