"""Integer noise scales: exact in rational arithmetic, tight, and red when something is not charged."""

import math
from fractions import Fraction

import pytest

from dplr.calibration import SUM_EXPONENT, discrete_laplace, grid_exponent

CASES = [
    (sensitivity, eps, weight, sizes)
    for sensitivity in (0.9, 4.1141, 900.0)
    for eps in (1e-6, 0.1, 0.8, 3.2, 1e3)
    for weight in (0.015625, 1.189, 64.0)
    for sizes in ((1, 1), (14, 104), (500, 125_250))
]


@pytest.mark.parametrize(("sensitivity", "eps", "weight", "sizes"), CASES)
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


@pytest.mark.parametrize(("sensitivity", "eps", "weight", "sizes"), CASES)
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
