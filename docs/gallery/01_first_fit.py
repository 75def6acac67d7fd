"""
A first private fit
===================

Who works much? Twenty thousand made-up people, with their ages and hours of work. The bounds are public: everybody
knows them without looking at the rows. The fit spends eps = 0.8, and says what it released.
"""

import numpy as np
import pandas as pd

import dplr
from dplr import plots

rng = np.random.default_rng(0)
people = pd.DataFrame({"age": rng.integers(18, 100, 20_000), "hours": rng.integers(0, 80, 20_000)})
works_much = people["hours"] + rng.normal(0, 20, 20_000) > 35

bounds = dplr.Bounds({"age": (18, 99), "hours": (0, 80)})
est = dplr.fit(people, works_much, eps=0.8, bounds=bounds)
print(est.privacy_)

# %%
# The coefficients are in the units of the columns: per year, and per hour.

for name, value in est.named_coef_.items():
    print(f"{name:6} {value:7.4f}")

# %%
# The picture shows the effect of each column from one of its bounds to the other. Without any one of these people it
# would have looked like this with almost the same probability.

ax = plots.plot_coefficients(est, per="range")
