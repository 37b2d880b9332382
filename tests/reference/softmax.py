"""Multinomial logistic regression on codes: the kernel's twin, as its definition says, by SciPy."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from reference.vertical import one_hot


def shares(codes, sizes, weights, start):
    records = np.hstack([one_hot(c[:, None], size) for c, size in zip(codes.T, sizes, strict=True)])
    return softmax(np.log(start) + records @ weights, axis=1)


def fit(codes, sizes, moments, ridges, start):
    records = np.hstack([one_hot(c[:, None], size) for c, size in zip(codes.T, sizes, strict=True)])

    def value(flat):
        weights = flat.reshape(moments.shape)
        odds = np.log(start) + records @ weights
        loss = logsumexp(odds, axis=1).mean() - (weights * moments).sum()
        slope = records.T @ softmax(odds, axis=1) / len(codes) - moments + ridges * weights
        return loss + (ridges * weights**2).sum() / 2, slope.ravel()

    found = minimize(
        value, np.zeros(moments.size), jac=True, method="L-BFGS-B",
        options={"maxiter": 20_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-9},
    )  # fmt: skip
    return found.x.reshape(moments.shape)
