"""The protocol and its public parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from dpsumm.basics.checks import check_number, check_whole, settle
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import accounting
from dpsumm.vertical.defaults import COMPONENTS, KEEP
from dpsumm.vertical.layout import Budget, Released
from dpsumm.vertical.levels import Bins
from dpsumm.vertical.model import Fitting
from dpsumm.vertical.pooled import Pooled, fit_pooled
from dpsumm.vertical.products import Dealer, Mpyc, check_product
from dpsumm.vertical.way import Way

# Below, noise hides all that could be learnt.
FEW_RECORDS = 200
# Categories with less of the records share a code.
_RARE = 0.005


@dataclass(frozen=True)
class Tables:
    """Makes rows by noisy tables of one and two columns, and a model that is fitted to them.

    All parameters are public. Do not choose them by looking at the data.

    Parameters
    ----------
    bins
        Of columns of numbers and dates. By default about 12 of equal mass follow from noisy counts
        on a public tree of values, and frequent values have a bin of their own. Else how many of
        equal width, or a dict of column to how many or to their edges.
    first
        Share of the budget for one-way tables, 0.01 to 0.5.
    to_label
        Share of the budget for tables of the label with each other column, 0.01 to 0.9 less
        `first`. They have finer bins, and the label's model is fitted to them.
    pairs
        Pairs of names of columns that the rows are for, such as ``[("age", "cost")]``. Their tables
        get half of the budget of all pairs without the label. It pays from about 20 columns on.
    coarse
        Share of the budget for coarse tables of all pairs without the label, 0.01 to 0.5. With 25
        columns or more, these show which three pairs for each column a second round counts by
        their bins. 0 for one round.
    keep
        Levels with fewer noisy records than so many standard deviations of the noise are counted
        together, from 0 to 10. Bins that follow from noisy counts are two if noise leaves halves.
    components
        Products in the mixture, from which half of the rows are drawn.
    step, init, stop, max_steps
        Of the mixture's fit, see `dpsumm.kernels.fit_mixture`.
    rows
        Records in one message between owners, which bounds the memory.
    secret_product
        Engine for tables of two owners' columns, `vertical.Dealer()` by default, where a helper
        deals pads, or `vertical.Mpyc()`, with three processes of MPyC on one machine.

    See Also
    --------
    dpsumm.synthesize : Takes it as `protocol`.

    Examples
    --------
    >>> import dpsumm
    >>> dpsumm.Tables(bins=8).bins
    8
    """

    bins: Bins | None = None
    first: float = 0.2
    to_label: float = 0.3
    pairs: tuple[tuple[str, str], ...] = ()
    coarse: float = 0.2
    keep: float = KEEP
    components: int = COMPONENTS
    step: float = 0.06
    init: float = 0.5
    stop: float = 1.0
    max_steps: int = 2500
    rows: int = 2**16
    secret_product: Dealer | Mpyc = field(default_factory=Dealer)

    def __post_init__(self) -> None:
        """Check the ranges."""
        settle(self)
        for name, low, high in (
            ("first", 0.01, 0.5),
            ("keep", 0, 10),
            ("step", 1e-6, 10),
            ("init", 1e-6, 10),
            ("stop", 1e-3, 100),
        ):
            check_number(getattr(self, name), name, low, high)
        check_number(self.to_label, "to_label", 0.01, 0.9 - self.first)
        check_number(self.coarse, "coarse", 0.01 if self.coarse else 0, 0.5)
        object.__setattr__(self, "pairs", _pairs(self.pairs))
        check_whole(self.components, "components", 1, 10_000)
        check_whole(self.max_steps, "max_steps", 1, 10**6)
        check_whole(self.rows, "rows", 1, 2**20)
        check_product(self.secret_product)

    def budget(self, epsilon: float, delta: float) -> Budget:
        """Return the noise at a budget, in public numbers."""
        return Budget(
            noise_multiplier=accounting.gaussian_noise_multiplier(epsilon, delta),
            first=float(self.first),
            to_label=float(self.to_label),
            keep=float(self.keep),
            rows=self.rows,
            way=Way.MPYC if isinstance(self.secret_product, Mpyc) else Way.PADS,
            delta=delta,
            rare=_RARE,
            coarse=float(self.coarse),
        )

    def fit(self, released: Released) -> Pooled:
        """Return the model of released tables."""
        fitting = Fitting(self.components, self.step, self.init, self.stop, self.max_steps)
        return fit_pooled(released, fitting)


def pairs_of(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return pairs of columns from items that are typed, ``COLUMN,COLUMN``."""
    return _pairs([[name.strip() for name in text.split(",")] for text in texts])


def _pairs(given: object) -> tuple[tuple[str, str], ...]:
    """Return pairs of names as tuples, each of two columns and given once."""
    known = isinstance(given, (list, tuple)) and all(
        isinstance(pair, (list, tuple))
        and len(pair) == 2
        and all(isinstance(name, str) and name for name in pair)
        and pair[0] != pair[1]
        for pair in given
    )
    if not known:
        raise InvalidParameterError(
            "pairs must be pairs of names of two columns, such as [('age', 'cost')]"
        )
    pairs = [(one, other) for one, other in cast("Sequence[Sequence[str]]", given)]
    if len(set(map(frozenset, pairs))) < len(pairs):
        raise InvalidParameterError("pairs must name each pair once")
    return tuple(pairs)
