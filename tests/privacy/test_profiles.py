"""Privacy profiles (profiles.md): what dominates them and what they compose to, by closed forms and exact sums."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dplr.privacy import profiles
from dplr.privacy.gaussian import gaussian_eps, gaussian_log_delta
from dplr.privacy.profiles import profile_eps, pure_profile


def gaussian_profile(mu):
    return lambda eps: gaussian_log_delta(eps, mu)


def hockey_stick(one, other, eps):
    return float(np.maximum(np.asarray(one) - math.exp(eps) * np.asarray(other), 0).sum())


def profile_of(pairs):
    """The exact profile of a release with finitely many outcomes: the largest hockey stick of pairs, in both orders."""
    orders = [order for one, other in pairs for order in ((one, other), (other, one))]
    return lambda eps: math.log(max(max(hockey_stick(*order, eps) for order in orders), 1e-300))


def measure(losses, spacing, eps):
    """The hockey stick of a measure of losses at any eps."""
    at = spacing * (losses.first + np.arange(len(losses.masses)))
    return losses.infinite + float((losses.masses * np.maximum(-np.expm1(eps - at), 0)).sum())


# --- lemma 1: one release -----------------------------------------------------------------------------------------


def random_pair(rng, outcomes):
    return rng.dirichlet(np.ones(outcomes) * 0.7), rng.dirichlet(np.ones(outcomes) * 0.7)


@pytest.mark.parametrize("seed", range(20))
def test_pair_of_the_grid_dominates_at_every_eps_of_both_signs_and_by_little(seed):
    rng = np.random.default_rng(seed)
    pairs = [random_pair(rng, int(rng.integers(2, 6))) for _ in range(3)]
    profile, spacing = profile_of(pairs), 8.0 / profiles._POINTS
    losses = profiles._dominating(profile, spacing)
    for eps in rng.uniform(-6, 6, 200):
        truth = max(hockey_stick(*order, eps) for pair in pairs for order in (pair, pair[::-1]))
        assert truth <= measure(losses, spacing, eps) <= truth + math.expm1(spacing) / 4
    assert 1 <= losses.total < 1 + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_bounds_that_lie_anywhere_above_a_profile_dominate_too(seed):
    """Not convex, not falling, and 1 for small eps: the envelope lies between the truth and the bounds."""
    rng, truth, spacing = np.random.default_rng(seed), gaussian_profile(0.5), 3.0 / profiles._POINTS

    def loose(eps):
        raised = truth(eps) + rng.choice([0.0, 0.0, 0.3, 5.0])
        return 0.0 if eps < 0.4 else min(raised, 0.0)

    losses = profiles._dominating(loose, spacing)
    for eps in rng.uniform(-3, 4, 300):
        negative = -math.expm1(eps) + math.exp(eps + truth(-eps)) if eps < 0 else math.exp(truth(eps))
        assert negative <= measure(losses, spacing, eps)
    assert measure(losses, spacing, 1.0) < 1.5 * math.exp(truth(1.0))  # most of what was added is gone
    # and bounds below the truth are seen
    too_small = profiles._dominating(lambda eps: loose(eps) - (0.02 if eps > 0.5 else 0.0), spacing)
    assert any(measure(too_small, spacing, eps) < math.exp(truth(eps)) for eps in np.linspace(0.6, 2, 50))


@pytest.mark.parametrize("mu", [1e-3, 0.3, 6.0])
def test_masses_of_floats_are_at_least_the_envelope_in_rationals(mu):
    """Slopes and masses are rounded; their sum over all larger losses, computed exactly, is not below the profile."""
    profile, end = gaussian_profile(mu), 8 * mu + mu * mu
    spacing = end / profiles._POINTS
    losses = profiles._dominating(profile, spacing)
    middle = -losses.first
    for point in range(0, profiles._POINTS + 1, 8):
        exact = Fraction(losses.infinite)
        for higher in range(point + 1, profiles._POINTS + 1):
            factor = -math.expm1(-spacing * (higher - point)) * (1 - 1e-15)
            exact += Fraction(losses.masses[middle + higher]) * Fraction(factor)
        assert exact >= Fraction(math.exp(profile(spacing * point) if point else math.log(math.erf(mu / 8**0.5))))


def test_randomised_response_is_what_a_pure_release_loses_at_most():
    for eps in (1e-9, 0.3, 5.0, 200.0):
        profile = pure_profile(eps)
        for asked in eps * np.linspace(0, 1.2, 13):
            exact = max(0.0, math.expm1(eps - asked) * math.exp(asked - eps)) / (1 + math.exp(-eps))
            assert math.exp(profile(asked)) == pytest.approx(exact, rel=1e-12)


# --- theorem 1: many releases -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [0.001, 0.05, 1.0, 4.0])
@pytest.mark.parametrize("count", [1, 3, 10, 100])
@pytest.mark.parametrize("delta", [2.0**-60, 1e-6, 1e-3])
def test_gaussian_profiles_compose_to_the_root_of_their_number_and_a_little_more(mu, count, delta):
    exact = gaussian_eps(mu * math.sqrt(count), delta)
    start = gaussian_eps(mu, delta / count) or mu
    found = profile_eps([gaussian_profile(mu)], count, delta, start)
    assert exact <= found <= 1.002 * exact + 1e-9
    for other in (start / 3, 2 * start):  # any grid is safe
        assert exact <= profile_eps([gaussian_profile(mu)], count, delta, other) <= 1.01 * exact + 1e-9
    if exact:
        assert profile_eps([gaussian_profile(0.99 * mu)], count, delta, start) < exact  # a wrong profile is seen


def exact_response(eps, count, asked):
    """Delta of randomised response, `count` times: a sum over how often the answer was true."""
    true = 1 / (1 + math.exp(-eps))
    total = 0.0
    for times in range(count + 1):
        ways, loss = math.comb(count, times), (2 * times - count) * eps
        total += ways * true**times * (1 - true) ** (count - times) * max(0.0, -math.expm1(asked - loss))
    return total


@pytest.mark.parametrize(("eps", "count"), [(0.1, 5), (0.1, 60), (1.0, 4), (3.0, 7)])
@pytest.mark.parametrize("delta", [1e-9, 1e-3])
def test_pure_releases_compose_as_randomised_response(eps, count, delta):
    found = profile_eps([pure_profile(eps)], count, delta, eps)
    assert exact_response(eps, count, found) <= delta
    assert exact_response(eps, count, found * (1 - 2e-4)) > delta or found == 0.0
    on_another_grid = profile_eps([pure_profile(eps)], count, delta, 1.03 * eps)
    assert found * (1 - 1e-6) <= on_another_grid <= 1.03 * found


def worst_adaptive(pairs, count, eps):
    """The largest hockey stick of `count` steps, each with the pair that an adversary picks after all earlier ones."""
    if count == 0:
        return max(0.0, -math.expm1(eps))
    orders = [order for pair in pairs for order in (pair, pair[::-1])]
    worst = 0.0
    for one, other in orders:
        total = 0.0
        for p, q in zip(one, other, strict=True):
            total += p * (worst_adaptive(pairs, count - 1, eps - math.log(p / q)) if q else 1.0) if p else 0.0
        worst = max(worst, total)
    return worst


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("count", [2, 3])
def test_no_adaptive_choice_of_releases_needs_more_than_the_composed_eps(seed, count):
    """All trees of choices between two pairs of distributions: a neighbour of the dominating pair never does better."""
    rng, delta = np.random.default_rng(seed), 0.02
    pairs = [([p, 1 - p], [q, 1 - q]) for p, q in rng.uniform(0.25, 0.75, (2, 2))]
    found = profile_eps([profile_of(pairs)], count, delta, 1.0)
    assert worst_adaptive(pairs, count, found) <= delta
    # The profile of one pair alone is too small for both.
    weakest = min(pairs, key=lambda pair: abs(pair[0][0] - pair[1][0]))
    alone = profile_eps([profile_of([weakest])], count, delta, 1.0)
    assert worst_adaptive(pairs, count, alone) > delta


def test_exact_sum_over_all_outcomes_is_met_for_a_symmetric_release():
    pair, count, delta = ([0.1, 0.6, 0.3], [0.3, 0.6, 0.1]), 5, 1e-3
    found = profile_eps([profile_of([pair])], count, delta, math.log(3))

    def exact(eps):
        return sum(
            max(0.0, math.prod(pair[0][k] for k in way) - math.exp(eps) * math.prod(pair[1][k] for k in way))
            for way in itertools.product(range(3), repeat=count)
        )

    assert exact(found) <= delta < exact(found * (1 - 1e-3))


def test_parts_of_a_release_compose_with_each_other():
    """Two Gaussian parts of 3 and 4 are one of 5; a small pure part costs next to nothing and not less than that."""
    whole, delta = gaussian_eps(0.5 * math.sqrt(7), 1e-6), 1e-6
    found = profile_eps([gaussian_profile(0.3), gaussian_profile(0.4)], 7, delta, 1.0)
    assert whole <= found <= 1.01 * whole
    paid = profile_eps([gaussian_profile(0.5), pure_profile(0.01)], 7, delta, 1.0)
    alone = profile_eps([gaussian_profile(0.5)], 7, delta, 1.0)
    assert alone < paid < alone + 7 * 0.01


def test_dp_accounting_connects_the_dots_alike(oracle):
    library = oracle("dp_accounting.pld.privacy_loss_distribution")
    for mu, count in ((0.1, 10), (1.0, 3)):
        found = profile_eps([gaussian_profile(mu)], count, 1e-6, gaussian_eps(mu, 1e-6))
        one = library.from_gaussian_mechanism(1 / mu, value_discretization_interval=mu / 50)
        assert found == pytest.approx(one.self_compose(count).get_epsilon_for_delta(1e-6), rel=2e-3)


def test_nothing_is_confirmed_where_a_release_loses_too_much():
    assert profile_eps([lambda eps: math.log(0.01)], 3, 1e-6, 1.0) == math.inf
    assert profile_eps([gaussian_profile(100.0)], 3, 1e-6, 400.0) == math.inf


def test_ends_that_are_cut_off_count_as_lost():
    """Both ends of a sum are raised, and all that it says of any eps with them."""
    spacing = 0.05
    one = profiles._dominating(gaussian_profile(0.5), spacing)
    exact = profiles._sum(one, one, 0.0)
    cut = profiles._sum(one, one, 1e-3)
    assert len(cut.masses) < 0.6 * len(exact.masses)
    for eps in np.linspace(-5, 5, 101):
        assert measure(exact, spacing, eps) <= measure(cut, spacing, eps) * (1 + 1e-12)
        assert measure(cut, spacing, eps) <= measure(exact, spacing, eps) + 2e-3
    uncharged = cut._replace(infinite=exact.infinite)  # seen where the top was lost in silence
    assert measure(uncharged, spacing, 2.0) < measure(exact, spacing, 2.0)


def test_a_profile_that_promises_nothing_within_the_grid_has_no_eps():
    """All mass is at infinity: the bound is 1 at every point."""
    jump = [lambda eps: 0.0 if eps < 1.0 else -math.inf]
    assert profile_eps(jump, 2, 1e-3, 1.0) == math.inf
