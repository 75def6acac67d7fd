"""How far from the minimum is the point that the solver returns, in tolerances? Sixty digits tell.

As a script (``python tolerance_audit.py CASE RUNS``) it prints the largest distance found as JSON: tests run it on
patched copies of the package. Above 1 the noise that pays for the tolerance would not cover it.
"""

import json
import sys

import numpy as np

from dplr.bounds.scaling import ball_prep
from dplr.problem.losses import LOGISTIC
from dplr.rows import ArrayRows
from dplr.rows import base as minimise_rows
from dplr.solvers.certificate import NotCertified, Objective, least_tolerance, pass_limit
from sixty_digits import distance_to_minimum

CASES = {"few rows, small ridge": (400, 1.0), "many copies": (40_000, 4.0), "large ridge": (40_000, 1e6),
         "descent": (40, 4.0)}  # fmt: skip


def missed(*_):
    """What Newton's method does in the descent's case."""
    raise NotCertified


def measure(name, runs):
    """The largest ridge * distance / tolerance of so many minima."""
    n, ridge = CASES[name]
    if name == "descent":
        minimise_rows._in_float64 = missed
    prep, worst = ball_prep(3, False, (0.0, 1.0)), 0.0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(5, 3))
        X /= np.linalg.norm(X, axis=1, keepdims=True) * rng.choice([0.5, 1.0, 1e4], (5, 1))
        y, counts = np.array([1.0, 0.0, 1.0, 0.0, 1.0]), rng.multinomial(n, np.full(5, 0.2))
        objective = Objective(LOGISTIC, ridge, np.zeros(3), rng.normal(size=3) * rng.choice([1.0, 100.0]))
        norm = float(np.linalg.norm(objective.linear)) * (1 + 1e-12)
        tau = least_tolerance(LOGISTIC, n, 3, 1.0, ridge, 0.0, norm)
        limit = pass_limit(LOGISTIC, n, 1.0, ridge, tau, norm)
        rows = ArrayRows(np.repeat(X, counts, axis=0), np.repeat(y, counts), prep)
        coef, _ = rows.minimise(objective, tau, limit)
        worst = max(worst, ridge * distance_to_minimum(X, y, counts, prep, objective, coef) / tau)
    return worst


if __name__ == "__main__":
    print(json.dumps([measure(name, int(sys.argv[1])) for name in sys.argv[2:]]))
