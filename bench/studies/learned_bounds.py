"""Learned bounds: how many records lie outside, and what a fit loses against bounds of a codebook and wide ones.

`columns` learns one column of made-up tables alone; `fits` learns all numbers of a table with a fifth of eps and fits
with the rest. `--training` scores on rows kept aside from training parts, for constants; without it on test splits.

    python -m bench.studies.learned_bounds columns bench/results/learned_columns.csv
    DPLR_DATA=<folder> python -m bench.studies.learned_bounds fits bench/results/learned_bounds.csv
"""

import csv
import dataclasses
import functools
import os
import sys
import warnings

import numpy as np
import pandas as pd

import dplr
from bench.data.tables import tables
from dplr.bounds.columns import Numeric

SIZES = (1_000, 10_000, 100_000, 1_000_000)
LEVELS = (0.01, 0.1, 1.0)
REPEATS = 20
FITS = 8
SHARE = 0.2
FIT_LEVELS = (0.1, 0.3, 1.0, 3.0)
NAMES = ("Adult", "ACS 20k", "ACS income 2k", "ACS income 20k", "ACS income 200k", "KDD Cup 99", "RAND", "few numbers",
         "many numbers")  # fmt: skip


def made(rng, n):
    """Twenty columns: their kind and their values."""
    normal, flag = rng.normal(size=n), rng.random(n)
    return {
        "normal": ("number", normal),
        "normal, tiny": ("number", 1e-4 * normal),
        "normal, huge": ("number", 1e9 * normal),
        "uniform": ("number", rng.random(n)),
        "lognormal, 0.5": ("number", np.exp(0.5 * normal)),
        "lognormal, 1": ("number", np.exp(3 + normal)),
        "lognormal, 2": ("number", np.exp(2 * normal)),
        "lognormal, negative": ("number", -np.exp(normal)),
        "Pareto, 3": ("number", 100 * rng.pareto(3, n)),
        "Pareto, 1": ("number", 100 * rng.pareto(1, n)),
        "Cauchy": ("number", rng.standard_cauchy(n)),
        "mixture": ("number", np.where(flag < 0.5, normal - 10, 50 * normal + 1000)),
        "mixture, 2 % far": ("number", np.where(flag < 0.02, 1000 + normal, normal)),
        "zeros, 8 % money": ("integer", np.where(flag < 0.08, np.round(np.exp(8.5 + normal)), 0)),
        "constant": ("number", np.full(n, 5.0)),
        "two values": ("integer", (flag < 0.4).astype(float)),
        "two values, rare": ("integer", (flag < 0.03).astype(float)),
        "years": ("integer", rng.integers(1950, 2021, n).astype(float)),
        "offset 1e6": ("number", 1e6 + 1e4 * normal),
        "seconds since 1970": ("integer", 1.7e9 + np.round(3e7 * rng.random(n))),
    }


