"""Names of files: each file once, of one kind, with columns of one type."""

import os
import pathlib

import pyarrow as pa
import pytest
from pyarrow import parquet

from dplr.rows.files.kinds import AS_WRITTEN, NUMBER
from dplr.rows.files.sources import files_of, parts_of


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("people")
    for place, name in enumerate(("b", "a", "c")):
        write(f"people/{name}.parquet", {"age": pa.array([place, 10 + place], pa.int8()), "job": ["x", "y"]})
    return tmp_path


def write(path, columns):
    parquet.write_table(pa.table(columns), path)


ALL = ["people/a.parquet", "people/b.parquet", "people/c.parquet"]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        ("people", ALL),
        ("people/*.parquet", ALL),
        ("**/*.parquet", ALL),
        ("people/[ab].parquet", ALL[:2]),
        ("people/b.parquet", ["people/b.parquet"]),
        (pathlib.Path("people"), ALL),
        (["people/c.parquet", pathlib.Path("people/a.parquet")], [ALL[0], ALL[2]]),
        (("people/[bc].parquet", "people/a.parquet"), ALL),
    ],
)
def test_paths_folders_patterns_and_lists_name_sorted_files(folder, data, found):
    assert files_of(data) == found


def test_hidden_files_and_notes_of_programs_are_left_out(folder):
    for name in (".b.parquet.crc", "_SUCCESS", "_metadata", ".hidden.parquet"):
        pathlib.Path("people", name).write_bytes(b"x")
    assert files_of("people") == files_of("people/*") == ALL


def test_a_file_whose_name_is_a_pattern_is_that_file(folder):
    write("people/[ab].parquet", {"age": [1]})
    assert files_of("people/[ab].parquet") == ["people/[ab].parquet"]


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_file_that_is_named_twice_is_refused_by_whatever_name(folder, link):
    link(os.path.abspath("people/a.parquet"), "people/z.parquet")
    with pytest.raises(ValueError, match=r"`people/z.parquet` is the same file as `people/a.parquet`"):
        files_of("people")
    with pytest.raises(ValueError, match=r"`people/a.parquet` is named twice: its records would count twice"):
        files_of(["people/a.parquet", "people/b.parquet", "people/a.parquet"])
    with pytest.raises(ValueError, match=r"count twice"):
        files_of(["people/a.parquet", "people/../people/a.parquet"])
    with pytest.raises(ValueError, match=r"count twice"):
        files_of(["people/[ab].parquet", "people/b*"])
    os.symlink(os.path.abspath("people"), "more")
    with pytest.raises(ValueError, match=r"count twice"):
        files_of(["people/a.parquet", "more/a.parquet"])
    assert files_of(["people/z.parquet", "people/b.parquet"]) == ["people/b.parquet", "people/z.parquet"]


def test_folders_in_folders_are_refused_and_those_of_values_are_explained(folder):
    os.mkdir("people/more")
    for data in ("people", "people/*"):
        with pytest.raises(ValueError, match=r"must hold files alone; got the folder more\. Name the files"):
            files_of(data)
    os.rename("people/more", "people/year=2024")
    with pytest.raises(ValueError, match=r"Names of folders are not read as columns: write year into the files"):
        files_of("people")
    os.rename("people/a.parquet", "people/year=2024/a.parquet")
    assert files_of("people/**/*.parquet") == [*ALL[1:], "people/year=2024/a.parquet"]


def test_files_of_both_kinds_and_empty_ones_are_refused(folder):
    pathlib.Path("people/z.csv").write_text("age\n1\n")
    said = r"`data` must be of one kind; `people/a.parquet` is Parquet, and `people/z.csv` is not\."
    with pytest.raises(ValueError, match=said):
        files_of("people")
    pathlib.Path("people/z.csv").write_text("")
    with pytest.raises(ValueError, match=r"`people/z.csv` must have a header or a footer; it is empty"):
        files_of("people")


@pytest.mark.parametrize("data", [[], "empty", "people/*.csv", ["people/*.csv"], "**/*.orc"])
def test_names_of_no_file_are_refused(folder, data):
    os.mkdir("empty")
    with pytest.raises(ValueError, match=r"`data` must name at least one file"):
        files_of(data)


@pytest.mark.parametrize("data", [3, None, b"people", {"people": 1}, ["people/a.parquet", 3]])
def test_what_names_no_files_is_refused(folder, data):
    with pytest.raises(TypeError, match=r"`data` must name files; got"):
        files_of(data)


def test_files_that_are_not_there_pipes_and_addresses_are_refused(folder):
    os.symlink("nowhere", "people/broken.parquet")
    for data in ("nowhere.parquet", "people/broken.parquet", "people"):
        with pytest.raises(FileNotFoundError):
            files_of(data)
    os.mkfifo("pipe")
    with pytest.raises(ValueError, match=r"`pipe` must be a file, because it is read more than once"):
        files_of("pipe")
    with pytest.raises(ValueError, match=r"must be a path on this machine; got 's3://people/a.parquet'"):
        files_of("s3://people/a.parquet")


def test_parts_of_many_files_hold_all_rows_whatever_the_order_of_columns(folder):
    write("people/b.parquet", {"job": ["x"], "other": [1.5], "age": pa.array([7], pa.int8())})
    write("people/c.parquet", {"age": pa.array([], pa.int8()), "job": pa.array([], pa.string())})
    files = files_of("people")
    parts, schema = parts_of(files, ["job", "age"])
    table = pa.Table.from_batches([batch for part in parts for batch in part.batches()], schema)
    assert table.to_pydict() == {"job": ["x", "y", "x"], "age": [1, 11, 7]}


def test_columns_whose_type_differs_between_files_are_refused(folder):
    write("people/b.parquet", {"age": [7], "job": ["x"]})
    said = r"column 'age' must have one type .* got int8 in `.*/a.parquet` and int64 in `.*/b.parquet"
    with pytest.raises(ValueError, match=said):
        parts_of(files_of("people"), ["job", "age"])
    assert parts_of(files_of("people"), ["job"])[1] == pa.schema([("job", pa.string())])


def test_a_column_that_a_file_lacks_is_refused_with_the_name_of_the_file(folder):
    write("people/b.parquet", {"job": ["x"]})
    with pytest.raises(ValueError, match=r"`people/b.parquet` must have a column for age"):
        parts_of(files_of("people"), ["job", "age"])


def test_csv_files_need_kinds_and_have_one_part_each(folder):
    for name in "ab":
        pathlib.Path(f"{name}.csv").write_text(f"age,job\n1,{name}\n")
    files, kinds = files_of("*.csv"), {"job": AS_WRITTEN, "age": NUMBER, "other": NUMBER}
    parts, schema = parts_of(files, ["age", "job"], kinds)
    assert [batch.to_pylist() for part in parts for batch in part.batches()] == [
        [{"age": 1.0, "job": "a"}],
        [{"age": 1.0, "job": "b"}],
    ]
    assert schema == pa.schema([("age", pa.float64()), ("job", pa.string())])
    with pytest.raises(ValueError, match=r"`bounds` must say what each column of a file holds; got \['job'\]"):
        parts_of(files, ["age", "job"], {"age": NUMBER})
