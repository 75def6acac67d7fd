"""What a search costs: theorems 2 to 4 against searches that are enumerated, and against dp-accounting."""

import itertools
import math

import numpy as np
import pytest
from scipy import special

from dplr.privacy.composition import exact
from dplr.privacy.search.calibration import (
    _log_ratio,
    gaussian_search_eps,
    largest_mu,
    largest_rho,
    lost_delta,
    renyi_eps,
    run_delta,
    run_eps,
    search_eps,
)
from dplr.privacy.search.counts import TruncatedPoisson, law_of
from run_counts import pmf

FINITE = (-0.5, 0.0, 1.0, 2.0)
MOST = 4_000


def searched(law, run):
    """The law of what a search releases, from that of a run over ranks 0, 1, ...: a sum over numbers of runs."""
    chances, k = pmf(law, MOST), np.arange(1, MOST + 1)
    below = np.append(0.0, np.cumsum(run))[:, None] ** k
    return np.diff(below, axis=0) @ chances


def three(eps, top, middle):
    """Neighbours of which one has less at the best rank, more at the second: the worst case of theorem 2."""
    first, other = top * math.exp(-eps), top
    return np.array([1 - first - middle, middle, first]), np.array(
        [1 - other - middle * math.exp(-eps), middle * math.exp(-eps), other]
    )


@pytest.mark.parametrize("shape", FINITE)
@pytest.mark.parametrize("runs", [2.0, 30.0])
def test_no_search_with_pure_runs_shows_more_than_theorem_2_says(runs, shape):
    if shape < 0 and runs > 10:
        runs = 8.0
    law, rng = law_of(runs, shape), np.random.default_rng(3)
    for _ in range(40):
        ranks = rng.integers(2, 6)
        base = rng.dirichlet(np.full(ranks, 0.5))
        tilt = rng.choice([-1.0, 1.0], ranks) * rng.uniform(0.1, 2)
        tilt[0] = -tilt[1]  # else the law would stay as it is
        other = base * np.exp(tilt)
        other /= other.sum()
        eps = np.abs(np.log(base / other)).max()
        found = np.abs(np.log(searched(law, base)[base > 1e-12] / searched(law, other)[base > 1e-12])).max()
        assert found <= search_eps(law, eps) * (1 + 1e-9)


@pytest.mark.parametrize("shape", FINITE)
@pytest.mark.parametrize("runs", [1.5, 2.0, 5.0, 20.0])
@pytest.mark.parametrize("eps", [0.01, 0.5, 3.0])
def test_some_search_with_pure_runs_shows_as_much(runs, shape, eps):
    """Where both bounds of theorem 2 meet: better ranks have the probabilities 1 / (e^eps + 1) and e^eps times that."""
    law = law_of(min(runs, 8.0) if shape < 0 else runs, shape)
    first, other = (searched(law, run) for run in three(eps, 1 / (1 + math.exp(-eps)), 1e-7))
    loss = np.abs(np.log(first / other)).max()
    assert 0.9999 * search_eps(law, eps) <= loss <= search_eps(law, eps) * (1 + 1e-9)
    assert loss < (2 + shape) * eps


# By hand: log((g + E) / (1 + g E)) with g = 1/2, E = e^eps: eps = log 2 gives log(5/4), eps = log 4 gives log(3/2).
@pytest.mark.parametrize(("eps", "ratio"), [(math.log(2), 5 / 4), (math.log(4), 3 / 2)])
def test_the_cost_of_a_search_is_that_of_a_hand(eps, ratio):
    law = law_of(2.0, 1.0)
    assert law.gamma == exact(0.5)
    assert search_eps(law, eps) == pytest.approx(eps + 2 * math.log(ratio), rel=1e-9)


@pytest.mark.parametrize("shape", FINITE)
@pytest.mark.parametrize("eps", [1e-9, 1e-3, 1.0, 50.0, 1e4])
def test_the_share_of_a_run_is_the_largest_that_the_search_keeps(shape, eps):
    law = law_of(2.0, shape)
    share = float(run_eps(law, eps))
    assert search_eps(law, share) <= eps < search_eps(law, share * (1 + 1e-9))
    assert eps / (2 + shape) * (1 - 1e-9) <= share <= eps


