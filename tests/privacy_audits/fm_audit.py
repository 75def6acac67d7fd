"""Empirical privacy of the functional mechanism through `fitting.run`: how well can two neighbours be told apart?

As a script (``python fm_audit.py RUNS CASE ...``) it prints the measured lower bound of eps of each case as JSON: tests
run it on patched copies of the package to show that the audit sees a broken one.
"""

import json
import math
import sys
from dataclasses import dataclass

import numpy as np

import dplr
import fits as fitting
from dplr.auditor.sampled import eps_lower_bound, gaussian_eps, mu_lower_bound
from dplr.bounds.scaling import Prep, ball_prep, box_prep, layout_prep
from dplr.ledger.budget import NullLedger
from dplr.mechanisms.functional.spec import FunctionalMechanism
from dplr.noise import Source
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.geometry import GRID, INTERCEPT, Geometry
from dplr.problem.losses import LOGISTIC, SQUARED
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows


@dataclass(frozen=True)
class ReleaseAlone(FunctionalMechanism):
    """The mechanism without the solver: an audit looks at what is released, and half of a small fit is the solver."""

    def solve(self, plan, released):
        return [np.zeros(0)] * len(released)


@dataclass(frozen=True)
class ResidualsAtZero(FunctionalMechanism):
    """Without the solver too: squared residuals are released at coefficients of 0."""

    def solve(self, plan, released):
        return [np.zeros(0)] * len(released)

    def _least_squares(self, plan, released):
        return np.zeros(plan.problem.geometry.n_coefs)


DEFAULT = ReleaseAlone()
ROBUST = ResidualsAtZero(coef_norm=0.05, intervals="robust")


@dataclass(frozen=True)
class Case:
    """A pair of neighbouring data sets that share all rows but the last."""

    d: int
    row: tuple[float, ...]
    target: float
    other_row: tuple[float, ...]
    other_target: float
    labels: bool = True
    bounds: bool = False
    fit_intercept: bool = False
    relation: Neighbouring = Neighbouring.REPLACE_ONE
    eps: float = 1.0
    spec: FunctionalMechanism = DEFAULT
    floating_point: bool = False
    delta: float = 0.0
    block: tuple[int, int] | None = None  # first column and size of a one-hot block; the columns before are numeric
    products: bool = False  # the block is one of numbers in [-1, 1] of which at most one is not 0
    times_levels: bool = False  # a number in [-1, 1], a level from 0 to 7, and their product: encoded by the package
    marked: bool = False  # numbers in [-1, 1] of which NaN is missing, and marked: encoded by the package
    columns: tuple[object, ...] = ()  # declared columns, encoded by the package; all products if there are two


# With a small weight the joint sensitivity is that of the linear block, which a flipped label reaches in few numbers:
# the case in which an event can show nearly all of eps.
LINEAR = ReleaseAlone(coef_norm=0.05)


# Three knots on the scale of the root, 0, 1 and 2; and a number just below the second.
CURVE = {"lower": 0, "upper": 4, "knots": 3, "transform": "sqrt", "line": False}
BESIDE = 1 - 2.0**-30
# At this weight the quadratic block comes free in L2, and a flipped label is the worst pair.
FREE = ReleaseAlone(coef_norm=0.05)
RERUN = ReleaseAlone(coef_norm=0.05, unbounded="rerun")


def label_flip(d, spec=LINEAR, **options):
    """Same row on the sphere, other label."""
    row = (1 / math.sqrt(d),) * d
    return Case(d, row, 1.0, row, 0.0 if options.get("labels", True) else -1.0, spec=spec, **options)


def default_worst(d, **options):
    """The worst pair of the default weight in one dimension: other label, and the other row at the parabola's top."""
    return Case(d, (1.0,), 1.0, (0.42,), 0.0 if options.get("labels", True) else -1.0, **options)


