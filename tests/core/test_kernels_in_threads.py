"""Each kernel in several threads at once: the same numbers as alone, and no memory that two of them write.

The numbers say little where threads take turns: `make threads` runs this file with kernels that report races.
"""

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import dplr
from dplr._core import count_cells, hash_integers
from dplr.quantiles.grid import LAST

THREADS = 4
N = 400
COLUMNS = {
    "age": (0, 99),
    "income": {"lower": 0, "upper": 1e5, "transform": "log1p", "missing": "indicator"},
    "work": {"levels": ["none", "some", "full"], "missing": "none"},
    "school": {"levels": [0, 1, 2], "ordinal": True},
}


def at_once(work):
    """Results of THREADS calls that begin together."""
    together = threading.Barrier(THREADS)

    def begin(number):
        together.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


def people():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({
        "age": rng.uniform(0, 99, N),
        "income": np.where(rng.random(N) < 0.1, np.nan, rng.exponential(1e4, N)),
        "work": rng.choice(["none", "some", "full", "other"], N),
        "school": rng.integers(0, 3, N),
    })  # fmt: skip
    return frame, frame["age"].to_numpy() > 50, rng.integers(0, N // 3, N)


FITS = {
    "fm": {},
    "curves": {"curves": 3},
    "persons": {"person": True},
    "gaussian": {"delta": 1e-6},
    "ngd": {"mechanism": dplr.NoisyGradientDescent(steps=3), "delta": 1e-6},
    "batches": {"mechanism": dplr.NoisyGradientDescent(steps=3, batch=40), "delta": 1e-6},
    "objective": {"mechanism": "objective"},
    "output": {"mechanism": "output"},
    "svm": {"mechanism": "objective", "model": "svm"},
    "score": {"mechanism": "score", "delta": 1e-6},
}


@pytest.mark.parametrize("name", FITS)
def test_fits_of_one_table_in_threads_have_the_bits_of_each_alone(name):
    frame, y, ids = people()
    options = {"eps": 1.0, "mechanism": "fm", "bounds": dplr.Bounds(COLUMNS, target=(False, True)), **FITS[name]}
    if "person" in options:
        options["person"] = ids
    else:
        options["n_rows"] = N

    def fitted(number):
        est = dplr.fit(frame, y, rng=number, **options)
        return est.coef_.tobytes(), est.predict(frame).tobytes()

    with warnings.catch_warnings(action="ignore"):
        alone = [fitted(number) for number in range(THREADS)]  # first: the price of a plan is worked out once
        assert at_once(fitted) == alone


def test_cells_of_shared_numbers_are_counted_by_each_thread():
    values = np.random.default_rng(1).normal(size=200_000)

    def counted(_):
        counts = np.zeros(2 * LAST + 1, np.int64)
        for _ in range(5):
            count_cells(values, None, counts)
        return counts.tolist()

    alone = counted(0)
    assert sum(alone) == 1_000_000
    assert at_once(counted) == [alone] * THREADS


def test_hashes_of_shared_numbers_are_those_of_one_thread():
    values = np.arange(100_000, dtype=np.int64)

    def hashed(_):
        out = np.empty(len(values), np.int64)
        hash_integers(values, out)
        return out.tobytes()

    assert at_once(hashed) == [hashed(0)] * THREADS
