"""The curator's role, as far as protocols share it: ask, collect, check, select."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.data.records import Records
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidParameterError, ProtocolError
from dpsumm.exchange.messages import Answer, Request
from dpsumm.exchange.roles import Coordinator
from dpsumm.kernels.features import FeatureKind
from dpsumm.kernels.landmarks import Features
from dpsumm.privacy.events import Protected
from dpsumm.privacy.ledger import Ledger
from dpsumm.summary.kernel import RBF, FloatArray
from dpsumm.summary.protocols.features import features_of
from dpsumm.summary.protocols.messages import FeatureMap, LandmarkMap, Points
from dpsumm.summary.protocols.wire import CODEC
from dpsumm.summary.release import TARGET, Draw, Mechanism, Release, release


@dataclass(frozen=True)
class Setting:
    """Settings of a run, known to the curator. All but `target` is public.

    Attributes
    ----------
    target : (m, c) float64
        In the kernel's space. Float32 is converted. Owners see releases of it, which must not
        depend on what precision any owner's data have.
    columns
        Names of the points' columns.
    schema
        Their schema; None if the points are in the kernel's space as they are sent.
    n_records
        Owner name to number of records, as far as it is known.
    owners
        Names of all owners of the run, in their order. By default those of `n_records`. One that
        `n_records` does not have could not describe its data, and is dropped before it is asked.
    size
        Points in the summary.
    epsilon, delta
        The whole budget of the target.
    kernel
        A public bandwidth; None where the protocol needs none.
    labelled
        Whether owners send labels along.
    seed
        Tests and experiments only. Nothing is private then.
    drop_target_copies
        Whether selection leaves out points that equal a record of the target.
    """

    target: FloatArray = field(repr=False)
    columns: tuple[str, ...]
    schema: Schema | None
    n_records: Mapping[str, int]
    size: int
    epsilon: float
    delta: float
    kernel: RBF | None
    labelled: bool
    ledger: Ledger
    seed: int | None = None
    owners: tuple[str, ...] = ()
    drop_target_copies: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """All owners of the run."""
        return self.owners or tuple(self.n_records)

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", self.target.astype(np.float64, copy=False))
        # An owner of which nothing is known must not decide whether there are records enough.
        unknown = len(self.names) > len(self.n_records)
        total = sum(self.n_records.values())
        if self.size < 1 or (self.size > total and not unknown):
            raise InvalidParameterError(
                f"size must be between 1 and {total}, the number of the owners' records, "
                f"got {self.size}"
            )
        if len(self.target) < 2:
            raise InvalidParameterError(
                f"target must have at least 2 points, got {len(self.target)}. Its mean is all that "
                "is released, and the mean of one point is that point"
            )


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """The curator's result.

    Attributes
    ----------
    records
        The p records, in the order of the picks.
    owner : (p,) int64
        Owner of each, as an index into the owners' names.
    scaled : (p, e) float64
        In the kernel's space.
    curve : (p,) float64
        MMD^2 to the target after each pick, in the order of the picks. For the consumer.
    target_self
        ``mean k(V, V)`` of the target.
    pool
        All accessed points.
    picks : (p,) int64
        Which of them the records are.
    """

    records: Records
    owner: NDArray[np.int64]
    scaled: FloatArray
    curve: NDArray[np.float64]
    target_self: float
    pool: Pooled
    picks: NDArray[np.int64]


class Curator(Coordinator[Selection]):
    """The coordinator of a summary, whose result is a selection of the owners' points.

    Attributes
    ----------
    of_this_target
        In a resumed run, whether the recorded release may be of the target given. None if that is
        not known. For the consumer alone. No message may depend on it.
    """

    codec = CODEC
    stages = ("release", "owners", "selection")

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.names = setting.names
        self.of_this_target: bool | None = None

    @property
    def kernel(self) -> RBF:
        """The kernel."""
        if self.setting.kernel is None:
            raise InvalidParameterError("kernel: this protocol needs one. Give kernel=RBF(gamma)")
        return self.setting.kernel

    def feature_map(self, n_features: int, kind: FeatureKind = "paired") -> FeatureMap:
        """Return the run's random features: a public recipe, the same for a resumed run."""
        return FeatureMap(
            gamma=self.kernel.gamma,
            n_columns=self.setting.target.shape[1],
            n_features=n_features,
            seed=frequency_seed(self.setting),
            kind=kind,
        )

    def features(self, feature_map: FeatureMap | LandmarkMap) -> Features:
        """Return the run's features of a recipe."""
        return features_of(feature_map, self.setting.schema)

    def release_target(
        self, mechanism: Mechanism, feature_map: FeatureMap | LandmarkMap
    ) -> Release:
        """Charge and return the target's noisy mean embedding, within the run's budget.

        Once a run, because the budget is for one release. Asked again it returns the same.
        """
        setting, features = self.setting, self.features(feature_map)
        mechanism = mechanism.calibrated(self.setting.epsilon, setting.delta)
        made = release(
            mechanism,
            features,
            setting.target,
            key="target",
            message="target's noisy mean embedding",
            protected=Protected.TARGET,
            sensitivity=TARGET,
            ledger=setting.ledger,
            seed=setting.seed,
        )
        if setting.ledger.resumed:
            given = Draw(features, setting.target, TARGET, len(setting.target))
            self.of_this_target = mechanism.fits(given, made)
        return made

    def target_noise(self, mechanism: Mechanism, feature_map: FeatureMap | LandmarkMap) -> float:
        """Return the noise of `release_target` in each coordinate of the mean, as owners know it.

        A function of public numbers: nothing is charged.
        """
        setting = self.setting
        made = mechanism.calibrated(self.setting.epsilon, setting.delta)
        return made.noise(self.features(feature_map), TARGET, len(setting.target))

    def scaled(self, values: FloatArray) -> FloatArray:
        """Return points in the kernel's space, by the public schema, in the precision they have.

        An owner computes in the precision in which it sends, so what the curator computes of its
        points has the same bits.
        """
        schema = self.setting.schema
        return values if schema is None else schema.encode(values)

    def _order(self, pool: Pooled) -> NDArray[np.int64]:
        """Return the pool's rows that the exact greedy picks towards the target, in order.

        Kim, Khanna & Koyejo 2016. The marginal gain of J as corrected (``docs/paper.md``). Ties go
        to the owner that comes first, then to the lower row. A pool of at most `size` points is
        taken whole.
        """
        setting = self.setting
        size = min(setting.size, len(pool.owner))
        return kernels.greedy_towards(pool.scaled, setting.target, self.kernel.gamma, size).rows

    def _final_order(self, pool: Pooled) -> NDArray[np.int64]:
        """Return the rows picked from a pool that no message comes after.

        Copies of the target are left out here if that is wanted. No owner's view depends on it.

        Raises
        ------
        ProtocolError
            Nothing is left.
        """
        if not self.setting.drop_target_copies:
            return self._order(pool)
        kept = np.flatnonzero(~equal_rows(pool.scaled, self.setting.target))
        if not len(kept):
            raise ProtocolError(
                "every point read equals a record of the target, so drop_target_copies leaves "
                "none. Leave out the owner that holds the target's records"
            )
        return kept[self._order(pool.take(kept))]

    def _check_points(self, name: str, points: Answer, wanted: int) -> Points:
        if not isinstance(points, Points):
            raise ProtocolError(f"{name!r} answered with {type(points).__name__}, not with points")
        try:
            setting = self.setting
            points.check(len(setting.columns), wanted, setting.labelled, setting.schema)
        except ProtocolError as error:
            raise ProtocolError(f"answer of {name!r}: {error}") from None
        return points

    def _selection(self, pool: Pooled, order: NDArray[np.int64]) -> Selection:
        """Return the points of the pool at `order`, with their MMD^2 as they were picked."""
        setting = self.setting
        gamma = self.kernel.gamma
        scaled = pool.scaled[order]
        # Exact, for the consumer, also when the curator selects with the noisy target only.
        attraction = kernels.kernel_means(scaled, setting.target, gamma)
        constant = kernels.mean_kernel_self(setting.target, gamma)
        objective = kernels.objective(scaled, attraction, gamma)
        return Selection(
            records=pool.records.take(order),
            owner=pool.owner[order],
            scaled=scaled,
            curve=np.maximum(constant - objective, 0.0),
            target_self=constant,
            pool=pool,
            picks=order,
        )


