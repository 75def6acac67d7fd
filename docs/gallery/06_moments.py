"""
Moments once, many fits
=======================

The noisy second moments of a table are released once. Any linear regression among its columns, with intervals, then
costs nothing more: here income on education, and education on age.
"""

import numpy as np
import pandas as pd

import dplr
from dplr import plots

rng = np.random.default_rng(0)
n = 40_000
people = pd.DataFrame({"age": rng.uniform(18, 80, n), "educ": rng.integers(0, 21, n)})
people["income"] = 20_000 + 200 * people["age"] + 900 * people["educ"] + rng.normal(0, 4_000, n)

bounds = dplr.Bounds({"age": (18, 99), "educ": (0, 20), "income": (0, 80_000)})
released = dplr.release_moments(people, bounds=bounds, eps=1.0, delta=1e-6)
print(released.privacy_)

# %%

income = released.regress("income", ["age", "educ"])
print(income.summary())

# %%

print(released.regress("educ", ["age"]).conf_int())

# %%
# One unit of each column; the intervals are shorter than the points are wide.

ax = plots.plot_coefficients(income)
