"""What does it cost to know persons by their ids, against NumPy's order of integers by a stable sort?

A stable sort runs the same instructions on every processor; `numpy.unique` is three times as fast on one with AVX-512.
"""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dplr.privacy.unit import Unit
from dplr.rows import row_weights

N, PERSONS = 1_000_000, 200_000
LIBRARIES = {"numpy": np.array, "pandas": pd.Series, "polars": pl.Series, "arrow": pa.array}


@pytest.fixture(scope="module")
def numbers():
    return np.random.default_rng(0).integers(0, PERSONS, N) * 7919 + 10**9


def weights(person, w=None):
    return row_weights(N, Unit("id", 1, None if w is None else 2.0), person, w)


def by_sorting(numbers):
    return np.argsort(numbers, kind="stable")


@pytest.mark.benchmark(group="weights of persons against a stable sort of integers")
@pytest.mark.parametrize(("kind", "limit"), [("int64", 0.2), ("float64", 0.45)])
def test_ids_that_are_numbers(slower_than, numbers, kind, limit):
    ids = numbers.astype(kind)
    slower_than(lambda: weights(ids), lambda: by_sorting(numbers), limit)


@pytest.mark.benchmark(group="weights of persons against a stable sort of integers")
@pytest.mark.parametrize("library", LIBRARIES)
def test_ids_that_are_texts_cost_less_than_sorting_integers(slower_than, numbers, library):
    ids = LIBRARIES[library]([f"P{number:012d}" for number in numbers.tolist()])
    slower_than(lambda: weights(ids), lambda: by_sorting(numbers), 0.6)


@pytest.mark.benchmark(group="weights of persons against a stable sort of integers")
def test_weights_of_rows_and_persons(slower_than, numbers):
    w = np.random.default_rng(1).uniform(0, 1.9, N)
    slower_than(lambda: weights(numbers, w), lambda: by_sorting(numbers), 0.3)
