"""What do weights of rows cost? Sums and minima of weighted rows against those of the same rows without weights.

Weights are numbers of the row, so they cost least where rows are long. Second moments multiply every entry; the other
sums multiply one number of a row.
"""

import numpy as np
import pytest

from bench.speed.bench_fit import survey
from bench.speed.bench_sums import again, widest_only
from dplr.bounds.scaling import ball_prep
from dplr.problem.losses import LOGISTIC
from dplr.rows import ArrayRows, RowWeights
from dplr.rows.exact import ClippedGradient, Moments, on_coef_grid
from dplr.rows.losses import LossGradientHessian
from dplr.rows.scores_at import ScoreMoments
from dplr.solvers.certificate import Objective

SIZES = [(17_500, 10), (370_000, 13), (48_842, 105)]
LARGE = 100_000


def case(n, d, quick):
    """Rows with weights and without, and a point."""
    if quick and n > LARGE:
        pytest.skip("left out in CI")
    X, y = survey(n, d)
    weights = np.random.default_rng(0).integers(0, 2**30 + 1, n) / 2.0**30
    prep, y = ball_prep(d, True, (0.0, 1.0)), y.astype(float)
    weighted = ArrayRows(X, y, prep, weights=RowWeights(weights, None, n), threads=1)
    return weighted, ArrayRows(X, y, prep, threads=1), on_coef_grid(np.random.default_rng(1).normal(size=d + 1))


def sums(rows, query, coef, calls):
    return again(lambda: rows.total(query, coef), calls)


def query_of(name, d):
    return {
        "loss": LossGradientHessian(LOGISTIC, d, True),
        "clipped": ClippedGradient(LOGISTIC, d, True, 0.3),
        "score": ScoreMoments(LOGISTIC, d, True, np.sqrt(1.25)),
    }[name]


@pytest.mark.benchmark(group="sums of weighted rows against those without weights")
@pytest.mark.parametrize(("n", "d"), SIZES)
@pytest.mark.parametrize("name", ["loss", "clipped", "score"])
def test_weights_of_residuals_cost_a_fifth_at_most(slower_than, quick, name, n, d):
    weighted, plain, coef = case(n, d, quick)
    query, calls = query_of(name, d), max(1, LARGE // n)
    for rows in (weighted, plain):
        sums(rows, query, coef, 10)()  # by then rows are kept
    slower_than(sums(weighted, query, coef, calls), sums(plain, query, coef, calls), 1.2)


@widest_only
@pytest.mark.benchmark(group="second moments of weighted rows against those without weights")
@pytest.mark.parametrize(("n", "d", "limit"), [(17_500, 10, 1.8), (370_000, 13, 1.8), (48_842, 105, 1.2)])
def test_weights_of_second_moments(slower_than, quick, n, d, limit):
    """Goal 1.2. Narrow tables are far from it: every entry is read, multiplied and written once more."""
    weighted, plain, _ = case(n, d, quick)
    query, calls = Moments(d, True), max(1, LARGE // n)
    slower_than(sums(weighted, query, None, calls), sums(plain, query, None, calls), limit)


@pytest.mark.benchmark(group="minima over weighted rows against those without weights")
@pytest.mark.parametrize(("n", "d"), SIZES)
def test_minima_over_weighted_rows(slower_than, quick, n, d):
    weighted, plain, _ = case(n, d, quick)
    objective = Objective(LOGISTIC, 1e-3 * n, np.zeros(d + 1), np.zeros(d + 1))
    calls = max(1, LARGE // n)
    minima = [again(lambda rows=rows: rows.minimise(objective, 1e-6 * n, 1000), calls) for rows in (weighted, plain)]
    slower_than(*minima, 1.2)
