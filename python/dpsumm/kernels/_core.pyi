# Types of the compiled module. Prose lives in the Python wrappers and in the core's documentation.
from typing import Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "INSTRUCTIONS",
    "Bidder",
    "LandmarkFeatures",
    "Mwem",
    "Picks",
    "RandomFeatures",
    "__version__",
    "arrivals",
    "discrete_laplace",
    "exponential_choice",
    "fit_mixture",
    "fit_softmax",
    "greedy",
    "greedy_towards",
    "kernel_means",
    "mean_kernel_self",
    "mmd2",
    "nearest",
    "objective",
    "one_hot_product",
    "pad_correction",
    "pad_mask",
    "pad_product",
    "pad_share",
    "pair_counts",
    "rounded_normal",
    "sample_mixture",
    "set_threads",
    "softmax_shares",
    "subset",
    "units",
    "weights",
]

INSTRUCTIONS: Literal["avx512", "avx2", "baseline"]
__version__: str

_Points: TypeAlias = NDArray[np.float32] | NDArray[np.float64]

@final
class LandmarkFeatures:
    def __new__(
        cls,
        landmarks: NDArray[np.float64],
        gamma: float,
        region: list[tuple[int, float]] | None = None,
    ) -> LandmarkFeatures: ...
    @property
    def n_features(self) -> int: ...
    def grid_norm(self, levels: int) -> float: ...
    def grid_difference(self, levels: int) -> float: ...
    def transform(self, points: _Points) -> _Points: ...
    def scores(self, points: _Points, directions: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def tilt(
        self, sample: _Points, goal: NDArray[np.float64], noise: float, least: float
    ) -> NDArray[np.float64]: ...
    def sum_on_grid(self, points: _Points, levels: int) -> NDArray[np.int64]: ...

@final
class RandomFeatures:
    def __new__(
        cls,
        kind: str,
        orthogonal: bool,
        gamma: float,
        n_columns: int,
        n_features: int,
        seed: int,
    ) -> RandomFeatures: ...
    @staticmethod
    def from_parts(
        kind: str, omega: NDArray[np.float64], phase: NDArray[np.float64]
    ) -> RandomFeatures: ...
    @property
    def omega(self) -> NDArray[np.float64]: ...
    @property
    def phase(self) -> NDArray[np.float64]: ...
    @property
    def n_features(self) -> int: ...
    @property
    def max_norm(self) -> float: ...
    def transform(self, points: _Points) -> _Points: ...
    def scores(self, points: _Points, directions: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def tilt(
        self, sample: _Points, goal: NDArray[np.float64], noise: float, least: float
    ) -> NDArray[np.float64]: ...
    def sum_on_grid(self, points: _Points, levels: int) -> NDArray[np.int64]: ...
    def quantized_sum(
        self, points: _Points, steps: int, seed: int | None = None
    ) -> NDArray[np.int64]: ...
    def on_grid(self, points: _Points) -> NDArray[np.int16]: ...

@final
class Picks:
    @property
    def rows(self) -> NDArray[np.int64]: ...
    @property
    def objective(self) -> NDArray[np.float64]: ...

@final
class Bidder:
    def __new__(cls, features: NDArray[np.int16]) -> Bidder: ...
    def append(self, features: NDArray[np.int16], ids: NDArray[np.int64]) -> None: ...
    def set_target(self, direction: NDArray[np.int64]) -> None: ...
    def set_summary(self, direction: NDArray[np.int64]) -> None: ...
    def remove(self, row: int) -> None: ...
    def best(
        self,
        target_factor: int,
        summary_factor: int,
        count: int,
        target: NDArray[np.int64] | None = None,
        summary: NDArray[np.int64] | None = None,
    ) -> tuple[list[int], list[int]]: ...

@final
class Mwem:
    def __new__(cls, theta: NDArray[np.float64], steps: int) -> Mwem: ...
    @property
    def theta(self) -> NDArray[np.float64]: ...
    def run(
        self,
        sums: NDArray[np.int64],
        count: int,
        iterations: int,
        epsilon_select: float,
        epsilon_measure: float,
        seed: int | None = None,
    ) -> NDArray[np.float64]: ...

def set_threads(n_threads: int) -> None: ...
def rounded_normal(noise_std: float, size: int, seed: int | None = None) -> NDArray[np.int64]: ...
def discrete_laplace(scale: float, size: int, seed: int | None = None) -> NDArray[np.int64]: ...
def exponential_choice(
    scores: NDArray[np.int64], epsilon: float, seed: int | None = None
) -> int: ...
def arrivals(
    log_rates: NDArray[np.float64], uniform: NDArray[np.float64]
) -> NDArray[np.float64]: ...
def kernel_means(points: _Points, others: _Points, gamma: float) -> NDArray[np.float64]: ...
def mean_kernel_self(points: _Points, gamma: float) -> float: ...
def mmd2(a: _Points, b: _Points, gamma: float) -> float: ...
def nearest(
    points: _Points, others: _Points, count: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
def greedy(points: _Points, attraction: NDArray[np.float64], gamma: float, size: int) -> Picks: ...
def greedy_towards(points: _Points, target: _Points, gamma: float, size: int) -> Picks: ...
def objective(
    points: _Points, attraction: NDArray[np.float64], gamma: float
) -> NDArray[np.float64]: ...
def weights(
    points: _Points,
    attraction: NDArray[np.float64],
    gamma: float,
    ridge: float,
    effective_size: float,
    tolerance: float,
) -> NDArray[np.float64]: ...

_Words: TypeAlias = NDArray[np.uint32] | NDArray[np.uint64]

def pad_mask(
    codes: NDArray[np.uint32], width: int, key: bytes, first_row: int, ring: int
) -> _Words: ...
def one_hot_product(codes: NDArray[np.uint32], width: int, masked: _Words) -> _Words: ...
def pad_product(masked: _Words, key: bytes, width: int, first_row: int) -> _Words: ...
def pad_correction(
    rows: int, left_key: bytes, left: int, right_key: bytes, right: int, ring: int
) -> _Words: ...
def pad_share(key: bytes, left: int, right: int, ring: int) -> _Words: ...
def pair_counts(codes: NDArray[np.uint32], width: int) -> NDArray[np.int64]: ...
def fit_mixture(
    sizes: list[int],
    pairs: NDArray[np.float64],
    pair_weights: NDArray[np.float64],
    singles: NDArray[np.float64],
    single_weights: NDArray[np.float64],
    components: int,
    step: float,
    init: float,
    stop: float,
    max_steps: int,
    seed: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], int, float]: ...
def sample_mixture(
    pi: NDArray[np.float64],
    theta: NDArray[np.float64],
    sizes: list[int],
    given: list[int | None],
    n: int,
    seed: int | None = None,
) -> NDArray[np.uint32]: ...
def fit_softmax(
    codes: NDArray[np.uint32],
    sizes: list[int],
    moments: NDArray[np.float64],
    ridges: NDArray[np.float64],
    start: NDArray[np.float64],
    max_steps: int,
) -> NDArray[np.float64]: ...
def softmax_shares(
    codes: NDArray[np.uint32],
    sizes: list[int],
    weights: NDArray[np.float64],
    start: NDArray[np.float64],
) -> NDArray[np.float64]: ...
def subset(key: bytes, total: int, count: int) -> NDArray[np.uint64]: ...
def units(key: bytes, first: int, count: int) -> NDArray[np.float64]: ...
