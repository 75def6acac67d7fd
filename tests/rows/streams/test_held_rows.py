"""Rows that workers hold: every bit is that of rows that are read again; they leave no worker, and end with the fit."""

import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pyarrow.dataset as ds
import pytest
from pyarrow import parquet

import dplr
from dplr.problem.losses import LOGISTIC
from dplr.rows import spill
from dplr.rows.exact import ClippedGradient
from dplr.rows.streams.far import sum_part
from dplr.rows.streams.holding import Shelf, WorkerRows
from dplr.rows.streams.passes import CountPass, SumPass
from streamed_rows import (
    FITS,
    CountedPart,
    FarParts,
    FaultyPart,
    HoldingParts,
    MemoryPart,
    assert_same,
    fitted,
    parts_of,
    people,
)

N = 20_000
MANY = {"mechanism": dplr.NoisyGradientDescent(steps=12), "delta": 1e-6}
WEIGHTED = {**MANY, "sample_weight": "weight", "weight_max": 1.5}


@pytest.fixture(scope="module")
def table():
    return people(N)


def counted(table, folder, count=7):
    """Parts that hold rows, and note in a folder when they are read."""
    parts = parts_of(table, count)
    return HoldingParts([CountedPart(part, str(folder)) for part in parts.parts], parts.empty)


@pytest.mark.parametrize("given", [MANY, WEIGHTED, FITS["score"]], ids=["ngd", "weights", "score"])
def test_held_rows_give_the_bits_of_rows_in_memory(given, table, tmp_path):
    assert_same(fitted(counted(table, tmp_path), **given), fitted(table, **given))


@pytest.mark.parametrize(("keep", "passes"), [(None, 5), (False, 14)])
def test_held_rows_are_not_read_again(keep, passes, table, tmp_path):
    """Two passes before the first step, two steps, and the one that holds them; without a file, a pass per step."""
    fitted(dplr.Stream(counted(table, tmp_path), keep=keep), **MANY)
    assert len(os.listdir(tmp_path)) == 7 * passes


def test_a_held_sample_saves_passes(table, tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "held").mkdir()
    parts = counted(table, tmp_path / "held")
    far = FarParts([CountedPart(part.part, str(tmp_path / "far")) for part in parts.parts], parts.empty)
    assert_same(fitted(parts, **FITS["objective"]), fitted(far, **FITS["objective"]), "objective")
    assert len(os.listdir(tmp_path / "held")) < len(os.listdir(tmp_path / "far"))


@pytest.mark.parametrize("name", ["objective", "output", "rest", "ngd"])
def test_no_bit_follows_how_parts_are_grouped(name, table):
    """A worker holds runs of parts, as long as there are few cores."""

    class Grouped(HoldingParts):
        def groups(self):
            return [self.parts[start : start + 4] for start in range(0, len(self.parts), 4)]

        def chosen(self, columns):
            return Grouped([part.chosen(columns) for part in self.parts], self.empty, 1)

    parts = parts_of(table, 11)
    found = [fitted(kind(parts.parts, parts.empty, 1), **FITS[name]) for kind in (HoldingParts, Grouped)]
    assert_same(*found)


def group(table, step=1, folder="", part=MemoryPart):
    return WorkerRows([part(table.slice(0, 3000)), part(table.slice(3000))], shelf_of(table, step, folder))


def shelf_of(table, step, folder):
    """As a fit has it: whatever is held first is noted."""
    seen = []

    class Noting(HoldingParts):
        def chosen(self, columns):
            return Noting([part.chosen(columns) for part in self.parts], self.empty, 1)

        def held(self, recipe, step, folder):
            seen.append(recipe)
            return super().held(recipe, step, folder)

    fitted(Noting(parts_of(table, 2).parts, table.slice(0, 0)), **MANY)
    return Shelf(seen[0], step, "<f8", folder)


@pytest.mark.parametrize(("step", "folder"), [(1, ""), (5, None)])
def test_rows_are_in_no_pickle_and_are_read_again_from_one(step, folder, table, tmp_path):
    few = table.slice(0, 5000)
    held = group(few, step, folder).reading(CountPass(), str(tmp_path))
    assert held.answer == b"5000"
    assert held.sums(CountPass(), str(tmp_path)) == b"%d" % (5000 if step == 1 else 1000)
    assert held.answer == b"", "the driver has it: no sum stays on the worker"
    held.parts = ()  # what is left is what a pickle adds to its parts
    assert held._rows is not None
    assert len(pickle.dumps(held)) < 10_000
    moved = pickle.loads(pickle.dumps(group(few, step, folder).reading(CountPass(), str(tmp_path))))
    assert moved._rows is None
    assert moved.sums(CountPass(), str(tmp_path)) == b"%d" % (5000 if step == 1 else 1000)


