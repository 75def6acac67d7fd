"""Many steps: charged once each, composed as theorem 4 and 5 of accounting.md say, and never more than confirmed."""

import itertools
import math
import subprocess
import sys
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from dplr.mechanisms.noisy_gd.noise import Descent, cost_of
from dplr.privacy import accounting
from dplr.privacy.accounting import SMALLEST_MULTIPLIER, poisson_eps, poisson_noise_multiplier
from dplr.privacy.calibration import (
    RATE_UNITS,
    SUM_EXPONENT,
    Noise,
    continuous_target,
    discrete_gaussian,
    discrete_gaussian_mu,
)
from dplr.privacy.gaussian import gaussian_eps, gaussian_log_delta, gaussian_mu
from dplr.privacy.guarantees import Neighbouring, Poisson
from loops import loop

ADD, REPLACE = Neighbouring.ADD_REMOVE, Neighbouring.REPLACE_ONE


def steps_cost(
    clip, eps, delta, steps, size, relation=ADD, exponent=SUM_EXPONENT, rate_units=RATE_UNITS, per_step=False
):
    """What the steps charge, the noise of one of them, and what they cost together."""
    problem = SimpleNamespace(geometry=SimpleNamespace(n_coefs=size), neighbouring=relation, n_rows=1)
    descent = Descent(steps, 1.0, 0.0, clip, 1, 0.0, (), 1.0, rate_units)
    cost = cost_of(problem, descent, exponent, eps, delta, per_step)
    block = cost.released["gradients"]
    return block.sensitivity, Noise(math.frexp(block.grid)[1] - 1, block.units, gaussian=True), cost


def discrete_gaussian_steps(sensitivity, eps, delta, steps, size, exponent=SUM_EXPONENT):
    charged, block, cost = steps_cost(sensitivity, eps, delta, steps, size, ADD, exponent)
    return charged, cost.guarantee.mu, block


def poisson_gaussian_steps(clip, rate_units, eps, delta, steps, size, relation, exponent=SUM_EXPONENT):
    charged, block, cost = steps_cost(clip, eps, delta, steps, size, relation, exponent, rate_units)
    return charged, cost.guarantee.noise_multiplier, block


# One number for Gaussian noise, forwards and backwards


@pytest.mark.parametrize("eps", [1e-4, 0.1, 1, 10, 300])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.1])
def test_gaussian_eps_inverts_gaussian_mu_and_rounds_up(eps, delta):
    mu = gaussian_mu(eps, delta)
    found = gaussian_eps(mu, delta)
    assert gaussian_log_delta(found, mu) <= math.log(delta)
    assert found == pytest.approx(eps, rel=1e-8, abs=1e-9)


def test_gaussian_eps_is_zero_where_delta_covers_everything():
    assert gaussian_eps(0.1, 0.5) == 0
    assert gaussian_eps(0.0, 1e-9) == 0


@pytest.mark.parametrize(("steps", "eps"), [(10, 2.6884), (50, 6.8246), (100, 10.3939)])
def test_steps_that_were_each_calibrated_alone_promise_much_less_together(steps, eps):
    """The classical noise of (1, 1e-5) in every step, never composed, as the paper on pre-training has it."""
    sigma = math.sqrt(2 * math.log(1.25 / 1e-5))
    assert gaussian_eps(math.sqrt(steps) / sigma, 1e-5) == pytest.approx(eps, abs=6e-5)


# All rows: theorem 4


@pytest.mark.parametrize(("sensitivity", "eps", "delta", "size"), [(3.0, 0.8, 1e-6, 14), (0.01, 5.0, 1e-9, 200)])
def test_one_step_is_the_single_release(sensitivity, eps, delta, size):
    charged, mu, (block,) = discrete_gaussian(sensitivity, eps, delta, (1.0,), (size,))
    assert discrete_gaussian_steps(sensitivity, eps, delta, 1, size) == (charged, mu, block)


STEPS = list(itertools.product([2.0, 0.37], [1e-3, 0.8, 10.0], [1e-6, 1e-9], [2, 50, 1000], [1, 14, 200], [-40, -52]))


