"""The two populations of FM12 section 7, as this project has them: attributes, normalisation, folds.

The paper's extracts from IPUMS may not be passed on. "US-like" is a random sample of 370,000 adults of the American
Community Survey 2024 in random order, "Brazil-like" its first 190,000 rows: the paper's two sizes, one population.
"""

from __future__ import annotations

import functools
import os
import pathlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.data.tables import FEATURES

TABLE = "acs2024_fm_370k.parquet"
ROWS = {"US-like": 370_000, "Brazil-like": 190_000}
MODELS = ("linear", "logistic")
# Attributes of FM12 section 7 by dimensionality, which counts the target; bedrooms stand in for automobiles.
SUBSETS = {
    5: ("Age", "Male", "Education", "FamilySize"),
    8: ("Age", "Male", "Education", "FamilySize", "Native", "OwnsDwelling", "NumBedrooms"),
    11: (
        "Age", "Male", "Education", "FamilySize", "Native", "OwnsDwelling", "NumBedrooms",
        "IsSingle", "IsMarried", "NumChildren",
    ),
    14: tuple(FEATURES),
}  # fmt: skip
# What is not varied; the rate is our choice, since we do not know the paper's.
DIMENSIONS, RATE, EPS = 14, 1.0, 0.8
LEVELS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
RATES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
# Income is cut at a public bound for the linear model, and at a threshold for the logistic one.
MOST, THRESHOLD = 200_000, 50_000
FOLDS = 5


@dataclass(frozen=True)
class Split:
    """Rows to fit and rows kept aside."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    X_test: NDArray[np.float64]
    y_test: NDArray[Any]

    def error(self, coef: NDArray[np.float64], intercept: float) -> float:
        """Mean squared error of a number, or share of wrong labels, on the rows kept aside."""
        margins = self.X_test @ coef + intercept
        if self.y_test.dtype == np.bool_:
            return float(np.mean((margins > 0) != self.y_test))
        return float(np.mean((margins - self.y_test) ** 2))


@functools.lru_cache(maxsize=1)
def _table() -> pd.DataFrame:
    return pd.read_parquet(pathlib.Path(os.environ["DPLR_DATA"]) / TABLE, columns=[*FEATURES, "AnnualIncome"])


@functools.lru_cache(maxsize=1)
def people(country: str, dimensions: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows x' = (x - a) / ((b - a) sqrt d) of footnote 1, with codebook bounds [a, b], and incomes in dollars."""
    table, names = _table().iloc[: ROWS[country]], SUBSETS[dimensions]
    low, high = np.array([FEATURES[name] for name in names], float).T
    raw = np.clip(table[list(names)].to_numpy(float), low, high)
    X = np.ascontiguousarray((raw - low) / ((high - low) * np.sqrt(len(names))))
    return X, table["AnnualIncome"].to_numpy(float)


def target(income: NDArray[np.float64], model: str) -> NDArray[Any]:
    """Incomes as numbers in [-1, 1], or whether they are above the threshold."""
    return income > THRESHOLD if model == "logistic" else 2 * np.clip(income, 0, MOST) / MOST - 1


def splits(
    country: str, dimensions: int, rate: float, repeat: int, folds: range = range(FOLDS)
) -> Iterator[tuple[int, dict[str, Split]]]:
    """Some of five folds of a random sample of the rows, for each model: the same for every method and eps."""
    X, income = people(country, dimensions)
    order = np.random.default_rng([ROWS[country], repeat]).permutation(len(X))[: round(rate * len(X))]
    X, income, size = X[order], income[order], len(order) // FOLDS
    for fold in folds:
        start, end = fold * size, (fold + 1) * size
        rows, kept = np.concatenate([X[:start], X[end:]]), np.concatenate([income[:start], income[end:]])
        yield (
            fold,
            {
                model: Split(rows, target(kept, model), X[start:end], target(income[start:end], model))
                for model in MODELS
            },
        )
