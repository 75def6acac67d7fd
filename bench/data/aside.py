"""Tables that chose no default but two, with blocks of many levels or numbers in wide bounds.

Income with State, Race and class of worker as levels: from the census file, training rows alone. Rents of bicycles by
the hour and prices of diamonds: Bikeshare.csv of the package ISLP 0.6.0 and diamonds.csv of plotnine 0.15.9, in the
folder that DPLR_TABLES names; left out where there is none.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

import dplr
from bench.data.tables import FEATURES, INCOME, TRAIN, Table

STATES = [code for code in range(1, 57) if code not in (3, 6, 7, 14, 43, 48, 52)]  # FIPS, without California and Texas
LEVELS = {"State": STATES, "Race": list(range(1, 10)), "ClassOfWorker": list(range(10))}
SIZES = (2_000, 20_000)
DIAMONDS = {"carat": (0, 10), "depth": (0, 100), "table": (0, 100), "x": (0, 60), "y": (0, 60), "z": (0, 60)}
GRADES = {
    "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"], "color": list("DEFGHIJ"),
    "clarity": ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"],
}  # fmt: skip
PRICE = 2_500
MONTHS = ["Jan", "Feb", "March", "April", "May", "June", "July", "Aug", "Sept", "Oct", "Nov", "Dec"]
WEATHER = ["clear", "cloudy/misty", "light rain/snow", "heavy rain/snow"]
BIKES = {
    "mnth": {"levels": MONTHS}, "hr": {"levels": list(range(24))}, "weekday": {"levels": list(range(7))},
    "weathersit": {"levels": WEATHER}, "holiday": (0, 1), "workingday": (0, 1), "temp": (-20, 50), "atemp": (-30, 60),
    "hum": (0, 100), "windspeed": (0, 100),
}  # fmt: skip
# The file has shares of these stretches: degrees, per cent and km/h.
UNITS = {"temp": (-8, 39), "atemp": (-16, 50), "hum": (0, 100), "windspeed": (0, 67)}
RENTED = (0, 1_000)


def tables(folder: str | pathlib.Path) -> Iterator[Table]:
    """All of them, each with rows to fit and rows to score."""
    yield from _census(pathlib.Path(folder))
    if other := os.environ.get("DPLR_TABLES"):
        frame = pd.read_csv(pathlib.Path(other) / "diamonds.csv")
        known = DIAMONDS | {name: {"levels": levels} for name, levels in GRADES.items()}
        yield _halves("diamonds", "logistic", dplr.Bounds(known), frame, frame["price"].to_numpy() > PRICE)
        frame = pd.read_csv(pathlib.Path(other) / "Bikeshare.csv")
        for name, (least, most) in UNITS.items():
            frame[name] = least + frame[name] * (most - least)
        bounds = dplr.Bounds(BIKES, target=RENTED)
        yield _halves("bikes", "linear", bounds, frame, frame["bikers"].to_numpy(float))


def resplit(table: Table, split: int) -> Table:
    """The same table with rows to fit and rows to score drawn anew from both."""
    X = pd.concat([pd.DataFrame(table.X), pd.DataFrame(table.held_X)], ignore_index=True)
    y, n = np.concatenate([table.y, table.held_y]), len(table.X)
    order = np.random.default_rng(100 + split).permutation(len(y))[: n + 20_000]
    parts = X.iloc[order] if isinstance(table.X, pd.DataFrame) else X.to_numpy()[order]
    return replace(table, X=parts[:n], y=y[order[:n]], held_X=parts[n:], held_y=y[order[n:]])


def _census(folder: pathlib.Path) -> Iterator[Table]:
    """Income, and whether it is above 50,000, with levels beside the usual columns."""
    frame = pd.read_parquet(folder / "acs2024_fm_370k.parquet")[:TRAIN]
    known = FEATURES | {name: {"levels": levels} for name, levels in LEVELS.items()}
    X, income = frame[list(known)], frame["AnnualIncome"].to_numpy(float).clip(*INCOME)
    for n in SIZES:
        held = slice(n, n + 20_000)
        rows = X[:n], X[held]
        above, bounds = income > 50_000, dplr.Bounds(known)
        yield Table(f"ACS levels {n // 1000}k", "logistic", bounds, rows[0], above[:n], rows[1], above[held])
        bounds = dplr.Bounds(known, target=INCOME)
        yield Table(f"ACS income levels {n // 1000}k", "linear", bounds, rows[0], income[:n], rows[1], income[held])


def _halves(name: str, model: str, bounds: dplr.Bounds, frame: pd.DataFrame, y: np.ndarray) -> Table:
    """Four fifths to fit."""
    order = np.random.default_rng(1).permutation(len(frame))
    fit, score = order[len(frame) // 5 :], order[: len(frame) // 5]
    X = frame[list(bounds.names or ())]
    return Table(name, model, bounds, X.iloc[fit], y[fit], X.iloc[score], y[score])
