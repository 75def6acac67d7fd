"""The number of runs: exact laws, means rounded up, and parameters that are refused."""

import collections
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dplr.noise import Source
from dplr.privacy.search.counts import NegativeBinomial, TruncatedPoisson, law_of
from run_counts import pmf

SHAPES = (-0.5, 0.0, 0.3, 1.0, 2.5, math.inf)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("runs", [1.5, 4.0, 10.0])
def test_the_law_has_the_mean_that_was_asked_for_and_states_no_less(runs, shape):
    law = law_of(runs, shape)
    chances = pmf(law, 100_000)
    assert chances.sum() == pytest.approx(1, abs=1e-9)
    mean = (np.arange(1, 100_001) * chances).sum()
    assert law.mean == pytest.approx(mean, rel=1e-9)
    assert law.mean >= mean * (1 - 1e-13)
    assert law.mean == pytest.approx(runs, rel=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_number_of_runs_is_drawn_from_its_law(shape):
    law, source, draws = law_of(4.0, shape), Source(seed=11), 3_000
    found = collections.Counter(law.draw(source) for _ in range(draws))
    chances = pmf(law, 12)
    counts = [found[k] for k in range(1, 13)]
    expected = draws * np.append(chances, 1 - chances.sum())
    observed = np.append(counts, draws - sum(counts))
    if expected[-1] < 5:
        expected, observed = [np.append(each[:-2], each[-2:].sum()) for each in (expected, observed)]
    assert min(found) == 1
    assert stats.chisquare(observed, expected).pvalue > 1e-4


def test_every_coin_of_a_draw_has_an_exact_fraction():
    """Whatever the coins show, they are asked for fractions in [0, 1] alone."""
    asked, rng = [], random.Random(1)

    class Coins:
        def happens(self, probability):
            asked.append(probability)
            return rng.random() < probability

    for law in (NegativeBinomial(Fraction(1, 3), Fraction(1, 8)), TruncatedPoisson(Fraction(5, 2))):
        law.draw(Coins())
    assert asked
    assert all(isinstance(each, Fraction) and 0 <= each <= 1 for each in asked)


@pytest.mark.parametrize(
    ("runs", "shape", "said"),
    [
        (1.0, 0.0, "`runs` must be above 1"),
        (1001, 0.0, "`runs` must be above 1 and at most 1000"),
        (math.nan, 0.0, "`runs` must be above 1"),
        (10, -1.0, "`shape` must be above -1"),
        (10, math.nan, "`shape` must be above -1"),
        (100, -0.8, "`runs` is too large for shape"),
    ],
)
def test_parameters_out_of_range_are_refused(runs, shape, said):
    with pytest.raises(ValueError, match=said):
        law_of(runs, shape)
