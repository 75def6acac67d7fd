"""CSV inside gzip and zstd: the rows of the plain file, in bounded memory; what is damaged is refused."""

import gzip
import os
import random
import subprocess
import sys

import pyarrow as pa
import pytest

from dplr.rows.files import csv
from dplr.rows.files.csv import csv_parts, text_size
from dplr.rows.files.kinds import CSV, NUMBER, PARQUET, SPSS, STATA, Format, Kind, kind_of
from dplr.rows.files.part import FileChanged

KINDS = {"n": NUMBER, "name": Kind(True)}
TEXT = "name,n\r\n" + "".join(f'"p{i}, é",{i / 7}\r\n' for i in range(5000))


def zstd(data):
    return pa.Codec("zstd").compress(data, asbytes=True)


def rows(path, size=1 << 12, form=None):
    (part,) = csv_parts(str(path), KINDS, form or Format(), size)
    return pa.Table.from_batches(list(part.batches())).to_pydict()


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_bytes(TEXT.encode())
    return rows(path)


@pytest.mark.parametrize("compress", [gzip.compress, zstd])
@pytest.mark.parametrize("size", [64, 1 << 20])
def test_the_rows_are_those_of_the_plain_file_whatever_its_name(tmp_path, plain, compress, size):
    path = tmp_path / "people.txt"
    path.write_bytes(compress(TEXT.encode()))
    assert rows(path, size) == plain
    path.write_bytes(compress(b"\xef\xbb\xbf" + TEXT.encode()))
    assert rows(path, size) == plain
    path.write_bytes(compress(TEXT.encode("latin-1")))
    assert rows(path, size, Format("latin-1")) == plain
    half = len(TEXT) // 2
    path.write_bytes(compress(TEXT[:half].encode()) + compress(TEXT[half:].encode()))  # as `cat` joins two files
    assert rows(path, size) == plain


@pytest.mark.parametrize(("compress", "name"), [(gzip.compress, "gzip"), (zstd, "zstd")])
def test_what_is_cut_off_or_damaged_is_refused(tmp_path, compress, name):
    path = tmp_path / "people.csv.gz"
    data = compress(TEXT.encode())
    said = f"must be a whole file of {name}; it is damaged or cut off. Write it anew."
    for damaged in (data[:-3], data[: len(data) // 2], data[:5], data + b"more"):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=said):
            rows(path)
    path.write_bytes(gzip.compress(TEXT.encode())[:-8] + bytes(8))  # the checksum
    with pytest.raises(ValueError, match="must be a whole file of gzip"):
        rows(path)


def test_what_is_not_csv_inside_is_refused(tmp_path):
    path = tmp_path / "people.gz"
    for inside, word in ((b"PAR1 and more", "Parquet"), (b"$FL2@(#)", "SPSS"), (gzip.compress(b"a\n1\n"), "gzip")):
        path.write_bytes(gzip.compress(inside))
        with pytest.raises(ValueError, match=f"must be CSV inside gzip; {word} is inside. Decompress it first"):
            rows(path)
    path.write_bytes(gzip.compress(b""))
    with pytest.raises(ValueError, match="must have a column for n, name; its header has nothing"):
        rows(path)


def test_a_file_that_changes_is_refused(tmp_path):
    path = tmp_path / "people.csv.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    (part,) = csv_parts(str(path), KINDS, Format(), 1 << 12)
    status, other = os.stat(path), bytearray(path.read_bytes())
    other[4] ^= 1  # the time in its header, which is no row
    path.write_bytes(other)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(FileChanged, match="was changed while it was read"):
        list(part.batches())


def test_a_bomb_takes_no_memory(tmp_path, monkeypatch):
    """Lines that never end, in the header or below it, are refused once they are too long, and sizes are counted up to
    a limit."""
    monkeypatch.setattr(csv, "LONGEST", 1 << 20)
    path = tmp_path / "people.csv.gz"
    path.write_bytes(gzip.compress(b"x" * (1 << 24)))
    with pytest.raises(ValueError, match="must have a header of less than 1 MiB; its header is longer"):
        rows(path)
    path.write_bytes(gzip.compress(b"name,n\n" + b"x" * (1 << 24)))
    with pytest.raises(ValueError, match="must have rows of at most 1 MiB; the row in line 2 is longer"):
        rows(path)
    assert 1 << 20 < text_size(str(path), 1 << 20) < 1 << 21


def test_kinds_are_told_by_the_beginning():
    found = [kind_of(each) for each in (b"PAR1", b"$FL2", b"$FL3", b"<stata_dta>", b"q\2\1\0", b"s\1\1\0")]
    assert found == [PARQUET, SPSS, SPSS, STATA, STATA, STATA]
    assert {kind_of(each) for each in (b"", b"q", b"q,s\n", b"\xef\xbb\xbfa", b"<stata>", b"s\1\1\1")} == {CSV}


MEASURE = """
import sys, tracemalloc
import pyarrow as pa
from dplr.rows.files.csv import csv_parts
from dplr.rows.files.kinds import NUMBER, Format
for turn, path in enumerate(sys.argv[1:]):
    if turn == 1:
        tracemalloc.start()
    (part,) = csv_parts(path, {"a": NUMBER, "b": NUMBER}, Format(), 1 << 16)
    rows = sum(batch.num_rows for batch in part.batches())
    print(rows, pa.default_memory_pool().max_memory() + tracemalloc.get_traced_memory()[1])
"""


@pytest.mark.parametrize("compress", [gzip.compress, zstd])
def test_memory_does_not_grow_with_the_file(tmp_path, compress):
    sizes, draw = (1 << 16, 1 << 20), random.Random(0)
    for n in sizes:
        text = "a,b,c\n" + "".join(f"{i},{draw.random()},z\n" for i in range(n))
        (tmp_path / str(n)).write_bytes(compress(text.encode()))
    files = [str(tmp_path / str(n)) for n in sizes]
    done = subprocess.run([sys.executable, "-c", MEASURE, files[0], *files], capture_output=True, text=True, check=True)
    _, (_, few), (rows, many) = (map(int, line.split()) for line in done.stdout.splitlines())
    assert rows == sizes[1]
    assert many < 1.3 * few
