"""
Persons with many rows
======================

A patient has one row per visit. ``person="patient"`` protects one patient with all their visits, and not only one
visit.
"""

import numpy as np
import pandas as pd

import dplr
from dplr import plots

rng = np.random.default_rng(0)
number = rng.integers(1, 9, 4_000)  # of visits, for each patient
patient = np.repeat(np.arange(4_000), number)
visits = pd.DataFrame({"patient": patient, "age": rng.uniform(18, 90, 4_000)[patient]})
visits["stay"] = rng.uniform(0, 30, len(visits))
again = rng.random(len(visits)) < 0.1 + 0.01 * visits["age"]

bounds = dplr.Bounds({"age": (18, 99), "stay": (0, 30)})
est = dplr.fit(visits, again, person="patient", eps=1.0, bounds=bounds)
print(est.privacy_)

# %%

ax = plots.plot_coefficients(est, per="range")
