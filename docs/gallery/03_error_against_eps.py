"""
What a smaller eps costs
========================

A study: many fits of the same rows, each with its own noise. The rows are made up here. On real people this would
spend the sum of all eps, and the errors are computed from the rows without noise: such a picture is for public data.
"""

import matplotlib.pyplot as plt
import numpy as np

import dplr

rng = np.random.default_rng(0)
X = rng.uniform(-0.5, 0.5, (5_000, 3))
y = X @ [3.0, -2.0, 0.0] + rng.logistic(0, 0.5, 5_000) > 0
rows, others = slice(0, 4_000), slice(4_000, None)

levels = [0.05, 0.1, 0.3, 1.0, 3.0]
_, ax = plt.subplots(layout="constrained")
for mechanism in ("objective", "fm", "output"):
    fits = dplr.fit_many(X[rows], y[rows], eps=levels, repeats=10, mechanism=mechanism)
    errors = [np.mean([est.predict(X[others]) != y[others] for est in fits if est.eps == eps]) for eps in levels]
    ax.plot(levels, errors, marker="o", label=mechanism)
ax.set(xscale="log", xlabel="eps", ylabel="share of rows misclassified, mean of 10 fits")
_ = ax.legend()
