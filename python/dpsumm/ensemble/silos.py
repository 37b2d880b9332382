"""`learn` with parties that are elsewhere, by any engine that carries messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from dpsumm.basics.names import check_name
from dpsumm.basics.visible import logger
from dpsumm.data.inputs import Source
from dpsumm.data.short import SchemaLike, schema_of
from dpsumm.ensemble.inputs import Space, float64
from dpsumm.ensemble.model import Model
from dpsumm.ensemble.points import points_notes
from dpsumm.ensemble.protocols import Updates, Voting, decided
from dpsumm.ensemble.rounds import recipe_of, run_updates
from dpsumm.ensemble.threads import one_thread
from dpsumm.ensemble.vote import Asked, run_vote
from dpsumm.errors import InvalidParameterError
from dpsumm.exchange.across import Channel, describe, run_across
from dpsumm.exchange.driver import Progress
from dpsumm.exchange.journal import Journal
from dpsumm.privacy.ledger import Ledger

_log = logger(__name__)


def learn_silos(
    channel: Channel,
    parties: Sequence[str],
    public_points: Source,
    *,
    schema: SchemaLike,
    classes: ArrayLike,
    max_bytes: int = 2**28,
    progress: Progress | None = None,
    on_absent: Callable[[str, str], object] | None = None,
    **asked_for: Any,
) -> Model:
    """Return a classifier learnt from parties that a channel reaches.

    Parameters
    ----------
    channel
        The engine's, see `Channel`.
    parties
        All parties by name, registered before the run. Sums are over these, and absent ones count
        as zero.
    schema
        Of all parties. One whose data were read with another counts as absent.
    public_points, classes
        As for `dpsumm.learn`.
    asked_for
        epsilon, delta, protocol, validation, unit, ledger, run, seed and allow_weak_privacy, as for
        `dpsumm.learn`. With a record as the unit updates need `records_per_owner`, since
        reported sizes depend on the parties that come. A `learner` is each party's own. Answers
        are kept next to the ledger, in ``<ledger>.answers``, until the ledger has their
        release. So a run that died is resumed by its name.
    max_bytes
        Largest answer of a party that is read.
    on_absent
        Gets the name of a party that counts as absent, and why. For the curator alone. Logged by
        default.

    Raises
    ------
    InvalidParameterError, InvalidDataError, BudgetExceededError
        As `dpsumm.learn`, before anything is released.

    Privacy
    -------
    As `dpsumm.learn`. A party that is absent, late, or answers what does not fit counts as zeros
    among the registered ones, in updates from that round on. The run ends with the channel's time
    limit, no number of parties stops it, and neither the model nor its warnings show it. The
    failed parties and the reasons are for the curator alone, which is trusted with votes and
    vectors.

    See Also
    --------
    dpsumm.learn : The same in one process.
    dpsumm.summary.silos.summarize_silos : A summary instead.

    Examples
    --------
    In an app of Flower, whose channel reaches the parties (``docs/deploy.md``):

    >>> from dpsumm.ensemble.silos import learn_silos
    >>> model = learn_silos(  # doctest: +SKIP
    ...     channel, parties, "public.csv", schema="schema.toml", classes=["no", "yes"],
    ...     ledger="books.db", run="spring",
    ... )
    """
    asked = Asked.of(classes, **asked_for)
    how = decided(asked.protocol)
    if isinstance(how, Voting) and how.learner is not None:
        raise InvalidParameterError("learner: each party says its own, where it is. Leave it out")
    known = schema_of(schema)
    if known.label is None:
        raise InvalidParameterError(
            "schema: has no column of kind 'label', which parties learn to predict. Name it"
        )
    if len(parties) < 2 or len(set(parties)) < len(parties) or not all(parties):
        raise InvalidParameterError("parties must be distinct names, at least two")
    for name in parties:
        check_name(name, "parties")
    space = Space(known.for_target(), known)
    table = space.read(public_points, "public_points")
    points = float64(table)
    tell = on_absent or (lambda name, why: _log.warning("%r counts as absent: %s", name, why))
    answers = None if asked.ledger is None else f"{Path(asked.ledger)}.answers"

    def exchange(curator: Any, book: Ledger) -> Any:
        with Journal(answers, book.run) as journal:
            failed: dict[str, str] = {}
            if (released := curator.again()) is None:
                _, unable = describe(
                    channel, journal, parties, schema=known.fingerprint, max_bytes=max_bytes
                )
                released, failed = run_across(
                    curator,
                    channel,
                    journal,
                    absent=unable,
                    minimum=0,  # a run that stops for want of parties would tell who came
                    max_bytes=max_bytes,
                    progress=progress,
                    schema=known.fingerprint,
                )
            # The ledger has the release: answers are not needed again. Those of a run that died
            # before it could remove them neither.
            journal.forget()
        for name, why in failed.items():
            tell(name, why)
        return released

    shared = space, points, tuple(parties), exchange
    about = points_notes(table)
    with one_thread():
        if isinstance(how, Updates):
            recipe = recipe_of(asked, how, len(parties))
            terms = asked.terms(points, len(parties), recipe.records)
            return run_updates(asked, terms, recipe, *shared, about=about, across=True)
        terms = asked.terms(points, len(parties))
        return run_vote(asked, terms, *shared, about=about, across=True)
