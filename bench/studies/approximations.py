"""Which approximation of the logistic loss predicts best? Log-loss and calibration error from one release.

Every ACS state is a data set of its own (first 80 % train, last 20 % test), and so are synthetic ones of several sizes;
delta = 1e-6. Calibration error: mean |predicted - observed| over ten bins of equal size.

    DPLR_DATA=<folder> python -m bench.studies.approximations bench/results/approximations.csv
"""

import csv
import math
import os
import sys
import warnings
from dataclasses import replace

import numpy as np

import dplr
from bench.studies.defaults import acs_by_state, synthetic

APPROXIMATIONS = {
    "taylor": {"approximation": "taylor"},
    "minimax 2": {"approximation": "minimax", "margin_bound": 2.0},
    "minimax 3": {"approximation": "minimax", "margin_bound": 3.0},
    "minimax 4": {"approximation": "minimax", "margin_bound": 4.0},
    "minimax 5": {"approximation": "minimax", "margin_bound": 5.0},
    "minimax 8": {"approximation": "minimax", "margin_bound": 8.0},
    "stein": {"approximation": "stein"},
}
EPSILONS = (0.1, 0.8, math.inf)


def scores(est, X, label):
    """Misclassification, log-loss and calibration error on a test set."""
    probability = np.clip(est.predict_proba(X)[:, 1], 1e-12, 1 - 1e-12)
    loss = -np.mean(np.where(label, np.log(probability), np.log1p(-probability)))
    bins = np.array_split(np.argsort(probability), 10)
    calibration = np.mean([abs(probability[rows].mean() - label[rows].mean()) for rows in bins])
    return np.mean((probability > 0.5) != label), loss, calibration


def main(path):
    warnings.simplefilter("ignore")
    rows = []
    sets = [("acs", data) for data in acs_by_state(os.environ["DPLR_DATA"])]
    sets += [("synthetic", data) for data in synthetic()]
    found = {}
    for kind, (_, X, label, _) in sets:
        cut = int(0.8 * len(X))
        d = X.shape[1]
        bounds = dplr.Bounds([(-1 / np.sqrt(d), 1 / np.sqrt(d))] * d)
        y = label > 0
        for eps in EPSILONS:
            for name, options in APPROXIMATIONS.items():  # all from the first one's release
                spec = dplr.FunctionalMechanism(**options)
                if name == "taylor":
                    delta = 1e-6 if math.isfinite(eps) else 0.0
                    release = dplr.fit(X[:cut], y[:cut], eps=eps, delta=delta, bounds=bounds, mechanism=spec)
                    est = release
                else:
                    release._record = replace(release._record, mechanism=spec)
                    est = release.refit()
                found.setdefault((kind, eps, name), []).append(scores(est, X[cut:], y[cut:]))
    for (kind, eps, name), values in found.items():
        error, loss, calibration = np.mean(values, axis=0)
        rows.append({
            "data": kind, "sets": len(values), "eps": eps, "approximation": name, "misclassification": round(error, 5),
            "log_loss": round(loss, 5), "calibration_error": round(calibration, 5),
        })  # fmt: skip
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1])
