"""Privacy of released second moments, exactly: what two neighbours differ by, over the noise that is asked for.

As a script (``python moments_audit.py 0 CASE ...``) it prints what each case shows as a share of what is allowed: tests
run it on patched copies of the package to show that the audit sees a broken one.
"""

import json
import math
import sys
from dataclasses import dataclass

import numpy as np

import dplr
from dplr.bounds.scaling import layout_prep
from dplr.mechanisms.drawing import noisy_blocks
from dplr.moments.law import cells, plan_release
from dplr.moments.released import scaled_problem
from dplr.noise import Source
from dplr.rows import ArrayRows
from dplr.rows.exact import Moments
from silent_noise import largest_distance, numbers_over_noise, silent_noise

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


def released(case, X):
    """All released numbers over their noise, and the guarantee of the release."""
    layout = dplr.Bounds(list(case.columns), products=case.products).layout
    prep, n_rows = layout_prep(layout, True, None), None if case.relation == "add_remove" else len(X)
    plan = plan_release(scaled_problem(layout, case.relation, n_rows), case.eps, case.delta)
    total = ArrayRows(X, np.zeros(len(X)), prep).total(Moments(prep.geometry.d, True))
    parts = {name: (total, where, 0) for name, where in cells(prep.geometry, plan.problem.neighbouring).items()}
    with silent_noise() as asked:
        numbers = noisy_blocks(parts, plan, Source(seed=0))
    blocks = plan.statement.released
    return numbers_over_noise(
        [numbers[name] for name in blocks], list(blocks.values()), asked
    ), plan.statement.guarantee


def measure(case, _):
    """What both tables show, as a share of eps, or of mu, which is the distance of means over the noise."""
    (left, guarantee), (right, _) = (released(case, X) for X in tables(case))
    if case.delta:
        return largest_distance([left], [right], norm=2) / guarantee.mu
    return largest_distance([left], [right]) / guarantee.eps


if __name__ == "__main__":
    print(json.dumps([measure(CASES[name], int(sys.argv[1])) for name in sys.argv[2:]]))
