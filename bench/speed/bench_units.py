"""What do whole fits by person, and with weights, cost against the same fits by row? A million rows, 200,000 persons.

Limits are how many times longer a fit may take in the same run. The functional mechanism reads the rows once, in some
10 ms: numbering a million ids takes longer than that, and so does checking a million weights.
"""

import numpy as np
import pytest

import dplr
from bench.speed.bench_sums import widest_only

N, PERSONS, D = 1_000_000, 200_000, 13
BY_PERSON = {"objective": 2.0, "output": 2.0, "ngd": 2.0, "score": 2.0, "fm": 5.0}
BY_WEIGHT = {"objective": 1.2, "output": 1.3, "ngd": 1.3, "score": 1.3, "fm": 4.0}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (N, D))
    return X, X @ rng.normal(size=D) + rng.normal(size=N) > 0


def left_out(mechanism, quick):
    if quick and mechanism != "objective":
        pytest.skip("left out in CI")


def fitted(table, mechanism, weight_max=None, **options):
    delta = 1e-8 if mechanism in ("ngd", "score") else 0.0
    facts = {
        "eps": 1.0,
        "delta": delta,
        "mechanism": mechanism,
        "bounds": dplr.Bounds([(-1, 1)] * D, weight_max=weight_max),
    }
    return lambda: dplr.fit(*table, **facts, **options)


@widest_only
@pytest.mark.benchmark(group="fits by person against fits by row")
@pytest.mark.parametrize(("mechanism", "limit"), BY_PERSON.items())
def test_fits_by_person(slower_than, table, mechanism, limit, quick):
    left_out(mechanism, quick)
    ids = np.random.default_rng(1).integers(0, PERSONS, N)
    slower_than(fitted(table, mechanism, person=ids), fitted(table, mechanism), limit)


@widest_only
@pytest.mark.benchmark(group="fits with weights against fits without")
@pytest.mark.parametrize(("mechanism", "limit"), BY_WEIGHT.items())
@pytest.mark.filterwarnings("ignore::dplr.DataWarning")
def test_fits_with_weights(slower_than, table, mechanism, limit, quick):
    left_out(mechanism, quick)
    weights = np.random.default_rng(2).gamma(2, 50, N)
    slower_than(fitted(table, mechanism, sample_weight=weights, weight_max=200), fitted(table, mechanism), limit)
