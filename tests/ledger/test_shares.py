"""Shares of a ledger: limits inside its own, kept in the file, which what is spent has to keep as well."""

import contextlib
import copy
import itertools
import math
import pickle
import sqlite3
import threading

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score

import dplr
from dplr.ledger.budget import BudgetExceeded
from dplr.ledger.handle import Ledger
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.rules import probe
from dplr.privacy.statement import PrivacyStatement

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def statement(eps, delta=0.0, kind="pure"):
    guarantee = probe(kind, eps, delta).guarantee
    return PrivacyStatement(
        "fm", eps, delta, guarantee, Neighbouring.REPLACE_ONE, {}, "", (), "integer", False, "", version="0"
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


@pytest.fixture
def ledger(path):
    return Ledger(path, eps=1.0, delta=1e-5)


def test_a_fit_through_a_share_spends_from_the_share_and_from_the_whole(ledger, path):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (400, 2))
    alice = ledger.share("alice", eps=0.5)
    assert alice.remaining() == (0.5, 5e-6)
    dplr.fit(X, X[:, 0] > 0, eps=0.2, mechanism="fm", ledger=alice)
    dplr.fit(X, X[:, 0] > 0, eps=0.1, mechanism="fm", ledger=ledger)
    assert (alice.spent(), alice.remaining()) == ((0.2, 0.0), (0.3, 5e-6))
    assert (ledger.spent(), ledger.remaining()) == ((0.3, 0.0), (0.7, 1e-5))
    assert [(entry.eps, entry.share) for entry in ledger.entries()] == [(0.2, "alice"), (0.1, None)]
    assert [entry.eps for entry in Ledger(path).share("alice").entries()] == [0.2]
    with pytest.raises(BudgetExceeded, match=r"too little eps \(0\.4 is needed, 0\.3 is left\) in share 'alice'"):
        alice.reserve(statement(0.4))
    ledger.reserve(statement(0.4)).commit()


def test_a_share_cannot_spend_what_the_whole_has_not(ledger):
    alice = ledger.share("alice", eps=0.5)
    ledger.reserve(statement(0.8)).commit()
    assert alice.remaining() == (0.2, 5e-6)
    with pytest.raises(BudgetExceeded, match=r"too little eps \(0\.3 is needed, 0\.2 is left\)\. No row"):
        alice.reserve(statement(0.3))
    alice.reserve(statement(0.2)).commit()
    assert ledger.remaining() == (0.0, 1e-5)


def test_one_share_does_not_spend_the_limit_of_another(ledger):
    alice, bob = ledger.share("alice", 0.5), ledger.share("bob", 0.5)
    alice.reserve(statement(0.5)).commit()
    assert bob.remaining()[0] == 0.5
    with pytest.raises(BudgetExceeded, match="in share 'alice'"):
        alice.reserve(statement(0.1))
    bob.reserve(statement(0.5)).commit()


@pytest.mark.parametrize(
    ("composition", "kind"),
    [*itertools.product(["basic", "zcdp", "gdp"], ["pure", "gaussian", "approx"]), ("pld", "pure")],
)
def test_what_remains_of_a_share_is_the_smaller_of_both_and_exact(path, composition, kind):
    ledger = Ledger(path, 2.0, 1e-4, composition)
    share = ledger.share("alice", 1.0, 5e-5)
    own = {"pure": None, "gaussian": 1e-6, "approx": 1e-9}[kind]
    for spends_beside in (False, True):
        if spends_beside:
            ledger.reserve(statement(0.3 if kind == "gaussian" else 1.2)).commit()
        left = share.remaining(kind, own)
        assert 0 < left[0] <= ledger.remaining(kind, own)[0]
        share.reserve(statement(*left, kind)).refund()
        more = left[0] * (1 + 1e-6) + (4e-4 if composition == "pld" else 0)
        with pytest.raises(BudgetExceeded):
            share.reserve(statement(more, left[1], kind))


