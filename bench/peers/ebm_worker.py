"""Scores of DP-EBM (interpret-core) on tables that `curves` wrote; runs with the peer's own Python.

    <python of the peer> bench/peers/ebm_worker.py FOLDER

prints one line of JSON for each fit: table, setting, eps, repeat and its score. Bounds, levels and classes are declared
to it as they are to dplr. Its guarantee is (eps, 1e-6)-DP by Gaussian DP.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

LEVELS, DELTA, REPEATS = (0.1, 0.5, 1.0, 3.0, 10.0), 1e-6, 2
# Rounds and learning rate: its defaults, and five others among which the best is taken in hindsight.
SETTINGS = ((300, 0.01), (50, 0.1), (100, 0.1), (300, 0.1), (50, 0.02), (1000, 0.01))
MANY, FEWER = 100_000, 1  # repeats of the largest tables


def fitted(table, rows, eps, setting, seed):
    """Error of labels, or R2 of numbers within their bounds, on the rows that no fit has."""
    rounds, rate = setting
    names = list(table["columns"])
    kinds = ["continuous" if isinstance(table["columns"][name], list) else "nominal" for name in names]
    bounds = {j: tuple(table["columns"][name]) for j, name in enumerate(names) if kinds[j] == "continuous"}
    options = {
        "feature_names": names, "feature_types": kinds, "privacy_bounds": bounds, "epsilon": eps, "delta": DELTA,
        "max_rounds": rounds, "learning_rate": rate, "random_state": None, "n_jobs": 1,
    }  # fmt: skip
    train, test = rows
    if table["model"] == "logistic":
        est = DPExplainableBoostingClassifier(**options).fit(train[names], train["target"].astype(int))
        return float(np.mean(est.predict(test[names]) != test["target"].astype(int)))
    low, high = table["target"]
    est = DPExplainableBoostingRegressor(privacy_target_min=low, privacy_target_max=high, **options)
    est.fit(train[names], train["target"])
    predicted, y = np.clip(est.predict(test[names]), low, high), test["target"].to_numpy()
    return float(1 - np.mean((predicted - y) ** 2) / np.var(y))


def main(folder, *only):
    warnings.simplefilter("ignore")
    for path in sorted(Path(folder).glob("*.json")):
        table = json.loads(path.read_text())
        if only and path.stem not in only:
            continue
        rows = [pd.read_parquet(path.with_name(f"{path.stem} {part}.parquet")) for part in ("train", "test")]
        for setting in SETTINGS:
            for eps in LEVELS:
                for repeat in range(REPEATS if len(rows[0]) < MANY else FEWER):
                    start = time.perf_counter()
                    score = fitted(table, rows, eps, setting, repeat)
                    line = {"table": path.stem, "setting": f"{setting[0]} rounds, rate {setting[1]:g}", "eps": eps}
                    line |= {"repeat": repeat, "score": score, "seconds": time.perf_counter() - start}
                    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
