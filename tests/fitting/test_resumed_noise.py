"""Noisy gradient descent that was killed: whoever goes on uses the noise that was drawn, and draws none of it again."""

import collections
import glob
import os
import signal
import warnings

import numpy as np
import pyarrow.compute as pc
import pytest

import dplr
from dplr.ledger import outcomes
from dplr.ledger.handle import Ledger
from dplr.ledger.journal import Journal
from dplr.ledger.reservation import FileReservation
from dplr.model_file import encode_model
from dplr.noise import Source
from dplr.rows.array.rows import ArrayRows
from own_losses import own_logistic
from streamed_rows import BOUNDS, COLUMNS, parts_of, people

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
EVENTS = [
    (Journal, "record"),
    (FileReservation, "draw"),
    (FileReservation, "commit"),
    (Source, "gaussian"),
    (ArrayRows, "totals"),
]


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
    bounds = bounds or dplr.Bounds({"age": COLUMNS["age"]}, target=(-8.0, 8.0))
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
            with pytest.raises(ValueError, match="no journal proves what was drawn"):
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


def place_of(seen, event, count=1):
    """Where an event happens for that time."""
    places = [place for place, each in enumerate(seen, 1) if each == event]
    return places[count - 1]


def test_every_draw_is_announced_before_it_and_recorded_after_it(tmp_path, monkeypatch):
    """The order that the proof of theorem 1 asks for, and that the model of all orders takes."""
    seen, _ = events_of(Ledger(tmp_path / "whole", eps=9.0, delta=1e-3), monkeypatch, "memory", {"mechanism": RAW})
    begun = [each.removeprefix("before ").removeprefix("record ") for each in seen if each.startswith("before ")]
    steps = [[f"draw {k}", "gaussian", f"sum {k}"] for k in range(1, STEPS + 1)]
    begun[1] = begun[1].split()[0]
    first, *others = steps
    expected = ["totals", "holder", "draw", *first]
    for step in others:
        expected += ["totals", *step]
    assert begun == [*expected, "commit"]


@pytest.mark.parametrize("name", FITS_WITH_NOISE)
def test_what_is_recorded_is_neither_drawn_nor_summed_again(ledger, tmp_path, monkeypatch, name):
    given = FITS_WITH_NOISE[name]
    seen, whole = events_of(Ledger(tmp_path / "whole", eps=9.0, delta=1e-3), monkeypatch, "memory", given)
    last = max(int(each.split()[-1]) for each in seen if each.startswith("after record sum"))
    assert killed(ledger.job("f"), monkeypatch, place_of(seen, f"after record sum {last - 1}"), **given) < 0
    with monkeypatch.context() as patch:
        watch = Watch(patch)
        assert released(fit(ledger.job("f", resume=True), **given)) == whole
    assert [watch.seen.count(f"before {what}") for what in ("gaussian", "totals")] == [1, 1]


def test_many_fits_that_are_paid_together_go_on_together(ledger, tmp_path, monkeypatch):
    def many(budget):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X = np.random.default_rng(0).uniform(-0.5, 0.5, (400, 2))
            bounds = dplr.Bounds([(-0.5, 0.5)] * 2)
            return dplr.fit_many(
                X, X[:, 0] > 0, eps=[0.5, 1.0], delta=1e-6, bounds=bounds, mechanism=RAW, ledger=budget
            )

    whole = [released(est) for est in many(Ledger(tmp_path / "whole", eps=9.0, delta=1e-3).job("f"))]
    pid = os.fork()
    if pid == 0:
        try:
            dying = Watch(monkeypatch)
            plain = dying._event
            dying._event = lambda said: plain(said) or (said == "after record sum 4" and os.kill(os.getpid(), 9))
            many(ledger.job("f"))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    assert states(ledger) == ["drawing"] * 2
    assert [released(est) for est in many(ledger.job("f", resume=True))] == whole
    assert (states(ledger), journals_of(ledger)) == (["committed"] * 2, [])


@pytest.fixture
def stopped(ledger, monkeypatch):
    """A ledger with a fit that was killed after its second sum."""
    with monkeypatch.context() as patch:
        seen, _ = events_of(Ledger(ledger.path + ".whole", eps=9.0, delta=1e-3), patch, "memory", {"mechanism": RAW})
    assert killed(ledger.job("f"), monkeypatch, place_of(seen, "after record sum 2"), mechanism=RAW) < 0
    assert states(ledger) == ["drawing"]
    return ledger


