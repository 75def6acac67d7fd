"""
Starting from public data
=========================

A model of public records costs no privacy. A private fit that starts there, and is pulled towards it, needs to learn
only what is different. This is a study on made-up people: 200 public ones, and 2,000 private ones.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import dplr

rng = np.random.default_rng(0)
X = pd.DataFrame({"age": rng.integers(18, 100, 4_200), "hours": rng.integers(0, 80, 4_200)})
y = (X["hours"] + rng.normal(0, 20, 4_200) > 35).astype(int)
public, private, others = slice(0, 200), slice(200, 2_200), slice(2_200, None)

levels = [0.05, 0.1, 0.3, 1.0]
_, ax = plt.subplots(layout="constrained")
for label, start in {"with public data": (X[public], y[public]), "without": None}.items():
    fits = dplr.fit_many(
        X[private],
        y[private],
        eps=levels,
        repeats=60,
        mechanism="output",
        bounds=dplr.Bounds({"age": (18, 99), "hours": (0, 80)}),
        public=start,
    )
    errors = [np.mean([est.predict(X[others]) != y[others] for est in fits if est.eps == eps]) for eps in levels]
    ax.plot(levels, errors, marker="o", label=label)
ax.set(xscale="log", xlabel="eps", ylabel="share of rows misclassified, mean of 60 fits")
_ = ax.legend()
