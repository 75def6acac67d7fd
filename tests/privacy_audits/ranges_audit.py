"""Empirical privacy of private ranges and the models in them through `fitting.run`: can two neighbours be told apart?

As a script (``python ranges_audit.py RUNS CASE ...``) it prints the measured lower bound of eps of each case as JSON:
tests run it on patched copies of the package to show that the audit sees a broken one.
"""

import json
import sys
import unittest.mock
from dataclasses import dataclass

import numpy as np
from scipy import special

from dplr.auditor.sampled import eps_lower_bound
from dplr.bounds.scaling import box_prep
from dplr.fitting import ranges
from dplr.fitting import run as fitting
from dplr.fitting.one_vs_rest import plan_models
from dplr.mechanisms.functional.spec import FunctionalMechanism
from dplr.noise import Source
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.losses import LOGISTIC, SQUARED
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows

EPS, OTHERS, SHARE = 2.0, 2_000, 0.5
LARGER = {"_SHARE": SHARE, "_ENOUGH_NOISE": 1e-9}  # the default share is too small to be seen beside the models


@dataclass(frozen=True)
class ReleaseAlone(FunctionalMechanism):
    """The mechanism without the solver: an audit looks at what is released."""

    def solve(self, plan, released):
        return [np.zeros(0)] * len(released)


@dataclass(frozen=True)
class Case:
    """Rows in the middle of their bounds, and one more that is far from it.

    Attributes
    ----------
    score : what of the release is looked at: `"ranges"` and `"all"` weigh numbers as the likelihood ratio does,
        `"intervals"` looks at the width of the first range, and the theory at the largest loss of any pair of records;
        `"label"` at the sum of the numbers, of neighbours that differ in a label alone; `"delta"` computes the delta
        of ranges and models together as a share of that stated.
    columns : numbers, all of which the last row changes.
    labels : whether the target is a label, of which the ranges know nothing.
    delta : that of the models, whose noise is then Gaussian.
    """

    score: str
    columns: int = 1
    relation: Neighbouring = Neighbouring.REPLACE_ONE
    labels: bool = False
    delta: float = 0.0

    @property
    def eps(self):
        """What may be seen."""
        return {"all": EPS, "theory": EPS, "label": 0.0, "delta": 1.0}.get(self.score, SHARE * EPS)

    @property
    def problem(self):
        loss = LOGISTIC if self.labels else SQUARED
        return Problem(loss, self.prep.geometry, self.relation, OTHERS + 1, None, ())

    @property
    def prep(self):
        return box_prep([(-1.0, 1.0)] * self.columns, True, (-1.0, 1.0) if self.labels else None)

    def rows(self, side):
        """Rows of one of the neighbours."""
        X, y = np.zeros((OTHERS + 1, self.columns)), np.zeros(OTHERS + 1)
        y[::2], y[1::2] = (1.0, -1.0) if self.labels else (0.0, 0.0)
        X[-1], y[-1] = (1.0, 1.0) if side == 0 else (-0.5, -1.0)
        if self.score == "label":
            X[-1] = 1.0
        if self.relation is Neighbouring.ADD_REMOVE:
            X, y = X[: OTHERS + 1 - side], y[: OTHERS + 1 - side]
        return ArrayRows(X, y, self.prep)


CASES = {
    "ranges": Case("ranges"),
    "theory of ranges": Case("theory of ranges", 3),
    "theory of ranges, add_remove": Case("theory of ranges", 2, Neighbouring.ADD_REMOVE),
    "intervals": Case("intervals"),
    "theory": Case("theory"),
    "all": Case("all"),
    "all, add_remove": Case("all", 1, Neighbouring.ADD_REMOVE),
    "ranges of labels": Case("ranges", labels=True),
    "label alone": Case("label", labels=True),
    "theory of labels": Case("theory", labels=True),
    "all, labels": Case("all", labels=True),
    "all, delta": Case("all", delta=1e-4),
    "all, labels, delta": Case("all", labels=True, delta=1e-4),
    "delta of both": Case("delta", delta=1e-4),
    "delta of both, labels": Case("delta", delta=1e-4, labels=True),
}


def planned(case):
    """Ranges first, then moments for a linear model."""
    mechanism, problem = ReleaseAlone(ranges="on"), case.problem
    with unittest.mock.patch.multiple(ranges, **LARGER):
        planned = ranges.plan_ranges(mechanism, problem, case.prep, EPS, case.delta)
    models = plan_models(mechanism, problem, planned.remainder, case.delta)
    return ranges.with_ranges(models, planned, EPS)


