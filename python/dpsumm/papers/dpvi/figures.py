"""The guarantees of the paper's method by observer, and the figures of the paper itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpsumm.basics.checks import check_installed
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import accounting
from dpsumm.privacy.events import Gaussian

ANALYST = "analyst"
# What arithmetic may add to a clipped gradient's norm, and more: under MPC it came out at 1.0016 C.
MARGIN = 1 + 2.0**-6


def discrete_sum_tau(parties: int, std: float) -> float:
    """Return how far the sum of discrete Gaussians of several parties is from one: tau.

    Kairouz, Liu and Steinke 2021, Proposition 14. The sum of n of them, of `std` each (at least
    1/2), is ``epsilon**2 / 2``-concentrated DP with ``epsilon = min(sqrt(D**2 / (n std**2) +
    tau d / 2), D / (sqrt(n) std) + tau sqrt(d))`` for sensitivity D in d coordinates.
    """
    if std < 0.5:
        raise InvalidParameterError(f"std must be 0.5 or more, got {std!r}")
    return 10 * math.fsum(
        math.exp(-2 * math.pi**2 * std**2 * k / (k + 1)) for k in range(1, parties)
    )


def sampled_gaussian(
    noise_multiplier: float, sample: float, count: int, delta: float, *, replace: bool
) -> float:
    """Return an epsilon of Gaussian releases of Poisson-sampled records, by PLD.

    Parameters
    ----------
    noise_multiplier
        Noise over the most that one record's own part of the sum can be.
    sample
        Chance of a record to be in one release, in (0, 1). The observer does not know which are.
    replace
        For one replaced record. It leaves and another comes, so the sums of the two worlds differ
        by two parts. Otherwise for one added or removed.

    Raises
    ------
    MissingExtraError
        dp-accounting is not installed.
    """
    check_installed("dp_accounting", "the cost of sampled batches needs", "dpvi")
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    accounting.check_delta(delta)
    relation = dp_accounting.NeighboringRelation
    accountant = PLDAccountant(relation.REPLACE_ONE if replace else relation.ADD_OR_REMOVE_ONE)
    one = dp_accounting.PoissonSampledDpEvent(
        sample, dp_accounting.GaussianDpEvent(noise_multiplier)
    )
    accountant.compose(one, count)
    # Far above float error.
    return float(accountant.get_epsilon(delta)) * (1 + 1e-9)


@dataclass(frozen=True)
class VPDP:
    """Guarantees of a trained model for one replaced record, towards the analyst and an owner.

    Attributes
    ----------
    owners
        How many. Each adds noise to every step.
    noise_multiplier
        Standard deviation of one owner's noise, over the clip C.
    steps, sample
        Steps, and the chance of a record to be in a batch (1: all records in every step).
    known
        Owners know the batches, as the paper sends them. So a record counts in all steps for them.
    seeded
        The noise can be drawn again.
    """

    owners: int
    noise_multiplier: float
    steps: int
    sample: float
    known: bool
    seeded: bool = False

    def epsilon(self, delta: float, *, observer: str = ANALYST) -> float:
        """Return epsilon towards the analyst, or towards any one owner (``"owner"``).

        A replaced record moves a clipped sum by up to 2 C, plus what arithmetic adds. The analyst
        does not know any noise. An owner knows its own noise, and batches if they are sent to it.
        """
        if observer not in (ANALYST, "owner"):
            raise InvalidParameterError(f"observer must be 'analyst' or 'owner', got {observer!r}")
        if self.seeded:
            return math.inf
        unknown = self.owners - (observer == "owner")
        std = self.noise_multiplier * math.sqrt(unknown) / MARGIN
        if self.sample < 1 and not (self.known and observer == "owner"):
            return sampled_gaussian(std, self.sample, self.steps, delta, replace=True)
        return accounting.compose([(Gaussian(std / 2), self.steps)], delta)

    def statements(self, delta: float) -> list[str]:
        """Return sentences for a privacy officer."""
        if self.seeded:
            return ["Nothing is guaranteed: the noise came from a seed, and can be drawn again."]
        unit = (
            f"{delta:g})-differential privacy; unit: replace one record, number of records public."
        )
        analyst, owner = (self.epsilon(delta, observer=who) for who in (ANALYST, "owner"))
        return [
            f"Every record towards the analyst: ({analyst:.4g}, {unit}",
            f"Every record's columns at the other owners towards one owner: ({owner:.4g}, {unit}",
            "Condition: gradients are summed by a secure computation, which is simulated here; "
            "batches come from NumPy's generator, which is not cryptographic. A reference, not for "
            "release.",
        ]


@dataclass(frozen=True)
class Stated:
    """One figure of the paper, next to the sound one.

    Attributes
    ----------
    what
        In words.
    stated
        The paper's epsilon.
    sound
        What holds for the neighbours that the paper's own definition has (replacement), both
        owners' noise, and what the observer knows.
    why
        Of the difference.
    """

    what: str
    stated: float
    sound: float
    why: str


def stated_figures(
    sigma: float, steps: int, sample: float, owners: int, delta: float
) -> tuple[Stated, ...]:
    """Return the figures of the paper's section 6 next to sound ones."""
    apart = sigma * math.sqrt((owners - 1) / owners)  # an owner knows its part of the noise

    def towards_owner(count: float, each: float) -> float:
        return accounting.compose([(Gaussian(each / math.sqrt(count)), 1)], delta)

    return (
        Stated(
            "towards the analyst",
            1.0,
            sampled_gaussian(sigma, sample, steps, delta, replace=True),
            "accounted for a record added or removed; the definition replaces one",
        ),
        Stated(
            "towards an owner, a record in as many batches as expected",
            26.0,
            towards_owner(steps * sample, apart / 2),
            "accounted for a record added or removed and noise that nobody knows; no guarantee "
            "either way: some records are in more batches",
        ),
        Stated(
            "towards an owner, a record in all batches",
            3000.0,
            towards_owner(steps, apart / 2),
            "as before; this one holds for every record",
        ),
    )
