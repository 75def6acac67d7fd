"""
A private choice among models
=============================

Who answers yes? The middle-aged, so a straight line in age cannot say so, and bins can. The search takes one of two
forms of the model, and its statement covers the choice too.
"""

import numpy as np
import pandas as pd

import dplr
from dplr import plots

rng = np.random.default_rng(0)
X = pd.DataFrame({"age": rng.integers(18, 100, 20_000), "hours": rng.integers(0, 80, 20_000)})
y = (np.abs(X["age"] - 50) + rng.normal(0, 10, 20_000) < 20).to_numpy()
bins = {"lower": 18, "upper": 99, "bins": [30, 40, 50, 60, 70, 80]}
forms = [
    dplr.Bounds({"age": (18, 99), "hours": (0, 80)}),
    dplr.Bounds({"age": bins, "hours": (0, 80)}),
]
search = dplr.PrivateSearch(dplr.LogisticRegression(eps=1.0), {"bounds": forms}).fit(X, y)
print(search.best_estimator_.named_coef_)

# %%

print(search.privacy_)

# %%
# The bins of age: most yeses are from 40 to 60.

ax = plots.plot_coefficients(search.best_estimator_, per="range")
