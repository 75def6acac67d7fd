"""Many draws of each law of the noise, counted in cells, against the law: chi-square at one in a million."""

import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy import stats

from dplr.noise import Source

SIGNIFICANT = 1e-6
CELLS = 64


class Counted(NamedTuple):
    """A law: how a block is drawn as cell numbers, and the probabilities of the cells, which add up to 1."""

    draw: Callable[[Source, int], np.ndarray]
    cells: np.ndarray
    block: int


def of_integers(draw, weight, reach):
    """Cells are the integers from -reach to reach, and what lies beyond."""
    masses = np.array([weight(z) for z in range(-30 * reach, 30 * reach + 1)])
    masses /= masses.sum()
    inside = masses[29 * reach : 31 * reach + 1]
    cells = np.append(inside, 1 - inside.sum())

    def numbers(source, size):
        drawn = draw(source, size)
        return np.where(np.abs(drawn) <= reach, drawn + reach, 2 * reach + 1)

    return Counted(numbers, cells, 10**6)


def of_real(draw, law, block, shift=0.0):
    """Cells are equally likely under a continuous law; the noise is so fine that its grid is not seen."""
    edges = law.ppf(np.arange(1, CELLS) / CELLS)
    return Counted(
        lambda source, size: np.searchsorted(edges, draw(source, size) + shift), np.full(CELLS, 1 / CELLS), block
    )


def gaps(source, size, rate=2**29):
    """Gaps between sampled rows, each one in with probability 1/8: geometric."""
    indices = source.bernoulli_indices(size * 8, rate)
    return np.minimum(np.diff(indices), CELLS) - 1


def gap_cells():
    masses = (1 / 8) * (7 / 8) ** np.arange(CELLS - 1)
    return np.append(masses, 1 - masses.sum())


def radius(source, size, dimension=3):
    """Length of a vector whose norm has the law Gamma(dimension), in its scale."""
    scale = 2**40
    return np.array([
        math.sqrt(sum(float(x) ** 2 for x in source.norm_gamma(Fraction(scale), dimension))) / scale
        for _ in range(size)
    ])  # fmt: skip


def gauge(source, size):
    """Gauge of a vector in the product of an interval and a cross-polytope of two coordinates: Gamma(3)."""
    scales = [Fraction(2**40), Fraction(2**41), Fraction(2**42)]
    gauges = []
    for _ in range(size):
        b = [abs(float(x)) / float(s) for x, s in zip(source.in_body(scales, [1, 2]), scales, strict=True)]
        gauges.append(max(b[0], b[1] + b[2]))
    return np.array(gauges)


LAWS = {
    "discrete Laplace, scale 3": of_integers(lambda s, n: s.laplace(3, n), lambda z: math.exp(-abs(z) / 3), 60),
    "discrete Laplace, scale 2^40": of_real(lambda s, n: s.laplace(2**40, n) / 2**40, stats.laplace, 10**6),
    "discrete Gaussian, variance 9": of_integers(lambda s, n: s.gaussian(9, n), lambda z: math.exp(-(z**2) / 18), 18),
    "discrete Gaussian, variance 2^44": of_real(lambda s, n: s.gaussian(2**44, n) / 2**22, stats.norm, 10**6),
    "gaps of Poisson sampling, rate 1/8": Counted(gaps, gap_cells(), 10**6),
    "rounded Gaussian, deviation 2^40": of_real(
        lambda s, n: s.normals(Fraction(2**40), n).astype(float) / 2**40, stats.norm, 10**4
    ),
    "length of gamma noise in 3 dimensions": of_real(radius, stats.gamma(3), 10**3),
    "gauge of noise in a body of 3 dimensions": of_real(gauge, stats.gamma(3), 10**3),
}


def expected(cells, number):
    """Cells that hold at least five draws, and the others as one."""
    counts = cells * number
    large = counts >= 5
    return large, np.append(counts[large], counts[~large].sum())


def chance_of(observed, cells):
    """p-value of the chi-square test."""
    large, wanted = expected(cells, observed.sum())
    counts = np.append(observed[large], observed[~large].sum())
    if wanted[-1] < 5:  # too rare for a cell of its own
        wanted, counts = np.append(wanted[:-2], wanted[-2:].sum()), np.append(counts[:-2], counts[-2:].sum())
    return float(stats.chisquare(counts, wanted * counts.sum() / wanted.sum()).pvalue)


def count(name, draws, seconds, seed=None):
    """Draws made, seconds they took, and the p-value of their counts."""
    law, source = LAWS[name], Source(seed)
    observed, begun = np.zeros(len(law.cells), np.int64), time.monotonic()
    while observed.sum() < draws and time.monotonic() - begun < seconds:
        drawn = law.draw(source, int(min(law.block, draws)))
        observed += np.bincount(drawn, minlength=len(law.cells))
    return int(observed.sum()), time.monotonic() - begun, chance_of(observed, law.cells)
