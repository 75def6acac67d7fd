"""Parts of Parquet files: all rows once and in order, in bounded memory, and only while the file stays the file."""

import itertools
import os
import pathlib
import pickle
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from dplr.rows.files.parquet import footer_of, parquet_parts

GROUP_ROWS = 10


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "people.parquet")


def write(path, n=95, seed=0, group_rows=GROUP_ROWS):
    rng = np.random.default_rng(seed)
    table = pa.table({
        "age": pa.array(rng.integers(0, 99, n), pa.int8(), mask=rng.random(n) < 0.1),
        "job": pa.array(rng.choice(["a", "bb", ""], n)).dictionary_encode(),
        "x": rng.normal(size=n),
        "a.b": rng.normal(size=n),
        "a": [{"b": "other"}] * n,
        "nested": [{"b": float(i)} for i in range(n)],
    })  # fmt: skip
    parquet.write_table(table, path, row_group_size=group_rows)
    return str(path)


def rows_of(parts):
    return [row for part in parts for batch in part.batches() for row in batch.to_pylist()]


@pytest.mark.parametrize("part_rows", [1, 10, 15, 20, 94, 95, 10**6])
@pytest.mark.parametrize("batch_rows", [1, 3, 10, 64, 1000])
def test_the_parts_of_a_file_hold_its_rows_once_and_in_order(path, part_rows, batch_rows):
    names = ["x", "age", "a.b", "nested", "job"]
    parts = parquet_parts(path, names, part_rows, batch_rows)
    assert rows_of(parts) == parquet.read_table(path).select(names).to_pylist()
    assert [part.rows for part in parts] == [len(rows_of([part])) for part in parts]
    assert all(part.rows <= max(part_rows, GROUP_ROWS) for part in parts)
    assert all(one.rows + other.rows > part_rows for one, other in itertools.pairwise(parts))
    assert all(0 < batch.num_rows <= batch_rows for part in parts for batch in part.batches())
    assert all(batch.schema.names == names for part in parts for batch in part.batches())


def test_types_are_those_of_the_file_and_only_wanted_columns_are_read(path):
    parts = parquet_parts(path, ["job", "age"])
    batch = next(parts[0].batches())
    assert batch.schema.equals(pa.schema([footer_of(path).schema.field(name) for name in ("job", "age")]))


