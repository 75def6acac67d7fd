"""A file that changes while a fit reads it: what is noticed, and what is said."""

import os
import sys

import numpy as np
import pytest

import dplr
from dplr.rows.files.part import FileChanged, Stamp

needs_times = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows does not tell when a record of a file changed"
)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("x,y\n" + "0.1,0\n0.9,1\n" * 200)
    return path


def edit_in_place(path):
    """One digit of one row, and the time of the file put back."""
    before = os.stat(path)
    with open(path, "r+b") as file:
        file.seek(6)
        file.write(b"8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = os.stat(path)
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)


@needs_times
@pytest.mark.parametrize(
    "change",
    [
        edit_in_place,
        lambda path: os.chmod(path, 0o600 if os.stat(path).st_mode & 0o077 else 0o644),
        lambda path: os.link(path, f"{path}.again"),
    ],
    ids=["edit in place", "rights", "names"],
)
def test_a_change_whose_time_was_put_back_is_noticed(path, change):
    stamp = Stamp.of(str(path), b"x,y\n")
    stamp.check(str(path), b"x,y\n")
    change(path)
    with pytest.raises(
        FileChanged, match=r"content, names or rights changed, and whose time was kept or put back\. Wait"
    ):
        stamp.check(str(path), b"x,y\n")


def test_reading_a_file_changes_nothing(path):
    stamp = Stamp.of(str(path), b"x,y\n")
    path.read_bytes()
    os.stat(path)
    stamp.check(str(path), b"x,y\n")
    assert Stamp.of(str(path), b"x,y\n") == stamp


@needs_times
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_fit_whose_file_was_edited_between_two_passes_is_refused_and_nothing_is_spent(tmp_path, monkeypatch):
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "people.parquet"
    x = np.random.default_rng(0).uniform(-1, 1, 2000)
    table = {"x": x, "y": (x > 0).astype(float)}
    parquet.write_table(pa.table(table), path, compression="none", use_dictionary=False)
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=1.0)
    reserve = dplr.Ledger.reserve

    def edited(self, *statements, **options):
        """The stamp was taken, and no row was read."""
        held, before = reserve(self, *statements, **options), os.stat(path)
        data = bytearray(path.read_bytes())
        data[data.index(x[7:9].tobytes())] ^= 1
        with open(path, "r+b") as file:
            file.write(data)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        return held

    monkeypatch.setattr(dplr.Ledger, "reserve", edited)
    model = dplr.LinearRegression(
        eps=0.5, mechanism="fm", bounds=dplr.Bounds({"x": (-1, 1)}, target=(0, 1)), ledger=ledger
    )
    with pytest.raises(ValueError, match="content, names or rights changed"):
        model.fit(dplr.Stream([str(path)]), "y")
    assert ledger.remaining()[0] == 1.0
