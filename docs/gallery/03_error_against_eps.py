"""
What a smaller eps costs
========================

A study: many fits of the same rows, each with its own noise. The rows are made up here. On real people this would
spend the sum of all eps, and the errors are computed from the rows without noise: such a picture is for public data.
"""

import numpy as np

import dplr
from dplr import plots

rng = np.random.default_rng(0)
X = rng.uniform(-0.5, 0.5, (5_000, 3))
y = X @ [3.0, -2.0, 0.0] + rng.logistic(0, 0.5, 5_000) > 0
rows, others = slice(0, 4_000), slice(4_000, None)

ax = None
for mechanism in ("objective", "fm", "output"):
    fits = dplr.fit_many(X[rows], y[rows], eps=[0.05, 0.1, 0.3, 1.0, 3.0], repeats=10, mechanism=mechanism)
    ax = plots.plot_error_against_eps(fits, ax, X=X[others], y=y[others], label=mechanism)
