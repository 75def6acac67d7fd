"""Sums of losses over parts of the rows, of any sizes and merged in any tree, lose less than the theorems allow."""

import functools
import itertools
import operator
from fractions import Fraction

import numpy as np
import pytest

from dplr.bounds.scaling import ball_prep
from dplr.problem.losses import LOGISTIC, huber_residual
from dplr.rows import ArrayRows
from dplr.rows.losses import FineGradient, LossGradient

UNIT = Fraction(2.0**-53)


def fold(totals):
    """Left to right, as a driver adds what arrives; and how many merges a term goes through."""
    return functools.reduce(operator.add, totals), len(totals)


def tree(totals):
    """Pairs, and pairs of pairs."""
    depth = 0
    while len(totals) > 1:
        pairs = [totals[k : k + 2] for k in range(0, len(totals), 2)]
        totals = [functools.reduce(operator.add, pair) for pair in pairs]
        depth += 1
    return totals[0], depth


def from_the_right(totals):
    """Each part is merged with all that follow it."""
    return functools.reduce(lambda after, part: part + after, reversed(totals)), len(totals)


def parts_of(sizes, query, coef):
    """Totals of parts with these numbers of rows, whose terms differ a millionfold in size."""
    rng = np.random.default_rng(0)
    n = sum(sizes)
    X = rng.uniform(0, 0.5, (n, 2)) * 10.0 ** rng.uniform(-6, 0, (n, 1))
    y, prep = np.ones(n), ball_prep(2, False, (0.0, 1.0))
    edges = [0, *itertools.accumulate(sizes)]
    totals = [ArrayRows(X[a:b], y[a:b], prep).sum(query, coef) for a, b in itertools.pairwise(edges)]
    return totals, [[Fraction(hi) + Fraction(lo) for hi, lo in zip(t.hi, t.lo, strict=True)] for t in totals]


SIZES = {
    "rows one by one": [1] * 1500,
    "parts of all sizes": [1, 8192, 3, 700, 8193, 511, 513, 2, 20_000, 1],
    "batches": [640] * 64,
}


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("merge", [fold, tree, from_the_right])
@pytest.mark.parametrize("fine", [False, True])
def test_a_merge_loses_at_most_four_squared_units_of_what_it_merges(sizes, merge, fine):
    point = np.array([0.3, -1.0])
    query, coef = (FineGradient, np.array([point, 1e-17 * point])) if fine else (LossGradient, point)
    totals, exact = parts_of(sizes, query(LOGISTIC, 2, False), coef)
    merged, depth = merge(totals)
    for j in range(2):
        total, size = sum(part[j] for part in exact), sum(abs(part[j]) for part in exact)
        lost = abs(Fraction(merged.hi[j]) + Fraction(merged.lo[j]) - total)
        assert lost <= 4 * UNIT**2 * depth * size
        assert abs(merged.lo[j]) <= UNIT * abs(Fraction(merged.hi[j]))


@pytest.mark.parametrize("merge", [fold, tree, from_the_right])
@pytest.mark.parametrize("size", [1, 8, 500])
def test_equal_terms_in_parts_stay_below_the_theorem_s_count(merge, size):
    """Terms that round the same way again and again, as in one array: 80 u for each."""
    slope = 0.8414709848078965
    loss, n = huber_residual(slope), 4000
    X, y, prep = np.full((n, 1), 0.5), np.ones(n), ball_prep(1, False, None)
    query, coef = LossGradient(loss, 1, False), np.zeros(1)
    parts = [ArrayRows(X[a : a + size], y[a : a + size], prep) for a in range(0, n, size)]
    merged, _ = merge([part.sum(query, coef) for part in parts])
    exact = -n * Fraction(slope) / 2
    assert abs(Fraction(merged.gradient[0]) - exact) <= 80 * UNIT * abs(exact)
