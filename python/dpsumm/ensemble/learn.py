"""The call that makes a classifier from parties and unlabelled points.

It imports other modules when it is called, so that its name loads none.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpsumm.privacy.events import Unit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpsumm.data.file import File
    from dpsumm.data.inputs import Source
    from dpsumm.data.short import SchemaLike
    from dpsumm.ensemble.model import Model
    from dpsumm.ensemble.protocols import Protocol
    from dpsumm.exchange.driver import Progress


def learn(
    parties: Mapping[str, Any] | Sequence[Any] | str | os.PathLike[str] | File,
    public_points: Source,
    *,
    classes: ArrayLike | None = None,
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
    """Return a classifier that is learnt from many parties' records or models.

    With *updates*, the default for parties with records, a public model is sent out in each of
    eight rounds. Each party answers with one clipped vector, and noise is added to the sum. With
    *votes*, the parties' classifiers vote on the `public_points` once, noise is added to the sum,
    and a student learns from it. All that follows the noise costs no privacy.

    Parameters
    ----------
    parties
        M parties, at least 2 and better 50, as a dict (name to party), a list, or a folder or
        pattern of their files. A party gives its labelled records, as a pair (points, labels), a
        data frame, or a path with a `label`. For votes a fitted classifier with `predict` is
        possible, or a list of them (see `Voting`). So are its votes, an (N, K) array of integers
        with one column per class in ascending order.
    public_points
        N public points without labels, with the parties' columns, as an (N, d) array, a data frame
        or a path. At least 20, better thousands. Parties see them, so they must not be private
        records, nor a summary of these.
    classes
        All K labels, public. By default the categories of the schema's label. A party leaves out
        rows with other labels. If it has no other rows, it counts for nothing. No message reveals
        this, because it may depend on one record. To avoid it, check at home (``dpsumm schema
        check --classes``), or give a `schema` whose label lists its categories.
    epsilon, delta
        Budget of the parties. Delta is a probability that the bound of epsilon need not cover.
    protocol
        ``"updates"`` or ``"votes"``, or an object with parameters, such as
        `Updates(records_per_owner=400)` and `Voting(learner="tree")`. By default updates if all
        parties hold records, otherwise votes.
    validation
        Labelled points of the consumer's own, as a pair (points, labels), or as a frame or file if
        the `schema` has a label. They are not sent to anyone. They judge a model of updates. With
        votes they choose among candidates without noise, so anyone who sees the model may learn
        about them. A few hundred help if parties are weak.
    unit
        Data that are protected together. ``"one whole owner"`` is all of a party's records, its
        classifier and its coins. ``"replace one record"`` is one record, where sizes are public.
    schema
        Public description of the columns, as for `dpsumm.summarize`. The label is the parties'
        column.
    ledger, run
        SQLite file with the parties' charges, kept across runs (in memory by default), and the name
        of the run in it. The name of a run that was interrupted resumes it, with the same noisy
        votes and without another charge. Other points, parties, classes, budgets, protocols and
        schemas are refused. Records are not compared, because the answer would depend on them.
    seed
        For tests and experiments. The run is repeatable, and **not private** (its epsilon is
        infinite).
    allow_weak_privacy
        Accept a budget that protects little. This is an epsilon above 10, or a delta of at least
        1 / parties.
    progress
        Called with (stage, done, total).

    Returns
    -------
    Model
        With updates it is an `UpdatesModel`, which has no `refit` and no `strength`.

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
        Before anything is spent, if public numbers show that the noise is above the signal, or that
        parties or points are few. The warning has the way out. See `dpsumm.plan_learning`. Other
        warnings are about public points that the schema clips or that repeat each other. Only the
        caller, who holds all data, is warned of public points that are records of parties, and of
        parties that hold the same records. No result has these warnings.

    Privacy
    -------
    All records of a party, or one record, are (epsilon, delta)-DP towards the consumer and anyone
    who sees the model. The curator, who sees votes or vectors, is trusted. Source: Hamm, Cao &
    Belkin 2016, corrected. See ``docs/ensemble.md``, ``docs/privacy/votes.md`` and
    ``docs/privacy/updates.md``.

    See Also
    --------
    dpsumm.plan_learning : What to expect, before any data are read.
    dpsumm.ensemble.PrivateEnsembleClassifier : The same as an estimator of scikit-learn.
    dpsumm.ensemble.Model : The result.
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
    from dpsumm.ensemble.terms import classes_in
    from dpsumm.ensemble.threads import one_thread
    from dpsumm.ensemble.vote import Asked, run_vote
    from dpsumm.exchange.driver import run_in_process
    from dpsumm.privacy.weak import warn_unrecorded

    known = None if schema is None else schema_of(schema)
    asked = Asked.of(
        classes_in(known) if classes is None else classes,
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
        schema=known,
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