@loop(("sensitivity", "eps", "delta", "steps", "size", "exponent"), STEPS)
def test_floored_steps_compose_to_at_most_mu_exactly(sensitivity, eps, delta, steps, size, exponent):
    """In rationals: steps * (worst change / deviation)^2 <= mu^2, where every number moves one unit more."""
    charged, mu, block = discrete_gaussian_steps(sensitivity, eps, delta, steps, size, exponent)
    grid = Fraction(2) ** block.exponent
    assert mu == discrete_gaussian_mu(eps, delta, steps * size)
    floored = size if block.exponent > exponent else 0
    # (a + b)^2 with b = sqrt(floored): the change a + b is worst where all cells share it equally
    worst = (sensitivity / float(grid) + math.sqrt(floored)) ** 2 * steps / block.units
    assert worst <= mu**2 * (1 + 1e-13)
    assert worst >= (0.9999 if eps > 0.5 else 0.9) * mu**2
    assert Fraction(block.units) * grid**2 >= steps * (Fraction(sensitivity) / Fraction(mu)) ** 2
    assert charged >= sensitivity + math.sqrt(floored) * float(grid)
    assert block.exponent >= exponent
    assert 4**20 <= block.units <= 2**44


def test_the_grid_ends_at_the_spacing_of_the_sums():
    """Small clips have fine sums: a clip that is refused in units of 2^-40 has room in units of 2^-64."""
    _, _, block = discrete_gaussian_steps(2**-25, 1.0, 1e-6, 10, 5, -64)
    assert -64 < block.exponent < SUM_EXPONENT
    with pytest.raises(ValueError, match=r"`eps` is out of the range of the Gaussian noise; got 1\.0\. Use a smaller"):
        discrete_gaussian_steps(2**-25, 1.0, 1e-6, 10, 5, SUM_EXPONENT)
    charged, _, block = discrete_gaussian_steps(1.0, 1.0, 1e-6, 10, 5, -17)
    assert (block.exponent, charged) == (-17, pytest.approx(1.0, rel=1e-11))  # nothing is floored, nothing charged


@pytest.mark.parametrize(("steps", "size"), [(10**5, 11), (1, 10**6 + 1)])
def test_more_numbers_than_the_lemma_covers_are_refused(steps, size):
    with pytest.raises(ValueError, match="`steps` must be at most"):
        discrete_gaussian_steps(1.0, 1.0, 1e-6, steps, size)
    with pytest.raises(ValueError, match="`steps` must be at most"):
        poisson_gaussian_steps(1.0, 2**20, 1.0, 1e-6, steps, size, ADD)


def test_flooring_moves_a_sum_by_its_change_and_one_unit_a_number_and_no_more():
    rng = np.random.default_rng(0)
    reached = 0.0
    for _ in range(2000):
        size = int(rng.integers(1, 6))
        total, change = rng.normal(size=size) * 100, rng.normal(size=size) * rng.choice([0.01, 0.3, 1, 10])
        moved = np.linalg.norm(np.floor(total + change) - np.floor(total))
        bound = np.linalg.norm(change) + math.sqrt(size)
        assert moved <= bound
        reached = max(reached, moved / bound)
    almost = np.full(4, 1 - 1e-9)
    moved = np.linalg.norm(np.floor(almost + 2e-9) - np.floor(almost))
    assert moved == pytest.approx(2.0)  # sqrt(size) for next to no change
    assert reached > 0.9


def test_eps_of_a_given_deviation_pays_for_discrete_noise():
    """Lemma 3 backwards: a million numbers, where the correction is largest."""
    steps, size, delta = 1000, 1000, 1e-6
    each = math.sqrt(2 * math.log(1.25 / delta)) / 100.0  # noise of deviation 100 in each step
    charged, block, cost = steps_cost(1.0, each, delta, steps, size, per_step=True)
    mu, eps = cost.guarantee.mu, cost.eps
    assert mu >= math.sqrt(steps) * charged / block.scale
    assert eps >= gaussian_eps(mu, delta) + steps * size * (1 + 12**2) / (24 * 4**20)


# Poisson batches: theorem 5


@pytest.fixture
def library(oracle):
    return oracle("dp_accounting")


