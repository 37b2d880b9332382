"""The one call: from parties and unlabelled points to a classifier.

It imports what it needs when it is called, so that its name costs nothing.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpsumm.privacy.events import Unit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpsumm.data.inputs import Source
    from dpsumm.data.short import SchemaLike
    from dpsumm.ensemble.model import Model
    from dpsumm.ensemble.protocols import Protocol
    from dpsumm.exchange.driver import Progress


def learn(
    parties: Mapping[str, Any] | Sequence[Any],
    public_points: Source,
    *,
    classes: ArrayLike,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    protocol: Protocol | str | None = None,
    validation: Any = None,
    unit: Unit | str = Unit.WHOLE_OWNER,
    schema: SchemaLike | None = None,
    ledger: str | os.PathLike[str] | None = None,
    run: str | None = None,
    seed: int | None = None,
    allow_weak_privacy: bool = False,
    progress: Progress | None = None,
) -> Model:
    """Return a classifier learnt from parties' records, or from their classifiers' votes.

    *Updates*, where parties hold records: in eight rounds a public model goes out, each party
    answers with one clipped vector, and noise is added to the sum. *Votes*, for classifiers that
    parties have: each votes on the `public_points`, and noise is added to the sum of the votes
    once; a student learns from these. Everything after the noise costs no privacy.

    Parameters
    ----------
    parties
        Dict (name -> party) or list of M parties, from 2 and better from 50. A party is: its
        labelled records, as a pair (points, labels), a data frame or a path with a `label`; a
        classifier that it has fitted, with `predict` (a list of them, see `Voting`); or its
        votes, an (N, K) array of integers, a column for each class in ascending order.
    public_points
        N points without labels, public, with the parties' columns: (N, d) array, data frame or
        path; from 20, better thousands. Parties see them. They must not be anybody's private
        records: a summary of the parties' points is not public.
    classes
        All K labels, public. A party leaves rows with other labels out. One that has no other
        counts for nothing, and nothing says so, since that may hang on one record: compare at home
        (``dpsumm schema check --classes``), or give a `schema` whose label lists categories, which
        refuses other spellings.
    epsilon, delta
        Budget of the parties, in nats, and the probability with which it may fail to hold.
    protocol
        ``"updates"`` or ``"votes"``; or `Updates(records_per_owner=400)`, `Voting(learner="tree")`
        and such, which have parameters. None: updates where all parties hold records, else votes.
    validation
        Pair (points, labels) of the consumer's own, or with a `schema` that has a label one frame
        or file, sent to nobody. A model of updates is judged by it. Of votes it chooses among
        candidates, without noise, so whoever sees the model may learn of it; a few hundred help
        where parties are weak.
    unit
        What may change between neighbouring data: ``"one whole owner"`` (all records of a party,
        its classifier, its coins, whether it comes) or ``"replace one record"``, sizes public.
    schema
        As for `dpsumm.summarize`: public facts. The label is the parties' column.
    ledger, run
        SQLite file with the parties' books, kept across runs, in memory by default; name of the run
        in it. The name of a run that died resumes it: the same noisy votes, not charged again.
        Other points, parties, classes, budget, protocol or schema are refused; whether parties'
        records are those of then is not compared, since the answer would tell of them.
    seed
        For tests and experiments: repeatable, and **not private** (epsilon is then infinite).
    allow_weak_privacy
        Go on with a budget that promises next to nothing: an epsilon above 10, or a delta that is
        not below 1 / parties.
    progress
        Called with (stage, done, total).

    Returns
    -------
    Model
        By updates an `UpdatesModel`, of which `refit` and `strength`, that are of votes alone, are
        refused.

    Raises
    ------
    InvalidParameterError, InvalidDataError
        Before anything is released. The message names the parameter or the party and the way out.
    BudgetExceededError
        The ledger's cap does not allow the release.
    MissingExtraError
        SciPy or scikit-learn is needed (extra ``learn``), or polars for files.

    Warns
    -----
    UserWarning
        Before anything is spent, from public numbers: the noise is above the signal, few parties,
        few points, a large delta; with the way out. See `dpsumm.plan_learning`. Public points
        that the schema cuts off, or of which few differ. And, to the caller
        alone and in no result, that many public points are records of parties, or that several
        parties hold the same records: that depends on their data, which the caller holds.

    Privacy
    -------
    Towards the consumer, and whoever sees the model: (epsilon, delta)-DP for all records of a
    party, or for one record. Towards the curator, who sees votes or vectors: none. Source: Hamm,
    Cao & Belkin 2016, corrected; ``docs/ensemble.md``, ``docs/privacy/votes.md`` and
    ``docs/privacy/updates.md``.

    See Also
    --------
    dpsumm.plan_learning : What to expect, before any data are read.
    dpsumm.PrivateEnsembleClassifier : The same as an estimator of scikit-learn.
    dpsumm.ensemble.Model : What it returns.
    dpsumm.ensemble.silos.learn_silos : Parties on other machines.

    Examples
    --------
    >>> import numpy as np, dpsumm
    >>> rng = np.random.default_rng(0)
    >>> def people(n):
    ...     x = rng.normal(0, 1, (n, 2))
    ...     return x, (x[:, 0] + x[:, 1] > 0).astype(int)
    >>> parties = {f"clinic-{i}": people(20) for i in range(200)}
    >>> x, y = people(2000)
    >>> model = dpsumm.learn(parties, x[:1000], classes=[0, 1], delta=1e-5)
    >>> bool((model.predict(x[1000:]) == y[1000:]).mean() > 0.85)
    True
    >>> model.privacy.epsilon(1e-5, unit="one whole owner") <= 1.0
    True
    """
    from dpsumm.data.short import schema_of
    from dpsumm.ensemble.ballots import facts_of
    from dpsumm.ensemble.inputs import read_parties
    from dpsumm.ensemble.points import points_notes
    from dpsumm.ensemble.protocols import Updates, decided
    from dpsumm.ensemble.threads import one_thread
    from dpsumm.ensemble.vote import Asked, run_vote
    from dpsumm.exchange.driver import run_in_process
    from dpsumm.privacy.weak import warn_unrecorded

    asked = Asked.of(
        classes,
        epsilon=epsilon,
        delta=delta,
        protocol=protocol,
        validation=validation,
        unit=unit,
        ledger=ledger,
        run=run,
        seed=seed,
        allow_weak_privacy=allow_weak_privacy,
    )
    given = read_parties(
        parties,
        public_points,
        schema=None if schema is None else schema_of(schema),
        validation=validation,
    )
    n_records = sum(map(len, given.tables.values()))
    terms = asked.terms(given.points, len(given.names), n_records)
    given.check_labels(terms)
    for note in (*given.copies, *given.foreign(terms.classes), *given.strange):
        warnings.warn(note, stacklevel=2)
    how = decided(asked.protocol, given.others)
    warn_unrecorded(ledger, seed, epsilon)
    with one_thread():
        if isinstance(how, Updates):
            from dpsumm.ensemble.rounds import recipe_of, run_updates
            from dpsumm.ensemble.updates.party import Updater

            updaters = {name: Updater(one, terms.classes) for name, one in given.tables.items()}
            return run_updates(
                asked,
                terms,
                recipe_of(asked, how, len(given.names), given.n_given),
                given.space,
                given.points,
                given.names,
                lambda curator, _: curator.again() or run_in_process(curator, updaters, progress),
                about=points_notes(given.public_points),
            )
        roles = given.roles(terms, how.learner, seed, declared=how.hidden)
        return run_vote(
            asked,
            terms,
            given.space,
            given.points,
            given.names,
            lambda curator, _: curator.again() or run_in_process(curator, roles, progress),
            about=points_notes(given.public_points),
            learner=facts_of(how.learner, how.grid) if given.tables else "",
        )
