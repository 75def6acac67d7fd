"""Empirical privacy of noisy tables: can neighbours be told apart by what DPME or Filter-Priority releases?

As a script (``python baselines_audit.py RUNS CASE ...``) it prints the measured lower bound of eps of each case as
JSON: tests run it on patched copies of the package to show that the audit sees a broken one.
"""

import json
import math
import sys
import warnings
from dataclasses import dataclass

import numpy as np

import dplr
from dplr import baselines
from dplr.auditor.sampled import eps_lower_bound
from dplr.baselines import _base
from dplr.noise import Source

EPS, BINS = 2.0, 5
HERE, THERE = 0, 4  # two cells of a column with five bins and two labels


@dataclass(frozen=True)
class Case:
    """Rows in two cells, and one more: in the first of them; or else in the second one, or nowhere.

    Attributes
    ----------
    here, there : the other rows of the two cells.
    theta : of Filter-Priority; 0 for DPME.
    relation : of the neighbours.
    eps : of the fit.
    lowest : whether to look at the first cell alone: has it the least count that is released?
    size : of the sample of Filter-Priority: usually of the whole table.
    whole : whether to look at coefficients of whole fits too, each with entropy of its own.
    """

    here: int
    there: int
    theta: int = 0
    relation: str = "replace_one"
    eps: float = EPS
    lowest: bool = False
    size: int = 2 * BINS
    whole: bool = False

    @property
    def estimator(self):
        options = {"eps": self.eps, "bounds": dplr.Bounds([(0, BINS)]), "bins": BINS, "neighbouring": self.relation}
        if self.whole:
            options |= {"model": "linear", "bounds": dplr.Bounds([(0, BINS)], target=(0, 1)), "bins": [BINS, 2]}
        if self.theta:
            return baselines.FilterPriority(theta=self.theta, size=self.size, **options)
        return baselines.DPME(**options)

    @property
    def places(self):
        """Positions of the two cells in the table: rows of the second one have the target 1 in whole fits."""
        return HERE, THERE + self.whole

    def counts(self, side):
        """Rows of the two cells."""
        replaced = self.relation == "replace_one"
        return (self.here + 1, self.there) if side == 0 else (self.here, self.there + replaced)

    def rows(self, side):
        here, there = self.counts(side)
        X = np.repeat([HERE / 2 + 0.5, THERE / 2 + 0.5], [here, there])[:, None]
        return X, np.repeat([0.0, 1.0], [here, there]) if self.whole else np.zeros(here + there, bool)


CASES = {
    "full": Case(30, 30),
    "full, add_remove": Case(30, 30, 0, "add_remove"),
    "empty": Case(0, 30),
    "empty, add_remove": Case(0, 30, 0, "add_remove"),
    "large": Case(400, 300),
    "filter": Case(3, 30, 4),
    "filter of empty cells": Case(0, 30, 2),
    "filter, add_remove": Case(3, 30, 4, "add_remove"),
    "sample": Case(3, 30, 1, size=3),
    "sample of empty cells": Case(0, 30, 1, size=3),
    "lowest count": Case(0, 30, 0, "add_remove", 1.0, lowest=True),
    "whole fit": Case(30, 30, whole=True),
    "theory": Case(1, 1),
    "theory, add_remove": Case(1, 1, 0, "add_remove"),
    "theory of a small eps": Case(1, 1, 0, "replace_one", 1e-3),
}


def scores(case, side, runs):
    """One number a fit, larger for the first neighbour: the likelihood ratio of what is known of the two cells."""
    X, y = case.rows(side)
    found = np.zeros(runs)
    pair = list(zip(case.counts(0), case.counts(1), strict=True))
    released = whole_fits(case.estimator, X, y, runs) if case.whole else releases(case.estimator, X, y, runs, side)
    for run, (positions, weights, residue) in enumerate(released):
        cells = positions.tolist()
        known = dict(zip(cells, weights.tolist(), strict=True))
        if case.lowest:
            found[run] = known.get(HERE) == max(case.theta, 1)
            continue
        for cell, (one, other) in zip(case.places, pair, strict=True):
            seen = known.get(cell)
            found[run] += log_chance(seen, one, case) - log_chance(seen, other, case)
        found[run] += 1e3 * (cells.count(HERE) > 1)  # no table has a cell twice
        found[run] += 1e6 * np.round(residue, 6)  # no model knows more than the table
    return np.round(found, 6)


def releases(est, X, y, runs, seed):
    """What that many fits release: all of a fit except the regression, which sees only what is released."""
    ready = est._plain_model()._prepared(X, y, est.bounds, [est.eps])
    plan = est._plan(ready.facts, est.eps)
    source = Source(seed=seed)
    rows = _base._rows_of(ready)
    return [(*est._release(ready, rows, plan, source), 0.0) for _ in range(runs)]


def whole_fits(est, X, y, runs):
    """The same for whole fits, and how far a coefficient is from that of least squares of the released cells."""
    for _ in range(runs):
        est.fit(X, y)
        rows, targets, weights = est.points()
        root = np.sqrt(weights)
        design = np.column_stack([rows, np.ones(len(rows))]) * root[:, None]
        own, *_ = np.linalg.lstsq(design, targets * root)
        yield *est.released_.values(), est.coef_[0] - own[0]


def log_chance(seen, count, case):
    """Of a noisy count, or of none, where that many rows lie in the cell."""
    a, theta = math.exp(-case.eps / (2 if case.relation == "replace_one" else 1)), max(case.theta, 1)
    if seen is not None:
        return math.log((1 - a) / (1 + a)) + math.log(a) * abs(seen - count)
    passes = a ** (theta - count) / (1 + a) if theta > count else 1 - a ** (count - theta + 1) / (1 + a)
    return math.log(1 - passes)


def largest_loss(case):
    """What neighbours can differ by, times the loss of the planned noise for one unit."""
    statement = case.estimator.fit(*case.rows(0)).privacy_
    return (2 if case.relation == "replace_one" else 1) / statement.released["counts"].scale


def measure(name, runs):
    """The lower bound of eps that a case shows."""
    case = CASES[name]
    if name.startswith("theory"):
        return largest_loss(case)
    runs = runs // 4 if case.whole else runs
    one, other = scores(case, 0, runs), scores(case, 1, runs)
    both = case.lowest or case.whole  # a fault may show on either side
    return max(eps_lower_bound(one, other), eps_lower_bound(other, one) if both else -math.inf)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps([measure(name, int(sys.argv[1])) for name in sys.argv[2:]]))
