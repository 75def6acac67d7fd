"""What was set aside for a search: its fits take from it, nothing else does, and nothing is counted too little."""

import contextlib
import copy
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import threading
from fractions import Fraction

import hypothesis
import joblib
import numpy as np
import pytest
from hypothesis import strategies
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

import dplr
from dplr.cli import main
from dplr.ledger import allotment as allotment_module
from dplr.ledger.allotment import Allotment
from dplr.ledger.budget import BudgetExceeded
from dplr.ledger.decoding import guarantee_of
from dplr.ledger.handle import Ledger
from dplr.ledger.pieces import covers, matched, piece_of
from dplr.privacy.guarantees import Approx, Gaussian, Neighbouring, Poisson, Pure
from dplr.privacy.rules import Cost
from dplr.privacy.statement import PrivacyStatement, Release

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
REPLACE = Neighbouring.REPLACE_ONE


def data(n=400):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (n, 2))
    return X, (X[:, 0] > 0).astype(int)


def states(ledger):
    return [entry.state for entry in ledger.entries()]


def a_plan(eps=0.1, **options):
    return dplr.plan(n_rows=400, n_features=2, eps=eps, **{"mechanism": "fm", **options})


def statement(cost):
    released = {"sums": Release((cost.draws,), 1.0, "discrete Gaussian", 1.0, 1.0)} if cost.draws else {}
    return PrivacyStatement(
        "fm", cost.eps, cost.delta, cost.guarantee, REPLACE, released, "", (), "integer", False, "", version="0"
    )