@dataclass(frozen=True, eq=False, repr=False)
class Pooled:
    """All points that the curator has, whose they are, and where in the kernel's space."""

    records: Records
    owner: NDArray[np.int64]
    scaled: FloatArray

    def take(self, index: NDArray[np.int64]) -> Pooled:
        """Return some of the points, in the order of `index`."""
        return Pooled(self.records.take(index), self.owner[index], self.scaled[index])


def row_keys(points: FloatArray) -> list[bytes]:
    """Return a key for each row, the same for two rows with equal values."""
    return [row.tobytes() for row in np.ascontiguousarray(points, np.float64) + 0.0]


def equal_rows(points: FloatArray, others: FloatArray) -> NDArray[np.bool_]:
    """Return which of the points equal one of the others in every column."""
    there = set(row_keys(others))
    return np.array([key in there for key in row_keys(points)], dtype=np.bool_)


def pool_of(curator: Curator, parts: Sequence[tuple[int, Points]]) -> Pooled:
    """Return the points of all answers (owner, points) together, in the order given."""
    if not any(len(points.rows) for _, points in parts):
        raise ProtocolError(
            "no owner sent any point, so there is no summary. Check that the owners answered"
        )
    records = Points.concat([points for _, points in parts])
    return Pooled(
        records=records,
        owner=np.repeat([i for i, _ in parts], [len(points) for _, points in parts]),
        scaled=curator.scaled(records.values.astype(np.float64, copy=False)),
    )


