"""Models made up for the tests of plots and of the report."""

import types

import numpy as np
import pandas as pd

import dplr

HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "عمر الشخص", "", "😀", "a" * 500, "$\\frac{1}{$",
    "]]>--!>{{ 7*7 }}", "\u202egnp.exe", "_child0", "&amp;", "x\ny\x00\ud800",
]  # fmt: skip
BOUNDS = {"age": (18, 99), "hours": (0, 80), "married": (0, 1)}


def fitted(mechanism, model="logistic", columns=tuple(BOUNDS), rows=300, spread=10, **options):
    """A model of made-up records."""
    rng = np.random.default_rng(7)
    X = pd.DataFrame({name: rng.uniform(*BOUNDS[name], rows) for name in columns})
    y = X[columns[0]] + X[columns[1]] + rng.normal(0, spread, rows)
    y = y if model == "linear" else np.where(y > 95, "yes", "no")
    bounds = dplr.Bounds(
        {name: BOUNDS[name] for name in columns}, target=(0, 200) if model == "linear" else ("no", "yes")
    )
    if options.pop("with_public", False):
        options["public"] = (X[:40], y[:40])
    return dplr.fit(X, y, mechanism=mechanism, model=model, bounds=bounds, **{"eps": 2.0, **options}), X, np.asarray(y)


def of_three_labels(columns=2):
    """What a model of three labels looks like."""
    coef = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, -1.0], [-1.0, -1.0, 0.5]])[:, :columns]
    labels = np.array(["red", "_green", "$blue$"])
    return types.SimpleNamespace(coef_=coef, intercept_=np.zeros(3), classes_=labels, predict_proba=None)
