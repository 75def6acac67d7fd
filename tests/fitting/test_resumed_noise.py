"""Noisy gradient descent that was killed: whoever goes on uses the noise that was drawn, and draws none of it again."""

import collections
import glob
import os
import signal
import warnings

import numpy as np
import pytest

import dplr
from dplr.ledger.handle import Ledger
from dplr.ledger.journal import Journal
from dplr.ledger.reservation import _Held
from dplr.noise import Source
from dplr.rows.array.rows import ArrayRows
from streamed_rows import BOUNDS, parts_of, people

STEPS = 3
NGD = dplr.NoisyGradientDescent(steps=STEPS)
RAW = dplr.NoisyGradientDescent(steps=STEPS, standardise="off")
TABLE = people(400)
ROWS = {"memory": lambda: TABLE, "stream": lambda: parts_of(TABLE, 3, threads=1)}
FITS_WITH_NOISE = {
    "columns first": {"mechanism": dplr.NoisyGradientDescent(steps=STEPS, standardise="on")},
    "raw": {"mechanism": RAW},
    "classes": {"mechanism": RAW, "y": "kind", "classes": ["u", "v", "w"]},
    "linear": {"mechanism": NGD, "y": "sum", "model": "linear", "bounds": None},
}
# (owner, method): a process dies before or after the n-th call of any of them.
EVENTS = [(Journal, "record"), (_Held, "draw"), (_Held, "commit"), (Source, "gaussian"), (ArrayRows, "totals")]


@pytest.fixture(autouse=True)
def noise_that_hangs_on_its_number_alone(monkeypatch):
    def gaussian(source, variance, size):
        assert source._sampler is source._unasked  # the ledger is told, and whoever records
        rng = np.random.default_rng([source._calls, size])
        return rng.integers(-int(variance**0.5), int(variance**0.5) + 1, size)

    monkeypatch.setattr(Source, "gaussian", gaussian)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "budget.ledger", eps=9.0, delta=1e-3)


def fit(budget, rows="memory", *, y="old", bounds=BOUNDS, **given):
    bounds = bounds or dplr.Bounds({name: BOUNDS[name] for name in ("age",)}, target=(-8.0, 8.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dplr.fit(ROWS[rows](), y, bounds=bounds, eps=1.0, delta=1e-6, ledger=budget, **given)


class Watch:
    """Counts events, and ends the process at one of them."""

    def __init__(self, patch, dies_at=None):
        self.count, self.seen, self.dies_at = 0, [], dies_at
        for owner, name in EVENTS:
            patch.setattr(owner, name, self._watched(name, getattr(owner, name)))

    def _watched(self, name, plain):
        def call(this, *given, **options):
            said = f"{name} {given[0]}" if name == "record" else name
            self._event(f"before {said}")
            found = plain(this, *given, **options)
            self._event(f"after {said}")
            return found

        return call

    def _event(self, said):
        self.count += 1
        self.seen.append(said)
        if self.count == self.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)


def killed(job, monkeypatch, dies_at, rows="memory", **given):
    pid = os.fork()
    if pid == 0:
        try:
            Watch(monkeypatch, dies_at)
            fit(job, rows, **given)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def journals_of(ledger):
    return glob.glob(ledger.path + ".fit-*")


def states(ledger):
    return [entry.state for entry in ledger.entries()]


def released(est):
    return {name: np.asarray(block).tobytes() for name, block in est.released_.items()}, est.coef_.tobytes()


def events_of(ledger, monkeypatch, rows, given):
    """What happens in a fit that nobody stops, and what it releases."""
    with monkeypatch.context() as patch:
        watch = Watch(patch)
        whole = fit(ledger.job("f"), rows, **given)
    return watch.seen, released(whole)


def is_torn(seen):
    """Whether the noise of some sum may have been drawn, and the sum is not recorded."""
    begun = {each.removeprefix("after record draw ") for each in seen if each.startswith("after record draw ")}
    done = {each.removeprefix("after record sum ") for each in seen if each.startswith("after record sum ")}
    return bool(begun - done)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("name", ["columns first", "raw"])
def test_killed_anywhere_a_fit_goes_on_with_its_noise_unless_a_draw_was_lost(tmp_path, monkeypatch, rows, name):
    given, found = FITS_WITH_NOISE[name], collections.Counter()
    seen, whole = events_of(Ledger(tmp_path / "whole", eps=9.0, delta=1e-3), monkeypatch, rows, given)
    for place in range(1, len(seen) + 1):
        ledger = Ledger(tmp_path / str(place), eps=1.0, delta=1e-6)
        assert killed(ledger.job("f"), monkeypatch, place, rows, **given) == -signal.SIGKILL
        before, last = seen[:place], seen[place - 1]
        (state,) = states(ledger)
        if state == "committed":
            found["committed"] += 1
            assert last == "after commit"
            continue
        if is_torn(before):
            with pytest.raises(ValueError, match=r"`draw .` without its sum.* the cost stays spent"):
                fit(ledger.job("f", resume=True), rows, **given)
            assert (states(ledger), ledger.spent()[0]) == (["drawing"], 1.0)
            found["torn"] += 1
            continue
        with monkeypatch.context() as patch:
            watch = Watch(patch)
            again = released(fit(ledger.job("f", resume=True), rows, **given))
        assert again == whole, last
        done = sum(each.startswith("after record sum") for each in before)
        drawn = sum(each == "before gaussian" for each in watch.seen)
        assert done + drawn == sum(each == "before gaussian" for each in seen)
        assert (states(ledger), journals_of(ledger), ledger.spent()[0]) == (["committed"], [], 1.0)
        found[state] += 1
    assert set(found) == {"reserved", "drawing", "torn", "committed"}
