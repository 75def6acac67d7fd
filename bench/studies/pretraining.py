"""What does public data buy? Test accuracy of private fits with and without it, on two pairs of populations.

heart: patients of one hospital (Cleveland, 303) are public, those of two others (Hungarian and VA, 494) private; 12
features with codebook bounds, missing values imputed by public constants. acs: adults of New York are public (all
28,240, or 300 of them), adults of Florida private; income above 50,000 from 13 features. Every repetition splits the
private rows anew and draws its own noise; fits with and without public data share the split and the seed, so their
difference, the gain, is paired. Intervals are 95 % over repetitions: they say nothing of other hospitals or states.

    OMP_NUM_THREADS=1 DPLR_DATA=<folder> python -m bench.studies.pretraining heart|acs OUT.csv [--mechanism NAME ...]
    python -m bench.studies.pretraining plot HEART.csv ACS.csv IMAGE   # needs matplotlib

Mechanisms with options are written as `fm*`, `objective*` and `output*`: see SPECS.
"""

import argparse
import collections
import csv
import math
import os
import pathlib
import warnings

import numpy as np
import pandas as pd

import dplr
from bench.data.tables import FEATURES

EPSILONS = (0.1, 0.5, 1.0)
# The starred ones have a ridge for a start that is already good: their user says how far from it the answer may lie.
SPECS = {
    "fm": "fm",
    "objective": "objective",
    "output": "output",
    "fm*": dplr.FunctionalMechanism(ridge_deviations=32),
    "objective*": dplr.ObjectivePerturbation(coef_norm=1.0),
    "output*": dplr.OutputPerturbation(coef_norm=1.0),
}
DELTAS = {"ngd": (1e-5,)}  # every other mechanism: 0 and 1e-5
HEART_BOUNDS = {
    "age": (20, 100), "sex": (0, 1), "trestbps": (60, 250), "fbs": (0, 1), "thalach": (40, 220), "exang": (0, 1),
    "oldpeak": (-5, 10), "cp2": (0, 1), "cp3": (0, 1), "cp4": (0, 1), "restecg1": (0, 1), "restecg2": (0, 1),
}  # fmt: skip
HEART_MISSING = {"trestbps": 130, "fbs": 0, "restecg": 0, "thalach": 140, "exang": 0, "oldpeak": 0}
FIELDS = [
    "data", "public", "n", "mechanism", "delta", "eps", "fits", "accuracy", "half_width",
    "gain", "gain_half_width",  # over the same fit without public data
    "lead", "lead_half_width",  # over the public model alone
]  # fmt: skip


# ---- data ----


def heart(folder):
    """Public and private rows: (X, y) each."""
    frame = pd.read_parquet(pathlib.Path(folder) / "heart_disease.parquet").fillna(HEART_MISSING)
    for name, codes in (("cp", (2, 3, 4)), ("restecg", (1, 2))):
        for code in codes:
            frame[f"{name}{code}"] = (frame[name] == code).astype(float)
    X, y = frame[list(HEART_BOUNDS)].to_numpy(float), frame["disease"].to_numpy(int)
    public, private = frame["hospital"] == "cleveland", frame["hospital"].isin(["hungarian", "va"])
    return (X[public], y[public]), (X[private], y[private])


def acs(folder):
    """Public (New York) and private (Florida) rows."""
    frame = pd.read_parquet(pathlib.Path(folder) / "acs2024_fm_370k.parquet")
    X, y = frame[list(FEATURES)].to_numpy(float), (frame["AnnualIncome"] > 50_000).to_numpy(int)
    return tuple((X[frame["State"] == code], y[frame["State"] == code]) for code in (36, 12))


# ---- fits ----


def accuracy(est, X, y):
    return np.mean((est.decision_function(X) > 0) == y)


def private_accuracies(train, test, bounds, mechanism, delta, starts, seed):
    """(start, eps) -> accuracy of one fit."""
    scores = {}
    for name, model in starts.items():
        fits = dplr.fit_many(
            *train, eps=EPSILONS, mechanism=SPECS.get(mechanism, mechanism), delta=delta, bounds=bounds,
            classes=(0, 1), public=model, rng=seed,
        )  # fmt: skip
        scores.update({(name, est.eps): accuracy(est, *test) for est in fits})
    return scores


def exact(rows, bounds):
    """The non-private minimiser."""
    return dplr.fit(*rows, mechanism="none", eps=math.inf, bounds=bounds, classes=(0, 1))


def repetition(rng, private, n, test_rows, bounds, starts, mechanisms, seed):
    """(start, mechanism, delta, eps) -> accuracy, on one split; the baselines are mechanisms without eps."""
    order = rng.permutation(len(private[1]))
    train, test = ([part[rows] for part in private] for rows in (order[:n], order[-test_rows:]))
    scores = {("none", "non-private fit", 0.0, math.inf): accuracy(exact(train, bounds), *test)}
    for name, model in starts.items():
        if model is not None:
            scores[name, "public model alone", 0.0, 0.0] = accuracy(model, *test)
    for mechanism in mechanisms:
        for delta in DELTAS.get(mechanism, (0.0, 1e-5)):
            found = private_accuracies(train, test, bounds, mechanism, delta, starts, seed)
            scores.update({(name, mechanism, delta, eps): value for (name, eps), value in found.items()})
    return scores


