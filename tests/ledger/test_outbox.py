"""A release is committed and kept in one step: no crash spends the budget and loses the model."""

import contextlib
import copy
import os
import pathlib
import pickle
import re
import signal
import sqlite3

import numpy as np
import pytest

import dplr
from dplr.ledger.handle import Ledger
from dplr.ledger.reservation import MOST_BYTES, FileReservation
from dplr.model_file import encode_model

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
MECHANISMS = {"fm": {}, "objective": {}, "ngd": {"delta": 1e-6}}


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "budget.ledger")


@pytest.fixture
def ledger(path):
    return Ledger(path, eps=1.0, delta=1e-5)


def a_plan(eps=0.4):
    return dplr.plan(n_rows=200, n_features=2, eps=eps, mechanism="fm")


def fitted(budget, mechanism="fm", **options):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (200, 2))
    options = {"bounds": dplr.Bounds([(-0.5, 0.5)] * 2), "mechanism": mechanism, **MECHANISMS[mechanism], **options}
    return dplr.fit(X, X[:, 0] > 0, eps=0.4, ledger=budget, **options)


def held_in(path, query="SELECT body FROM release"):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_what_is_kept_is_the_model_file_to_the_byte(ledger, path, mechanism, tmp_path):
    est = fitted(ledger.keeping(encode_model), mechanism)
    dplr.save_model(est, tmp_path / "model.json")
    assert ledger.recover(1) == (tmp_path / "model.json").read_bytes()
    assert (ledger.kept(), ledger.recover(1)) == ([1], ledger.recover(1))
    ledger.delivered(1)
    assert (ledger.kept(), held_in(path)) == ([], [])
    with pytest.raises(ValueError, match="must have a release that is kept"):
        ledger.recover(1)


def test_what_is_kept_does_not_say_how_many_rows_there_were(ledger):
    other = Ledger(pathlib.Path(ledger.path).with_name("other"), eps=1.0, neighbouring="add_remove")
    fitted(other.labelled("rows of the people").keeping(encode_model), neighbouring="add_remove")
    kept = other.recover(1)
    assert b"of the people" not in kept
    # A number of its own: the digits of a coefficient may hold it by chance.
    assert not re.search(rb"(?<![0-9.])200(\.0*)?(?![0-9.])", kept)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_model_that_no_file_holds_is_refused_before_anything_is_reserved(ledger, mechanism):
    shown = []

    def refuses(est):
        shown.append((est.coef_, est.intercept_, est.released_))
        raise dplr.model_file.ModelFileError("no file holds it.")

    with pytest.raises(ValueError, match=r"the model could not be kept: no file holds it. Nothing was spent."):
        fitted(ledger.keeping(refuses), mechanism)
    assert ledger.entries() == []
    ((coef, intercept, released),) = shown  # nothing of the rows
    assert not any(np.any(each) for each in (coef, intercept, *released.values()))


def test_a_model_that_may_be_too_large_for_its_file_is_refused_before_anything_is_reserved(ledger, monkeypatch):
    size = len(encode_model(fitted(Ledger(f"{ledger.path}.other", eps=1.0))))
    monkeypatch.setattr("dplr.estimators._base.MOST_BYTES", size)
    monkeypatch.setattr("dplr.estimators._base._FILED", [])
    with pytest.raises(ValueError, match=r"`released_` must fit into 0 MiB.*Nothing was spent"):
        fitted(ledger.keeping(encode_model))
    assert ledger.entries() == []


def test_a_model_whose_numbers_no_file_holds_is_paid_for_and_given_to_its_user(ledger):
    def refuses(est):
        if est.coef_.any():
            raise dplr.model_file.ModelFileError("no file holds it.")
        return b""

    assert fitted(ledger.keeping(refuses)).coef_.any()
    assert ([entry.state for entry in ledger.entries()], ledger.kept()) == (["committed"], [])


