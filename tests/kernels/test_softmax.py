"""The logistic regression on codes against its twin, and on bad input."""

import numpy as np
import pytest

from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.kernels import fit_softmax, softmax_shares
from reference import softmax as plain
from reference.vertical import one_hot


def problem(rng, sizes, classes, n=3000):
    codes = np.stack([rng.integers(size, size=n) for size in sizes], axis=1)
    start = rng.dirichlet(np.full(classes, 5.0))
    truth = rng.normal(size=(sum(sizes), classes))
    records = np.hstack([one_hot(c[:, None], s) for c, s in zip(codes.T, sizes, strict=True)])
    moments = records.T @ plain.shares(codes, sizes, truth, start) / n
    return codes, start, truth, moments


@pytest.mark.parametrize(("sizes", "classes"), [((4,), 2), ((5, 3, 1), 3), ((30, 2), 7)])
def test_shares_and_fit_are_the_twin_s(rng, sizes, classes):
    codes, start, truth, moments = problem(rng, sizes, classes)
    np.testing.assert_allclose(
        softmax_shares(codes, sizes, truth, start), plain.shares(codes, sizes, truth, start),
        rtol=1e-12,
    )  # fmt: skip
    noisy = moments + rng.normal(0, 0.002, moments.shape)
    ridges = rng.uniform(1e-3, 1e-2, moments.shape)
    found = fit_softmax(codes, sizes, noisy, ridges, start, max_steps=1000)
    wanted = plain.fit(codes, sizes, noisy, ridges, start)
    # Along directions that the ridge alone holds, weights stop some way off, and shares do not.
    np.testing.assert_allclose(found, wanted, atol=0.03)
    shares = (softmax_shares(codes, sizes, weights, start) for weights in (found, wanted))
    np.testing.assert_allclose(*shares, atol=5e-3)


def test_the_usual_number_of_steps_is_enough(rng):
    codes, start, truth, moments = problem(rng, (12, 32, 12, 32, 5), 2, n=20_000)
    weights = fit_softmax(codes, (12, 32, 12, 32, 5), moments, np.full(moments.shape, 1e-6), start)
    found = softmax_shares(codes, (12, 32, 12, 32, 5), weights, start)
    wanted = plain.shares(codes, (12, 32, 12, 32, 5), truth, start)
    assert np.abs(found - wanted).max() < 0.01


def test_no_record_has_no_shares():
    assert softmax_shares(np.zeros((0, 1), np.uint32), [2], np.zeros((2, 3)), [1, 1, 1]).shape == (
        0,
        3,
    )


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"codes": [[2]]}, InvalidParameterError),
        ({"codes": [[-1]]}, InvalidParameterError),
        ({"codes": [[0.5]]}, InvalidParameterError),
        ({"codes": np.zeros((0, 1), int)}, InvalidParameterError),
        ({"sizes": []}, InvalidParameterError),
        ({"sizes": [0]}, InvalidParameterError),
        ({"sizes": [3]}, InvalidParameterError),
        ({"moments": [[0.5, 0.5]]}, InvalidParameterError),
        ({"moments": [[np.nan, 0], [0, 0]]}, InvalidDataError),
        ({"ridges": [[-1, 0], [0, 0]]}, InvalidParameterError),
        ({"start": [0.5]}, InvalidParameterError),
        ({"start": [0.0, 1.0]}, InvalidParameterError),
        ({"start": []}, InvalidParameterError),
        ({"max_steps": 0}, InvalidParameterError),
    ],
)
def test_bad_input_is_refused(changes, error):
    right = {"codes": [[0], [1]], "sizes": [2], "moments": [[0.25] * 2] * 2,
             "ridges": [[0.1] * 2] * 2, "start": [0.5, 0.5]}  # fmt: skip
    assert fit_softmax(**right).shape == (2, 2)
    with pytest.raises(error):
        fit_softmax(**right | changes)
