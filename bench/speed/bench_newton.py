"""How fast is a certified minimum, against scikit-learn's Newton and L-BFGS solvers on the same objective?

Both solve to a gradient norm of 1e-8 in mean form, on one thread, with l2 = 1e-3 and no intercept. Floors are how
many times faster than the peer, in the same run, ours must be; the goals are in the comments.
"""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dplr._core import cpu_paths
from dplr.bounds.scaling import ball_prep
from dplr.problem.losses import LOGISTIC
from dplr.rows import ArrayRows
from dplr.solvers.certificate import Objective

widest_only = pytest.mark.skipif(cpu_paths()[-1] != "avx512", reason="floors were set on a CPU with AVX-512")
LARGE = 400_000
READS = 12  # of the rows, at the speed of numpy's X @ w: what a solve may take where memory is the limit
L2 = 1e-3


def survey(n, d, groups=0):
    """Rows in the unit ball and labels with a logistic law; with `groups`, one-hot columns of as many questions."""
    rng = np.random.default_rng(0)
    if groups:
        X, answers = np.zeros((n, d)), d // groups
        for group in range(groups):
            X[np.arange(n), group * answers + rng.integers(0, answers, n)] = 1 / math.sqrt(groups + 1)
    else:
        X = rng.uniform(-1, 1, (n, d)) / math.sqrt(d)
    y = rng.random(n) < 1 / (1 + np.exp(-3 * X @ rng.normal(size=d)))
    return X, y.astype(float)


def solvers(n, d, quick, peer, groups=0):
    if quick and n > LARGE:
        pytest.skip("left out in CI")
    X, y = survey(n, d, groups)
    rows = ArrayRows(X, y, ball_prep(d, False, (0.0, 1.0)), threads=1)
    objective = Objective(LOGISTIC, L2 * n, np.zeros(d), np.zeros(d))
    other = LogisticRegression(solver=peer, tol=1e-8, C=1 / (L2 * n), fit_intercept=False, max_iter=1000)
    coef = np.ones(d)
    return lambda: rows.minimise(objective, 1e-8 * n, 1000), lambda: other.fit(X, y), lambda: X @ coef


@widest_only
@pytest.mark.benchmark(group="certified Newton against scikit-learn's newton-cholesky")
@pytest.mark.parametrize(
    ("n", "d", "groups", "floor"),
    [
        (370_000, 13, 0, 18),  # goal 20
        (48_842, 105, 15, 8),  # goal 18; reached 16 to 18, and 8 on a processor with more cache
        (1_000_000, 50, 0, 15),  # goal 20
        (17_500, 10, 0, 6),  # goal 10
        (1000, 5, 0, 4),  # goal 10
    ],
)
def test_minimum_against_newton_cholesky(slower_than, quick, n, d, groups, floor):
    ours, theirs, read = solvers(n, d, quick, "newton-cholesky", groups)
    slower_than(ours, theirs, 1 / floor, unless=(read, READS) if groups else None)


@widest_only
@pytest.mark.benchmark(group="certified Newton against scikit-learn's lbfgs")
@pytest.mark.parametrize(
    ("n", "d", "groups", "floor"),
    [
        (370_000, 13, 0, 10),  # goal 15
        (48_842, 105, 15, 2.5),  # goal 15; reached 4 to 5, and 3 on a processor with more cache
        (1_000_000, 50, 0, 3),  # goal 5
        (17_500, 10, 0, 5),  # goal 8
        (1000, 5, 0, 4),  # goal 5
    ],
)
def test_minimum_against_lbfgs(slower_than, quick, n, d, groups, floor):
    ours, theirs, _ = solvers(n, d, quick, "lbfgs", groups)
    slower_than(ours, theirs, 1 / floor)


@widest_only
@pytest.mark.benchmark(group="a hundred refits with noise in the objective against one fit of newton-cholesky each")
@pytest.mark.parametrize(
    ("n", "d", "groups", "floor"),
    [
        (296_000, 13, 0, 40),  # goal 70: the logistic function of every row and model is a third
        (14_000, 10, 0, 25),  # goal 70
        (
            39_000,
            105,
            15,
            30,
        ),  # goal 70: the products are at the arithmetic limit, and as many passes are needed as alone
    ],
)
def test_refits_together_against_one_fit_each(slower_than, quick, n, d, groups, floor):
    X, y = survey(n, d, groups)
    rows = ArrayRows(X, y, ball_prep(d, False, (0.0, 1.0)), threads=1)
    rng = np.random.default_rng(1)
    objectives = []
    for eps in np.tile([0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 4.0], 10):
        direction = rng.normal(size=d)
        noise = rng.gamma(d, 2 / eps) * direction / np.linalg.norm(direction)
        objectives.append(Objective(LOGISTIC, L2 * n, np.zeros(d), noise))
    peer = LogisticRegression(solver="newton-cholesky", tol=1e-8, C=1 / (L2 * n), fit_intercept=False)
    slower_than(lambda: rows.minimise_many(objectives, 1e-8 * n, 1000), lambda: peer.fit(X, y), 100 / floor)
