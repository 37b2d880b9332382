"""MST and AIM of the package dpmm, with a trusted curator who holds the whole table.

Run by an environment of its own (`.venv-rows`), which has no dpsumm:
python peers.py task.npz rows.npy METHOD EPSILON DELTA SEED SECONDS

Equal accounting. Both spend a rho of zero-concentrated differential privacy for one record added or
removed. One record replaced moves two cells of a table, so a Gaussian release costs twice the rho;
and it moves a score of the exponential mechanism (a distance of tables, in L1) by up to two instead
of one, which costs four times. MST gives a third to choosing, AIM a tenth of each round.
"""

from __future__ import annotations

import resource
import sys

import numpy as np
import pandas as pd
from dpmm.models.aim import AIMGM
from dpmm.models.base.mechanisms.cdp2adp import cdp_eps, cdp_rho
from dpmm.models.mst import MSTGM

DEARER = {"MST": 2 * 2 / 3 + 4 / 3, "AIM": 2 * 0.9 + 4 * 0.1}


def main() -> None:
    """Fit, sample as many rows as there are, write their codes; die after SECONDS at work."""
    task, out, method, epsilon, delta, seed, seconds = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 10))
    known = np.load(task)
    names = [f"c{j}" for j in range(len(known["sizes"]))]
    domain = dict(zip(names, map(int, known["sizes"]), strict=True))
    rho = cdp_rho(float(epsilon), float(delta)) / DEARER[method]
    rng = np.random.RandomState(int(seed))
    model = {"MST": MSTGM, "AIM": AIMGM}[method](
        epsilon=cdp_eps(rho, float(delta)),
        delta=float(delta),
        domain=domain,
        random_state=rng,
        n_jobs=1,
        n_iters=1000,
        **({"max_model_size": 1} if method == "AIM" else {}),
    )
    table = pd.DataFrame(known["train"], columns=names)
    model.fit(table)
    rows = model.generate(n_records=len(table))[names]
    np.save(out, rows.to_numpy().astype(np.int64))


if __name__ == "__main__":
    main()
