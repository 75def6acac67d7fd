"""How many gradients of all rows does a fit take whose minimum is certified? The whole fit, checks and noise included.

The reference is one gradient of the same rows, in the same bounds.
"""

import numpy as np
import pytest

import dplr
from bench.speed.bench_newton import LARGE, survey, widest_only
from dplr.bounds.scaling import box_prep
from dplr.problem.losses import LOGISTIC
from dplr.rows import ArrayRows
from dplr.rows.losses import LossGradient


@widest_only
@pytest.mark.benchmark(group="a certified fit in bounds against one gradient of all rows")
@pytest.mark.parametrize(
    ("n", "d", "mechanism", "most"),
    [(1_000_000, 13, "objective", 18), (1_000_000, 13, "output", 9), (370_000, 13, "objective", 18)],
)
def test_gradients_of_a_fit(slower_than, quick, n, d, mechanism, most):
    if quick and n > LARGE:
        pytest.skip("left out in CI")
    X, y = survey(n, d)
    X *= np.sqrt(d)
    ends, coef = [(-1.0, 1.0)] * d, np.full(d + 1, 0.5)
    bounds, query = dplr.Bounds(ends), LossGradient(LOGISTIC, d, True)
    rows = ArrayRows(X, y, box_prep(ends, True, (0.0, 1.0)), threads=1)

    def fit():
        dplr.fit(X, y, eps=1.0, mechanism=mechanism, bounds=bounds, classes=[0, 1])

    slower_than(fit, lambda: rows.sum(query, coef), most)
