"""What the layout of one-hot columns is worth to the functional mechanism on Adult: the ball before, the layout after.

Official split, complete rows, all defaults, 20 fits a setting; scales and sensitivities are the statement's.

DPLR_DATA=<folder> python -m bench.accuracy.layout bench/results/layout_accuracy.csv
"""

import csv
import math
import os
import sys

import numpy as np

from bench.data.adult import LEVELS, NUMBERS, load
from dplr.bounds.scaling import Prep, ball_prep
from dplr.fitting import run as fitting
from dplr.fitting.one_vs_rest import plan_models
from dplr.mechanisms.functional import FunctionalMechanism
from dplr.noise import Source
from dplr.privacy import Neighbouring
from dplr.problem.geometry import GRID, INTERCEPT, Geometry
from dplr.problem.losses import LOGISTIC
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows

FITS = 20
DELTA = 1e-5
GROUPS = len(NUMBERS) + len(LEVELS)


def layout_prep():
    """Numbers in [-c, c], one-hot columns 0 or c, c^2 times the number of groups at most 1."""
    sizes = [len(levels.split()) for levels in LEVELS.values()]
    first = len(NUMBERS) + np.cumsum([0, *sizes[:-1]])
    units = float(math.isqrt(2**40 // GROUPS))
    d = len(NUMBERS) + sum(sizes)
    low = np.array([-units] * len(NUMBERS) + [0.0] * sum(sizes) + [-GRID])
    blocks = tuple(zip(first.tolist(), sizes, strict=True))
    geometry = Geometry(d, half_width=units / GRID, intercept=INTERCEPT, blocks=blocks)
    bound = np.array([units] * d + [GRID])
    return Prep(geometry, np.zeros(d + 1), bound, low, bound, (0.0, 1.0))


def errors(layout, eps, delta, data, fits):
    """Test errors of `fits` fits, and the statement of one."""
    X, y, X_test, y_test = data
    prep = layout_prep() if layout else ball_prep(X.shape[1], True, (0.0, 1.0))
    factor = math.sqrt(GROUPS) if layout else 1.0  # the layout scales by itself
    problem = Problem(LOGISTIC, prep.geometry, Neighbouring.REPLACE_ONE, len(X), None, ())
    rows = ArrayRows(X * factor, y.astype(float), prep)
    planned = [plan_models(FunctionalMechanism(), problem, eps, delta)] * fits
    found = fitting.run(rows, planned, Source())
    solve = planned[0].mechanism.solve
    models = [prep.to_user_units(*solve(planned[0], each.parts)) for each in found]
    scores = [np.mean((X_test * factor @ slopes + offset > 0) != y_test) for slopes, offset in models]
    return np.array(scores), planned[0].statement


def row_of(layout, eps, delta, data):
    """One line of the table: errors, and the release that they come from."""
    found, statement = errors(layout, eps, delta, data, 1 if math.isinf(eps) else FITS)
    deviation = found.std(ddof=1) / math.sqrt(FITS) if len(found) > 1 else 0.0
    released = statement.released
    return [
        "layout" if layout else "ball",
        eps,
        delta,
        len(found),
        *(f"{value:.5f}" for value in (found.mean(), deviation, found.max())),
        *(f"{released[name].scale:.6g}" for name in ("linear", "diagonal")),
        f"{released['linear'].sensitivity:.6g}",
        sum(release.shape[0] for release in released.values()),
    ]


def main(path):
    data = load(os.environ["DPLR_DATA"])
    settings = [(eps, delta) for delta in (0.0, DELTA) for eps in (0.1, 0.5, 1.0, 2.0)] + [(math.inf, 0.0)]
    names = (
        "domain eps delta fits mean_error standard_error worst_error linear_scale quadratic_scale sensitivity numbers"
    )
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names.split())
        for layout in (False, True):
            for eps, delta in settings:
                row = row_of(layout, eps, delta, data)
                writer.writerow(row)
                print(*row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
