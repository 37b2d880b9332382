"""The compiled core as users call it. Protocols are made of these functions of arrays.

Nothing here keeps books. A kernel computes, and its caller charges the cost. Randomness that
privacy rests on comes from the operating system unless a `seed` is given, which is for tests alone.
"""

from dpsumm.kernels.bids import Bidder
from dpsumm.kernels.dominance import diagonal_dominance, is_diagonally_dominant
from dpsumm.kernels.draws import Draws
from dpsumm.kernels.features import RandomFeatures
from dpsumm.kernels.landmarks import LandmarkFeatures
from dpsumm.kernels.mechanisms import MwemRun, exponential_choice, mwem
from dpsumm.kernels.mixtures import MixtureFit, fit_mixture, sample_mixture
from dpsumm.kernels.mmd import kernel_means, mean_kernel_self, mmd2
from dpsumm.kernels.nearest import nearest
from dpsumm.kernels.noise import discrete_laplace, rounded_normal
from dpsumm.kernels.pads import Pad, one_hot_product, pair_counts
from dpsumm.kernels.processor import INSTRUCTIONS, set_threads
from dpsumm.kernels.selection import Picks, greedy, greedy_towards, objective, weights
from dpsumm.kernels.softmax import fit_softmax, softmax_shares
from dpsumm.kernels.tilt import arrivals, tilt

__all__ = [
    "INSTRUCTIONS",
    "Bidder",
    "Draws",
    "LandmarkFeatures",
    "MixtureFit",
    "MwemRun",
    "Pad",
    "Picks",
    "RandomFeatures",
    "arrivals",
    "diagonal_dominance",
    "discrete_laplace",
    "exponential_choice",
    "fit_mixture",
    "fit_softmax",
    "greedy",
    "greedy_towards",
    "is_diagonally_dominant",
    "kernel_means",
    "mean_kernel_self",
    "mmd2",
    "mwem",
    "nearest",
    "objective",
    "one_hot_product",
    "pair_counts",
    "rounded_normal",
    "sample_mixture",
    "set_threads",
    "softmax_shares",
    "tilt",
    "weights",
]
