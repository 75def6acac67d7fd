"""The README's picture: test error on Adult (official split, complete rows) against eps, defaults, 20 fits a point.

DPLR_DATA=<folder> python -m bench.figures.error run bench/results/error_against_eps.csv
python -m bench.figures.error plot bench/results/error_against_eps.csv docs/images/error_against_eps.png
"""

import csv
import math
import os
import sys

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import dplr
from bench.data.tables import tables

EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
DELTA = 1e-5
FITS = 20
MECHANISMS = ("ngd", "objective", "output")


def run(path):
    """Every fit's error, and those of the exact fit and of the larger class."""
    adult = next(tables(os.environ["DPLR_DATA"], official=True))
    X, y, X_test, y_test, bounds = adult.X, adult.y, adult.held_X, adult.held_y, adult.bounds
    exact = dplr.fit(X, y, mechanism="none", eps=math.inf, bounds=bounds)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["mechanism", "eps", "delta", "error"])
        writer.writerow(["non-private", math.inf, 0, f"{np.mean(exact.predict(X_test) != y_test):.5f}"])
        writer.writerow(["majority", 0, 0, f"{np.mean(y_test != (np.mean(y) > 0.5)):.5f}"])
        for mechanism in MECHANISMS:
            facts = {"mechanism": mechanism, "delta": DELTA, "bounds": bounds}
            for est in dplr.fit_many(X, y, eps=EPSILONS, repeats=FITS, **facts):
                writer.writerow([mechanism, est.eps, DELTA, f"{np.mean(est.predict(X_test) != y_test):.5f}"])


def plot(path, image):
    """One series for every mechanism. Adult's test rows are public: their errors may be shown."""
    table = pd.read_csv(path)
    errors = dict(iter(table.groupby("mechanism")))
    references = {name: float(errors[name]["error"].iloc[0]) for name in ("majority", "non-private")}
    ax = Figure(figsize=(7.2, 4), layout="constrained").subplots()
    for mechanism in MECHANISMS:
        fits = errors[mechanism].groupby("eps")["error"]
        means, low, high = fits.mean(), fits.quantile(0.1), fits.quantile(0.9)
        (line,) = ax.plot(means.index, means, marker="o", markersize=5, label=mechanism)
        ax.vlines(means.index, low, high, colors=line.get_color(), linewidth=3, alpha=0.4)
    for style, (name, error) in zip(("--", ":"), references.items(), strict=True):
        ax.axhline(error, color="#7f7f7f", linestyle=style, linewidth=1.3, label=name)
    ax.set_xscale("log")
    ax.set_xticks(EPSILONS, [f"{eps:g}" for eps in EPSILONS])
    ax.set_xticks([], minor=True)
    ax.set(xlabel="eps (privacy loss: smaller is more private)", ylabel="share of test rows misclassified")
    ax.set_title(f"Means of {FITS} fits; bars hold the middle 80 % of them", loc="left", fontsize="medium")
    ax.legend(frameon=False, fontsize="small")
    ax.figure.savefig(image, dpi=110)


if __name__ == "__main__":
    {"run": run, "plot": plot}[sys.argv[1]](*sys.argv[2:])
