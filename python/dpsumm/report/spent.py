"""What a run guarantees and what it spent, from its `PrivacyReport` alone."""

from __future__ import annotations

import math

from dpsumm.privacy import accounting
from dpsumm.privacy.events import Charge, NonPrivate, Protected
from dpsumm.privacy.guarantees import PrivacyReport
from dpsumm.report import parts
from dpsumm.report.numbers import round_up, small
from dpsumm.report.parts import Html

MECHANISMS = {
    "Gaussian": "Gaussian noise",
    "Laplace": "Laplace noise",
    "BoundedRange": "exponential mechanism",
    "Pure": "pure differential privacy",
    "Approximate": "approximate differential privacy",
    "NonPrivate": "none",
    "Seeded": "none",
}


def sections(privacy: PrivacyReport) -> tuple[Html, Html]:
    """Return the sections on what is protected, and on what was spent."""
    return (
        parts.section(
            "What is protected, against whom, and what is not",
            parts.listed(privacy.statements()),
        ),
        parts.section(
            "Privacy spent",
            parts.intro(
                f"Epsilon (in nats) at delta = {small(privacy.delta)}, for one owner that sees all "
                "messages; smaller protects more, 0 tells nothing, ∞ guarantees nothing. A total "
                "comes from composing the messages and is not their sum."
            ),
            _bars(privacy),
            _charges(privacy),
        ),
    )


def _bars(privacy: PrivacyReport) -> Html:
    rows = [
        (f"{charge.message}{'' if charge.count == 1 else f', {charge.count} times'}",
         accounting.compose([(charge.event, charge.count)], privacy.delta), charge.protected)
        for charge in privacy.charges
    ]  # fmt: skip
    rows += [
        ("Target, all messages", privacy.epsilon(), Protected.TARGET),
        ("Between owners, all messages", privacy.epsilon(protected="owners"), Protected.OWNERS),
    ]
    return parts.bars(
        (
            parts.Bar(
                name,
                epsilon,
                f"ε = {round_up(epsilon)}",
                kind="endless" if math.isinf(epsilon) else protected.value,
            )
            for name, epsilon, protected in rows
        ),
        max((epsilon for _, epsilon, _ in rows if math.isfinite(epsilon)), default=0.0),
    )


def _charges(privacy: PrivacyReport) -> Html:
    if not privacy.charges:
        return Html("<p>No message to an owner depended on private data, so nothing was spent.</p>")
    return parts.table(
        ("Message", "Protects", "Seen by", "Mechanism", "Unit"),
        (
            (
                charge.message,
                "the target's records"
                if charge.protected is Protected.TARGET
                else "owners' records",
                charge.observer.value,
                _mechanism(charge),
                charge.unit.value,
            )
            for charge in privacy.charges
        ),
    )


def _mechanism(charge: Charge) -> str:
    event = charge.event
    name = MECHANISMS.get(type(event).__name__, type(event).__name__)
    if isinstance(event, NonPrivate):
        return f"{name}: {event.reason}"
    multiplier = getattr(event, "noise_multiplier", None)
    scale = "" if multiplier is None else f", {multiplier:.4g} times the sensitivity"
    return f"{name}{scale}"
