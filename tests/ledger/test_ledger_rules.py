"""When releases fit: the rules against exact pairs, and the ledger against a model in memory."""

import itertools
import math
import os
import pickle
import tempfile
from fractions import Fraction

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule
from scipy import stats

import dplr
from dplr.ledger.budget import BudgetExceeded
from dplr.ledger.handle import Ledger
from dplr.privacy import accounting, rules
from dplr.privacy.composition import largest_rho
from dplr.privacy.gaussian import gaussian_eps, gaussian_log_delta, gaussian_mu, pure_mu
from dplr.privacy.guarantees import Approx, Gaussian, Neighbouring, Poisson, Pure
from dplr.privacy.rules import Basic, Cost, Gdp, Pld, Zcdp, rule_for
from dplr.privacy.statement import PrivacyStatement

REPLACE = Neighbouring.REPLACE_ONE
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where syncing is quick


def pure(eps):
    return Cost(eps, 0.0, Pure(eps), 0)


def gaussian(mu, eps=0.3, delta=1e-6, draws=10):
    return Cost(eps, delta, Gaussian(mu), draws)


def approx(eps, delta):
    return Cost(eps, delta, Approx(eps, delta), 0)


def test_five_fifths_are_one_and_a_little_more_is_not():
    assert Basic(1.0, 0.0).fits({pure(0.2): 5})
    assert Basic(1.0, 0.0).remaining({pure(0.2): 5}) == (0.0, 0.0)
    assert not Basic(1.0, 0.0).fits({pure(0.2): 5, pure(1e-9): 1})
    assert not Basic(1.0, 0.0).fits({pure(math.nextafter(0.2, 1)): 5})
    assert Basic(0.3, 0.0).fits({pure(0.1): 3})
    assert not Basic(1.0, 1e-6).fits({approx(0.1, 2e-6): 1})


@pytest.mark.parametrize("rule_", [Basic(1.0, 1e-5), Zcdp(1.0, 1e-5), Gdp(1.0, 1e-5), Pld(1.0, 1e-5, REPLACE)])
@pytest.mark.parametrize("costs", [{}, {pure(0.1): 3}, {gaussian(0.05, 0.1): 4, approx(0.05, 2e-9): 2}])
def test_what_remains_fits_and_no_more(rule_, costs):
    eps, delta = rule_.remaining(costs)
    assert eps > 0
    assert rule_.fits({**costs, approx(eps, delta) if delta else pure(eps): 1})
    more = eps * (1 + 1e-6)
    assert not rule_.fits({**costs, approx(more, delta) if delta else pure(more): 1})
    assert rule_.spent(costs)[0] <= 1.0


def test_zcdp_takes_what_the_theorem_says_and_no_more():
    budget = Zcdp(1.0, 1e-5)
    rho = largest_rho(1.0, 5e-6)
    count = math.floor(rho / (0.02 * math.tanh(0.01)))
    assert count > 50  # adding would take fifty
    assert budget.fits({pure(0.02): count})
    assert not budget.fits({pure(0.02): count + 1})
    assert budget.fits({gaussian(math.sqrt(2 * rho) * (1 - 1e-9)): 1})
    assert not budget.fits({gaussian(math.sqrt(2 * rho) * (1 + 1e-9)): 1})


def test_zcdp_adds_where_that_is_better_but_not_with_gaussian_releases():
    budget = Zcdp(1.0, 1e-5)
    assert budget.fits({pure(0.5): 2})
    assert budget.spent({pure(0.5): 2}) == (1.0, 0.0)
    assert not budget.fits({pure(0.5): 2, gaussian(1e-6, 1e-6): 1})


def test_zcdp_keeps_half_of_delta_for_the_conversion():
    budget = Zcdp(1.0, 1e-5)
    assert budget.fits({approx(0.01, 1e-6): 5})
    assert not budget.fits({approx(0.01, 1e-6): 6})
    assert budget.remaining({approx(0.01, 1e-6): 4})[1] == 1e-6


def hockey_stick(pairs, eps):
    """Exact delta of independent pairs of discrete laws."""
    first, second = np.ones(1), np.ones(1)
    for p, q in pairs:
        first, second = np.outer(first, p).ravel(), np.outer(second, q).ravel()
    return np.maximum(first - math.exp(eps) * second, 0).sum()


