"""What the compiled core runs on: instructions and threads."""

from __future__ import annotations

from dpsumm.kernels import _core, inputs

INSTRUCTIONS = _core.INSTRUCTIONS
"""What the core uses here, "avx512", "avx2" or "baseline"; results are the same, bit by bit."""


def set_threads(n_threads: int) -> None:
    """Set how many threads the core uses in this process. No result depends on it.

    Parameters
    ----------
    n_threads
        From 1 to 1024; 0, the default, means one for each processor.

    Raises
    ------
    InvalidParameterError
        Another number.

    Examples
    --------
    >>> from dpsumm.kernels import set_threads
    >>> set_threads(0)
    """
    _core.set_threads(inputs.whole(n_threads, "n_threads", 0, 1024))
