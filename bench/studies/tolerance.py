"""Objective perturbation: what do the noises and the solver add to the loss, and what does the tolerance cost in time?

Income above 50,000 dollars, 13 features and an intercept, from the training rows of the ACS file that DPLR_DATA names
(the first 296,000; for more they are drawn with replacement). One fit of each size with the default ridge gives the
Hessian H of the regularised sum. Then, a row, from the plan's public numbers, in the quadratic model at the minimum:

    own         of the linear term b:                             E b'H^-1 b / 2n
    tolerance   of the noise z that pays for the tolerance:       E z'H z / 2n
    share       of tolerance in own, in percent
    eps         of the share of eps that pays for it, in percent of own
    solver      at most, for a minimum that is tau / Lam away:    (tau / Lam)^2 ||H|| / 2n
    was         the share of tolerance in own with the tolerance of one record's largest gradient times 2^-13

`passes` is the time of the fit's minimum in reads of the rows for a gradient, `was_passes` that with the former
tolerance, in the same run on one thread. For 10^8 rows H is that of the training rows, scaled, and nothing is fitted.

    DPLR_NUM_THREADS=1 DPLR_DATA=<folder> python -m bench.studies.tolerance bench/results/tolerance.csv
"""

import csv
import os
import sys
import time
from fractions import Fraction

import numpy as np

import dplr
from bench.accuracy.acs import load
from bench.data.tables import FEATURES
from dplr.bounds.scaling import box_prep
from dplr.noise import Source
from dplr.problem.losses import LOGISTIC
from dplr.rows import ArrayRows
from dplr.rows.losses import LossGradient, LossGradientHessian
from dplr.solvers.certificate import Objective

SIZES = (20_000, 370_000, 2_000_000)
PLANNED = 100_000_000
BUDGETS = ((1.0, 0.0), (0.1, 0.0), (1.0, 1e-6), (0.1, 1e-6))
RUNS = 5
D = len(FEATURES)


def planned(n, eps, delta):
    """The plan of a fit with all defaults."""
    return dplr.plan(n_rows=n, n_features=D, eps=eps, delta=delta, mechanism="objective")


def linear_term(block):
    """A draw of b."""
    source = Source(0)
    fine = Fraction(block.scale) * 2**40
    units = source.normals(fine, D + 1) if block.law.gaussian else source.norm_gamma(fine, D + 1)
    return units * 2.0**-40


def seconds(work):
    """CPU seconds, the least of several runs."""
    found = []
    for _ in range(RUNS):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def excess(plan, hessian, n):
    """Excess loss a row by source, and shares in percent."""
    block, solved = plan.released["coef"], plan.settings
    values, size = np.linalg.eigvalsh(hessian), D + 1
    pure = 1.0 if block.law.gaussian else size + 1.0
    own = pure * block.scale**2 * (1 / values).sum() / (2 * n)
    cost = 2 * solved.tolerance_noise**2 * values.sum() / (2 * n)
    former = 2**-13 * plan.problem.geometry.row_norm / solved.tolerance
    return {
        "tau": f"{solved.tolerance:.3g}",
        "own": f"{own:.3g}",
        "tolerance": f"{cost:.3g}",
        "share": f"{100 * cost / own:.2g}",
        "eps_share": f"{100 * (1 - (1 - 2**-8) ** 2):.2g}",
        "solver": f"{(solved.tolerance / solved.ridge) ** 2 * values[-1] / (2 * n):.2g}",
        "was": f"{100 * former**2 * cost / own:.3g}",
    }


def fitted(rows, plan, n):
    """The Hessian at a fit's minimum, and what the minimum takes in reads of the rows, now and with the former tau."""
    solved, zeros = plan.settings, np.zeros(D + 1)
    objective = Objective(LOGISTIC, solved.ridge, zeros, linear_term(plan.released["coef"]))
    coef, _ = rows.minimise(objective, solved.tolerance, solved.passes)
    hessian = rows.total(LossGradientHessian(LOGISTIC, D, True), coef).hessian
    read = seconds(lambda: rows.total(LossGradient(LOGISTIC, D, True), coef))
    taus = solved.tolerance, 2**-13 * plan.problem.geometry.row_norm
    now, was = (seconds(lambda tau=tau: rows.minimise(objective, tau, solved.passes)) for tau in taus)
    return hessian + solved.ridge * np.eye(D + 1), {"passes": f"{now / read:.1f}", "was_passes": f"{was / read:.1f}"}


def main(path):
    X, income, _, _ = load(os.environ["DPLR_DATA"])
    y = (income > 50_000).astype(float)
    found, mean = [], None
    for n in SIZES:
        part = np.arange(n) if n <= len(y) else np.random.default_rng(0).integers(0, len(y), n)
        rows = ArrayRows(X[part], y[part], box_prep(list(FEATURES.values()), True, (0.0, 1.0)))
        for eps, delta in BUDGETS:
            plan = planned(n, eps, delta)
            hessian, passes = fitted(rows, plan, n)
            found.append({"n": n, "eps": eps, "delta": delta, **excess(plan, hessian, n), **passes})
            print(*found[-1].values(), flush=True)
            mean = (hessian - plan.settings.ridge * np.eye(D + 1)) / n
    for eps, delta in BUDGETS:
        plan = planned(PLANNED, eps, delta)
        hessian = PLANNED * mean + plan.settings.ridge * np.eye(D + 1)
        found.append({"n": PLANNED, "eps": eps, "delta": delta, **excess(plan, hessian, PLANNED)})
        found[-1] |= {"passes": "", "was_passes": ""}
        print(*found[-1].values(), flush=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, found[0])
        writer.writeheader()
        writer.writerows(found)


if __name__ == "__main__":
    main(sys.argv[1])
