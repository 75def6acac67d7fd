"""
One budget for all fits
=======================

A ledger is a file that counts what all fits of the same people spend together. A fit that costs too much is refused
before a row is read.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import dplr

rng = np.random.default_rng(0)
people = pd.DataFrame({"age": rng.integers(18, 100, 5_000), "hours": rng.integers(0, 80, 5_000)})
works_much = people["hours"] + rng.normal(0, 20, 5_000) > 35
bounds = dplr.Bounds({"age": (18, 99), "hours": (0, 80)})

folder = tempfile.TemporaryDirectory()  # in practice, a place that stays
ledger = dplr.Ledger(Path(folder.name) / "census.ledger", eps=2.0)
for eps in (0.5, 1.0, 1.0):
    try:
        dplr.fit(people, works_much, eps=eps, bounds=bounds, mechanism="fm", ledger=ledger)
    except dplr.BudgetExceeded:
        print(f"eps = {eps}: refused, and nothing was spent")
    else:
        print(f"eps = {eps}: fitted; {ledger.remaining('pure')[0]:g} is left")

# %%
# Fits that did spend are entries of the ledger, with their statements.

for entry in ledger.entries():
    print(entry.number, entry.state, f"eps = {entry.eps}", entry.statement["mechanism"])

# %%
# What each fit took of the budget, and what is left.

ax = plt.subplots(figsize=(6, 1.6))[1]
left = 0.0
for entry in ledger.entries():
    ax.barh("eps", entry.eps, left=left, edgecolor="white", label=f"fit {entry.number}")
    left += entry.eps
ax.barh("eps", 2.0 - left, left=left, color="lightgrey", label="left")
ax.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.25), frameon=False)
folder.cleanup()
