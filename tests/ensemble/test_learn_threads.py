"""Threads of matrix libraries while parties answer."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from threadpoolctl import threadpool_info, threadpool_limits

import dpsumm

FOUND: list[int] = []


class Counting(GaussianNB):
    """Notes how many threads there are when it is trained."""

    def fit(self, x, y):
        FOUND.extend(one["num_threads"] for one in threadpool_info())
        return super().fit(x, y)


@pytest.mark.parametrize(("given", "threads"), [({}, 1), ({"OMP_NUM_THREADS": "2"}, 2)])
def test_matrix_libraries_use_one_thread_unless_told_otherwise(monkeypatch, rng, given, threads):
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    FOUND.clear()
    parties = [(rng.normal(size=(20, 2)), np.arange(20) % 2) for _ in range(60)]
    with threadpool_limits(2):
        dpsumm.learn(
            parties,
            rng.normal(size=(1000, 2)),
            classes=[0, 1],
            protocol=dpsumm.Voting(learner=Counting()),
            epsilon=4,
            seed=1,
        )
        assert max(one["num_threads"] for one in threadpool_info()) == 2
    assert FOUND
    assert max(FOUND) == threads
