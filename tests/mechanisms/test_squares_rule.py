"""When squares of the score are released, and how much of a row they count: functions of public facts alone."""

import math

import numpy as np
import pytest

import dplr
from dplr.mechanisms.perturbation import hessian
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.geometry import Geometry
from dplr.problem.losses import LOGISTIC
from dplr.problem.problem import Problem


def problem(n_rows, d=4, relation=Neighbouring.REPLACE_ONE):
    return Problem(LOGISTIC, Geometry(d, half_width=d**-0.5, intercept=0.5), relation, n_rows, None, ())


@pytest.mark.parametrize("relation", list(Neighbouring))
@pytest.mark.parametrize("d", [1, 4, 30])
def test_they_are_released_from_where_their_noise_is_an_eighth_of_their_expectation(d, relation):
    """x = n eps_3 / (sqrt 2 Delta) >= 256 q."""
    edge = 256 * (d + 1) * math.sqrt(2) * relation.records_changed / hessian.SQUARES_SHARE
    for n_rows in (1_000, 20_000, 10**6):
        assert hessian.squares_share(problem(n_rows, d, relation), 0.999 * edge / n_rows) == 0
        assert hessian.squares_share(problem(n_rows, d, relation), 1.001 * edge / n_rows) == hessian.SQUARES_SHARE


def test_more_coefficients_than_the_kernel_sums_along_have_none_before_anything_is_spent():
    assert hessian.squares_share(problem(1000, 4095), 1e6) == hessian.SQUARES_SHARE
    assert hessian.squares_share(problem(1000, 4096), 1e6) == 0


def test_with_more_rows_both_the_noise_and_what_is_cut_shrink():
    noise, caps = [], []
    for n_rows in (20_000, 200_000, 2_000_000):
        deviation = math.sqrt(2) * 2 / (hessian.SQUARES_SHARE * 3.0)
        caps.append(hessian.largest(deviation, n_rows, 5))
        noise.append(caps[-1] * deviation / n_rows)
    assert noise == sorted(noise, reverse=True)
    assert caps == sorted(caps)
    assert hessian.largest(0.0, 100, 5) == 100


def test_a_table_without_a_public_number_of_rows_is_refused_before_it_is_asked_for_squares():
    with pytest.raises(ValueError, match="`n_rows` is required"):
        dplr.plan(
            eps=3.0, n_features=3, neighbouring="add_remove", mechanism=dplr.ObjectivePerturbation(intervals="on")
        )


def axes_of(matrix, plan):
    released = {"hessian_diagonal": np.diag(matrix), "hessian_off_diagonal": matrix[np.triu_indices(3, 1)]}
    return hessian.axes(plan, released)


def test_eigenvalues_that_noise_makes_small_or_negative_count_as_noise():
    plan = dplr.ObjectivePerturbation(intervals="on").plan(problem(100_000, 2), 5.0, 0.0)
    along, least = axes_of(np.diag([-3.0, 0.5, 9000.0]), plan), 3 * hessian.deviation(plan)
    assert 0.5 < least < 9000
    cap = hessian.largest(plan.statement.released[hessian.SQUARES].deviation, 100_000, 3)
    assert along.lengths**2 * cap / 100_000 == pytest.approx([1 / least, 1 / least, 1 / 9000])
    sampled = along.sampling(np.array([0.0, 0.0, 2 * 100_000 / cap]))
    assert np.diag(sampled) == pytest.approx([0.0, 0.5, 18000.0])


def test_where_no_eigenvectors_are_computed_the_axes_are_those_of_the_columns(monkeypatch):
    """A fit that has paid for its coefficients is not lost."""

    def fails(matrix):
        raise np.linalg.LinAlgError

    plan = dplr.ObjectivePerturbation(intervals="on").plan(problem(100_000, 2), 5.0, 0.0)
    monkeypatch.setattr(np.linalg, "eigh", fails)
    along = axes_of(np.array([[4.0, 1.0, 0.0], [1.0, 9.0, 0.0], [0.0, 0.0, 900.0]]), plan)
    assert along.vectors.tolist() == np.eye(3).tolist()
    assert along.values.tolist() == [4.0, 9.0, 900.0]