@pytest.mark.parametrize("shape", FINITE)
def test_no_search_with_approximate_runs_loses_more_delta_than_theorem_2_says(shape):
    law, eps, delta = law_of(6.0, shape), 0.4, 1e-3
    for top, swap in itertools.product((1e-3, 0.05, 0.3), (False, True)):
        first, other = three(eps, top, 0.1)
        first, other = np.append(first * (1 - delta), [delta, 0]), np.append(other * (1 - delta), [0, delta])
        one, two = (searched(law, each) for each in ((other, first) if swap else (first, other)))
        beyond = np.maximum(one - math.exp(search_eps(law, eps)) * two, 0).sum()
        assert beyond <= lost_delta(law, delta)
        assert beyond >= 0.5 * delta


def test_shares_of_a_run_add_up_to_no_more_than_was_asked_for():
    for shape, eps, delta in itertools.product(FINITE, (0.1, 0.3, 1.0), (1e-6, 3e-5)):
        law = law_of(7.0, shape)
        assert search_eps(law, float(run_eps(law, eps))) <= eps
        each = run_delta(law, delta)
        assert exact(each) * exact(law.mean) <= exact(delta)
        assert lost_delta(law, each) <= delta


def cost(law, mu, delta):
    """eps of a search whose runs have one Gaussian number, by the theorem for its law."""
    is_poisson = isinstance(law, TruncatedPoisson)
    return renyi_eps(law, mu * mu / 2, delta) if is_poisson else gaussian_search_eps(law, mu, delta, 0)


@pytest.mark.parametrize("shape", [*FINITE, math.inf])
def test_a_search_with_gaussian_runs_keeps_its_delta(shape):
    """Runs whose rank is a Gaussian number and nothing else, on a fine grid of ranks."""
    law, delta = law_of(6.0, shape), 1e-4
    for mu in (0.1, 0.4):
        edges = np.linspace(-9, 9, 4_001)
        runs = [np.diff(0.5 * (1 + np.vectorize(math.erf)((edges - at) / math.sqrt(2)))) for at in (0.0, mu)]
        runs = [run / run.sum() for run in runs]
        one, two = (searched_fine(law, run) for run in runs)
        eps = cost(law, mu, delta)
        for first, other in ((one, two), (two, one)):
            assert np.maximum(first - math.exp(eps) * other, 0).sum() <= delta


def searched_fine(law, run):
    """As `searched`, for many ranks: each power on its own, to save memory."""
    chances = pmf(law, 400 if isinstance(law, TruncatedPoisson) else 2_000)
    total, below = np.zeros(len(run)), np.append(0.0, np.cumsum(run))
    power = np.ones(len(below))
    for chance in chances:
        power = power * below
        total += chance * np.diff(power)
    return total


@pytest.mark.parametrize("shape", FINITE)
@pytest.mark.parametrize("mu", [0.05, 0.4, 2.0])
def test_some_search_with_gaussian_runs_costs_nearly_what_theorem_3_says(shape, mu):
    """A run is one number of N(0, 1) or N(mu, 1): above c it has the best rank, below -b the second, else the worst.

    A winner below -b is rare, and rarer under the neighbour twice: by its number, and as others are better.
    """
    law, delta = law_of(6.0, shape), 1e-5
    edges, ends = np.linspace(-3, 3, 61), np.linspace(0.5, 4.5, 161)
    worst = 0.0
    for c in edges:
        chances = [
            power_mean(law, special.ndtr(c - at)) - power_mean(law, special.ndtr(c - at) - special.ndtr(-ends - at))
            for at in (0.0, mu)
        ]
        beyond = (chances[0] > 2 * delta) & (ends > -c)
        worst = max(worst, *np.log((chances[0] - delta)[beyond] / chances[1][beyond]), 0.0)
    assert 0.85 * cost(law, mu, delta) <= worst <= cost(law, mu, delta)


