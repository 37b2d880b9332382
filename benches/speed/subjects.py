"""The work that is measured. Each subject yields rows, its own beside its peers' in one run."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import dpsumm
from benches.speed import peers
from benches.speed.timing import Row, absent, measure
from dpsumm import _core

OURS = "dpsumm"
REPEATS = 5


def normal(n: int, dim: int, shift: float = 0.0, seed: int = 0, dtype=np.float64) -> np.ndarray:
    """Return (n, dim) normal points around `shift`."""
    made = np.random.default_rng(seed).standard_normal((n, dim), dtype=np.float32) + shift
    return np.ascontiguousarray(made, dtype=dtype)


def peer(row: tuple[str, str, dict[str, int]], package: str, make, quality) -> Row:
    """Measure a peer and the MMD^2 of what it chose, or say why not."""
    if find_spec(package) is None:
        return absent(*row, "not installed")
    measured, chosen = measure(*row, make(), REPEATS)
    measured.extra |= {"chosen": len(chosen), "mmd2": quality(chosen)}
    return measured


def selection(short: bool) -> Iterator[Row]:
    """Choose p of n points towards m target points, the kernel exact."""
    dim, gamma = 64, 1 / 128
    sizes = [(500, 20, 50)] if short else [(5_000, 500, 1000), (50_000, 50, 1000)]
    sizes += [] if short else [(500_000, 500, 1000), (50_000, 5000, 1000), (50_000, 500, 1000)]
    for n, p, m in sizes:
        points, target = normal(n, dim), normal(m, dim, 0.5, 1)
        size = {"n": n, "dim": dim, "p": p, "m": m}

        def greedy(points=points, target=target, p=p):
            return _core.greedy_towards(points, target, gamma, p).rows

        row, ours = measure("selection", OURS, size, greedy, REPEATS)
        row.extra["mmd2"] = _core.mmd2(points[ours], target, gamma)
        yield row
        means = lambda a=points, b=target: _core.kernel_means(a, b, gamma)
        yield measure("selection", "dpsumm, exact target scores alone", size, means, REPEATS)[0]
        if (n, p) not in ((500, 20), (50_000, 500)):
            continue
        work = lambda a=points, b=target, p=p: peers.numpy_greedy(a, b, gamma, p)
        row, theirs = measure("selection", "NumPy, plain greedy", size, work, REPEATS)
        row.extra["mmd2"] = _core.mmd2(points[theirs], target, gamma)
        row.extra["same picks"] = bool((ours == theirs).all())
        yield row
        yield peer(
            ("selection", "coreax, herding to the target", size),
            "coreax",
            lambda a=points, b=target, p=p: peers.coreax_herding(a, b, gamma, p),
            lambda rows, a=points, b=target: _core.mmd2(a[rows], b, gamma),
        )
        yield peer(
            ("selection", "goodpoints, compress_kt (no target)", size),
            "goodpoints",
            lambda a=points, p=p: peers.goodpoints_compress(a, gamma, p),
            lambda rows, a=points, b=target: _core.mmd2(a[rows], b, gamma),
        )


def features(short: bool) -> Iterator[Row]:
    """Random Fourier features of n float32 points, and their products with one direction."""
    dim, gamma = 64, 1 / 128
    for n, d in [(2_000, 32)] if short else [(10_000, 512), (100_000, 64), (1_000_000, 512)]:
        points = normal(n, dim, dtype=np.float32)
        size = {"n": n, "dim": dim, "d": d}
        ours = _core.RandomFeatures("paired", True, gamma, dim, d, 1)
        direction = np.random.default_rng(2).standard_normal(d)
        yield measure("features", OURS, size, lambda: ours.transform(points), REPEATS)[0]
        scores = lambda: ours.scores(points, direction)
        yield measure("features", "dpsumm, scores without features", size, scores, REPEATS)[0]
        theirs = peers.sklearn_features(points, gamma, d)
        yield measure("features", "scikit-learn, RBFSampler", size, theirs, REPEATS)[0]


def mmd(short: bool) -> Iterator[Row]:
    """Exact MMD^2 of two samples of n points."""
    dim, gamma = 64, 1 / 128
    for n in [300] if short else [1_000, 5_000, 20_000]:
        a, b = normal(n, dim), normal(n, dim, 0.1, 1)
        size = {"n": n, "dim": dim}
        row, ours = measure("mmd", OURS, size, lambda: _core.mmd2(a, b, gamma), REPEATS)
        theirs_row, theirs = measure(
            "mmd", "NumPy in blocks", size, lambda: peers.numpy_mmd2(a, b, gamma), REPEATS
        )
        row.extra["difference"] = abs(ours - theirs)
        yield row
        yield theirs_row


def bids(short: bool) -> Iterator[Row]:
    """An owner's scores after a release: all columns, after few changed, and the best row."""
    for n, d in [(1_000, 32)] if short else [(5_000, 140), (50_000, 140), (500_000, 140)]:
        rng = np.random.default_rng(3)
        bidder = _core.Bidder(rng.integers(-30_000, 30_000, (n, d)).astype(np.int16))
        direction = rng.integers(-(2**28), 2**28, d)
        bidder.set_target(direction)
        for name, changed in (("dense pass", d), ("10 columns changed", 10)):

            def rescore(bidder=bidder, direction=direction, changed=changed):
                direction[:changed] ^= 1 << 20
                bidder.set_target(direction)

            rescore()  # the second sparse change copies the columns
            size = {"n": n, "d": d}
            row, _ = measure("bids", f"dpsumm, {name}", size, rescore, 5 * REPEATS)
            row.extra["GB/s"] = 2e-9 * n * changed / row.wall
            yield row
        best = lambda: bidder.best(1, 0, 1)
        yield measure("bids", "dpsumm, best row", size, best, 5 * REPEATS)[0]


