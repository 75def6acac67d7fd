"""Empirical privacy of standardised noisy gradient descent through `fitting.run`: can two neighbours be told apart?

As a script (``python standardised_audit.py CASE RUNS``) it prints the measured lower bound of eps as JSON: tests run it
on patched copies of the package to show that the audit sees a broken one.
"""

import json
import math
import sys
from dataclasses import dataclass

import numpy as np

import dplr
import fits as fitting
from dplr.auditor.sampled import gaussian_eps, mu_lower_bound
from dplr.bounds.scaling import box_prep, layout_prep
from dplr.ledger.budget import NullLedger
from dplr.mechanisms import NoisyGradientDescent
from dplr.noise import Source
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.losses import LOGISTIC, SQUARED
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows

# A large eps: the columns have a small share of it, which few fits would not show.
EPS, DELTA, OTHERS, STEPS = 8.0, 1e-5, 500, 2
SPEC = NoisyGradientDescent(
    steps=STEPS, learning_rate=1e-9, clip=0.25, averaging="last", standardise="on", momentum=0.0
)
# The largest share of mu that the columns alone may show, and the steps.
COLUMNS, GRADIENTS = math.sqrt(0.1), math.sqrt(0.9)


@dataclass(frozen=True)
class Case:
    """Rows in the middle of their bounds, and one more at one end or the other; the point hardly moves.

    Attributes
    ----------
    score : what of the release is looked at: `"all"` weighs every number as the likelihood ratio does, `"columns"`,
        `"steps"` and `"ends"` look at one part. For `"ends"`, targets are numbers and rows are clipped: see `_spread`.
    balanced : whether the gradients of the other rows cancel, whatever the frame is; else they show where it lies.
    clipped : whether targets are numbers, so that rows are clipped to ranges.
    curved : whether rows are shares of three knots: the others are at the second one, the last at the first or third.
        They have no squares, so the number of records is half of what moves where a record is added.
    """

    score: str
    neighbouring: Neighbouring = Neighbouring.REPLACE_ONE
    balanced: bool = True
    clipped: bool = False
    curved: bool = False

    def plan_and_rows(self, last):
        if self.score == "ends":
            return _spread(last)
        prep = box_prep([(-1.0, 1.0)], True, *((None, (-1.0, 1.0)) if self.clipped else ((-1.0, 1.0), None)))
        X, y = np.zeros((OTHERS + 1, 1)), np.append(np.resize([-1.0, 1.0 if self.balanced else -1.0], OTHERS), 1.0)
        if self.neighbouring is Neighbouring.ADD_REMOVE:
            X[-1] = 1.0
            X, y = X[: OTHERS + last], y[: OTHERS + last]
        else:
            X[-1] = last
        if self.curved:
            layout = dplr.Bounds([{"lower": -1, "upper": 1, "knots": 3, "line": False}]).layout
            prep = layout_prep(layout, True, (-1.0, 1.0))
        loss, clippable = (SQUARED, (0,)) if self.clipped else (LOGISTIC, ())
        problem = Problem(loss, prep.geometry, self.neighbouring, OTHERS + 1, None, (), clippable=clippable)
        return problem, SPEC, ArrayRows(X, y, prep)


def _spread(last):
    """Rows whose gradients cancel, unless the range moves: the far ones are clipped to its ends.

    The last row is at one end of the bounds or in their middle, which moves the ends; its own gradient is zero.
    """
    prep = box_prep([(-1.0, 1.0)], True, None, (-1.0, 1.0))
    n = 10 * OTHERS + 1
    X, y = np.zeros((n, 1)), np.zeros(n)
    for first, count, size, target in ((0, 200, 0.142, 0.04), (200, 160, 0.063, -0.1)):
        signs = np.resize([1.0, -1.0], count)
        X[first : first + count, 0], y[first : first + count] = size * signs, target * signs
    X[-1] = max(last, 0.0)
    problem = Problem(SQUARED, prep.geometry, Neighbouring.REPLACE_ONE, n, None, (), clippable=(0,))
    return problem, SPEC, ArrayRows(X, y, prep)


CASES = {
    "columns": Case("columns"),
    "columns, add_remove": Case("columns", neighbouring=Neighbouring.ADD_REMOVE),
    "columns, curved": Case("columns", curved=True),
    "records": Case("columns", neighbouring=Neighbouring.ADD_REMOVE, curved=True),
    "steps": Case("steps", balanced=False),
    "ends": Case("ends"),
    "all": Case("all"),
    "all, clipped": Case("all", clipped=True),
    "all, add_remove": Case("all", neighbouring=Neighbouring.ADD_REMOVE),
    "all, clipped, add_remove": Case("all", neighbouring=Neighbouring.ADD_REMOVE, clipped=True),
}


def scores(case, last, runs, seed):
    """One number for each fit: sums of released numbers, each over its variance where they are weighed."""
    problem, spec, rows = case.plan_and_rows(last)
    fits = fitting.run_many(rows, problem, spec, [EPS] * runs, DELTA, NullLedger(), Source(seed))
    parts = {name: np.array([fit.released[name].ravel() for fit in fits]) for name in fits[0].released}
    columns = parts["means"][:, -1].copy()
    if case.neighbouring is Neighbouring.ADD_REMOVE:  # square and number of records move as much, in these units
        columns += sum(parts[name][:, 0] for name in ("squares", "records") if name in parts)
    elif case.curved:
        columns -= parts["means"][:, 0]
    steps = parts["gradients"][:, 0::2].sum(axis=1)
    if case.score != "all":
        return (columns if case.score == "columns" else steps).round(9)
    # The last row has x = 1 or -1 (or is not there), and the clip is the length of its gradient, towards -x.
    released = fits[0].statement.released
    moved = 2.0 if case.neighbouring is Neighbouring.REPLACE_ONE else 1.0
    weighed = columns * moved / released["means"].scale ** 2 - steps * moved * 0.25 / released["gradients"].scale ** 2
    return weighed.round(9)


def measure(case, runs):
    """Lower bound of eps at DELTA, for Gaussian scores."""
    neighbours = (0, 1) if case.neighbouring is Neighbouring.ADD_REMOVE else (1.0, -1.0)
    low, high = sorted((scores(case, last, runs, k) for k, last in enumerate(neighbours)), key=np.median)
    return gaussian_eps(mu_lower_bound(high, low), DELTA)


def stated(case):
    """The eps that the statement allows to what is looked at."""
    problem, spec, _ = case.plan_and_rows(1)
    mu = spec.plan(problem, EPS, DELTA).statement.guarantee.mu
    return gaussian_eps(mu * {"columns": COLUMNS, "steps": GRADIENTS, "ends": GRADIENTS, "all": 1.0}[case.score], DELTA)


if __name__ == "__main__":
    found = [measure(CASES[name], int(sys.argv[1])) for name in sys.argv[2:]]
    print(json.dumps([value if math.isfinite(value) else 0.0 for value in found]))