def pair(q, shift, z, a, points=400_001):
    """H_a of (1-q) N(0) + q N(1) against (1-q) N(0) + q N(shift), deviation z; shift 0 is an absent record."""
    x, dx = np.linspace(-12 * z - 2, 12 * z + 2, points, retstep=True)
    centre, one = stats.norm.pdf(x, 0, z), stats.norm.pdf(x, 1, z)
    other = stats.norm.pdf(x, shift, z)
    return float(np.maximum((1 - q) * centre + q * one - a * ((1 - q) * centre + q * other), 0).sum() * dx)


@pytest.mark.parametrize(("q", "z"), [(0.3, 0.7), (0.05, 1.5), (0.9, 2.0)])
@pytest.mark.parametrize("a", [0.5, 1.0, 1.3, 3.0])
def test_no_two_vectors_exceed_the_opposite_pair(q, z, a):
    """Lemma 2 in the plane, replace-one: any v, v' of norm at most 1, by integration."""
    axis, dx = np.linspace(-9 * z - 1, 9 * z + 1, 400, retstep=True)
    x, y = np.meshgrid(axis, axis)

    def density(v):
        return np.exp(-((x - v[0]) ** 2 + (y - v[1]) ** 2) / (2 * z * z)) / (2 * math.pi * z * z)

    rng = np.random.default_rng(1)
    most, origin = pair(q, -1, z, a), density((0, 0))
    for _ in range(25):
        v, w = rng.normal(size=(2, 2))
        v, w = (u / np.linalg.norm(u) * rng.choice([1, rng.random()]) for u in (v, w))
        gap = (1 - q) * (1 - a) * origin + q * (density(v) - a * density(w))
        assert np.maximum(gap, 0).sum() * dx * dx <= most + 2e-5
    gap = (1 - q) * (1 - a) * origin + q * (density((0.6, 0.8)) - a * density((-0.6, -0.8)))
    assert np.maximum(gap, 0).sum() * dx * dx == pytest.approx(most, abs=2e-5)


@pytest.mark.parametrize(("relation", "shift"), [(ADD, 0), (REPLACE, -1)])
@pytest.mark.parametrize(("q", "z"), [(0.3, 0.7), (0.05, 1.5)])
def test_one_step_has_the_eps_of_its_pair(library, relation, shift, q, z):
    eps = poisson_eps(Poisson(q, z, 1), 1e-4, relation)
    assert pair(q, shift, z, math.exp(eps)) <= 1e-4
    assert pair(q, shift, z, math.exp(eps - 2e-3)) > 1e-4


@pytest.mark.parametrize(
    ("q", "z", "steps", "relation", "eps"),
    [
        (0.01, 1, 1000, ADD, 1.828),
        (0.01, 1, 1000, REPLACE, 2.843),
        (0.1, 2, 200, ADD, 3.360),
        (0.1, 2, 200, REPLACE, 6.536),
    ],
)
def test_many_steps_have_the_published_eps(library, q, z, steps, relation, eps):
    assert poisson_eps(Poisson(q, z, steps), 1e-5, relation) == pytest.approx(eps, abs=6e-4)


@pytest.mark.parametrize(("relation", "records"), [(ADD, 1), (REPLACE, 2)])
@pytest.mark.parametrize(("steps", "z"), [(1, 4.0), (100, 40.0), (10_000, 150.0)])
@pytest.mark.parametrize(("delta", "slack"), [(1e-5, 1e-4), (1e-8, 1e-4), (1e-12, 2e-3)])
def test_batches_of_all_rows_have_the_closed_form(library, relation, records, steps, z, delta, slack):
    """z is over one record's bound: 2 stands in the closed form and nowhere else. The accountant rounds up.

    It also cuts tails of 10^-15 off and charges them, which shows at a delta of 10^-12.
    """
    exact = gaussian_eps(records * math.sqrt(steps) / z, delta)
    found = poisson_eps(Poisson(1.0, z, steps), delta, relation)
    assert exact * (1 - 1e-9) <= found <= exact * (1 + slack)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("eps", [1e-3, 0.01, 0.1])
def test_small_eps_are_not_rounded_up_to_the_grid_of_losses(library, relation, eps):
    """Weak steps, many of them: the central limit is exact enough. A grid of 1e-4 would give 1.2 to 4 times the eps."""
    records = 2 if relation is REPLACE else 1
    z = records * 0.005 * math.sqrt(2000) / gaussian_mu(eps, 1e-6)
    assert poisson_eps(Poisson(0.005, z, 2000), 1e-6, relation) == pytest.approx(eps, rel=0.05)