def resumed(ledger, mechanism=RAW, fingerprint="f", **given):
    return fit(ledger.job(fingerprint, resume=True), mechanism=mechanism, **given)


def test_other_parameters_do_not_use_its_noise(stopped):
    faster = dplr.NoisyGradientDescent(steps=STEPS, standardise="off", learning_rate=0.01)
    with pytest.raises(ValueError, match=r"must be of the fit that is resumed.* Resume with the parameters"):
        resumed(stopped, faster)
    with pytest.raises(ValueError, match="has another statement"):
        resumed(stopped, bounds=dplr.Bounds({**COLUMNS, "age": (18, 91)}))
    with pytest.raises(ValueError, match="other data"):
        resumed(stopped, fingerprint="g")
    assert states(stopped) == ["drawing"]
    resumed(stopped)
    assert states(stopped) == ["committed"]


WEIGHTS = {"weight_bounds": (0, 1.5)}


def unreadable(calls):
    """Sums of clipped gradients, the second of which cannot be read."""
    plain = ArrayRows.totals

    def totals(*given):
        calls.append(1)
        if len(calls) == 2:
            raise OSError(5, "the file server is away")
        return plain(*given)

    return totals


COLUMNS_OF_FITS = {
    "target": ({"y": "old"}, {"y": "young"}),
    "weights": ({"sample_weight": "weight", **WEIGHTS}, {"sample_weight": "other", **WEIGHTS}),
    "loss": tuple({"model": own_logistic(lipschitz=1.0, smoothness=0.3, reach=reach)} for reach in (16, 12)),
}


@pytest.mark.parametrize("name", COLUMNS_OF_FITS)
def test_noise_about_other_columns_is_not_used(ledger, monkeypatch, name):
    """The statement names none of them, nor what a loss is besides its name; and every descent begins at zero."""
    calls, (first, then) = [], COLUMNS_OF_FITS[name]
    wide = TABLE.append_column("young", pc.subtract(1, TABLE["old"]))
    wide = wide.append_column("other", pc.subtract(2.0, TABLE["weight"]))

    def columns_of(given):  # a statement names all columns of X, also those that are not used
        used = [*COLUMNS, given.get("y", "old"), *([given["sample_weight"]] if "sample_weight" in given else [])]
        monkeypatch.setitem(ROWS, "memory", lambda: wide.select(used))
        return given

    with monkeypatch.context() as patch:
        patch.setattr(ArrayRows, "totals", unreadable(calls))
        with pytest.raises(OSError, match="is away"):
            fit(ledger.job("f"), mechanism=RAW, **columns_of(first))
    with pytest.raises(ValueError, match="must be of the fit that is resumed"):
        resumed(ledger, **columns_of(then))
    assert states(ledger) == ["drawing"]
    resumed(ledger, **columns_of(first))
    assert states(ledger) == ["committed"]


def test_another_order_of_draws_is_refused_before_any_noise(stopped, monkeypatch):
    once = Source.once
    monkeypatch.setattr(Source, "once", lambda source, *given: source.laplace(3, 1) is None or once(source, *given))
    with pytest.raises(ValueError, match="which drew its noise in another order"):
        resumed(stopped)
    assert len(journals_of(stopped)) == 1


def test_without_its_journal_or_with_damage_nothing_is_drawn_again(stopped):
    (path,) = journals_of(stopped)
    with open(path, "rb") as file:
        whole = file.read()
    with open(path, "r+b") as file:
        file.seek(250)
        file.write(b"\xff\xff\xff")
    with pytest.raises(ValueError, match="must be whole, and is damaged"):
        resumed(stopped)
    os.unlink(path)
    with pytest.raises(ValueError, match="None can be resumed"):
        resumed(stopped)
    with open(path, "wb") as file:  # of a driver that the ledger does not know
        file.write(whole)
    with stopped._opened.writing(outcomes.TAKE) as (connection, _):
        connection.execute("UPDATE entry SET holder = '" + "0" * 32 + "'")
    with pytest.raises(ValueError, match="None can be resumed"):
        resumed(stopped)
    assert journals_of(stopped) == []


