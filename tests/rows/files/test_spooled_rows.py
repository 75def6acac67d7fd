"""A CSV file whose rows are written down when they are first read: the same rows, and the text is read once."""

import os
import shutil
import subprocess
import sys

import pyarrow as pa
import pytest

from dplr.rows import spill
from dplr.rows.files import csv
from dplr.rows.files.csv import CsvFile, csv_parts
from dplr.rows.files.kinds import AS_WRITTEN, NUMBER, Format
from dplr.rows.files.part import Part, Spool

KINDS = {"age": NUMBER, "job": AS_WRITTEN, "old": NUMBER}
ROWS = 3000


@pytest.fixture
def path(tmp_path):
    lines = [f"{row % 80},{'abc'[row % 3]},{'true' if row % 7 else 'false'}" for row in range(ROWS)]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["age,job,old", *lines, ""]))
    return str(path)


@pytest.fixture
def reads(monkeypatch):
    """How often a file is read."""
    seen, read = [], CsvFile.read

    def counted(file, columns):
        seen.append(file.path)
        return read(file, columns)

    monkeypatch.setattr(CsvFile, "read", counted)
    return seen


def part_of(path):
    (part,) = csv_parts(path, KINDS, Format(), 4096)
    return part


def spooled(path, folder):
    return Part(Spool(part_of(path), str(folder)).batches, path)


def rows_of(part):
    return pa.Table.from_batches(part.batches()).to_pylist()


def test_the_text_is_read_once_and_the_rows_are_those_of_the_file(path, tmp_path, reads):
    part = spooled(path, tmp_path)
    want = rows_of(part_of(path))
    reads.clear()
    assert rows_of(part.chosen(["old"])) == [{"old": row["old"]} for row in want]
    os.remove(path)
    assert rows_of(part) == rows_of(part.chosen(["age", "job", "old"])) == want
    assert list(rows_of(part.chosen(["job", "age"]))[0]) == ["job", "age"]
    assert len(reads) == 1
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("full", ["no folder", "no room", "full"])
def test_without_room_the_file_is_read_again(path, tmp_path, reads, full, monkeypatch):
    folder = str(tmp_path / "none") if full == "no folder" else str(tmp_path)
    usage = shutil.disk_usage(tmp_path)
    if full == "no room":
        frees = iter([10**9] + 10**6 * [10**8])
        monkeypatch.setattr(spill.shutil, "disk_usage", lambda folder: usage._replace(free=next(frees)))
    if full == "full":

        def stop(*given):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(pa.ipc, "new_stream", stop)
    part = spooled(path, folder)
    assert rows_of(part) == rows_of(part) == rows_of(part_of(path))
    assert len(reads) == 3


LIMITED = """
import resource, signal, sys
from dplr.rows.files.csv import csv_parts
from dplr.rows.files.kinds import AS_WRITTEN, NUMBER, Format
from dplr.rows.files.part import Part, Spool
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
(part,) = csv_parts(sys.argv[1], {"age": NUMBER, "job": AS_WRITTEN, "old": NUMBER}, Format(), 4096)
spool = Spool(part, sys.argv[2])
part = Part(spool.batches, "rows")
print([sum(batch.num_rows for batch in part.batches()) for _ in range(2)], spool._has_room)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of files are those of Linux")
def test_a_disk_that_is_full_ends_no_read(path, tmp_path):
    """Also where the last bytes wait in a buffer when the file is closed."""
    done = subprocess.run([sys.executable, "-c", LIMITED, path, str(tmp_path)], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": ":".join(sys.path)}, check=False)  # fmt: skip
    assert done.stdout == f"[{ROWS}, {ROWS}] False\n", done.stderr


def test_a_file_that_is_refused_is_refused_again(path, tmp_path):
    with open(path, "a") as file:
        file.write("x,a,true\n")
    part = spooled(path, tmp_path)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"column 'age' of .* must hold numbers; 1 of 3001 fields"):
            rows_of(part.chosen(["job"]))
    assert part.read.__self__._data is None


def test_a_file_that_changes_before_it_is_read_is_refused(path, tmp_path):
    part = spooled(path, tmp_path)
    with open(path, "a") as file:
        file.write("1,a,true\n")
    with pytest.raises(ValueError, match="must stay as it is"):
        rows_of(part)


def test_columns_that_arrow_does_not_read_leave_the_others_to_it(path, monkeypatch):
    """The words true and false in one column: numbers in others are read by Arrow itself, from the next block on."""
    asked, slowly = [], csv._numbers

    def watched(fields, *given):
        asked.append(set(fields.to_pylist()))
        return slowly(fields, *given)

    monkeypatch.setattr(csv, "_numbers", watched)
    rows = rows_of(part_of(path))
    assert [row["old"] for row in rows[:8]] == [0, 1, 1, 1, 1, 1, 1, 0]
    assert len(asked) > 3
    assert set().union(*asked) == {"true", "false"}