def columns(path):
    """The share outside of each made column, and its width over the range without a hundredth on each side."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["column", "n", "eps", "n_eps", "said", "below", "above", "most_outside", "width", "widest"])
        for n in SIZES:
            for name, (kind, values) in made(np.random.default_rng(n), n).items():
                for eps in LEVELS:
                    writer.writerow([name, n, eps, f"{n * eps:g}", *_column(kind, values, eps)])
                    file.flush()


def _column(kind, values, eps):
    frame = pd.DataFrame({"x": values})
    inner = np.subtract(*np.quantile(values, [0.99, 0.01])) or 1.0
    try:
        learned = [
            dplr.learn_bounds(frame, columns={"x": kind}, eps=eps).columns[0]
            for _ in range(REPEATS if len(frame) < 1e6 else REPEATS // 2)
        ]
    except ValueError:
        return ["refused", *[""] * 5]
    spoken = [column for column in learned if not column.reason]
    said = f"{len(spoken) / len(learned):.2f}"
    if not spoken:
        return [said, *[""] * 5]
    low, high = np.array([[column.lower, column.upper] for column in spoken]).T
    ordered = np.sort(values)
    below = np.searchsorted(ordered, low, "left") / len(values)
    above = 1 - np.searchsorted(ordered, high, "right") / len(values)
    width = (high - low) / inner
    shares = [f"{share:.4f}" for share in (below.mean(), above.mean(), (below + above).max())]
    return [said, *shares, f"{np.median(width):.3g}", f"{width.max():.3g}"]


def _named(table):
    """The table with names for its columns, and bounds by name."""
    if table.bounds.names is not None:
        return table
    names = [f"c{place}" for place in range(table.X.shape[1])]
    values = table.bounds.to_dict()
    bounds = dplr.Bounds.from_dict(values | {"features": dict(zip(names, values["features"], strict=True))})
    X, held = (pd.DataFrame(part, columns=names) for part in (table.X, table.held_X))
    return dataclasses.replace(table, X=X, held_X=held, bounds=bounds)


def _numbers(table):
    """The columns that are learned: numbers that measure something."""
    pairs = zip(table.bounds.names, table.bounds.columns, strict=True)
    return [name for name, column in pairs if isinstance(column, Numeric) and column.quantity]


def _kind(values):
    """A kind that everybody knows from the name of the column."""
    return "integer" if (values % 1 == 0).all() else "number"


def _learned(table, eps, delta):
    """Bounds in which numbers were learned, and how many columns were silent."""
    names, values = _numbers(table), table.bounds.to_dict()
    frame = table.X[names].assign(target=np.asarray(table.y, float)) if table.model == "linear" else table.X[names]
    kinds = {name: _kind(frame[name].to_numpy(float)) for name in frame}
    target = "target" if table.model == "linear" else None
    learned = dplr.learn_bounds(frame, columns=kinds, target=target, eps=eps, delta=delta)
    features, silent = dict(values["features"]), 0
    for column in learned.columns:
        if column.reason:
            silent += 1
            features.pop(column.name, None)
        elif column.name != "target":
            lower = max(column.lower, 0.0) if features[column.name].get("transform", "clip") != "clip" else column.lower
            if column.upper <= lower:  # a logarithm of zeros alone
                silent += 1
                features.pop(column.name)
                continue
            features[column.name] = features[column.name] | {"lower": lower, "upper": column.upper}
    values["features"] = features
    if target and not learned.columns[-1].reason:
        values["target"] = learned.columns[-1].declaration
    return dplr.Bounds.from_dict(values), silent


def _wide(table, factor):
    """Bounds of the codebook, too wide by a factor on both sides."""
    values = table.bounds.to_dict()
    features = dict(values["features"])
    for name in _numbers(table):
        lower, upper = features[name]["lower"], features[name]["upper"]
        middle, half = (lower + upper) / 2, factor * (upper - lower) / 2
        if features[name].get("transform", "clip") != "clip":
            features[name] = features[name] | {"upper": lower + factor * (upper - lower)}
        else:
            features[name] = features[name] | {"lower": middle - half, "upper": middle + half}
    values["features"] = features
    if table.model == "linear":
        lower, upper = table.bounds.target
        middle, half = (lower + upper) / 2, factor * (upper - lower) / 2
        values["target"] = {"lower": middle - half, "upper": middle + half}
    return dplr.Bounds.from_dict(values)


def _score(table, bounds, eps, delta):
    columns = list(bounds.names)
    est = dplr.fit(table.X[columns], table.y, model=table.model, bounds=bounds, eps=eps, delta=delta)
    return est.score(table.held_X[columns], table.held_y)


def _of_bounds(table, bounds, eps, delta):
    return _score(table, bounds, eps, delta), 0


def _of_learned(table, eps, delta):
    bounds, silent = _learned(table, SHARE * eps, delta / 2)
    return _score(table, bounds, (1 - SHARE) * eps, delta / 2), silent


def _ways(table, eps, delta):
    """A score of each way to have bounds, and the number of silent columns."""
    yield "codebook", functools.partial(_of_bounds, table, table.bounds, eps, delta)

    yield "learned", functools.partial(_of_learned, table, eps, delta)
    for factor in (10, 100):
        yield f"{factor} times too wide", functools.partial(_of_bounds, table, _wide(table, factor), eps, delta)


def fits(path, official):
    """Scores of fits: R^2 for numbers, the share of right labels else."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["table", "n", "learned_columns", "eps", "delta", "bounds", "score", "standard_error", "silent"]
        )
        for table in map(_named, tables(os.environ["DPLR_DATA"], official)):
            if table.name not in NAMES:
                continue
            count = len(_numbers(table)) + (table.model == "linear")
            for delta in (0.0, 1e-6):
                for eps in FIT_LEVELS:
                    for way, score in _ways(table, eps, delta):
                        cells = [table.name, len(table.y), count, eps, delta, way]
                        try:
                            pairs = np.array([score() for _ in range(FITS)])
                        except ValueError as error:
                            writer.writerow([*cells, "refused", "", ""])
                            print(*cells, error, flush=True)
                            continue
                        error = pairs[:, 0].std(ddof=1) / FITS**0.5
                        row = [*cells, f"{pairs[:, 0].mean():.4f}", f"{error:.4f}", f"{pairs[:, 1].mean():.2f}"]
                        writer.writerow(row)
                        print(*row, flush=True)
                        file.flush()


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # clipped shares of public data
    part, path = sys.argv[1:3]
    columns(path) if part == "columns" else fits(path, "--training" not in sys.argv)
