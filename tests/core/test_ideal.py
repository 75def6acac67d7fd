"""Ideal draws, rounded: exactly the law of the rounded vector, however coarse or fine the lattice is."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, special, stats

from dplr._core import IntegerSampler
from dplr.noise import Source, ideal
from dplr.noise.ideal import Point, Reals

SIGNIFICANT = 1e-4


def seeded(seed):
    return IntegerSampler(np.random.default_rng(seed).bytes)


def agrees(draws, probability, reach):
    """Chi-square of draws (n,) or (n, 2) against the probabilities of cells up to `reach`, and of the rest."""
    size = 1 if draws.ndim == 1 else draws.shape[1]
    cells = list(itertools.product(range(-reach, reach + 1), repeat=size))
    found = dict.fromkeys(cells, 0)
    rows, counts = np.unique(draws.reshape(len(draws), size), axis=0, return_counts=True)
    inside = {tuple(row): count for row, count in zip(rows.tolist(), counts.tolist(), strict=True)}
    found.update({cell: inside[cell] for cell in cells if cell in inside})
    expected = np.array([probability(*cell) for cell in cells]) * len(draws)
    observed = np.array([found[cell] for cell in cells], float)
    large = expected >= 5
    observed = np.append(observed[large], len(draws) - observed[large].sum())
    expected = np.append(expected[large], len(draws) - expected[large].sum())
    return stats.chisquare(observed, expected).pvalue > SIGNIFICANT


def laplace_cell(scale):
    """P(round(b) = k), b of density exp(-|b| / scale) / (2 scale)."""

    def mass(k):
        if k == 0:
            return -math.expm1(-0.5 / scale)
        return math.exp(-(abs(k) - 0.5) / scale) * -math.expm1(-1 / scale) / 2

    return mass


def normal_cell(deviation):
    return lambda k: special.ndtr((k + 0.5) / deviation) - special.ndtr((k - 0.5) / deviation)


def cell_of(density):
    """P(round(b) = (j, k)) of a density in the plane."""

    def mass(j, k):
        return integrate.dblquad(density, j - 0.5, j + 0.5, k - 0.5, k + 0.5, epsabs=1e-9)[0]

    return mass


def of_norm(scale):
    return lambda y, x: math.exp(-math.hypot(x, y) / scale) / (2 * math.pi * scale**2)


def of_box(scale):
    return lambda y, x: math.exp(-max(abs(x), abs(y)) / scale) / (8 * scale**2)


def product(mass, other):
    return lambda j, k: mass(j) * other(k)


SCALE = Fraction(13, 10)
LAWS = {
    "norm, 1": (lambda sampler, scale: ideal.norm_gamma(sampler, scale, 1), laplace_cell(1.3), 6),
    "norm, 2": (lambda sampler, scale: ideal.norm_gamma(sampler, scale, 2), cell_of(of_norm(1.3)), 4),
    "normal, 1": (lambda sampler, scale: ideal.normals(sampler, scale, 1), normal_cell(1.3), 5),
    "normal, 2": (lambda sampler, scale: ideal.normals(sampler, scale, 2), product(*[normal_cell(1.3)] * 2), 4),
    "interval": (lambda sampler, scale: ideal.in_body(sampler, [scale], [1]), laplace_cell(1.3), 6),
    "box": (lambda sampler, scale: ideal.in_body(sampler, [scale] * 2, [1, 1]), cell_of(of_box(1.3)), 4),
    "cross-polytope": (
        lambda sampler, scale: ideal.in_body(sampler, [scale, 2 * scale], [2]),
        product(laplace_cell(1.3), laplace_cell(2.6)),
        5,
    ),
}
COUNTS = [20_000, pytest.param(300_000, marks=pytest.mark.thorough)]


def drawn(law, count, sampler, fine=1):
    """Draws of a law; on a lattice finer by that factor, and then rounded to the coarse one."""
    draws = [law(sampler, SCALE * fine) for _ in range(count)]
    draws = np.array([[round(Fraction(number, fine)) for number in draw] for draw in draws])
    return draws[:, 0] if draws.shape[1] == 1 else draws


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", LAWS)
def test_rounded_draws_have_the_masses_of_their_cells(name, count):
    law, mass, reach = LAWS[name]
    assert agrees(drawn(law, count, seeded(3)), mass, reach)


@pytest.mark.parametrize("name", LAWS)
def test_a_scale_that_is_off_by_a_twentieth_is_seen(name):
    """What the test above would say of another law."""
    law, mass, reach = LAWS[name]
    draws = drawn(law, 20_000, seeded(3))
    stretched = np.rint(draws * 1.3)
    assert not agrees(stretched.astype(int), mass, reach)


@pytest.mark.parametrize("name", LAWS)
def test_draws_that_all_need_more_digits_have_the_same_law(name, monkeypatch):
    """On a lattice of 2^-200 of the scale."""
    (law, mass, reach), refine, times = LAWS[name], Reals.refine, []
    monkeypatch.setattr(Reals, "refine", lambda reals: times.append(1) or refine(reals))
    assert agrees(drawn(law, 4_000, seeded(4), 2**200), mass, reach)
    assert len(times) >= 4_000


def test_lengths_and_directions_in_many_dimensions():
    q, fine = 7, 2**40
    source = Source(5)
    draws = np.array([source.norm_gamma(Fraction(fine), q) for _ in range(3_000)]) / fine
    norms = np.linalg.norm(draws, axis=1)
    assert stats.kstest(norms, stats.gamma(q).cdf).pvalue > SIGNIFICANT
    for j in range(q):  # a squared coordinate of a uniform direction is Beta(1/2, (q - 1)/2)
        squares = (draws[:, j] / norms) ** 2
        assert stats.kstest(squares, stats.beta(0.5, (q - 1) / 2).cdf).pvalue > SIGNIFICANT
    signs = draws > 0
    assert stats.chisquare(np.bincount(signs @ (1 << np.arange(q)), minlength=2**q)).pvalue > SIGNIFICANT


# Digits


def test_digits_of_exponentials_have_their_law_wherever_they_come_from():
    sampler = seeded(6)
    reals = Reals(sampler, 20_000, 0, 0)
    value = np.array([number / 2**96 for number in reals.exponentials])
    assert stats.kstest(value, stats.expon.cdf).pvalue > SIGNIFICANT
    first = reals.exponentials
    reals.refine()
    assert [number >> 64 for number in reals.exponentials] == first
    for shift in (90, 60, 0):  # digits of the kernel's second number, of both numbers, and of the refinement
        digits = np.array([number >> shift & 255 for number in reals.exponentials])
        assert stats.chisquare(np.bincount(digits, minlength=256)).pvalue > SIGNIFICANT


@pytest.mark.parametrize("bits", [0, 1, 2])
def test_the_next_digits_of_an_exponential_are_not_uniform_where_it_shows(bits, monkeypatch):
    """After few digits: P(j) proportional to exp(-j / 2^(bits + 64)), so the first digit is less often 1 than 0."""
    reals, count = Reals(seeded(7), 0, 0, 0), 20_000
    monkeypatch.setattr(reals, "bits", bits)
    share, odds = np.mean([reals._rest() >> 63 for _ in range(count)]), 1 / (1 + math.exp(2.0 ** -(bits + 1)))
    deviation = math.sqrt(odds * (1 - odds) / count)
    assert abs(share - odds) < 4 * deviation
    assert abs(share - 0.5) > 4 * deviation


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 1), (1, 1), (1, 3), (2, 7), (2**70 + 1, 2**71)])
def test_events_have_their_probabilities(numerator, denominator):
    reals = Reals(seeded(8), 0, 0, 0)
    for event, odds in (
        (reals._at_odds, numerator / denominator),
        (reals._exp_minus, math.exp(-numerator / denominator)),
    ):
        share = np.mean([event(numerator, denominator) for _ in range(20_000)])
        assert abs(share - odds) <= 4 * math.sqrt(odds * (1 - odds) / 20_000)


def test_points_are_uniform_in_the_quarter_of_the_disc():
    reals = Reals(seeded(9), 0, 20_000, 0)
    u, v = (np.array([point[k] / 2**point.bits for point in reals.points]) for k in (0, 1))
    assert stats.kstest(u**2 + v**2, "uniform").pvalue > SIGNIFICANT
    assert stats.kstest(np.arctan2(v, u) / (math.pi / 2), "uniform").pvalue > SIGNIFICANT


@pytest.mark.parametrize(
    ("point", "outside", "inside"),
    [
        (Point(0, 5, 3), False, False),  # on an axis, as far as is known
        (Point(5, 5, 3), False, False),  # the circle goes through its square: 0.625^2 + 0.625^2 < 1 < 2 0.75^2
        (Point(6, 6, 3), True, False),
        (Point(4, 4, 3), False, True),
        (Point(3, 4, 3), False, True),
    ],
)
def test_a_point_is_decided_by_all_that_its_digits_leave_open(point, outside, inside):
    assert (point.outside, point.inside) == (outside, inside)


def test_numbers_are_rounded_as_in_sixty_digits():
    """The digits of one draw, taken by mpmath."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60):
        for seed in range(200):
            q, scale = 3, Fraction(10**7, 3)
            reals, drawn_numbers = Reals(seeded(seed), 5, 2, 3), ideal.norm_gamma(seeded(seed), scale, q)
            numbers = [mpmath.mpf(2 * each + 1) / 2**97 for each in reals.exponentials]
            length, squares = sum(numbers[:3]), []
            for number, (u, v, bits) in zip(numbers[3:], reals.points, strict=True):
                x, y = (mpmath.mpf(2 * each + 1) / 2 ** (bits + 1) for each in (u, v))
                squares += [number * x**2 / (x**2 + y**2), number * y**2 / (x**2 + y**2)]
            norm = sum(squares[:3])
            exact = [
                mpmath.mpf(scale.numerator) / scale.denominator * length * mpmath.sqrt(each / norm)
                for each in squares[:3]
            ]
            assert [
                sign * int(mpmath.nint(each)) for sign, each in zip(reals.signs, exact, strict=True)
            ] == drawn_numbers


