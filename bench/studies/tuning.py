"""Does private tuning pay? Ridges as in CMS11 (Adult and KDD Cup 99), and features, all costs counted.

    DPLR_DATA=<folder> python -m bench.studies.tuning run bench/results/tuning.csv
    DPLR_DATA=<folder> python -m bench.studies.tuning plot bench/results/tuning.csv docs/images/tuning.png

"default" is one fit with no search; a partition searches by `dplr.PrivateSearch` for the same total eps. Ridges: five
values of l2, logistic regression and the Huber SVM, by output and objective perturbation; smaller ones at eps = 1.
Features: each number as it is declared (what "default" fits), its log1p, or ten bins of equal width. Errors are those
of the official test split.
"""

import csv
import math
import os
import pathlib
import sys
import warnings

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import dplr
from bench.data.tables import FEATURES, Table, tables

LEVELS = (0.05, 0.2, 1.0)
RIDGES = {"l2": [0.006, 0.02, 0.06, 0.2, 0.6]}  # smaller ones are refused at the smallest eps
SMALL_RIDGES = {"l2": [1e-4, 3e-4, 1e-3, 3e-3, 1e-2]}  # for eps = 1 alone
SEARCHES = {
    "partition": {"method": "partition"},
}
FITS, SEARCHED = 20, 6
BINS = 10
COLUMNS = ("question", "table", "model", "mechanism", "eps", "how", "fits", "mean", "standard_error")


def forms(table: Table) -> dict[str, dplr.Bounds]:
    """The bounds of a table with each number as it is, on the scale of log1p, and in bins."""
    found: dict[str, dict] = {"plain": {}, "log1p": {}, "bins": {}}
    for name, column in zip(table.bounds.names, table.bounds.columns, strict=True):
        if hasattr(column, "levels"):
            for each in found.values():
                each[name] = {"levels": list(column.levels)}
            continue
        low, high = column.lower, column.upper
        found["plain"][name] = (low, high)
        found["log1p"][name] = {"lower": low, "upper": high, "transform": "log1p"} if low >= 0 else (low, high)
        edges = np.linspace(low, high, BINS + 1)[1:-1].tolist()
        wide = high - low > 2
        found["bins"][name] = {"lower": low, "upper": high, "bins": edges} if wide else (low, high)
    return {name: dplr.Bounds(each) for name, each in found.items()}


def questions(folder):
    """Adult and KDD Cup 99, and a census table whose columns have names."""
    kept = {table.name: table for table in tables(folder, official=True) if table.name in ("Adult", "KDD Cup 99")}
    yield from kept.values()


def census(folder):
    """20,000 rows of the census table: is income above 50,000?"""
    frame = pd.read_parquet(pathlib.Path(folder) / "acs2024_fm_370k.parquet")
    names, rich = list(FEATURES), frame["AnnualIncome"].to_numpy(float) > 50_000
    train, held = slice(0, 20_000), slice(296_000, 326_000)
    bounds = dplr.Bounds(FEATURES)
    return Table("ACS 20k", "logistic", bounds, frame[names][train], rich[train], frame[names][held], rich[held])


def middle_ages():
    """20,000 made-up people: the answer is yes around the age of 50, of which no line in age can tell."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(18, 100, 40_000), "hours": rng.integers(0, 80, 40_000)})
    y = (np.abs(X["age"] - 50) + rng.normal(0, 10, 40_000) < 20).to_numpy()
    half, rest = slice(0, 20_000), slice(20_000, None)
    bounds = dplr.Bounds({"age": (18, 99), "hours": (0, 80)})
    return Table("middle ages", "logistic", bounds, X[half], y[half], X[rest], y[rest])


def estimator(model, **facts):
    return (dplr.HuberSVC if model == "svm" else dplr.LogisticRegression)(classes=(False, True), **facts)


def errors(table, est, candidates, how):
    """Test errors of fits, or of searches."""
    if how == "default":
        return [1 - est.fit(table.X, table.y).score(table.held_X, table.held_y) for _ in range(FITS)]
    search = dplr.PrivateSearch(est, candidates, **SEARCHES[how])
    return [1 - search.fit(table.X, table.y).score(table.held_X, table.held_y) for _ in range(SEARCHED)]


def cells(folder):
    """Every question, mechanism and level."""
    for table in questions(folder):
        for model in ("logistic", "svm"):
            for mechanism in ("objective", "output"):
                yield "ridge", table, model, mechanism, table.bounds, RIDGES, LEVELS
    for table in (*questions(folder), census(folder), middle_ages()):
        found = forms(table)
        yield "features", table, "logistic", "objective", found["plain"], {"bounds": list(found.values())}, LEVELS
    for table in questions(folder):
        yield "small ridge", table, "logistic", "objective", table.bounds, SMALL_RIDGES, LEVELS[-1:]


def run(path):
    warnings.simplefilter("ignore")
    folder = os.environ["DPLR_DATA"]
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for question, table, model, mechanism, bounds, candidates, levels in cells(folder):
            row = (question, table.name, model, mechanism)
            exact = estimator(model, eps=math.inf, mechanism="none", bounds=bounds).fit(table.X, table.y)
            writer.writerow((*row, math.inf, "not private", 1, f"{1 - exact.score(table.held_X, table.held_y):.5f}", 0))
            for eps in levels:
                for how in ("default", *SEARCHES):
                    est = estimator(model, eps=eps, mechanism=mechanism, bounds=bounds)
                    found = np.array(errors(table, est, candidates, how))
                    error = found.std(ddof=1) / math.sqrt(len(found))
                    writer.writerow((*row, eps, how, len(found), f"{found.mean():.5f}", f"{error:.5f}"))
                    file.flush()
            print(row, file=sys.stderr, flush=True)


def plot(source, target):
    """Errors against eps, one panel for each question."""
    frame = pd.read_csv(source).query("question != 'small ridge' and how in ['default', 'partition', 'not private']")
    panels = list(frame.groupby(["question", "table", "model", "mechanism"], sort=False))
    figure = Figure(figsize=(13, 2.6 * math.ceil(len(panels) / 4)), layout="constrained")
    for place, (name, part) in enumerate(panels, 1):
        axes = figure.add_subplot(math.ceil(len(panels) / 4), 4, place)
        for how, line in part[np.isfinite(part["eps"])].groupby("how", sort=False):
            style = {"color": "black"} if how == "default" else {}
            axes.errorbar(line["eps"], line["mean"], 2 * line["standard_error"], marker="o", ms=3, label=how, **style)
        axes.axhline(part["mean"][np.isinf(part["eps"])].iloc[0], color="grey", ls=":", label="not private")
        axes.set(xscale="log", xlabel="eps", ylabel="test error")
        axes.set_title(", ".join(name), fontsize=9)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.savefig(target, dpi=90)


if __name__ == "__main__":
    {"run": run, "plot": plot}[sys.argv[1]](*sys.argv[2:])
