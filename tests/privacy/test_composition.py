"""What several releases cost together: published conversions, dp-accounting, and exact pairs."""

import math
import pathlib
from fractions import Fraction

import numpy as np
import pytest

import dplr
from dplr.privacy import composition
from dplr.privacy.gaussian import gaussian_eps, gaussian_log_delta, gaussian_mu, pure_eps, pure_mu
from dplr.privacy.guarantees import Approx, Gaussian, Neighbouring, Poisson, Pure
from dplr.privacy.statement import PrivacyStatement


def statement(guarantee, eps=None, delta=0.0):
    """A statement of which only the cost matters."""
    eps = guarantee.eps if eps is None else eps
    return PrivacyStatement(
        "fm", eps, delta, guarantee, Neighbouring.REPLACE_ONE, {}, "", (), "integer", False, "", version="0"
    )


def renyi_of_randomised_response(eps, alpha):
    return (math.log(math.cosh((alpha - 0.5) * eps)) - math.log(math.cosh(eps / 2))) / (alpha - 1)


@pytest.mark.parametrize("eps", [0.01, 0.3, 1.0, 4.0])
def test_pure_loss_is_the_smallest_rho_of_randomised_response(eps):
    rho, lost = composition.rho_of(statement(Pure(eps)))
    orders = 1 + np.logspace(-3, 2, 60)
    needed = max(renyi_of_randomised_response(eps, alpha) / alpha for alpha in orders)
    assert lost == 0
    assert needed <= rho * (1 + 1e-7)
    assert rho <= needed * (1 + 1e-3)
    assert rho <= eps**2 / 2


def test_gaussian_loss_is_half_mu_squared_and_approximate_loss_loses_delta():
    rho, lost = composition.rho_of(statement(Gaussian(0.3), 1.0, 1e-6))
    assert (rho, lost) == (pytest.approx(0.045, rel=1e-12), 0)
    assert rho >= 0.045
    for guarantee in (Approx(0.5, 1e-6), Poisson(0.01, 1.0, 100)):
        rho, lost = composition.rho_of(statement(guarantee, 0.5, 1e-6))
        assert (rho, lost) == (composition.pure_rho(0.5), 1e-6)
    with pytest.raises(ValueError, match="`eps` must be finite"):
        composition.rho_of(statement(Pure(math.inf)))


@pytest.mark.parametrize(("rho", "delta"), [(1e-4, 1e-6), (0.02, 1e-5), (0.5, 1e-6), (3.0, 1e-10)])
def test_conversion_agrees_with_dp_accounting_and_is_above_the_exact_gaussian(rho, delta):
    rdp = pytest.importorskip("dp_accounting.rdp")
    orders = 1 + np.logspace(-2, 5, 4000)
    theirs, _ = rdp.compute_epsilon(orders, orders * rho, delta)
    ours = composition.eps_of_rho(rho, delta)
    assert ours <= theirs * (1 + 1e-12)
    assert ours == pytest.approx(theirs, rel=1e-4)
    assert ours > gaussian_eps(math.sqrt(2 * rho), delta)
    assert ours < rho + math.sqrt(4 * rho * math.log(1 / delta))  # Bun and Steinke 2016, Proposition 1.3


def test_largest_rho_is_the_inverse_of_the_conversion():
    for eps in (1e-3, 0.1, 1.0, 10.0):
        for delta in (1e-12, 1e-6, 1e-2):
            rho = composition.largest_rho(eps, delta)
            assert composition.eps_of_rho(rho, delta) == pytest.approx(eps, rel=1e-6)
            assert composition.eps_of_rho(rho, delta) <= eps
    assert composition.largest_rho(1.0, 0.0) == 0
    assert composition.eps_of_rho(0.0, 1e-6) == 0