def response(eps, delta=0.0):
    p = (1 - delta) / (1 + math.exp(-eps))
    one = np.array([delta, p, 1 - delta - p, 0.0])
    return one, one[::-1]


@pytest.mark.parametrize("rule_", [Basic(1.0, 1e-3), Zcdp(1.0, 1e-3), Gdp(1.0, 1e-3), Pld(1.0, 1e-3, REPLACE)])
@pytest.mark.parametrize(
    "parts", [[(0.7, 0.0), (0.1, 4e-7)], [(0.9, 0.0), (0.05, 5e-4)], [(0.3, 1e-4)] * 3, [(0.25, 0.0)] * 8]
)
def test_what_a_rule_takes_holds_for_the_worst_pair(rule_, parts):
    """Scaled until the rule only just takes them, the exact delta stays inside; the loss distribution is close."""

    def costs(scale):
        return {
            key: len(list(group))
            for key, group in itertools.groupby(
                sorted(
                    (approx(eps * scale, delta) if delta else pure(eps * scale) for eps, delta in parts),
                    key=lambda cost: cost.eps,
                )
            )
        }

    low, high = 0.01, 10.0
    for _ in range(25):
        middle = (low + high) / 2
        low, high = (middle, high) if rule_.fits(costs(middle)) else (low, middle)
    exact = hockey_stick([response(eps * low, delta) for eps, delta in parts], 1.0)
    assert exact <= 1e-3 * (1 + 1e-9)
    if isinstance(rule_, Pld):
        assert hockey_stick([response(eps * low * 1.02, delta) for eps, delta in parts], 1.0) > 1e-3


def test_squares_of_mu_add_up_to_nearly_all_that_the_budget_allows():
    budget = Gdp(1.0, 1e-6)
    one = 0.01
    count = next(k for k in range(1, 10**4) if not budget.fits({gaussian(one): k + 1}))
    mu = math.sqrt(count) * one
    assert gaussian_log_delta(1.0, mu) <= math.log(1e-6)
    assert 0.98 * gaussian_mu(1.0, 1e-6) < mu
    assert mu / math.sqrt(2 * Zcdp(1.0, 1e-6).most) > 1.09
    eps, delta = budget.spent({gaussian(one): count})
    assert 0.99 < eps <= 1.0
    assert delta <= 1e-6
    assert budget.fits({pure(0.5): 2})  # as many as add up
    assert budget.spent({pure(0.5): 2}) == (1.0, 0.0)
    assert not budget.fits({pure(0.5): 2, gaussian(1e-6, 1e-6): 1})
    assert budget.fits({approx(0.01, 2.0**-64): 10})
    assert not budget.fits({approx(0.01, 1e-8): 1})
    assert not budget.fits({pure(800.0): 1})
    assert not budget.fits({gaussian(1e-6, draws=10**6): 11})


def value(loss, square, eps):
    """E (1 - e^(eps - loss - N))_+ for N ~ N(square / 2, square): what an asker has who still gets one Gaussian."""
    if square <= 0:
        return max(0.0, -math.expm1(eps - loss))
    if eps - loss < -700:
        return 1.0
    mu = math.sqrt(square)
    near, far = (eps - loss) / mu - mu / 2, (eps - loss) / mu + mu / 2
    return stats.norm.sf(near) - math.exp(eps - loss) * stats.norm.sf(far)


def askers(eps, most, square_of_pure, depth, loss=0.0):
    """The best delta of an asker who chooses, by the loss so far, the next mu or eps, or whether to go on."""
    best = value(loss, 0.0, eps)
    if not depth:
        return best
    for share in (0.3, 1.0):
        square = share * most
        x, weight = np.polynomial.hermite_e.hermegauss(9)
        losses = loss + square / 2 + math.sqrt(square) * x
        best = max(best, value(loss, square, eps))
        if share < 1:
            tried = [askers(eps, most - square, square_of_pure, depth - 1, at) for at in losses]
            best = max(best, float(np.dot(weight, tried) / weight.sum()))
    for own in (0.3, 0.8, 1.6):
        own = own * math.sqrt(most)
        if square_of_pure(own) > most:
            continue
        p, rest = 1 / (1 + math.exp(-own)), most - square_of_pure(own)
        one, other = (
            max(askers(eps, rest, square_of_pure, depth - 1, loss + at), value(loss + at, rest, eps))
            for at in (own, -own)
        )
        best = max(best, p * one + (1 - p) * other)
    return best


