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
    "rate": {"lower": 0.5, "upper": 50, "transform": "log", "missing": "indicator"},
    "wage": {"lower": 2, "upper": 400, "transform": "log"},
    "area": {"lower": 0, "upper": 100, "transform": "sqrt", "missing": 9},
    "rooms": {"lower": 1, "upper": 30, "transform": "sqrt", "missing": "indicator"},
    "bed": {"levels": ["m", "s", "w"], "reference": "s", "missing": "s"},
    "city": {"levels": ["k", "l", "n"], "reference": "l", "missing": "indicator"},
    "grade": {"levels": [5, 3, 4], "reference": 5},
    "race": {"levels": ["w", "a", "b", "i"], "merge": {"rest": ["a", "i"]}, "missing": "indicator"},
    "born": {"levels": [4, 1, 3, 2], "merge": {"far": [4, 2], "1": [1]}, "reference": "far", "missing": 3},
    "pain": {
        "levels": ["no", "ill", "sick", "dead"],
        "merge": {"sick": ["ill", "sick"]},
        "ordinal": True,
        "missing": "sick",
        "least_share": 0.01,
    },
    "ever": {"levels": [9, 4, 5], "merge": {"yes": [4, 5]}, "binary": True},
    "week": {"lower": 0, "upper": 99, "bins": [20, 35.5, 45], "reference": 40, "missing": "indicator"},
    "heat": {"lower": -10, "upper": 40, "bins": [0, 20]},
    "tax": {"lower": 0, "upper": 9, "bins": [3], "missing": 3},
    "dose": {"lower": 0, "upper": 9, "bins": [2, 4], "reference": 3, "missing": 2.5},
    "dust": {"lower": 0, "upper": 9, "knots": 4, "missing": "indicator"},
    "salt": {"lower": -1, "upper": 9, "knots": [0, 0.5, 7], "line": False, "missing": 2},
    "rain": {"lower": 0, "upper": 99, "transform": "log1p", "knots": 5, "line": False, "missing": "indicator"},
    "wind": {"lower": 1, "upper": 9, "transform": "sqrt", "knots": [2.5]},
}
NUMBERS = {
    "age": (0, 140), "hours": (-20, 120), "gain": (-5_000, 20_000), "loss": (-9, 200), "debt": (-30, 30),
    "rate": (-20, 70), "wage": (-200, 600), "area": (-50, 150), "rooms": (-9, 40), "dust": (-5, 15), "salt": (-9, 20),
    "rain": (-50, 200), "wind": (-3, 12),
}  # fmt: skip
PRODUCTS = [
    ("age", "age"), ("rate", "rate"), ("age", "wage"), ("gain", "debt"), ("edu", "area"), ("hours", "plain"),
    ("work", "rooms"), ("week", "rate"), ("city", "heat"), ("work", "bed"), ("sex", "age"), ("rank", "rank"),
    ("work", "dust"), ("plain", "salt"), ("dust", "age"), ("wind", "city"), ("race", "born"), ("race", "pain"),
]  # fmt: skip
REFUSING = ("age", "loss", "plain", "sex", "flag", "wage", "grade", "ever", "heat", "wind")  # may not be missing


def table(n, seed=0, width=1.0):
    """Rows with values inside and outside the bounds, unknown levels, and gaps where the bounds have a policy.

    Numbers take this part of their usual width.
    """
    rng = np.random.default_rng(seed)
    columns = {}
    for name, column in COLUMNS.items():
        missing = isinstance(column, dict) and "missing" in column
        if "bins" in column:
            columns[name] = _around(rng, [column["lower"], *column["bins"], column["upper"]], missing, n)
            continue
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


def _around(rng, ends, missing, n):
    """Values at, beside, between and beyond the ends of bins."""
    values = [*ends, *np.nextafter(ends, -np.inf), *np.nextafter(ends, np.inf), -1e9, 1e9]
    drawn = np.where(rng.random(n) < 0.5, rng.choice(values, n), rng.uniform(ends[0], ends[-1], n))
    return np.where(missing & (rng.random(n) < 0.2), GAP, drawn)


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


def pairs(ranges="off"):
    """A regression of one column of every kind and all of their products, some the other way round.

    Its coefficients are drawn: fitted ones may be small.
    """
    kinds = ("age", "rate", "area", "edu", "sex", "work", "bed", "code", "week", "heat")
    products = [(kinds[i], kinds[j]) if (i + j) % 3 else (kinds[j], kinds[i]) for i in range(10) for j in range(i)]
    products += [(name, name) for name in ("age", "rate", "area", "edu")]
    bounds = dplr.Bounds({name: COLUMNS[name] for name in kinds}, target=(-1e6, 1e6), products=products)
    X = table(300, width=1.0 if ranges == "off" else 0.1)
    est = dplr.fit(
        X,
        target(X),
        bounds=bounds,
        model="linear",
        mechanism=dplr.ObjectivePerturbation(ranges=ranges),
        eps=float("inf"),
    )
    est.coef_ = np.random.default_rng(2).normal(size=len(est.coef_))
    return est


def model(name, ranges="off", fit_intercept=True):
    """A fitted model of all columns; with ranges, of numbers that lie close together."""
    options = dict(MODELS[name])
    bounds = dplr.Bounds(COLUMNS, target=options.pop("target"), products=PRODUCTS)
    X = table(2000, width=1.0 if ranges == "off" else 0.1)
    y = target(X)
    if name not in ("regression", "booleans"):
        labels = np.array(bounds.target)
        y = labels[np.digitize(y, [80, 120][: len(labels) - 1])]
    own = {"mechanism": dplr.ObjectivePerturbation(ranges=ranges), "eps": 30.0, "fit_intercept": fit_intercept}
    return dplr.fit(X, y, bounds=bounds, **options, **own)
