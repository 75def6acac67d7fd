"""Lazy tables: a fit of one is the fit of its rows in memory; only chosen columns are read, again and again."""

import os
import pathlib
import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow import csv, feather, parquet

import dplr
from dplr.rows.streams.engines.arrow import parts_of
from dplr.rows.streams.parts import one_pass
from dplr.rows.streams.passes import CountPass
from streamed_rows import FITS, OF_PERSONS, assert_same, fitted, people

FILES = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found, table = tmp_path_factory.mktemp("people"), people()
    edges = [len(table) * part // FILES for part in range(FILES + 1)]
    for part in range(FILES):
        rows = table.slice(edges[part], edges[part + 1] - edges[part])
        parquet.write_table(rows, found / f"{part}.parquet", row_group_size=7001)
    return found


@pytest.fixture(scope="module")
def in_memory():
    table, known = people(), {}

    def fit(name):
        if name not in known:
            known[name] = fitted(table, **{**FITS, **OF_PERSONS}[name])
        return known[name]

    return fit


def polars_frame(folder):
    return pytest.importorskip("polars", minversion="1.34").scan_parquet(folder / "*.parquet")


def relation(folder):
    found = pytest.importorskip("duckdb", reason="the extra `duckdb` is not installed")
    return found.connect().sql(f"select * from '{folder}/*.parquet'")


def dask_frame(folder):
    pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    return pytest.importorskip("dask.dataframe").read_parquet(folder)


LAZY = {
    "dataset": ds.dataset,
    "filtered dataset": lambda folder: ds.dataset(folder).filter(ds.field("age") > 0),
    "dataset in memory": lambda folder: ds.dataset(people()),
    "polars": polars_frame,
    "duckdb": relation,
    "dask": dask_frame,
}


@pytest.mark.grid(5)
@pytest.mark.parametrize("name", [*FITS, *OF_PERSONS])
@pytest.mark.parametrize("kind", LAZY)
def test_a_fit_of_a_lazy_table_is_that_of_its_rows(kind, name, folder, in_memory):
    assert_same(fitted(LAZY[kind](folder), **{**FITS, **OF_PERSONS}[name]), in_memory(name), name)


@pytest.mark.parametrize("kind", LAZY)
def test_every_row_is_read_once_in_every_pass(kind, folder):
    parts = dplr.Stream(LAZY[kind](folder)).parts.chosen(["age", "id", "age"])
    for _ in range(2):
        tables = [as_arrow(batch) for part in parts.parts for batch in part.batches()]
        assert sum(map(len, tables)) == len(people())
        assert all(table.column_names == ["age", "id"] for table in tables)
        ids = pa.concat_tables([table.select(["id"]).cast(pa.schema([("id", pa.int64())])) for table in tables])
        assert sorted(ids["id"].to_pylist()) == sorted(people()["id"].to_pylist())


@pytest.mark.parametrize("kind", LAZY)
def test_the_table_without_rows_has_the_columns_and_their_order(kind, folder):
    empty = dplr.Stream(LAZY[kind](folder)).parts.empty
    assert as_arrow(empty).column_names == people(1).column_names
    assert len(empty) == 0


def as_arrow(batch):
    if isinstance(batch, pa.RecordBatch):
        return pa.Table.from_batches([batch])
    if isinstance(batch, pa.Table):
        return batch
    return batch.to_arrow() if hasattr(batch, "to_arrow") else pa.Table.from_pandas(batch, preserve_index=False)


def only_part(path, **options):
    return only_part_of(ds.dataset(path, **options))


def only_part_of(dataset):
    (part,) = parts_of(dataset, None).parts
    return part, [value for batch in part.batches() for value in batch["x"].to_pylist()]


def test_files_are_read_by_the_types_of_their_schema(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"x": [1.1, 2.5]}), path)
    (_, numbers), (_, rounded) = (
        only_part(path, schema=pa.schema([("x", kind)])) for kind in (pa.float64(), pa.float32())
    )
    assert numbers != rounded


def test_some_row_groups_of_a_file_have_rows_of_their_own(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"x": [1.0, 2.0, 3.0]}), path, row_group_size=2)
    whole = ds.dataset(path)
    (fragment,) = whole.get_fragments()
    (first, low), (second, high) = (
        only_part_of(
            ds.FileSystemDataset([fragment.subset(row_group_ids=[group])], whole.schema, whole.format, whole.filesystem)
        )
        for group in (0, 1)
    )
    assert (low, high) == ([1.0, 2.0], [3.0])
    assert (first.rows, second.rows) == (2, 1)


