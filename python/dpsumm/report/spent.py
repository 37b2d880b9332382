"""The guarantees and the cost of a run, from its `PrivacyReport` alone."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from dpsumm.privacy import accounting
from dpsumm.privacy.events import Charge, NonPrivate
from dpsumm.privacy.guarantees import PrivacyReport
from dpsumm.report import parts
from dpsumm.report.numbers import round_up, small
from dpsumm.report.parts import Bar, Html

MECHANISMS = {
    "Gaussian": "Gaussian noise",
    "BoundedRange": "exponential mechanism",
    "Pure": "pure differential privacy",
    "Approximate": "approximate differential privacy",
    "NonPrivate": "none",
    "Seeded": "none",
}


# A number that messages of one kind differ in.
_ROUND = re.compile(r", round \d+ of \d+")

# A total: what it is of, epsilon, and whose records (the kind of its bar).
Total = tuple[str, float, str]


def sections(
    privacy: PrivacyReport,
    totals: Sequence[Total] | None = None,
    *,
    whom: str = "one owner that sees all messages",
) -> tuple[Html, Html]:
    """Return the sections on guarantees and on cost.

    Parameters
    ----------
    privacy
        Of the run.
    totals
        Of all messages. By default the target's records and those between owners.
    """
    if totals is None:
        totals = [
            ("Target, all messages", privacy.epsilon(), "target"),
            ("Between owners, all messages", privacy.epsilon(protected="owners"), "owners"),
        ]
    return (
        parts.appendix(
            "What is protected, against whom, and what is not", parts.listed(privacy.statements())
        ),
        parts.appendix(
            "Privacy spent",
            parts.intro(
                f"Epsilon (in nats) at delta = {small(privacy.delta)}, for {whom}; "
                "smaller protects more, 0 tells nothing, ∞ guarantees nothing. A total comes from "
                "composing the messages and is not their sum."
            ),
            *([_bars(privacy, totals)] if len(privacy.charges) > 1 else []),
            _charges(privacy),
        ),
    )


def _bars(privacy: PrivacyReport, totals: Sequence[Total]) -> Html:
    # One message's bar would be as long as that of all messages on the same records.
    charges = _by_round(privacy)
    kinds = Counter(charge.protected.value for charge in privacy.charges)
    alone = {kind for _, _, kind in totals if kinds[kind] == 1}
    rows = [
        (
            charge.message if charge.count == 1 else f"{charge.message}, {charge.count} times",
            _alone(charge, privacy.delta),
            charge.protected.value,
        )
        for charge in charges
        if charge.protected.value not in alone
    ]
    rows += totals
    largest = max((epsilon for _, epsilon, _ in rows if math.isfinite(epsilon)), default=0.0)
    return parts.bars(
        (
            Bar(
                name,
                epsilon,
                f"ε = {round_up(epsilon)}",
                kind=kind if epsilon < math.inf else "endless",
            )
            for name, epsilon, kind in rows
        ),
        largest,
    )


def _charges(privacy: PrivacyReport) -> Html:
    if not privacy.charges:
        return parts.tag(
            "p", "No message to an owner depended on private data, so nothing was spent."
        )
    return parts.table(
        ("Message", "ε alone", "Protects", "Seen by", "Mechanism", "Unit"),
        (
            (
                charge.message,
                round_up(_alone(charge, privacy.delta)),
                "the target's records" if charge.protected == "target" else "owners' records",
                charge.observer.value,
                mechanism(charge),
                charge.unit.value,
            )
            for charge in _by_round(privacy)
        ),
    )


def _by_round(privacy: PrivacyReport) -> list[Charge]:
    """Return the charges, those of all rounds that are alike as one that names their number."""
    alike = Counter(
        replace(charge, message=_ROUND.sub("", charge.message)) for charge in privacy.charges
    )
    first = {replace(c, message=_ROUND.sub("", c.message)): c for c in reversed(privacy.charges)}
    return [
        first[charge]
        if n == 1
        else replace(charge, message=f"{charge.message}, each of {n} rounds")
        for charge, n in alike.items()
    ]


def _alone(charge: Charge, delta: float) -> float:
    """Return epsilon of one kind of message by itself."""
    return accounting.compose([(charge.event, charge.count)], delta)


def mechanism(charge: Charge) -> str:
    """Return the way in which the records were protected, for a reader."""
    event = charge.event
    name = MECHANISMS.get(type(event).__name__, type(event).__name__)
    if isinstance(event, NonPrivate):
        return f"{name}: {event.reason}"
    multiplier = getattr(event, "noise_multiplier", None)
    scale = "" if multiplier is None else f", {multiplier:.4g} times the sensitivity"
    return f"{name}{scale}"
