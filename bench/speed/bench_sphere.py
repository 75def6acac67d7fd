"""What do rows cost that were normalised to length 1, against the same rows just inside the ball?

Half of them round to points outside the ball, and all of them are too close to it for a norm in float64 to tell. Limits
are how many times longer they may take in the same run.
"""

import numpy as np
import pytest

from bench.speed.bench_sums import case, sums, widest_only
from dplr.bounds.scaling import ball_prep
from dplr.problem.losses import LOGISTIC
from dplr.rows import ArrayRows
from dplr.rows.exact import ClippedGradient, on_coef_grid
from dplr.rows.losses import LossGradient

SHAPES = [(370_000, 13), (1_000_000, 50)]
PASSES = 30


def on_and_inside(n, d, quick, order="C", kept=float):
    """Rows of length 1 and of length 0.99, and labels."""
    X, y = case(n, d, quick)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return np.array(X, dtype=kept, order=order), np.array(0.99 * X, dtype=kept, order=order), y


def gradients(X, y, query, passes):
    """Sums at one point, from the first look at the rows on."""
    d = X.shape[1]
    coef = on_coef_grid(np.random.default_rng(1).normal(size=d))

    def repeated():
        rows = ArrayRows(X, y, ball_prep(d, False, (0.0, 1.0)), threads=1)
        for _ in range(passes):
            rows.total(query, coef)

    return repeated


@widest_only
@pytest.mark.benchmark(group="moments of rows on the sphere against rows inside")
@pytest.mark.parametrize(("order", "kept"), [("C", float), ("F", float), ("C", np.float32)])
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_moments_of_rows_on_the_sphere(slower_than, quick, n, d, order, kept):
    if n > 400_000 and (order, kept) != ("C", float):
        pytest.skip("the memory of a small machine")
    on, inside, y = on_and_inside(n, d, quick, order, kept)
    slower_than(sums(on, y), sums(inside, y), 1.3 if d > 20 else 1.6)  # goal 1.3


@widest_only
@pytest.mark.benchmark(group="gradients of a loss over rows on the sphere against rows inside")
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_gradient_over_rows_on_the_sphere(slower_than, quick, n, d):
    on, inside, y = on_and_inside(n, d, quick)
    query = LossGradient(LOGISTIC, d, False)
    slower_than(gradients(on, y, query, 1), gradients(inside, y, query, 1), 1.3)


@widest_only
@pytest.mark.benchmark(group="clipped gradients over rows on the sphere against rows inside, with what comes before")
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_thirty_clipped_gradients_over_rows_on_the_sphere(slower_than, quick, n, d):
    on, inside, y = on_and_inside(n, d, quick)
    query = ClippedGradient(LOGISTIC, d, False, 1.0)
    slower_than(gradients(on, y, query, PASSES), gradients(inside, y, query, PASSES), 1.4)
