"""A null among the entries of a dictionary is missing, as a null among its places is, whatever the other rows hold."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dplr
from dplr.rows import as_table
from dplr.rows.ids import read_ids
from dplr.rows.predictors import encoded

TEXTS = dplr.Bounds({"k": {"levels": ["p", "q"], "missing": "indicator"}}, target=(0, 1))
NUMBERS = dplr.Bounds({"k": {"lower": 0, "upper": 4, "missing": "indicator"}}, target=(0, 1))
LEVELS = dplr.Bounds({"k": {"levels": [1, 2], "missing": "indicator"}}, target=(0, 1))
WRITERS = {
    "pandas": lambda column: pd.DataFrame({"k": pd.Series(pd.arrays.ArrowExtensionArray(column))}),
    "arrow": lambda column: pa.table({"k": column}),
    "chunks": lambda column: pa.table({"k": pa.chunked_array([column.slice(0, 2), column.slice(2)])}),
    "polars": lambda column: pl.from_arrow(pa.table({"k": column})),
}
ENTRIES = {
    "text": (["p", None, "q"], pa.string(), TEXTS),
    "large text": (["p", None, "q"], pa.large_string(), TEXTS),
    "numbers": ([1, None, 2], pa.int64(), NUMBERS),
    "floats": ([1.0, None, 2.0], pa.float64(), NUMBERS),
    "levels": ([1, None, 2], pa.int32(), LEVELS),
}
# The last row has a place, or none: it must not change how the second and the fourth count.
PLACES = {"a null place elsewhere": [0, 1, 2, 1, None], "none": [0, 1, 2, 1, 0]}


def column_of(entries, places):
    values, kind, _ = ENTRIES[entries]
    return pa.DictionaryArray.from_arrays(pa.array(PLACES[places], pa.int32()), pa.array(values, kind))


def matrix_of(frame, bounds):
    return encoded(as_table(frame), bounds.for_columns(("k",), 1))


# Polars has categories of text alone.
CASES = [(library, name) for library in WRITERS for name in ENTRIES if library != "polars" or "text" in name]


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize(("library", "entries"), CASES)
def test_a_null_entry_counts_as_a_null_place_does(library, entries, places):
    bounds, column = ENTRIES[entries][2], column_of(entries, places)
    plain = pa.table({"k": column.cast(column.type.value_type)})
    found = matrix_of(WRITERS[library](column), bounds)
    np.testing.assert_array_equal(found, matrix_of(plain, bounds))
    np.testing.assert_array_equal(found[:, -1], [0, 1, 0, 1, places != "none"])


@pytest.mark.parametrize("library", WRITERS)
def test_a_null_place_of_one_record_does_not_decide_how_others_count(library):
    first, second = (matrix_of(WRITERS[library](column_of("text", places)), TEXTS)[:4] for places in PLACES)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("library", WRITERS)
def test_a_null_entry_is_no_id_and_no_label(library):
    column = WRITERS[library](column_of("text", "none"))["k"]
    assert read_ids(column).faults == {"missing or empty": 2}
    frame = pd.DataFrame({"x": np.linspace(0, 1, 5)})
    with pytest.raises(ValueError, match="2 of 5 rows with another value"):
        dplr.fit(frame, column, eps=1.0, classes=["p", "q"], bounds=dplr.Bounds({"x": (0, 1)}))


@pytest.mark.parametrize("places", PLACES)
def test_a_null_entry_is_missing_where_rows_are_streamed(places):
    """Lazy tables; a Parquet file has no null entries."""
    table = pa.table({"k": column_of("text", places), "y": [0.0, 1.0, 0.0, 1.0, 0.0]})
    plain = pa.table({"k": table["k"].cast(pa.string()), "y": table["y"]})
    options = {"eps": float("inf"), "mechanism": "fm", "model": "linear", "bounds": TEXTS}
    one, other = (dplr.fit(pl.from_arrow(each).lazy(), "y", **options).released_ for each in (table, plain))
    for name, block in one.items():
        np.testing.assert_array_equal(block, other[name])


def test_a_null_entry_is_missing_in_partitions_of_dask():
    dask = pytest.importorskip("dask.dataframe")
    table = WRITERS["pandas"](column_of("text", "none")).assign(y=[0.0, 1.0, 0.0, 1.0, 0.0])
    options = {"eps": float("inf"), "mechanism": "fm", "model": "linear", "bounds": TEXTS}
    plain = table.assign(k=table["k"].astype("string[pyarrow]"))
    one, other = (dplr.fit(dask.from_pandas(each, npartitions=2), "y", **options).released_ for each in (table, plain))
    for name, block in one.items():
        np.testing.assert_array_equal(block, other[name])


def test_a_null_of_an_enumeration_of_duckdb_is_missing():
    duckdb = pytest.importorskip("duckdb")
    found = duckdb.sql("SELECT unnest(['p', NULL, 'q']::ENUM('p', 'q')[]) AS k").to_arrow_table()
    np.testing.assert_array_equal(matrix_of(found, TEXTS)[:, -1], [0, 1, 0])
