"""A disk that is full at each step of a fit: the error says what is spent, and the ledger agrees."""

import contextlib
import signal

import numpy as np
import pytest

import dplr
from dplr.ledger import Ledger
from dplr.ledger import reservation as reservations

resource = pytest.importorskip("resource")
pytestmark = [
    pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="the system limits no sizes of files"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
# The largest size of a file: none, less than a page of the log, and less than the pages of a step.
SIZES = [0, 40, 4200, 9000]
FULL = r"`ledger` could not be written to disk.*Make room on the disk"


@contextlib.contextmanager
def full_disk(size):
    """No file becomes longer than that: a write beyond it fails, as on a disk without room."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "budget.db", eps=1.0)


def a_plan():
    return dplr.plan(n_rows=100, n_features=2, eps=0.4, mechanism="fm")


def fit(ledger):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (100, 2))
    model = dplr.LogisticRegression(eps=0.4, mechanism="fm", ledger=ledger)
    return model.fit(X, (X[:, 0] > 0).astype(int))


def states(ledger):
    return [entry.state for entry in ledger.entries()]


def error_of(ledger, step, monkeypatch, size, kind=reservations.FileReservation):
    """The message of a fit on a disk that is full from the beginning of a step to its end."""
    with monkeypatch.context() as patch:
        sound = getattr(kind, step) if step != "reserve" else Ledger.reserve

        def on_a_full_disk(self, *arguments, **keywords):
            with full_disk(size):
                return sound(self, *arguments, **keywords)

        patch.setattr(Ledger if step == "reserve" else kind, step, on_a_full_disk)
        with pytest.raises(OSError, match=FULL) as raised:
            fit(ledger)
    return str(raised.value)


@pytest.mark.parametrize("size", SIZES)
def test_a_fit_that_could_not_reserve_has_spent_nothing(ledger, monkeypatch, size):
    told = error_of(ledger, "reserve", monkeypatch, size)
    assert "no noise was drawn: nothing is spent, unless `dplr ledger show` lists a new entry" in told
    assert "stays spent" not in told
    assert states(ledger) in ([], ["reserved"])
    assert ledger.spent()[0] == 0.4 * len(states(ledger))


@pytest.mark.parametrize("size", SIZES)
def test_a_fit_that_could_not_note_its_draw_drew_nothing_and_can_be_given_back(ledger, monkeypatch, size):
    told = error_of(ledger, "draw", monkeypatch, size)
    assert "No noise was drawn. What was reserved stays spent, until it is given back (dplr ledger give-back)" in told
    assert states(ledger) == ["reserved"]
    assert ledger.spent()[0] == 0.4
    ledger.give_back(1)
    assert ledger.remaining()[0] == 1.0


@pytest.mark.parametrize("size", SIZES)
def test_a_fit_that_could_not_commit_stays_spent(ledger, monkeypatch, size):
    told = error_of(ledger, "commit", monkeypatch, size)
    assert "Its cost stays spent, and nothing was released." in told
    assert states(ledger)[0] in ("drawing", "committed")
    assert ledger.spent()[0] == 0.4


def test_a_budget_that_could_not_be_given_back_stays_spent(ledger):
    held = ledger.reserve(a_plan())
    with full_disk(0), pytest.raises(OSError, match=FULL) as raised:
        held.refund()
    assert "No noise was drawn. What was reserved stays spent" in str(raised.value)
    assert ledger.spent()[0] == 0.4


def test_a_ledger_that_could_not_be_made_says_so(tmp_path):
    with full_disk(0), pytest.raises(OSError, match=FULL) as raised:
        Ledger(tmp_path / "budget.db", eps=1.0)
    assert "No ledger was made, and nothing is spent." in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_on_a_full_disk_can_be_looked_at(ledger):
    with full_disk(0):
        assert ledger.remaining()[0] == 1.0


def test_a_ledger_in_use_by_others_says_it_too(ledger, monkeypatch):
    monkeypatch.setattr("dplr.ledger.connection.WAIT_SECONDS", 0.05)
    told = pytest.raises(TimeoutError, match=r"nothing is spent, unless.*Try again")
    with ledger._opened.writing("."), told:
        ledger.reserve(a_plan())
