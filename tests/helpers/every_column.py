"""Bounds with every kind of column, rows of all that such columns may hold, and models of them."""

import numpy as np
import pandas as pd

import dplr

GAP = float("nan")
COLUMNS = {
    "age": (18, 99),
    "hours": {"lower": 0, "upper": 80, "missing": 40},
    "gain": {"lower": 0, "upper": 9999, "transform": "log1p", "missing": "indicator"},
    "loss": {"lower": -0.5, "upper": 99, "transform": "log1p"},
    "debt": {"lower": -10, "upper": 10, "missing": "indicator"},
    "work": {"levels": ["b", "a", "it's"], "missing": "indicator"},
    "plain": {"levels": ["p", "q"]},
    "kind": {"levels": ["x", "y", "z"], "missing": "y"},
    "edu": {"levels": ["low", "mid", "high"], "ordinal": True, "missing": "indicator"},
    "sex": {"levels": ["F", "M"], "binary": True},
    "code": {"levels": [3, 1, 2], "missing": 2},
    "zone": {"levels": [7, 5], "missing": "indicator"},
    "rank": {"levels": [3, 1, 2], "ordinal": True, "missing": "indicator"},
    "step": {"levels": [30, 10, 20], "ordinal": True, "missing": 30},
    "flag": {"levels": [True, False], "binary": True},
}
NUMBERS = {"age": (0, 140), "hours": (-20, 120), "gain": (-5_000, 20_000), "loss": (-9, 200), "debt": (-30, 30)}


def table(n, seed=0, width=1.0):
    """Rows with values inside and outside the bounds, unknown levels, and gaps where the bounds have a policy.

    Numbers take this part of their usual width.
    """
    rng = np.random.default_rng(seed)
    columns = {}
    for name, column in COLUMNS.items():
        missing = isinstance(column, dict) and "missing" in column
        if name in NUMBERS:
            low, high = NUMBERS[name]
            drawn = (low + high) / 2 + width * (high - low) * rng.uniform(-0.5, 0.5, n)
            columns[name] = np.where(missing & (rng.random(n) < 0.2), GAP, drawn)
            continue
        text = isinstance(column["levels"][0], str)
        values = [*column["levels"], "no level" if text else 8, *([None, GAP] if missing and text else [GAP] * missing)]
        drawn = [values[k] for k in rng.integers(0, len(values), n)]
        columns[name] = pd.Series(drawn, dtype=object if text else float)
    return pd.DataFrame({**columns, "not declared": rng.random(n)})


def target(X):
    """Numbers from about -20 to 250."""
    return X["age"] + X["hours"].fillna(40) + 30 * (X["work"] == "a") - 20 * (X["code"] == 3)


MODELS = {
    "regression": {"model": "linear", "target": (60, 150)},
    "two labels": {"model": "logistic", "target": ("it's", "no")},
    "booleans": {"model": "logistic", "target": {"threshold": 90}},
    "three labels": {"model": "logistic", "target": (10, 20, 30)},
    "margins": {"model": "svm", "target": (0, 1)},
    "three margins": {"model": "svm", "target": ("a", "b", "c")},
}


def model(name, ranges="off", fit_intercept=True):
    """A fitted model of all columns; with ranges, of numbers that lie close together."""
    options = dict(MODELS[name])
    bounds, X = dplr.Bounds(COLUMNS, target=options.pop("target")), table(2000, width=1.0 if ranges == "off" else 0.1)
    y = target(X)
    if name not in ("regression", "booleans"):
        labels = np.array(bounds.target)
        y = labels[np.digitize(y, [80, 120][: len(labels) - 1])]
    own = {"mechanism": "objective", "eps": 30.0, "ranges": ranges, "fit_intercept": fit_intercept}
    return dplr.fit(X, y, bounds=bounds, **options, **own)
