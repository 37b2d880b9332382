"""The sources of a finished run's dossier, and the problems that are in red at its top.

These are public facts, charges and registered claims alone. Numbers that depend on records without
a charge, such as a distance or a number of reads, are not in a `RunRecord`, so that they cannot be
on the page. The one exception tells nothing: a digest of the result's rows with a secret salt.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dpsumm.basics.checks import counted
from dpsumm.data.written import Digest
from dpsumm.privacy.claims import Claim, claim_of
from dpsumm.privacy.events import Charge, NonPrivate, Protected, Seeded
from dpsumm.privacy.ledger import Ledger, Line
from dpsumm.privacy.record import Books, RunRecord
from dpsumm.report.about import About
from dpsumm.report.audits import AuditResults
from dpsumm.report.notes import Note, Severity, budget_notes, sorted_notes

WHOSE = {"target": "the target's records", "owners": "the owners' records", "records": "records"}
REMAKE = (
    "Run dpsumm audit --out audit.json where the run's package is installed, and make this page "
    "again with that file."
)


@dataclass(frozen=True)
class Dossier:
    """The sources of a page.

    Attributes
    ----------
    record, about
        Of the run, and of the subsystem that made it.
    given
        Which of them are ledgers' files. The others repeat what the record kept.
    """

    record: RunRecord
    about: About
    books: Mapping[str, Ledger]
    given: frozenset[str]
    audits: AuditResults | None
    rows: Digest | None

    @property
    def lines(self) -> list[tuple[str, Line]]:
        """All charges of the run, each with the owner of its ledger."""
        return [
            (whose, line)
            for whose, book in self.books.items()
            for line in book.lines()
            if line.run == self.record.run
        ]

    @property
    def charges(self) -> list[Charge]:
        """Of all ledgers."""
        return [line.charge for _, line in self.lines]

    @property
    def later(self) -> dict[str, list[Charge]]:
        """Whose ledger, and its charges of the run that the result's record does not have."""
        found = {
            whose: list(
                (
                    Counter(book.charges(run=self.record.run))
                    - Counter(self.record.books[whose].charges)
                ).elements()
            )
            for whose, book in self.books.items()
            # The record of a run on several machines never had the owners' charges.
            if whose in self.record.books
        }
        return {whose: charges for whose, charges in found.items() if charges}

    @property
    def totals(self) -> list[tuple[str, Protected, float, float]]:
        """Whose ledger, whose records, and what the run spent on them (epsilon, delta)."""
        return [
            (whose, protected, *book.spent(protected, run=self.record.run))
            for whose, book in self.books.items()
            for protected in self.about.protects
        ]

    @property
    def figures(self) -> list[tuple[str, float]]:
        """The first figures, by protected records or observer, with epsilon."""
        if self.record.observers:
            return [(f"towards {who}", found) for who, found in self.record.observers.items()]
        return [(f"for {WHOSE[whose]}", epsilon) for _, whose, epsilon, _ in self.totals]

    @property
    def elsewhere(self) -> list[str]:
        """Owners who charge ledgers of their own that are not at hand."""
        if not (self.record.across and self.record.observers):
            return []
        return [name for name in self.record.schemas if name not in self.given]

    @property
    def claims(self) -> list[Claim]:
        """The charges as registered. If ledgers are elsewhere, all that can be."""
        if self.elsewhere:
            return list(self.about.claims)
        found = [claim_of(charge, self.about.claims) for charge in self.charges]
        return [one for one in dict.fromkeys(found) if one is not None]

    @property
    def audited(self) -> list[str]:
        """Names of the audits that attack what this run claims."""
        names = [name for one in self.claims for name in one.audits]
        names += self.about.audits.get(self.record.protocol, ())
        return list(dict.fromkeys(names))

    @property
    def unaudited(self) -> list[str]:
        """Names of those that the results lack."""
        known = {one.name for one in self.audits.results} if self.audits else set()
        return [name for name in self.audited if name not in known]


def alarms(dossier: Dossier) -> list[Note]:
    """Return why the page must not look good, if anything, the worst first."""
    return list(sorted_notes([*_void(dossier), *_weak(dossier), *_unsure(dossier)]))


def _void(dossier: Dossier) -> Iterator[Note]:
    """Warn of what guarantees nothing."""
    if dossier.record.seeded:
        yield _red(
            "A seed was given: noise and draws can be computed again from it, so nothing is "
            "guaranteed. Such a run is for tests and experiments only."
        )
    told = dict.fromkeys(
        (charge.protected.value, charge.event.reason)
        for charge in dossier.charges
        if isinstance(charge.event, NonPrivate) and not isinstance(charge.event, Seeded)
    )
    for whose, reason in told:
        yield _red(f"Nothing is guaranteed for {WHOSE[whose]}: epsilon is infinite ({reason}).")
    if not (told or dossier.record.seeded):
        for what, epsilon in dossier.figures:
            if math.isinf(epsilon):
                yield _red(f"Nothing is guaranteed {what}: epsilon is infinite.")