def test_the_limits_of_shares_add_up_to_no_more_than_the_ledgers(ledger):
    for place in range(5):
        ledger.share(str(place), 0.2)
    assert ledger.shares() == {str(place): (0.2, 2e-6) for place in range(5)}
    with pytest.raises(ValueError, match=r"`eps` of share 'f' must be at most 0\.0, what other shares leave of 1"):
        ledger.share("f", 1e-9)
    assert len(ledger.shares()) == 5


def test_limits_of_delta_add_up_too_and_follow_eps_where_none_is_given(ledger):
    assert ledger.share("alice", 0.25).shares()["alice"] == (0.25, 2.5e-6)
    with pytest.raises(ValueError, match=r"`delta` of share 'bob' must be at most 7\.5e-06"):
        ledger.share("bob", 0.1, 8e-6)
    assert ledger.share("bob", 0.1, 0.0).remaining() == (0.1, 0.0)
    with pytest.raises(BudgetExceeded, match=r"too little delta .* in share 'bob'"):
        ledger.share("bob").reserve(statement(0.1, 1e-9, "approx"))


def test_a_third_of_a_budget_three_times_is_all_of_it(tmp_path):
    ledger = Ledger(tmp_path / "thirds", eps=1.0, delta=1e-5)
    third = 0.3333333333333333
    for name in "abc":
        ledger.share(name, third)
    assert sum(delta for _, delta in ledger.shares().values()) <= 1e-5


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("alice", {"eps": 0.5, "delta": 1e-5}, None),
        ("", {"eps": 0.5}, "`share` must be a text"),
        (3, {"eps": 0.5}, "`share` must be a text"),
        ("\udcff", {"eps": 0.5}, "`share` must be a text that can be written"),
        ("alice", {}, r"`share` must be one that exists; got 'alice'. Make it with share\(name, eps=\.\.\.\)"),
        ("alice", {"delta": 1e-6}, "`share` must be one that exists"),
        ("alice", {"eps": 0}, "`eps` must be positive"),
        ("alice", {"eps": math.inf}, "`eps` must be finite"),
        ("alice", {"eps": 2.0}, "`eps` of share 'alice' must be at most 1.0"),
        ("alice", {"eps": 0.5, "delta": -1}, "`delta` must be in"),
        ("alice", {"eps": 0.5, "delta": 2e-5}, "`delta` of share 'alice' must be at most 1e-05"),
    ],
)
def test_what_is_no_share_is_refused_and_leaves_none(ledger, name, options, message):
    if message is None:
        ledger.share(name, **options)
        return
    with pytest.raises((ValueError, TypeError), match=message):
        ledger.share(name, **options)
    assert ledger.shares() == {}


def test_a_share_must_be_a_budget_that_the_composition_can_keep(tmp_path):
    ledger = Ledger(tmp_path / "zcdp", 1.0, 1e-5, "zcdp")
    with pytest.raises(ValueError, match="`delta` must be positive with composition='zcdp'"):
        ledger.share("alice", 0.5, 0.0)
    with pytest.raises(ValueError, match="out of the range of Gaussian noise"):
        Ledger(tmp_path / "gdp", 1.0, 1e-5, "gdp").share("alice", 1e-5)
    assert ledger.shares() == {}


def test_the_limits_of_a_share_never_change(ledger):
    alice = ledger.share("alice", 0.5)
    assert ledger.share("alice", 0.5) == ledger.share("alice", delta=5e-6) == ledger.share("alice") == alice
    for unit, value in (("eps", 0.6), ("delta", 1e-6)):
        with pytest.raises(ValueError, match=f"`{unit}` must be .*, as share 'alice' has it.*never change"):
            ledger.share("alice", **{unit: value})
    with pytest.raises(ValueError, match=r"`share` must be of a whole ledger; got 'carol'\. This is share 'alice'"):
        alice.share("carol", 0.1)
    alice.reserve(statement(0.1))
    with contextlib.closing(sqlite3.connect(ledger.path)) as connection:
        for change in (
            "UPDATE share SET eps = 9", "DELETE FROM share", "UPDATE share SET name = 'bob'",
            "INSERT OR REPLACE INTO share SELECT name, 9.0, delta, created FROM share",
        ):  # fmt: skip
            with pytest.raises(sqlite3.IntegrityError, match="shares of a ledger are fixed"):
                connection.execute(change)
        with pytest.raises(sqlite3.IntegrityError, match="ends once"):
            connection.execute("UPDATE entry SET share = NULL")