def power_mean(law, x):
    """E x^K."""
    k, x = np.arange(1, 401), np.atleast_1d(x)
    return (pmf(law, 400)[:, np.newaxis] * x ** k[:, np.newaxis]).sum(axis=0)


@pytest.mark.parametrize("gamma", [2.0**-12, 0.01, 1 / 3, 0.9])
@pytest.mark.parametrize("mu", [1e-4, 0.05, 0.4, 2.0, 6.0])
def test_the_largest_ratio_of_two_curves_is_bounded_from_above_and_closely(gamma, mu, monkeypatch):
    mpmath = pytest.importorskip("mpmath")

    def ratio(z):
        beyond, inside = (gamma + (1 - gamma) * mpmath.ncdf(each) for each in (z + mu, z))
        return mpmath.log(beyond / inside)

    with mpmath.workdps(30):
        around = max((float(ratio(z)), z) for z in np.linspace(-6 - mu, 6, 300))[1]
        found = max(ratio(z) for z in np.linspace(around - 0.1, around + 0.1, 400))
    assert found <= _log_ratio(gamma, mu) <= float(found) * (1 + 1e-4) + 1e-6
    monkeypatch.setattr("dplr.privacy.search.calibration._POINTS", 9)  # what is between points counts
    assert found <= _log_ratio(gamma, mu)


def test_discrete_numbers_cost_a_little_more():
    law = law_of(6.0, 1.0)
    plain, discrete = (gaussian_search_eps(law, 0.2, 1e-6, numbers) for numbers in (0, 10**6))
    assert plain + 2 * 10**6 * 145 / (24 * 2**40) <= discrete <= plain + 1e-4


@pytest.mark.parametrize("shape", FINITE)
@pytest.mark.parametrize("eps", [0.01, 0.3, 1.0, 3.0, 20.0])
def test_the_largest_mu_is_confirmed_and_no_larger_one_is(shape, eps):
    law = law_of(6.0, shape)
    mu = largest_mu(law, eps, 1e-6)
    assert 0 < gaussian_search_eps(law, mu, 1e-6, 0) <= eps < gaussian_search_eps(law, mu * 1.001, 1e-6, 0)


def test_the_largest_rho_is_confirmed_and_no_larger_one_is():
    law = law_of(6.0, math.inf)
    rho = largest_rho(law, 1.0, 1e-6)
    assert 0 < renyi_eps(law, rho, 1e-6) <= 1.0 < renyi_eps(law, rho * 1.001, 1e-6)


@pytest.mark.parametrize("shape", [0.0, 1.0, 2.0, math.inf])
@pytest.mark.parametrize("sigma", [3.0, 5.0, 20.0])
def test_dp_accounting_says_the_same_or_more_of_gaussian_runs(sigma, shape):
    """Its bound is PS22's: the same for a Poisson number of runs, and more for the others."""
    events = pytest.importorskip("dp_accounting.dp_event")
    rdp = pytest.importorskip("dp_accounting.rdp")
    law = law_of(10.0, shape)
    mean = float(law.rate) if isinstance(law, TruncatedPoisson) else law.mean
    accountant = rdp.RdpAccountant(1 + np.exp(np.linspace(-6, 10, 500)))
    accountant.compose(events.RepeatAndSelectDpEvent(events.GaussianDpEvent(sigma), mean, shape))
    ratio = cost(law, 1 / sigma, 1e-6) / accountant.get_epsilon(1e-6)
    assert (1 - 1e-3 if math.isinf(shape) else 0.5) <= ratio <= (1 + 1e-2 if math.isinf(shape) else 0.9)


def test_the_example_of_theory_is_reproduced():
    """sigma = 5, 10 runs on average, delta = 1e-6: 1.814 by PS22 for a geometric number; 1.980 for a Poisson number."""
    assert gaussian_search_eps(law_of(10.0, 1.0), 0.2, 1e-6, 0) == pytest.approx(1.292, abs=1e-3)
    assert renyi_eps(law_of(10.0, math.inf), 1 / 50, 1e-6) == pytest.approx(1.980, abs=2e-2)
