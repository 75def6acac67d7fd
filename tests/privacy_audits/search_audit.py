"""Empirical privacy of searches: can neighbours be told apart by what a search takes?

As a script (``python search_audit.py RUNS CASE ...``) it prints the measured eps of each case as JSON: tests run it on
patched copies of the package to show that the audit sees a broken one.
"""

import copy
import functools
import itertools
import json
import math
import sys
import unittest.mock
import warnings

import numpy as np

import dplr
from dplr.auditor.sampled import eps_lower_bound
from dplr.estimators import _search
from dplr.fitting import search as planning
from dplr.noise import Source
from dplr.privacy.selection import SCORE_UNITS, choose

EPS, CANDIDATES, ROWS = 1.0, 4, 20


class Accepted:
    """Coins that accept one place at once, and remember at which exponent."""

    def __init__(self, place):
        self.place, self.exponent = place, None

    def below(self, _):
        return self.place

    def happens_exp(self, exponent):
        self.exponent = float(exponent)
        return True


def law(costs):
    """Log probability of each place, from the coins that the choice asks for (tuning.md, lemma 2)."""
    exponents = []
    for place in range(len(costs)):
        coins = Accepted(place)
        choose(costs, EPS, coins)
        exponents.append(-coins.exponent)
    weights = np.exp(exponents)
    return np.array([math.log(taken_at(weights, place)) for place in range(len(costs))])


def taken_at(weights, place):
    """The probability of a place: the integral over the time at which it comes."""
    others = np.delete(weights, place) / weights[place]
    points, factors = np.polynomial.legendre.leggauss(200)
    # Most of it lies near 0, where many others come: s = u^4.
    times = (points + 1) / 2
    inside = np.prod(1 - weights[place] * times[:, np.newaxis] ** 4 * others, axis=1)
    return float(factors / 2 @ (4 * times**3 * inside)) * weights[place]


def largest_choice(_):
    """The largest loss of a choice among many: the first model gets better by a record, and all others worse."""
    one, other = ([a] + [b] * 499 for a, b in ((0, SCORE_UNITS), (SCORE_UNITS, 0)))
    return float(np.abs(law(one) - law(other)).max())


def told_apart(runs):
    """Whole searches by partition: how often the first model is taken, where one record of the last part is replaced.

    Fits are replaced by fixed models: the first is right about that record, all others are wrong, and the reverse.
    """
    fixed = [model(1.0 if place == 0 else -1.0) for place in range(CANDIDATES)]
    parts = np.array_split(np.arange(ROWS), CANDIDATES + 1)  # a split that may occur
    last = parts[-1]
    found = []
    for side in (0, 1):
        X, y = np.zeros((ROWS, 1)), np.zeros(ROWS)
        X[last[0]], y[last[0]] = 1.0, 1.0 - side
        est = dplr.LogisticRegression(eps=EPS, mechanism="fm", fit_intercept=False)
        trials = [_search.Trial.of(est, X, y, EPS) for _ in fixed]
        facts = [trial.ready.facts for trial in trials]
        plan = planning.plan_partition(facts, EPS, False)
        source, turn = Source(seed=side), itertools.cycle(fixed)
        ready = trials[0].ready.take(last, len(last))
        once = functools.cache(functools.partial(lambda ready, place: _search.cost(fixed[place], ready), ready))
        costs = map(once, itertools.cycle(range(CANDIDATES)))  # of fixed models the score is always the same
        with (
            unittest.mock.patch.object(_search.Trial, "fit", lambda *_, turn=turn: next(turn)),
            unittest.mock.patch.object(_search, "secret_parts", return_value=parts),
            unittest.mock.patch.object(_search, "cost", lambda *_, costs=costs: next(costs)),
        ):
            places = [_search._partition(trials, plan, EPS, source)[0] for _ in range(runs)]
        found.append((np.array(places) == 0).astype(float))
    return eps_lower_bound(*found)


def model(coef):
    """A fitted model with this coefficient."""
    X = np.zeros((10, 1))
    est = dplr.LogisticRegression(eps=EPS, mechanism="fm", fit_intercept=False).fit(X, X[:, 0])
    fixed = copy.copy(est)
    fixed.coef_ = np.array([[coef]])
    return fixed


CASES = {
    "choice": largest_choice,
    "partition": told_apart,
}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps([CASES[name](int(sys.argv[1])) for name in sys.argv[2:]]))