def test_copies_of_a_share_are_handles_of_that_share(ledger):
    alice = ledger.share("alice", 0.5).labelled("census")
    for other in (
        copy.copy(alice), copy.deepcopy(alice), pickle.loads(pickle.dumps(alice)),
        clone(dplr.LinearRegression(ledger=alice)).ledger, alice.labelled("census"),
    ):  # fmt: skip
        assert (other, hash(other)) == (alice, hash(alice))
        other.reserve(statement(0.1)).commit()
    assert alice.remaining()[0] == 0.0
    assert [(entry.share, entry.label) for entry in ledger.entries()] == [("alice", "census")] * 5
    assert alice != ledger.labelled("census")
    assert repr(alice) == f"Ledger({ledger.path!r}, label='census').share('alice')"


def test_folds_in_other_processes_keep_the_limit(ledger):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (400, 2))
    model = dplr.LogisticRegression(eps=0.1, mechanism="fm", ledger=ledger.share("alice", 0.3))
    with pytest.raises(BudgetExceeded):
        cross_val_score(model, X, (X[:, 0] > 0).astype(int), cv=KFold(4), n_jobs=2, error_score="raise")
    assert ledger.spent()[0] <= 0.3


@pytest.mark.thorough
def test_many_processes_together_never_exceed_a_share_or_the_whole(path):
    ledger = Ledger(path, eps=1.0)
    shares = [ledger.share("alice", 0.3), ledger.share("bob", 0.7), ledger]

    def spend(budget):
        with contextlib.suppress(BudgetExceeded):
            while True:
                budget.reserve(statement(0.02)).commit()

    with joblib.parallel_config("loky", n_jobs=3):
        joblib.Parallel()(joblib.delayed(spend)(budget) for budget in shares)
    assert ledger.spent()[0] == 1.0
    assert shares[0].spent()[0] <= 0.3
    assert shares[1].spent()[0] <= 0.7


def test_threads_that_make_one_share_at_once_make_one(path):
    ledger, ends = Ledger(path, eps=1.0), []

    def make(eps):
        with contextlib.suppress(ValueError):
            ledger.share("alice", eps)
            ends.append(eps)

    threads = [threading.Thread(target=make, args=(0.3 + 0.1 * (k % 2),)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(ends)) == 1
    assert ledger.shares()["alice"][0] == ends[0]


def test_a_search_is_set_aside_from_a_share(ledger):
    alice = ledger.share("alice", 0.5)
    with pytest.raises(BudgetExceeded, match="in share 'alice'"):
        alice.set_aside(statement(0.1), fits=6)
    with alice.set_aside(statement(0.1), fits=5) as held:
        held.reserve(statement(0.1)).commit()
        assert (alice.remaining()[0], ledger.remaining()[0]) == (0.0, 0.5)
    assert (alice.remaining()[0], ledger.remaining()[0]) == (0.4, 0.9)
    assert {entry.share for entry in ledger.entries()} == {"alice"}


def test_a_price_for_a_share_speaks_of_what_is_left_of_it(ledger):
    alice = ledger.share("alice", 0.5)
    assert alice.price(statement(0.5)).fits
    price = alice.price(statement(0.6))
    assert (price.fits, price.before) == (False, (0.5, 5e-6))
    assert "in share 'alice'" in price.obstacle
    assert dplr.plan(n_rows=100, n_features=2, eps=0.1, mechanism="fm").cost(alice, fits=5).fits
    assert not dplr.plan(n_rows=100, n_features=2, eps=0.1, mechanism="fm").cost(alice, fits=6).fits
