"""Squared residuals for pure noise: their sensitivity, what both parts cost, and intervals where variances differ."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import dplr
from dplr.mechanisms.equations import largest_residual, meat_cells, meat_l1_sensitivity, meat_l2_sensitivity
from dplr.mechanisms.functional import moments as fm_moments
from dplr.privacy import calibration
from dplr.privacy.guarantees import Neighbouring, Pure
from dplr.problem.cells import second_moments
from dplr.problem.geometry import Geometry
from dplr.problem.losses import SQUARED
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows
from dplr.rows.exact import on_coef_grid
from dplr.rows.scores_at import meat_moments
from specs import spec_with

ROBUST = dplr.FunctionalMechanism(intervals="robust")
GEOMETRIES = {
    "cube": Geometry(3, half_width=1 / math.sqrt(3), intercept=0.5),
    "cube without intercept": Geometry(3, half_width=1 / math.sqrt(3)),
    "groups": Geometry(4, half_width=1 / math.sqrt(3), intercept=0.5, blocks=((2, 2),)),
    "one number": Geometry(1, half_width=1.0, intercept=0.5),
}


def corners(rng, geometry, count):
    """Rows at the corners of their domain, where the sums move most."""
    rows = geometry.half_width * rng.choice([-1.0, 1.0], (count, geometry.d))
    for first, size in geometry.blocks:
        rows[:, first : first + size] = geometry.half_width * np.eye(size)[rng.integers(0, size, count)]
    return rows


@pytest.mark.parametrize("relation", list(Neighbouring))
@pytest.mark.parametrize("name", GEOMETRIES)
def test_squared_residuals_move_by_at_most_their_sensitivity_and_nearly_that(name, relation):
    geometry, rng = GEOMETRIES[name], np.random.default_rng(0)
    stated = meat_l1_sensitivity(Problem(SQUARED, geometry, relation, 1000, None, ()))

    def cells(rows, share):
        v = np.column_stack([rows, np.full((len(rows), int(geometry.intercept > 0)), geometry.intercept)])
        v = np.trunc(share[:, None] * v * 2**20) / 2**20
        return [(v[:, i] * v[:, j]) for i, j in second_moments(geometry, counted=True).values()]

    found = 0.0
    for _ in range(20):
        rows, others = corners(rng, geometry, 4000), corners(rng, geometry, 4000)
        share, other = rng.choice([1.0, 1.0, 0.3], 4000), rng.choice([0.0, 1.0, 0.7], 4000)
        other = other if relation is Neighbouring.REPLACE_ONE else np.zeros(4000)
        pairs = zip(cells(rows, share), cells(others, other), strict=True)
        found = max(found, float(sum(np.abs(a - b).sum(axis=1) for a, b in pairs).max()))
    assert 0.97 * stated <= found <= stated


@pytest.mark.parametrize("eps", [0.1, 0.7, 1.0, 3.3])
def test_both_parts_of_a_pure_release_cost_eps_together(eps):
    left = eps * (1 - fm_moments.MEAT_SHARE)
    plan = dplr.plan(n_rows=10_000, n_features=3, eps=eps, mechanism=ROBUST)
    assert plan.statement.guarantee == Pure(eps)
    assert plan.statement.source.endswith("theorem 8")
    alone = dplr.plan(n_rows=10_000, n_features=3, eps=left, mechanism="fm")
    assert {name: block for name, block in plan.released.items() if name in alone.released} == alone.released
    block = plan.released["meat_diagonal"]
    rest = calibration.rest_of(eps, left)
    assert block.law == "discrete Laplace"
    assert Fraction(left) + Fraction(rest) <= Fraction(eps)
    assert block.sensitivity >= meat_l1_sensitivity(plan.problem)
    assert block.scale >= block.sensitivity / rest * (1 - 1e-12)


def fitted_to_six_columns(eps=1.0, **options):
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 1, (2000, 6))
    y = X[:, 0] - X[:, 1] + rng.uniform(-0.5, 0.5, 2000)
    bounds = dplr.Bounds([(0, 1)] * 6, target=(-2, 2))
    return X, y, dplr.fit(X, y, eps=eps, model="linear", bounds=bounds, mechanism=ROBUST, **options)


@pytest.mark.parametrize("delta", [0.0, 4e-4])
def test_every_block_has_noise_of_its_own(delta):
    """Also those of the squared residuals, at the point that was released."""
    X, y, est = fitted_to_six_columns(delta=delta)
    record, exact = est._record, fitted_to_six_columns(eps=math.inf)[2].released_
    geometry, released = record.plan.problem.geometry, record.parts[0]
    query = meat_moments(geometry.d, True, geometry.row_norm, largest_residual(record.plan.problem))
    point = on_coef_grid(ROBUST._least_squares(record.plan, released))
    squares = ArrayRows(X, y, record.prep).total(query, point).integers(-40) * 2.0**-40
    exact = exact | {name: squares[cells] for name, cells in meat_cells(record.plan.problem).items()}
    noises = {name: released[name] - exact[name] for name in released if len(released[name]) > 1}
    assert len(noises) == 5
    assert all(np.std(noise) > 1e-3 * record.plan.statement.released[name].deviation for name, noise in noises.items())
    for one, other in itertools.combinations(noises.values(), 2):
        size = min(len(one), len(other))
        assert abs(np.corrcoef(one[:size], other[:size])[0, 1]) < 1 - 1e-6


def test_squared_residuals_are_those_of_the_solution_that_was_released(monkeypatch):
    points = []
    monkeypatch.setattr("dplr.mechanisms.squares.on_coef_grid", lambda coef: points.append(coef) or on_coef_grid(coef))
    record = fitted_to_six_columns()[2]._record
    (point,) = points
    np.testing.assert_array_equal(point, ROBUST._least_squares(record.plan, record.parts[0]))


def test_pure_noise_is_taken_where_it_is_smaller_than_that_for_the_delta():
    few, many = (
        dplr.plan(n_rows=10_000, eps=1.0, delta=1e-6, mechanism=ROBUST, bounds={f"x{j}": (0, 1) for j in range(count)})
        for count in (2, 30)
    )
    assert (few.statement.delta, many.statement.delta) == (0.0, 1e-6)


def test_noise_that_is_drawn_anew_has_no_squared_residuals():
    spec = dplr.FunctionalMechanism(intervals="robust", unbounded="rerun")
    with pytest.raises(ValueError, match="`intervals` must be 'on' or 'off' with unbounded='rerun'"):
        dplr.plan(n_rows=1000, n_features=2, eps=1.0, mechanism=spec)


def test_without_noise_the_errors_are_those_of_a_sandwich():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.uniform(0, 1, 4000), rng.random(4000) < 0.1]).astype(float)
    y = X @ [1.0, 2.0] + (0.1 + 2 * X[:, 1]) * rng.uniform(-1, 1, 4000)
    bounds = dplr.Bounds([(0, 1), (0, 1)], target=(-5, 5))
    est = dplr.fit(X, y, eps=math.inf, model="linear", bounds=bounds, mechanism="fm", aim="coefficients")
    D = np.column_stack([X, np.ones(len(X))])
    bread = np.linalg.inv(D.T @ D)
    residuals = y - D @ (bread @ (D.T @ y))
    errors = np.sqrt(np.diag(bread @ ((D * residuals[:, None] ** 2).T @ D) @ bread))
    assert [line.std_error for line in est.summary().lines] == pytest.approx(errors, rel=1e-3)


def test_without_noise_the_errors_of_a_share_are_those_of_a_sandwich():
    """Labels are -1 and 1 and residuals up to 2, and the table is about probabilities."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.uniform(0, 1, 4000), rng.random(4000) < 0.1]).astype(float)
    y = (rng.random(4000) < 0.2 + 0.3 * X[:, 0] + 0.2 * X[:, 1]).astype(int)
    spec = dplr.FunctionalMechanism(intervals="robust")
    est = dplr.fit(X, y, eps=math.inf, model="logistic", bounds=dplr.Bounds([(0, 1), (0, 1)]), mechanism=spec)
    D = np.column_stack([X, np.ones(len(X))])
    bread = np.linalg.inv(D.T @ D)
    residuals = y - D @ (bread @ (D.T @ y))
    errors = np.sqrt(np.diag(bread @ ((D * residuals[:, None] ** 2).T @ D) @ bread))
    assert [line.std_error for line in est.summary().lines] == pytest.approx(errors, rel=1e-3)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:rng is set")