def test_missing_values_of_text_are_those_of_the_dataset(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n1\n-1\n")
    scan = ds.CsvFragmentScanOptions(convert_options=csv.ConvertOptions(null_values=["-1"]))
    (_, all_there), (_, missing) = (
        only_part(path, format=ds.CsvFileFormat(default_fragment_scan_options=found)) for found in (None, scan)
    )
    assert (all_there, missing) == ([1, -1], [1, None])


def test_a_dataset_of_files_knows_its_rows(folder):
    parts = dplr.Stream(ds.dataset(folder)).parts
    assert parts.rows == len(people())
    assert len(parts.parts) == FILES


def test_columns_of_a_relation_may_have_any_name():
    duckdb = pytest.importorskip("duckdb", reason="the extra `duckdb` is not installed")
    lazy = duckdb.connect().sql('select range as "select ""x"", 1", range % 2 as "Y y" from range(1000)')
    batches = [batch for part in dplr.Stream(lazy).parts.chosen(['select "x", 1']).parts for batch in part.batches()]
    assert pa.Table.from_batches(batches).column_names == ['select "x", 1']


def test_a_reader_that_can_be_read_once_is_refused():
    reader = people(10).to_reader()
    with pytest.raises(
        TypeError, match="`X` must be something that can be read more than once; got 'RecordBatchReader'"
    ):
        dplr.fit(reader, "old", eps=1.0)
    assert reader.read_all().num_rows == 10


def test_workers_are_refused_where_no_worker_could_read(folder):
    with pytest.raises(TypeError, match="`workers` must be a Client of Dask or a SparkSession; got"):
        dplr.Stream(ds.dataset(folder), workers=3)
    client = type("Client", (), {"__module__": "distributed"})()
    with pytest.raises(TypeError, match="`source` must be files that workers can open themselves"):
        dplr.Stream(ds.dataset(people(10)), workers=client)


def test_a_polars_without_batches_is_told_so():
    class LazyFrame:
        __module__ = "polars.old"

    with pytest.raises(TypeError, match="`X` must be a LazyFrame that has collect_batches"):
        dplr.Stream(LazyFrame())


@pytest.mark.parametrize("kind", ["twice", "by a link", "in a union"])
def test_a_dataset_that_names_a_file_twice_is_refused(kind, tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(people(100), path)
    if kind == "by a link":
        (tmp_path / "b.parquet").symlink_to(path)
    source = {
        "twice": lambda: ds.dataset([str(path), str(path)]),
        "by a link": lambda: ds.dataset(tmp_path),
        "in a union": lambda: ds.dataset([ds.dataset(path), ds.dataset(path)]),
    }[kind]()
    with pytest.raises(ValueError, match="its records would count twice, against the guarantee"):
        dplr.Stream(source)


def rewritten(path):
    table = read(path)
    write(table.take(list(reversed(range(len(table))))), path)


def half_of(path):
    os.truncate(path, os.path.getsize(path) // 2)


def read(path):
    return feather.read_table(path) if path.suffix == ".arrow" else parquet.read_table(path)


def write(table, path):
    feather.write_feather(table, path) if path.suffix == ".arrow" else parquet.write_table(table, path)


def table_in_ipc(folder):
    for path in folder.iterdir():
        write(read(path), path.with_suffix(".arrow"))
        path.unlink()
    return ds.dataset(folder, format="ipc")


@pytest.mark.parametrize("change", [rewritten, half_of, pathlib.Path.unlink])
@pytest.mark.parametrize("kind", ["dataset", "filtered dataset", "ipc", "union"])
def test_a_file_of_a_dataset_that_changes_between_passes_is_refused(kind, change, folder, tmp_path):
    shutil.copytree(folder, tmp_path / "people")
    source = {
        **LAZY,
        "ipc": table_in_ipc,
        "union": lambda folder: ds.dataset([ds.dataset(path) for path in folder.iterdir()]),
    }[kind](tmp_path / "people")
    parts = dplr.Stream(source).parts
    assert one_pass(parts, CountPass()) == len(people())
    path = max((tmp_path / "people").iterdir())
    change(path)
    with pytest.raises(ValueError, match=re.escape(f"`{path}` was changed while it was read")):
        one_pass(parts, CountPass())


def test_a_file_of_a_dataset_that_changes_within_a_pass_is_refused(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "people")
    path = max((tmp_path / "people").iterdir())
    batches = dplr.Stream(ds.dataset(path)).parts.parts[0].batches()
    next(batches)
    rewritten(path)
    with pytest.raises(ValueError, match="was changed while it was read"):
        list(batches)


def text_ending_at(end):
    """Texts of which the 150th ends at that byte; 450 is where it ends."""
    said = pa.array(["yes", "no ", "yes"] * 100)
    ends = np.frombuffer(said.buffers()[1], np.int32).copy()
    ends[150] = end
    return pa.StringArray.from_buffers(300, pa.py_buffer(ends.tobytes()), said.buffers()[2])


@pytest.mark.parametrize("kind", ["files", "in a union", "filtered"])
def test_a_file_of_arrow_whose_texts_end_outside_their_bytes_is_refused(kind, tmp_path):
    def source(end):
        path, said = tmp_path / f"{end}.arrow", text_ending_at(end)
        batch = pa.RecordBatch.from_pydict(
            {"age": pa.array([40, 50, 60] * 100), "job": said, "old": [False, True, True] * 100}
        )
        with pa.ipc.new_file(path, batch.schema) as file:
            file.write_batch(batch)
        found = ds.dataset(path, format="ipc")
        unioned = ds.dataset([found, ds.dataset(batch.slice(0, 9))]) if kind == "in a union" else found
        return unioned.filter(ds.field("age") > 0) if kind == "filtered" else unioned

    bounds = dplr.Bounds({"age": (18, 90), "job": {"levels": ["yes", "no "]}})
    dplr.fit(source(450), "old", bounds=bounds, eps=1.0)
    with pytest.raises(ValueError, match="`X` must be sound files of Arrow; ends of texts, codes or nulls") as caught:
        dplr.fit(source(1200), "old", bounds=bounds, eps=1.0)
    assert caught.value.__cause__ is None
