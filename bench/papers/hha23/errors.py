"""HHA23: what is printed and not true, with the number that shows it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import dplr
from bench.papers import errata
from bench.papers.errata import Erratum
from dplr.auditor.sampled import eps_lower_bound, gaussian_eps

ROWS, DELTA, AUDITED = 400, 1e-5, 1_000


def classical(eps: float, factor: float = 2.0) -> float:
    """Deviation of the noise by equation 4 for a sensitivity of 1; the paper prints the factor 0.2."""
    return math.sqrt(factor * math.log(1.25 / DELTA)) / eps


def really(deviation: float, steps: int = 1) -> float:
    """The eps that steps with noise of this deviation cost at a sensitivity of 1."""
    return gaussian_eps(math.sqrt(steps) / deviation, DELTA)


def printed(steps: int) -> dplr.NoisyGradientDescent:
    """The algorithm as printed, with a clip below the norm of a row."""
    return dplr.NoisyGradientDescent(
        steps=steps, clip=0.25, momentum=0.0, averaging="last", clipping="aggregate", composition="per-step"
    )


def stated(steps: int) -> float:
    """True eps of the printed algorithm for eps = 1."""
    facts: dict[str, Any] = {"n_rows": ROWS, "n_features": 2, "fit_intercept": False}
    return dplr.plan(mechanism=printed(steps), eps=1.0, delta=DELTA, **facts).statement.eps


def audited() -> float:
    """A lower bound of eps from releases of one step on each of two neighbours: balanced rows, and one more."""
    X = np.zeros((ROWS, 2))
    X[:-1, 0] = 1.0
    y = np.arange(ROWS) % 2 == 0
    scores = []
    for sign, seed in ((1.0, 1), (-1.0, 2)):
        X[-1], y[-1] = (0.0, sign), True
        fits = dplr.fit_many(
            X, y, eps=[1.0], repeats=AUDITED, delta=DELTA, mechanism=printed(1), fit_intercept=False, rng=seed
        )
        scores.append([round(est.coef_[0, 1], 9) for est in fits])
    return eps_lower_bound(*scores, delta=DELTA)


def log_loss(sign: float) -> float:
    """Equation 7 at y = 0, p = 0.99, with a sign before (1 - y) log(1 - p)."""
    y, p = 0.0, 0.99
    return -(y * math.log(p) + sign * (1 - y) * math.log(1 - p))


def triangle() -> float:
    """Largest of (norm of a - b) / (norm of a - norm of b) where a is the longer one: equation 11 has at most 1."""
    a, b = np.random.default_rng(0).normal(size=(2, 1000, 2))
    a *= 1 + np.linalg.norm(b, axis=1, keepdims=True) / np.linalg.norm(a, axis=1, keepdims=True)
    norms = np.linalg.norm(a, axis=1) - np.linalg.norm(b, axis=1)
    return float((np.linalg.norm(a - b, axis=1) / norms).max())


def majority() -> float:
    """Accuracy of one label for all of 400 balanced rows, in per cent."""
    y = np.arange(ROWS) % 2
    return 100.0 * float((y == 0).mean())


_SUM = "The sum of all gradients is clipped to C, and gets noise for 2C/n."
_FORMULA = "Noise by the classical formula for any eps."

ERRATA = {
    "Equations 7 and 8, one step": Erratum(
        _SUM,
        "One row turns the clipped sum round: the sensitivity is 2C, and the noise is n times too small.",
        "eps that `dplr.plan` states for one step, n = 400, eps = 1 asked for",
        lambda: 1.0,
        lambda: stated(1),
    ),
    "Equations 7 and 8, audited": Erratum(
        _SUM,
        f"{AUDITED:,} fits of each of two neighbours tell them apart; more fits would say more.",
        "lower bound of eps, 99.9 % confidence",
        lambda: 1.0,
        audited,
    ),
    "Algorithm, 100 steps": Erratum(
        "100 steps, each at eps = 1, are eps = 1.",
        "Steps compose.",
        "eps that `dplr.plan` states, eps = 1 asked for",
        lambda: 1.0,
        lambda: stated(100),
    ),
    "Algorithm, composition alone": Erratum(
        "100 steps with noise for eps = 1 each are eps = 1.",
        "Also with the right sensitivity they are not.",
        "eps of 100 Gaussian steps, classical noise",
        lambda: 1.0,
        lambda: really(classical(1.0), 100),
    ),
    "Equation 4, the factor": Erratum(
        "The variance is 0.2 ln(1.25/delta) (Delta/eps)^2.",
        "It is 2 ln(1.25/delta) (Delta/eps)^2: a decimal point too many.",
        "eps with the printed noise, eps = 1 asked for",
        lambda: 1.0,
        lambda: really(classical(1.0, 0.2)),
    ),
    "Equation 4, eps = 150": Erratum(
        _FORMULA,
        "It is proved for eps at most 1, and false for large eps.",
        "eps with the noise of the classical formula (2 ln), eps = 150 asked for",
        lambda: 150.0,
        lambda: really(classical(150.0)),
    ),
    "Equation 4, eps = 0.1": Erratum(
        _FORMULA,
        "Where it holds it is not tight.",
        "eps with the noise of the classical formula (2 ln), eps = 0.1 asked for",
        lambda: 0.1,
        lambda: really(classical(0.1)),
    ),
    "Equation 7, a sign": Erratum(
        "The loss is -(y log p - (1 - y) log(1 - p)).",
        "Both terms have the same sign; as printed a wrong answer for y = 0 is rewarded.",
        "loss at y = 0, p = 0.99",
        lambda: log_loss(-1.0),
        lambda: log_loss(1.0),
    ),
    "Equation 11": Erratum(
        "The triangle inequality with a minus: the norm of a difference is at most the difference of norms.",
        "It is at most the sum; the difference is a lower bound.",
        "largest norm of a difference over the difference of norms",
        lambda: 1.0,
        triangle,
    ),
    "Table 1, its level": Erratum(
        "Accuracies are 29.75 to 41 % for two classes.",
        "One label for all rows is better.",
        "accuracy of one label on balanced classes, %; beside the largest printed one",
        lambda: 41.0,
        majority,
    ),
}

FIGURE = errata.figure("hha23", ERRATA)