def test_pure_intervals_hold_a_flag_with_a_larger_variance_as_often_as_they_say():
    rng, held = np.random.default_rng(2), {"robust": [], "on": []}
    bounds = dplr.Bounds([(0, 1), (0, 1)], target=(-8, 8))
    for seed in range(100):
        X = np.column_stack([rng.uniform(0, 1, 20_000), rng.random(20_000) < 0.05]).astype(float)
        y = X @ [1.0, 2.0] + (0.1 + 3 * X[:, 1]) * rng.uniform(-1, 1, len(X))
        for intervals, found in held.items():
            spec = dplr.FunctionalMechanism(intervals=intervals)
            est = dplr.LinearRegression(eps=20.0, bounds=bounds, mechanism=spec_with(spec, "off"), rng=seed).fit(X, y)
            low, high = est.conf_int()["column 1"]
            found.append(low <= 2.0 <= high)
    assert np.mean(held["robust"]) >= 0.9
    assert np.mean(held["on"]) <= 0.8  # equal variances do not hold here: the test can fail


@pytest.mark.parametrize(("neighbouring", "factor"), [("add_remove", 1.0), ("replace_one", math.sqrt(2))])
def test_squares_of_scores_have_the_norm_of_the_longest_row_with_its_constant(neighbouring, factor):
    """One row adds u^2 v v', of norm u^2 |v|^2: u is up to 3 here, and v has the intercept's constant."""
    facts = {"model": "linear", "neighbouring": neighbouring, "mechanism": "fm"}
    problem = dplr.plan(n_rows=1000, n_features=2, eps=1.0, **facts).problem
    v = np.array([0.0, problem.geometry.radius, problem.geometry.intercept])
    one = float(np.linalg.norm(9 * np.outer(v, v)))
    assert meat_l2_sensitivity(problem, 3.0) == pytest.approx(factor * one, rel=1e-9)
