"""Rules for the requests in a round of the Auction, with their guarantees.

An owner is asked with a probability that depends on the rank of its bid. Another owner's record
moves a rank by at most one (``docs/privacy/auction.md``, Lemma 2), so a rule is private when
neighbouring ranks have nearly the same probability. Rank 1 must be asked for certain, or the winner
might not be in hand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import check_whole
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import accounting, portable


@dataclass(frozen=True)
class PublishedRequests:
    """The paper's rule (Algorithm 3, steps 12 to 14), as `Requests.published` makes it.

    Attributes
    ----------
    epsilon_auction
        The owner at rank r is asked with probability ``exp(-epsilon_auction (r - 1))``.
    """

    epsilon_auction: float = 1.0
    tau: int | None = None

    def __post_init__(self) -> None:
        accounting.check_epsilon(self.epsilon_auction, "epsilon_auction")
        if self.tau is not None:
            check_whole(self.tau, "tau", 1)

    @property
    def asks_everybody(self) -> bool:
        """Whether every bid is asked for at once, so that requests reveal nothing."""
        return self.tau == 1

    @property
    def forced_delta(self) -> float:
        """The least delta, at any epsilon, of one round.

        Rank 1 is always asked, rank 2 is not with probability ``1 - exp(-epsilon_auction)``: not
        being asked has probability 0 in one world and that much in the other. In the first round no
        point was best before, so no tau above 1 changes that. A tau of 1 asks everybody, and
        forces nothing.
        """
        return 0.0 if self.asks_everybody else -portable.expm1(-self.epsilon_auction)


class Requests(str, Enum):
    """Request rules.

    ``ALL``: every owner sends its best points every round. Requests reveal nothing.
    ``PRIVATE``: by rank, with the cheapest profile for the run.
    ``WINNER``: only the best, and not private.
    ``PUBLISHED``: as in the paper, `published` with its defaults. No guarantee with a small delta.

    See Also
    --------
    dpsumm.papers.Auction : Takes it as `requests`.
    """

    ALL = "all"
    PRIVATE = "private"
    WINNER = "winner"
    PUBLISHED = "published"

    @staticmethod
    def published(epsilon_auction: float = 1.0, tau: int | None = None) -> PublishedRequests:
        """Return the paper's rule with its two inputs. Its section 4 states neither.

        Parameters
        ----------
        epsilon_auction
            In [1e-9, 1e6]: the owner at rank r is asked with probability
            ``exp(-epsilon_auction (r - 1))``.
        tau
            A point that was its owner's best so many times is asked for at any rank (step 14). At
            least 1, which asks every owner. None turns this part of the rule off.

        Raises
        ------
        InvalidParameterError
            A parameter is out of range.

        Privacy
        -------
        None with a small delta (`PublishedRequests.forced_delta`): the charge is infinite. Whether
        step 14 applies is known to the owner beforehand (``docs/privacy/auction.md``), so it
        neither adds to what the ranks reveal nor takes away from it, unless tau is 1.

        Examples
        --------
        >>> from dpsumm.papers import Requests
        >>> rule = Requests.published(0.1, tau=5)
        >>> round(rule.forced_delta, 4), Requests.published(0.1, tau=1).forced_delta
        (0.0952, 0.0)
        """
        return PublishedRequests(epsilon_auction, tau)


def unguarded(rule: Requests | PublishedRequests) -> str:
    """Return why a rule has no guarantee between owners, without an end. Empty if it has one."""
    if rule is Requests.WINNER:
        return "only the winner sent its point"
    if not isinstance(rule, PublishedRequests) or rule.asks_everybody:
        return ""
    by_tau = "" if rule.tau is None else f"; that tau is {rule.tau} changes nothing in it"
    return (
        f"the published request rule forces delta >= {rule.forced_delta:.3g} in a single round, "
        f"whatever epsilon{by_tau}"
    )


def rule_of(requests: object) -> Requests | PublishedRequests:
    """Return the rule that a parameter names."""
    if isinstance(requests, PublishedRequests):
        return requests
    try:
        rule = Requests(requests)
    except ValueError:
        raise InvalidParameterError(
            "requests must be 'all', 'private', 'winner', 'published' or "
            f"Requests.published(epsilon_auction, tau), got {requests!r}"
        ) from None
    return Requests.published() if rule is Requests.PUBLISHED else rule


@dataclass(frozen=True)
class Profile:
    """Probability of a request by rank.

    Attributes
    ----------
    probability : (n_ranks,) float64
        ``probability[r - 1]`` for rank r, not increasing. Multiples of 2**-53, so that a coin of 53
        random bits is exact.
    """

    probability: NDArray[np.float64]

    @property
    def expected(self) -> float:
        """Expected number of requests a round."""
        return math.fsum(self.probability)


def _on_coin_grid(probability: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.ceil(np.clip(probability, 0.0, 1.0) * 2.0**53) / 2.0**53


def one_round_profile(epsilon: float, delta: float, n_ranks: int, certain: int = 1) -> Profile:
    """Return the cheapest (epsilon, delta)-DP profile for one request with ``pi(1..certain) = 1``.

    ``pi(r+1) = max(e^-eps (pi(r) - delta), 1 - e^eps (1 - pi(r)) - delta, 0)``: the least
    probability that both events (asked, not asked) allow next to ``pi(r)``. By induction it is
    least at every rank (optimal partition selection, Desfontaines, Voss & Gipson 2020).
    """
    accounting.check_epsilon(epsilon)
    if not 0 <= delta < 1:
        raise InvalidParameterError(f"delta must be in [0, 1), got {delta!r}")
    up, down = portable.exp(epsilon), portable.exp(-epsilon)
    probability = np.ones(n_ranks)
    last = 1.0
    for r in range(certain, n_ranks):
        not_asked = up * (1 - last) if last < 1 else 0.0  # `up` may be infinite
        last = probability[r] = max(down * (last - delta), 1 - not_asked - delta, 0.0)
    return Profile(_on_coin_grid(probability))


def gaussian_threshold(noise_std: float, missed: float, n_ranks: int, certain: int = 1) -> Profile:
    """Return ``pi(r) = Phi((tau - r) / noise_std)`` with ``pi(1..certain)`` set to 1.

    tau is such that rank ``certain + 1`` is not asked with probability `missed`. n requests by this
    rule are n observations of a rank with Gaussian noise, but for an event of probability at most
    ``n * missed`` (``docs/privacy/auction.md``, Lemma 3).
    """
    tau = certain + 1 - noise_std * portable.normal_quantile(missed)
    ranks = np.arange(1, n_ranks + 1, dtype=np.float64)
    probability = portable.normal_cdf((tau - ranks) / noise_std)
    probability[:certain] = 1.0
    # Rounding may let a rank rise by a bit over the one before it.
    probability = np.maximum.accumulate(probability[::-1])[::-1]
    return Profile(_on_coin_grid(probability))


def published_profile(epsilon_auction: float, n_ranks: int) -> Profile:
    """Return the paper's rule, ``pi(r) = exp(-epsilon_auction (r - 1))``."""
    accounting.check_epsilon(epsilon_auction, "epsilon_auction")
    return Profile(
        _on_coin_grid(np.array([portable.exp(-epsilon_auction * r) for r in range(n_ranks)]))
    )


def winner_profile(n_ranks: int, certain: int = 1) -> Profile:
    """Return the rule that asks for the best points only."""
    return Profile((np.arange(n_ranks) < certain).astype(np.float64))
