"""Noise that remembers its sums: the ratio of two laws, forced sums, and noise that differs between neighbours."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dplr.auditor.trace import NoiseDiffers, Tracing


def noisy(source, values):
    """Two blocks, the second around what the first released."""
    first = np.array(values) + source.laplace(1000, len(values))
    second = first // 2 + source.gaussian(2000**2, len(values))
    return first, second


def test_a_forced_fit_releases_the_same_sums_and_draws_nothing():
    one = Tracing(1)
    released = noisy(one, [0, 5, -7])
    other = Tracing(2, one.draws)
    forced = noisy(other, [900, 5, -7])
    assert [block.tolist() for block in forced] == [block.tolist() for block in released]
    assert other.drawn == 0
    assert other.draws[0].value.tolist() == [900, 5, -7]
    assert type(released[0]) is type(forced[0]) is np.ndarray


def test_the_loss_is_the_ratio_of_both_laws_at_what_was_released():
    one = Tracing(1)
    first, _ = noisy(one, [0, 5, -7])
    other = Tracing(2, one.draws)
    noisy(other, [900, 5, -7])
    ratio = stats.dlaplace(1 / 1000).logpmf(first - [0, 5, -7]) - stats.dlaplace(1 / 1000).logpmf(first - [900, 5, -7])
    assert one.draws[0].loss(other.draws[0]) == pytest.approx(ratio.sum(), abs=1e-9)
    assert one.draws[1].loss(other.draws[1]) == 0
    assert one.draws[0].moved(other.draws[0]) == 0.9
    near, far = Tracing(3), None
    np.array([0, 0]) + near.gaussian(100**2, 2)
    far = Tracing(0, near.draws)
    np.array([300, 400]) + far.gaussian(100**2, 2)
    law = stats.norm(scale=100).logpdf
    z = near.draws[0].noise
    assert near.draws[0].loss(far.draws[0]) == pytest.approx((law(z) - law(z - [300, 400])).sum())
    assert near.draws[0].moved(far.draws[0]) == 5


def test_noise_of_a_norm_has_the_ratio_of_its_norms():
    one = Tracing(1)
    np.array([0, 0]) + one.norm_gamma(Fraction(10**6), 2)
    other = Tracing(2, one.draws)
    np.array([3 * 10**5, 4 * 10**5]) + other.norm_gamma(Fraction(10**6), 2)
    z = one.draws[0].noise.astype(float)
    expected = (np.linalg.norm(z - [3e5, 4e5]) - np.linalg.norm(z)) / 1e6
    assert one.draws[0].loss(other.draws[0]) == pytest.approx(expected)
    assert one.draws[0].moved(other.draws[0]) == 0.5


@pytest.mark.parametrize("draw", [
    lambda source: source.laplace(1001, 3), lambda source: source.laplace(1000, 2),
    lambda source: source.gaussian(1000**2, 3),
])  # fmt: skip
def test_other_noise_for_a_neighbour_is_a_fault(draw):
    one = Tracing(1)
    np.zeros(3, int) + one.laplace(1000, 3)
    with pytest.raises(NoiseDiffers, match="neighbours drew different noise"):
        draw(Tracing(2, one.draws))


def test_one_draw_more_for_a_neighbour_is_a_fault():
    one = Tracing(1)
    np.zeros(3, int) + one.laplace(1000, 3)
    other = Tracing(2, one.draws)
    other.laplace(1000, 3)
    with pytest.raises(NoiseDiffers, match="draw 2"):
        other.laplace(1000, 3)


def test_noise_keeps_its_draw_in_another_shape_and_forgets_it_beside_other_shapes():
    source = Tracing(1)
    sums = np.arange(6).reshape(2, 3) + source.gaussian(100**2, 6).reshape(2, 3)
    assert sums.shape == (2, 3)
    assert source.draws[0].value.tolist() == list(range(6))
    assert source.draws[0].released.tolist() == sums.ravel().tolist()
    5 + source.laplace(1000, 1)  # a number, as a choice among models adds it
    assert source.draws[1].value is None
