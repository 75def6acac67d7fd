"""Statistics below a table where degrees of freedom and the noise of a count are a large part of them."""

import math
import warnings

import numpy as np
import pytest

import dplr
from dplr.inference.determination import Squares, explained, residual_deviation
from dplr.summary.statistics import ADJUSTED, ALL_SLOPES, R_SQUARED
from paid_people import BOUNDS, TARGET, people


def exact(table, pay, bounds):
    declared = dplr.Bounds(bounds, target=TARGET)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        return dplr.fit(table, pay, eps=math.inf, model="linear", mechanism="fm", bounds=declared).summary()


def test_degrees_of_freedom_are_those_of_least_squares():
    table, pay = people(40)
    table = table[["age", "hours"]]
    X = np.column_stack([table, np.ones(40)])
    residuals = pay - X @ np.linalg.lstsq(X, pay, rcond=None)[0]
    share = 1 - residuals @ residuals / np.sum((pay - pay.mean()) ** 2)
    summary = exact(table, pay, {name: BOUNDS[name] for name in table})
    found = {statistic.name: statistic.estimate for statistic in summary.fit_statistics}
    assert found[R_SQUARED] == pytest.approx(share, rel=1e-4)
    assert found[ADJUSTED] == pytest.approx(1 - (1 - share) * 39 / 37, rel=1e-4)


def test_a_column_that_is_all_of_the_model_is_tested_once():
    table, pay = people()
    tests = exact(table[["work"]], pay, {"work": BOUNDS["work"]}).tests
    assert [(test.name, test.dof) for test in tests] == [(ALL_SLOPES, 2)]


def test_the_residual_deviation_is_as_uncertain_as_the_count_of_the_rows():
    """A count that is off by a share moves the variance by that share, and nothing else here."""
    matrix, noise = np.diag([20.0, 50.0, 50.0]), np.zeros((3, 3))
    matrix[0, 1] = matrix[1, 0] = 10.0
    half = {}
    for deviation in (0.0, 3.0):
        noise[-1, -1] = deviation**2
        middle, low, high = residual_deviation(Squares(matrix, noise.copy(), np.zeros(3), 50.0, True, False), 0.95)
        half[deviation] = (high**2 - low**2) / 2
    assert middle**2 == pytest.approx((20 - 10 * 10 / 50) / 48)
    added = (half[3.0] ** 2 - half[0.0] ** 2) / 1.959964**2
    assert added == pytest.approx((3.0 * middle**2 / 48) ** 2, rel=1e-4)


def test_columns_that_differ_by_rounding_alone_say_nothing():
    matrix = np.array([[20.0, 10.0, 10.0], [10.0, 50.0, 50.0], [10.0, 50.0, 50.0 + 5e-14]])
    squares = Squares(matrix, np.zeros((3, 3)), np.zeros(3), 50.0, False, False)
    assert matrix[2, 2] > 50.0
    assert math.isnan(residual_deviation(squares, 0.95)[0])
    assert math.isnan(explained(squares, 0.95)[0])