def scores(case, side, runs):
    """One number a release, larger for the first neighbour."""
    plan = planned(case)
    rows, pair = case.rows(side), [case.rows(k) for k in (0, 1)]
    found = fitting.run(rows, [plan] * runs, Source(seed=side))
    if case.score == "label":
        return np.round([each.ranges[ranges.SUMS][0] for each in found], 6)
    if case.score == "intervals":
        return np.array([each.ends[1][0] for each in found])
    values = ratio([each.ranges for each in found], plan.first.released, [sums(rows, case) for rows in pair])
    if case.score == "all":
        for k, each in enumerate(found):
            exact = [moments(rows.narrowed(*each.ends), case) for rows in pair]
            values[k] += ratio([each.parts[0]], plan.model.statement.released, exact)[0]
    return np.round(values, 6)


def ratio(released, blocks, exact):
    """Log likelihood ratios of Laplace or Gaussian noise around the exact numbers of both neighbours."""
    total = np.zeros(len(released))
    for name, block in blocks.items():
        noisy = np.array([numbers[name] for numbers in released])
        left, right = (np.floor(numbers[name] / block.grid) * block.grid for numbers in exact)
        if block.law.gaussian:
            total += (((noisy - right) ** 2 - (noisy - left) ** 2) / (2 * block.scale**2)).sum(axis=1)
        else:
            total += ((np.abs(noisy - right) - np.abs(noisy - left)) / block.scale).sum(axis=1)
    return total


def sums(rows, case):
    """Exact sums and squares: every column is the same."""
    x = np.ravel(rows.arrays()[0][:, :1])
    c = case.prep.geometry.half_width
    return {
        ranges.SUMS: np.full(case.columns, c * x.sum()),
        ranges.SQUARES: np.full(case.columns, c * c * (x * x).sum()),
        ranges.RECORDS: np.array([len(x)]),
    }


def moments(rows, case):
    """Exact numbers of every block of the model in its ranges."""
    mechanism = ReleaseAlone()
    return mechanism.run(rows, mechanism.plan(case.problem, float("inf"), 0.0), Source())


def largest_loss(case):
    """The largest sum of what the releases can show, over records and over the ranges between them; one number."""
    plan = planned(case)
    first, models = plan.first.released, plan.model.statement.released
    ends, signs, c, iota = (
        np.linspace(-1, 1, 9),
        (-1.0, 1.0),
        case.prep.geometry.half_width,
        case.prep.geometry.intercept,
    )
    there = case.relation is Neighbouring.REPLACE_ONE  # whether another record comes in the place of the first
    x, other, y, other_y, middle, half = np.meshgrid(ends, ends, signs, signs, ends, np.linspace(0.05, 1, 5))
    other, other_y, moved = other * there, other_y * there, case.columns
    loss = c * abs(x - other) / first[ranges.SUMS].scale + c * c * abs(x**2 - other**2) / first[ranges.SQUARES].scale
    records = 0.0 if there else 1 / first[ranges.RECORDS].scale
    if case.score == "theory of ranges":
        return float(moved * loss.max() + records)
    x, other = c * np.clip((x - middle) / half, -1, 1), c * np.clip((other - middle) / half, -1, 1)
    loss += (abs(x * y - other * other_y) + iota * abs(y - other_y)) / models["linear"].scale
    loss += abs(x**2 - other**2) / models["diagonal"].scale + iota * abs(x - other) / models["off_diagonal"].scale
    loss += records
    return float(loss.max())


def delta_of_both(case):
    """The hockey stick at eps of the Laplace noise of ranges and the Gaussian noise of models, over the delta stated.

    Of the record that moves the ranges as far as it can, and models that tell neighbours apart as well as they may.
    """
    plan, c = planned(case), case.prep.geometry.half_width
    first, mu = plan.first.released, plan.model.statement.guarantee.mu
    shares = (np.arange(2_000) + 0.5) / 2_000
    noise = np.sign(shares - 0.5) * -np.log1p(-2 * np.abs(shares - 0.5))
    sums, squares = (
        np.abs(noise - moved) - np.abs(noise)
        for moved in (1.5 * c / first[ranges.SUMS].scale, 0.75 * c * c / first[ranges.SQUARES].scale)
    )
    left = EPS - np.add.outer(sums, squares)  # of eps, once the ranges showed what they show
    found = special.ndtr(mu / 2 - left / mu) - np.exp(left) * special.ndtr(-mu / 2 - left / mu)
    return float(found.mean() / plan.statement.delta)


def measure(case, runs):
    """The lower bound of eps that a case shows."""
    if case.score.startswith("theory"):
        return largest_loss(case)
    if case.score == "delta":
        return delta_of_both(case)
    return eps_lower_bound(scores(case, 0, runs), scores(case, 1, runs), delta=case.delta)


if __name__ == "__main__":
    print(json.dumps([measure(CASES[name], int(sys.argv[1])) for name in sys.argv[2:]]))
