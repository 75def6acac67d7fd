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
from dplr.auditor.sampled import gaussian_eps, mu_lower_bound
from dplr.bounds.scaling import ball_prep
from dplr.ledger.budget import NullLedger
from dplr.mechanisms import ScoreRelease
from dplr.mechanisms.score.spec import of_round
from dplr.noise import Source
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.losses import LOGISTIC, Loss, huber_residual, poisson, smooth_huber
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
    loss : of the model; numbers have the target `y`, in [-1, 1], and labels are 1.
    """

    rows: tuple[tuple[float, float] | None, tuple[float, float] | None]
    start: tuple[float, float] | None = None
    rounds: int = 2
    loss: Loss = LOGISTIC
    y: float = 1.0

    @property
    def neighbouring(self):
        return Neighbouring.ADD_REMOVE if None in self.rows else Neighbouring.REPLACE_ONE

    def slope(self, number):
        """The largest slope of a round: that of a Huber loss falls; that of a rate counts as 2, its power of two."""
        return of_round(smooth_huber(self.loss.width), number, self.rounds).width if self.loss.width else 1.0

    def fits(self, which, eps, delta, source):
        prep = ball_prep(2, False, (-1.0, 1.0) if self.loss.classification else None)
        row = self.rows[which]
        X = np.zeros((OTHERS + (row is not None), 2))
        X[OTHERS:] = row
        y = np.append(np.resize([-1.0, 1.0], OTHERS), np.full(len(X) - OTHERS, self.y))
        problem = Problem(self.loss, prep.geometry, self.neighbouring, OTHERS + 1, None, (), self.start)
        spec, rows = ScoreRelease(rounds=self.rounds), ArrayRows(X, y, prep)
        return fitting.run_many(rows, problem, spec, eps, delta, NullLedger(), source)


# (sqrt 5 + 1) / 2 is 1 / p where the Hessian counts most; this margin has that p.
TURN = (-math.log((math.sqrt(5) + 1) / 2), 0.0)
CASES = {
    "score": Case(((0.98, 0.19), (-0.98, 0.19)), (0.0, -60.0)),
    "score, one round": Case(((0.98, 0.19), (-0.98, 0.19)), (0.0, -60.0), rounds=1),
    "score, add_remove": Case(((0.98, 0.19), None), (0.0, -60.0)),
    "hessian, add_remove": Case(((1.0, 0.0), None), TURN),
    "from zero": Case(((1.0, 0.0), (-1.0, 0.0))),
    "huber": Case(((0.98, 0.19), (-0.98, 0.19)), (0.0, -60.0), loss=huber_residual(0.25)),
    "huber, add_remove": Case(((0.98, 0.19), None), (0.0, -60.0), loss=huber_residual(0.25)),
    # A count at its upper bound where the rate is next to 0, and one at its lower bound where the rate is the largest.
    "poisson": Case(((0.98, 0.19), (-0.98, 0.19)), (0.0, -60.0), loss=poisson(0, 8)),
    "poisson, add_remove": Case(((0.98, 0.19), None), (0.0, 60.0), loss=poisson(0, 8), y=-1.0),
}


def squares_of(score):
    """The cells of s s'."""
    return {"meat_diagonal": score**2, "meat_off_diagonal": score[:1] * score[1:]}


def scores(case, which, runs, seed):
    """The best linear statistic of all blocks, as points hardly move from the start."""
    (one,), (other,) = (case.fits(side, [math.inf], 0.0, Source()) for side in (0, 1))
    rounds = {name: one.released[name] - other.released[name] for name in one.released if name.startswith("round_1")}
    squares = {name: cells - squares_of(other.released["round_1_score"])[name]
               for name, cells in squares_of(one.released["round_1_score"]).items()}  # fmt: skip
    fits = case.fits(which, [EPS] * runs, DELTA, Source(seed))
    found = np.zeros(runs)
    for name, block in fits[0].statement.released.items():
        if name.startswith("meat"):
            moved = squares[name] * (case.slope(case.rounds - 1) / case.slope(0)) ** 2 / case.loss.lipschitz**2
        else:
            _, number, kind = name.split("_", 2)
            moved = rounds[f"round_1_{kind}"] * case.slope(int(number) - 1) / case.slope(0)
        found += [fit.released[name] @ moved / (block.scale or 1.0) ** 2 for fit in fits]
    return found


def measure(case, runs):
    """Lower bound of eps at DELTA, for Gaussian scores."""
    low, high = sorted((scores(case, which, runs, which) for which in (0, 1)), key=np.median)
    return gaussian_eps(mu_lower_bound(high, low), DELTA)


if __name__ == "__main__":
    print(json.dumps([measure(CASES[name], int(sys.argv[1])) for name in sys.argv[2:]]))
