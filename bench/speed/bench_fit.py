"""What does a whole private fit cost, against numpy's two products X'X and X'y alone?"""

import numpy as np
import pytest

import dplr
from dplr._core import cpu_paths


def survey(n, d):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, d)) / np.sqrt(d)
    return X, (X @ rng.normal(size=d) > 0).astype(int)


@pytest.mark.benchmark(group="whole fit against numpy's two products")
# Without AVX-512 fits were 1.4 to 1.75 and 1.06 to 1.15 times as fast, on an AMD EPYC with AVX2.
@pytest.mark.parametrize(
    ("n", "d", "floor"),
    [
        (370_000, 13, 2.5 if cpu_paths()[-1] == "avx512" else 1.4),
        (48_842, 105, 1.3 if cpu_paths()[-1] == "avx512" else 1.0),
    ],
)
def test_whole_fit_on_plain_arrays_with_zero_one_labels(slower_than, n, d, floor):
    X, y = survey(n, d)
    numbers = y.astype(float)
    slower_than(
        lambda: dplr.fit(X, y, mechanism="fm", eps=0.8),
        lambda: (X.T @ X, X.T @ numbers),
        1 / floor,
    )


@pytest.mark.benchmark(group="whole fit against numpy's two products")
def test_whole_fit_on_the_portable_path(slower_than, monkeypatch):
    """Without any of the CPU's wider vectors a fit costs at most half more than numpy's products."""
    monkeypatch.setenv("DPLR_ISA", "portable")
    X, y = survey(370_000, 13)
    numbers = y.astype(float)
    slower_than(lambda: dplr.fit(X, y, mechanism="fm", eps=0.8), lambda: (X.T @ X, X.T @ numbers), 1.5)
