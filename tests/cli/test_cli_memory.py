"""What is said where memory runs out: a sentence with the rows that fit, and what stays spent."""

import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import dplr
from dplr.fitting.data import too_many
from dplr.rows.files import whole
from dplr.rows.files.whole import memory_explained

ROWS = 1_500_000
WHOLE = 1_000_000  # of a CSV file that is small enough to be read whole
NAMES = [f"x{place}" for place in range(8)]
BOUNDS = (
    "".join(f"[features.{name}]\nlower = 0\nupper = 1\n" for name in NAMES[1:]) + "[target]\nlower = 0\nupper = 1\n"
)
LIMITED = """
import re, resource, sys
import click, numpy, pandas, pyarrow.compute, pyarrow.csv, pyarrow.parquet, sklearn, dplr, dplr.cli._fit
dplr.fit(numpy.ones((50, 1)), numpy.arange(50) % 2, eps=float("inf"), mechanism="none")
from dplr.__main__ import main
used = int(re.search(r"VmData:\\s*(\\d+)", open("/proc/self/status").read())[1]) * 1024
limit = used + int(sys.argv.pop(1)) * 2**20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
main()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.integers(0, 10, ROWS) / 10 for name in NAMES})
    parquet.write_table(table, folder / "people.parquet", row_group_size=100_000)
    plain = csv.WriteOptions(quoting_style="none")
    csv.write_csv(table, folder / "streamed.csv", plain)  # 47 MB
    csv.write_csv(table[:WHOLE], folder / "people.csv", plain)
    (folder / "bounds.toml").write_text(BOUNDS)
    return folder


def fitted(folder, megabytes, name, *options):
    """The end of a fit under a limit of memory above what the imports take."""
    ledger = folder / "budget.db"
    ledger.unlink(missing_ok=True)
    (folder / "model.json").unlink(missing_ok=True)
    dplr.Ledger(ledger, eps=1)
    arguments = ("fit", name, "--target", "x0", "--bounds", "bounds.toml", "--eps", "0.5", "--ledger", "budget.db")
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(megabytes), *arguments, "--model", "linear", "-o", "model.json", *options],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


def refused(folder, megabytes, name, *options):
    """What is said of a fit that memory does not suffice for."""
    done = fitted(folder, megabytes, name, *options)
    assert done.returncode == 3, done.stderr
    assert "fault of dplr" not in done.stderr
    assert (dplr.Ledger(folder / "budget.db").spent()[0] > 0) is ("its cost stays spent" in done.stderr)
    assert not (folder / "model.json").exists()
    return done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
@pytest.mark.parametrize(
    ("name", "megabytes", "known"), [("people.parquet", 80, f"of {ROWS} "), ("people.csv", 50, "")]
)
def test_files_that_do_not_fit_into_memory_are_refused_with_the_rows_that_fit(folder, name, megabytes, known):
    said = refused(folder, megabytes, name, "--mechanism", "fm")
    rule = rf"`{name}` must fit into memory of \d+ MiB; got (\d+) {known}rows of 6\d bytes each before it ran out\. "
    found = re.search(rule + r"At most about (\d+) rows fit\. Name fewer columns", said)
    assert found, said
    assert dplr.Ledger(folder / "budget.db").spent()[0] == 0
    assert 0 < int(found[2]) <= int(found[1]) < ROWS


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
def test_a_larger_file_is_streamed_where_it_does_not_fit_into_memory(folder):
    done = fitted(folder, 80, "streamed.csv", "--mechanism", "fm")
    assert done.returncode == 0, done.stderr
    assert (folder / "model.json").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
def test_a_fit_that_does_not_fit_into_memory_says_so(folder):
    said = refused(folder, 170, "people.parquet", "--mechanism", "objective")
    assert re.search(rf"`X` and what the fit makes of it must fit into memory of \d+ MiB; got {ROWS} rows", said), said


def test_rows_that_fit_follow_from_the_array_that_there_was_no_room_for(monkeypatch):
    monkeypatch.setattr("dplr.fitting.data.memory_limit", lambda: 300 << 20)
    with pytest.raises(MemoryError) as raised:
        np.empty(1 << 55)
    error = raised.value
    error.shape, error.dtype = (100 << 17,), np.dtype(float)  # 100 MiB
    assert "memory of 300 MiB; got 1000 rows, and it ran out. At most about 750 rows" in str(
        too_many([0] * 1000, error)
    )
    for unknown in (None, "income"):
        assert "it ran out. Name fewer columns" in str(too_many(unknown, error if unknown else MemoryError()))


def test_a_fit_in_python_says_how_many_rows_there_were(monkeypatch):
    def full(*_, **__):
        raise pa.ArrowMemoryError("malloc of size 16000000 failed")

    monkeypatch.setattr("dplr.estimators._base.release", full)
    with pytest.raises(MemoryError, match=r"`X` and what the fit makes of it must fit into memory.*; got 50 rows, and"):
        dplr.fit(np.ones((50, 1)), np.arange(50) % 2, eps=1, mechanism="fm")


@pytest.mark.parametrize(("limit", "words"), [(None, "memory;"), (500 << 20, "memory of 500 MiB;")])
def test_the_sentence_of_a_file_counts_rows_and_bytes(monkeypatch, limit, words):
    monkeypatch.setattr(whole, "memory_limit", lambda: limit)
    batch = pa.RecordBatch.from_pydict({"a": np.zeros(1239)})
    with pytest.raises(MemoryError) as raised:
        _fill("a.csv", batch)
    assert str(raised.value) == (
        f"`a.csv` must fit into {words} got 1239 rows of 8 bytes each before it ran out. At most about 1200 rows fit. "
        "Name fewer columns in the bounds, or give it more memory."
    )


def _fill(path, batch):
    with memory_explained(path, None) as held:
        held.append(batch)
        raise MemoryError
