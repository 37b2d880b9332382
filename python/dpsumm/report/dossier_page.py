"""A finished run as one page that a data-protection officer can check."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from dpsumm import __version__
from dpsumm.basics.checks import counted
from dpsumm.exchange.disclosure import Disclosure
from dpsumm.privacy.ledger import Line
from dpsumm.privacy.record import code_digest
from dpsumm.report import parts
from dpsumm.report.dossier import REMAKE, WHOSE, Dossier, alarms, of_whom
from dpsumm.report.notes import Note, alarming, called, to_check
from dpsumm.report.numbers import round_up, small
from dpsumm.report.parts import Html, safe, tag
from dpsumm.report.spent import mechanism

MOST_PARTIES = 200


def render(dossier: Dossier) -> str:
    """Return the page, without outside references. All texts of users are escaped."""
    record, about = dossier.record, dossier.about
    notes = alarms(dossier)
    return parts.page(
        f"privacy dossier of run {record.run}",
        "Privacy dossier, for a data-protection officer. It holds public facts, charges and "
        "claims. Of records it shows only released figures, which were charged.",
        _headline(dossier, notes),
        parts.safe(
            f"{about.name}, by {record.protocol}: "
            f"{counted(len(record.parties), 'party', 'parties')}"
            f"{' on machines of their own' if record.across else ', all in one process'}. Run",
            tag("strong", record.run),
            f"ended on {record.finished[:16].replace('T', ' ')} UTC.",
        ),
        *_content(dossier, notes),
    )


def _content(dossier: Dossier, notes: Sequence[Note]) -> Iterator[Html]:
    record, about = dossier.record, dossier.about
    yield parts.note(_unchecked(dossier))
    yield from (called(note) for note in notes)
    yield parts.tiles(
        (round_up(epsilon), f"epsilon {what}, at delta {small(record.delta)}")
        for what, epsilon in dossier.figures
    )
    yield parts.section(
        "What is guaranteed to whom, and what is not",
        *_outdated(dossier),
        parts.listed(record.statements),
    )
    yield parts.section(
        "Conditions that people must keep",
        parts.intro("Software cannot check these. If one is broken, the guarantee is void."),
        parts.listed(
            [
                *about.protocols.get(record.protocol, ()),
                *(one.condition for one in dossier.claims if one.condition),
                *about.conditions,
            ]
        ),
    )
    yield parts.section("Decision", _decision())
    yield parts.section("Who received which messages", *_messages(dossier))
    yield parts.section("What was charged", *_charged(dossier))
    yield parts.section("What each charge claims", *_claimed(dossier))
    yield parts.section("Audits of this code", *_audited(dossier))
    yield parts.section(
        "Versions, hashes, public settings",
        tag("div", parts.facts(_facts(dossier)), class_="long"),
    )
    yield parts.section(
        "Trust, exposure, access",
        parts.intro(
            "Timing, sizes and number of messages, logs, crashes and the machines' own memory, "
            "swap and backups are not covered: docs/privacy/known-limits.md."
        ),
        parts.facts(
            (
                ("Who must be trusted", about.trust),
                ("Exposure at collection", about.exposure),
                ("Who can reach what", about.access),
                ("Other releases", about.afterwards),
            )
        ),
    )


def _decision() -> Html:
    """Return the lines that an officer fills in by hand, on the first printed page."""
    rows = (("Approved for", "Conditions"), ("Name and role", "Date, signature"))
    cells = ((tag("th", line, scope="row"), tag("td", "")) for row in rows for line in row)
    lines = [safe(*one) for one in cells]
    table = tag("table", tag("tbody", tag("tr", *lines[:2]), tag("tr", *lines[2:])))
    return tag("div", table, class_="sign")


def _headline(dossier: Dossier, notes: Sequence[Note]) -> str:
    if dossier.record.seeded:
        return "This run guarantees nothing: a seed was given"
    endless = [what for what, epsilon in dossier.figures if math.isinf(epsilon)]
    if endless:
        return f"No guarantee {' or '.join(endless)}"
    said = ", ".join(f"epsilon {round_up(epsilon)} {what}" for what, epsilon in dossier.figures)
    said = (
        f"{said[0].upper()}{said[1:]}"
        if len(dossier.figures) <= 2
        else (f"Epsilon {round_up(max(e for _, e in dossier.figures))} towards whoever learns most")
    )
    return f"Read the red notes first. {said}" if alarming(notes) else f"{said}{to_check(notes)}"


def _unchecked(dossier: Dossier) -> str:
    """Return what the page takes on trust."""
    counted_from = (
        "Charges and totals are counted from the ledgers that were given. What parties learn is "
        "the record's own figure."
        if dossier.record.observers
        else "Charges and totals are counted from the ledger, if it was given."
    )
    return (
        "This page repeats the record of the run in the result's file. Nothing signs that record. "
        "Anyone who can write the file can change its parties, settings, sentences and hashes. "
        f"{counted_from} The rows of the result are compared with the digest beside the record. "
        "A change of both leaves another digest than an earlier page of this run shows."
    )


def _outdated(dossier: Dossier) -> Iterator[Html]:
    if dossier.later:
        yield tag(
            "p",
            "These sentences are of the time when the result was written. The run was charged for "
            "more since, which they leave out: see the first notes, and the totals below.",
            class_="bad",
        )


def _messages(dossier: Dossier) -> Iterator[Html]:
    record = dossier.record
    yield parts.intro(
        "All messages of the protocol, from the register that stands beside them in the code. A "
        "released value that a message holds is paid for by the charges named with it; the rest of "
        "the message is free of records, or goes to a party that is trusted with them."
    )
    yield _long(
        ("Message", "Holds", "Depends on", "What the receiver learns"),
        (
            (
                parts.safe(tag("strong", name), tag("div", f"{one.sender} → {one.receiver}")),
                one.holds,
                _dependence(one, dossier),
                parts.safe(one.claim, _page(one.page)),
            )
            for name, one in (
                *(
                    (name, one)
                    for name, one in dossier.about.messages(record.protocol)
                    if record.across or not one.across
                ),
                *_released_beside(dossier),
            )
        ),
    )


def _released_beside(dossier: Dossier) -> Iterator[tuple[str, Disclosure]]:
    """Give what was charged and is in no message of the protocol, such as a model."""
    if dossier.elsewhere:
        return
    sent = dossier.about.messages(dossier.record.protocol)
    paid = {text for _, one in sent for text in one.releases}
    for one in dossier.claims:
        if one.begins not in paid:
            yield (
                one.begins,
                Disclosure(
                    *("who holds the result", one.receiver),
                    "a value that was released beside the protocol's messages",
                    "records, through the released value alone",
                    *(one.claim, one.page),
                    releases=(one.begins,),
                ),
            )


def _dependence(one: Disclosure, dossier: Dossier) -> str:
    if not one.releases:
        return one.depends
    # Where the ledgers are elsewhere, the register says what they were charged.
    paid = [
        text
        for text in one.releases
        if dossier.elsewhere or any(c.message.startswith(text) for c in dossier.charges)
    ]
    return f"{one.depends}. Charged: {', '.join(paid) or 'nothing in this run'}"


def _charged(dossier: Dossier) -> Iterator[Html]:
    record = dossier.record
    yield parts.intro(
        "The rows of the ledger, and what they add up to: the numbers of dpsumm ledger show. "
        "Epsilon of a row is of that row alone, in nats. Rows of a run are composed, which gives "
        "less than their sum; runs are added up."
    )
    if dossier.elsewhere:
        yield tag("p", f"In the ledgers of {', '.join(dossier.elsewhere)}, which are not at hand.")
    elif not dossier.charges:
        yield tag("p", "Nothing was charged: no message depended on protected records.")
    for whose in dossier.books:
        lines = [line for name, line in dossier.lines if name == whose]
        if lines:
            if whose:
                yield tag("h3", f"Ledger of {whose}")
            yield _long(
                ("Charged", "Message", "Protects", "Seen by", "Mechanism", "Unit", "ε alone"),
                _rows(lines, dated=whose in dossier.given),
            )
            if head := dossier.books[whose].head:
                yield tag("p", f"Last entry of the ledger's chain when this page was made: {head}.")
    rows = []
    for whose, protected, epsilon, delta in dossier.totals:
        book = dossier.books[whose]
        name = f"{WHOSE[protected]}{f', ledger of {whose}' if whose else ''}"
        rows.append((name, "this run", round_up(epsilon), small(delta), ""))
        if whose in dossier.given:
            every, cap = book.spent(protected), book.cap(protected)
            limit = "none" if cap is None else f"({cap[0]:g}, {cap[1]:g})"
            runs = counted(len(book.runs()), "run", "runs")
            rows.append((name, f"all runs ({runs})", round_up(every[0]), small(every[1]), limit))
    rows += [
        (f"towards {who}", "this run", round_up(epsilon), small(record.delta), "")
        for who, epsilon in record.observers.items()
    ]
    if rows:
        yield tag("h3", "Totals")
        yield parts.table(("Of", "Over", "ε", "δ", "Cap"), rows)
    if record.observers:
        yield parts.intro(
            "The budget bounds what any party learns from the tables of all owners. An owner's "
            "ledger has what another owner may learn of its columns, with the noise that was "
            "drawn."
        )


def _rows(lines: list[Line], *, dated: bool) -> Iterator[tuple[str, ...]]:
    """Give a row for each charge. Equal ones, as of the rounds of a run, share one."""

    def alike(line: Line) -> tuple[object, ...]:
        # Sizes in brackets grow from round to round.
        charge = line.charge
        return (
            *(charge.message.partition(" (")[0], charge.protected, charge.event),
            *(charge.count, charge.observer, charge.unit),
        )

    for _, together in groupby(lines, alike):
        same = list(together)
        first, last = same[0], same[-1]
        charge = first.charge
        times = len(same) * charge.count
        days = dict.fromkeys(x.at[:16].replace("T", " ") for x in (first, last))
        yield (
            tag("span", " to ".join(days), class_="whole") if dated else "at the run's end",
            charge.message if times == 1 else f"{last.charge.message}, {times} times",
            WHOSE[charge.protected],
            charge.observer.value,
            mechanism(charge),
            charge.unit.value,
            f"{round_up(first.epsilon)}{' each row' if len(same) > 1 else ''}",
        )


def _claimed(dossier: Dossier) -> Iterator[Html]:
    if not dossier.claims:
        yield tag("p", "There is no charge.")
        return
    yield parts.intro(
        "Pages are those of dpsumm's documentation, in the folder docs of its source; each has the "
        "claim, what it assumes, its proof, and the tests that a wrong one would fail."
    )
    yield _long(
        ("Charge", "Who sees it", "Claim", "How noise is drawn"),
        (
            (one.begins, one.receiver, parts.safe(one.claim, _page(one.page)), one.numerics)
            for one in dossier.claims
        ),
    )


def _audited(dossier: Dossier) -> Iterator[Html]:
    audits = dossier.audits
    if audits is None:
        yield tag("p", f"None are at hand. {REMAKE}", class_="doubtful")
        return
    of_this = audits.code == dossier.record.code
    passed = sum(one.passed for one in audits.results)
    lacking = len(dossier.unaudited)
    yield tag(
        "p",
        f"Of dpsumm {audits.version}, package {audits.code[:12]}, written on "
        f"{audits.written[:16].replace('T', ' ')} UTC: {passed} of {len(audits.results)} audits "
        "came out as they should. "
        + (
            "This is the code that made the run."
            if of_this
            else f"This is not the code that made the run. {REMAKE}"
        )
        + (f" {lacking} of this run's claims' audits are missing." if lacking else ""),
        class_="" if of_this and passed == len(audits.results) and not lacking else "bad",
    )
    yield parts.intro(
        "An audit draws a mechanism or a whole run on worst cases of neighbouring data, and bounds "
        "epsilon from below by what can be told apart; or it searches for one witness against the "
        "claim. It must also catch copies with one known mistake each (broken twins). A bound "
        "below the claim is no proof. These attack what this run claims:"
    )
    shown = [one for one in audits.results if one.name in dossier.audited or not one.passed]
    yield _long(
        ("Audit", "Claim", "Measured", "At δ", "Trials", "Twins caught", "Verdict"),
        (
            (
                *(one.name, one.claim, one.measured, tag("span", one.delta, class_="whole")),
                *(one.trials, one.twins),
                "holds" if one.passed else tag("strong", "FAILS", class_="bad"),
            )
            for one in shown
        ),
    )


def _facts(dossier: Dossier) -> Iterator[tuple[str, str]]:
    record = dossier.record
    yield "dpsumm of the run", record.version
    yield "Package of the run, SHA-256", record.code
    same = "the same package" if record.code == code_digest() else code_digest()
    yield "This page was made by", f"dpsumm {__version__}, {same}"
    if dossier.rows is not None:
        state = "which they have" if dossier.rows.holds else "WHICH THEY DO NOT HAVE"
        yield "Rows of the result, SHA-256 with the file's salt", f"{dossier.rows.value}, {state}"
    yield "Run", record.run
    yield "Ended", f"{record.finished[:16].replace('T', ' ')} UTC"
    hidden = len(record.parties) - MOST_PARTIES
    named = ", ".join(record.parties[:MOST_PARTIES])
    yield "Parties", named if hidden <= 0 else f"{named} and {hidden:,} more"
    for whose, fingerprint in record.schemas.items():
        yield f"Schema of {whose}, digest", fingerprint
    for whose, one in record.books.items():
        yield f"Ledger{of_whom(whose)}", one.file or "in memory, not kept"
    for whose, count in record.units.items():
        yield f"Protected units, {whose}", f"{count:,}"
    yield "Seed", "given" if record.seeded else "none"
    yield from record.settings.items()


def _page(page: str) -> Html:
    return tag("span", f"docs/{page}", class_="page")


def _long(heads: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Html:
    """Return a table that may break between its rows when it is printed."""
    return tag("div", parts.table(heads, rows), class_="long")
