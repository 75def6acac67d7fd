"""Fits that did not end: what is given back by name, and what stays spent."""

import contextlib
import multiprocessing
import os
import re
import signal

import numpy as np
import pytest
from click.testing import CliRunner

import dplr
from dplr.cli import main
from dplr.ledger import handle
from dplr.ledger.budget import ReservationLost
from dplr.ledger.handle import Ledger
from dplr.ledger.reservation import FileReservation
from dplr.noise import Source

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
MECHANISMS = {"fm": {}, "objective": {}, "ngd": {"delta": 1e-6}}


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "budget.ledger")


@pytest.fixture
def ledger(path):
    return Ledger(path, eps=1.0, delta=1e-5)


def a_plan(eps=0.4, **options):
    return dplr.plan(n_rows=200, n_features=2, eps=eps, mechanism="fm", **options)


def states(ledger):
    return [entry.state for entry in ledger.entries()]


def fitted(budget, mechanism="fm"):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (200, 2))
    bounds = dplr.Bounds([(-0.5, 0.5)] * 2)
    options = {"bounds": bounds, "mechanism": mechanism, **MECHANISMS[mechanism]}
    return dplr.fit(X, X[:, 0] > 0, eps=0.4, ledger=budget, **options)


# Given back by name


def test_what_was_reserved_is_given_back_whole_by_number_or_token(ledger):
    ledger.reserve(a_plan(0.1), a_plan(0.2))
    held = ledger.reserve(a_plan(0.3))
    assert ledger.give_back(2) == [1, 2]
    assert ledger.give_back(held.token) == [3]
    assert states(ledger) == ["refunded"] * 3
    assert ledger.remaining()[0] == 1.0


def test_pieces_that_no_fit_has_begun_are_given_back_together(ledger):
    held = ledger.set_aside(a_plan(0.1), fits=4)
    begun = held.reserve(a_plan(0.1).statement)
    begun.draw()
    assert ledger.give_back(4) == [2, 3, 4]
    assert states(ledger) == ["drawing", "refunded", "refunded", "refunded"]
    with pytest.raises(dplr.BudgetExceeded, match="none is left"):
        held.reserve(a_plan(0.1).statement)
    begun.commit()


def test_what_was_drawn_for_has_ended_or_does_not_exist_is_not_given_back(ledger):
    drawing, ended = ledger.reserve(a_plan(0.1)), ledger.reserve(a_plan(0.1))
    drawing.draw()
    ended.commit()
    for name, why in ((1, "It is drawing: its noise may"), (2, "It has ended: it is committed"), (3, "must be one of")):
        with pytest.raises(ValueError, match=why):
            ledger.give_back(name)
    with pytest.raises(TypeError, match="must be the number of an entry"):
        ledger.give_back(True)
    with pytest.raises(ReservationLost, match="ends once"):
        drawing.refund()
    assert states(ledger) == ["drawing", "committed"]


def test_a_share_gives_back_its_own_entries_alone(ledger):
    alice = ledger.share("alice", eps=0.5)
    ledger.reserve(a_plan(0.1))
    alice.reserve(a_plan(0.2))
    with pytest.raises(ValueError, match="must be one of"):
        alice.give_back(1)
    assert alice.give_back(2) == [2]
    assert ledger.give_back(1) == [1]


def test_the_command_gives_back_and_says_why_it_does_not(ledger, path):
    ledger.reserve(a_plan(0.1))
    ledger.reserve(a_plan(0.2)).draw()
    shown = CliRunner().invoke(main, ["ledger", "show", path]).output
    assert "Reserved: a fit that is running, or whose process was killed before it drew" in shown
    assert "Drawing: a fit that is running, or that ended after it began to draw" in shown
    given = CliRunner().invoke(main, ["ledger", "give-back", path, "1"])
    assert (given.exit_code, "Entry 1 of" in given.output, "eps = 0.8" in given.output) == (0, True, True)
    refused = CliRunner().invoke(main, ["ledger", "give-back", path, "2"])
    assert (refused.exit_code, "its noise may have been drawn" in refused.output) == (2, True)
    assert states(ledger) == ["refunded", "drawing"]