def _weak(dossier: Dossier) -> Iterator[Note]:
    """Warn of budgets that promise little, or next to nothing."""
    record = dossier.record
    said: dict[Note, None] = {}
    for _, whose, epsilon, _ in dossier.totals:
        if 0 < epsilon < math.inf:
            said |= dict.fromkeys(budget_notes(epsilon, record.delta, record.units.get(whose, 1)))
    for epsilon in record.observers.values():
        if epsilon < math.inf:
            said |= dict.fromkeys(budget_notes(epsilon, 0.0, 1))
    yield from said


def _unsure(dossier: Dossier) -> Iterator[Note]:
    """Warn of what this page cannot vouch for."""
    record, audits = dossier.record, dossier.audits
    if record.resumed:
        yield Note(
            "The run was resumed: what an earlier part had released was used again, not released "
            "anew. Other parties and other public settings than those of that part are refused, "
            "unless an earlier version of dpsumm began the run. Other records may go unnoticed: "
            "people must know that they were the same."
        )
    if dossier.rows is None:
        yield _red(
            "The result's file has no digest of its rows, so nothing tells whether they are those "
            "that the run wrote: an earlier version of dpsumm wrote it."
        )
    elif not dossier.rows.holds:
        yield _red(
            "The rows of the result's file are not those that were written with this record: they "
            "do not have the digest that the file names. Somebody changed or replaced them."
        )
    if record.protocol not in dossier.about.protocols:
        yield _red(
            f"The protocol {record.protocol!r} is not dpsumm's own: nobody has registered its "
            "messages, so the list below may lack some, and its claims are its author's."
        )
    unknown = {c.message for c in dossier.charges if claim_of(c, dossier.about.claims) is None}
    for message in sorted(unknown):
        yield _red(f"No claim is registered for the charge {message!r}.")
    for whose, book in dossier.books.items():
        before = record.books.get(whose, Books(None, ()))
        lost = (Counter(before.charges) - Counter(book.charges(run=record.run))).total()
        later = dossier.later.get(whose, ())
        if lost:
            cause = (
                "The page may have been given another owner's ledger, with the names swapped; if "
                "not, somebody put back or changed the file"
                if whose
                else "somebody put back or changed the file"
            )
            others = f" It holds {counted(len(later), 'other', 'others')}." if later else ""
            yield _red(
                f"The ledger{of_whom(whose)} lacks {counted(lost, 'charge', 'charges')} that "
                f"it held when the run ended: {cause}.{others}"
            )
        elif later:
            which = dict.fromkeys(f"{c.message} (on {WHOSE[c.protected]})" for c in later)
            yield _red(
                f"The ledger{of_whom(whose)} holds {counted(len(later), 'charge', 'charges')} "
                f"that the run made after its result was written: {', '.join(which)}. The "
                "sentences on what is guaranteed are older: these charges come on top of them. The "
                "totals are the ledger's and include them."
            )
        if book.accepted():
            yield _red(
                f"The ledger{of_whom(whose)} was accepted although entries may be missing: what "
                "was lost is not counted below."
            )
    if audits is None:
        yield Note(f"This page has no results of audits, which attack the installed code. {REMAKE}")
    else:
        if audits.code != record.code:
            yield _red(
                f"The audits are of other code (dpsumm {audits.version}, {audits.code[:12]}) than "
                f"the run (dpsumm {record.version}, {record.code[:12]}): they say nothing of it. "
                f"{REMAKE}"
            )
        for one in audits.results:
            if not one.passed:
                yield _red(f"An audit failed: {one.name}.")
        if dossier.unaudited:
            yield _red(
                f"The results lack audits of this run's claims: {', '.join(dossier.unaudited)}. "
                f"{REMAKE}"
            )
        if audits.quick:
            yield Note("The audits had few trials. Run dpsumm audit without --quick for more.")
    if any(one.file is None for one in record.books.values()):
        yield _red(
            "No ledger was kept in a file: the charges below are those that the result's file "
            "names, which nothing confirms; what other runs spend on the same records is not "
            "counted, and no cap refuses them."
        )
    missing = [
        whose for whose, one in record.books.items() if one.file and whose not in dossier.given
    ]
    for whose in missing:
        yield _red(
            f"The ledger{of_whom(whose)} was not given (`ledger`): its rows below are those that "
            "the result's file names, which nothing confirms, without dates, later charges and "
            "other runs."
        )
    if dossier.elsewhere:
        yield _red(
            f"Ledgers are with the owners ({', '.join(dossier.elsewhere)}), so this page lacks "
            "their rows: each can check its own (dpsumm ledger show), or give it for this "
            "page. Until then nothing confirms its numbers."
        )


def _red(text: str) -> Note:
    return Note(text, Severity.ALARM)


def of_whom(whose: str) -> str:
    """Return whose ledger, as it follows the word."""
    return f" of {whose!r}" if whose else ""
