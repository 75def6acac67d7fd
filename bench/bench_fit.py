"""What does a whole private fit cost, against numpy's two products X'X and X'y alone?"""

import numpy as np
import pytest

import dplr


def survey(n, d):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, d)) / np.sqrt(d)
    return X, (X @ rng.normal(size=d) > 0).astype(int)


@pytest.mark.benchmark(group="whole fit against numpy's two products")
@pytest.mark.parametrize(("n", "d", "limit"), [(370_000, 13, 1.5)])
def test_whole_fit_on_plain_arrays_with_zero_one_labels(slower_than, n, d, limit):
    X, y = survey(n, d)
    numbers = y.astype(float)
    slower_than(
        lambda: dplr.fit(X, y, mechanism="fm", eps=0.8),
        lambda: (X.T @ X, X.T @ numbers),
        limit,
    )


@pytest.mark.benchmark(group="exact sums against numpy's two products")
@pytest.mark.parametrize(("n", "d", "limit"), [(17_500, 10, 2.5), (48_842, 105, 3.0), (1_000_000, 50, 3.0)])
def test_exact_sums_with_snapping(slower_than, quick, n, d, limit):
    """The portable path: its limits are guards against a regression, not goals."""
    from dplr.bounds import ball_prep
    from dplr.queries import Moments
    from dplr.rows import as_rows

    if quick and n > 100_000:
        pytest.skip("left out in CI")
    X, y = survey(n, d)
    numbers = y.astype(float)
    rows = as_rows(X, y, ball_prep(d, True, (0.0, 1.0)), threads=1)
    slower_than(lambda: rows.total(Moments(d, True)), lambda: (X.T @ X, X.T @ numbers), limit)