CASES = {
    "logistic d=1": label_flip(1),
    "logistic d=2": label_flip(2),
    "logistic d=2 intercept": label_flip(2, fit_intercept=True),
    "logistic d=1 bounds": Case(1, (1.0,), 1.0, (1.0,), 0.0, bounds=True, fit_intercept=True, spec=LINEAR),
    "logistic d=2 bounds": Case(2, (1.0, 1.0), 1.0, (1.0, 1.0), 0.0, bounds=True, fit_intercept=True, spec=LINEAR),
    "squared d=1": label_flip(1, labels=False),
    "squared d=2": label_flip(2, labels=False),
    "default weight, logistic d=1": default_worst(1),
    "default weight, squared d=1 corner": default_worst(1, labels=False, bounds=True),
    "default weight, add_remove d=1": label_flip(1, DEFAULT, relation=Neighbouring.ADD_REMOVE),
    "default weight, add_remove d=2 bounds": Case(
        2, (1.0, 1.0), 1.0, (), 0.0, bounds=True, fit_intercept=True, relation=Neighbouring.ADD_REMOVE
    ),
    # The linear totals are +0.5 and -0.5.
    "floating point": Case(1, (0.5,), 1.0, (0.5,), 0.0, spec=LINEAR, floating_point=True),
    "gaussian, logistic d=1": label_flip(1, FREE, delta=1e-5),
    "gaussian, logistic d=2": label_flip(2, FREE, delta=1e-5),
    "gaussian, squared d=2 intercept": label_flip(2, FREE, labels=False, fit_intercept=True, delta=1e-5),
    # All columns are one block: the rows have different levels, and every cell moves as far as it can.
    "default weight, one block": Case(2, (1.0, 0.0), 1.0, (0.0, 1.0), 0.0, block=(0, 2)),
    "one block": Case(2, (1.0, 0.0), 1.0, (0.0, 1.0), 0.0, block=(0, 2), spec=LINEAR),
    "default weight, number beside a block": Case(
        3, (1.0, 1.0, 0.0), 1.0, (1.0, 0.0, 1.0), 0.0, block=(1, 2), fit_intercept=True
    ),
    "default weight, add_remove one block": Case(
        2, (1.0, 0.0), 1.0, (), 0.0, block=(0, 2), relation=Neighbouring.ADD_REMOVE
    ),
    # A number against a missing one moves every cell as far as it can; a flipped label moves a missing one's.
    "default weight, number with a mark": Case(1, (1.0,), 1.0, (math.nan,), 0.0, marked=True, fit_intercept=True),
    "number with a mark": Case(1, (1.0,), 1.0, (math.nan,), 0.0, marked=True, fit_intercept=True, spec=LINEAR),
    "missing number": Case(1, (math.nan,), 1.0, (math.nan,), 0.0, marked=True, fit_intercept=True, spec=LINEAR),
    "default weight, add_remove number with a mark": Case(
        1, (1.0,), 1.0, (), 0.0, marked=True, fit_intercept=True, relation=Neighbouring.ADD_REMOVE
    ),
    # As for levels, and the squares move too; with an intercept they are cells of their own.
    "default weight, block of numbers": Case(2, (1.0, 0.0), 1.0, (0.0, 1.0), 0.0, block=(0, 2), products=True),
    "default weight, block of numbers, intercept": Case(
        2, (1.0, 0.0), 1.0, (0.0, 1.0), 0.0, block=(0, 2), products=True, fit_intercept=True
    ),
    "default weight, add_remove block of numbers": Case(
        2, (-1.0, 0.0), 1.0, (), 0.0, block=(0, 2), products=True, relation=Neighbouring.ADD_REMOVE
    ),
    "number times levels": Case(
        2, (1.0, 0.0), 1.0, (1.0, 0.0), 0.0, times_levels=True, fit_intercept=True, spec=LINEAR
    ),
    # Shares of knots: two knots move every cell as far as it can, also those of the curve of each level.
    "default weight, curve": Case(1, (0.0,), 1.0, (4.0,), 0.0, columns=(CURVE,)),
    "default weight, curve, intercept": Case(1, (0.0,), 1.0, (4.0,), 0.0, columns=(CURVE,), fit_intercept=True),
    "curve": Case(1, (0.0,), 1.0, (4.0,), 0.0, columns=(CURVE,), spec=LINEAR),
    "default weight, add_remove curve": Case(
        1, (1.0,), 1.0, (), 0.0, columns=(CURVE,), relation=Neighbouring.ADD_REMOVE
    ),
    "default weight, curve of levels": Case(
        2, (0.0, 0.0), 1.0, (4.0, 1.0), 0.0, columns=(CURVE, {"levels": [0, 1]}), fit_intercept=True
    ),
    # Beside a knot and half way between two: a cell of neighbours moves.
    "beside a knot": Case(1, (BESIDE,), 1.0, (4.0,), 0.0, columns=(CURVE,), spec=LINEAR),
    "default weight, neighbours": Case(1, (0.25,), 1.0, (4.0,), 0.0, columns=(CURVE,)),
    # Sum y^2 moves, and little else: a target of 1 against one of 0. Targets beyond their bounds count as 1.
    "sum y^2 d=1": Case(1, (1.0,), 1.0, (1.0,), 0.0, labels=False, bounds=True, spec=LINEAR),
    "gaussian, sum y^2 d=1": Case(1, (1.0,), 1.0, (1.0,), 0.0, labels=False, bounds=True, spec=FREE, delta=1e-5),
    "sum y^2, add_remove d=1": Case(
        1, (1.0,), 1.0, (), 0.0, labels=False, bounds=True, relation=Neighbouring.ADD_REMOVE
    ),
    "target beyond its bounds": Case(1, (1.0,), 4.0, (1.0,), -1.0, labels=False, bounds=True, spec=LINEAR),
    # Two rows at right angles.
    "gaussian, squared residuals d=2": Case(2, (1.0, 0.0), 1.0, (0.0, 1.0), 1.0, labels=False, delta=1e-5, spec=ROBUST),
    "squared residuals d=2": Case(2, (1.0, 0.0), 1.0, (0.0, 1.0), 1.0, labels=False, spec=ROBUST),
    "rerun, squared d=1": label_flip(1, RERUN, labels=False),
    "paper d=1": label_flip(1, ReleaseAlone(calibration="paper")),
}