def test_a_part_can_be_read_again_and_elsewhere(path, tmp_path):
    part = parquet_parts(path, ["age", "job"], 20)[2]
    once = rows_of([part])
    assert rows_of([part]) == once
    copy = pickle.loads(pickle.dumps(part))
    assert rows_of([copy]) == once
    pickled = tmp_path / "part"
    pickled.write_bytes(pickle.dumps(part))
    code = """import pickle, sys
part = pickle.load(open(sys.argv[1], "rb"))
print([row for batch in part.batches() for row in batch.to_pylist()])"""
    done = subprocess.run([sys.executable, "-c", code, pickled], cwd="/", capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(once)


def test_a_part_named_from_a_folder_is_read_from_another(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parts = parquet_parts("people.parquet", ["age"])
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert len(rows_of(parts)) == 95


def test_empty_files_and_empty_row_groups_have_no_parts(tmp_path):
    path = str(tmp_path / "people.parquet")
    empty = pa.table({"age": pa.array([], pa.int8())})
    parquet.write_table(empty, path)
    assert parquet_parts(path, ["age"]) == []
    with parquet.ParquetWriter(path, empty.schema) as writer:
        for values in ([], [1, 2], [], [], [3], []):
            writer.write_table(pa.table({"age": pa.array(values, pa.int8())}), row_group_size=2)
    assert rows_of(parquet_parts(path, ["age"], 1)) == [{"age": 1}, {"age": 2}, {"age": 3}]


def rewrite_smaller(path):
    write(path, n=50)


def rewrite_other_rows(path):
    """Other rows and other row groups; the length and the time are those of the old file."""
    before = os.stat(path)
    write(path, group_rows=9)
    file = pathlib.Path(path).read_bytes()
    size = before.st_size
    assert len(file) >= size  # so the footer moves to where the old one stood
    footer = int.from_bytes(file[-8:-4], "little") + 8
    pathlib.Path(path).write_bytes(file[: size - footer] + file[-footer:])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def touch(path):
    before = os.stat(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))


@pytest.mark.parametrize("change", [rewrite_smaller, rewrite_other_rows, touch, os.remove])
def test_a_file_that_changes_before_it_is_read_is_refused(path, change):
    part = parquet_parts(path, ["age"])[0]
    change(path)
    with pytest.raises(ValueError, match=re.escape(f"`{path}` was changed while it was read, and must stay as it is")):
        next(part.batches())


@pytest.mark.parametrize("change", [touch, os.remove])
def test_a_file_that_changes_while_it_is_read_is_refused_at_its_end(path, change):
    batches = parquet_parts(path, ["age"], batch_rows=30)[0].batches()
    next(batches)
    change(path)
    with pytest.raises(ValueError, match="was changed while it was read"):
        list(batches)


@pytest.mark.parametrize("kept", [0, 4, 11, 0.3, 0.99, -1])
def test_a_file_that_was_cut_off_is_no_parquet_file(path, kept):
    whole = pathlib.Path(path).read_bytes()
    pathlib.Path(path).write_bytes(whole[: kept if isinstance(kept, int) else int(kept * len(whole))])
    with pytest.raises(ValueError, match=re.escape(f"`{path}` must be a whole Parquet file; ") + r".*[^.]\.$"):
        parquet_parts(path, ["age"])


def test_damage_below_the_footer_is_refused_when_it_is_read(path):
    whole = bytearray(pathlib.Path(path).read_bytes())
    whole[4:400] = bytes(396)
    pathlib.Path(path).write_bytes(whole)
    part = parquet_parts(path, ["age", "job", "x"])[0]
    with pytest.raises(ValueError, match=re.escape(f"`{path}` must be a whole Parquet file; ")):
        list(part.batches())


def test_missing_columns_and_columns_that_are_there_twice_are_refused(path, tmp_path):
    with pytest.raises(
        ValueError, match=r"must have a column for jobs; its header has age, job, x.* Did you mean job\?"
    ):
        parquet_parts(path, ["age", "jobs"])
    twice = str(tmp_path / "twice.parquet")
    parquet.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), twice)
    with pytest.raises(ValueError, match="must have every column once; a is there twice"):
        parquet_parts(twice, ["a"])


MEASURE = """
import sys
import pyarrow as pa
from dplr.rows.files.parquet import parquet_parts
for path in sys.argv[1:]:
    rows = sum(batch.num_rows for part in parquet_parts(path, list("abcd")) for batch in part.batches())
    print(rows, pa.default_memory_pool().max_memory())
"""


@pytest.mark.parametrize(("columns", "most"), [(1, 1 << 17), (40, 4 << 13)])
def test_batches_of_many_columns_have_fewer_rows_in_whole_blocks(columns, most, tmp_path):
    n = (1 << 17) + 8192
    path = str(tmp_path / "wide.parquet")
    parquet.write_table(pa.table({f"x{place}": np.zeros(n, np.int8) for place in range(columns)}), path)
    (part,) = parquet_parts(path, [f"x{place}" for place in range(columns)])
    sizes = [batch.num_rows for batch in part.batches()]
    assert sizes[0] == most
    assert sum(sizes) == n
    assert {size % 8192 for size in sizes[:-1]} == {0}


def test_memory_does_not_grow_with_a_file_of_one_row_group(tmp_path):
    """Eight times the rows in one row group; whole columns would take 32 bytes per row, 67 MB."""
    rng, sizes = np.random.default_rng(0), (1 << 18, 1 << 21)
    for n in sizes:
        table = pa.table({name: rng.normal(size=n) for name in "abcd"})
        parquet.write_table(
            table, tmp_path / f"{n}.parquet", row_group_size=n, compression="none", use_dictionary=False
        )
    files = [str(tmp_path / f"{n}.parquet") for n in sizes]
    done = subprocess.run([sys.executable, "-c", MEASURE, *files], capture_output=True, text=True, check=True)
    (_, few), (rows, many) = (map(int, line.split()) for line in done.stdout.splitlines())
    assert rows == sizes[1]
    assert many < 1.3 * few
    assert many < 8 * rows
