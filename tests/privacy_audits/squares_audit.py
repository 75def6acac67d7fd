"""Empirical privacy of the squares of the score beside released coefficients: can two neighbours be told apart?

As a script (``python squares_audit.py RUNS CASE ...``) it prints the measured lower bound of eps of each case as JSON:
tests run it on patched copies of the package to show that the audit sees a broken one.
"""

import json
import sys

import numpy as np

import dplr
from dplr.auditor.sampled import eps_lower_bound
from dplr.bounds.scaling import ball_prep
from dplr.mechanisms.perturbation import hessian
from dplr.noise import Source
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.losses import LOGISTIC
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows

EPS, N_ROWS = 25.0, 2000
# The coefficients are public; both records contradict them. Other rows make one axis of the Hessian much longer.
COEF = np.array([-6.0, -6.0])
OTHERS = np.vstack([np.tile([0.3, 0.0], (400, 1)), np.zeros((N_ROWS - 401, 2))])
RECORDS = {"replace_one": ((1.0, 0.0), (0.0, 1.0)), "add_remove": ((0.0, 1.0), None)}


def rows_with(record):
    X = OTHERS if record is None else np.vstack([OTHERS, [record]])
    return ArrayRows(X, np.ones(len(X)), ball_prep(2, False, (-1.0, 1.0)))


def exact(rows, along, plan):
    """The squares along released axes, without noise."""
    query = hessian.ScoreSquares(LOGISTIC, 2, False, plan.problem.geometry.row_norm, along.directions)
    return rows.total(query, COEF).integers(-40) * 2.0**-40


def scores(name, which, runs, seed):
    """The log-likelihood ratio of the released squares, given the Hessian that was released before."""
    geometry = ball_prep(2, False, (-1.0, 1.0)).geometry
    problem = Problem(LOGISTIC, geometry, Neighbouring(name), N_ROWS, None, ())
    plan = dplr.ObjectivePerturbation(intervals="on").plan(problem, EPS, 0.0)
    pair, source = [rows_with(record) for record in RECORDS[name]], Source(seed)
    scale, ratios = plan.statement.released[hessian.SQUARES].scale, np.zeros(runs)
    for k in range(runs):
        released = hessian.released_hessian(pair[which], COEF, plan, source)
        along = hessian.axes(plan, released)
        left, right = (exact(rows, along, plan) for rows in pair)
        value = released[hessian.SQUARES]
        ratios[k] = (np.abs(value - right) - np.abs(value - left)).sum() / (scale or 1.0)
    return np.round(ratios, 9)


def measure(name, runs):
    """A lower bound of the eps of the squares."""
    return eps_lower_bound(*(scores(name, which, runs, which) for which in (0, 1)))


if __name__ == "__main__":
    print(json.dumps([measure(name, int(sys.argv[1])) for name in sys.argv[2:]]))
