"""Whole numbers that float32 does not hold are kept as they are: sums are those of float64 in every bit."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dplr

N, STEPS = 400, 120
# Above 2^24 float32 has every second whole number alone, above 2^31 every 256th.
KINDS = {"int32": 2**24, "uint32": 2**31, "int64": 2**53 - 64, "uint64": 2**53 - 64, "int16": 2**14, "float32": 2**10}


def columns(kind):
    """Two columns of numbers of the kind, next to each other and odd as often as even."""
    rng, low = np.random.default_rng(1), KINDS[kind]
    return {name: low + rng.integers(0, 64, N) for name in "ab"}, low


def released(X, y, low, **options):
    ends = (low, low + 63)
    bounds = dplr.Bounds([ends] * 2 if isinstance(X, np.ndarray) else dict.fromkeys("ab", ends))
    spec = dplr.NoisyGradientDescent(steps=STEPS, standardise="off")
    fit = dplr.fit(X, y, bounds=bounds, eps=float("inf"), mechanism=spec, classes=(0, 1), **options)
    return fit.released_["gradients"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_that_is_kept_has_the_sums_of_float64(kind, tmp_path):
    numbers, low = columns(kind)
    y = (numbers["a"] + np.arange(N) % 5 > low + 32).astype(float)
    plain = released(pd.DataFrame(numbers).astype(float), y, low)
    table = pa.table({name: pa.array(column) for name, column in
                      {name: column.astype(kind) for name, column in numbers.items()}.items()})  # fmt: skip
    pq.write_table(table.append_column("y", pa.array(y)), tmp_path / "rows.parquet", row_group_size=100)
    np.testing.assert_array_equal(released(dplr.Stream(tmp_path / "rows.parquet", keep=tmp_path), "y", low), plain)
    assert np.abs(plain).max() > 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [pd.DataFrame, pa.table, lambda columns: np.stack([*columns.values()], axis=1)],
                         ids=["pandas", "Arrow", "array"])  # fmt: skip
def test_rows_in_memory_have_the_sums_of_float64(kind, make):
    numbers, low = columns(kind)
    y = (numbers["a"] > low + 32).astype(float)
    typed = make({name: column.astype(kind) for name, column in numbers.items()})
    plain = make({name: column.astype(float) for name, column in numbers.items()})
    np.testing.assert_array_equal(released(typed, y, low), released(plain, y, low))
