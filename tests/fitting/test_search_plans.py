"""Plans of whole searches: what their statements promise is recomputed from the plans and the draws of their parts."""

from fractions import Fraction

import numpy as np
import pytest

import dplr
from dplr.estimators import _search
from dplr.fitting import search
from dplr.privacy.law import Law

EPS, DELTA, ROWS = 1.0, 1e-6, 2_000
SCORE = 2**20  # a record's score: a whole number up to this one


def eps_of(statement):
    """The eps of a fit whose noise is pure, exactly: all blocks have the same noise over their weights."""
    blocks = statement.released.values()
    assert all(block.law is Law.DISCRETE_LAPLACE for block in blocks)
    return max(Fraction(block.sensitivity) / (Fraction(block.weight) * Fraction(block.scale)) for block in blocks)


def facts_of(rows=ROWS, **options):
    estimator = dplr.LogisticRegression(eps=EPS, **options)
    return _search.Trial.of(estimator, np.zeros((rows, 5)), np.zeros(rows), EPS).ready.facts


def test_a_partition_states_the_loss_of_a_fit_that_costs_more_than_its_eps():
    mechanism = dplr.NoisyGradientDescent(steps=50, composition="per-step")
    plan = search.plan_partition([facts_of(mechanism=mechanism, delta=DELTA)], EPS, False)
    assert plan.statement.eps == plan.planned[0].statement.eps > 2 * EPS


@pytest.mark.parametrize(
    ("relation", "n_rows", "sizes"),
    [
        ("replace_one", None, (667, 666, 667)),
        ("add_remove", None, (None, None, None)),
        ("add_remove", 100, (33, 34, 33)),  # of the reference: nothing of the rows
        ("add_remove", 1, (1, 1, 1)),
    ],
)
def test_parts_have_public_sizes_or_shares_of_the_reference(relation, n_rows, sizes):
    facts = [facts_of(mechanism="fm", neighbouring=relation, n_rows=n_rows)] * 2
    plan = search.plan_partition(facts, EPS, False)
    assert plan.sizes == sizes
    assert [each.problem.n_rows for each in plan.planned] == list(sizes[:2])
    assert ("all 2000 records" in str(plan.statement.assumptions)) == (relation == "replace_one")


class Worst:
    """Coins of a choice that come to the last place first, take it, and note with which odds."""

    def __init__(self):
        self.exponents = []

    def below(self, bound):
        return bound - 1

    def happens_exp(self, exponent):
        self.exponents.append(exponent)
        return True


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
@pytest.mark.parametrize("eps", [0.25, 3.0])
def test_a_partition_costs_the_eps_of_a_fit_or_of_its_choice(eps, relation, monkeypatch):
    """Parts are apart: a record is in one. A choice costs twice the exponent by which a record moves it."""
    coins, plans, choose, partition = Worst(), [], _search.choose, search.plan_partition
    monkeypatch.setattr(_search, "choose", lambda costs, eps, _: choose(costs, eps, coins))
    monkeypatch.setattr(_search, "cost", lambda fitted, _: round(fitted.l2 * SCORE))
    monkeypatch.setattr(_search, "plan_partition", lambda *facts: plans.append(partition(*facts)) or plans[-1])
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (400, 2))
    model = dplr.LogisticRegression(
        mechanism=dplr.FunctionalMechanism(ranges="off"), eps=eps, neighbouring=relation, n_rows=400
    )
    found = dplr.PrivateSearch(model, [{"l2": 1.0}, {"l2": 2.0}]).fit(X, X[:, 0] > 0)
    assert found.best_params_ == {"l2": 2.0}
    (moved,) = coins.exponents  # by one record of score 1
    assert 0.999 * eps <= 2 * moved <= Fraction(eps)
    assert found.privacy_.eps == eps
    assert 0.999 * eps <= max(eps_of(fit.statement) for fit in plans[0].planned) <= Fraction(eps)
