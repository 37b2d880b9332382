"""BROKEN ON PURPOSE: curators of private updates with one mistake each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dpsumm.ensemble.updates.curator import UpdateCurator
from dpsumm.ensemble.updates.messages import UpdateTask
from dpsumm.exchange.messages import Answer, Request


class TellsWhoCame(UpdateCurator):
    """BROKEN: makes the clip of the next round of the number that came."""

    _came = 0

    def receive(self, name: str, answer: Answer) -> None:
        """Count the parties that come."""
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
