"""
A regression table with intervals
=================================

The functional mechanism releases noisy moments. Their noise is known, so the table counts both kinds of uncertainty:
that of the sample, and that of the privacy noise. The true effects here are 300 per year and 900 per hour.
"""

import numpy as np
import pandas as pd

import dplr
from dplr import plots

rng = np.random.default_rng(0)
n = 40_000
people = pd.DataFrame({"age": rng.uniform(18, 80, n), "hours": rng.uniform(0, 60, n)})
people["pay"] = 15_000 + 300 * people["age"] + 900 * people["hours"] + rng.normal(0, 4_000, n)

bounds = dplr.Bounds({"age": (18, 80), "hours": (0, 60)}, target=(0, 120_000))
est = dplr.fit(
    people[["age", "hours"]], people["pay"], model="linear", mechanism="fm", eps=1.0, delta=1e-6, bounds=bounds
)
est.summary()

# %%
# Effects from one bound of a column to the other. The intervals are shorter than the points are wide.

ax = plots.plot_coefficients(est, per="range")

# %%
# The same release answers further questions for nothing: a smaller model, and a test whether a column is needed.

small = est.refit(columns=["hours"])
print(small.coef_)
print(est.wald_test("age"))
