"""Every data set of the accuracy tables, with public bounds: real ones from a folder, RAND, and synthetic designs.

A table is split in two: rows to fit and rows to score. Official test splits are read by `official` alone; studies that
choose constants use `training`, whose rows are all from training parts.
"""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import dplr
from bench.data import connections, rand
from bench.data.adult import LEVELS, LOGARITHMIC, NUMBERS

# The census's columns with their bounds.
FEATURES = {
    "Age": (18, 99), "Male": (0, 1), "IsSingle": (0, 1), "IsMarried": (0, 1), "Education": (1, 24),
    "Disability": (0, 1), "Native": (0, 1), "WorkHours": (0, 99), "YearsResiding": (0, 40), "OwnsDwelling": (0, 1),
    "FamilySize": (1, 20), "NumChildren": (0, 19), "NumBedrooms": (0, 10),
}  # fmt: skip
SIZES = (2_000, 20_000, 200_000)
INCOME = (0, 200_000)
TRAIN = 296_000  # of the census rows; the rest is the official test split
HEART_IMPUTED = {"trestbps": 130, "chol": 240, "fbs": 0, "restecg": 0, "thalach": 140, "exang": 0, "oldpeak": 0}
SYNTHETIC = {"few numbers": 3, "many numbers": 30, "blocks": 40}


@dataclass(frozen=True)
class Table:
    """Rows to fit and rows to score of one question."""

    name: str
    model: str
    bounds: dplr.Bounds
    X: Any
    y: Any
    held_X: Any
    held_y: Any


def tables(folder: str | pathlib.Path, official: bool) -> Iterator[Table]:
    """All of them; scored on official test splits, or on rows of the training parts that are kept aside."""
    folder = pathlib.Path(folder)
    yield _split("Adult", "logistic", *_adult(folder), official, "income_gt_50k")
    yield from _census(folder, official)
    yield _split("KDD Cup 99", "logistic", *_kdd(folder), official, "is_attack")
    yield _split("heart", "logistic", *_heart(folder), official, "disease")
    yield _split("RAND", "logistic", *_rand(), official, "visits")
    for name in SYNTHETIC:
        yield _synthetic(name)


@functools.cache
def table_of(name: str, folder: str) -> Table:
    """The table of that name, scored on its official test split."""
    return next(table for table in tables(folder, official=True) if table.name == name)


def _adult(folder: pathlib.Path) -> tuple[pd.DataFrame, pd.DataFrame, dplr.Bounds]:
    frame = pd.read_parquet(folder / "adult.parquet").dropna()
    known: dict[str, Any] = {}
    for name, (lower, upper) in NUMBERS.items():
        known[name] = {"lower": lower, "upper": upper, "transform": "log1p" if name in LOGARITHMIC else "clip"}
    known |= {name: {"levels": levels.split()} for name, levels in LEVELS.items()}
    return frame[frame["split"] == "train"], frame[frame["split"] == "test"], dplr.Bounds(known)


def _census(folder: pathlib.Path, official: bool) -> Iterator[Table]:
    """Income above 50,000, and income; the rows to score are those that no fit has."""
    frame = pd.read_parquet(folder / "acs2024_fm_370k.parquet")
    X, income = np.ascontiguousarray(frame[list(FEATURES)].to_numpy(float)), frame["AnnualIncome"].to_numpy(float)
    most = max(SIZES)
    held = slice(TRAIN, None) if official else slice(most, TRAIN)
    for n in SIZES:
        yield Table(
            f"ACS {n // 1000}k", "logistic", dplr.Bounds(list(FEATURES.values())), X[:n], income[:n] > 50_000, X[held],
            income[held] > 50_000,
        )  # fmt: skip
    clipped = np.clip(income, *INCOME)
    for n in SIZES:
        bounds = dplr.Bounds(list(FEATURES.values()), target=INCOME)
        yield Table(f"ACS income {n // 1000}k", "linear", bounds, X[:n], clipped[:n], X[held], clipped[held])


def _kdd(folder: pathlib.Path) -> tuple[pd.DataFrame, pd.DataFrame, dplr.Bounds]:
    """Attack or not."""
    frame = pd.read_parquet(folder / "kddcup99_70k.parquet")
    return frame[:56_000], frame[56_000:], dplr.Bounds(connections.bounds())


def _heart(folder: pathlib.Path) -> tuple[pd.DataFrame, pd.DataFrame, dplr.Bounds]:
    """Disease or not, in four hospitals; what is missing is imputed by public constants."""
    frame = pd.read_parquet(folder / "heart_disease.parquet").fillna(HEART_IMPUTED)
    known = {
        "age": (20, 100), "sex": (0, 1), "cp": {"levels": [1, 2, 3, 4]}, "trestbps": (60, 250), "chol": (80, 700),
        "fbs": (0, 1), "restecg": {"levels": [0, 1, 2]}, "thalach": (40, 220), "exang": (0, 1), "oldpeak": (-5, 10),
    }  # fmt: skip
    frame = frame.iloc[np.random.default_rng(0).permutation(len(frame))]
    return frame[:736], frame[736:], dplr.Bounds(known)


def _rand() -> tuple[pd.DataFrame, pd.DataFrame, dplr.Bounds]:
    """Who saw a doctor in the year?"""
    X, y, X_test, y_test = rand.load()
    return X.assign(visits=y), X_test.assign(visits=y_test), dplr.Bounds(rand.BOUNDS)


def _split(
    name: str, model: str, train: pd.DataFrame, test: pd.DataFrame, bounds: dplr.Bounds, official: bool, target: str
) -> Table:
    """Score on the test split, or on a fifth of the training part."""
    if not official:
        order = np.random.default_rng(1).permutation(len(train))
        train, test = train.iloc[order[len(train) // 5 :]], train.iloc[order[: len(train) // 5]]
    columns = list(bounds.names or ())
    y, held = (part[target].to_numpy() > 0 for part in (train, test))
    return Table(name, model, bounds, train[columns], y, test[columns], held)


def _synthetic(name: str) -> Table:
    """20,000 rows to fit, 20,000 to score: 3 or 30 skewed numbers with a numeric target, or blocks with labels."""
    rng, n, d = np.random.default_rng(7), 40_000, SYNTHETIC[name]
    if name == "blocks":
        codes = rng.choice(4, (n, d // 4), p=(0.55, 0.25, 0.15, 0.05))
        X: Any = pd.DataFrame({f"b{j}": codes[:, j] for j in range(d // 4)})
        score = rng.normal(size=(d // 4, 4))[np.arange(d // 4), codes].sum(axis=1)
        y = score + rng.logistic(size=n) > np.median(score)
        bounds = dplr.Bounds({column: {"levels": [0, 1, 2, 3]} for column in X})
        return Table(name, "logistic", bounds, X[: n // 2], y[: n // 2], X[n // 2 :], y[n // 2 :])
    X = rng.beta(rng.uniform(0.5, 3, d), rng.uniform(1, 8, d), (n, d)) * 2 - 1
    score = X @ rng.normal(size=d)
    y = np.clip((score - score.mean()) / (3 * score.std()) + rng.normal(0, 0.15, n), -1, 1)
    bounds = dplr.Bounds([(-1, 1)] * d, target=(-1, 1))
    return Table(name, "linear", bounds, X[: n // 2], y[: n // 2], X[n // 2 :], y[n // 2 :])
