"""
A report for those who decide
=============================

Whoever decides about a release need not read Python. The report is one page without scripts: what the model says, how
certain that is, what is promised to one person, and what the publisher answers for.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import dplr
from dplr import plots
from dplr.report import write_report

rng = np.random.default_rng(0)
people = pd.DataFrame({"age": rng.integers(18, 100, 5_000), "hours": rng.integers(0, 80, 5_000)})
works_much = people["hours"] + rng.normal(0, 20, 5_000) > 35
est = dplr.fit(people, works_much, eps=1.0, bounds=dplr.Bounds({"age": (18, 99), "hours": (0, 80)}))

with tempfile.TemporaryDirectory() as folder:  # in practice, a place that stays
    page = write_report(est, Path(folder) / "report.html", title="Who works much?")
    model = dplr.save_model(est, Path(folder) / "model.json")
    for file in sorted(Path(folder).iterdir()):
        print(f"{file.name:12} {file.stat().st_size / 1000:5.0f} kB")

# %%
# Pictures of the model alone are as private as the model.

ax = plots.plot_coefficients(est, per="range")
