"""Error of private regressions on 370,000 adults of the American Community Survey, 200 fits a setting.

13 features with codebook bounds, an intercept, income above 50,000 (logistic: misclassification) or income clipped to
[0, 200,000] and scaled to [-1, 1] (linear: mean squared error). First 296,000 rows train, last 74,000 test.

    DPLR_DATA=<folder> python -m bench.accuracy.acs bench/results/acs_accuracy.csv
"""

import csv
import math
import os
import pathlib
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression, LogisticRegression

import dplr
from bench.data.tables import FEATURES
from dplr.mechanisms import as_mechanism

TRAIN = 296_000
FITS = 200


def load(folder):
    """Train and test frames with their targets."""
    frame = pd.read_parquet(pathlib.Path(folder) / "acs2024_fm_370k.parquet")
    X = np.ascontiguousarray(frame[list(FEATURES)].to_numpy(float))
    income = frame["AnnualIncome"].to_numpy(float)
    return X[:TRAIN], income[:TRAIN], X[TRAIN:], income[TRAIN:]


def errors(model, eps, train, income, test, test_income, fits=FITS, calibration="tight", delta=0.0):
    """Test errors of `fits` private fits; within the declared bounds, as the calibrations are compared."""
    target = (0, 200_000) if model == "linear" else None
    bounds = dplr.Bounds(list(FEATURES.values()), target=target)
    y = income > 50_000 if model == "logistic" else np.clip(income, 0, 200_000)
    mechanism = dplr.FunctionalMechanism(calibration=calibration)
    found = []
    for _ in range(fits):
        est = dplr.fit(
            train,
            y,
            model=model,
            eps=eps,
            delta=delta,
            bounds=bounds,
            mechanism=replace(as_mechanism(mechanism), ranges="off"),
        )
        margins = test @ np.ravel(est.coef_) + np.ravel(est.intercept_)[0]
        if model == "logistic":
            found.append(np.mean((margins > 0) != (test_income > 50_000)))
        else:
            found.append(np.mean(((margins - np.clip(test_income, 0, 200_000)) / 100_000) ** 2))
    return np.array(found)


def non_private(model, train, income, test, test_income):
    """scikit-learn's exact models on the same split."""
    if model == "logistic":
        est = LogisticRegression(solver="newton-cholesky", C=1e6).fit(train, income > 50_000)
        return np.mean(est.predict(test) != (test_income > 50_000))
    est = LinearRegression().fit(train, np.clip(income, 0, 200_000))
    return np.mean(((est.predict(test) - np.clip(test_income, 0, 200_000)) / 100_000) ** 2)


def main(path):
    data = load(os.environ["DPLR_DATA"])
    rows = []
    for model in ("logistic", "linear"):
        exact = non_private(model, *data)
        rows.append(
            {"model": model, "calibration": "non-private", "eps": math.inf, "delta": 0.0, "fits": 1, "mean": exact}
        )
        settings = [("tight", eps, 0.0) for eps in (0.1, 0.8, 3.2)] + [("paper", 0.8, 0.0), ("tight", math.inf, 0.0)]
        settings += [("tight", eps, 1e-6) for eps in (0.1, 0.8, 3.2)]
        for calibration, eps, delta in settings:
            fits = FITS if math.isfinite(eps) else 1
            found = errors(model, eps, *data, fits=fits, calibration=calibration, delta=delta)
            rows.append({
                "model": model, "calibration": calibration, "eps": eps, "delta": delta, "fits": fits,
                "mean": found.mean(), "median": np.median(found), "worst": found.max(),
            })  # fmt: skip
            print(rows[-1], flush=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, ["model", "calibration", "eps", "delta", "fits", "mean", "median", "worst"])
        writer.writeheader()
        for row in rows:
            rounded = {key: round(row[key], 5) for key in ("mean", "median", "worst") if key in row}
            writer.writerow({**row, **rounded})


if __name__ == "__main__":
    main(sys.argv[1])
