"""The two protocols of `dpsumm.learn`: private updates of records, and votes of classifiers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass, fields
from typing import Any

from dpsumm.basics.checks import settle
from dpsumm.errors import InvalidParameterError


@dataclass(frozen=True, kw_only=True)
class Updates:
    """Parties hold records and answer a public model in eight rounds, each with a clipped vector.

    Only noisy sums of the vectors are seen.

    Parameters
    ----------
    records_per_owner
        Average number of records of a party, as a *declared* public number (100 by default). A
        wrong one makes the model less accurate. If single records are protected, sizes are public
        and are counted, so it is refused.

    See Also
    --------
    dpsumm.Voting : The other protocol.

    Examples
    --------
    >>> import dpsumm
    >>> updates = dpsumm.Updates(records_per_owner=400)
    >>> dpsumm.plan_learning(200, 8000, 10, protocol=updates).ratio < 1
    True
    """

    records_per_owner: int | None = None

    def __post_init__(self) -> None:
        settle(self)


@dataclass(frozen=True, kw_only=True)
class Voting:
    """Classifiers of the parties vote once on the public points, and a student learns from the sum.

    Parameters
    ----------
    learner
        The model that parties with records train. It is ``"logistic"``, ``"tree"``, ``"forest"``,
        ``"bayes"``, or a scikit-learn classifier, which is cloned for each party. By default it is
        ``LogisticRegression(C=10)`` (give a `schema`, whose bounds scale the columns). Do not
        choose it or its parameters by looking at private data.
    models_per_owner
        Classifiers that each party trains on disjoint parts of its records, 1 to 255. With
        ``unit="replace one record"`` the noise hides one of them, so M parties with J models count
        like M J parties.
    grid
        With 1, each classifier votes for one class. With 2 to 255 it spreads that many votes by its
        probabilities, which is better for large epsilon.
    student
        `dpsumm.ensemble.Spectral` by default, `Argmax`, any estimator of scikit-learn, or a list of
        these, among which `validation` of `learn` chooses.
    points_are
        With ``"public"`` parties see the points and vote. With ``"consumer"`` the points stay with
        you, and parties receive nothing that depends on them. They send their classifiers as plain
        numbers (linear ones, trees, forests and naive Bayes of scikit-learn). Such a model must not
        leave you.

    Raises
    ------
    InvalidParameterError
        `points_are` is another word. Numbers out of range are refused by `learn`.

    See Also
    --------
    dpsumm.Updates : The other protocol, better if parties hold records.

    Examples
    --------
    >>> import dpsumm
    >>> voting = dpsumm.Voting(models_per_owner=100)
    >>> plan = dpsumm.plan_learning(10, 8000, 2, protocol=voting, unit="replace one record")
    >>> round(plan.ratio, 4)
    0.0023
    """

    learner: Any = None
    models_per_owner: int = 1
    grid: int = 1
    student: Any = None
    points_are: str = "public"

    def __post_init__(self) -> None:
        settle(self)
        if self.points_are not in ("public", "consumer"):
            raise InvalidParameterError(
                f"points_are must be 'public' or 'consumer', got {self.points_are!r}"
            )

    @property
    def hidden(self) -> bool:
        """Whether parties must not see the points."""
        return self.points_are == "consumer"


Protocol = Updates | Voting

_BY_NAME: dict[str, type[Protocol]] = {"updates": Updates, "votes": Voting}


def protocol_of(given: Protocol | str | None) -> Protocol | None:
    """Return a protocol that is given as such or by its name.

    Raises
    ------
    InvalidParameterError
        It is something else.
    """
    if isinstance(given, str) and given in _BY_NAME:
        return _BY_NAME[given]()
    if given is not None and not isinstance(given, Protocol):
        raise InvalidParameterError(
            f"protocol must be 'updates', 'votes', Updates(...) or Voting(...), got {given!r}"
        )
    return given


def decided(given: Protocol | None, others: Collection[str] = ()) -> Protocol:
    """Return the protocol of a run: the given one, or else the one that its parties allow.

    Parameters
    ----------
    others
        Parties that give no records.

    Raises
    ------
    InvalidParameterError
        Updates are asked for, and a party gives no records.
    """
    if isinstance(given, Updates) and others:
        raise InvalidParameterError(
            f"protocol: {next(iter(others))!r} gives no records, and updates are made of records. "
            "Give (points, labels), or protocol='votes'"
        )
    return given or (Voting() if others else Updates())


def protocol_said(name: str | None, **said: Any) -> Protocol | None:
    """Return the protocol that options name, by its name, its parameters, or both.

    Parameters
    ----------
    name
        "updates", "votes", or None for the protocol to which the parameters belong.
    said
        Parameters of both. None and default values count as unsaid.

    Raises
    ------
    InvalidParameterError
        A parameter belongs to the other protocol.
    """
    usual = asdict(Updates()) | asdict(Voting())
    given = {key: value for key, value in said.items() if value not in (None, usual[key])}
    of_updates = [field.name for field in fields(Updates) if field.name in given]
    of_votes = [field.name for field in fields(Voting) if field.name in given]
    if of_updates and (of_votes or name == "votes"):
        raise InvalidParameterError(f"{of_updates[0]} is for updates alone. Leave it out")
    if of_votes and name == "updates":
        raise InvalidParameterError(f"{of_votes[0]} is for votes alone. Leave it out")
    if of_votes or name == "votes":
        return Voting(**given)
    return Updates(**given) if of_updates or name == "updates" else protocol_of(name)