@pytest.mark.parametrize(("eps", "delta"), [(1.0, 1e-3), (0.1, 0.1), (0.01, 0.3)])
def test_an_asker_who_chooses_by_what_was_released_gains_nothing(eps, delta):
    most = gaussian_mu(eps, delta) ** 2
    gained = askers(eps, most, lambda own: pure_mu(own) ** 2, 2)
    assert 0.99 * delta <= gained <= delta * (1 + 1e-3)  # nine points of a quadrature


def test_pure_releases_that_were_charged_their_eps_for_mu_would_take_too_much(monkeypatch):
    def just_fits(budget):
        low, high = 0.0, 3.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if budget.fits({pure(middle): 1, gaussian(0.02): 1}) else (low, middle)
        return low

    def exact(own, eps=0.01):
        p = 1 / (1 + math.exp(-own))
        return p * value(own, 0.02**2, eps) + (1 - p) * value(-own, 0.02**2, eps)

    budget = Gdp(0.01, 0.3)
    assert 0.29 < exact(just_fits(budget)) <= 0.3
    charged = rules.square_of
    monkeypatch.setattr(
        rules, "square_of", lambda cost: (cost.eps**2, 0.0) if isinstance(cost.guarantee, Pure) else charged(cost)
    )
    assert exact(just_fits(budget)) > 0.33


def test_an_unknown_composition_and_a_budget_out_of_range_are_refused():
    with pytest.raises(ValueError, match=r"`composition` must be one of basic, zcdp, gdp, pld; got .renyi."):
        rule_for("renyi", 1.0, 1e-6, REPLACE)
    with pytest.raises(ValueError, match=r"Use composition='zcdp'"):
        rule_for("gdp", 1e-5, 1e-6, REPLACE)
    with pytest.raises(ValueError, match="must be positive with composition='gdp'"):
        rule_for("gdp", 1.0, 0.0, REPLACE)


def test_loss_distributions_of_one_part_are_what_is_known_of_it():
    assert accounting.composed_eps(((Gaussian(0.5), 4),), 1e-6, REPLACE, 1.0) == pytest.approx(
        gaussian_eps(1.0, 1e-6), rel=1e-3
    )
    sampled = Poisson(0.01, 1.0, 200)
    alone = accounting.poisson_eps(sampled, 1e-6, REPLACE)
    assert accounting.composed_eps(((sampled, 1),), 1e-6, REPLACE, 1.0) == pytest.approx(alone, rel=2e-2)
    assert accounting.composed_eps((), 1e-6, REPLACE, 1.0) == 0.0


def test_loss_distributions_charge_the_discreteness_of_all_noise_together():
    budget = Pld(1.0, 1e-5, REPLACE)
    few, many = ({gaussian(0.05, draws=draws): 3} for draws in (1, 10**5))
    assert budget.fits(few)
    assert budget.fits(many)
    extra = budget._eps(many) - budget._eps(few)
    assert extra >= 3 * 10**5 * (1 + 144) / (24 * 4.0**20) * 0.99
    assert budget._eps({gaussian(0.05, draws=10**12): 3}) == math.inf
    noisy = dplr.plan(n_rows=1000, n_features=2, eps=0.5, delta=1e-6, mechanism="ngd").statement
    assert Cost.of(noisy).draws == math.prod(next(iter(noisy.released.values())).shape) > 0
    assert Cost.of(dplr.plan(n_rows=1000, n_features=2, eps=0.5).statement).draws == 0


def test_loss_distributions_refuse_at_once_what_alone_is_too_much():
    budget = Pld(1.0, 1e-6, REPLACE)
    huge = [pure(1e9), approx(400.0, 1e-9), gaussian(1e6), gaussian(12.0)]
    for cost in huge:  # their grids of losses would fill the memory, or take the ledger for seconds
        before = accounting._distribution.cache_info().misses
        assert not budget.fits({cost: 1, gaussian(0.01): 1})
        assert accounting._distribution.cache_info().misses == before


