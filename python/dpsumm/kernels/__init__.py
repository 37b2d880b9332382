"""The compiled core as users call it: what the protocols are made of, on arrays.

Nothing here keeps books: a kernel computes, and its caller charges what it costs. Randomness that
privacy rests on comes from the operating system unless a `seed` is given, which is for tests alone.
"""

from dpsumm.kernels.bids import Bidder
from dpsumm.kernels.dominance import diagonal_dominance, is_diagonally_dominant
from dpsumm.kernels.features import RandomFeatures
from dpsumm.kernels.mechanisms import MwemRun, exponential_choice, mwem
from dpsumm.kernels.mmd import kernel_means, mean_kernel_self, mmd2
from dpsumm.kernels.noise import discrete_laplace, rounded_normal
from dpsumm.kernels.processor import INSTRUCTIONS, set_threads
from dpsumm.kernels.selection import Picks, greedy, greedy_towards, herd, objective, weights

__all__ = [
    "INSTRUCTIONS",
    "Bidder",
    "MwemRun",
    "Picks",
    "RandomFeatures",
    "diagonal_dominance",
    "discrete_laplace",
    "exponential_choice",
    "greedy",
    "greedy_towards",
    "herd",
    "is_diagonally_dominant",
    "kernel_means",
    "mean_kernel_self",
    "mmd2",
    "mwem",
    "objective",
    "rounded_normal",
    "set_threads",
    "weights",
]
