"""Integer noise scales: exact in rational arithmetic, tight, and red when something is not charged."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import special

import dplr
from dplr.privacy.calibration import (
    SUM_EXPONENT,
    continuous_target,
    discrete_gaussian,
    discrete_gaussian_mu,
    discrete_laplace,
    grid_exponent,
)
from dplr.privacy.gaussian import gaussian_eps, gaussian_log_delta, gaussian_mu
from loops import loop

CASES = [
    (sensitivity, eps, weight, sizes)
    for sensitivity in (0.9, 4.1141, 900.0)
    for eps in (1e-6, 0.1, 0.8, 3.2, 1e3)
    for weight in (0.015625, 1.189, 64.0)
    for sizes in ((1, 1), (14, 104), (500, 125_250))
]


@loop(("sensitivity", "eps", "weight", "sizes"), CASES)
def test_privacy_loss_of_the_floored_integers_is_at_most_eps_exactly(sensitivity, eps, weight, sizes):
    """Loss = sum over blocks of (real change / grid + one unit a floored number) / units, at the worst splits."""
    _, blocks = discrete_laplace(sensitivity, eps, (1.0, weight), sizes)
    for change in [(Fraction(sensitivity), 0), (0, Fraction(sensitivity) / Fraction(weight))]:
        loss = sum(
            (Fraction(part) / Fraction(2) ** block.exponent + (size if block.exponent > SUM_EXPONENT else 0))
            / block.units
            for part, block, size in zip(change, blocks, sizes, strict=True)
        )
        assert loss <= Fraction(eps)
        assert loss >= Fraction(eps) * Fraction(99, 100)  # and hardly anything is wasted


@loop(("sensitivity", "eps", "weight", "sizes"), CASES)
def test_scales_are_integers_on_a_grid_that_the_sampler_takes(sensitivity, eps, weight, sizes):
    charged, blocks = discrete_laplace(sensitivity, eps, (1.0, weight), sizes)
    assert charged >= sensitivity
    for block in blocks:
        assert 1 <= block.units <= 2**40
        assert block.exponent >= SUM_EXPONENT
        assert block.scale == block.units * block.grid  # exact in float64
        assert block.scale >= 0.999 * sensitivity / (max(weight, 1.0) * eps)


def test_grid_exponent_keeps_the_scale_within_a_factor_two():
    for scale in [Fraction(1), Fraction(3, 2), Fraction(2), Fraction(10**9, 7), Fraction(1, 3), Fraction(2**80 - 1)]:
        units = scale / Fraction(2) ** grid_exponent(scale, 26)
        assert 2**26 <= units < 2**27


@pytest.mark.parametrize("eps", [1e-3, 0.1, 0.8, 3.2])
@pytest.mark.parametrize("size", [2, 100, 5000])
def test_flooring_costs_less_than_one_part_in_ten_thousand(eps, size):
    charged, _ = discrete_laplace(1.0, eps, (1.0, 2.0), (size, size))
    assert charged <= 1.0001


def test_eps_too_small_for_so_many_numbers_is_refused():
    with pytest.raises(ValueError, match="`eps` is too small to release 10000000 numbers; got 1e-09"):
        discrete_laplace(1.0, 1e-9, (1.0,), (10_000_000,))


def test_grid_is_never_finer_than_the_sums():
    assert grid_exponent(Fraction(1, 2**30), 26) == SUM_EXPONENT
    _, (block,) = discrete_laplace(1.0, 1e15, (1.0,), (3,))
    assert block.units >= 1
    assert math.isfinite(block.scale)


@pytest.mark.parametrize(
    ("eps", "delta", "sigma"),
    [(1, 1e-5, 3.7306316), (1, 1e-6, 4.2246788), (0.1, 1e-5, 30.749566), (10, 1e-5, 0.499889), (20, 1e-6, 0.309085)],
)
def test_gaussian_scale_has_the_published_values(eps, delta, sigma):
    assert 1 / gaussian_mu(eps, delta) == pytest.approx(sigma, rel=2e-6)


@pytest.mark.parametrize("eps", [1e-6, 0.01, 0.5, 1, 5, 30, 200])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01, 0.3])
def test_gaussian_mu_uses_all_of_delta_and_not_more(eps, delta):
    mu = gaussian_mu(eps, delta)
    assert gaussian_log_delta(eps, mu) <= math.log(delta)
    assert gaussian_log_delta(eps, mu * (1 + 1e-6)) > math.log(delta)


@pytest.mark.oracle
@pytest.mark.parametrize("eps", [0.01, 0.1, 0.8, 3.2, 20])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-5, 1e-3])
def test_gaussian_scale_agrees_with_dp_accounting(oracle, eps, delta):
    accounting = oracle("dp_accounting")
    assert 1 / gaussian_mu(eps, delta) == pytest.approx(accounting.get_sigma_gaussian(eps, delta), rel=1e-8)


@pytest.mark.oracle
@pytest.mark.parametrize(("eps", "mu"), [(0.1, 0.02), (1.0, 0.3), (10.0, 2.0), (0.5, 3.0), (1e-4, 1e-4)])
def test_gaussian_delta_agrees_with_fifty_digits(oracle, eps, mu):
    mp = oracle("mpmath").mp.clone()
    mp.dps = 50
    exact = mp.ncdf(-mp.mpf(eps) / mu + mp.mpf(mu) / 2) - mp.exp(eps) * mp.ncdf(-mp.mpf(eps) / mu - mp.mpf(mu) / 2)
    assert gaussian_log_delta(eps, mu) == pytest.approx(float(mp.log(exact)), rel=1e-9)


@pytest.mark.oracle
def test_gaussian_eps_is_rounded_up_and_by_next_to_nothing(oracle):
    """In 60 digits: delta at the eps that is returned is not above the one asked for, at one a little smaller it is."""
    mp = oracle("mpmath").mp.clone()
    mp.dps = 60

    def exact(eps, mu):
        near, far = -eps / mu + mu / 2, -eps / mu - mu / 2
        return mp.ncdf(near) - mp.exp(eps) * mp.ncdf(far)

    rng = np.random.default_rng(0)
    for log_mu, log_delta in zip(rng.uniform(-9, 2, 300), rng.uniform(-14, -0.05, 300), strict=True):
        mu, delta = 10**log_mu, 10**log_delta
        found = gaussian_eps(mu, delta)
        assert exact(mp.mpf(found), mp.mpf(mu)) <= mp.mpf(delta), (mu, delta)
        less = found * (1 - 1e-11) - 1e-14 * (1 + mu * mu)
        assert less <= 0 or exact(mp.mpf(less), mp.mpf(mu)) > mp.mpf(delta), (mu, delta)


def discrete_delta(eps, variance, shift):
    """Exact delta of one discrete Gaussian draw moved by `shift` grid units."""
    z = np.arange(-60 * math.isqrt(variance) - 60, 60 * math.isqrt(variance) + 61)
    law = np.exp(-(z.astype(float) ** 2) / (2 * variance))
    law /= law.sum()
    moved = np.concatenate([np.zeros(shift), law[:-shift]])
    return float(np.maximum(moved - math.exp(eps) * law, 0).sum())


def lemma_five(eps, variance, mu, t, numbers=1):
    """The bound of functional.md, lemma 5."""
    z = 1 + 2 * math.exp(-2 * math.pi**2 * variance)
    eta = numbers * (1 + t * t) / (24 * variance) + 2 * numbers * math.log(z)
    tail = 2 * numbers * math.exp(eps) * special.ndtr(-t + 1 / (2 * math.sqrt(variance)))
    return math.exp(numbers / (24 * variance)) * (math.exp(gaussian_log_delta(eps - eta, mu)) + tail)


@pytest.mark.parametrize("variance", [16, 64, 400, 10_000])
@pytest.mark.parametrize("mu", [0.25, 0.5, 1.0])
@pytest.mark.parametrize("eps", [0.5, 1.0, 2.0])
def test_exact_discrete_delta_stays_below_the_corrected_bound(variance, mu, eps):
    shift = round(mu * math.sqrt(variance))
    exact = discrete_delta(eps, variance, shift)
    assert exact <= lemma_five(eps, variance, shift / math.sqrt(variance), t=6)


def test_discrete_delta_exceeds_the_continuous_one_so_the_correction_is_needed():
    exact, continuous = discrete_delta(1.0, 4, 1), math.exp(gaussian_log_delta(1.0, 0.5))
    assert exact > 1.05 * continuous


@pytest.mark.parametrize("numbers", [1, 119, 10_000, 10**6])
@pytest.mark.parametrize(("eps", "delta"), [(0.1, 1e-6), (0.8, 1e-6), (5.0, 1e-10), (30.0, 1e-6)])
def test_calibrated_mu_satisfies_lemma_five_at_the_smallest_scale(numbers, eps, delta):
    mu = discrete_gaussian_mu(eps, delta, numbers)
    assert min(lemma_five(eps, 4**20, mu, t, numbers) for t in (12, 14, 20)) <= delta
    assert mu >= 0.99 * gaussian_mu(eps, delta)


@pytest.mark.oracle
@pytest.mark.parametrize("numbers", [1, 10**6, 10**8, 10**9, 10**10])
@pytest.mark.parametrize(("eps", "delta"), [(1.0, 1e-6), (3.0, 1e-12)])
def test_the_target_of_continuous_noise_satisfies_lemma_five_for_any_number_of_draws(oracle, numbers, eps, delta):
    """In 60 digits: some t proves delta, out of the eps and delta that are left for continuous noise."""
    mp = oracle("mpmath").mp.clone()
    mp.dps = 60
    left, continuous = continuous_target(eps, delta, numbers)
    variance, proved = mp.mpf(4) ** 20, []
    for t in range(12, 60):
        eta = numbers * (1 + mp.mpf(t) ** 2) / (24 * variance)
        if eta <= (mp.mpf(eps) - mp.mpf(left)) * (1 + mp.mpf(2) ** -40):
            tail = 2 * numbers * mp.exp(eps) * mp.ncdf(-t + 1 / (2 * mp.sqrt(variance)))
            proved.append(mp.exp(numbers / (24 * variance)) * (continuous + tail))
    assert min(proved) <= delta
    assert continuous >= delta * (1 - 1e-6) * (1 - 1e-13 * numbers)  # and little is taken


@pytest.mark.parametrize("sizes", [(1,), (14, 13, 91), (50, 50, 1225)])
@pytest.mark.parametrize(("eps", "delta"), [(1e-3, 1e-6), (0.8, 1e-6), (10.0, 1e-9)])
def test_floored_integers_move_by_at_most_mu_standard_deviations(sizes, eps, delta):
    """The worst change: all of the sensitivity in one block, and one unit more in every floored number."""
    weights = (1.0, 1.4, 2.0)[: len(sizes)]
    _, mu, blocks = discrete_gaussian(3.0, eps, delta, weights, sizes)
    assert mu <= discrete_gaussian_mu(eps, delta, sum(sizes))
    for worst in range(len(sizes)):
        squares = 0.0
        for index, (block, weight, size) in enumerate(zip(blocks, weights, sizes, strict=True)):
            change = 3.0 / weight / block.grid if index == worst else 0.0
            squares += (change / math.sqrt(size) + 1) ** 2 * size / block.units
        assert math.sqrt(squares) <= mu * (1 + 1e-12)
        assert math.sqrt(squares) >= (0.9999 if eps > 0.5 else 0.95) * mu  # the triangle inequality costs little


def test_gaussian_noise_for_too_many_numbers_is_refused():
    with pytest.raises(ValueError, match="`delta` must be 0 to release 2000000 numbers"):
        discrete_gaussian(1.0, 1.0, 1e-6, (1.0,), (2_000_000,))


@pytest.mark.parametrize("seed", range(40))
def test_mu_is_rounded_down_where_two_tails_nearly_cancel(seed):
    """Small eps and a delta of its size: the difference has few digits in float64, and bisection keeps lucky ones."""
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(seed)
    eps = 10 ** rng.uniform(-9, -6)
    delta = eps * 10 ** rng.uniform(-1, 1)
    if seed == 0:
        eps, delta = 1.926755812698701e-09, 3.3122863473496947e-09  # a hostile reader's
    with mpmath.workdps(60):
        mu = mpmath.mpf(gaussian_mu(eps, delta))
        true = mpmath.ncdf(-eps / mu + mu / 2) - mpmath.exp(eps) * mpmath.ncdf(-eps / mu - mu / 2)
        assert true <= mpmath.mpf(delta)


def test_a_mu_below_the_least_is_refused_by_name():
    with pytest.raises(ValueError, match="`eps` must leave Gaussian noise a mu of 1e-12"):
        gaussian_mu(2.45e-12, 2.65e-138)


@pytest.mark.parametrize("mechanism", ["output", "objective", "fm"])
def test_an_eps_whose_noise_float64_cannot_hold_is_refused(mechanism):
    with pytest.raises(ValueError, match=r"`eps` must be at most 1e\+100, or inf"):
        dplr.plan(n_rows=300, n_features=1, eps=1e101, mechanism=mechanism)
