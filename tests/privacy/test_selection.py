"""The choice of a search: its exact law, its ratio between neighbours, and the noise of a score."""

import collections
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dplr.noise import Source
from dplr.privacy.search.selection import SCORE_UNITS, choose, rounded_down, score_noise


class Told:
    """Coins that propose one place and accept it, and remember the exponent they were asked for."""

    def __init__(self, place):
        self.place, self.exponent = place, None

    def below(self, _):
        return self.place

    def happens_exp(self, exponent):
        self.exponent = exponent
        return True


def law(costs, eps):
    """Probabilities of each place: uniform proposals, accepted with exp(-exponent), until one is."""
    weights = []
    for place in range(len(costs)):
        coins = Told(place)
        assert choose(costs, eps, coins) == place
        weights.append(math.exp(-coins.exponent))
    return np.array(weights) / sum(weights)


def test_a_place_is_accepted_with_the_exact_fraction_of_the_exponential_mechanism():
    coins = Told(1)
    choose([SCORE_UNITS, 4 * SCORE_UNITS, 9], 0.75, coins)
    assert coins.exponent == Fraction(3, 4) / (2 * SCORE_UNITS) * (4 * SCORE_UNITS - 9)


def test_eps_is_rounded_down_to_a_fraction():
    for eps in (0.1, 0.2, 0.3, 1.0, 1e-9, 2 / 3):
        assert rounded_down(eps) <= Fraction(eps)
        assert rounded_down(eps) <= Fraction(repr(eps))
        assert float(rounded_down(eps)) == pytest.approx(eps, rel=1e-15)


@pytest.mark.parametrize(("candidates", "records"), [(2, 1), (2, 3), (3, 2), (4, 1)])
@pytest.mark.parametrize("eps", [0.3, 2.0])
def test_over_all_data_sets_of_small_cases_no_record_changes_a_probability_by_more_than_eps(candidates, records, eps):
    """A record is which of the models it finds wrong: all data sets, all records that one is replaced by."""
    kinds = list(itertools.product((0, 1), repeat=candidates))
    for others in itertools.combinations_with_replacement(kinds, records - 1):
        laws = [np.log(law((SCORE_UNITS * np.sum([*others, kind], axis=0)).tolist(), eps)) for kind in kinds]
        worst = max(np.abs(one - other).max() for one, other in itertools.combinations(laws, 2))
        assert worst <= eps * (1 + 1e-12)


def test_many_candidates_come_close_to_eps():
    first, rest = [0] + [SCORE_UNITS] * 999, [SCORE_UNITS] + [0] * 999
    assert 0.99 <= math.log(law(first, 1.0)[0] / law(rest, 1.0)[0]) <= 1.0


def test_draws_have_the_law_of_the_exponential_mechanism():
    costs = [0, SCORE_UNITS, 3 * SCORE_UNITS, SCORE_UNITS // 2]
    source = Source(seed=5)
    found = collections.Counter(choose(costs, 1.5, source) for _ in range(4_000))
    expected = np.exp(-0.75 * np.array(costs) / SCORE_UNITS)
    assert stats.chisquare([found[k] for k in range(4)], 4_000 * expected / expected.sum()).pvalue > 1e-4


@pytest.mark.parametrize("eps", [Fraction(1, 3), Fraction(1), Fraction(50), Fraction(1, 10**5)])
def test_noise_of_a_score_is_never_too_small_and_nearly_never_too_large(eps):
    scale = score_noise(eps)
    assert Fraction(SCORE_UNITS, scale) <= eps < Fraction(SCORE_UNITS, scale - 1)


def test_an_eps_that_no_sampler_serves_is_refused():
    with pytest.raises(ValueError, match="`eps` is too small to release a score in each run"):
        score_noise(Fraction(1, 2**21))