def test_the_file_has_no_name_and_is_freed_with_the_rows(table, tmp_path):
    held = group(table.slice(0, 5000)).reading(CountPass(), str(tmp_path))
    assert os.listdir(tmp_path) == []
    assert [path.endswith("(deleted)") for path in mapped_in(tmp_path)] == [True, True]
    del held
    assert mapped_in(tmp_path) == set()


@pytest.mark.parametrize("learns", [True, False])
def test_what_a_pass_learns_of_rows_stays_where_there_is_room(learns, table, tmp_path):
    """It is a copy of them, which may be as large as the file."""
    held = group(table.slice(0, 5000))
    held.shelf = replace(held.shelf, learns=learns)
    held.reading(CountPass(), str(tmp_path))
    d = held.shelf.recipe.prep.geometry.d
    job = SumPass(held.shelf.recipe, [(ClippedGradient(LOGISTIC, d, True, 1.0), np.zeros(d + 1))])
    answers = [held.sums(job, str(tmp_path)) for _ in range(12)]
    assert set(answers) == {sum_part(job, *held.parts)}
    known = [rows for part in held._last_mapping[1] for rows in part]
    assert bool(known) is learns
    assert all("clipped_rows" in vars(rows) for rows in known)
    assert not any("clipped_rows" in vars(rows) for part in held._rows for rows in part)


def mapped_in(folder):
    """The files of a folder that this process maps."""
    with open("/proc/self/maps") as maps:
        return {line.split(maxsplit=5)[-1].strip() for line in maps if str(folder) in line}


class Full:
    """A file on a disk that is full after some writes."""

    def __init__(self, file, writes):
        self._file, self.writes = file, writes

    def __getattr__(self, name):
        return getattr(self._file, name)

    def write(self, data):
        self.writes -= 1
        if self.writes < 0:
            raise OSError(28, "No space left on device")
        return self._file.write(data)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()


@pytest.mark.parametrize("writes", [0, 1, 5, 20])
def test_a_full_disk_changes_no_bit(writes, table, monkeypatch, tmp_path):
    opened = spill.nameless
    monkeypatch.setattr(spill, "nameless", lambda folder: Full(opened(folder), writes))
    assert_same(fitted(counted(table, tmp_path), **MANY), fitted(table, **MANY))


def test_rows_on_another_way_are_learnt_anew(table, tmp_path):
    held = group(table.slice(0, 5000))
    held.shelf = replace(held.shelf, learns=True)
    held.reading(CountPass(), str(tmp_path))
    recipe = held.shelf.recipe
    d = recipe.prep.geometry.d
    query, center = ClippedGradient(LOGISTIC, d, True, 1.0), np.zeros(d)
    ways = [None, *(recipe.prep.standardised(center, np.full(d, factor), 1.0) for factor in (0.5, 0.25))]
    jobs = [SumPass(recipe.mapped(way), [(query, np.full(d + 1, 0.125))]) for way in (*ways, *ways)]
    found = [held.sums(job, str(tmp_path)) for job in jobs]
    assert len(set(found)) == 3
    assert found == [WorkerRows(held.parts, replace(held.shelf, learns=False)).sums(job, str(tmp_path)) for job in jobs]


def test_a_folder_that_is_not_there_changes_no_bit(table, tmp_path):
    stream = dplr.Stream(counted(table, tmp_path), keep=tmp_path / "gone")
    assert_same(fitted(stream, **MANY), fitted(table, **MANY))


def test_a_disk_without_room_is_not_written(table, monkeypatch, tmp_path):
    monkeypatch.setattr(spill.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 1000}))
    held = group(table.slice(0, 5000)).reading(CountPass(), str(tmp_path))
    assert held._rows is None
    assert held.sums(CountPass(), str(tmp_path)) == b"5000"


def test_a_disk_is_not_filled_by_parts_that_do_not_know_how_many_rows_they_have(table, monkeypatch, tmp_path):
    """As CSV files: a quarter of what is held stays free."""
    held = group(table.slice(0, 5000))
    held.parts = tuple(Uncounted(part) for part in held.parts)
    size = held.reading(CountPass(), str(tmp_path))._rows[0][0].arrays()[0].nbytes
    for free, is_held in ((size, False), (3 * size, True)):
        monkeypatch.setattr(spill.shutil, "disk_usage", lambda folder, free=free: type("Usage", (), {"free": free}))
        assert (held.reading(CountPass(), str(tmp_path))._rows is not None) is is_held
        assert held.sums(CountPass(), str(tmp_path)) == b"5000"


