"""Neighbours under the integer laws of whole plans, in fractions: what noisy sums lose is never above the statement.

A table and a neighbour are compared along one history: the sums of the neighbour are made at the points to which the
release of the table leads. Output and objective perturbation are in test_exact_releases.py.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

import dplr
from dplr.bounds.scaling import box_prep
from dplr.mechanisms import drawing
from dplr.noise import Source
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.losses import LOGISTIC, SQUARED
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows

PAIRS, ROWS = 250, 40  # pairs of each case
LAPLACE, GAUSSIAN = "laplace", "gaussian"


class History(Source):
    """A source without noise: it keeps the whole numbers to which noise would be added, and the noise's units.

    A second one hands out what the first has released.
    """

    def __init__(self, first=None):
        super().__init__(0)
        self.first, self.sums, self.units = first, [], []

    def noisy_cells(self, total, block, cells, _, power=0):
        exponent = math.frexp(block.grid)[1] - 1
        self.units.append(block.units)
        self.sums.append(total.integers(exponent + power, cells))
        kept = self if self.first is None else self.first
        return np.ldexp(kept.sums[len(self.sums) - 1].astype(np.float64), exponent)


def histories(spec, plan, one, other):
    found = []
    for rows in (one, other):
        with pytest.MonkeyPatch.context() as patch:
            history = History(found[0] if found else None)
            patch.setattr(drawing, "noisy_cells", history.noisy_cells)
            spec.run(rows, plan, history)
        found.append(history)
    return found


def lost(first, second, power):
    """The sum of |change / units|, or of change^2 / variance, of all noisy numbers: the eps or the mu^2 of a pair."""
    assert first.units == second.units
    assert len(first.sums) == len(first.units)
    changes = [
        sum(abs(int(a) - int(b)) ** power for a, b in zip(one.ravel(), other.ravel(), strict=True))
        for one, other in zip(first.sums, second.sums, strict=True)
    ]
    return sum((Fraction(change, units) for change, units in zip(changes, first.units, strict=True)), Fraction(0))


def pair(seed, numbers, d):
    """Rows, and those of a neighbour: most records are corners of the box, and the other record is the opposite.

    Some columns are shares of knots: most records are at a knot, and the other record is at another one.
    """
    rng = np.random.default_rng(seed)
    relation = Neighbouring(["replace_one", "add_remove"][seed % 2])
    prep = box_prep([(-1.0, 1.0)] * d, seed % 3 > 0, None if numbers else (-1.0, 1.0), (-1.0, 1.0) if numbers else None)
    X = rng.uniform(-1.2, 1.2, (ROWS, d)) if seed % 5 == 0 else rng.choice([-1.0, 1.0], (ROWS, d))
    if curved := d > 2 and seed % 3 == 1:
        hats = ((d - 3, 3, 3),)
        pairs = [(-1.0, 1.0)] * (d - 3) + [(0.0, 1.0)] * 3
        labels, target = (None, (-1.0, 1.0)) if numbers else ((-1.0, 1.0), None)
        prep = box_prep(pairs, True, labels, target, hats=hats)
        place = rng.uniform(0, 2, (ROWS, 1)) if seed % 5 == 0 else rng.integers(0, 3, (ROWS, 1))
        X[:, -3:] = np.maximum(1 - np.abs(place - np.arange(3)), 0.0)
    y = rng.uniform(-1, 1, ROWS) if numbers and seed % 7 == 0 else rng.choice([-1.0, 1.0], ROWS)
    if relation is Neighbouring.ADD_REMOVE:
        other = X[1:], y[1:]
    else:
        flips = np.ones(d) if seed % 4 == 0 else rng.choice([-1.0, 1.0], d)
        moved = X[:1] * flips
        if curved:
            moved[:, -3:] = np.roll(X[:1, -3:], 1)
        other = np.vstack([moved, X[1:]]), np.append(-y[:1] if seed % 4 < 2 else y[:1], y[1:])
    clippable = prep.geometry.numbers if numbers else ()
    problem = Problem(SQUARED if numbers else LOGISTIC, prep.geometry, relation, ROWS, None, (), clippable=clippable)
    return problem, ArrayRows(X, y, prep), ArrayRows(*other, prep)


# The least eps is that below which the sampler has no such noise at delta = 1e-6: a plan refuses it.
CASES = {
    "fm, pure": (dplr.FunctionalMechanism(), 0.0, 1e-6, 0.9999),
    "fm, pure, without intervals": (dplr.FunctionalMechanism(intervals="off"), 0.0, 1e-6, 0.9999),
    "fm, Gaussian": (dplr.FunctionalMechanism(), 1e-6, 1e-6, 0.9999),
    "fm, Gaussian, robust": (dplr.FunctionalMechanism(intervals="robust"), 1e-6, 1e-4, 0.98),
    "ngd": (dplr.NoisyGradientDescent(steps=7), 1e-6, 1e-4, 0.9999),
    "score": (dplr.ScoreRelease(), 1e-6, 1e-4, 0.99),
}


@pytest.mark.filterwarnings("ignore::dplr.DataWarning")
@pytest.mark.parametrize("case", CASES)
def test_no_pair_loses_more_than_its_statement_says_and_some_nearly_as_much(case):
    spec, delta, least, reached = CASES[case]
    shares = []
    for seed in range(PAIRS):
        rng = np.random.default_rng(seed)
        eps, d = float(10 ** rng.uniform(math.log10(least), math.log10(5))), int(rng.integers(1, 6))
        problem, one, other = pair(seed, numbers=seed % 2 < 1 and case != "score", d=d)
        plan = spec.plan(problem, eps, delta)
        first, second = histories(spec, plan, one, other)
        stated = Fraction(eps) if delta == 0 else Fraction(plan.statement.guarantee.mu) ** 2
        shares.append(lost(first, second, 1 if delta == 0 else 2) / stated)
    assert max(shares) <= 1
    assert max(shares) >= reached