@pytest.mark.oracle
@pytest.mark.parametrize("eps", [1e-9, 1e-7, 1e-5, 1.0, 1e6])
@pytest.mark.parametrize("delta", [1e-300, 1e-100, 1e-30, 1e-12, 0.4])
def test_conversions_are_on_the_safe_side_also_where_their_parts_cancel(oracle, eps, delta):
    mp = oracle("mpmath").mp.clone()
    mp.dps = 60

    def way_back(log_excess):
        excess = mp.exp(log_excess)
        return 1 + excess, (mp.log(delta) + mp.log1p(excess)) / excess + mp.log1p(1 / excess)

    def least(curve):
        low, high = mp.mpf(-30), mp.mpf(60)
        for _ in range(160):
            left, right = low + (high - low) / 3, high - (high - low) / 3
            low, high = (low, right) if curve(left) <= curve(right) else (left, high)
        return curve((low + high) / 2)

    largest = -least(lambda x: -(eps + way_back(x)[1]) / way_back(x)[0])
    rho = composition.largest_rho(eps, delta)
    assert largest * (1 - 1e-5) < rho < largest
    smallest = least(lambda x: way_back(x)[0] * mp.mpf(rho) - way_back(x)[1])
    assert max(smallest, 0) <= composition.eps_of_rho(rho, delta) <= max(smallest, 0) + 1e-5 * eps + 1e-13


def exact_delta_of_responses(eps_each, k, eps):
    """Hockey stick of k randomised responses, by counting."""
    p = math.exp(eps_each) / (1 + math.exp(eps_each))
    total = 0.0
    for j in range(k + 1):
        first = math.comb(k, j) * p**j * (1 - p) ** (k - j)
        second = math.comb(k, j) * p ** (k - j) * (1 - p) ** j
        total += max(first - math.exp(eps) * second, 0)
    return total


@pytest.mark.parametrize(("k", "eps", "delta"), [(50, 1.0, 1e-6), (200, 0.5, 1e-5), (500, 3.0, 1e-9)])
def test_equal_pure_shares_hold_for_the_worst_pair_and_beat_adding(k, eps, delta):
    share, none = composition.equal_shares(k, eps, delta)
    assert none == 0
    assert share > eps / k
    assert exact_delta_of_responses(share, k, eps) <= delta
    assert exact_delta_of_responses(1.6 * share, k, eps) > delta  # and not by far
    assert composition.zcdp([statement(Pure(share))] * k, delta)[0] <= eps


@pytest.mark.parametrize(("k", "eps", "delta"), [(2, 1.0, 1e-6), (10, 1.0, 1e-6), (100, 0.3, 1e-5)])
def test_equal_gaussian_shares_compose_and_cost_what_zcdp_costs(k, eps, delta):
    share, each = composition.equal_shares(k, eps, delta, "gaussian")
    mu = gaussian_mu(share, each)
    assert gaussian_log_delta(eps, mu * math.sqrt(k)) <= math.log(delta)  # k of them are sqrt(k) mu-GDP
    assert share > eps / k
    total, _ = composition.zcdp([statement(Gaussian(mu), share, each)] * k, delta)
    assert total <= eps
    assert total >= 0.99 * eps


def test_few_shares_are_plain_parts_and_many_are_not():
    assert composition.equal_shares(5, 1.0, 0.0) == (0.2, 0.0)
    assert composition.equal_shares(3, 1.0, 1e-6)[0] == pytest.approx(1 / 3)
    assert composition.equal_shares(1, 0.8, 1e-6, "approx") == (0.8, 1e-6)
    eps, delta = composition.equal_shares(100, 1.0, 1e-4, "approx")
    assert delta == 5e-7
    assert eps > 0.01
    assert composition.zcdp([statement(Approx(eps, delta), eps, delta)] * 100, 1e-4)[0] <= 1.0
    with pytest.raises(ValueError, match="`delta` must be positive unless"):
        composition.equal_shares(2, 1.0, 0.0, "gaussian")
    with pytest.raises(ValueError, match="`kind` must be one of"):
        composition.equal_shares(2, 1.0, 0.0, "laplace")


def test_shares_never_add_up_to_more_than_the_whole():
    rng = np.random.default_rng(0)
    for eps, k in zip(rng.uniform(0.01, 5, 300).tolist(), rng.integers(1, 60, 300).tolist(), strict=True):
        share, _ = composition.equal_shares(k, eps, 0.0)
        assert k * composition.exact(share) <= composition.exact(eps)
        assert k * composition.exact(math.nextafter(share, math.inf)) > composition.exact(eps)


def test_sums_are_those_of_the_decimals_that_are_written():
    fifths = [statement(Pure(0.2))] * 5
    assert composition.basic(fifths) == (1.0, 0.0)
    tenths = [statement(Approx(0.1, 1e-7), 0.1, 1e-7)] * 3
    assert composition.basic(tenths) == (0.3, 3e-7)
    assert composition.basic([]) == (0.0, 0.0)
    assert composition.basic([statement(Pure(math.inf))]) == (math.inf, 0.0)
    assert composition.exact(0.2) == Fraction(1, 5)
    third = Fraction(1, 3)
    assert composition.exact(composition.float_down(third)) <= third <= composition.exact(composition.float_up(third))


