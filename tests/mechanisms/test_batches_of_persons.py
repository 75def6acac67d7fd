"""Poisson batches of noisy gradient descent: whole persons come and go, each by itself, with the odds of the plan.

Row j has one number that is not 0, in column j. Without noise, released gradients show which rows each batch had.
"""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import dplr
from declared_units import declared

PERSONS, STEPS, BATCH = 12, 600, 4
ROWS_OF = (1, 2, 3) * (PERSONS // 3)  # rows of each person
LARGEST = 5.0  # deviations


def batches(ids, **options):
    """(STEPS, rows) whether each batch had each row."""
    n = len(ids)
    X = pd.DataFrame(np.eye(n), columns=[f"x{j}" for j in range(n)])
    bounds = dplr.Bounds(dict.fromkeys(X.columns, (-1, 1)))
    spec = dplr.NoisyGradientDescent(steps=STEPS, batch=BATCH, learning_rate=1e-9, clip=2.0)
    facts = {"eps": math.inf, "mechanism": spec, "bounds": bounds, "classes": (0, 1), "fit_intercept": False, "rng": 3}
    fit = dplr.fit(X.assign(id=ids) if "person" in options else X, np.ones(n), **declared(facts | options))
    return fit.released_["gradients"] != 0


def check_odds(units):
    """Each unit is in with odds BATCH / PERSONS, whichever others are, and whatever the batch before had."""
    rate, steps = BATCH / PERSONS, len(units)
    deviation = math.sqrt(rate * (1 - rate))
    shares = units.mean(axis=0)
    assert np.abs(shares - rate).max() * math.sqrt(steps) < LARGEST * deviation
    assert abs(units.sum(axis=1).mean() - BATCH) * math.sqrt(steps * PERSONS) < LARGEST * deviation * PERSONS
    centred = (units - rate) / deviation
    for first, second in itertools.combinations(range(PERSONS), 2):
        assert abs((centred[:, first] * centred[:, second]).mean()) * math.sqrt(steps) < LARGEST + 1
    assert np.abs((centred[1:] * centred[:-1]).mean(axis=0)).max() * math.sqrt(steps) < LARGEST + 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("order", ["together", "apart"])
def test_all_rows_of_a_person_are_in_a_batch_or_none_is(order):
    ids = np.repeat(np.arange(PERSONS), ROWS_OF)
    if order == "apart":
        ids = np.random.default_rng(0).permutation(ids)
    rows = batches(ids, person="id", rows_per_person=3)
    persons = np.stack([rows[:, ids == person].any(axis=1) for person in range(PERSONS)], axis=1)
    for person in range(PERSONS):
        assert (rows[:, ids == person] == persons[:, [person]]).all()
    check_odds(persons)


@pytest.mark.filterwarnings("ignore")
def test_without_persons_each_row_is_in_a_batch_by_itself():
    check_odds(batches(np.arange(PERSONS)))
