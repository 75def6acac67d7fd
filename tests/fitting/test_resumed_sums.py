"""A fit of files that was killed while it read: whoever goes on reads the parts that are left, to the same bits."""

import contextlib
import glob
import os
import signal
import stat
import warnings

import numpy as np
import pyarrow.parquet as pq
import pytest

import dplr
from dplr import noise
from dplr.ledger import journal as journals
from dplr.ledger.handle import Ledger
from dplr.noise import Source
from dplr.rows.files.parquet import parquet_parts
from dplr.rows.streams import LocalParts, finished
from streamed_rows import BOUNDS, FITS, people

PARTS = 5
FITS_OF_SUMS = {
    "fm": FITS["fm"],
    "classes": {"mechanism": "fm", "y": "kind", "classes": ["u", "v", "w"]},
    "weights": FITS["weights"],
    "persons": {"mechanism": "fm", "person": "id"},
    "gaussian": {"mechanism": "fm", "delta": 1e-6},
}


class Counted:
    """A part of a file that counts how often it is read, and dies where it is told to."""

    reads, dies_at, last = 0, None, None

    def __init__(self, part):
        self.part = part

    rows = property(lambda self: self.part.rows)
    identity = property(lambda self: self.part.identity)

    def chosen(self, columns):
        return Counted(self.part.chosen(columns))

    def batches(self):
        Counted.reads += 1
        if Counted.reads == Counted.dies_at:
            Counted.last()
        return self.part.batches()


def dies():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture(autouse=True)
def every_part_is_recorded(monkeypatch):
    for name in ("_SECONDS", "_SHARE", "_COST"):
        monkeypatch.setattr(finished, name, 0.0)
    for name, value in (("reads", 0), ("dies_at", None), ("last", None)):
        monkeypatch.setattr(Counted, name, value)


@pytest.fixture
def files(tmp_path):
    table = people(3000)
    names = [str(tmp_path / f"{number}.parquet") for number in range(PARTS)]
    for number, name in enumerate(names):
        pq.write_table(table.slice(600 * number, 600), name)
    return names


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "budget.ledger", eps=9.0, delta=1e-3)


def parts_of(files):
    columns = pq.read_schema(files[0]).names
    parts = [Counted(part) for name in files for part in parquet_parts(name, columns)]
    return LocalParts(parts, pq.read_table(files[0]).slice(0, 0), 1)


