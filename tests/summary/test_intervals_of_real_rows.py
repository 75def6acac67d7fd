"""Intervals of samples of the American Community Survey hold the coefficients of all of it."""

import warnings

import pytest

import dplr
from bench.studies.acs_intervals import measure, population


@pytest.mark.thorough
@pytest.mark.realdata
@pytest.mark.parametrize("setting", [("linear", "robust", 10_000, 3.0), ("log odds", "", 10_000, 3.0)])
def test_intervals_hold_the_population(setting):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.DataWarning)
        _, _, _, _, _, coverage, worst, width, unsaid = measure(*setting, population(), fits=40)
    assert coverage > 0.9
    assert worst > 0.8
    assert 1.0 <= width < 2.0
    assert unsaid < 0.05