def test_an_entry_costs_what_its_guarantee_says_where_that_is_more_than_was_asked():
    asked = statement(0.5)
    assert Cost.of(asked).eps == 0.5
    louder = PrivacyStatement("fm", 0.5, 0.0, Pure(0.8), REPLACE, {}, "", (), "integer", False, "", version="0")
    assert Cost.of(louder).eps == 0.8


# Against a model


def statement(eps):
    return PrivacyStatement("fm", eps, 0.0, Pure(eps), REPLACE, {}, "", (), "integer", False, "", version="0")


class Machine(RuleBasedStateMachine):
    """A ledger, and a list that should say the same."""

    composition, budget, delta = "basic", 1.0, 0.0
    held = Bundle("held")

    @initialize()
    def make(self):
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY)
        self.ledger = Ledger(f"{self.folder.name}/budget", self.budget, self.delta, self.composition)
        self.model = []  # [eps, state]

    def fits(self, costs):
        return sum(map(Fraction, map(str, costs)), Fraction(0)) <= Fraction(str(self.budget))

    def counted(self):
        return [eps for eps, state in self.model if state != "refunded"]

    @rule(
        target=held,
        costs=strategies.lists(strategies.sampled_from([0.1, 0.2, 0.05, 0.3, 1e-9]), min_size=1, max_size=3),
    )
    def reserve(self, costs):
        statements = [statement(eps) for eps in costs]
        expected = self.fits([*self.counted(), *costs])
        assert self.ledger.price(*statements).fits == expected
        try:
            reservation = self.ledger.reserve(*statements)
        except BudgetExceeded:
            assert not expected
            return None
        assert expected
        places = range(len(self.model), len(self.model) + len(costs))
        self.model += [[eps, "reserved"] for eps in costs]
        return reservation, places

    def _end(self, held, state):
        if held is None:
            return
        reservation, places = held
        getattr(reservation, "commit" if state == "committed" else "refund")()
        for place in places:
            self.model[place][1] = state

    @rule(held=consumes(held))
    def commit(self, held):
        self._end(held, "committed")

    @rule(held=consumes(held))
    def refund(self, held):
        self._end(held, "refunded")

    @rule(held=consumes(held))
    def crash(self, held):
        """The process that held it is gone: nothing changes."""

    @rule()
    def reopen(self):
        self.ledger = pickle.loads(pickle.dumps(Ledger(self.ledger.path)))

    @invariant()
    def entries_are_those_of_the_model(self):
        if hasattr(self, "ledger"):
            assert [[entry.eps, entry.state] for entry in self.ledger.entries()] == self.model

    def teardown(self):
        if hasattr(self, "folder"):
            left, _ = self.ledger.remaining()
            if left:
                assert self.fits([*self.counted(), left])
            self.folder.cleanup()


class ZcdpMachine(Machine):
    """The same with zCDP, whose model is written out again."""

    composition, budget, delta = "zcdp", 0.4, 1e-3

    def fits(self, costs):
        logs = np.linspace(-3, 4, 20_000)
        for _ in range(3):  # the largest of all orders, ever closer
            orders = 1 + 10**logs
            bounds = (0.4 - np.log1p(-1 / orders) + np.log(5e-4 * orders) / (orders - 1)) / orders
            best, step = logs[bounds.argmax()], logs[1] - logs[0]
            logs = np.linspace(best - step, best + step, 2001)
        rho = sum(eps * math.tanh(eps / 2) for eps in costs)
        return super().fits(costs) or rho <= bounds.max()


_quick = hypothesis.settings(max_examples=12, stateful_step_count=20, deadline=None)
TestLedger = Machine.TestCase
TestLedger.settings = _quick
TestZcdpLedger = ZcdpMachine.TestCase
TestZcdpLedger.settings = _quick


@pytest.mark.parametrize("rule_", [Zcdp(1.0, 1e-5), Gdp(1.0, 1e-5)])
def test_the_eps_of_a_gaussian_release_is_never_added_since_it_holds_at_its_own_delta(rule_):
    """Half of the eps, at a delta of a tenth, is more than the whole budget at its own delta."""
    release = gaussian(gaussian_mu(0.5, 0.1), 0.5, 0.1)
    assert gaussian_eps(release.guarantee.mu, 1e-5) > 1.0
    assert not rule_.fits({release: 1})
    assert not rule_.fits({release: 1, pure(0.1): 1})
    assert rule_.spent({release: 1})[0] > 1.0