def test_a_block_that_ends_has_delivered_and_one_that_fails_has_not(ledger):
    with ledger.keeping(encode_model) as held:
        fitted(held)
        assert ledger.kept() == [1]
    assert ledger.kept() == []
    held = ledger.keeping(encode_model)
    fitted(held)
    held.__exit__(OSError, OSError("the disk is full"), None)
    assert ledger.kept() == [2]


def test_without_a_block_nothing_is_kept(ledger):
    fitted(ledger)
    assert ledger.kept() == []


def test_what_keeps_is_itself_when_copied_and_its_ledger_when_pickled(ledger):
    held = ledger.keeping(encode_model)
    assert copy.copy(held) is copy.deepcopy(held) is held
    assert pickle.loads(pickle.dumps(held)) == ledger


def test_many_at_once_are_committed_without_a_file(ledger):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (200, 2))
    dplr.fit_many(X, X[:, 0], eps=[0.1, 0.1], model="linear", mechanism="fm", ledger=ledger.keeping(encode_model))
    assert [entry.state for entry in ledger.entries()] == ["committed"] * 2
    assert ledger.kept() == []


def test_a_release_is_kept_once_and_not_rewritten(ledger, path):
    ledger.reserve(a_plan()).commit(outbox=b"one")
    with pytest.raises(sqlite3.IntegrityError, match="fixed"):
        held_in(path, "UPDATE release SET body = 'two'")
    held = ledger.reserve(a_plan(0.1))
    held.draw()
    with pytest.raises(ValueError, match="`outbox` must have at most 64 MiB"):
        held.commit(outbox=bytes(MOST_BYTES + 1))
    held.commit()
    assert (ledger.kept(), ledger.recover(1)) == ([1], b"one")


def test_a_share_recovers_its_own_releases_alone(ledger):
    alice = ledger.share("alice", eps=0.5)
    ledger.reserve(a_plan(0.1)).commit(outbox=b"of all")
    alice.reserve(a_plan(0.1)).commit(outbox=b"of alice")
    assert (alice.kept(), alice.recover(2), ledger.kept()) == ([2], b"of alice", [1, 2])
    with pytest.raises(ValueError, match="must be one of"):
        alice.recover(1)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("committed", [False, True])
def test_a_process_that_dies_at_the_commit_has_paid_and_kept_or_neither(ledger, path, mechanism, committed):
    pid = os.fork()
    if pid == 0:
        try:
            commit = FileReservation.commit

            def dies(self, outbox):
                if committed:
                    commit(self, outbox)
                os.kill(os.getpid(), signal.SIGKILL)

            FileReservation.commit = dies
            fitted(Ledger(path).keeping(encode_model), mechanism)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    (entry,) = ledger.entries()
    assert (entry.state, ledger.kept()) == (("committed", [1]) if committed else ("drawing", []))
    if committed:
        model = pathlib.Path(path).with_name("model.json")
        model.write_bytes(ledger.recover(1))
        assert dplr.load_model(model).privacy_.eps == 0.4
    assert ledger.spent()[0] == 0.4


def test_a_crash_inside_the_commit_leaves_neither(ledger, path, monkeypatch):
    """The file and its journal are copied before each statement of the commit, as a crash would leave them."""
    held = ledger.reserve(a_plan())
    held.draw()
    copies = []
    plain = sqlite3.connect

    class Copying(sqlite3.Connection):
        def execute(self, *arguments):
            folder = pathlib.Path(path).with_name(f"crash{len(copies)}")
            folder.mkdir()
            for name in (path, path + "-journal"):
                if os.path.exists(name):
                    (folder / os.path.basename(name)).write_bytes(pathlib.Path(name).read_bytes())
            copies.append(folder / os.path.basename(path))
            return super().execute(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", lambda *args, **options: plain(*args, factory=Copying, **options))
        held.commit(outbox=b"a model")
    found = [([entry.state for entry in Ledger(copy).entries()], Ledger(copy).kept()) for copy in copies]
    assert found == [(["drawing"], [])] * len(copies)
    assert len(copies) > 5
    assert (ledger.kept(), ledger.entries()[0].state) == ([1], "committed")
