"""What the package wants to reach, each aim with the measured value and how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Any

import numpy as np

from benches.subjects.bids import DIGIT
from benches.subjects.bids import READ as BYTES
from benches.subjects.mmd import LOOSELY, ONCE
from benches.subjects.offers import DECODING, VALUES
from benches.subjects.report import REPORT, RUN
from benches.subjects.selection import DOUBT, READ, SIMPLE
from benches.subjects.start import CALL, HELP, LOADS, NUMPY, PYTHON
from benches.timing import OURS

Rows = dict[str, dict[str, Any]]  # rows of one main case by contender
Obstacle = Callable[[Rows, dict[str, Any]], str]
_FILES = {"n": 4_000_000, "K": 4}


@dataclass(frozen=True)
class Aim:
    """One number that must be at least or at most another.

    Attributes
    ----------
    subject, sizes
        The main case: the first of the subject that has these sizes.
    value
        From the rows of that case; KeyError if a contender was not run.
    obstacle
        From the same rows, what bounds the value, with its figures.
    """

    text: str
    subject: str
    sizes: dict[str, int]
    value: Callable[[Rows, dict[str, Any]], float]
    bound: float
    unit: str
    at_least: bool = False
    obstacle: Obstacle | None = None

    def judge(self, results: dict[str, Any]) -> tuple[str, str, str]:
        """Return the measured value, whether it is enough, and else the bound, all in words."""
        if self.subject not in results:
            return "not measured", "", ""
        subject = results[self.subject]
        fitting = [
            row
            for row in subject["rows"]
            if not row["grows"] and self.sizes.items() <= row["sizes"].items()
        ]
        if not fitting:
            return "not measured", "", ""
        rows = {row["contender"]: row for row in fitting if row["case"] == fitting[0]["case"]}
        try:
            value = self.value(rows, subject["machine"])
        except (KeyError, StopIteration):
            return "not measured", "", ""
        met = value >= self.bound if self.at_least else value <= self.bound
        distance = value / self.bound if self.at_least else self.bound / value
        measured = f"{value:.3g} {self.unit}".strip()
        if met:
            return measured, "yes", ""
        try:
            reason = self.obstacle(rows, subject["machine"]) if self.obstacle else ""
        except (KeyError, StopIteration):
            reason = ""
        return measured, f"no: {distance:.2f} of it", reason


def _named(rows: Rows, start: str) -> dict[str, Any]:
    return next(row for name, row in rows.items() if name.startswith(start))


def _cpu(start: str = OURS) -> Callable[[Rows, dict[str, Any]], float]:
    return lambda rows, _: _named(rows, start)["cpu"]


def _by_shape(rows: Rows) -> list[float]:
    """Return the CPU time of the simple greedy over ours, shape by shape."""
    shapes = [name.removeprefix(f"{OURS}, ") for name in rows if name.startswith(OURS)]
    return [rows[f"{SIMPLE}, {one}"]["cpu"] / rows[f"{OURS}, {one}"]["cpu"] for one in shapes]


def _every_pick_reads(rows: Rows, _: dict[str, Any]) -> str:
    shapes = [name.removeprefix(f"{OURS}, ") for name in rows if name.startswith(OURS)]
    slowest = shapes[int(np.argmin(_by_shape(rows)))]
    return f"where no bound tells points apart both read them at each pick; least: {slowest}"


def _cpu_avx512(rows: Rows, machine: dict[str, Any]) -> float:
    if machine["instructions"] != "avx512":
        raise KeyError("avx512")
    return float(_named(rows, OURS)["cpu"])


def _ratio(over: str, under: str = OURS, of: str = "cpu") -> Callable[..., float]:
    return lambda rows, _: _named(rows, over)[of] / _named(rows, under)[of]


def _picks_equal(rows: Rows, _: dict[str, Any]) -> float:
    return float(_named(rows, OURS)["facts"]["picks equal NumPy's"] == "yes")


def _difference(rows: Rows, _: dict[str, Any]) -> float:
    return float(_named(rows, OURS)["facts"]["difference from NumPy"])


def _of_bandwidth(rows: Rows, machine: dict[str, Any]) -> float:
    row = _named(rows, OURS)
    return 100 * row["moved"] / row["cpu"] / machine["read_bandwidth"]


def _memory(start: str) -> Callable[[Rows, dict[str, Any]], float]:
    return lambda rows, _: _named(rows, start)["memory"] / 2**30


def _megabytes(rows: Rows, _: dict[str, Any]) -> float:
    return float(_named(rows, OURS)["memory"]) / 1e6


def _after_start(name: str) -> Callable[[Rows, dict[str, Any]], float]:
    """Milliseconds of an import beyond the start of Python."""
    return lambda rows, _: 1e3 * (rows[name]["cpu"] - rows[PYTHON]["cpu"])


def _beside_numpy(rows: Rows, about: dict[str, Any]) -> float:
    return _after_start(CALL)(rows, about) / _after_start(NUMPY)(rows, about)


def _arithmetic(rows: Rows, machine: dict[str, Any]) -> str:
    least = _named(rows, OURS)["operations"] / machine["flops_f32"]
    return f"all kernel values at BLAS's f32 rate: {least:.3g} CPU-s"


def _arithmetic_beside(name: str) -> Obstacle:
    def words(rows: Rows, machine: dict[str, Any]) -> str:
        least = _named(rows, OURS)["operations"] / machine["flops_f32"]
        times = _named(rows, name)["cpu"] / least
        return f"all kernel values at BLAS's f32 rate would be {times:.3g} times faster"

    return words


def _more_points(rows: Rows, _: dict[str, Any]) -> str:
    ours, tenth = _named(rows, OURS), _named(rows, f"{OURS}, of a tenth")
    return (
        f"reading all points once a pick takes {_ratio(READ, f'{READ}, of a')(rows, _):.3g} times; "
        f"{DOUBT}: {ours['facts'][DOUBT]}, of a tenth {tenth['facts'][DOUBT]}"
    )


def _reading(rows: Rows, machine: dict[str, Any]) -> str:
    moved = _named(rows, OURS)["moved"]
    alone, digit = (
        100 * moved / rows[name]["cpu"] / machine["read_bandwidth"] for name in (BYTES, DIGIT)
    )
    return f"reading alone {alone:.3g} %, one digit of three {digit:.3g} %: the rest is arithmetic"


def _bytes_of(scores: int) -> Obstacle:
    """How often fewer bytes are touched, with `scores` bytes a row beside the 16-bit columns."""

    def words(rows: Rows, _: dict[str, Any]) -> str:
        sizes = next(iter(rows.values()))["sizes"]
        fewer = (2 * sizes["d"] + scores) / (2 * sizes["changed"] + scores)
        return f"{fewer:.3g} times fewer bytes, {scores} of each row's being scores"

    return words


def _products_only(rows: Rows, _: dict[str, Any]) -> str:
    times = _ratio("NumPy", "products")(rows, _)
    return f"its matrix products alone are {times:.3g} times faster than NumPy"


def _decoding(rows: Rows, _: dict[str, Any]) -> str:
    times = _ratio(DECODING, _PASS)(rows, _)
    return f"all columns are decoded twice, each time in {times:.3g} times"


def _landmarks(rows: Rows, _: dict[str, Any]) -> str:
    return f"kernel values alone, NumPy f32: {_ratio(VALUES, _PASS)(rows, _):.3g} times"


def _landmarks_decoded(rows: Rows, about: dict[str, Any]) -> str:
    return f"{_landmarks(rows, about)}; {_decoding(rows, about)}"


def _iterations(rows: Rows, _: dict[str, Any]) -> str:
    row = _named(rows, OURS)
    each = 1e9 * row["cpu"] / row["sizes"]["T"]
    return f"{each:.3g} CPU-ns an iteration: draws and look-ups, each of which needs the one before"


def _steps(rows: Rows, _: dict[str, Any]) -> str:
    once, loosely = rows[ONCE]["cpu"], rows[LOOSELY]["cpu"]
    return f"all kernel values once {once:.3g}, within 1e-5 {loosely:.3g} CPU-s: the rest are steps"


def _imports(rows: Rows, _: dict[str, Any]) -> str:
    start = rows[PYTHON]["cpu"]
    numpy, others = (1e3 * (rows[name]["cpu"] - start) for name in (NUMPY, LOADS))
    return f"NumPy {numpy:.3g}, with what it loads of the standard library {others:.3g} CPU-ms"


def _imports_beside(rows: Rows, about: dict[str, Any]) -> str:
    others = _after_start(LOADS)(rows, about) / _after_start(NUMPY)(rows, about)
    return f"NumPy and the standard modules it loads: {others:.3g} times; the rest is ours"


_SELECTION = {"n": 50_000, "p": 500}
_SHAPES = {"n": 20_000, "m": 1000, "p": 500}
_OWNER = {"n": 10_000_000}
_TIMES = "times"
_OF_RUN = _ratio(REPORT, RUN), 1, _TIMES
_ARRAY, _FILE, _PASS = f"{OURS}, streamed array", f"{OURS}, streamed Par", "products"
_LANDMARK_FILE = f"{OURS}, streamed Parquet, l"

AIMS = (
    Aim("500 of 50,000 x 64 towards 1,000", "selection", _SELECTION, _cpu(), 0.25, "CPU-s"),
    Aim(
        "the same, with AVX-512",
        "selection",
        _SELECTION,
        _cpu_avx512,
        0.17,
        "CPU-s",
        obstacle=_arithmetic,
    ),
    Aim(
        "500 of 20,000, beside NumPy f32 that is not exact: the least over 15 shapes of points",
        "selection",
        _SHAPES,
        lambda rows, _: min(_by_shape(rows)),
        1,
        _TIMES,
        True,
        _every_pick_reads,
    ),
    Aim(
        "the same, geometric mean",
        "selection",
        _SHAPES,
        lambda rows, _: geometric_mean(_by_shape(rows)),
        2.5,
        _TIMES,
        True,
        _every_pick_reads,
    ),
    Aim(
        "500 of 500,000 x 64, in the time of 50,000",
        "selection",
        {"n": 500_000, "p": 500},
        _ratio(OURS, f"{OURS}, of a tenth"),
        9,
        _TIMES,
        obstacle=_more_points,
    ),
    Aim(
        "400 of 50,000 x 64 where 20,000 are one point, in the time of distinct points",
        "selection",
        {"copies": 20_000},
        _ratio(OURS, f"{OURS}, of distinct"),
        1,
        _TIMES,
    ),
    Aim(
        "the same picks as NumPy's greedy (1: yes)",
        "selection",
        _SELECTION,
        _picks_equal,
        1,
        "",
        True,
    ),
    Aim(
        "faster than NumPy's greedy, as first written (differences)",
        "selection",
        _SELECTION,
        _ratio("NumPy, diff"),
        50,
        _TIMES,
        True,
        _arithmetic_beside("NumPy, diff"),
    ),
    Aim(
        "faster than NumPy's greedy, as written with care (products)",
        "selection",
        _SELECTION,
        _ratio("NumPy, prod"),
        50,
        _TIMES,
        True,
        _arithmetic_beside("NumPy, prod"),
    ),
    Aim(
        "faster than coreax's herding",
        "selection",
        _SELECTION,
        _ratio("coreax"),
        50,
        _TIMES,
        True,
        _arithmetic_beside("coreax"),
    ),
    Aim(
        "not slower than goodpoints' compress_kt, g=2",
        "selection",
        _SELECTION,
        _ratio("goodpoints compress_kt, g=2"),
        1,
        _TIMES,
        True,
    ),
    Aim(
        "an owner's offers from 10,000,000 x 64, in the time of products and sines alone, array",
        "offers",
        _OWNER,
        _ratio(_ARRAY, _PASS),
        2,
        _TIMES,
    ),
    Aim(
        "the same, Parquet",
        "offers",
        _OWNER,
        _ratio(_FILE, _PASS),
        2,
        _TIMES,
        obstacle=_decoding,
    ),
    Aim(
        "with landmarks, array",
        "offers",
        _OWNER,
        _ratio(f"{_ARRAY}, l", _PASS),
        2,
        _TIMES,
        obstacle=_landmarks,
    ),
    Aim(
        "with landmarks, Parquet",
        "offers",
        _OWNER,
        _ratio(_LANDMARK_FILE, _PASS),
        2,
        _TIMES,
        obstacle=_landmarks_decoded,
    ),
    Aim("its memory, array", "offers", _OWNER, _memory(_ARRAY), 1, "GiB"),
    Aim("its memory, Parquet", "offers", _OWNER, _memory(_FILE), 1, "GiB"),
    Aim(
        "features of 1,000,000 x 64, d = 512, 2 threads, faster than RBFSampler (wall)",
        "features",
        {"n": 1_000_000},
        _ratio("scikit-learn", of="wall"),
        3,
        _TIMES,
        True,
    ),
    Aim(
        "best bid after all columns changed: part of the measured read bandwidth",
        "bids",
        {"n": 200_000, "d": 512},
        _of_bandwidth,
        80,
        "%",
        True,
        _reading,
    ),
    Aim(
        "scores after 10 of 140 columns changed, faster than after all",
        "bids",
        {"changed": 10},
        _ratio("scores alone, all", "scores alone, 10"),
        10,
        _TIMES,
        True,
        _bytes_of(16),
    ),
    Aim(
        "the same with the search for the best",
        "bids",
        {"changed": 10},
        _ratio(f"{OURS}, all", f"{OURS}, 10"),
        10,
        _TIMES,
        True,
        _bytes_of(24),
    ),
    Aim(
        "an Auction of 100 owners, batch 1, p = 1,000 of 100,000 points",
        "protocols",
        {"n": 100_000, "K": 100},
        _cpu(f"{OURS}, Auction"),
        50,
        "CPU-s",
    ),
    Aim("MWEM, d = 4,096, T = 262,144", "mwem", {"d": 4096}, _cpu(), 0.2, "CPU-s"),
    Aim(
        "MWEM, d = 140, T = 1,656, faster than its twin",
        "mwem",
        {"d": 140},
        _ratio("NumPy"),
        100,
        _TIMES,
        True,
        _iterations,
    ),
    Aim(
        "exact MMD² of 50,000 and 50,000 x 64, faster than NumPy in blocks",
        "mmd",
        {"n": 50_000},
        _ratio("NumPy"),
        8,
        _TIMES,
        True,
        _products_only,
    ),
    Aim(
        "the same, in the time of its matrix products alone",
        "mmd",
        {"n": 50_000},
        _ratio(OURS, "products"),
        1.3,
        _TIMES,
    ),
    Aim("its difference from NumPy", "mmd", {"n": 50_000}, _difference, 1e-10, ""),
    Aim(
        "weights of 10,000 points x 64 worth half of them",
        "mmd",
        {"n": 10_000, "floor": 5000},
        _cpu(f"{OURS}, weights"),
        2,
        "CPU-s",
    ),
    Aim(
        "the same without a floor, within 1e-9",
        "mmd",
        {"n": 10_000, "floor": 1},
        _cpu(f"{OURS}, weights"),
        2,
        "CPU-s",
        obstacle=_steps,
    ),
    Aim(
        "secret product of two owners at Adult's size, left owner",
        "columns",
        {"n": 30_162, "a": 93},
        _cpu(f"{OURS}, left"),
        0.1,
        "CPU-s",
    ),
    Aim(
        "the same, right owner",
        "columns",
        {"n": 30_162, "a": 93},
        _cpu(f"{OURS}, right"),
        0.1,
        "CPU-s",
    ),
    Aim("its memory at 1,000,000 records", "columns", {"n": 1_000_000}, _megabytes, 100, "MB"),
    Aim("`summarize` of 4 Parquet files, 4,000,000 x 20", "files", _FILES, _cpu(), 18, "CPU-s"),
    Aim("its memory", "files", _FILES, _memory(OURS), 1, "GiB"),
    Aim("the mixture's fit at Adult's size", "columns", {"K": 150}, _cpu(), 1.5, "CPU-s"),
    Aim(
        "`synthesize` and as many rows at Adult's size, one process",
        "columns",
        {"owners": 2},
        _cpu(),
        3,
        "CPU-s",
    ),
    Aim("`dpsumm --help`, Python's start included", "start", {}, _cpu(HELP), 0.3, "CPU-s"),
    Aim("`import dpsumm`, after Python's start", "start", {}, _after_start(OURS), 150, "CPU-ms"),
    Aim(
        "`from dpsumm import summarize`, NumPy included, after Python's start",
        "start",
        {},
        _after_start(CALL),
        150,
        "CPU-ms",
        obstacle=_imports,
    ),
    Aim(
        "the same, in the time of NumPy's own import",
        "start",
        {},
        _beside_numpy,
        1.12,
        _TIMES,
        obstacle=_imports_beside,
    ),
    Aim("report of 500 columns, in the time of its run", "report", {"c": 500}, *_OF_RUN),
    Aim("the same, 5,000 columns", "report", {"c": 5000}, *_OF_RUN),
)
