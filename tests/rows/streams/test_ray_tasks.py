"""Rows that workers of Ray sum: every bit is that of this process, whoever is killed, and no row leaves a worker."""

import importlib
import os
import sys

import pyarrow.dataset as ds
import pytest

import dplr
from dplr.rows.streams.answers import WorkerFault
from dplr.rows.streams.parts import one_pass
from dplr.rows.streams.passes import CountPass
from streamed_rows import FITS, DeadlyPart, FarParts, FaultyPart, assert_same, fitted, people, written

ray = pytest.importorskip("ray", reason="the extra `ray` is not installed: `make ray` has it")
pytest.importorskip("ray.data", reason="the extra `ray` is not installed: `make ray` has it")
RayParts = importlib.import_module("dplr.rows.streams.engines.ray").RayParts
N = 20_000
SOME = ["fm", "objective", "ngd", "text", "weights", "linear"]


@pytest.fixture(scope="module", autouse=True)
def cluster():
    environment = {"env_vars": {"PYTHONPATH": os.pathsep.join(sys.path)}}
    ray.init(
        num_cpus=2, include_dashboard=False, runtime_env=environment, object_store_memory=2**28, log_to_driver=False
    )
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return written(tmp_path_factory.mktemp("people"), people(N))


@pytest.mark.parametrize("name", SOME)
def test_a_fit_of_a_dataset_is_that_of_its_rows(name, folder):
    """Ray makes blocks of its own, so sums in float64 may differ by what their order moves."""
    assert_same(fitted(ray.data.read_parquet(str(folder)), **FITS[name]), fitted(people(N), **FITS[name]), name)


@pytest.mark.parametrize("name", SOME)
def test_a_fit_of_files_has_every_bit_of_a_fit_in_this_process(name, folder):
    local = dplr.Stream(ds.dataset(folder)).parts
    stream = dplr.Stream(ds.dataset(folder), workers=ray)
    assert isinstance(stream.parts, RayParts)
    assert_same(fitted(stream, **FITS[name]), fitted(FarParts(local.parts, local.empty), **FITS[name]))


@pytest.mark.parametrize(("name", "kill_at"), [("fm", 4), ("objective", 18), ("ngd", 25)])
def test_a_worker_that_is_killed_changes_no_bit(name, kill_at, folder, tmp_path):
    parts = dplr.Stream(ds.dataset(folder)).parts
    lost = RayParts([DeadlyPart(part, str(tmp_path), kill_at) for part in parts.parts], parts.empty, ray)
    assert_same(fitted(lost, **FITS[name]), fitted(FarParts(parts.parts, parts.empty), **FITS[name]))
    assert len(list(tmp_path.iterdir())) % 7, "the parts of the killed worker were read again"


def test_every_row_of_a_dataset_counts_once_in_every_pass(folder):
    parts = dplr.Stream(ray.data.read_parquet(str(folder))).parts.chosen(["id", "age"])
    seen = []
    assert [one_pass(parts, CountPass(), seen.append) for _ in range(2)] == [N, N]
    assert sum(seen) == 2 * N


def test_a_fault_on_a_worker_quotes_no_value():
    part = FaultyPart(people(9), identity="people.parquet, row group 3")
    with pytest.raises(WorkerFault, match="row group 3 could not be summed: its rows cannot be read"):
        fitted(RayParts([part], people(0), ray), mechanism="fm")


def test_a_fault_of_a_users_own_blocks_quotes_no_value(folder):
    def broken(block):
        raise ValueError("could not convert 'Jane Doe'")

    frame = ray.data.read_parquet(str(folder))
    parts = dplr.Stream(frame).parts
    parts._dataset = frame.map_batches(broken, batch_format="pyarrow")
    with pytest.raises(WorkerFault, match="must be read by the workers of Ray, which gave up") as caught:
        one_pass(parts, CountPass())
    assert "Jane" not in f"{caught.value}{caught.value.__cause__}{caught.value.__context__}"


def test_persons_are_refused(folder):
    with pytest.raises(ValueError, match="`person` must be None where rows lie on a cluster: ids stay there; got 'id'"):
        fitted(ray.data.read_parquet(str(folder)), mechanism="fm", person="id")
