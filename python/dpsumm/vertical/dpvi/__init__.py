"""The paper's method in one process, for comparison: DP variational inference of a mixture."""

from dpsumm.vertical.dpvi.figures import VPDP, Stated
from dpsumm.vertical.dpvi.method import Dpvi, Inferred

__all__ = ["VPDP", "Dpvi", "Inferred", "Stated"]
