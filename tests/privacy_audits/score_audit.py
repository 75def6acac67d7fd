"""Empirical privacy of the score release through `fitting.run`: can two neighbours be told apart?

As a script (``python score_audit.py RUNS CASE ...``) it prints the measured lower bound of eps of each case as JSON:
tests run it on patched copies of the package to show that the audit sees a broken one.
"""

import json
import math
import sys
from dataclasses import dataclass

import numpy as np

import fits as fitting
from dplr.audit import gaussian_eps, mu_lower_bound
from dplr.bounds.scaling import ball_prep
from dplr.ledger.budget import NullLedger
from dplr.mechanisms import ScoreRelease
from dplr.noise import Source
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.losses import LOGISTIC
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows

EPS, DELTA, OTHERS = 4.0, 1e-5, 50


@dataclass(frozen=True)
class Case:
    """One record among others that are zero, so that noise alone moves the points, and hardly.

    Attributes
    ----------
    rows : the record in both data sets; None where it is not there.
    start : public coefficients, or None to start at zero.
    hessian : whether the cell of H beside that of U is looked at too.
    """

    rows: tuple[tuple[float, float] | None, tuple[float, float] | None]
    start: tuple[float, float] | None = None
    hessian: bool = False
    rounds: int = 2

    @property
    def neighbouring(self):
        return Neighbouring.ADD_REMOVE if None in self.rows else Neighbouring.REPLACE_ONE

    def plan_and_rows(self, which):
        prep = ball_prep(2, False, (-1.0, 1.0))
        row = self.rows[which]
        X = np.zeros((OTHERS + (row is not None), 2))
        X[OTHERS:] = row
        y = np.append(np.resize([-1.0, 1.0], OTHERS), np.ones(len(X) - OTHERS))
        problem = Problem(LOGISTIC, prep.geometry, self.neighbouring, OTHERS + 1, None, (), self.start)
        return problem, ScoreRelease(rounds=self.rounds), ArrayRows(X, y, prep)


# (sqrt 5 + 1) / 2 is 1 / p where the Hessian counts most; this margin has that p.
TURN = (-math.log((math.sqrt(5) + 1) / 2), 0.0)
CASES = {
    "score": Case(((0.98, 0.19), (-0.98, 0.19)), (0.0, -60.0)),
    "score, one round": Case(((0.98, 0.19), (-0.98, 0.19)), (0.0, -60.0), rounds=1),
    "score, add_remove": Case(((0.98, 0.19), None), (0.0, -60.0)),
    "hessian, add_remove": Case(((1.0, 0.0), None), TURN, hessian=True),
    "from zero": Case(((1.0, 0.0), (-1.0, 0.0))),
}


def scores(case, which, runs, seed):
    """The best linear statistic of all rounds for records whose p is that at the start."""
    problem, spec, rows = case.plan_and_rows(which)
    fits = fitting.run_many(rows, problem, spec, [EPS] * runs, DELTA, NullLedger(), Source(seed))
    x = np.array(case.rows[0])
    p = 1 / (1 + math.exp(x @ np.array(case.start or (0.0, 0.0))))
    found = np.zeros(runs)
    cells = {"score": x[0] * p} | ({"diagonal": x[0] ** 2 * p * (1 - p)} if case.hessian else {})
    for name, block in fits[0].statement.released.items():
        if cell := cells.get(name.split("_", 2)[2]):
            found += [fit.released[name][0] * cell / (block.scale or 1.0) ** 2 for fit in fits]
    return found


def measure(case, runs):
    """Lower bound of eps at DELTA, for Gaussian scores."""
    low, high = sorted((scores(case, which, runs, which) for which in (0, 1)), key=np.median)
    return gaussian_eps(mu_lower_bound(high, low), DELTA)


if __name__ == "__main__":
    print(json.dumps([measure(CASES[name], int(sys.argv[1])) for name in sys.argv[2:]]))
