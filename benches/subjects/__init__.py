"""One module a subject: `cases(scale)` yields what is measured, the main case first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum

from benches.timing import Case


class Scale(Enum):
    """How large: SHORT only shows that everything runs, LARGE takes hours of CPU and much disk."""

    SHORT = "short"
    FULL = "full"
    LARGE = "large"

    def of(self, short: int, full: int) -> int:
        """Return the size for this scale."""
        return short if self is Scale.SHORT else full

    def growth(self, *sizes: int) -> tuple[int, ...]:
        """Return sizes that show growth; in short mode the first alone."""
        return sizes[:1] if self is Scale.SHORT else sizes


def subjects() -> dict[str, Callable[[Scale], Iterator[Case]]]:
    """All subjects by name, in the order of the tables."""
    from benches.subjects import (
        bids,
        columns,
        features,
        files,
        mmd,
        mwem,
        nearest,
        noise,
        offers,
        protocols,
        report,
        selection,
        start,
    )

    return {
        "selection": selection.cases,
        "offers": offers.cases,
        "features": features.cases,
        "bids": bids.cases,
        "mwem": mwem.cases,
        "mmd": mmd.cases,
        "nearest": nearest.cases,
        "noise": noise.cases,
        "protocols": protocols.cases,
        "columns": columns.cases,
        "files": files.cases,
        "report": report.cases,
        "start": start.cases,
    }