def test_calibration_finds_the_published_multiplier(library):
    assert poisson_noise_multiplier(0.01, 1000, 1.0, 1e-5, ADD) == pytest.approx(1.41463, abs=6e-6)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize(
    ("q", "steps", "eps", "delta"),
    [(0.0146, 300, 0.4, 1e-6), (0.1, 200, 3.2, 1e-9), (1.0, 10, 1.0, 1e-6), (0.005, 100, 0.01, 1e-5)],
)
def test_calibrated_multiplier_is_confirmed_and_not_wasteful(library, q, steps, eps, delta, relation):
    z = poisson_noise_multiplier(q, steps, eps, delta, relation)
    assert poisson_eps(Poisson(q, z, steps), delta, relation) <= eps
    assert poisson_eps(Poisson(q, z * (1 - 1e-5), steps), delta, relation) > eps


def test_calibration_agrees_with_the_librarys_own(library):
    def make():
        return library.pld.PLDAccountant(library.NeighboringRelation.REPLACE_ONE)

    def event(z):
        return library.SelfComposedDpEvent(library.PoissonSampledDpEvent(0.2, library.GaussianDpEvent(z)), 30)

    guess = library.LowerEndpointAndGuess(4.0, 8.0)
    expected = library.calibrate_dp_mechanism(make, event, 1.5, 1e-6, guess)
    assert poisson_noise_multiplier(0.2, 30, 1.5, 1e-6, REPLACE) == pytest.approx(expected, abs=4e-6)


def test_multiplier_falls_with_eps_and_rises_with_everything_else(library):
    def z(q=0.2, steps=20, eps=0.2, delta=1e-6, relation=ADD):
        return poisson_noise_multiplier(q, steps, eps, delta, relation)

    middle = z()
    assert z(eps=0.3) < middle < z(eps=0.1)
    assert z(delta=1e-5) < middle < z(delta=1e-7)
    assert z(steps=10) < middle < z(steps=40)
    assert z(q=0.1) < middle < z(q=0.4) < z(q=1.0)
    assert middle < z(relation=REPLACE)


def test_multiplier_ends_where_noise_protects_nobody(library):
    """With the rate of the last test below: the accountant takes seconds for so little noise, and remembers it."""
    assert poisson_noise_multiplier(1e-8, 10, 500.0, 1e-5, REPLACE) == SMALLEST_MULTIPLIER


def test_delta_below_the_accountants_arithmetic_is_refused(library):
    with pytest.raises(ValueError, match=r"`delta` must be in \[9\.1e-13, 1\) with Poisson-sampled batches; got 1e-13"):
        poisson_eps(Poisson(0.1, 1.0, 10), 1e-13, ADD)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize(("clip", "exponent", "size"), [(1.0, -40, 14), (0.125, -43, 101)])
def test_poisson_block_has_the_multiplier_over_the_charged_clip(library, relation, clip, exponent, size):
    units, eps, delta, steps = 2**26, 0.2, 1e-6, 100
    charged, z, block = poisson_gaussian_steps(clip, units, eps, delta, steps, size, relation, exponent)
    grid = Fraction(2) ** block.exponent
    # one record's clip, not two, and one unit in every number
    assert charged == pytest.approx(clip + math.sqrt(size) * float(grid), rel=1e-11)
    assert charged >= clip + math.sqrt(size) * float(grid)
    deviation_squared = Fraction(block.units) * grid**2
    assert deviation_squared >= (Fraction(z) * (Fraction(clip) + Fraction(math.sqrt(size)) * grid)) ** 2
    assert deviation_squared <= (Fraction(z) * Fraction(charged)) ** 2 * (1 + Fraction(1, 2**38))
    target = continuous_target(eps, delta, steps * size)
    assert target[0] < eps
    assert target[1] < delta
    assert poisson_eps(Poisson(units / RATE_UNITS, z, steps), target[1], relation) <= target[0]