class CollectingCurator(Curator):
    """One request to each owner, one answer of points, then the exact greedy on the pool."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._received: dict[str, Points] = {}
        self._sent: dict[str, Request] = {}
        self._dropped: set[str] = set()

    @abstractmethod
    def requests(self) -> dict[str, Request]:
        """Make the one request of each owner. Called once. Its release is charged before."""

    @abstractmethod
    def count(self, name: str) -> int:
        """Return how many points this owner sends, a public number."""

    def send(self) -> dict[str, Request]:
        """Return the requests the first time, nothing ever after."""
        if self._sent:
            return {}
        self._sent = self.requests()
        return dict(self._sent)

    def receive(self, name: str, answer: Answer) -> None:
        """Take an owner's points. See `Curator.receive`."""
        if name not in self._sent or name in self._dropped:
            raise ProtocolError(f"{name!r} was asked nothing, or was dropped")
        if name in self._received:
            raise ProtocolError(f"{name!r} has answered already")
        self._received[name] = self._check_points(name, answer, self.count(name))

    def drop(self, *names: str) -> None:
        """Go on without them. Nothing that another owner receives changes."""
        for name in names:
            if name not in self.names or name in self._received:
                raise ProtocolError(
                    f"{name!r} is not an owner of this run, or has answered already"
                )
        self._dropped.update(names)

    def result(self) -> Selection:
        """Return the greedy's picks, or the pool if it is no larger than `size`.

        Asking for more would leak.
        """
        received = self._received
        pool = pool_of(
            self, [(i, received[name]) for i, name in enumerate(self.names) if name in received]
        )
        return self._selection(pool, self._final_order(pool))


def frequency_seed(setting: Setting) -> int:
    """Return the public seed of the frequencies: from the run's name, the same on resuming."""
    if setting.seed is not None:
        return setting.seed
    return int.from_bytes(hashlib.sha256(setting.ledger.run.encode()).digest()[:8], "little")
