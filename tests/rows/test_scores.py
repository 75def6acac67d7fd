"""Scores of models on private rows: whole numbers, each a function of one record alone."""

import numpy as np
import pytest

from dplr.privacy.selection import SCORE_UNITS
from dplr.rows import LabelRule, as_target
from dplr.rows.scores import errors, linear, squared_errors


def random_case(rng):
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 9))
    return rng.normal(size=(n, d)), rng.normal(size=(1, d)), rng.normal(size=1)


def test_a_margin_has_the_same_bits_whatever_rows_lie_beside_it():
    rng = np.random.default_rng(0)
    for _ in range(50):
        rows, coef, intercept = random_case(rng)
        every = linear(rows, coef, intercept)
        np.testing.assert_allclose(every[:, 0], rows @ coef[0] + intercept[0], rtol=1e-12, atol=1e-12)
        for place in range(len(rows)):
            np.testing.assert_array_equal(every[place], linear(rows[place : place + 1].copy(), coef, intercept)[0])


@pytest.mark.parametrize("classes", [(0, 1), (-1, 1), ("a", "b"), ("a", "b", "c")])
def test_errors_are_counted_record_by_record(classes):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(30, 1 if len(classes) == 2 else 3))
    y = rng.choice(np.array(classes), 30)
    labels = LabelRule(classes).of(as_target(y))
    predicted = labels.classes[(values[:, 0] > 0).astype(int) if len(classes) == 2 else values.argmax(axis=1)]
    assert errors(values, labels) == int((predicted != y).sum()) * SCORE_UNITS


def test_one_record_changes_a_sum_of_scores_by_at_most_a_unit_and_reaches_it():
    rng, largest = np.random.default_rng(2), 0
    for _ in range(200):
        values, y = rng.normal(scale=2, size=(10, 1)), rng.normal(scale=2, size=10)
        other_values, other_y = values.copy(), y.copy()
        other_values[3], other_y[3] = rng.choice([-1e300, -1.0, 0.3, np.inf, np.nan]), rng.choice([1.0, -1.0, np.nan])
        one, other = squared_errors(values, y, (-1, 1)), squared_errors(other_values, other_y, (-1, 1))
        less = squared_errors(np.delete(values, 3, axis=0), np.delete(y, 3), (-1, 1))
        assert abs(one - other) <= SCORE_UNITS
        assert 0 <= one - less <= SCORE_UNITS
        largest = max(largest, abs(other - less))
    assert largest == SCORE_UNITS


def test_squared_errors_are_shares_of_the_declared_range():
    assert squared_errors(np.array([[15.0], [99.0]]), np.array([10.0, 20.0]), (10, 20)) == SCORE_UNITS // 4
