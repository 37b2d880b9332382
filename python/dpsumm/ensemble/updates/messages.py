"""What curator and parties say to each other in the rounds of private updates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.names import is_name
from dpsumm.ensemble.students.bases import Linear, Neighbours, Random
from dpsumm.ensemble.students.whitened import Whitened, is_whitened
from dpsumm.ensemble.terms import Terms, are_terms
from dpsumm.ensemble.updates.recipe import Recipe, is_recipe
from dpsumm.exchange.codec import Codec, Kind
from dpsumm.exchange.disclosure import Disclosure, Reveals
from dpsumm.exchange.fields import is_array, is_hex, is_noise, is_number, is_whole
from dpsumm.exchange.messages import Answer, Request

PROTOCOL = "Private updates"


@dataclass(frozen=True, eq=False)
class Step:
    """The public state that a round starts from, made of public numbers and the rounds before.

    Attributes
    ----------
    number
        Of the round, from 0.
    clip
        Length to which vectors are cut, in the features' units.
    shares : (K,)
        Of the classes, by the model.
    weights : (m + 1, K)
        The model. Zero before the first round.
    """

    number: int
    clip: float
    shares: NDArray[np.float64]
    weights: NDArray[np.float64] = field(repr=False)

    def same_as(self, other: Step) -> bool:
        """Return whether both are the same, to the last bit."""
        return (
            (self.number, self.clip) == (other.number, other.clip)
            and np.array_equal(self.shares, other.shares)
            and np.array_equal(self.weights, other.weights)
        )


@dataclass(frozen=True, eq=False)
class UpdateTask(Request):
    """Curator to every party, in each round: the basis, the gains, the model so far.

    It says all that the answer depends on, so that a party that is made anew, and a curator that is
    started again, do not need the requests before it.

    Attributes
    ----------
    basis
        From points to features.
    gains : (m + 1,)
        Factors of the features in a vector.
    """

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "curator",
        "every party, the same bytes to all, once a round",
        "the classes, the terms, a basis of functions on the public points and their factors, "
        "around the records' middle if the rounds before told it; the model and the clip of these",
        "all parties' records, through the noisy sums of the rounds before alone; in the first "
        "round nobody's",
        "Whoever sees it learns of a party's records what these rounds are charged for.",
        "privacy/updates.md#theorem",
        releases=("noisy moments",),
        protocols=(PROTOCOL,),
    )

    run: str
    terms: Terms
    recipe: Recipe
    basis: Whitened = field(repr=False)
    gains: NDArray[np.float64] = field(repr=False)
    step: Step


@dataclass(frozen=True, eq=False)
class Update(Answer):
    """A party's vector of a round, for the curator. Not private. Only the curator sees it.

    Attributes
    ----------
    vector : (m + 1, K) int64
        Moments of what the model misses, in steps of clip / LEVELS.
    """

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "a party",
        "curator, nobody else",
        "moments of what the model misses on its records, cut to a public length",
        "the party's own records, and the task",
        "No claim towards the curator, who is trusted with the vectors.",
        "privacy/updates.md#model",
        protocols=(PROTOCOL,),
        reveals=Reveals.ALL,
    )

    run: str
    digest: str
    number: int
    vector: NDArray[np.int64] = field(repr=False)


@dataclass(frozen=True, eq=False)
class NoisyMoments(Answer):
    """The noisy sums of all rounds, from curator to consumer. All models are made of them.

    Made by :func:`dpsumm.ensemble.updates.release.release_round` alone, which states the claim.

    Attributes
    ----------
    noise_multiplier
        Noise / sensitivity of a round, for the recipe's unit.
    noise_std
        Of the noise in an entry, before rounding to integers.
    sums : (rounds, (m + 1) K) int64
        In steps of each round's clip / LEVELS.
    """

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "curator",
        "consumer, and whoever the consumer shows the sums, a model or its predictions",
        "the sum of all parties' vectors in each round, with noise",
        "all parties' records, through the released sums alone",
        "Whoever sees it learns of a party's records what the charges allow; all that is computed "
        "from it costs nothing more.",
        "privacy/updates.md#theorem",
        releases=("noisy moments",),
        reveals=Reveals.CHARGED,
    )

    run: str
    terms: Terms
    recipe: Recipe
    noise_multiplier: float
    noise_std: float
    sums: NDArray[np.int64] = field(repr=False)

    @property
    def unit(self) -> str:
        """Whose replacement the budget is for."""
        return self.recipe.unit


def is_step(value: Any, shape: tuple[int, ...]) -> bool:
    """Return whether a value is a step of a model of (m + 1, K) weights. Finite throughout."""
    return (
        isinstance(value, Step)
        and is_whole(value.number, 2**16)
        and is_number(value.clip)
        and is_array(value.shares, 1, "f8")
        and is_array(value.weights, 2, "f8")
        and value.weights.shape == shape
        and value.shares.shape == shape[1:]
        and bool(np.isfinite(value.weights).all())
        and bool(np.isfinite(value.shares).all())
        and bool((value.shares >= 0).all())
    )


def _is_task(message: UpdateTask) -> bool:
    return (
        is_name(message.run)
        and are_terms(message.terms)
        and is_recipe(message.recipe)
        and is_whitened(message.basis)
        and is_array(message.gains, 1, "f8")
        and len(message.gains) == len(message.basis.spread) + 1
        and bool(np.isfinite(message.gains).all())
        and is_step(message.step, (len(message.gains), message.terms.n_classes))
        and message.step.number < message.recipe.rounds
    )


def _is_update(message: Update) -> bool:
    return (
        is_name(message.run)
        and is_hex(message.digest, 64)
        and is_whole(message.number, 2**16)
        and is_array(message.vector, 2, "i8")
    )


def _are_noisy(message: NoisyMoments) -> bool:
    return (
        is_name(message.run)
        and are_terms(message.terms)
        and is_recipe(message.recipe)
        and is_number(message.noise_multiplier)
        and is_noise(message.noise_std)
        and is_array(message.sums, 2, "i8")
        and len(message.sums) == message.recipe.rounds
        and message.sums.shape[1] >= 2 * message.terms.n_classes
        and message.sums.shape[1] % message.terms.n_classes == 0
    )


KINDS = (
    Kind("UpdateTask", UpdateTask, _is_task),
    Kind("Update", Update, _is_update),
    Kind("NoisyMoments", NoisyMoments, _are_noisy),
)
PARTS = {
    "Terms": Terms,
    "Recipe": Recipe,
    "Step": Step,
    "Whitened": Whitened,
    "LinearBasis": Linear,
    "RandomBasis": Random,
    "NeighboursBasis": Neighbours,
}
CODEC = Codec(KINDS, PARTS)
