"""What does it cost to read files in bounded memory, against Arrow's own readers of whole files?"""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from dplr.rows.files.csv import csv_parts
from dplr.rows.files.kinds import NUMBER, Format
from dplr.rows.files.parquet import parquet_parts

N = 200_000
CODES = [f"c{place}" for place in range(18)]
FLOATS = [f"x{place}" for place in range(13)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small integers, as in a census, and floats of all digits."""
    pa.set_cpu_count(1)
    folder, rng = tmp_path_factory.mktemp("files"), np.random.default_rng(0)
    tables = {
        "codes": pa.table({name: rng.integers(0, 90, N).astype(np.int8) for name in CODES}),
        "floats": pa.table({name: rng.normal(size=N) for name in FLOATS}),
    }
    for name, table in tables.items():
        csv.write_csv(table, folder / f"{name}.csv")
        parquet.write_table(table, folder / f"{name}.parquet")
    return folder


def rows(parts):
    return sum(batch.num_rows for part in parts for batch in part.batches())


def kinds_of(path):
    return dict.fromkeys(csv.open_csv(path).schema.names, NUMBER)


def arrow(path):
    return csv.read_csv(path, read_options=csv.ReadOptions(use_threads=False))


@pytest.mark.benchmark(group="CSV files")
@pytest.mark.parametrize(("name", "limit"), [("codes", 2.2), ("floats", 2.0)])
def test_numbers_of_csv_files_against_arrow(slower_than, folder, name, limit):
    path = str(folder / f"{name}.csv")
    kinds = kinds_of(path)
    slower_than(lambda: rows(csv_parts(path, kinds, Format())), lambda: arrow(path), limit)


@pytest.mark.benchmark(group="Parquet files")
@pytest.mark.parametrize(("name", "limit"), [("codes", 1.8), ("floats", 2.0)])
def test_parquet_files_against_arrow(slower_than, folder, name, limit):
    path = str(folder / f"{name}.parquet")
    names = parquet.read_schema(path).names
    slower_than(lambda: rows(parquet_parts(path, names)), lambda: parquet.read_table(path, use_threads=False), limit)