# Processes that are killed

POINTS = ["before it reserves", "after it reserved", "before it draws", "after it drew", "before it commits"]
LEFT = [[], ["reserved"], ["reserved"], ["drawing"], ["drawing"]]


def dies(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


def killed_at(point, path, mechanism):
    """A fit in a process of its own that is killed there."""
    pid = os.fork()
    if pid == 0:
        try:
            begin, sampler = handle.begin, Source._sampler.fget
            if point == POINTS[0]:
                handle.begin = dies
            elif point == POINTS[1]:
                handle.begin = lambda *given: dies(begin(*given))
            elif point == POINTS[2]:
                Source._tell = dies
            elif point == POINTS[3]:
                Source._sampler = property(lambda source: dies(sampler(source)))
            else:
                FileReservation.commit = dies
            fitted(Ledger(path), mechanism)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


@pytest.mark.thorough
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("point", "left"), list(zip(POINTS, LEFT, strict=True)))
def test_a_fit_that_was_killed_comes_back_unless_it_drew(ledger, path, mechanism, point, left):
    killed_at(point, path, mechanism)
    killed_at(point, path, mechanism)
    assert states(ledger) == 2 * left
    assert ledger.spent()[0] == 0.8 * len(left)
    if left == ["reserved"]:
        assert ledger.give_back(2) == [2]
        fitted(ledger, mechanism)
        assert states(ledger) == ["reserved", "refunded", "committed"]
        return
    for number in range(1, 2 * len(left) + 1):
        with pytest.raises(ValueError, match="It is drawing"):
            ledger.give_back(number)
    assert ledger.spent()[0] == 0.8 * len(left)


# A fit that still runs


def drive(path, pipe):
    """A fit that waits before its first noise until it is told to go on, and says what became of it."""
    sampler = Source._sampler.fget

    def told(source):
        if not source._waiting:
            return sampler(source)
        pipe.send("waits")
        pipe.recv()
        found = sampler(source)
        pipe.send("draws")
        return found

    Source._sampler = property(told)
    try:
        fitted(Ledger(path))
        pipe.send("delivers")
    except Exception as error:
        pipe.send(f"{type(error).__name__} {error}")


class Driver:
    """A process that fits, and waits before its first noise until it is told to go on."""

    def __init__(self, path):
        self.pipe, there = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("fork").Process(target=drive, args=(path, there), daemon=True)
        self.process.start()
        there.close()
        assert self.pipe.recv() == "waits"

    def goes_on(self):
        said = []
        self.pipe.send("on")
        with contextlib.suppress(EOFError):
            while True:
                said.append(self.pipe.recv())
        self.process.join()
        assert self.process.exitcode == 0
        return said


LOST = r"ReservationLost `ledger` must still hold what the fit reserved; .* No noise was drawn"


def test_a_fit_whose_entry_is_given_back_while_it_runs_draws_nothing(ledger, path):
    driver = Driver(path)
    assert ledger.give_back(1) == [1]
    (said,) = driver.goes_on()
    assert re.match(LOST, said)
    assert states(ledger) == ["refunded"]


def test_a_fit_that_is_not_given_back_goes_on(ledger, path):
    assert Driver(path).goes_on() == ["draws", "delivers"]
    assert states(ledger) == ["committed"]


def test_of_two_processes_that_hold_one_reservation_one_draws(ledger):
    """A fork copies what a fit holds: the state of the entry lets one of both draw."""
    held = ledger.reserve(a_plan())
    pid = os.fork()
    if pid == 0:
        held.draw()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    with pytest.raises(ReservationLost, match="No noise was drawn"):
        held.draw()
    assert states(ledger) == ["drawing"]
