"""BROKEN ON PURPOSE: releases, vectors and curators of private updates with one mistake each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.audit.settings import Unbooked
from dpsumm.ensemble.students.plain import softmax_of
from dpsumm.ensemble.updates.clipping import LEVELS
from dpsumm.ensemble.updates.curator import UpdateCurator
from dpsumm.ensemble.updates.messages import UpdateTask
from dpsumm.ensemble.updates.release import query_of, release_round
from dpsumm.exchange.messages import Answer, Request
from dpsumm.privacy.release import Bound, PaidNoise, Query

Array = NDArray[np.float64]


def _with_noise(exact: NDArray[np.int64], given: tuple[Any, ...], factor: float) -> Any:
    """Return a sum with so much of the noise that was paid for."""
    _, recipe, number = given
    std = factor * query_of(recipe, exact.size, number).noise_std
    return PaidNoise([Query.with_std(Bound(1.0), std)]).on(exact)


def quarter_of_the_noise(exact: NDArray[np.int64], *given: Any, **_: Any) -> Any:
    """BROKEN: charges for four times the noise that it adds."""
    return _with_noise(exact, given, 0.25)


def as_if_one_round(exact: NDArray[np.int64], *given: Any, **_: Any) -> Any:
    """BROKEN: every round has the noise that one round alone would need."""
    return _with_noise(exact, given, given[1].rounds ** -0.5)


def noise_kept(exact: NDArray[np.int64], *given: Any, ledger: Unbooked, **_: Any) -> Any:
    """BROKEN: draws noise once a run and adds it in every round."""
    drawn = ledger.record(
        "noise", lambda: _with_noise(0 * exact, given, 1.0).astype("<i8").tobytes()
    )
    return exact + np.frombuffer(drawn, "<i8").reshape(exact.shape)


def drawn_anew(exact: NDArray[np.int64], *given: Any, **more: Any) -> Any:
    """BROKEN: answers a retry with a second draw: here the mean of four."""
    draws = [release_round(exact, *given, **more | {"ledger": Unbooked("r")}) for _ in range(4)]
    return np.mean(draws, axis=0)


def unclipped(
    a: Array, y: Array, weights: Array, gains: Array, clip: float, *_: Any
) -> NDArray[np.int64]:
    """BROKEN: sends the records' moments at the length that they have."""
    missed = y - softmax_of(a @ weights)
    return np.rint((a * gains).T @ missed * (LEVELS / clip)).astype(np.int64)


class TellsWhoCame(UpdateCurator):
    """BROKEN: makes the clip of the next round of the number that came."""

    _came = 0

    def receive(self, name: str, answer: Answer) -> None:
        """Count who comes."""
        super().receive(name, answer)
        self._came += 1

    def send(self) -> Mapping[str, Request]:
        """Return requests with a clip that tells the turnout."""
        sent = super().send()
        return {
            name: replace(one, step=replace(one.step, clip=one.step.clip * (1 + self._came)))
            if isinstance(one, UpdateTask) and one.step.number
            else one
            for name, one in sent.items()
        }


class LearnsWithoutNoise(UpdateCurator):
    """BROKEN: the next round's model is of the exact sum."""

    def _close(self) -> None:
        exact = self._sum.copy()
        super()._close()
        self.course.take(exact)
        self.course.rounds -= 1
        self.course.step = replace(self.course.step, number=self.course.rounds)