def pure(eps):
    return Cost(eps, 0.0, Pure(eps), 0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


@pytest.fixture
def ledger(path):
    return Ledger(path, eps=1.0, delta=1e-5)


# Whole or not at all


def test_a_search_that_was_set_aside_runs_whole_while_others_spend_the_rest(ledger, path):
    X, y = data()
    with ledger.set_aside(a_plan(), fits=7) as held:
        assert ledger.remaining() == (0.3, 1e-5)
        assert states(ledger) == ["set aside"] * 7
        ledger.reserve(a_plan(0.3).statement).commit()
        search = GridSearchCV(
            dplr.LogisticRegression(eps=0.1, ledger=held, mechanism="fm"), {"l2": [0.1, 1.0]}, cv=KFold(3), n_jobs=2,
            error_score="raise",
        )  # fmt: skip
        with pytest.warns(dplr.PrivacyWarning, match="^GridSearchCV chose parameters"):
            search.fit(X, y)
        assert held.unused() == 0
    assert states(ledger) == ["committed"] * 8
    assert ledger.remaining() == (0.0, 1e-5)
    noises = {entry.statement["eps"] for entry in ledger.entries()}
    assert noises == {0.1, 0.3}


def test_nothing_is_set_aside_where_not_all_fits_fit(ledger):
    with pytest.raises(BudgetExceeded, match=r"got 11 releases, .* eps \(1\.1 is needed, 1 is left\).* 10 would fit"):
        ledger.set_aside(a_plan(), fits=11)
    assert ledger.entries() == []
    with pytest.raises(BudgetExceeded):
        ledger.set_aside(a_plan(), fits=10**15)


def test_a_plan_may_stand_for_its_statement(ledger):
    with ledger.set_aside(a_plan(), fits=1) as held:
        held.reserve(a_plan()).commit()
    assert states(ledger) == ["committed"]


def test_what_was_never_begun_comes_back_at_the_end_and_what_was_begun_does_not(ledger):
    X, y = data()
    with contextlib.suppress(ZeroDivisionError), ledger.set_aside(a_plan(), fits=5) as held:
        dplr.fit(X, y, eps=0.1, mechanism="fm", ledger=held)
        running = held.reserve(a_plan().statement)
        raise ZeroDivisionError
    assert states(ledger) == ["committed", "reserved", "refunded", "refunded", "refunded"]
    assert ledger.remaining() == (0.8, 1e-5)
    with pytest.raises(BudgetExceeded, match="none is left, or it was closed"):
        dplr.fit(X, y, eps=0.1, mechanism="fm", ledger=held)
    held.close()
    assert ledger.remaining() == (0.8, 1e-5)
    running.commit()
    assert ledger.spent()[0] == 0.2


def test_a_fit_that_fails_before_noise_gives_its_piece_to_the_ledger(ledger):
    X, y = data()
    X[3, 1] = np.nan
    held = ledger.set_aside(a_plan(), fits=2)
    with pytest.raises(ValueError, match="finite"):
        dplr.fit(X, y, eps=0.1, mechanism="fm", ledger=held)
    assert states(ledger) == ["refunded", "set aside"]
    assert (held.unused(), ledger.remaining()[0]) == (1, 0.9)


def test_what_is_set_aside_stays_spent_after_a_crash(ledger, path):
    code = (
        f"import os, dplr\nledger = dplr.Ledger({str(path)!r})\n"
        "plan = dplr.plan(n_rows=400, n_features=2, eps=0.1, mechanism='fm')\n"
        "with ledger.set_aside(plan, fits=4) as held:\n    held.reserve(plan.statement)\n    os._exit(3)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 3
    assert states(ledger) == ["reserved", "set aside", "set aside", "set aside"]
    assert ledger.remaining()[0] == 0.6


# A handle


def test_copies_of_an_allotment_take_from_the_same_pieces(ledger):
    held = ledger.set_aside(a_plan(), fits=5)
    copies = [
        copy.copy(held), copy.deepcopy(held), pickle.loads(pickle.dumps(held)),
        clone(dplr.LogisticRegression(ledger=held)).ledger,
    ]  # fmt: skip
    for place, other in enumerate(copies, 1):
        assert (other == held, hash(other)) == (True, hash(held))
        other.reserve(a_plan().statement).commit()
        assert held.unused() == 5 - place
    assert held != ledger.set_aside(a_plan(), fits=5)
    assert ledger.spent()[0] == 1.0
    assert repr(held) == f"Allotment({ledger!r})"


@pytest.mark.thorough
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_folds_in_other_processes_take_a_piece_each_and_then_are_refused(ledger, n_jobs):
    X, y = data()
    held = ledger.set_aside(a_plan(), fits=5)
    model = dplr.LogisticRegression(eps=0.1, ledger=held, mechanism="fm")
    cross_val_score(model, X, y, cv=KFold(5), n_jobs=n_jobs, error_score="raise")
    assert states(ledger) == ["committed"] * 5
    with pytest.raises(BudgetExceeded, match="must have set aside as much as the fit costs"):
        cross_val_score(model, X, y, cv=KFold(5), n_jobs=n_jobs, error_score="raise")
    assert ledger.spent()[0] == 0.5


def test_many_processes_never_take_one_piece_twice(path):
    ledger = Ledger(path, eps=1.0)
    held = ledger.set_aside(a_plan(0.01), fits=40)

    def take():
        taken = 0
        with contextlib.suppress(BudgetExceeded):
            while True:
                held.reserve(a_plan(0.01).statement).commit()
                taken += 1
        return taken

    with joblib.parallel_config("loky", n_jobs=4):
        assert sum(joblib.Parallel()(joblib.delayed(take)() for _ in range(4))) == 40
    assert states(ledger) == ["committed"] * 40


def test_workers_that_are_killed_while_another_closes_never_lose_what_they_took(path):
    ledger = Ledger(path, eps=1.0)
    held = ledger.set_aside(a_plan(0.001), fits=300)
    reading, writing = os.pipe()
    pids = []
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                while True:
                    held.reserve(a_plan(0.001).statement).commit()
                    os.write(writing, b".")
            os._exit(0)
        pids.append(pid)
    os.close(writing)
    said = b""
    while len(said) < 40:
        said += os.read(reading, 1)
    os.kill(pids[0], signal.SIGKILL)
    held.close()
    for pid in pids:
        os.waitpid(pid, 0)
    while more := os.read(reading, 4096):
        said += more
    found = states(ledger)
    assert len(said) <= found.count("committed") <= len(said) + 3
    assert found.count("set aside") == 0
    kept = sum(state != "refunded" for state in found)
    assert ledger.spent()[0] == float(Fraction("0.001") * kept)


def test_threads_of_one_search_share_it(ledger):
    held = ledger.set_aside(a_plan(), fits=4)
    threads = [threading.Thread(target=lambda: held.reserve(a_plan().statement).commit()) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert states(ledger) == ["committed"] * 4


# What a fit may take


def test_many_fits_take_their_pieces_together_or_none(ledger):
    X, y = data()
    held = ledger.set_aside(a_plan(0.1), a_plan(0.2), fits=2)
    with pytest.raises(BudgetExceeded, match="4 pieces are left"):
        dplr.fit_many(X, y, eps=[0.1, 0.2], repeats=3, mechanism="fm", ledger=held)
    assert held.unused() == 4
    dplr.fit_many(X, y, eps=[0.1, 0.2], repeats=2, mechanism="fm", ledger=held)
    assert held.unused() == 0
    assert sorted(entry.eps for entry in ledger.entries()) == [0.1, 0.1, 0.2, 0.2]


@pytest.mark.parametrize(
    ("eps", "options"),
    [(0.11, {}), (0.05, {"delta": 1e-9, "mechanism": "ngd"}), (0.05, {"mechanism": "objective"})],
)
def test_a_fit_that_asks_for_more_or_for_another_kind_is_refused_before_a_row_is_read(ledger, eps, options):
    X, _ = data()
    held = ledger.set_aside(a_plan(), fits=3)
    with pytest.raises(BudgetExceeded, match=r"`ledger` must have set aside as much as the fit costs.*No row was read"):
        dplr.fit(X, np.full(len(X), np.nan), eps=eps, ledger=held, **{"mechanism": "fm", **options})
    assert (held.unused(), ledger.remaining()[0]) == (3, 0.7)


def test_a_smaller_fit_takes_a_piece_which_keeps_its_cost(ledger):
    X, y = data()
    held = ledger.set_aside(a_plan(), fits=1)
    dplr.fit(X, y, eps=0.04, mechanism="fm", ledger=held)
    (entry,) = ledger.entries()
    assert (entry.eps, entry.statement["eps"], entry.state) == (0.1, 0.04, "committed")


@pytest.mark.parametrize("composition", ["basic", "zcdp", "gdp", "pld"])
def test_gaussian_fits_of_folds_take_what_was_set_aside_for_all_rows(path, composition):
    """Folds have fewer rows, so other steps, another number of draws, and a mu that differs in the eighth digit."""
    X, y = data(1200)
    ledger = Ledger(path, 3.0, 1e-4, composition)
    options = {"delta": 1e-6, "mechanism": "ngd"}
    plan = dplr.plan(n_rows=1200, n_features=2, eps=0.5, **options)
    with ledger.set_aside(plan, fits=4) as held:
        cross_val_score(
            dplr.LogisticRegression(eps=0.5, ledger=held, **options), X, y, cv=KFold(3), error_score="raise"
        )
    assert states(ledger) == ["committed"] * 3 + ["refunded"]


@pytest.mark.parametrize(("rows", "rows_of_folds"), [(100_000, 1000), (1000, 100_000)])
def test_steps_and_mu_may_differ_with_the_number_of_rows(path, rows, rows_of_folds):
    plans = [
        dplr.plan(n_rows=n, n_features=3, eps=1.0, delta=1e-6, mechanism="ngd").statement for n in (rows, rows_of_folds)
    ]
    ledger = Ledger(path, 3.0, 1e-4, "gdp")
    ledger.set_aside(plans[0], fits=1).reserve(plans[1]).commit()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        ((draws, text),) = connection.execute("SELECT draws, guarantee FROM entry").fetchall()
    assert draws == max(Cost.of(each).draws for each in plans)
    assert guarantee_of(text).mu >= max(each.guarantee.mu for each in plans)


def test_more_numbers_with_noise_than_were_set_aside_need_room_of_their_own(path):
    ledger = Ledger(path, 3.0, 1e-4, "gdp")
    few, many = (Cost(0.1, 1e-9, Gaussian(0.001), draws) for draws in (10, 10**7 - 15))
    held = ledger.set_aside(statement(few), fits=2)
    first = held.reserve(statement(many))
    first.commit()
    with pytest.raises(BudgetExceeded, match="must have room for the numbers with Gaussian noise"):
        held.reserve(statement(Cost(0.1, 1e-9, Gaussian(0.001), 20)))
    assert held.unused() == 1
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT draws FROM entry").fetchall() == [(10**7 - 15,), (10,)]
    held.reserve(statement(few)).commit()


kinds = strategies.sampled_from(["pure", "gaussian", "approx", "poisson"])
sizes = strategies.sampled_from([0.1, 0.2, 0.3, 1.0])


def a_cost(kind, eps, delta, draws, mu):
    if kind == "pure":
        return pure(eps)
    if kind == "gaussian":
        return Cost(eps, delta, Gaussian(mu), draws)
    return Cost(eps, delta, Approx(eps, delta) if kind == "approx" else Poisson(0.1, 1 / eps, 10), draws)


costs = strategies.builds(
    a_cost,
    kinds,
    sizes,
    strategies.sampled_from([1e-9, 1e-6]),
    strategies.integers(0, 5),
    strategies.sampled_from([0.01, 0.5, 2.0]),
)


@hypothesis.settings(max_examples=300, deadline=None)
@hypothesis.given(strategies.lists(costs, max_size=6), strategies.lists(costs, min_size=1, max_size=4))
def test_a_piece_is_never_less_than_the_fit_that_takes_it(asked, wanted):
    pieces = list(enumerate(piece_of(cost) for cost in asked))
    taken = matched(pieces, wanted)
    if taken is None:
        return
    assert len({number for number, _ in taken}) == len(taken) == len(wanted)
    for (_, piece), cost in zip(taken, wanted, strict=True):
        assert piece.eps >= cost.eps
        assert piece.delta >= cost.delta
        if isinstance(piece.guarantee, Gaussian):
            assert piece.guarantee.mu >= cost.guarantee.mu
        elif isinstance(piece.guarantee, Pure):
            assert piece.guarantee.eps >= cost.guarantee.eps
        else:
            assert (piece.guarantee.eps, piece.guarantee.delta) == (piece.eps, piece.delta)
            assert not isinstance(cost.guarantee, Gaussian)
            assert getattr(cost.guarantee, "delta", 0.0) <= piece.delta


def test_what_is_set_aside_for_poisson_batches_is_their_eps_and_delta():
    batches = Cost(0.5, 1e-6, Poisson(0.1, 2.0, 10), 30)
    assert piece_of(batches) == Cost(0.5, 1e-6, Approx(0.5, 1e-6), 30)
    assert covers(piece_of(batches), Cost(0.5, 1e-6, Poisson(0.15, 2.1, 10), 30))
    assert not covers(pure(1.0), batches)


def test_what_may_be_set_aside_is_checked(ledger):
    for fits, error in ((0, ValueError), (-2, ValueError), (2.0, TypeError), (True, TypeError)):
        with pytest.raises(error, match="`fits` must be"):
            ledger.set_aside(a_plan(), fits=fits)
    with pytest.raises(TypeError, match="`statements` must name a plan"):
        ledger.set_aside(fits=2)
    with pytest.raises(TypeError, match=r"`statements` must be plans, or statements of plans; got 0\.5"):
        ledger.set_aside(0.5, fits=2)
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'fits'"):
        ledger.set_aside(a_plan())
    with pytest.raises(TypeError, match="unexpected keyword argument 'fits'"):
        ledger.reserve(a_plan(), fits=2)
    held = ledger.set_aside(a_plan(), fits=1)
    with pytest.warns(dplr.PrivacyWarning), pytest.raises(ValueError, match="`rng` must be None"):
        dplr.fit(*data(), eps=0.1, rng=1, mechanism="fm", ledger=held)
    with pytest.raises(TypeError, match="`ledger` must be a"):
        a_plan().cost(held)
    assert states(ledger) == ["set aside"]


# The file


def test_entries_that_were_set_aside_can_be_begun_or_ended_and_nothing_else(ledger):
    ledger.set_aside(a_plan(), fits=2)
    ledger.reserve(a_plan().statement)
    with contextlib.closing(sqlite3.connect(ledger.path, isolation_level=None)) as connection:
        for change in (
            "eps = 0.01", "guarantee = '{}'", "draws = draws - 1", "share = 'x'", "number = 77", "delta = 1e-9",
        ):  # fmt: skip
            with pytest.raises(sqlite3.IntegrityError, match="ends once"):
                connection.execute(f"UPDATE entry SET {change} WHERE state = 'set aside'")
        for change in ("state = 'set aside'", "draws = draws + 1"):
            with pytest.raises(sqlite3.IntegrityError, match="ends once"):
                connection.execute(f"UPDATE entry SET {change} WHERE state = 'reserved'")
        connection.execute("UPDATE entry SET state = 'refunded' WHERE number = 1")
        with pytest.raises(sqlite3.IntegrityError, match="ends once"):
            connection.execute("UPDATE entry SET state = 'set aside' WHERE number = 1")


def test_the_command_line_shows_what_is_set_aside(ledger):
    from click.testing import CliRunner

    ledger.set_aside(a_plan(), fits=2)
    said = CliRunner().invoke(main, ["ledger", "show", ledger.path]).stdout
    assert said.count("set aside  fm") == 2
    assert "Set aside: for a fit that has not begun. It counts as spent until it is given back." in said
    public = CliRunner().invoke(main, ["ledger", "show", ledger.path, "--public"]).stdout
    assert public.count("spent      fm") == 2
    assert "et aside" not in public


# Against a model


class Machine(RuleBasedStateMachine):
    """A ledger with allotments, and a list that should say the same."""

    @initialize()
    def make(self):
        self.folder = allotment_module.secrets.token_hex(4)
        self.path = os.path.join(MEMORY or "/tmp", f"dplr-{self.folder}")
        self.ledger = Ledger(self.path, eps=1.0, delta=0.0)
        self.model, self.held, self.begun = [], [], []  # model: [eps, state, allotment]

    def counted(self):
        return sum((Fraction(str(eps)) for eps, state, _ in self.model if state != "refunded"), Fraction(0))

    @rule(eps=strategies.sampled_from([0.05, 0.1, 0.2]), fits=strategies.integers(1, 4))
    def set_aside(self, eps, fits):
        try:
            held = self.ledger.set_aside(statement(pure(eps)), fits=fits)
        except BudgetExceeded:
            assert self.counted() + fits * Fraction(str(eps)) > 1
            return
        assert self.counted() + fits * Fraction(str(eps)) <= 1
        self.model += [[eps, "set aside", len(self.held)] for _ in range(fits)]
        self.held.append(held)

    @rule(eps=strategies.sampled_from([0.05, 0.1, 0.2]), which=strategies.integers(0, 5), fork=strategies.booleans())
    def begin(self, eps, which, fork):
        if which >= len(self.held):
            return
        handle = pickle.loads(pickle.dumps(self.held[which])) if fork else self.held[which]
        free = [each for each in self.model if each[1:] == ["set aside", which] and each[0] >= eps]
        try:
            reservation = handle.reserve(statement(pure(eps)))
        except BudgetExceeded:
            assert not free
            return
        free[0][1] = "reserved"
        self.begun.append((reservation, free[0]))

    @rule(commit=strategies.booleans())
    def end(self, commit):
        if self.begun:
            reservation, entry = self.begun.pop(0)
            reservation.commit() if commit else reservation.refund()
            entry[1] = "committed" if commit else "refunded"

    @rule(which=strategies.integers(0, 5))
    def close(self, which):
        if which < len(self.held):
            self.held[which].close()
            for each in self.model:
                if each[1:] == ["set aside", which]:
                    each[1] = "refunded"

    @rule(eps=strategies.sampled_from([0.05, 0.3]))
    def spend_beside_it(self, eps):
        with contextlib.suppress(BudgetExceeded):
            self.ledger.reserve(statement(pure(eps))).commit()
            self.model.append([eps, "committed", None])

    @invariant()
    def entries_are_those_of_the_model(self):
        if hasattr(self, "ledger"):
            assert [[each.eps, each.state] for each in self.ledger.entries()] == [each[:2] for each in self.model]
            assert self.counted() <= 1
            assert Fraction(str(self.ledger.remaining()[0])) == 1 - self.counted()

    def teardown(self):
        if hasattr(self, "path"):
            for name in ("", "-journal"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.path + name)


TestAllotments = Machine.TestCase
TestAllotments.settings = hypothesis.settings(max_examples=15, stateful_step_count=25, deadline=None)


def test_an_allotment_is_a_name_of_the_module():
    assert dplr.ledger.Allotment is Allotment