def fit(budget, files, monkeypatch, *, y="old", bounds=BOUNDS, **given):
    """A fit whose noise is that of all others: it hangs on what was drawn before in this fit alone."""
    stream = np.random.Generator(np.random.PCG64(5))
    monkeypatch.setattr(noise, "_operating_system", stream.bytes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Counted.reads = 0
        return dplr.fit(parts_of(files), y, bounds=bounds, eps=1.0, ledger=budget, **given)


def killed(ledger, files, monkeypatch, dies_at, last=dies, **given):
    """A fit in a process of its own that dies when it reads a part for that time."""
    pid = os.fork()
    if pid == 0:
        try:
            Counted.dies_at, Counted.last = dies_at, staticmethod(last)
            fit(ledger.job("f"), files, monkeypatch, **given)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def journals_of(ledger):
    return glob.glob(ledger.path + ".fit-*")


def states(ledger):
    return [entry.state for entry in ledger.entries()]


def same(first, second):
    return all(np.array_equal(first.released_[name], second.released_[name]) for name in first.released_) and (
        np.array_equal(first.coef_, second.coef_) and str(first.privacy_) == str(second.privacy_)
    )


@pytest.mark.parametrize("name", FITS_OF_SUMS)
@pytest.mark.parametrize("done", [1, PARTS - 1])
def test_a_resumed_fit_reads_what_is_left_and_has_the_bits_of_one_that_never_stopped(
    tmp_path, files, monkeypatch, name, done
):
    given = FITS_OF_SUMS[name]
    one, ledger = (Ledger(tmp_path / each, eps=9.0, delta=1e-3, unit=given.get("person")) for each in ("one", "two"))
    whole = fit(one, files, monkeypatch, **given)
    reads, before = Counted.reads, PARTS if "person" in given else 0  # ids are read before anything is reserved
    killed(ledger, files, monkeypatch, before + done + 1, **given)
    (path,) = journals_of(ledger)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert states(ledger) == ["reserved"]
    again = fit(ledger.job("f", resume=True), files, monkeypatch, **given)
    assert same(whole, again)
    assert Counted.reads == reads - done
    assert (states(ledger), journals_of(ledger)) == (["committed"], [])


def test_a_fit_that_is_killed_again_and_again_reads_every_part_once(ledger, files, monkeypatch):
    killed(ledger, files, monkeypatch, 2, mechanism="fm")
    for _ in range(2):
        pid = os.fork()
        if pid == 0:
            Counted.dies_at, Counted.last = 2, dies
            with contextlib.suppress(BaseException):
                fit(ledger.job("f", resume=True), files, monkeypatch, mechanism="fm")
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    fit(ledger.job("f", resume=True), files, monkeypatch, mechanism="fm")
    assert Counted.reads == PARTS - 3
    assert states(ledger) == ["committed"]


def test_parts_that_changed_are_read_again(ledger, files, monkeypatch):
    killed(ledger, files, monkeypatch, 4, mechanism="fm")
    pq.write_table(people(600, seed=1), files[0])
    again = fit(ledger.job("f", resume=True), files, monkeypatch, mechanism="fm")
    assert Counted.reads == PARTS
    assert same(again, fit(Ledger(ledger.path + ".other", eps=9.0), files, monkeypatch, mechanism="fm"))


def test_other_bounds_are_refused(ledger, files, monkeypatch):
    killed(ledger, files, monkeypatch, 4, mechanism="fm")
    wider = dplr.Bounds({"age": (18, 91), "job": {"levels": ["a", "b", "c"]},
                         "income": {"lower": -3, "upper": 3, "missing": "indicator"}})  # fmt: skip
    with pytest.raises(ValueError, match="has another statement"):
        fit(ledger.job("f", resume=True), files, monkeypatch, bounds=wider, mechanism="fm")


def test_damage_is_named_and_a_missing_journal_costs_a_pass_alone(ledger, files, monkeypatch):
    killed(ledger, files, monkeypatch, 4, mechanism="fm")
    (path,) = journals_of(ledger)
    with open(path, "r+b") as file:
        file.seek(300)
        file.write(b"\xff\x00\xff")
    with pytest.raises(ValueError, match=r"`journal` must be whole, and is damaged.* Remove it"):
        fit(ledger.job("f", resume=True), files, monkeypatch, mechanism="fm")
    assert states(ledger) == ["reserved"]
    os.unlink(path)
    fit(ledger.job("f", resume=True), files, monkeypatch, mechanism="fm")
    assert Counted.reads == PARTS
    assert states(ledger) == ["committed"]


def test_a_fit_that_is_paused_keeps_its_journal_and_its_entry(ledger, files, monkeypatch):
    pid = os.fork()
    if pid == 0:
        Counted.dies_at, Counted.last = 3, lambda: os.kill(os.getpid(), signal.SIGSTOP)
        with contextlib.suppress(BaseException):
            fit(ledger.job("f"), files, monkeypatch, mechanism="fm")
            os._exit(0)
        os._exit(1)
    assert os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1])
    with pytest.raises(ValueError, match="must not be held by another process"):
        fit(ledger.job("f", resume=True), files, monkeypatch, mechanism="fm")
    os.kill(pid, signal.SIGCONT)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert (states(ledger), journals_of(ledger)) == (["committed"], [])


