"""CMS11: what is printed and not tight, and a slip of code that follows it, with the number that shows it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import dplr
from bench.papers import errata
from bench.papers.errata import Erratum
from dplr.auditor import log_density_ratio
from dplr.auditor.density import Logistic

CURVATURE = 0.25


def printed_noise_eps(eps: float, ridge: float, curvature: float = CURVATURE) -> float:
    """eps' of Algorithm 2 before it raises the ridge."""
    return eps - math.log(1 + 2 * curvature / ridge + (curvature / ridge) ** 2)


def exact_noise_eps(eps: float, ridge: float, model: str = "logistic") -> float:
    """eps' of dplr's calibration of the same noise and loss; a share of eps pays for its solver."""
    tight = dplr.ObjectivePerturbation(cut=None)
    facts: dict[str, Any] = {"n_rows": 1000, "n_features": 2, "fit_intercept": False, "model": model}
    released = dplr.plan(mechanism=tight, eps=eps, l2=ridge / 1000, **facts).statement.released["coef"]
    return released.sensitivity / released.scale


def jacobian(ridge: float) -> float:
    """Largest log ratio of the determinants of the Hessians of random neighbours."""
    rng = np.random.default_rng(0)
    n, d, largest = 6, 3, 0.0
    for _ in range(5_000):
        X = rng.normal(size=(n + 1, d)) * 10 ** rng.uniform(-2, 1, (n + 1, 1))
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1)
        weights = CURVATURE * (rng.random(n + 1) < 0.5)
        shared = X[: n - 1].T @ (weights[: n - 1, None] * X[: n - 1]) + ridge * np.eye(d)
        sizes = [np.linalg.slogdet(shared + weights[i] * np.outer(X[i], X[i]))[1] for i in (n - 1, n)]
        largest = max(largest, abs(sizes[0] - sizes[1]))
    return largest


def spent(eps: float, ridge: float) -> float:
    """What noise of the printed eps' really costs at the same ridge: the exact privacy loss."""
    used = printed_noise_eps(eps, ridge)
    printed = dplr.ObjectivePerturbation(calibration="cm08")
    facts: dict[str, Any] = {"n_rows": 1000, "n_features": 2, "fit_intercept": False}
    whole = used / (1 - 2**-8)  # a share of eps pays for the solver: this leaves the printed eps' for the noise
    stated = dplr.plan(mechanism=printed, eps=whole, l2=ridge / 1000, **facts).statement.eps
    return stated - whole * 2**-8


def least_ridge(eps: float) -> float:
    """The least n lambda at which the exact calibration asks for no more of it."""
    low, high = 1e-6, 1e3
    while high / low > 1 + 1e-6:
        middle = math.sqrt(low * high)
        try:
            exact_noise_eps(eps, middle)
        except ValueError:
            low = middle
        else:
            high = middle
    return high


def loss_of_long_rows(radius: float, eps: float, ridge: float) -> float:
    """Privacy loss of one release where the curvature of rows of this norm is taken as c R instead of c R^2."""
    noise_eps = printed_noise_eps(eps, ridge / radius)
    one, none = ([[radius]], [1.0]), ([[0.0]], [1.0])
    w = np.linspace(-5, 5, 20_001)[:, None] / radius
    ratios = log_density_ratio(*one, *none, w, loss=Logistic(), ridge=ridge, scale=2 * radius / noise_eps)
    return float(np.abs(ratios).max())


_TWICE = "Neighbours differ in one row each: the ratio of determinants is at most 1 + c/(n lambda), once."

ERRATA = {
    "Theorem 9, the determinant": Erratum(
        "The ratio of the determinants is charged as log(1 + 2c/(n lambda) + (c/(n lambda))^2).",
        _TWICE,
        "largest log ratio, c = 1/4, n lambda = 1",
        lambda: 2 * math.log1p(CURVATURE),
        lambda: jacobian(1.0),
    ),
    "Algorithm 2, eps' at n lambda = 0.5": Erratum(
        "eps' = eps - log(1 + 2c/(n lambda) + (c/(n lambda))^2).",
        "Valid, not tight: slope and curvature of the logistic loss are not largest at one place.",
        "eps' at eps = 1",
        lambda: printed_noise_eps(1.0, 0.5),
        lambda: exact_noise_eps(1.0, 0.5),
    ),
    "Algorithm 2, what it spends": Erratum(
        "The release costs eps.",
        "It costs less: part of eps buys nothing.",
        "exact privacy loss at eps = 1, n lambda = 0.5",
        lambda: 1.0,
        lambda: spent(1.0, 0.5),
    ),
    "Algorithm 2, the raised ridge": Erratum(
        "Where eps' would not be positive, the ridge is raised.",
        "A smaller ridge is already enough.",
        "least n lambda without raising it, eps = 0.1",
        lambda: CURVATURE / math.expm1(0.05),
        lambda: least_ridge(0.1),
    ),
    "Algorithm 2, eps' near 0": Erratum(
        "The ridge is raised where eps' would not be positive.",
        "Just above 0 the noise, of scale 2/eps', drowns the fit; half the charge leaves enough.",
        "eps' of the Huber SVM on 90 % of Adult: eps = 0.05, c = 1, n lambda = 40.7",
        lambda: printed_noise_eps(0.05, 40.7, 1.0),
        lambda: exact_noise_eps(0.05, 40.7, "svm"),
    ),
    "Rows of norm R": Erratum(
        "The paper has R = 1; a library that follows it puts c R for c in the logarithm.",
        "The curvature of a row of norm R is c R^2.",
        "privacy loss at R = 12, n lambda = 6, eps = 1 with c R",
        lambda: 1.0,
        lambda: loss_of_long_rows(12.0, 1.0, 6.0),
    ),
}

FIGURE = errata.figure("cms11", ERRATA)
