"""What is measured on a split: summaries as they grow, and models that may be shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import dpsumm
from dpsumm.kernels import mmd2
from evidence.measures import judged
from evidence.paper.design import Design, Split, split
from evidence.problem import Labelled

GREEDY = "greedy, not private"
PUBLISHED = "private greedy, as published"
SOUND = "private greedy, sound, ten rounds"
UNIFORM = "uniform"
METHODS: dict[str, Callable[[int, Split], object]] = {
    GREEDY: lambda p, data: dpsumm.papers.Auction.exact(),
    PUBLISHED: lambda p, data: _with_seeds(dpsumm.papers.Auction.published(p), data),
    SOUND: lambda p, data: dpsumm.papers.Auction(),
    "Offers": lambda p, data: dpsumm.Offers(),
    UNIFORM: lambda p, data: dpsumm.summary.Uniform(),
}
DELTA = 1e-5
# Public: most of Adult's points are shorter.
NORM = 2.0
ALONE, OTHERS = "the owner that has C, alone", "another owner alone, mean of three"


def _with_seeds(protocol: dpsumm.papers.Auction, data: Split) -> object:
    return replace(protocol, seed_points=data.seed_points)


def measured(design: Design, folder: Path, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of one split."""
    data = split(design, folder, seed)
    for row in (*_growth(design, data, seed), *_models(design, data)):
        yield {"design": design.name, "seed": seed, **row}


def _growth(design: Design, data: Split, seed: int) -> Iterator[dict[str, Any]]:
    for size in design.sizes:
        for name, protocol in METHODS.items():
            started = time.perf_counter()
            summary = summarized(data, size, protocol(size, data), seed=seed)
            seconds = time.perf_counter() - started
            test = data.test
            points = summary.points.astype(np.float32)
            yield {
                "part": "growth",
                "method": name,
                "size": size,
                "mmd2": summary.mmd2,
                "mmd2_test": mmd2(points, test.points, data.kernel.gamma),
                "accuracy": judged("svm", Labelled(points, summary.labels), None, test)["svm"],
                "seconds": seconds,
            }


def summarized(
    data: Split, size: int, protocol: object, *, seed: int | None = None
) -> dpsumm.summary.Summary:
    """Return a summary of all four owners, with labels."""
    return dpsumm.summarize(
        [(owner.points, owner.labels) for owner in data.owners],
        data.target,
        size=size,
        kernel=data.kernel,
        protocol=protocol,  # type: ignore[arg-type]
        delta=DELTA,
        seed=seed,
        allow_weak_privacy=True,
    )


def _models(design: Design, data: Split) -> Iterator[dict[str, Any]]:
    """Yield accuracies of models towards everyone. No seeds: their noise is the system's."""
    for epsilon in design.epsilons:
        for size in design.model_sizes:
            for name, protocol in _stable(size, epsilon).items():
                summary = summarized(data, size, protocol)
                yield _model(data, summary, epsilon) | {"method": name}
                if epsilon == design.epsilons[-1]:
                    yield _bare(data, summary) | {"method": name}
        alone = [_alone(data, i, epsilon) for i in range(len(data.owners))]
        yield alone[0] | {"method": ALONE}
        others = float(np.mean([row["accuracy"] for row in alone[1:]]))
        yield alone[1] | {"method": OTHERS, "accuracy": others}


def _stable(size: int, epsilon: float) -> dict[str, object]:
    """Return protocols whose summaries may be trained on, for an epsilon in all."""
    return {
        "uniform": dpsumm.summary.Uniform(),
        "Auction of one round": dpsumm.papers.Auction(reselect=False, batch=size),
        "Auction of ten rounds": dpsumm.papers.Auction(reselect=False, epsilon_owners=epsilon / 2),
    }


def _model(data: Split, summary: dpsumm.summary.Summary, epsilon: float) -> dict[str, Any]:
    model = summary.private_model([0, 1], epsilon=epsilon, norm=NORM)
    assert summary.privacy.epsilon(protected="owners") <= epsilon
    right = model.predict(data.test.points) == data.test.labels
    return {
        "part": "models",
        "size": len(summary),
        "epsilon": epsilon,
        "accuracy": float(right.mean()),
    }


def _bare(data: Split, summary: dpsumm.summary.Summary) -> dict[str, Any]:
    """Return the accuracy of logistic regression without noise on the same summary."""
    from sklearn.linear_model import LogisticRegression

    made = LogisticRegression(C=10, max_iter=2000).fit(summary.points, summary.labels)
    found = float(made.score(data.test.points, data.test.labels))
    return {"part": "models", "size": len(summary), "epsilon": np.inf, "accuracy": found}


def _alone(data: Split, i: int, epsilon: float) -> dict[str, Any]:
    """Return a private model of all records of one owner: no summary, nobody else sees them."""
    owner: Labelled = data.owners[i]
    alone = Split((owner,), data.target, data.test, data.seed_points, data.kernel)
    size = len(owner.labels)
    return _model(data, summarized(alone, size, dpsumm.summary.Uniform()), epsilon)