def test_the_journal_is_gone_before_noise_is_drawn(ledger, files, monkeypatch):
    seen = []
    laplace = Source.laplace

    def looks(source, *given):
        source._sampler  # noqa: B018 - as every draw does
        seen.append((states(ledger), journals_of(ledger)))
        return laplace(source, *given)

    monkeypatch.setattr(Source, "laplace", looks)
    fit(ledger.job("f"), files, monkeypatch, mechanism="fm")
    assert seen
    assert all(each == (["drawing"], []) for each in seen)


@pytest.mark.parametrize("how", ["given back", "refunded"])
def test_the_journal_goes_with_the_budget(ledger, files, monkeypatch, how):
    if how == "given back":
        killed(ledger, files, monkeypatch, 4, mechanism="fm")
        assert len(journals_of(ledger)) == 1
        ledger.give_back(1)
    else:

        def fails():
            assert len(journals_of(ledger)) == 1
            raise ValueError("a fault of the rows")

        Counted.dies_at, Counted.last = 4, staticmethod(fails)
        with pytest.raises(ValueError, match="a fault of the rows"):
            fit(ledger.job("f"), files, monkeypatch, mechanism="fm")
    assert (states(ledger), journals_of(ledger)) == (["refunded"], [])


def test_what_a_process_left_that_died_at_its_end_is_removed_by_the_next_job(ledger, files, monkeypatch):
    def keeps(_):
        raise OSError(5, "no such luck")

    with monkeypatch.context() as patch:
        patch.setattr(journals.Journal, "remove", keeps)
        patch.setattr("dplr.ledger.reservation.remove_journal", lambda *_: None)
        Counted.dies_at, Counted.last = 4, staticmethod(lambda: (_ for _ in ()).throw(ValueError("a fault")))
        with pytest.raises(ValueError, match="a fault"):
            fit(ledger.job("f"), files, monkeypatch, mechanism="fm")
    assert (states(ledger), len(journals_of(ledger))) == (["refunded"], 1)
    with open(ledger.path + ".fit-of-nobody", "wb"):
        pass
    Counted.dies_at = None
    killed(ledger, files, monkeypatch, 4, mechanism="fm")
    waiting = journals_of(ledger)
    fit(ledger.job("g"), files, monkeypatch, mechanism="fm")
    assert sorted(journals_of(ledger)) == sorted(waiting)
    assert len(waiting) == 2


@pytest.mark.parametrize("failing", ["write", "fsync", "open"])
def test_a_disk_that_is_full_costs_the_journal_and_not_the_fit(ledger, files, monkeypatch, failing):
    plain, count = getattr(os, failing), 0

    def full(*given):
        nonlocal count
        if failing == "open" and ".fit-" not in str(given[0]):
            return plain(*given)
        count += 1
        if count == (1 if failing == "open" else 3):
            raise OSError(28, "No space left on device")
        return plain(*given)

    whole = fit(Ledger(ledger.path + ".other", eps=9.0), files, monkeypatch, mechanism="fm")
    with monkeypatch.context() as patch, warnings.catch_warnings(record=True) as said:
        patch.setattr(journals.os, failing, full)
        patch.setattr(warnings, "catch_warnings", contextlib.nullcontext)
        patch.setattr(warnings, "simplefilter", lambda *_, **__: None)
        assert same(fit(ledger.job("f"), files, monkeypatch, mechanism="fm"), whole)
    assert [str(each.message) for each in said if "journal" in str(each.message)]
    assert (states(ledger), journals_of(ledger)) == (["committed"], [])


def test_without_a_job_or_where_it_would_not_pay_nothing_is_written(ledger, files, monkeypatch):
    def refused(*_):
        raise AssertionError("a journal")

    monkeypatch.setattr(journals.Journal, "create", refused)
    fit(ledger, files, monkeypatch, mechanism="fm")
    fit(ledger.job(), files, monkeypatch, mechanism="fm")
    fit(ledger.job("f"), files, monkeypatch, mechanism="objective", ranges="off")
    monkeypatch.setattr(finished, "_SECONDS", 100.0)
    fit(ledger.job("g"), files, monkeypatch, mechanism="fm")
    assert states(ledger) == ["committed"] * 4
