"""Empirical privacy of released second moments: how well can two neighbours be told apart?

As a script (``python moments_audit.py RUNS CASE ...``) it prints the measured lower bound of eps of each case as JSON:
tests run it on patched copies of the package to show that the audit sees a broken one.
"""

import json
import math
import sys
from dataclasses import dataclass, replace

import numpy as np

import dplr
from dplr.auditor.sampled import eps_lower_bound, gaussian_eps, mu_lower_bound
from dplr.bounds.scaling import layout_prep
from dplr.mechanisms.drawing import noisy_blocks
from dplr.moments.law import cells, plan_release
from dplr.moments.released import scaled_problem
from dplr.noise import Source
from dplr.rows import ArrayRows
from dplr.rows.queries.moments import Moments

NAN = math.nan


@dataclass(frozen=True)
class Case:
    """A pair of neighbouring tables that share all rows except the last; () for a row that is not there."""

    columns: tuple[object, ...]
    row: tuple[float, ...]
    other: tuple[float, ...]
    relation: str = "replace_one"
    delta: float = 0.0
    products: tuple[tuple[int, int], ...] = ()
    eps: float = 1.0

    def __hash__(self):
        return hash((self.row, self.other, self.relation, self.delta))


NUMBER = (-1, 1)
LEVELS = {"levels": [0, 1, 2]}
MARKED = {"lower": -1, "upper": 1, "missing": "indicator"}
CURVE = {"lower": 0, "upper": 4, "knots": 3, "transform": "sqrt", "line": False}  # at 0, 1 and 4
CASES = {
    # x^2 and the cell with the constant both move as far as they can: x = 1 against -1/4.
    "one number": Case((NUMBER,), (1.0,), (-0.25,)),
    "one number, far outside": Case((NUMBER,), (1e6,), (-0.25,)),
    "one number, add_remove": Case((NUMBER,), (1.0,), (), "add_remove"),
    "one block": Case((LEVELS,), (0,), (1,)),
    "one block, add_remove": Case((LEVELS,), (0,), (), "add_remove"),
    "number with a mark": Case((MARKED,), (1.0,), (NAN,)),
    "number times levels": Case((NUMBER, LEVELS), (1.0, 0), (1.0, 1), products=((0, 1),)),
    # Two knots, and the cell of two that are neighbours.
    "curve": Case((CURVE,), (0.0,), (4.0,)),
    "curve, add_remove": Case((CURVE,), (1.0,), (), "add_remove"),
    "between knots": Case((CURVE,), (0.25,), (4.0,)),
    # Rows of eight signs that differ in five are orthogonal, with the constant.
    "gaussian, orthogonal rows": Case((NUMBER,) * 8, (1.0,) * 8, (1.0,) * 3 + (-1.0,) * 5, delta=1e-5),
    "gaussian, far outside": Case((NUMBER,) * 8, (9.0,) * 8, (9.0,) * 3 + (-9.0,) * 5, delta=1e-5),
    "gaussian, add_remove": Case((NUMBER,) * 3, (1.0, -1.0, 1.0), (), "add_remove", delta=1e-5),
}


def tables(case):
    """Both tables; the shared rows are arbitrary."""
    shared = np.zeros((6, len(case.columns)))
    return [np.vstack([shared, np.array([row])]) if row else shared for row in (case.row, case.other)]


def releases(case, X, eps, source, runs=1):
    """All released numbers of each of `runs` releases (runs, numbers), and the scale of each."""
    layout = dplr.Bounds(list(case.columns), products=case.products).layout
    prep, n_rows = layout_prep(layout, True, None), None if case.relation == "add_remove" else len(X)
    problem = scaled_problem(layout, case.relation, n_rows)
    plan = plan_release(problem, eps, case.delta if math.isfinite(eps) else 0.0)
    total = ArrayRows(X, np.zeros(len(X)), prep).total(Moments(prep.geometry.d, True))
    parts = {name: (total, where, 0) for name, where in cells(prep.geometry, problem.neighbouring).items()}
    plan = replace(plan, statement=replace(plan.statement, reproducible=True))
    scales = np.concatenate([np.full(r.shape, r.scale) for r in plan.statement.released.values()])
    drawn = [np.concatenate(list(noisy_blocks(parts, plan, source).values())) for _ in range(runs)]
    return np.array(drawn), scales


def scores(case, runs):
    """Log likelihood ratios of `runs` releases of each table."""
    data = tables(case)
    ((left,), _), ((right,), _) = (releases(case, X, math.inf, Source()) for X in data)
    result = []
    for seed, X in enumerate(data):
        noisy, scales = releases(case, X, case.eps, Source(seed=seed), runs)  # a fixed key: one verdict in every run
        if case.delta:
            values = (((noisy - right) ** 2 - (noisy - left) ** 2) / (2 * scales**2)).sum(axis=1)
        else:
            values = ((np.abs(noisy - right) - np.abs(noisy - left)) / scales).sum(axis=1)
        result.append(np.round(values, 9))
    return result


def measure(case, runs):
    """The lower bound of eps that a case shows."""
    found = scores(case, runs)
    return gaussian_eps(mu_lower_bound(*found), case.delta) if case.delta else eps_lower_bound(*found)


if __name__ == "__main__":
    print(json.dumps([measure(CASES[name], int(sys.argv[1])) for name in sys.argv[2:]]))
