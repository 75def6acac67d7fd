"""The other side of compare_peers.py: fits diffprivlib's models, one fit for each line read, in its own environment."""

import sys
import time
import warnings

import numpy as np
from diffprivlib.models import LinearRegression, LogisticRegression

# Per-row bounds of the data that compare_peers.py writes: each entry lies in [-1/sqrt(d), 1/sqrt(d)].


def linear(X, y):
    reach = 1 / np.sqrt(X.shape[1])
    return LinearRegression(epsilon=0.8, bounds_X=(-reach, reach), bounds_y=(-1, 1)).fit(X, y)


def logistic(X, y):
    # l2 = 1e-3 on the mean loss: C = 1 / (n * l2).
    return LogisticRegression(epsilon=0.8, data_norm=1.0, C=1 / (len(X) * 1e-3), fit_intercept=False).fit(X, y)


def main():
    warnings.simplefilter("ignore")
    data = {}
    for line in sys.stdin:
        model, folder = line.split()
        if folder not in data:
            data = {folder: (np.load(f"{folder}/X.npy"), np.load(f"{folder}/y.npy"))}
        X, y = data[folder]
        for _ in range(2):
            start = time.perf_counter()
            {"linear": linear, "logistic": logistic}[model](X, y)
            seconds = time.perf_counter() - start
        print(seconds, flush=True)


if __name__ == "__main__":
    main()
