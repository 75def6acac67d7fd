"""What does a loss by its slopes at knots cost, against the logistic loss with a kernel of its own, over the same rows?

Limits are how many times longer it may take in the same run.
"""

import numpy as np
import pytest

import dplr
from bench.speed.bench_sums import widest_only
from dplr.bounds.scaling import ball_prep
from dplr.problem.losses import LOGISTIC
from dplr.rows import ArrayRows
from dplr.rows.exact import ClippedGradient, on_coef_grid
from dplr.rows.losses import LossGradient, LossGradientHessian

N, D = 100_000, 13
OWN = dplr.losses.margin_loss(
    lambda v: np.logaddexp(0, -v), lambda v: -1 / (1 + np.exp(v)), lambda v: 1 / (2 + np.exp(v) + np.exp(-v))
)


def passes(rows, query, coef):
    return lambda: [rows.total(query, coef) for _ in range(5)]


@widest_only
@pytest.mark.benchmark(group="a loss with knots against the logistic kernel")
@pytest.mark.parametrize(
    ("query", "limit"),
    [(LossGradient, 1.6), (LossGradientHessian, 1.5), (ClippedGradient, 2.5)],
    ids=lambda each: str(each),
)
def test_sums_of_a_loss_with_knots(slower_than, query, limit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    X /= 1.001 * np.maximum(1, np.linalg.norm(X, axis=1))[:, None]
    rows = ArrayRows(X, rng.integers(0, 2, N).astype(float), ball_prep(D, True, (0.0, 1.0)), threads=1)
    coef, last = on_coef_grid(rng.normal(size=D + 1)), (0.5,) if query is ClippedGradient else ()
    own, built_in = (passes(rows, query(loss, D, True, *last), coef) for loss in (OWN, LOGISTIC))
    slower_than(own, built_in, limit)
