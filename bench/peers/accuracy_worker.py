"""Scores of diffprivlib on tables that `compare_accuracy` wrote, at every setting; runs with diffprivlib's own Python.

    <python of the peer> bench/peers/accuracy_worker.py FOLDER

prints one line of JSON for each table, eps and setting: test error, or R^2, the mean of all fits.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
from diffprivlib.models import LinearRegression, LogisticRegression

FITS = 6
LEVELS = (0.1, 0.5, 1.0, 3.0)
RIDGES = tuple(10.0**power for power in range(-3, 3))  # C of scikit-learn; linear regression has no setting


def settings(model):
    """Every setting that its user could tune."""
    return RIDGES if model == "logistic" else (0.0,)


def fitted(table, eps, setting):
    """A model of rows in the unit ball, their numbers in a cube."""
    X, y, c = table["X"], table["y"], float(table["half_width"])
    if str(table["model"]) == "logistic":
        return LogisticRegression(epsilon=eps, data_norm=1.0, C=setting, max_iter=500).fit(X, y)
    return LinearRegression(epsilon=eps, bounds_X=(-c, c), bounds_y=(-1.0, 1.0)).fit(X, y)


def main(folder):
    warnings.simplefilter("ignore")
    for path in sorted(Path(folder).glob("*.npz")):
        table = dict(np.load(path))
        model = str(table["model"])
        for eps in LEVELS:
            for setting in settings(model):
                found = [fitted(table, eps, setting).score(table["held_X"], table["held_y"]) for _ in range(FITS)]
                score = float(np.mean(found)) if model == "linear" else 1 - float(np.mean(found))
                print(json.dumps({"table": path.stem, "model": model, "eps": eps, "setting": setting, "score": score}),
                      flush=True)  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