class Uncounted:
    """A part that does not know how many rows it has."""

    rows = None

    def __init__(self, part):
        self.part, self.name = part, part.name

    def batches(self):
        return self.part.batches()


@pytest.mark.parametrize(("step", "folder"), [(1, ""), (5, None)])
def test_a_fault_of_a_part_is_the_answer(step, folder, table, tmp_path):
    held = group(table.slice(0, 5000), step, folder, FaultyPart).reading(CountPass(), str(tmp_path))
    for answer in (held.answer, held.sums(CountPass(), str(tmp_path))):
        assert answer == sum_part(CountPass(), *held.parts)
        assert b"Jane" not in answer


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster, set_as_default=False) as found:
        yield found


def on_workers(table, client, folder):
    from dplr.rows.streams.engines.dask import DaskParts

    parts = counted(table, folder, 8)
    return DaskParts(parts.parts, parts.empty, client)


def mapped_on_workers(client):
    def mapped():
        with open("/proc/self/maps") as maps:
            return sum("deleted" in line and "dask" in line for line in maps)

    return sum(client.run(mapped).values())


def test_workers_hold_rows_while_a_fit_runs_and_not_longer(client, table, tmp_path, monkeypatch):
    dask = pytest.importorskip("dplr.rows.streams.engines.dask")
    during, sums = [], dask._HeldSums.sums

    def noting(self, job, seen):
        during.append(mapped_on_workers(client))
        return sums(self, job, seen)

    monkeypatch.setattr(dask._HeldSums, "sums", noting)
    assert_same(fitted(on_workers(table, client, tmp_path), **MANY), fitted(table, **MANY))
    assert len(during) == 10
    assert min(during[1:]) > 0, "the first pass reads them"
    assert len(os.listdir(tmp_path)) == 8 * 5
    assert eventually(lambda: mapped_on_workers(client) == 0)


def eventually(rule, seconds=20):
    end = time.monotonic() + seconds
    while not rule() and time.monotonic() < end:
        time.sleep(0.1)
    return rule()


LONG = """
import sys
import distributed
import dplr
client = distributed.Client(sys.argv[1], set_as_default=False)
bounds = dplr.Bounds({"age": (18, 90), "weight": (0, 2)})
stream = dplr.Stream(sys.argv[2], workers=client)
steps = dplr.NoisyGradientDescent(steps=100_000)
dplr.fit(stream, "old", bounds=bounds, eps=1.0, delta=1e-6, mechanism=steps)
"""


def test_workers_forget_the_rows_of_a_fit_whose_driver_was_killed(client, table, tmp_path):
    parquet.write_table(table.select(["age", "weight", "old"]), tmp_path / "a.parquet", row_group_size=2000)
    command = [sys.executable, "-c", LONG, client.scheduler.address, str(tmp_path)]
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}) as driver:
        try:
            assert eventually(lambda: mapped_on_workers(client) > 0, 60)
        finally:
            driver.kill()
    assert eventually(lambda: mapped_on_workers(client) == 0)


@pytest.mark.parametrize("given", [MANY, FITS["objective"]], ids=["ngd", "objective"])
def test_rows_of_a_worker_that_is_lost_are_read_again_and_no_bit_changes(given, client, table, tmp_path, monkeypatch):
    dask = pytest.importorskip("dplr.rows.streams.engines.dask")
    passes, sums = [], dask._HeldSums.sums

    def losing(self, job, seen):
        passes.append(1)
        if len(passes) == 3:
            victim = next(iter(client.scheduler_info()["workers"]))
            client.run(lambda: os.kill(os.getpid(), signal.SIGKILL), workers=[victim], on_error="ignore")
        return sums(self, job, seen)

    monkeypatch.setattr(dask._HeldSums, "sums", losing)
    lost = fitted(on_workers(table, client, tmp_path), **given)
    read = len(os.listdir(tmp_path))
    monkeypatch.setattr(dask._HeldSums, "sums", sums)
    calm = counted(table, tmp_path, 8)
    assert_same(lost, fitted(calm, **given))
    assert read > len(os.listdir(tmp_path)) - read, "rows of the killed worker were read again"


def test_a_fit_of_files_holds_their_rows_by_types_alone(client, table, tmp_path):
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=2000)
    stream = dplr.Stream(ds.dataset(tmp_path), workers=client, keep=tmp_path)
    assert_same(fitted(stream, **MANY), fitted(table, **MANY))
    assert os.listdir(tmp_path) == ["a.parquet"]
    assert np.isfinite(fitted(stream, **MANY).coef_).all()
