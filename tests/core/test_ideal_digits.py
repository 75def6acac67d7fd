"""Digits of ideal draws: few of them never decide a rounding otherwise than all of them would; broken twins do."""

import pathlib
import random
import types
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dplr._core import IntegerSampler
from dplr.noise import ideal
from dplr.noise.ideal import Point, Reals

SIGNIFICANT = 1e-4
ALL = 600  # digits of numbers that are known in full


def seeded(seed):
    return IntegerSampler(np.random.default_rng(seed).bytes)


MADE = []  # by the module that is looked at


class Prefixes:
    """Reals whose digits are all fixed; what draws sees `bits` of them, and `more` at each refinement."""

    def __init__(self, rng, exponentials, points, signs):
        self.bits, self.more, self.refined = rng.choice([1, 2, 4, 8, 40]), rng.choice([1, 2, 7, 64]), 0
        self.whole = [rng.getrandbits(ALL + 1) >> rng.choice([0, 0, 0, 3, 9]) for _ in range(exponentials)]
        self.corners = []
        while len(self.corners) < points:
            u, v = (rng.getrandbits(ALL) >> rng.choice([0, 0, 0, 3, 9]) for _ in range(2))
            if u and v and u * u + v * v < 1 << 2 * ALL:
                self.corners.append((u, v))
        self.signs = [rng.choice([1, -1]) for _ in range(signs)]
        self._show()
        MADE.append(self)

    def _show(self):
        self.exponentials, self.points = [each >> (ALL - self.bits) for each in self.whole], []
        for u, v in self.corners:
            bits = self.bits
            while not (point := Point(u >> (ALL - bits), v >> (ALL - bits), bits)).inside:
                bits += 1
            self.points.append(point)

    def refine(self):
        self.refined, self.bits = self.refined + 1, self.bits + self.more
        self._show()


def rounded_in_full(reals, law, scale, size, groups):
    """From all digits, by other formulas: cosines of angles, and a float of 800 bits."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workprec(800):
        whole = [mpmath.mpf(2 * each + 1) / mpmath.mpf(2) ** (ALL + 1) for each in reals.whole]
        scales = [mpmath.mpf(each.numerator) / each.denominator for each in scale]
        if law == "body":
            length, first, values = mpmath.fsum(whole[size + len(groups) :]), 0, []
            for place, group in enumerate(groups):
                total = mpmath.fsum(whole[first : first + group]) + whole[size + place]
                values += [length * each / total for each in whole[first : first + group]]
                first += group
        else:
            radii, values = whole if law == "normals" else whole[size:], []
            for radius, (u, v) in zip(radii, reals.corners, strict=True):
                angle = mpmath.atan2(mpmath.mpf(2 * v + 1), mpmath.mpf(2 * u + 1))
                values += [mpmath.sqrt(2 * radius) * turn(angle) for turn in (mpmath.cos, mpmath.sin)]
            values = values[:size]
            if law == "norm":
                norm = mpmath.sqrt(mpmath.fsum(each**2 for each in values))
                values = [mpmath.fsum(whole[:size]) * each / norm for each in values]
        return [
            sign * int(mpmath.floor(each * value + mpmath.mpf(1) / 2))
            for sign, each, value in zip(reals.signs, scales, values, strict=True)
        ]


def disagreements(module, law, count):
    """How many draws of a module are rounded otherwise than in full, and how many needed more digits."""
    module.Reals, rng, wrong, refined = Prefixes, random.Random(1), 0, 0
    for _ in range(count):
        size, groups = rng.randrange(1, 6), []
        while sum(groups) < size:
            groups.append(rng.randrange(1, size - sum(groups) + 1))
        scale = [Fraction(rng.randrange(1, 1000), rng.randrange(1, 100)) for _ in range(size)]
        if law == "body":
            found = module.in_body(rng, scale, groups)
        else:
            scale = scale[:1] * size
            found = (module.norm_gamma if law == "norm" else module.normals)(rng, scale[0], size)
        reals = MADE.pop()
        wrong += found != rounded_in_full(reals, law, scale, size, groups)
        refined += reals.refined > 0
    return wrong, refined


def twin(good="", bad=""):
    """A copy of the module, with one line broken."""
    source = pathlib.Path(ideal.__file__).read_text()
    assert not good or source.count(good) == 1
    module = types.ModuleType("twin")
    exec(compile(source.replace(good, bad) if good else source, "twin", "exec"), module.__dict__)
    return module


@pytest.mark.parametrize("law", ["norm", "normals", "body"])
def test_few_digits_never_decide_otherwise_than_all_of_them(law):
    wrong, refined = disagreements(twin(), law, 400)
    assert wrong == 0
    assert refined > 130


TWINS = {
    "an end of u^2": (
        "normals",
        "squares.append((low * u * u, high * (u + 1) ** 2",
        "squares.append((low * u * u, high * u**2",
    ),
    "an end of E": ("normals", "factor.high * (exponential + 1)", "factor.high * exponential"),
    "an end of u^2 + v^2": (
        "normals",
        "divisor.high * ((u + 1) ** 2 + (v + 1) ** 2)",
        "divisor.high * (u * u + v * v)",
    ),
    "an end of a sum": ("norm", "Interval(low, low + len(numbers))", "Interval(low, low + 1)"),
    "a floor for a ceiling": ("norm", "pairs.high - -high // least", "pairs.high + low // most"),
    "an end of a body's sum": ("body", "low, low + group + 1)", "low, low + 1)"),
    "an end in a body": ("body", "length.high * (number + 1)", "length.high * number"),
    "decided too early": ("body", "(2 * number + 1) ** power", "(2 * number + 2) ** power"),
    "never refined": ("normals", "                break\n", "                pass\n"),
}


@pytest.mark.parametrize("name", TWINS)
def test_a_broken_twin_decides_otherwise(name):
    law, good, bad = TWINS[name]
    try:
        wrong, _ = disagreements(twin(good, bad), law, 1_500)
    except ZeroDivisionError:  # of a denominator whose upper end is too low
        return
    assert wrong > 0


def is_fresh(reals):
    """Whether the next digits of points leave the first ones as they are, and are uniform in pairs."""
    before = reals.points
    reals.refine()
    assert before == [Point(point.u >> 64, point.v >> 64, point.bits - 64) for point in reals.points]
    u, v = (np.array([point[k] >> 60 & 15 for point in reals.points]) for k in (0, 1))
    return stats.chisquare(np.bincount(16 * u + v, minlength=256)).pvalue > SIGNIFICANT


def test_further_digits_of_points_are_fresh_and_uniform():
    assert is_fresh(Reals(seeded(11), 0, 20_000, 0))


def test_digits_that_two_coordinates_share_are_seen(monkeypatch):
    def shared(reals, point):
        more = reals.uniform(64)
        return Point((point.u << 64) + more, (point.v << 64) + more, point.bits + 64)

    monkeypatch.setattr(Reals, "_finer", shared)
    assert not is_fresh(Reals(seeded(11), 0, 20_000, 0))