def block_prep(case):
    """Numbers in [-1, 1], then one block of columns that are 0 or 1, or numbers too."""
    first, size = case.block
    units = float(math.isqrt(2**40 // (first + 1)))
    least = -units if case.products else 0.0
    low, high = np.append([-units] * first + [least] * size, -GRID), np.append([units] * case.d, GRID)
    intercept = INTERCEPT if case.fit_intercept else 0.0
    group = {"shared" if case.products else "blocks": (case.block,)}
    geometry = Geometry(case.d, half_width=units / GRID, intercept=intercept, **group)
    return Prep(geometry, np.zeros(case.d + 1), high.copy(), low, high, (0.0, 1.0))


def neighbours(case):
    """The prep and both data sets; the shared rows are arbitrary."""
    labels = (0.0, 1.0) if case.labels else None
    shared = np.tile([0.3, -0.2][: case.d], (6, 1))
    if case.block:
        prep, shared = block_prep(case), np.eye(6, case.d)
    elif case.times_levels:
        levels = dplr.Bounds([(-1, 1), {"levels": list(range(8))}], products=[(0, 1)])
        prep = layout_prep(levels.layout, case.fit_intercept, labels)
        shared = np.column_stack([np.linspace(-1, 1, 6), np.arange(6)])
    elif case.columns:
        known = dplr.Bounds(list(case.columns), products=[(0, 1)] if case.d == 2 else [])
        prep, shared = layout_prep(known.layout, case.fit_intercept, labels), np.tile([2.25, 1.0][: case.d], (6, 1))
    elif case.marked:
        marked = dplr.Bounds([{"lower": -1, "upper": 1, "missing": "indicator"}] * case.d)
        prep, shared[::2] = layout_prep(marked.layout, case.fit_intercept, labels), math.nan
    elif case.bounds:
        low = 0.0 if not case.fit_intercept else -1.0
        prep = box_prep([(low, 1.0)] * case.d, case.fit_intercept, labels)
    else:
        prep = ball_prep(case.d, case.fit_intercept, labels)
    targets = np.array([1.0, 0.0] * 3)
    pairs = []
    add_remove = case.relation is Neighbouring.ADD_REMOVE
    for row, target in ((case.row, case.target), (case.other_row, case.other_target)):
        last = not (add_remove and row is not case.row)
        X = np.vstack([shared, np.array([row])]) if last and row else shared
        pairs.append((X, np.append(targets, target) if len(X) == 7 else targets))
    return prep, pairs


def releases(case, prep, X, y, eps, source, runs=1):
    """All released numbers of each of `runs` whole fits (runs, numbers), and their plan's scales."""
    loss = LOGISTIC if case.labels else SQUARED
    delta = case.delta if math.isfinite(eps) else 0.0
    n_rows = None if case.relation is Neighbouring.ADD_REMOVE else len(X)
    problem = Problem(loss, prep.geometry, case.relation, n_rows, None, ())
    fits = fitting.run_many(ArrayRows(X, y, prep), problem, case.spec, [eps] * runs, delta, NullLedger(), source)
    scales = np.concatenate([np.full(r.shape, r.scale) for r in fits[0].statement.released.values()])
    return np.array([np.concatenate(list(fit.released.values())) for fit in fits]), scales


def scores(case, runs):
    """Log likelihood ratios of `runs` releases of each data set."""
    prep, data = neighbours(case)
    ((left,), _), ((right,), _) = (releases(case, prep, X, y, math.inf, Source()) for X, y in data)
    result = []
    for seed, (X, y) in enumerate(data):
        # A fixed key: the same verdict in every run.
        noisy, scales = releases(case, prep, X, y, case.eps, Source(seed=seed), runs)
        if case.floating_point:
            values = np.array([residue(numbers) for numbers in noisy])
        elif case.delta:
            values = (((noisy - right) ** 2 - (noisy - left) ** 2) / (2 * scales**2)).sum(axis=1)
        else:
            # Of Laplace noise around the two exact releases.
            values = ((np.abs(noisy - right) - np.abs(noisy - left)) / scales).sum(axis=1)
        result.append(np.round(values, 9))  # below 1e-9 only floating-point residue would be told apart
    return result


def residue(noisy):
    """1 where the linear number is one that float64 noise added to +0.5 reaches, and added to -0.5 does not.

    Above 0.5 a sum with -0.5 comes from noise above 1, whose last bit is worth 2^-52; a sum with +0.5 comes from
    smaller noise with finer bits (Mironov 2012).
    """
    return float(noisy[0] > 0.5 and (noisy[0] + 0.5) - (noisy[0] - 0.5) != 1.0)


def measure(case, runs):
    """The lower bound of eps that a case shows."""
    found = scores(case, runs)
    return gaussian_eps(mu_lower_bound(*found), case.delta) if case.delta else eps_lower_bound(*found)


def theory(case):
    """The privacy loss this pair can show at most: its own change over the joint sensitivity."""
    prep, data = neighbours(case)
    ((left,), _), ((right,), _) = (releases(case, prep, X, y, math.inf, Source()) for X, y in data)
    _, scales = releases(case, prep, *data[0], case.eps, Source())
    return float((np.abs(left - right) / scales).sum())


if __name__ == "__main__":
    print(json.dumps([measure(CASES[name], int(sys.argv[1])) for name in sys.argv[2:]]))
