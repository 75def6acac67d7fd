"""Rows that workers of Dask sum: every bit is that of this process, whoever is killed, and no row leaves a worker."""

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import dplr
from dplr.rows.streams import LocalParts
from dplr.rows.streams.answers import WorkerFault
from dplr.rows.streams.parts import Pass, one_pass
from dplr.rows.streams.passes import CountPass
from streamed_rows import (
    FITS,
    OF_PERSONS,
    CountedPart,
    DeadlyPart,
    FarParts,
    FaultyPart,
    HoldingParts,
    MemoryPart,
    assert_same,
    fitted,
    parts_of,
    people,
    written,
)

distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
dd = pytest.importorskip("dask.dataframe", reason="the extra `dask` is not installed")
from dplr.rows.streams.engines.dask import DaskFrame, DaskParts  # noqa: E402

N = 20_000
# The pass in whose middle a worker is killed; a pass reads seven parts.
KILLED = {"fm": 4, "objective": 18, "ngd": 25}


@pytest.fixture(scope="module")
def cluster():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster, set_as_default=False) as found:
        yield found


@pytest.fixture
def client(cluster):
    """A cluster whose workers are there: without them a fit would wait for ever."""
    cluster.wait_for_workers(2, timeout=60)
    return cluster


@pytest.fixture(scope="module")
def table():
    return people(N)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, table):
    return written(tmp_path_factory.mktemp("people"), table, row_group_size=1001)


def on_workers(parts, client, **options):
    return DaskParts([DeadlyPart(part, **options) for part in parts.parts], parts.empty, client)


def far(lazy, kind=HoldingParts):
    """The parts that this process reads, without what only rows of this process are used for."""
    parts = dplr.Stream(lazy).parts
    return kind(parts.parts, parts.empty, 1)


@pytest.mark.grid(3)
@pytest.mark.parametrize("name", FITS)
def test_a_fit_on_workers_has_every_bit_of_a_fit_in_this_process(name, client, folder):
    stream = dplr.Stream(ds.dataset(folder), workers=client)
    assert isinstance(stream.parts, DaskParts)
    assert_same(fitted(stream, **FITS[name]), fitted(far(ds.dataset(folder)), **FITS[name]))


@pytest.mark.parametrize("name", ["fm", "objective", "ngd", "text"])
def test_a_fit_of_partitions_has_every_bit_of_a_fit_in_this_process(name, client, folder):
    with client.as_current():
        found = fitted(dd.read_parquet(folder), **FITS[name])
    assert_same(found, fitted(far(dd.read_parquet(folder), FarParts), **FITS[name]))


def test_the_client_in_scope_reads_a_dask_dataframe(client, folder):
    with client.as_current():
        assert isinstance(dplr.Stream(dd.read_parquet(folder)).parts, DaskFrame)
    assert isinstance(dplr.Stream(dd.read_parquet(folder)).parts, LocalParts)


@pytest.mark.thorough
@pytest.mark.parametrize("name", KILLED)
def test_a_worker_that_is_killed_changes_no_bit(name, client, table, tmp_path):
    parts = parts_of(table, 7)
    parts = LocalParts([MemoryPart(part.table) for part in parts.parts], parts.empty)
    folders = [tmp_path / "lost", tmp_path / "calm"]
    for folder in folders:
        folder.mkdir()
    lost = on_workers(parts, client, folder=str(folders[0]), kill_at=KILLED[name])
    calm = HoldingParts([CountedPart(part, str(folders[1])) for part in parts.parts], parts.empty)
    assert_same(fitted(lost, **FITS[name]), fitted(calm, **FITS[name]))
    read, usual = (len(list(folder.iterdir())) for folder in folders)
    assert read > KILLED[name]
    assert read > usual, "the parts of the killed worker were read again"


@pytest.mark.thorough
def test_workers_that_are_killed_again_and_again_end_a_fit_that_has_spent_nothing(client, table, tmp_path):
    ledger = dplr.Ledger(tmp_path / "budget", eps=9)
    (tmp_path / "reads").mkdir()
    parts = on_workers(parts_of(table, 3), client, folder=str(tmp_path / "reads"), kill_at=1, kills=1000)
    scheduler = client.cluster.scheduler
    allowed, scheduler.allowed_failures = scheduler.allowed_failures, 0
    try:
        with pytest.raises(ValueError, match="must be read by the workers of Dask, which gave up; got 'KilledWorker'"):
            fitted(parts, mechanism="fm", ledger=ledger, rng=None)
    finally:
        scheduler.allowed_failures = allowed
    assert ledger.spent() == (0.0, 0.0)