def study(label, private, bounds, publics, sizes, test_rows, repetitions, mechanisms):
    """One row for every setting: mean accuracy, mean paired gain over the fit without public data, and lead."""
    # What `public=(X, y)` computes in every fit is computed once here.
    starts = {"none": None, **{name: exact(rows, bounds) for name, rows in publics.items()}}
    for n in sizes:
        rng = np.random.default_rng(n)
        scores = collections.defaultdict(list)
        for seed in range(repetitions):
            found = repetition(rng, private, n, test_rows, bounds, starts, mechanisms, seed)
            for key, value in found.items():
                scores[key].append(value)
        for (start, mechanism, delta, eps), values in scores.items():
            row = dict(zip(FIELDS, (label, start, n, mechanism, delta, eps, repetitions), strict=False))
            row["accuracy"], row["half_width"] = interval(values)
            rivals = {"gain": ("none", mechanism, delta, eps), "lead": (start, "public model alone", 0.0, 0.0)}
            for name, rival in rivals.items():
                if start != "none" and rival in scores:
                    row[name], row[f"{name}_half_width"] = interval(np.subtract(values, scores[rival]))
            yield row
        print(label, n, flush=True)


def interval(values):
    """Mean, and half the width of its 95 % confidence interval."""
    half_width = 1.96 * np.std(values, ddof=1) / math.sqrt(len(values))
    return round(float(np.mean(values)), 4), round(float(half_width), 4)


def run(data, folder, mechanisms):
    if data == "heart":
        public, private = heart(folder)
        bounds = dplr.Bounds(list(HEART_BOUNDS.values()))
        return study("heart", private, bounds, {"Cleveland, 303": public}, [395], 99, 200, mechanisms)
    public, private = acs(folder)
    few = np.random.default_rng(0).permutation(len(public[1]))[:300]
    bounds = dplr.Bounds(list(FEATURES.values()))
    publics = {"New York, 300": tuple(part[few] for part in public), "New York, 28240": public}
    return study("acs", private, bounds, publics, [500, 1000, 2000, 5000, 10_000, 20_000], 9_960, 40, mechanisms)


# ---- plot ----


def plot(heart_csv, acs_csv, image):
    """Gain and lead against eps (heart) and against n (acs)."""
    from matplotlib import pyplot

    tables = [pd.read_csv(path) for path in (heart_csv, acs_csv)]
    figure, axes = pyplot.subplots(2, 3, figsize=(12, 6.5), sharey="row", sharex="col", layout="constrained")
    panels = [
        (tables[0], "eps", {}, "heart: 303 of Cleveland, n = 395 of Hungarian and VA"),
        (tables[1], "n", {"public": "New York, 300", "eps": 0.5}, "acs: 300 of New York, n of Florida, eps = 0.5"),
        (tables[1], "n", {"public": "New York, 28240", "eps": 0.5}, "acs: 28,240 of New York, n of Florida, eps = 0.5"),
    ]
    for column, (table, x, where, title) in enumerate(panels):
        for name, value in where.items():
            table = table[table[name] == value]
        for axis, score in zip(axes[:, column], ("gain", "lead"), strict=True):
            lines(axis, table[table["gain"].notna()], x, score)
            axis.axhline(0, color="black", lw=0.8)
            axis.set(xscale="log")
        axes[0, column].set_title(title, fontsize=9)
        axes[1, column].set_xlabel(x)
    axes[0, 0].set_ylabel("points over no public data")
    axes[1, 0].set_ylabel("points over the public model alone")
    axes[1, 0].set_xticks(EPSILONS, [f"{eps:g}" for eps in EPSILONS])
    axes[1, 2].legend(fontsize=8, ncols=2)
    figure.savefig(image, dpi=100)


def lines(axis, table, x, score):
    """One line for every mechanism, those of the user's own ridge dashed; at delta = 1e-5."""
    for color, name in enumerate(("fm", "objective", "output", "ngd")):
        for spec, style in ((name, "-"), (f"{name}*", "--")):
            line = table[(table["mechanism"] == spec) & (table["delta"] == 1e-5)].sort_values(x)
            if len(line):
                points = 100 * line[score], 100 * line[f"{score}_half_width"]
                axis.errorbar(line[x], *points, fmt=style, marker="o", ms=3, capsize=2, color=f"C{color}", label=spec)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("heart", "acs", "plot"))
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--mechanism", nargs="*", default=list(SPECS))
    arguments = parser.parse_args()
    if arguments.what == "plot":
        plot(*arguments.paths)
        return
    warnings.simplefilter("ignore", dplr.PrivacyWarning)  # seeds, so that the study can be repeated
    rows = list(run(arguments.what, os.environ["DPLR_DATA"], arguments.mechanism))
    with open(arguments.paths[0], "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
