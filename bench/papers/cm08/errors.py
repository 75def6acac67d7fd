"""CM08: what is printed and not true, with the number that shows it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import optimize, special, stats

import dplr
from bench.papers import errata
from bench.papers.errata import Erratum
from dplr import utility
from dplr.auditor import log_density_ratio
from dplr.auditor.density import Logistic, log_density, minimiser

# One row (x = 1, y = +1) against one row (x = 0), and many places where the coefficient may lie.
_ONE, _NONE = ([[1.0]], [1.0]), ([[0.0]], [1.0])
_FACTS: dict[str, Any] = {"d": 10, "l2": 0.01, "eps": 0.1}


def laplace_loss() -> float:
    """Privacy loss of Laplace noise whose standard deviation is sensitivity / eps, at eps = 1."""
    law = stats.laplace(scale=1 / math.sqrt(2))
    at = np.linspace(-5, 5, 1001)
    return float((law.logpdf(at) - law.logpdf(at - 1)).max())


def moved() -> float:
    """Distance of the minimisers of neighbours that are nearly opposite, over 2 / (n lambda); theory: below 1."""
    n, ridge, s = 20_001, 10.0, 0.5
    X = np.zeros((2, n, 2))
    X[:, :, 1] = 1.0
    X[:, -1] = [[math.sqrt(1 - s * s), s], [-math.sqrt(1 - s * s), s]]
    y = np.full((2, n), -1.0)
    y[:, -1] = 1.0
    first, second = minimiser(X, y, loss=Logistic(), ridge=ridge)
    return float(np.linalg.norm(first - second)) / (2 / ridge)


def all_directions() -> float:
    """Largest privacy loss of output perturbation over releases in all directions, at eps = 1."""
    angles, ridge = np.linspace(0, 2 * math.pi, 721), 1.0
    coefs = np.concatenate([radius * np.stack([np.cos(angles), np.sin(angles)], axis=1) for radius in (1, 10, 100)])
    data: list[Any] = [[[1.0, 0.0]], [1.0], [[1.0, 0.0]], [-1.0]]
    ratios = log_density_ratio(*data, coefs, loss=Logistic(), ridge=ridge, scale=2 / ridge, mechanism="output")
    return float(np.abs(ratios).max())


def printed_loss(eps: float, ridge: float) -> float:
    """The largest log density ratio of Algorithm 2 as printed, on one row against none."""
    w = np.linspace(-5, 5, 200_001)[:, None]
    ratios = log_density_ratio(*_ONE, *_NONE, w, loss=Logistic(), ridge=ridge, scale=2 / eps)
    return float(np.abs(ratios).max())


def event() -> float:
    """Log ratio of the probabilities of |w| <= 0.67 at eps = 1, n lambda = 0.01."""
    w = np.linspace(-0.67, 0.67, 20_001)[:, None]
    shares = [
        np.trapezoid(np.exp(log_density(*data, w, loss=Logistic(), ridge=0.01, scale=2.0)), w[:, 0])
        for data in (_ONE, _NONE)
    ]
    return float(abs(math.log(shares[0] / shares[1])))


def stated(eps: float, ridge: float, n_features: int = 2) -> float:
    """What the statement of a printed fit says that it costs."""
    printed = dplr.ObjectivePerturbation(calibration="cm08")
    facts: dict[str, Any] = {"n_rows": 1000, "n_features": n_features, "fit_intercept": False}
    return dplr.plan(mechanism=printed, eps=eps, l2=ridge / 1000, **facts).statement.eps


def curvature() -> float:
    """The largest second derivative of log(1 + exp(-z))."""
    found = optimize.minimize_scalar(lambda z: -special.expit(z) * special.expit(-z), bounds=(-5, 5), method="bounded")
    return float(-found.fun)


def minimiser_moves() -> float:
    """Largest distance between the minimisers with and without b, times n lambda / ||b||, over random data and b."""
    rng = np.random.default_rng(0)
    largest = 0.0
    for ridge in (0.01, 1.0, 100.0):
        X = rng.normal(size=(200, 20, 3))
        X /= np.linalg.norm(X, axis=2, keepdims=True)
        y, b = rng.choice([-1.0, 1.0], size=(200, 20)), rng.normal(size=(200, 3)) * 10 ** rng.uniform(-1, 3, (200, 1))
        # b.w + ridge ||w||^2 / 2 is ridge ||w - w0||^2 / 2 with w0 = -b / ridge, up to a constant.
        plain = minimiser(X, y, loss=Logistic(), ridge=ridge)
        pulled = minimiser(X, y, loss=Logistic(), ridge=ridge, w0=-b / ridge)
        moves = np.linalg.norm(plain - pulled, axis=1) * ridge / np.linalg.norm(b, axis=1)
        largest = max(largest, float(moves.max()))
    return largest


def bound(mechanism: str, statement: str) -> float:
    """Excess risk at 10,000 rows, 10 columns, lambda = 0.01, eps = 0.1, failure 0.05."""
    return utility.excess_risk(10_000, mechanism=mechanism, statement=statement, **_FACTS)


_COUNTED = "largest privacy loss of one release, {}"
_ALGORITHM_2 = "Algorithm 2 is eps-DP, whatever lambda is (Theorem 2)."
_DETERMINANT = "The proof drops the determinant of the Hessian. At small n lambda one record changes it much."

ERRATA = {
    "Section 2": Erratum(
        "Laplace noise of *standard deviation* S/eps gives eps-DP.",
        "The *scale* must be S/eps; its standard deviation is sqrt(2) S/eps.",
        "privacy loss with the printed noise, eps = 1",
        lambda: 1.0,
        laplace_loss,
    ),
    "Lemma 1": Erratum(
        "A Taylor expansion by coordinates bounds the sensitivity by 2/(n lambda).",
        "The expansion drops cross terms and needs a point for each coordinate; the bound itself is right.",
        "distance of two minimisers over 2/(n lambda): must be at most 1",
        lambda: 1.0,
        moved,
    ),
    "Theorem 1": Erratum(
        "The proof uses that the difference of the noises points in a uniform direction, and writes h(b1)/h(b2).",
        "The direction does not matter, and h(eta1)/h(eta2) is meant: the triangle inequality bounds every direction.",
        "largest privacy loss over all directions, eps = 1: must be at most 1",
        lambda: 1.0,
        all_directions,
    ),
    "Theorem 2, eps = 0.1, n lambda = 0.01": Erratum(
        _ALGORITHM_2, _DETERMINANT, _COUNTED.format("one column, one row"), lambda: 0.1,
        lambda: printed_loss(0.1, 0.01),
    ),
    "Theorem 2, eps = 0.1, n lambda = 1": Erratum(
        _ALGORITHM_2, _DETERMINANT, _COUNTED.format("one column, one row"), lambda: 0.1, lambda: printed_loss(0.1, 1.0),
    ),
    "Theorem 2, eps = 1, n lambda = 0.01": Erratum(
        _ALGORITHM_2, _DETERMINANT, _COUNTED.format("one column, one row"), lambda: 1.0,
        lambda: printed_loss(1.0, 0.01),
    ),
    "Theorem 2, an event": Erratum(
        _ALGORITHM_2, _DETERMINANT, "log ratio of P(abs(w) <= 0.67), eps = 1, n lambda = 0.01", lambda: 1.0, event,
    ),
    "Theorem 2, eps = 1, n lambda = 0.01, two columns": Erratum(
        _ALGORITHM_2, "The exact supremum is what dplr's statement says.", "eps that `dplr.plan` states",
        lambda: 1.0, lambda: stated(1.0, 0.01),
    ),
    "Theorem 2, eps = 1, n lambda = 2.1": Erratum(
        _ALGORITHM_2, "It is, as soon as n lambda is at least 2/eps.", "eps that `dplr.plan` states",
        lambda: 1.0, lambda: stated(1.0, 2.1),
    ),
    "Lemma 3": Erratum(
        "The Hessian's factor is bounded by 1.",
        "It is p (1 - p), at most 1/4.",
        "largest second derivative of the logistic loss",
        lambda: 1.0,
        curvature,
    ),
    "Lemma 5": Erratum(
        "With probability 0.95 the norm of the noise is at most d log(d/0.05) scales.",
        "True by the union bound, and loose: the norm has a Gamma law, whose quantile is known.",
        "bound of the norm at scale 1, d = 10",
        lambda: utility.noise_norm_quantile(10, 0.05, statement="cm08"),
        lambda: utility.noise_norm_quantile(10, 0.05),
    ),
    "Lemma 3, the bound": Erratum(
        "Excess risk of output perturbation as printed.",
        "With the curvature 1/4 and the quantile it is much smaller.",
        "bound at n = 10,000, d = 10, lambda = 0.01, eps = 0.1",
        lambda: bound("output", "cm08"),
        lambda: bound("output", "corrected"),
    ),
    "Lemma 4, the proof": Erratum(
        "The minimiser moves by at most 2 abs(b)/(n lambda).",
        "By Lemma 1 it moves by at most abs(b)/(n lambda).",
        "largest move found, in units of abs(b)/(n lambda)",
        lambda: 2.0,
        minimiser_moves,
    ),
    "Lemma 4, the bound": Erratum(
        "Excess risk of objective perturbation is at most 8 d^2 log^2(d/delta)/(lambda n^2 eps^2).",
        "That is 4 times too much, beside Lemma 5.",
        "bound at n = 10,000, d = 10, lambda = 0.01, eps = 0.1",
        lambda: bound("objective", "cm08"),
        lambda: bound("objective", "corrected"),
    ),
}  # fmt: skip

FIGURE = errata.figure("cm08", ERRATA)