def test_poisson_batches_need_less_noise_than_all_rows_for_the_same_steps(library):
    _, _, batch = poisson_gaussian_steps(1.0, 2**26, 0.2, 1e-6, 100, 14, ADD)
    _, _, whole = poisson_gaussian_steps(1.0, 2**32 - 1, 0.2, 1e-6, 100, 14, ADD)
    _, _, closed = discrete_gaussian_steps(1.0, 0.2, 1e-6, 100, 14)
    assert batch.scale < whole.scale / 10
    assert whole.scale == pytest.approx(closed.scale, rel=1e-4)


# Mixtures of discrete Gaussians: lemma 3


def mixture(variance, centres, shares, rounded):
    """Law on integers of a batch's sum plus noise: discrete Gaussian, or the rounded continuous one."""
    s = math.sqrt(variance)
    z = np.arange(-14 * math.ceil(s), 14 * math.ceil(s) + 1)
    if rounded:
        return sum(
            p * np.diff(stats.norm.cdf(np.append(z - 0.5, z[-1] + 0.5), c, s))
            for c, p in zip(centres, shares, strict=True)
        )
    normaliser = sum(math.exp(-(k**2) / (2 * variance)) for k in range(-40 * math.ceil(s), 40 * math.ceil(s)))
    return sum(p * np.exp(-((z - c) ** 2) / (2 * variance)) / normaliser for c, p in zip(centres, shares, strict=True))


def two_steps_delta(eps, variance, shifts, q, rounded):
    """Exact delta of two independent steps on Poisson batches, one record's shift against the other's."""
    left, right = (mixture(variance, (0, shift), (1 - q, q), rounded) for shift in shifts)
    return float(np.maximum(np.outer(left, left) - math.exp(eps) * np.outer(right, right), 0).sum())


@pytest.mark.parametrize("variance", [9, 36, 400])
@pytest.mark.parametrize("q", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("shifts", [(3, 0), (0, 3), (3, -3)])
@pytest.mark.parametrize("eps", [0.3, 1.0])
def test_discrete_mixtures_stay_below_the_corrected_bound(variance, q, shifts, eps):
    numbers, t = 2, 6.0
    z = 1 + 2 * math.exp(-2 * math.pi**2 * variance)
    eta = numbers * (1 + t * t) / (24 * variance) + 2 * numbers * math.log(z)
    continuous = two_steps_delta(eps - eta, variance, shifts, q, rounded=True)
    tail = 2 * numbers * math.exp(eps) * stats.norm.sf(t)
    exact = two_steps_delta(eps, variance, shifts, q, rounded=False)
    assert exact <= math.exp(numbers / (24 * variance)) * (continuous + tail)


def test_discrete_mixtures_exceed_continuous_ones_so_the_correction_is_needed():
    exact, continuous = (two_steps_delta(1.0, 4, (1, 0), 0.5, rounded) for rounded in (False, True))
    assert exact > 1.02 * continuous


# The library is optional


def test_missing_library_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    accounting.poisson_eps.cache_clear()
    accounting.poisson_noise_multiplier.cache_clear()
    with pytest.raises(ModuleNotFoundError, match=r'pip install "\.\[accounting\]"'):
        poisson_eps(Poisson(0.1, 1.0, 10), 1e-6, ADD)
    with pytest.raises(ImportError, match="dp-accounting"):
        poisson_gaussian_steps(1.0, 2**20, 1.0, 1e-6, 10, 3, ADD)


def test_library_is_loaded_for_poisson_batches_alone():
    code = "import sys; from dplr import mechanisms; from dplr.privacy import accounting; "
    code += "import dplr; dplr.plan(n_rows=100, n_features=5, eps=1.0, delta=1e-6, mechanism='ngd'); "
    code += "print('dp_accounting' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_guarantee_reads_as_a_sentence():
    assert str(Poisson(0.015625, 1.41463, 300)) == (
        "300 Poisson-sampled Gaussian steps, rate 0.015625, noise of 1.41463 times a record's bound"
    )


def test_tiny_rates_are_charged_within_bounded_memory(library):
    """A grid as fine as the typical loss would have 10^9 points."""
    assert accounting._spacing(1e-8, 0.3) > 1e-5
    found = poisson_noise_multiplier(1e-8, 10, 1.0, 1e-5, REPLACE)
    assert found == SMALLEST_MULTIPLIER
