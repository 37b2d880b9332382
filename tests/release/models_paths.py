"""Private models of a target's own labels."""

import math
import sys
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
from mpmath import mp
from path import DELTA, Left, delta_of, multiplier

from dpsumm.privacy import Ledger
from dpsumm.summary.models import sgd
from dpsumm.summary.models.noise import SMOOTHING, calibrated
from dpsumm.summary.models.objective import Objective
from dpsumm.summary.models.perturbation import Grid, Perturbed
from dpsumm.summary.models.training import Examples


def dp_sgd(rng, epsilon, n):
    """Everybody may see the sums of all steps: of rows without gradients they are noise alone."""
    taken, steps = [], 12

    class Network:
        def __init__(self, shapes, rows_, labels, clip):
            self.rows = rows_

        def gradients(self, weights):
            yield np.zeros((len(self.rows), 4))

    class Steps:
        mean = np.zeros(4)
        weights = None

        def __init__(self, *given):
            pass

        def take(self, gradient):
            taken.append(gradient * n * sgd.GRID)

    name = "dpsumm.summary.models.network"
    before = sys.modules.get(name)
    sys.modules[name] = SimpleNamespace(Network=Network, Steps=Steps)
    try:
        examples = Examples(np.zeros((n, 4)), np.full(n, -1), 2, 2, epsilon, DELTA)
        trainer = sgd.SgdTrainer(examples, sgd.DpSgd(hidden=0, steps=steps))
        with Ledger(delta=1e-3) as book:
            trainer.release(book, "model", "weights of a model of", "")
            charges = book.charges()
    finally:
        sys.modules.pop(name)
        if before is not None:
            sys.modules[name] = before
    found = np.rint(np.concatenate(taken)).astype(np.int64)
    # Two points out and two in, each of length 1, in each of the steps.
    std = multiplier(epsilon) * math.sqrt(steps) * 4 * sgd.GRID
    return Left(found, np.full(len(found), std), {"consumer": charges}, {})


def _flat(n, d=60, changed=2, epsilon=1.0, classes=2):
    """An objective without losses, whose minimiser is the slope over lambda."""
    noise = calibrated(
        epsilon, DELTA, changed=changed, n=n, classes=classes, dimension=d, regularization=0.5
    )
    return noise, Objective(np.zeros((n, d)), np.full(n, -1), classes, noise.regularization)


def slope(rng, epsilon, n, classes=2):
    """Everybody sees the weights of a private model: without losses, its slope's noise."""
    noise, _ = _flat(n, epsilon=epsilon, classes=classes)
    examples = Examples(np.zeros((n, 60)), np.full(n, -1), classes, 2, epsilon, DELTA)
    trainer = Perturbed(examples, 0.5)
    with Ledger(delta=1e-3) as book:
        _, drawn = trainer.release(book, "model", "weights of a model of", "")
        charges = book.charges()
    weights = trainer.layers(drawn)[0].ravel()
    # In steps of a thousandth of the noise.
    step = slope_std(n, epsilon, classes=classes) / 1000
    found = np.rint(weights * noise.regularization / step).astype(np.int64)
    return Left(found, np.full(len(found), 1000.0), {"consumer": charges}, {})


@cache
def slope_std(n, epsilon, changed=2, regularization=0.5, classes=2):
    """The slope's noise by the theorem of docs/privacy/private-models.md, computed anew."""
    with mp.workdps(40):
        small = mp.mpf(DELTA) / 100
        low, smoothing = mp.mpf(0), mp.mpf(1)
        while smoothing - low > mp.mpf(10) ** -12:
            middle = (low + smoothing) / 2
            enough = delta_of(1 / mp.mpf(SMOOTHING), middle) <= small
            low, smoothing = (low, middle) if enough else (middle, smoothing)
        each = (epsilon - smoothing) / (2 * changed)
        chain = sum(mp.exp(i * each) for i in range(2 * changed))
        left = (mp.mpf(DELTA) - small) / chain
        if classes == 2:
            curvature, moved = mp.log(1 + 1 / (mp.mpf(4) * n * regularization)), 1.0
        else:  # the largest of K - 1 Gaussians, each of which moves by the root of 2
            bent = 1 + 1 / (mp.mpf(classes) * n * regularization)
            curvature, moved = (classes - 1) * mp.log(bent), math.sqrt(2)
            left /= classes - 1
        return multiplier(float(each - curvature), float(left)) * moved / n


def on_weights(rng, epsilon, n):
    """The second noise of a private model, on the weights, which hides solver and grids."""
    noise, objective = _flat(n, epsilon=epsilon)
    grid = Grid.of(objective, noise)
    # Without a slope the minimiser is 0.
    found = replace(grid, slope_noise=2.0**-18).draw(objective)
    off = (grid.tolerance + grid.slope_step * math.sqrt(60) / 2) / noise.regularization
    off += grid.weight_step * math.sqrt(60) / 2
    std = SMOOTHING * 2 * off / grid.weight_step
    return Left(found, np.full(len(found), std), {}, {})
