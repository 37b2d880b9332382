"""What is refused before anything is charged or sent, because its summary would mean nothing."""

from __future__ import annotations

from dpsumm.data.table import Table
from dpsumm.errors import InvalidDataError


def check_target(target: Table) -> None:
    """Refuse a target of which bounds or categories leave nothing to compare.

    Raises
    ------
    InvalidDataError
        All values of a column are outside its bounds, or all records are one point.

    Privacy
    -------
    Before the first message, and towards the consumer alone. That no run takes place is visible, as
    for every refusal; guarantees compare targets that are both accepted.
    """
    titles = target.titles or tuple(f"column {name!r}" for name in target.columns)
    for column, title, count in zip(target.schema.kernel, titles, target.n_clipped, strict=False):
        if count == len(target):
            low, high = column.bounds or ("", "")
            raise InvalidDataError(
                f"'target': every value of {title} is outside its bounds ({low}, {high}); give "
                f"public bounds in the column's own units, or leave the column out"
            )
    if len(target) > 1 and (target.scaled == target.scaled[0]).all():
        raise InvalidDataError(
            "'target': all records are the same point for the kernel, so there is nothing to "
            "match; check columns, bounds and categories"
        )
