"""The reliability diagrams of docs/use/probabilities.md: official test splits, eps = 1, fits with all defaults.

DPLR_DATA=<folder> python -m bench.figures.reliability run bench/results/reliability.csv
python -m bench.figures.reliability plot bench/results/reliability.csv docs/images/reliability.png
"""

import csv
import os
import sys
import warnings

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import expit

import dplr
from bench.figures.colors import INK, NOISY, SECOND
from bench.studies.probabilities import questions

TABLES = ("Adult", "Adult, few", "ACS 20k", "RAND")
DELTAS = {0.0: "delta = 0: objective perturbation", 1e-6: "delta = 1e-6: noisy gradient descent"}
FITS, BINS = 10, 12
BEFORE, AFTER = "logistic function of the margin", "predict_proba"


def run(path):
    """Mean probability and share of yes in bins of equally many test rows, of all fits together."""
    warnings.simplefilter("ignore")
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["table", "delta", "map", "bin", "probability", "share_of_yes"])
        for table in questions(os.environ["DPLR_DATA"], official=True):
            if table.name not in TABLES:
                continue
            facts = {"bounds": table.bounds, "model": "logistic", "repeats": FITS}
            facts |= {"classes": [False, True]} if table.bounds.target is None else {}
            for delta in DELTAS:
                done = dplr.fit_many(table.X, table.y, eps=[1.0], delta=delta, **facts)
                margins, y = [est.decision_function(table.held_X) for est in done], np.tile(table.held_y, FITS)
                after = [est._record.link.log_odds(z) for est, z in zip(done, margins, strict=True)]
                for name, log_odds in ((BEFORE, margins), (AFTER, after)):
                    chances = expit(np.concatenate(log_odds))
                    for k, rows in enumerate(np.array_split(np.argsort(chances, kind="stable"), BINS)):
                        means = f"{chances[rows].mean():.5f}", f"{y[rows].mean():.5f}"
                        writer.writerow([table.name, delta, name, k, *means])


def plot(path, image):
    """A diagram for each table and delta."""
    parts = pd.read_csv(path).set_index(["table", "delta", "map"]).sort_index()
    figure = Figure(figsize=(10, 5.4), layout="constrained")
    axes = figure.subplots(2, len(TABLES), sharex=True, sharey=True)
    for row, (delta, caption) in zip(axes, DELTAS.items(), strict=True):
        for ax, table in zip(row, TABLES, strict=True):
            ax.plot([0, 1], [0, 1], color=INK, linewidth=0.8)
            for name, color, mark in ((BEFORE, SECOND, "o"), (AFTER, NOISY, "s")):
                part = parts.loc[(table, delta, name)].sort_values("bin")
                ax.plot(part["probability"], part["share_of_yes"], mark, color=color, markersize=4, label=name,
                        linestyle="-", linewidth=1)  # fmt: skip
            ax.set_title(table, fontsize=10)
            ax.set_aspect("equal")
        row[0].set_ylabel(f"{caption}\nshare of yes", fontsize=8)
    for ax in axes[-1]:
        ax.set_xlabel("probability")
    axes[-1][-1].legend(fontsize=7, loc="upper left", frameon=False)
    figure.savefig(image, dpi=110)


if __name__ == "__main__":
    {"run": run, "plot": plot}[sys.argv[1]](*sys.argv[2:])