def test_zcdp_charges_what_is_lost_and_says_where_it_is_too_much():
    approx = [statement(Approx(0.1, 1e-7), 0.1, 1e-7)] * 10
    assert composition.zcdp(approx, 1e-6)[0] == math.inf
    assert composition.zcdp(approx, 1e-5)[0] > composition.zcdp([statement(Pure(0.1))] * 10, 1e-5)[0]
    assert composition.zcdp([], 0.0) == (0.0, 0.0)


@pytest.mark.parametrize("kind", composition.KINDS)
def test_equal_shares_of_a_delta_as_small_as_that_of_a_solver(kind):
    eps, delta = composition.equal_shares(4, 1.0, 2.0**-62, kind)
    assert 0.25 <= eps < 1
    assert delta == pytest.approx(0.0 if kind == "pure" else 2.0**-64, rel=1e-12)


@pytest.mark.parametrize("guarantee", [Pure(0.1), Gaussian(0.1)])
def test_zcdp_is_above_the_loss_distribution_of_dp_accounting(guarantee):
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    k, delta = 40, 1e-6
    if isinstance(guarantee, Pure):
        common = pytest.importorskip("dp_accounting.pld.common")
        one = pld.from_privacy_parameters(
            common.DifferentialPrivacyParameters(0.1, 0.0), value_discretization_interval=1e-3
        )
        costs = statement(guarantee)
    else:
        one = pld.from_gaussian_mechanism(10.0, value_discretization_interval=1e-3)
        costs = statement(guarantee, 0.4, 1e-6)
    theirs = one.self_compose(k).get_epsilon_for_delta(delta)
    ours, _ = composition.zcdp([costs] * k, delta)
    assert theirs < ours < 1.25 * theirs


def test_a_plan_of_each_form_has_a_rho():
    for mechanism, delta in (("fm", 0.0), ("fm", 1e-6), ("objective", 1e-6), ("ngd", 1e-6)):
        plan = dplr.plan(n_rows=1000, n_features=2, eps=0.5, delta=delta, mechanism=mechanism)
        rho, lost = composition.rho_of(plan.statement)
        assert 0 < rho <= 0.125
        assert lost in (0.0, delta, 2.0**-64)  # pure noise in the objective is smaller, and has that delta


def test_the_proof_page_names_every_public_function():
    page = pathlib.Path(composition.__file__).with_suffix(".md").read_text()
    names = ["rho_of", "pure_rho", "eps_of_rho", "largest_rho", "basic", "zcdp", "equal_shares", "Basic", "Zcdp", "Pld"]
    assert [name for name in names if f"`{name}`" not in page] == []


@pytest.mark.parametrize("eps", [1e-6, 0.01, 0.3, 1.0, 4.0, 30.0])
def test_a_pure_release_is_no_easier_to_tell_apart_than_the_gaussian_that_it_is_charged_for(eps):
    """Randomised response against mu-GDP at every eps below its own; equal at 0, so that no smaller mu would do."""
    mu = pure_mu(eps)
    for at in np.linspace(0, eps, 50)[1:-1]:
        exact = at + math.log(math.expm1(eps - at)) - math.log1p(math.exp(eps))
        assert exact <= gaussian_log_delta(at, mu) + 1e-9
    assert math.erf(mu / math.sqrt(8)) == pytest.approx(math.tanh(eps / 2), rel=1e-7)
    assert pure_eps(mu) == pytest.approx(eps, rel=1e-6)
    assert mu <= 1.2534 * eps
    assert composition.pure_eps_of_square(Fraction(mu) ** 2) == pytest.approx(eps, rel=1e-6)
    assert pure_mu(composition.pure_eps_of_square(Fraction(mu) ** 2)) <= mu


@pytest.mark.parametrize("kind", ["gaussian", "approx"])
def test_deltas_of_shares_never_add_up_to_more_than_the_whole(kind):
    rng = np.random.default_rng(1)
    for eps, k in zip(rng.uniform(0.01, 5, 30).tolist(), rng.integers(2, 60, 30).tolist(), strict=True):
        _, delta = composition.equal_shares(k, eps, 1e-5, kind)
        assert k * composition.exact(delta) <= composition.exact(1e-5)
