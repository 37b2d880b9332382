"""The one factory of settings for tests: what most runs share, once."""

from dpsumm.summary.kernel import RBF
from dpsumm.summary.protocols import Setting


def setting_of(target, sizes, ledger, **more):
    """A setting over arrays: `sizes` by owner, columns c0, c1, ..; `more` as of `Setting`."""
    given = {
        "columns": tuple(f"c{j}" for j in range(target.shape[1])),
        "schema": None,
        "size": 10,
        "epsilon": 1.0,
        "delta": 1e-5,
        "kernel": RBF(0.2),
        "labelled": False,
    }
    return Setting(target=target, n_records=sizes, ledger=ledger, **(given | more))