# Theorem 1


@pytest.mark.parametrize("scale", [0.2, 1.0, 37.5])
def test_no_cell_exceeds_what_a_shift_costs_and_some_reach_it(scale):
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(50):
        s = mpmath.mpf(scale)

        def mass(k):
            cdf = lambda x: mpmath.exp(x / s) / 2 if x < 0 else 1 - mpmath.exp(-x / s) / 2  # noqa: E731
            return cdf(mpmath.mpf(k) + 0.5) - cdf(mpmath.mpf(k) - 0.5)

        worst = 0
        for shift in (1, 2, 5):
            ratios = [mass(k) / mass(k - shift) for k in range(-12, 13)]
            assert max(ratios) <= mpmath.exp(shift / s) * (1 + mpmath.mpf(10) ** -40)
            worst = max(worst, max(ratios) / mpmath.exp(shift / s))
        assert worst > 0.999999


def test_a_law_that_is_rounded_to_float_first_has_cells_that_exceed_it():
    """A twin: noise of 2^-6 of the scale in steps, to the lattice afterwards: neighbours' cells hold one step more."""
    steps = 2.5  # coarse steps in a unit of the lattice
    mass = {}
    for step in range(-4000, 4001):
        cell = math.floor(step / steps + 0.5)
        mass[cell] = mass.get(cell, 0.0) + math.exp(-abs(step) / steps / 100.0)
    ratios = [mass[k] / mass[k - 1] for k in range(-50, 51)]
    assert max(ratios) > math.exp(1 / 100.0) * 1.2


# What is no scale


@pytest.mark.parametrize(
    ("draw", "match"),
    [
        (lambda source: source.norm_gamma(Fraction(0), 2), "`scale` must be positive"),
        (lambda source: source.normals(Fraction(-1), 2), "`scale` must be positive"),
        (lambda source: source.in_body([Fraction(1), Fraction(-1)], [1, 1]), "`scale` must be positive"),
        (lambda source: source.in_body([Fraction(1)] * 3, [1, 0, 2]), "`groups` must be sizes that add up to 3"),
        (lambda source: source.in_body([Fraction(1)] * 3, [1, 1]), "`groups` must be sizes that add up to 3"),
    ],
)
def test_what_is_no_law_is_refused_before_anybody_is_told(draw, match):
    source, told = Source(), []
    with source.told_first(lambda: told.append(1)), pytest.raises(ValueError, match=match):
        draw(source)
    assert (told, source.drawn) == ([], 0)
