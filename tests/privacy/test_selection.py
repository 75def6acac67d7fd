"""The choice of a search: its exact law, and its ratio between neighbours."""

import collections
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from dplr.noise import Source
from dplr.privacy.selection import SCORE_UNITS, choose, rounded_down


class Script:
    """Coins that fall as a list of outcomes says and then on 0, and know what else each could have been."""

    def __init__(self, outcomes):
        self.outcomes, self.events = outcomes, []

    def _fall(self, probabilities):
        place = len(self.events)
        outcome = self.outcomes[place] if place < len(self.outcomes) else 0
        self.events.append((outcome, probabilities))
        return outcome

    def below(self, bound):
        return self._fall([1 / bound] * bound)

    def happens_exp(self, exponent):
        happens = math.exp(-exponent)
        return exponent == 0 or bool(self._fall([1 - happens, happens]))


def law(costs, eps):
    """Probabilities of each place: all outcomes of all events."""
    probabilities, waiting = np.zeros(len(costs)), [[]]
    while waiting:
        outcomes = waiting.pop()
        coins = Script(outcomes)
        place = choose(costs, eps, coins)
        probabilities[place] += math.prod(each[outcome] for outcome, each in coins.events)
        for depth in range(len(outcomes), len(coins.events)):
            before = [outcome for outcome, _ in coins.events[:depth]]
            waiting += [[*before, other] for other in range(1, len(coins.events[depth][1]))]
    assert probabilities.sum() == pytest.approx(1, abs=1e-12)
    return probabilities


def formula(costs, eps, place):
    """Lemma 2 of tuning.md."""
    weights = np.exp(-eps * (np.array(costs) - min(costs)) / (2 * SCORE_UNITS))
    others = np.delete(weights, place) / weights[place]
    return integrate.quad(lambda s: np.prod(1 - s * others), 0, weights[place], epsabs=1e-14, limit=500)[0]


@pytest.mark.parametrize("costs", [[3, 0], [0, 0, 0], [1, 0, 4], [2, 2, 0, 1]])
@pytest.mark.parametrize("eps", [0.3, 2.0, 9.0])
def test_the_law_is_that_of_permute_and_flip(costs, eps):
    costs = [SCORE_UNITS * cost for cost in costs]
    expected = [formula(costs, eps, place) for place in range(len(costs))]
    assert law(costs, eps) == pytest.approx(expected, abs=1e-10)


def test_the_exponents_are_exact_fractions_and_that_of_the_best_is_0():
    exponents = []

    class Coins(Script):
        def happens_exp(self, exponent):
            exponents.append(exponent)
            return super().happens_exp(exponent)

    choose([SCORE_UNITS, 4 * SCORE_UNITS, 9], 0.75, Coins([1, 0, 1]))
    assert exponents == [Fraction(3, 4) / (2 * SCORE_UNITS) * (4 * SCORE_UNITS - 9), 0]


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
    worst = 0.0
    for others in itertools.combinations_with_replacement(kinds, records - 1):
        laws = [np.log(law((SCORE_UNITS * np.sum([*others, kind], axis=0)).tolist(), eps)) for kind in kinds]
        worst = max(worst, *(np.abs(one - other).max() for one, other in itertools.combinations(laws, 2)))
    assert eps / 2 < worst <= eps * (1 + 1e-12)


def test_many_candidates_come_close_to_eps():
    first, rest = [0] + [SCORE_UNITS] * 999, [SCORE_UNITS] + [0] * 999
    assert 0.99 <= math.log(formula(first, 1.0, 0) / formula(rest, 1.0, 0)) <= 1.0 + 1e-9


def test_draws_have_the_law():
    costs = [0, SCORE_UNITS, 3 * SCORE_UNITS, SCORE_UNITS // 2]
    source = Source(seed=5)
    counts = collections.Counter(choose(costs, 1.5, source) for _ in range(4_000))
    assert stats.chisquare([counts[k] for k in range(4)], 4_000 * law(costs, 1.5)).pvalue > 1e-4


@pytest.mark.parametrize("behind", [1, 2, 5, 20])
@pytest.mark.parametrize("candidates", [2, 4, 8])
def test_the_expected_regret_is_smaller_than_that_of_the_exponential_mechanism(candidates, behind):
    costs = SCORE_UNITS * np.array([0] + [behind] * (candidates - 1))
    weights = np.exp(-1.0 * costs / (2 * SCORE_UNITS))
    before = weights @ costs / weights.sum()
    now = sum(formula(costs, 1.0, place) * cost for place, cost in enumerate(costs))
    assert 1.0 < before / now <= 2.0 + 1e-9
    assert behind < 20 or before / now > 1.9  # where all others are far behind