def mwem(short: bool) -> Iterator[Row]:
    """One run of MWEM with T iterations on d means."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
    from reference.mwem import mwem as twin

    for d, iterations in [(20, 50)] if short else [(140, 1656), (4096, 262_144)]:
        sums = (np.arange(d) * 7919) % 4001 - 2000
        size = {"d": d, "T": iterations}

        def run(d=d, sums=sums, iterations=iterations):
            return _core.Mwem(np.zeros(d), 8).run(sums, 1000, iterations, 0.01, 0.01, 1)

        yield measure("mwem", OURS, size, run, REPEATS)[0]
        if d <= 140:
            work = lambda: twin(sums, 1000, 8, iterations, 0.01, 0.01, np.random.default_rng(1))
            yield measure("mwem", "NumPy, plain", size, work, REPEATS)[0]


def offers(short: bool, large: bool = False) -> Iterator[Row]:
    """One owner's offers from a file that is streamed, and the scoring of its rows alone."""
    dim, d, p = 64, 512, 50 if short else 1000
    counts = [3_000] if short else [100_000, 1_000_000] + ([10_000_000] if large else [])
    target = normal(1000, dim, 0.3, 1, np.float32)
    protocol = dpsumm.Offers(parsimony=1, n_features=d)
    rate = None
    for n in counts:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "owner.npy"
            _write(path, n, dim)

            def run(path=path, p=p):
                owner = dpsumm.Stream(path)
                return dpsumm.summarize(
                    [owner], target, size=p, kernel=dpsumm.RBF(1 / 128), protocol=protocol
                )

            size = {"n": n, "dim": dim, "d": d, "p": p}
            row, summary = measure("offers", OURS, size, run, 1 if n > 10**6 else REPEATS)
            row.extra["accesses"] = summary.accesses
            yield row
        if n <= 10**6:
            points = normal(n, dim, dtype=np.float32)
            ours = _core.RandomFeatures("paired", True, 1 / 128, dim, d, 1)
            direction = np.random.default_rng(2).standard_normal(d)
            scores = lambda: ours.scores(points, direction)
            row, _ = measure("offers", "dpsumm, scoring alone, in memory", size, scores, REPEATS)
            rate = row.cpu / n
            yield row
        else:
            row = absent("offers", "dpsumm, scoring alone, in memory", size, "of 1,000,000 rows")
            row.cpu = rate * n
            yield row


def _write(path: Path, n: int, dim: int) -> None:
    array = np.lib.format.open_memmap(path, "w+", np.float32, (n, dim))
    rng = np.random.default_rng(0)
    for start in range(0, n, 10**6):
        part = array[start : start + 10**6]
        part[:] = rng.standard_normal(part.shape, dtype=np.float32)
    array.flush()


def protocols(short: bool) -> Iterator[Row]:
    """Whole runs in one process: K owners, all rows together, a summary of p points."""
    dim = 16
    cases = [(4, 400, 20)] if short else [(10, 100_000, 1000), (100, 100_000, 1000)]
    cases += [] if short else [(100, 1_000_000, 1000)]
    target = normal(1000, dim, 0.3, 1, np.float32)
    for n_owners, n, p in cases:
        owners = [normal(n // n_owners, dim, i / n_owners, i, np.float32) for i in range(n_owners)]
        size = {"K": n_owners, "n": n, "p": p, "dim": dim}
        for name, protocol in (
            ("Offers", dpsumm.Offers()),
            ("Auction, everybody sends, 10 rounds", dpsumm.Auction()),
        ):

            def run(owners=owners, protocol=protocol, p=p):
                return dpsumm.summarize(
                    owners, target, size=p, kernel=dpsumm.RBF(1 / 32), protocol=protocol
                )

            row, summary = measure("protocols", f"dpsumm, {name}", size, run, 3)
            row.extra |= {"accesses": summary.accesses, "mmd2": summary.mmd2}
            yield row


SUBJECTS = {
    "selection": selection,
    "features": features,
    "mmd": mmd,
    "bids": bids,
    "mwem": mwem,
    "offers": offers,
    "protocols": protocols,
}
