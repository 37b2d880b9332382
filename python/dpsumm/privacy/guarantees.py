"""The cost of a run, and its meaning in sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpsumm.privacy import accounting
from dpsumm.privacy.events import Charge, NonPrivate, Observer, Protected, Seeded, Unit
from dpsumm.privacy.facts import facts, rounded_up

if TYPE_CHECKING:
    from dpsumm.privacy.ledger import Ledger


@dataclass(frozen=True)
class Used:
    """What all runs of a ledger have spent of one of its caps.

    Attributes
    ----------
    protected
        Whose records.
    epsilon, delta
        Spent, with this run.
    cap
        Epsilon and delta that may be spent.
    """

    protected: Protected
    epsilon: float
    delta: float
    cap: tuple[float, float]

    @property
    def share(self) -> float:
        """Share of the cap that is spent, of epsilon or of delta, whichever is more."""
        return max(self.epsilon / self.cap[0], self.delta / self.cap[1])

    @classmethod
    def of(cls, book: Ledger) -> tuple[Used, ...]:
        """Return this of each cap of a ledger, if anything is spent."""
        parties = dict.fromkeys(change.protected for change in book.cap_changes())
        caps = ((whose, book.cap(whose)) for whose in parties)
        every = [cls(whose, *book.spent(whose), cap) for whose, cap in caps if cap]
        return tuple(used for used in every if used.epsilon > 0)


@dataclass(frozen=True)
class PrivacyReport:
    """The charges of one run and the guarantees that follow from them.

    Attributes
    ----------
    charges
        Every message that depended on private data and went to an owner, and every model that may
        be shown to everyone.
    delta
        The run's delta: default of `epsilon`.
    owners_argument
        Why owners are protected from each other as the charges say (sentences for a reader).
    accesses_everything
        The curator read all data of all owners.
    embedded
        The curator saw features under a secret map instead of records.
    coalition
        Number of owners that the charges allow to pool their messages.
    published
        Sentences that set the paper's own figures next to the sound ones.
    used
        The spent share of each cap of the ledger. Empty without caps, and for a saved result.

    See Also
    --------
    dpsumm.summarize : Its example asks a summary's report for epsilon.
    dpsumm.Ledger : Counts what several runs cost together.
    """

    charges: tuple[Charge, ...]
    delta: float
    owners_argument: str
    accesses_everything: bool = False
    embedded: bool = False
    published: tuple[str, ...] = ()
    coalition: int = 1
    used: tuple[Used, ...] = ()

    def epsilon(
        self,
        delta: float | None = None,
        *,
        protected: Protected | str = Protected.TARGET,
        unit: Unit | str | None = None,
    ) -> float:
        """Return epsilon (nats) of everything one owner received, at `delta`, rounded up.

        For `coalition` owners who share their messages, if more than 1.

        Parameters
        ----------
        delta
            In (0, 1). The run's own by default.
        protected
            ``"target"``: the target's records towards owners. ``"owners"``: an owner's records
            towards the other owners, or towards everyone if a model may be `shown`.
        unit
            What may change. The run's own unit by default.

        Returns
        -------
        float
            0 if nothing that was sent depends on them, infinity if nothing is guaranteed (as for a
            unit that the charges are not for).
        """
        party = Protected(protected)
        mine = [c for c in self.charges if c.protected is party]
        if unit is not None and any(c.unit is not Unit(unit) for c in mine):
            return math.inf
        events = [(c.event, c.count) for c in mine]
        return accounting.compose(events, self.delta if delta is None else delta)

    @property
    def seeded(self) -> bool:
        """Whether noise came from a user's seed, so that nothing is guaranteed."""
        return any(isinstance(charge.event, Seeded) for charge in self.charges)

    @property
    def shown(self) -> tuple[str, ...]:
        """The charges that everyone sees, in words."""
        return tuple(c.message for c in self.charges if c.observer is Observer.PUBLIC)

    @property
    def owners_towards(self) -> str:
        """A label for the owners' total, with the protected party and the observer."""
        return "of the owners, towards everyone" if self.shown else "between owners"

    def statements(self) -> list[str]:
        """Return sentences for a privacy officer on the protection of each party from others."""
        others = "everyone" if self.shown else "the other owners"
        return [
            self._about(Protected.TARGET, "The target's records towards the owners"),
            self._about(Protected.OWNERS, f"Each owner's records towards {others}")
            + " "
            + self.owners_argument,
            *self._shown(),
            self._not_protected(),
            *self.published,
        ]

    def _repr_html_(self) -> str:
        rows = [
            (
                name,
                f"epsilon {rounded_up(found)} at delta {self.delta:g}",
            )
            for name, found in (
                ("target's records", self.epsilon()),
                ("owners' records", self.epsilon(protected=Protected.OWNERS)),
            )
        ]
        return facts("Privacy of a run", rows, self.statements())

    def _shown(self) -> list[str]:
        if not self.shown:
            return []
        return [
            f"May be shown to everyone: {'; '.join(self.shown)}. What is said of the owners' "
            "records covers whoever sees these and, as an owner, all messages. The target's "
            "records enter them through what was released to the owners only, and are protected "
            "towards everyone as towards the owners."
        ]

    def _not_protected(self) -> str:
        what = "every record of every owner" if self.accesses_everything else "the accessed records"
        if self.embedded:
            seen = (
                f"the consumer, and towards the curator, who sees {what} as features under a "
                "secret map, and labels as they are: that is obfuscation, not differential privacy "
                "(epsilon is infinite)"
            )
        else:
            seen = f"the curator and the consumer, who see {what} as they are"
        return (
            f"Not protected: anything towards {seen}; anyone who colludes with them; anyone who "
            "sees the summary, what its file or report says of it, or "
            f"{'another' if self.shown else 'a'} model trained on it. Timing and traffic sizes are "
            "not covered."
        )

    def _about(self, protected: Protected, who: str) -> str:
        mine = [c for c in self.charges if c.protected is protected]
        if not mine:
            return f"{who}: epsilon = 0, delta = 0."
        reasons = sorted({c.event.reason for c in mine if isinstance(c.event, NonPrivate)})
        if reasons:
            return f"{who}: epsilon is infinite, nothing is guaranteed ({'; '.join(reasons)})."
        epsilon = rounded_up(self.epsilon(protected=protected))
        return (
            f"{who}: ({epsilon}, {self.delta:g})-differential privacy for {self._who()} all "
            f"messages; unit: {mine[0].unit.value}, sizes public."
        )

    def _who(self) -> str:
        if self.coalition == 1:
            return "one owner that sees"
        return f"{self.coalition} owners that together see"