def test_a_driver_that_sleeps_is_not_replaced(ledger, monkeypatch):
    pid = os.fork()
    if pid == 0:
        try:
            sleeper = Watch(monkeypatch)
            plain = sleeper._event
            sleeper._event = lambda said: (
                plain(said) or (said == "after record sum 2" and os.kill(os.getpid(), signal.SIGSTOP))
            )
            fit(ledger.job("f"), mechanism=RAW)
        finally:
            os._exit(0)
    assert os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1])
    with pytest.raises(ValueError, match="must not be held by another process"):
        resumed(ledger)
    os.kill(pid, signal.SIGCONT)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert (states(ledger), journals_of(ledger)) == (["committed"], [])


def test_a_fault_between_steps_ends_the_run_and_not_the_fit(ledger, monkeypatch):
    calls = []

    with monkeypatch.context() as patch:
        patch.setattr(ArrayRows, "totals", unreadable(calls))
        with pytest.raises(OSError, match="is away"):
            fit(ledger.job("f"), mechanism=RAW)
        assert (states(ledger), len(journals_of(ledger))) == (["drawing"], 1)
        calls[:] = [1]
        with pytest.raises(OSError, match="is away"):  # before the first new draw of the second driver
            resumed(ledger)
    assert (states(ledger), len(journals_of(ledger))) == (["drawing"], 1)
    resumed(ledger)
    assert (states(ledger), ledger.spent()[0]) == (["committed"], 1.0)


@pytest.mark.parametrize("mechanism", ["fm", "objective", "output", "score", "poisson"])
def test_noise_that_is_not_recorded_is_not_gone_on_with(ledger, tmp_path, monkeypatch, mechanism):
    given = {"mechanism": mechanism}
    if mechanism == "poisson":
        given = {"mechanism": dplr.NoisyGradientDescent(steps=STEPS, batch=50)}
        # The accountant takes seconds once, and the fork has its answer.
        fit(Ledger(tmp_path / "other.ledger", eps=9.0, delta=1e-3), **given)
    pid = os.fork()
    if pid == 0:
        try:
            FileReservation.commit = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
            monkeypatch.undo()
            FileReservation.commit = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
            fit(ledger.job("f"), **given)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    assert (states(ledger), journals_of(ledger)) == (["drawing"], [])
    with pytest.raises(ValueError, match="None can be resumed"):
        fit(ledger.job("f", resume=True), **given)


@pytest.mark.parametrize("record", ["holder", "draw 1", "sum 1", "draw 3", "sum 3"])
def test_a_full_disk_costs_the_journal_and_neither_the_fit_nor_its_noise(ledger, tmp_path, monkeypatch, record):
    _, whole = events_of(Ledger(tmp_path / "whole", eps=9.0, delta=1e-3), monkeypatch, "memory", {"mechanism": RAW})
    plain, held = Journal.record, []

    def full(journal, key, payload):
        if key.startswith(record):
            raise OSError(28, "No space left on device")
        plain(journal, key, payload)

    gaussian = Source.gaussian

    def drawn(*given):
        held.append(len(journals_of(ledger)))
        return gaussian(*given)

    monkeypatch.setattr(Journal, "record", full)
    monkeypatch.setattr(Source, "gaussian", drawn)
    assert released(fit(ledger.job("f"), mechanism=RAW)) == whole
    lost = 0 if record == "holder" else int(record[-1]) - record.startswith("draw")
    assert held == [1] * lost + [0] * (STEPS - lost)
    assert (states(ledger), journals_of(ledger)) == (["committed"], [])


def test_whoever_delivers_a_release_leaves_no_journal(ledger, monkeypatch):
    """A process that died between its commit and the removal has left one."""
    with monkeypatch.context() as patch:
        patch.setattr(FileReservation, "_end_recording", lambda held: None)
        fit(ledger.job("f", keep=encode_model), mechanism=RAW)
    assert (states(ledger), ledger.kept(), len(journals_of(ledger))) == (["committed"], [1], 1)
    ledger.recover(1)
    ledger.delivered(1)
    assert (ledger.kept(), journals_of(ledger)) == ([], [])


def test_a_fit_inside_another_does_not_forget_noise():
    class Begun:
        begun = True

    source, refused = Source(), "must be False for a fit inside another"
    with source.recording(Begun()), pytest.raises(ValueError, match=refused), source.recording(Begun()):
        pass
