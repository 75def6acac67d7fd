"""What does `summary()` cost in fits' time? Rows and noise do not matter to it, columns and silent lines do.

CPU time of both in turn, the least of each: a machine that is busy makes neither of them shorter. On one thread, since
threads that wait for small matrices of others take CPU time too.
"""

import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import dplr

N = 100_000


def rows(d):
    """Columns of which a third is narrow, some are flags of .3 %, and the others fill their bounds."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (N, d))
    X[:, ::3] = 0.5 + 0.05 * rng.normal(size=(N, len(range(0, d, 3))))
    X[:, [1, 4, 7]] = rng.random((N, 3)) < 0.003
    X = np.clip(X, 0, 1)
    mean = X @ rng.normal(size=d)
    return X, np.clip(0.5 + 0.1 * (mean - mean.mean()) / mean.std() + 0.1 * rng.normal(size=N), 0, 1)


@pytest.mark.filterwarnings("ignore::dplr.PrivacyWarning")
@pytest.mark.benchmark(group="a summary against its fit")
@pytest.mark.parametrize(("d", "eps", "delta", "limit"), [
    (10, 0.1, 0.0, 10), (10, 10.0, 1e-6, 10), (40, 0.1, 0.0, 20), (40, 10.0, 1e-6, 40), (100, 0.1, 0.0, 20),
])  # fmt: skip
def test_a_summary_takes_so_many_fits(request, benchmark, d, eps, delta, limit):
    X, y = rows(d)
    bounds = dplr.Bounds([(0.0, 1.0)] * d, target=(0, 1))
    model = dplr.LinearRegression(eps=eps, delta=delta, bounds=bounds, mechanism="fm", rng=0)

    def seconds(function):
        before = time.process_time()
        function()
        return time.process_time() - before

    model.fit(X, y)
    with threadpool_limits(1):
        pairs = [(seconds(lambda: model.fit(X, y)), seconds(model.summary)) for _ in range(12)]
    fits, summaries = zip(*pairs, strict=True)
    ratio, allowed = min(summaries) / min(fits), limit / request.config.getoption("--slack")
    print(f"\n{request.node.name}: {ratio:.0f} fits' time (limit {limit}, allowed here {allowed:.0f})")
    benchmark.extra_info.update(ratio=ratio, limit=limit)
    benchmark.pedantic(lambda: model.fit(X, y), rounds=1)
    assert ratio <= allowed
