"""The methods of FM12's figures, each as a function from rows to coefficients.

All see the rows of footnote 1 and the same declared bounds, columns in [0, 1/sqrt d] and a target in [-1, 1]. Without
an intercept dplr maps such rows to themselves, so all methods without an intercept fit the same model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import dplr
from bench.papers.fm12.people import FEATURES, SUBSETS
from dplr.mechanisms import as_mechanism

Model: TypeAlias = tuple[NDArray[np.float64], float]
# From rows, target, model, privacy losses and a seed to coefficients and intercept for each loss.
Fit: TypeAlias = Callable[[NDArray[np.float64], Any, str, Sequence[float], int], list[Model]]

NO_PRIVACY, TRUNCATED, PRINTED, TIGHT = "NoPrivacy", "Truncated", "FM printed", "FM tight"
INTERCEPT, DEFAULT, DPME, PRIORITY = "FM tight, intercept", "dplr default", "DPME", "Filter-Priority"

# FM12 section 6: the ridge is four deviations of the noise, and what is then not positive is trimmed.
AS_PRINTED = dplr.FunctionalMechanism(calibration="paper", approximation="taylor", floor_deviations=0.0)
WITHOUT_NOISE = dplr.FunctionalMechanism(approximation="taylor")
# NoPrivacy has no ridge; the solver of the logistic loss asks for one, and this one is not visible.
NO_RIDGE = 1e-9


def bounds(d: int, model: str) -> dplr.Bounds:
    """What footnote 1 makes public: every column lies in [0, 1/sqrt d], and a number in [-1, 1]."""
    columns = [(0.0, 1 / math.sqrt(d))] * d
    return dplr.Bounds(columns, target=(-1.0, 1.0)) if model == "linear" else dplr.Bounds(columns)


def _parts(est: Any) -> Model:
    return np.ravel(est.coef_), float(np.ravel(est.intercept_)[0])


def _private(mechanism: Any, fit_intercept: bool = False) -> Fit:
    def fit(X: NDArray[np.float64], y: Any, model: str, eps: Sequence[float], seed: int) -> list[Model]:
        spec = replace(as_mechanism(mechanism), ranges="off")
        many = dplr.fit_many(
            X, y, eps=eps, model=model, mechanism=spec, bounds=bounds(X.shape[1], model),
            fit_intercept=fit_intercept, rng=seed,
        )  # fmt: skip
        return [_parts(est) for est in many]

    return fit


def _without_noise(truncated: bool) -> Fit:
    """One model for all eps: least squares, or the minimiser of the logistic loss or of its expansion."""

    def fit(X: NDArray[np.float64], y: Any, model: str, eps: Sequence[float], seed: int) -> list[Model]:
        exact = model == "logistic" and not truncated
        est = dplr.fit(
            X, y, eps=math.inf, model=model, mechanism="none" if exact else WITHOUT_NOISE,
            bounds=bounds(X.shape[1], model), fit_intercept=False, l2=NO_RIDGE if exact else 0.0,
        )  # fmt: skip
        return [_parts(est)] * len(eps)

    return fit


def _table(name: str) -> Fit:
    """A model of the cells of a noisy table. Columns of two values are levels to it, as its paper wants.

    Levels are 0 and 1, so its rows are sqrt d times those of the others, and its coefficients are scaled back.
    """

    def fit(X: NDArray[np.float64], y: Any, model: str, eps: Sequence[float], seed: int) -> list[Model]:
        from dplr import baselines

        pairs = [FEATURES[attribute] for attribute in SUBSETS[X.shape[1] + 1]]
        levels = {"levels": [0, 1], "binary": True}
        columns = [levels if pair == (0, 1) else (0.0, 1.0) for pair in pairs]
        declared = dplr.Bounds(columns, target=(-1.0, 1.0)) if model == "linear" else dplr.Bounds(columns)
        scale = math.sqrt(X.shape[1])
        rows = X * scale
        binary = [j for j, pair in enumerate(pairs) if pair == (0, 1)]
        rows[:, binary] = np.rint(rows[:, binary])
        found = []
        for place, level in enumerate(eps):
            kind = getattr(baselines, name)
            est = kind(eps=level, model=model, bounds=declared, fit_intercept=False, rng=seed + place).fit(rows, y)
            coef, intercept = _parts(est)
            found.append((coef * scale, intercept))
        return found

    return fit


METHODS: dict[str, Fit] = {
    NO_PRIVACY: _without_noise(truncated=False),
    TRUNCATED: _without_noise(truncated=True),
    TIGHT: _private("fm"),
    PRINTED: _private(AS_PRINTED),
    DPME: _table("DPME"),
    PRIORITY: _table("FilterPriority"),
    DEFAULT: _private("auto"),
    INTERCEPT: _private("fm", fit_intercept=True),
}


def applies(name: str, model: str) -> bool:
    """Nothing is truncated in a squared loss."""
    return name != TRUNCATED or model == "logistic"
