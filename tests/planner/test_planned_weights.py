"""What weights and persons cost, told before a row is read."""

import numpy as np
import pytest

import dplr
from dplr.fitting.data import read
from dplr.planner import simulation

FACTS = {"n_rows": 4000, "eps": [0.5], "delta": [0.0], "n_features": 3, "mechanism": "fm"}


def distance(**options):
    """How far the coefficients of the simulated fits lie from those without privacy."""
    curve = dplr.plan_curve(**{**FACTS, "n_rows": [4000]}, **options)
    (point,) = curve.points
    return curve.typical(point), curve


def test_a_maximum_far_above_the_mean_weight_costs_what_fewer_rows_cost():
    guess = dplr.planner.Assumptions(mean_weight=100, tables=4, fits=4)
    tight, curve = distance(bounds=dplr.Bounds(None, weight_max=100), assume=guess)
    loose, _ = distance(bounds=dplr.Bounds(None, weight_max=1000), assume=guess)
    assert loose > 2 * tight
    assert "every row has the weight 100, of at most 100" in curve.assumptions


def test_without_a_mean_weight_half_of_the_maximum_is_assumed():
    _, curve = distance(bounds=dplr.Bounds(None, weight_max=10), assume=dplr.planner.Assumptions(tables=2))
    assert "every row has the weight 5, of at most 10" in curve.assumptions


def test_persons_of_a_plan_are_simulated_as_persons(monkeypatch):
    seen = []

    def recorded(*given, **more):
        seen.append(read(*given, **more))
        return seen[-1]

    monkeypatch.setattr(simulation, "read", recorded)
    _, curve = distance(person="id", assume=dplr.planner.Assumptions(tables=2))
    assert "every person has one row, which counts whole" in curve.assumptions
    assert all(np.array_equal(data.ids, np.arange(4000)) for data in seen)
    assert seen


def test_a_mean_weight_must_be_positive():
    with pytest.raises(ValueError, match=r"`mean_weight` must be .*positive"):
        dplr.planner.Assumptions(mean_weight=0)


def test_no_weight_is_simulated_where_none_is_planned():
    _, curve = distance(assume=dplr.planner.Assumptions(tables=2, mean_weight=3))
    assert not any("weight" in fact for fact in curve.assumptions)
