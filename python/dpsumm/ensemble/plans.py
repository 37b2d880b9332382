"""The plan of a run of `learn`, by either method."""

from __future__ import annotations

from dpsumm.basics.checks import check_whole, plain
from dpsumm.ensemble.plan import LearningPlan, plan_of
from dpsumm.ensemble.protocols import Protocol, Updates, decided, protocol_of
from dpsumm.ensemble.release import unit_of
from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.updates.plan import UpdatesPlan, plan_updates
from dpsumm.ensemble.updates.recipe import RECORDS_PER_OWNER, Recipe
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.events import Unit


def plan_learning(
    n_parties: int,
    n_points: int,
    n_classes: int,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    protocol: Protocol | str | None = None,
    unit: Unit | str = Unit.WHOLE_OWNER,
    n_columns: int = 20,
) -> LearningPlan | UpdatesPlan:
    """Return what to expect of `dpsumm.learn`, before any data are touched.

    A plan is made from public numbers only. So guarantees cover an epsilon or a protocol that was
    chosen by a plan. They do not cover one that was chosen by looking at private data.

    Parameters
    ----------
    n_parties, n_points, n_classes
        M, from 2; N, from 20; K, from 2. At most 10**7 of N K.
    epsilon, delta, protocol, unit
        As for :func:`dpsumm.learn`, all of whose parties hold records: updates by default. These
        need the records of a party (`Updates(records_per_owner=400)`, else 100) with either unit.
    n_columns
        For updates, columns of the points, after categories are spread over columns of their own.

    Returns
    -------
    LearningPlan or UpdatesPlan
        Of votes, or of updates. Both have `ratio`, noise over signal, `verdict` and `notes`.

    Raises
    ------
    InvalidParameterError
        A number out of range.

    See Also
    --------
    dpsumm.learn : The run itself.
    dpsumm.ensemble.comparison.compare : Measures it on data that you may use.

    Examples
    --------
    >>> made = plan_learning(200, 8000, 10)
    >>> round(made.ratio, 2), [round(share, 2) for share in made.kept]
    (1.39, [0.2, 0.99])
    >>> hospitals = Updates(records_per_owner=5000)
    >>> plan_learning(4, 8000, 10, protocol=hospitals, unit="replace one record").ratio < 0.3
    True
    >>> voted = plan_learning(1000, 8000, 2, protocol="votes")
    >>> round(voted.vote_noise, 3), round(voted.ratio, 4)
    (0.334, 0.0023)
    """
    for value, name, least in ((n_points, "n_points", 20), (n_classes, "n_classes", 2)):
        check_whole(value, name, least, 10**7)
    if n_points * n_classes > 10**7:
        raise InvalidParameterError("n_points times n_classes must be at most 10**7")
    check_whole(n_parties, "n_parties", 2, 10**6)
    how = decided(protocol_of(protocol))
    shards = 1 if isinstance(how, Updates) else how.models_per_owner
    check_whole(shards, "models_per_owner", 1, 255)
    terms = Terms(tuple(range(n_classes)), n_points, n_parties, 1, shards, "")
    if not isinstance(how, Updates):
        return plan_of(terms, unit_of(unit), epsilon, delta)
    records = RECORDS_PER_OWNER if how.records_per_owner is None else how.records_per_owner
    check_whole(records, "records_per_owner", 1, 10**9)
    check_whole(n_columns, "n_columns", 1, 10**6)
    epsilon, delta = plain(epsilon), plain(delta)
    recipe = Recipe(unit_of(unit).value, epsilon, delta, n_parties * records)
    return plan_updates(n_columns, terms, recipe)
