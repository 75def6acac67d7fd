"""Empirical privacy of noisy gradient descent through `fitting.run`: can two neighbours be told apart?

As a script (``python ngd_audit.py RUNS CASE ...``) it prints the measured lower bound of eps of each case as JSON:
tests run it on patched copies of the package to show that the audit sees a broken one.
"""

import json
import sys
from dataclasses import dataclass

import numpy as np

import fits as fitting
from dplr.auditor.sampled import gaussian_eps, mu_lower_bound
from dplr.bounds.scaling import ball_prep
from dplr.ledger.budget import NullLedger
from dplr.mechanisms import NoisyGradientDescent
from dplr.noise import Source
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.losses import LOGISTIC
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows

EPS, DELTA, OTHERS = 1.0, 1e-5, 400


@dataclass(frozen=True)
class Case:
    """Balanced rows and one more, at a learning rate so small that the point hardly moves and every clip is active."""

    steps: int
    clipping: str = "example"
    composition: str = "exact"
    neighbouring: Neighbouring = Neighbouring.REPLACE_ONE
    batch: int | str = "full"
    second: float = 1.0  # row; a shorter one unbalances the others, and the last row carries their sum across zero

    def plan_and_rows(self, last):
        prep = ball_prep(1, False, (-1.0, 1.0))
        X, y = np.ones((OTHERS + 1, 1)), np.append(np.resize([-1.0, 1.0], OTHERS), 1.0)
        X[1] = self.second
        if self.neighbouring is Neighbouring.ADD_REMOVE:
            X, y = X[: OTHERS + last], y[: OTHERS + last]
        else:
            X[-1] = last
        problem = Problem(LOGISTIC, prep.geometry, self.neighbouring, OTHERS + 1, None, ())
        spec = NoisyGradientDescent(
            steps=self.steps, learning_rate=1e-9, clip=0.25, averaging="last", batch=self.batch,
            clipping=self.clipping, composition=self.composition,
        )  # fmt: skip
        return problem, spec, ArrayRows(X, y, prep)


CASES = {
    "one step": Case(1),
    "twenty steps": Case(20),
    "twenty steps, add_remove": Case(20, neighbouring=Neighbouring.ADD_REMOVE),
    "clipped sum": Case(20, clipping="aggregate"),
    "clipped sum, add_remove": Case(20, clipping="aggregate", neighbouring=Neighbouring.ADD_REMOVE, second=0.5),
    "not composed": Case(20, composition="per-step"),
    "batches": Case(20, batch=200),
}


def scores(case, last, runs, seed):
    """What the iterates moved in all, in learning rates: the sum of the released sums."""
    problem, spec, rows = case.plan_and_rows(last)
    fits = fitting.run_many(rows, problem, spec, [EPS] * runs, DELTA, NullLedger(), Source(seed))
    return np.array([fit.released["gradients"].sum() for fit in fits]).round(9)


def measure(case, runs):
    """Lower bound of eps at DELTA, for Gaussian scores."""
    neighbours = (0, 1) if case.neighbouring is Neighbouring.ADD_REMOVE else (1.0, -1.0)
    low, high = sorted((scores(case, last, runs, k) for k, last in enumerate(neighbours)), key=np.median)
    return gaussian_eps(mu_lower_bound(high, low), DELTA)


def stated(case):
    """The eps of the statement."""
    problem, spec, _ = case.plan_and_rows(1)
    return spec.plan(problem, EPS, DELTA).statement.eps


if __name__ == "__main__":
    print(json.dumps([measure(CASES[name], int(sys.argv[1])) for name in sys.argv[2:]]))
