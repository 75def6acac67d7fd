"""Reserve, run, commit: the order of a fit, and what happens when something breaks on the way."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

import dplr
import fits as fitting
from dplr.ledger.budget import NullLedger, ReservationLost
from dplr.mechanisms.functional.spec import FunctionalMechanism
from dplr.noise import Source
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.losses import LOGISTIC
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows
from dplr.solvers.certificate import NotCertified
from made_rows import make_data, make_prep

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


class Diary:
    """A ledger, rows and source that write down what happens to them."""

    def __init__(self, X, y, refuse=False, break_after_noise=False, lost=False):
        self.events = []
        self.prep = make_prep("cube", X.shape[1])
        self.rows = ArrayRows(X, y, self.prep)
        self.refuse, self.break_after_noise = refuse, break_after_noise
        self.lost = lost
        self.source = Source()

    def reserve(self, statement):
        self.events.append("reserve")
        if self.refuse:
            raise RuntimeError("budget exceeded")
        return self

    def told_first(self, hook):
        return self.source.told_first(hook)

    def draw(self):
        self.events.append("draw")
        if self.lost:
            raise ReservationLost("given back")

    def commit(self, outbox):
        assert outbox is None
        self.events.append("commit")

    def refund(self):
        self.events.append("refund")

    def total(self, query):
        self.events.append("rows")
        return self.rows.total(query)

    @property
    def geometry(self):
        return self.prep.geometry

    @property
    def reproducible(self):
        return False

    @property
    def drawn(self):
        return self.source.drawn

    def laplace(self, scale, size):
        noise = self.source.laplace(scale, size)
        self.events.append("noise")
        if self.break_after_noise:
            raise KeyboardInterrupt
        return noise

    def gaussian(self, variance, size):
        return self.source.gaussian(variance, size)

    def run(self, eps=1.0):
        n = 100
        problem = Problem(LOGISTIC, self.prep.geometry, Neighbouring.REPLACE_ONE, n, None, ())
        return fitting.run(self, problem, FunctionalMechanism(), eps, 0.0, self, self)


def test_budget_is_reserved_before_the_first_row_is_read_and_committed_after_the_noise():
    diary = Diary(*make_data("cube", 100, 2))
    diary.run()
    assert diary.events == ["reserve", "rows", "draw", "noise", "noise", "noise", "commit"]


def test_refused_budget_reads_no_row_and_draws_no_noise(entropy):
    diary = Diary(*make_data("cube", 100, 2), refuse=True)
    with pytest.raises(RuntimeError, match="budget"):
        diary.run()
    assert diary.events == ["reserve"]
    assert entropy.bytes == 0


def test_value_fault_gives_the_budget_back_before_any_noise(entropy):
    X, y = make_data("cube", 100, 2)
    X[3, 1] = np.nan
    diary = Diary(X, y)
    with pytest.raises(ValueError, match="finite"):
        diary.run()
    assert diary.events == ["reserve", "rows", "refund"]
    assert entropy.bytes == 0


def test_interruption_after_noise_was_drawn_stays_spent():
    diary = Diary(*make_data("cube", 100, 2), break_after_noise=True)
    with pytest.raises(KeyboardInterrupt):
        diary.run()
    assert diary.events == ["reserve", "rows", "draw", "noise"]


def test_a_reservation_that_was_lost_draws_no_noise_and_is_not_given_back(entropy):
    """Also where a mechanism tries again: the ledger is asked before each draw until it agrees."""
    diary = Diary(*make_data("cube", 100, 2), lost=True)
    with pytest.raises(ReservationLost):
        diary.run()
    assert diary.events == ["reserve", "rows", "draw"]
    with diary.source.told_first(diary.draw):
        for draw in (lambda: diary.source.laplace(9, 1), lambda: diary.source.gaussian(9, 1)):
            with pytest.raises(ReservationLost):
                draw()
        with pytest.raises(ReservationLost):
            diary.source.bernoulli_indices(9, 2**31)
    assert entropy.bytes == 0
    assert diary.events[3:] == ["draw"] * 3


def test_a_solver_that_missed_its_tolerance_leaves_what_nobody_can_give_back():
    """Whether it did depends on the data, so the entry must not stay one that is given back by name."""
    diary = Diary(*make_data("cube", 100, 2))

    def missed(query):
        raise NotCertified

    diary.total = missed
    with pytest.raises(NotCertified):
        diary.run()
    assert diary.events == ["reserve", "draw"]


def test_the_ledger_is_told_by_every_way_to_draw_and_once():
    ways = {
        "laplace": lambda source: source.laplace(9, 1), "gaussian": lambda source: source.gaussian(9, 1),
        "norm_gamma": lambda source: source.norm_gamma(Fraction(9), 2),
        "in_body": lambda source: source.in_body([Fraction(9)], [1]),
        "normals": lambda source: source.normals(Fraction(9), 2),
        "normal": lambda source: source.normal(1.0, 2), "below": lambda source: source.below(7),
        "bernoulli_indices": lambda source: source.bernoulli_indices(9, 2**31),
        "happens": lambda source: source.happens(Fraction(1, 3)), "words": lambda source: source.words(9),
        "happens_exp": lambda source: source.happens_exp(Fraction(1, 3)),
    }  # fmt: skip
    quiet = {"drawn", "forget", "told_first", "reproducible"}
    assert set(ways) == {name for name in vars(Source) if not name.startswith("_")} - quiet
    for draw in ways.values():
        source, told = Source(), []
        source.laplace(1000, 2)  # bytes are left in the buffer
        with source.told_first(lambda told=told: told.append("told")):
            draw(source)
            draw(source)
        draw(source)
        assert told == ["told"]


def test_the_fits_of_a_search_tell_the_outer_one_first():
    source, told = Source(), []
    with source.told_first(lambda: told.append("search")):
        with source.told_first(lambda: told.append("a fit without noise")):
            pass
        with source.told_first(lambda: told.append("fit")):
            source.laplace(9, 1)
        with source.told_first(lambda: told.append("another fit")):
            source.laplace(9, 1)
    assert told == ["search", "fit", "another fit"]


def test_interruption_before_any_noise_gives_the_budget_back():
    diary = Diary(*make_data("cube", 100, 2))
    diary.rows = None  # reading rows fails with something that is no ValueError

    def interrupted(query):
        raise KeyboardInterrupt

    diary.total = interrupted
    with pytest.raises(KeyboardInterrupt):
        diary.run()
    assert diary.events == ["reserve", "refund"]


def test_noise_from_bytes_that_were_buffered_before_is_not_refunded():
    """A source that was used before: what counts is that this fit drew noise, not that it asked for fresh bytes."""
    diary = Diary(*make_data("cube", 100, 2), break_after_noise=True)
    diary.source.laplace(1000, 2)
    with pytest.raises(KeyboardInterrupt):
        diary.run()
    assert "refund" not in diary.events


def test_null_ledger_serves_the_seam():
    reservation = NullLedger().reserve(dplr.plan(n_rows=5, n_features=1, eps=1.0).statement)
    assert reservation.draw() is None
    assert reservation.commit() is None
    assert reservation.refund() is None


def test_two_fits_never_share_noise():
    X, y = make_data("cube", 100, 2)
    bounds = dplr.Bounds([(-1, 2), (-2, 3)])
    first, second = (dplr.fit(X, y, eps=1.0, bounds=bounds, mechanism="fm").released_["off_diagonal"] for _ in range(2))
    assert (first != second).all()


def test_many_fits_of_one_level_are_planned_and_marked_once(monkeypatch):
    """Audits run 100,000 of them: planning each anew would cost far more than the fits."""
    calls = []

    def count(owner, name):
        real = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given, **named: calls.append(name) or real(*given, **named))

    count(FunctionalMechanism, "plan")
    count(Plan, "stating")
    prep, (X, y) = make_prep("cube", 2), make_data("cube", 20, 2)
    problem = Problem(LOGISTIC, prep.geometry, Neighbouring.REPLACE_ONE, 20, None, ())
    levels = [1.0, 2.0] * 10
    done = fitting.run_many(ArrayRows(X, y, prep), problem, FunctionalMechanism(), levels, 0.0, NullLedger(), Source())
    assert [fit.statement.eps for fit in done] == levels
    assert sorted(calls) == ["plan"] * 2 + ["stating"] * 2


def test_infinite_eps_draws_no_noise_and_promises_nothing(entropy):
    X, y = make_data("cube", 100, 2)
    est = dplr.fit(X, y, eps=math.inf)
    assert entropy.bytes == 0
    assert math.isinf(est.privacy_.guarantee.eps)
    assert "none" in str(est.privacy_)


def test_seeded_fit_warns_repeats_itself_and_says_so():
    X, y = make_data("cube", 100, 2)
    with pytest.warns(dplr.PrivacyWarning, match="protects nobody"):
        first = dplr.fit(X, y, eps=1.0, rng=3)
    with pytest.warns(dplr.PrivacyWarning):
        second = dplr.fit(X, y, eps=1.0, rng=3)
    assert (first.coef_ == second.coef_).all()
    assert first.privacy_.reproducible
    assert "WARNING" in str(first.privacy_)
    assert not dplr.fit(X, y, eps=1.0).privacy_.reproducible


def test_statement_lists_everything_taken_as_public():
    X, y = make_data("cube", 100, 2)
    est = dplr.fit(X, y, eps=0.8, bounds=dplr.Bounds([(-1, 2), (-2, 3)]), mechanism="fm")
    text = str(est.privacy_)
    for fact in ["eps = 0.8", "replace_one", "label is 0 or 1", "column 1 in [-2, 3]", "records = 100", "integer"]:
        assert fact in text
    assert est.privacy_.version == dplr.__version__
    assert (est.privacy_.eps, est.privacy_.delta, est.privacy_.guarantee.eps) == (0.8, 0.0, 0.8)
    text = str(dplr.fit(X, y / 2, eps=0.8, model="linear", mechanism="fm").privacy_)
    for fact in ["lie in the unit ball", "y lies in [-1, 1]", "l2 = 'auto'"]:
        assert fact in text


def test_statement_survives_pickling_and_stays_read_only():
    statement = dplr.plan(n_rows=5, n_features=1, eps=1.0).statement
    restored = pickle.loads(pickle.dumps(statement))
    assert restored == statement
    with pytest.raises(TypeError):
        restored.released["x"] = 1


def test_statement_shortcuts_exist_only_where_blocks_agree():
    statement = dplr.plan(n_rows=5, n_features=1, eps=1.0, mechanism="fm").statement
    assert statement.sensitivity == statement.released["linear"].sensitivity
    with pytest.raises(AttributeError, match="different values of `scale`"):
        _ = statement.noise_scale