class Lost:
    """A client whose scheduler is gone."""

    def nthreads(self):
        raise OSError("in <TCP (closed) ConnectionPool.ncores>: connection reset")


def test_a_scheduler_that_is_gone_is_told_in_a_sentence(table):
    parts = parts_of(table, 3)
    with pytest.raises(WorkerFault, match="must be read by the workers of Dask, which gave up; got 'OSError'"):
        list(DaskParts(parts.parts, parts.empty, Lost()).sums(CountPass(), lambda rows: None))


@pytest.mark.parametrize("failures", [1, 2, 1000])
def test_an_answer_that_no_worker_sends_is_not_fetched_for_ever(failures, client, table, monkeypatch):
    asked, result = [], distributed.Future.result

    def seldom(future, timeout=None):
        asked.append(timeout)
        if len(asked) <= failures:
            raise TimeoutError
        return result(future, timeout)

    monkeypatch.setattr(distributed.Future, "result", seldom)
    parts = DaskParts(parts_of(table, 1).parts, table.slice(0, 0), client)
    if failures < 3:
        assert one_pass(parts, CountPass()) == len(table)
        return
    with pytest.raises(WorkerFault, match="which gave up; got 'TimeoutError'"):
        one_pass(parts, CountPass())
    assert asked == [60.0] * 3


def test_a_fault_on_a_worker_quotes_no_value(client, table):
    part = FaultyPart(table, name="people.parquet, row group 3")
    with pytest.raises(WorkerFault, match="row group 3 could not be summed: its rows cannot be read") as caught:
        fitted(DaskParts([part], table.slice(0, 0), client), mechanism="fm")
    assert "Jane" not in "".join(map(str, chain(caught.value)))


def test_a_fault_of_a_users_own_partitions_quotes_no_value(client, folder):
    frame = dd.read_parquet(folder)

    def broken(part):
        raise ValueError("could not convert 'Jane Doe'")

    with pytest.raises(WorkerFault, match="must be read by the workers of Dask, which gave up") as caught:
        fitted(DaskFrame(frame.map_partitions(broken, meta=frame._meta), client), mechanism="fm")
    assert "Jane" not in "".join(map(str, chain(caught.value)))


def chain(error):
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("name", OF_PERSONS)
def test_persons_are_refused_before_anything_is_reserved(name, client, folder, tmp_path):
    ledger = dplr.Ledger(tmp_path / "budget", eps=9)
    given = {**OF_PERSONS[name], "ledger": ledger, "rng": None}
    with pytest.raises(ValueError, match="`person` must be None where rows lie on a cluster: ids stay there; got 'id'"):
        fitted(dplr.Stream(ds.dataset(folder), workers=client), **given)
    assert ledger.entries() == []


class Job(CountPass):
    """Counts rows, and remembers what workers answered."""

    answers = None

    def load(self, data):
        self.answers.append(data)
        return super().load(data)

    def __getstate__(self):
        return {}


def test_a_worker_answers_with_sums_alone_and_every_row_counts_once(client, table):
    job, seen = Job(), []
    job.answers = []
    parts = DaskParts(parts_of(table, 100).parts, table.slice(0, 0), client)
    assert one_pass(parts, job, seen.append) == sum(seen) == len(table)
    assert all(type(answer) is bytes and len(answer) < 8 for answer in job.answers)
    assert len(job.answers) < 100, "tasks have several parts"


class KeepPass(Pass):
    """A pass whose state cannot leave a worker."""

    def partial(self, batch):
        return [batch]

    def merge(self, first, second):
        return first + second


def test_rows_cannot_be_fetched_from_workers(client, table):
    for parts in (DaskParts(parts_of(table, 2).parts, table.slice(0, 0), client), None):
        found = parts or DaskFrame(dd.from_pandas(table.to_pandas(), npartitions=2), client)
        with pytest.raises(ValueError, match="must not be kept outside the workers"):
            list(found.sums(KeepPass(), lambda rows: None))


def test_a_part_without_rows_counts_nothing(client, table):
    nothing = MemoryPart(table.slice(0, 0))
    parts = [nothing, MemoryPart(table.slice(0, 9000)), nothing, MemoryPart(table.slice(9000)), nothing]
    lost = DaskParts(parts, table.slice(0, 0), client)
    assert_same(fitted(lost, **FITS["fm"]), fitted(table, **FITS["fm"]))
    assert pa.types.is_integer(table.schema.field("old").type)
