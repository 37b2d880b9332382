"""Owners that an exact, not private choice would invite: what invitations could gain at most."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import dpsumm
from dpsumm.kernels import kernel_means, objective
from evidence.problem import Problem

Choice = Callable[[Problem, int, int], NDArray[np.int64]]  # problem, size, seed -> owners


def best_offers(count: int) -> Choice:
    """Take the owners whose offers alone have the largest exact objective: what a bid could say."""

    def choose(problem: Problem, size: int, seed: int) -> NDArray[np.int64]:
        summary = _summary(problem, size, seed, dpsumm.Offers())
        gains = np.full(len(problem.owners), -np.inf)
        for i in np.unique(summary.pool.owner):
            mine = summary.pool.scaled[summary.pool.owner == i]
            attraction = kernel_means(mine, problem.target.astype(mine.dtype), problem.kernel.gamma)
            gains[i] = objective(mine, attraction, problem.kernel.gamma)[-1]
        return np.sort(np.argsort(-gains, kind="stable")[:count])

    return choose


def most_used(count: int) -> Choice:
    """Take the owners of whom the greedy on all data takes most: no bid of one owner knows that."""

    def choose(problem: Problem, size: int, seed: int) -> NDArray[np.int64]:
        summary = _summary(problem, size, seed, dpsumm.summary.Greedy())
        used = np.bincount(summary.owner, minlength=len(problem.owners))
        return np.sort(np.argsort(-used, kind="stable")[:count])

    return choose


def _summary(
    problem: Problem, size: int, seed: int, protocol: dpsumm.Offers | dpsumm.summary.Greedy
) -> dpsumm.summary.Summary:
    return dpsumm.summarize(
        [owner.points for owner in problem.owners],
        problem.target,
        size=size,
        kernel=problem.kernel,
        protocol=protocol,
        seed=seed,
    )
