"""The functional mechanism: plans are pure, releases are on their grid, the solution is the one FM12 describes."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dplr
import reference
from dplr.mechanisms.functional.moments import (
    best_weight,
    blocks,
    diagonal_deviation,
    joint_l2_sensitivity,
    joint_sensitivity,
    moment_matrix,
)
from dplr.mechanisms.functional.spec import FunctionalMechanism
from dplr.noise import Source
from dplr.privacy import sensitivity
from dplr.privacy.guarantees import Neighbouring, Pure
from dplr.problem.losses import LOGISTIC, SQUARED
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows
from dplr.solvers import adassp_ridge, solve_quadratic
from fits import often, once
from made_rows import make_data, make_groups, make_prep

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def problem_of(prep, loss=LOGISTIC, relation=Neighbouring.REPLACE_ONE, n_rows=500, l2=None):
    return Problem(loss, prep.geometry, relation, n_rows, l2, ())


def fitted(prep, X, y, eps=1.0, spec=None, seed=0, **facts):
    spec = spec or FunctionalMechanism(approximation="taylor")
    plan = spec.plan(problem_of(prep, **{"n_rows": len(X), **facts}), eps, 0.0)
    return plan, once(spec, ArrayRows(X, y, prep), plan, Source(seed=seed))


@pytest.mark.parametrize("kind", ["ball", "cube", "corner"])
@pytest.mark.parametrize("relation", list(Neighbouring))
@pytest.mark.parametrize("labels", [True, False])
def test_noise_free_release_is_the_exact_moments(kind, relation, labels):
    prep = make_prep(kind, 3, fit_intercept=kind != "corner", labels=labels)
    X, y = make_data(kind, 100, 3, labels=labels)
    loss = LOGISTIC if labels else SQUARED
    _, fit = fitted(prep, X, y, math.inf, relation=relation, loss=loss)
    exact = reference.moments(X, y, prep)
    cells = blocks(prep.geometry, counted=relation == "add_remove")
    for name, (rows, columns) in cells.items():
        assert_array_equal(fit.released[name], exact[rows, columns].astype(float) / 2**40)
    constant_cell = (3, 3) in set(zip(*map(np.ndarray.tolist, cells["diagonal"]), strict=True))
    assert constant_cell == (relation is Neighbouring.ADD_REMOVE and prep.geometry.intercept > 0)


@pytest.mark.parametrize("kind", ["ball", "cube"])
def test_released_numbers_lie_on_the_public_grid_and_differ_by_integer_noise(kind):
    prep = make_prep(kind, 3)
    X, y = make_data(kind, 100, 3)
    plan, fit = fitted(prep, X, y, 0.8)
    _, exact = fitted(prep, X, y, math.inf)
    for name, release in plan.statement.released.items():
        units = fit.released[name] / release.grid
        assert_array_equal(units, np.rint(units))
        assert math.log2(release.grid) == round(math.log2(release.grid))
        moved = np.abs(fit.released[name] - exact.released[name]) / release.scale
        assert 0.05 < moved.mean() < 5


@pytest.mark.parametrize(("eps", "count"), [(1.0, 4000)])
def test_noise_of_both_blocks_has_the_stated_scale(eps, count):
    """Mean |z| of Laplace noise is its scale."""
    prep = make_prep("cube", 2)
    X, y = make_data("cube", 50, 2)
    spec, rows = FunctionalMechanism(), ArrayRows(X, y, prep)
    plan = spec.plan(problem_of(prep, n_rows=50), eps, 0.0)
    _, exact = fitted(prep, X, y, math.inf)
    source = Source(seed=9)
    runs = [fit.released for fit in often(spec, rows, plan, source, count)]
    for name, release in plan.statement.released.items():
        moved = np.abs([run[name] - exact.released[name] for run in runs])
        assert moved.mean() == pytest.approx(release.scale, rel=5 / math.sqrt(moved.size))


@pytest.mark.parametrize(("loss", "labels"), [(LOGISTIC, True), (SQUARED, False)])
def test_without_noise_the_solution_minimises_the_polynomial_objective(loss, labels):
    """FM12: w minimises sum of -slope y x.w + curvature (x.w)^2 / 2 over the snapped rows."""
    prep = make_prep("cube", 4, labels=labels)
    X, y = make_data("cube", 400, 4, labels=labels)
    _, fit = fitted(prep, X, y, math.inf, loss=loss)
    rows = np.array([reference.snapped_row(x, prep) for x in X]) / 2**20
    rows = np.column_stack([rows, np.full(400, prep.geometry.intercept)])
    target = np.array([reference.snapped_target(value, prep) for value in y]) / 2**20
    expected = np.linalg.lstsq(rows, target * loss.slope / loss.curvature, rcond=None)[0]
    assert_allclose(fit.coef, expected, atol=1e-9)


def test_l2_is_the_ridge_of_the_mean_objective():
    """Gradient of mean loss + l2 ||w||^2 / 2 vanishes; l2 times n is what enters the sum."""
    prep = make_prep("cube", 3)
    X, y = make_data("cube", 300, 3)
    _, fit = fitted(prep, X, y, math.inf, l2=0.05)
    moments = reference.moments(X, y, prep).astype(float) / 2**40
    S, b = np.triu(moments)[:4, :4], moments[:4, 4]
    S = S + np.triu(S, 1).T
    gradient = (LOGISTIC.curvature * S @ fit.coef - LOGISTIC.slope * b) / 300 + 0.05 * fit.coef
    assert_allclose(gradient, 0, atol=1e-12)


@pytest.mark.parametrize("eps", [0.1, math.inf])
def test_whole_fit_does_not_depend_on_blocks_threads_order_or_layout(eps):
    prep = make_prep("cube", 5)
    X, y = make_data("cube", 9000, 5)
    spec = FunctionalMechanism()
    plan = spec.plan(problem_of(prep, n_rows=9000), eps, 0.0)
    expected = once(spec, ArrayRows(X, y, prep), plan, Source(seed=1)).coef
    order = np.random.default_rng(0).permutation(9000)
    for rows in [
        ArrayRows(X, y, prep, block_rows=1),
        ArrayRows(X, y, prep, block_rows=1000),
        ArrayRows(X, y, prep, block_rows=7, threads=2),
        ArrayRows(X[order], y[order], prep, block_rows=2**13, threads=2),
        ArrayRows(np.asfortranarray(X), y, prep, threads=2),
    ]:
        assert_array_equal(once(spec, rows, plan, Source(seed=1)).coef, expected)
    single = X.astype(np.float32)
    both = [once(spec, ArrayRows(data, y, prep), plan, Source(seed=1)).coef for data in (single, single.astype(float))]
    assert_array_equal(*both)


def test_planning_reads_no_rows(entropy, monkeypatch):
    monkeypatch.setattr("dplr.rows.ArrayRows.total", lambda *_: pytest.fail("a row was read"))
    plan = dplr.plan(n_rows=10, n_features=2, eps=0.5, mechanism="fm")
    assert plan.statement.guarantee == Pure(0.5)
    assert entropy.bytes == 0


def test_plan_and_fit_state_the_same_release():
    bounds = dplr.Bounds([(0, 1), (0, 9)])
    X, y = np.random.default_rng(0).random((50, 2)), np.arange(50) % 2
    est = dplr.fit(X, y, eps=0.5, bounds=bounds)
    plan = dplr.plan(n_rows=50, bounds=bounds, eps=0.5)
    assert dict(est.privacy_.released) == plan.released
    assert est.privacy_.calibration == plan.statement.calibration


def test_add_remove_never_uses_the_number_of_rows(monkeypatch):
    """The same released numbers give the same coefficients, whatever len(X) was."""
    bounds = dplr.Bounds([(0, 1), (0, 9)])
    plans = [
        dplr.plan(bounds=bounds, eps=0.5, neighbouring="add_remove", n_rows=n, mechanism="fm")
        for n in (None, 10, 10**6)
    ]
    assert len({str(sorted(plan.released.items())) for plan in plans}) == 1
    prep = make_prep("cube", 2)
    spec = FunctionalMechanism()
    coefs = []
    for n in (50, 5000):
        plan = spec.plan(problem_of(prep, relation=Neighbouring.ADD_REMOVE, n_rows=None), 1.0, 0.0)
        released = {
            "linear": np.ones(3),
            "diagonal": np.array([30.0, 40, 50]),
            "off_diagonal": np.array([1.0, 2, 3]),
        }
        assert plan.problem.n_rows is None
        coefs.append(spec.solve(plan, [released])[0])
        X, y = make_data("cube", n, 2)
        assert len(once(spec, ArrayRows(X, y, prep), plan, Source(seed=0)).released["diagonal"]) == 3
    assert_array_equal(*coefs)


def test_estimators_under_add_remove_say_nothing_of_the_number_of_rows():
    bounds = dplr.Bounds([(-1, 2), (-2, 3)])
    statements = []
    for n in (50, 51):
        X, y = make_data("cube", n, 2)
        est = dplr.fit(X, y, eps=1.0, bounds=bounds, neighbouring="add_remove", classes=(0, 1))
        statements.append(est.privacy_)
        assert not any(str(n) in fact for fact in est.privacy_.assumptions)
    assert statements[0] == statements[1]
    assert hash(statements[0]) == hash(statements[1])


def test_l2_under_add_remove_needs_a_public_reference():
    with pytest.raises(ValueError, match=r"`l2` needs a public number of rows; got 0\.1\. Declare n_rows="):
        dplr.plan(n_features=2, eps=1.0, neighbouring="add_remove", l2=0.1)
    dplr.plan(n_features=2, eps=1.0, neighbouring="add_remove", l2=0.1, n_rows=100)


def test_paper_calibration_is_the_printed_noise():
    """FM12: Lap(Delta/eps) on each coefficient of the polynomial, so 2 Delta/eps on S_xy and 8 Delta/eps on S_xx."""
    for model, linear, quadratic in [("logistic", 2.0, 8.0), ("linear", 0.5, 1.0)]:
        spec = FunctionalMechanism(calibration="paper")
        plan = dplr.plan(n_rows=9, n_features=5, eps=0.5, model=model, mechanism=spec, fit_intercept=False)
        delta = sensitivity.paper_replace_one(5, logistic=model == "logistic")
        assert plan.released["linear"].scale == pytest.approx(linear * delta / 0.5, rel=1e-5)
        assert plan.released["diagonal"].scale == pytest.approx(quadratic * delta / 0.5, rel=1e-5)
        assert "paper" in plan.statement.calibration


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_paper_calibration_of_levels_releases_every_cell_and_is_refitted_from_them(fit_intercept):
    bounds = dplr.Bounds([(0, 1), {"levels": [0, 1, 2]}])
    X = np.random.default_rng(0).integers(0, 3, (500, 2)) * [0.5, 1]
    spec = FunctionalMechanism(calibration="paper")
    est = dplr.fit(X, X[:, 0] > 0, eps=50.0, bounds=bounds, mechanism=spec, fit_intercept=fit_intercept)
    q = 4 + fit_intercept
    assert len(est.released_["off_diagonal"]) == q * (q - 1) // 2
    assert_array_equal(est.refit().coef_, est.coef_)


def test_tight_noise_is_many_times_smaller_than_the_papers():
    bounds = dplr.Bounds([(0, 1)] * 13)
    tight = dplr.plan(n_rows=9, bounds=bounds, eps=0.8, mechanism="fm").released
    paper = dplr.plan(n_rows=9, bounds=bounds, eps=0.8, mechanism=FunctionalMechanism(calibration="paper")).released
    assert paper["linear"].scale > 10 * tight["linear"].scale
    assert paper["diagonal"].scale > 40 * tight["diagonal"].scale


@pytest.mark.parametrize("kind", ["ball", "cube", "corner"])
@pytest.mark.parametrize("relation", list(Neighbouring))
def test_stated_scales_are_the_joint_sensitivity_over_eps(kind, relation):
    prep = make_prep(kind, 4, fit_intercept=kind != "corner")
    plan = FunctionalMechanism().plan(problem_of(prep, relation=relation), 0.7, 0.0)
    linear, quadratic = plan.released["linear"], plan.released["diagonal"]
    joint = joint_sensitivity(prep.geometry, relation, quadratic.weight)
    assert joint <= linear.sensitivity == quadratic.sensitivity == plan.statement.sensitivity <= joint * 1.0001
    assert linear.scale == pytest.approx(joint / 0.7, rel=1e-4)
    assert quadratic.scale == pytest.approx(joint / 0.7 / quadratic.weight, rel=1e-4)
    assert min(linear.scale, quadratic.scale * quadratic.weight) >= joint / 0.7
    # Exactly: each scale covers the joint sensitivity and one grid unit for every floored number of both blocks.
    floors = sum(Fraction(r.weight) * r.shape[0] * Fraction(r.grid) for r in plan.released.values() if r.grid > 2**-40)
    for block in plan.released.values():
        assert Fraction(block.scale) * Fraction(block.weight) * Fraction(0.7) >= Fraction(joint) + floors


def test_automatic_ridge_and_floor_are_the_stated_deviations_of_the_noise():
    """Released numbers are given, so the solution is known: S + 4 sd I, eigenvalues at most 4 sd dropped."""
    prep = make_prep("cube", 2, fit_intercept=False)
    plan = FunctionalMechanism().plan(problem_of(prep), 1.0, 0.0)
    deviation = math.sqrt(2) * plan.released["diagonal"].scale
    diagonal = np.array([10 * deviation, -deviation])
    released = {"linear": np.array([30.0, 50.0]), "diagonal": diagonal, "off_diagonal": np.zeros(1)}
    coef = FunctionalMechanism(approximation="taylor").solve(plan, [released])[0]
    assert_allclose(coef, [2 * 30.0 / (14 * deviation), 0.0])
    diagonal[1] = deviation
    assert_allclose(
        FunctionalMechanism(approximation="taylor").solve(plan, [released])[0][1], 2 * 50.0 / (5 * deviation)
    )


def test_weight_minimises_the_noise_of_the_gradient():
    prep = make_prep("cube", 13)
    light, heavy = (
        FunctionalMechanism(coef_norm=norm).plan(problem_of(prep), 1.0, 0.0).released["diagonal"].weight
        for norm in (0.1, 20.0)
    )
    assert light < FunctionalMechanism().plan(problem_of(prep), 1.0, 0.0).released["diagonal"].weight < heavy


def test_solution_has_minimal_norm_and_nothing_along_trimmed_directions():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    matrix = Q @ np.diag([-50.0, 1.0, 5.0, 20.0]) @ Q.T
    vector = np.ones(4)
    w = solve_quadratic(matrix, vector, ridge=2.0, floor=3.5)
    kept = Q[:, 2:]
    assert_allclose(Q[:, :2].T @ w, 0, atol=1e-12)
    assert_allclose(kept.T @ w, (kept.T @ vector) / [7.0, 22.0])


def test_everything_trimmed_gives_the_zero_model():
    assert_array_equal(solve_quadratic(-np.eye(3), np.ones(3), ridge=0.5, floor=1.0), np.zeros(3))


def test_rank_deficient_data_without_noise_get_the_minimal_norm_solution():
    """A duplicated column shares its weight; FM12 calls the matrix positive definite, which it then is not."""
    X, y = make_data("cube", 200, 1, labels=False)
    prep = make_prep("ball", 2, labels=False)
    doubled = np.column_stack([X, X]) / 10
    _, fit = fitted(prep, doubled, y, math.inf, loss=SQUARED)
    assert fit.coef[0] == pytest.approx(fit.coef[1], abs=1e-9)


@pytest.mark.parametrize(
    "bad", [{"calibration": "loose"}, {"ridge_deviations": -1}, {"floor_deviations": math.inf}, {"coef_norm": 1e160}]
)
def test_options_outside_their_range_are_refused(bad):
    with pytest.raises(ValueError, match=f"`{next(iter(bad))}` must be"):
        FunctionalMechanism(**bad)


def test_spec_and_plan_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        FunctionalMechanism().calibration = "paper"
    plan = dplr.plan(n_rows=10, n_features=2, eps=0.5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.statement.eps = 9.0
    with pytest.raises(TypeError):
        plan.statement.released["linear"] = None


def test_rerun_draws_until_the_matrix_is_positive_definite_at_half_of_eps_a_run():
    prep = make_prep("cube", 2, fit_intercept=False)
    X, y = make_data("cube", 60, 2)
    spec = FunctionalMechanism(unbounded="rerun", approximation="taylor")
    plan = spec.plan(problem_of(prep, n_rows=60), 1.0, 0.0)
    single = FunctionalMechanism().plan(problem_of(prep, n_rows=60), 0.5, 0.0)
    assert plan.released["diagonal"].scale == single.released["diagonal"].scale
    assert plan.statement.guarantee == Pure(1.0)
    assert "eps/2" in plan.statement.calibration
    source, used = Source(seed=2), []
    for _ in range(30):
        before = source.drawn
        fit = once(spec, ArrayRows(X, y, prep), plan, source)
        used.append(source.drawn - before)
        matrix, vector = moment_matrix(plan.problem, fit.released)
        assert np.linalg.eigvalsh(matrix)[0] > 0
        assert_allclose(fit.coef, np.linalg.solve(matrix, 2 * vector))
    assert max(used) > 2 * min(used)  # some were drawn again, and nothing of the fit tells which
    assert spec.run(ArrayRows(X, y, prep), plan, source).keys() == plan.released.keys()


def test_rerun_without_noise_ends_on_singular_data():
    spec = FunctionalMechanism(unbounded="rerun")
    assert_array_equal(dplr.fit(np.zeros((10, 2)), np.arange(10) % 2, eps=math.inf, mechanism=spec).coef_, [[0.0, 0.0]])


def test_rerun_is_refused_with_gaussian_noise_and_paper_constants_too():
    for spec in (FunctionalMechanism(unbounded="rerun"), FunctionalMechanism(calibration="paper")):
        with pytest.raises(ValueError, match="`delta` must be 0 with calibration='paper' and unbounded='rerun'"):
            dplr.plan(n_rows=9, n_features=2, eps=1.0, delta=1e-6, mechanism=spec)


@pytest.mark.parametrize("relation", list(Neighbouring))
def test_gaussian_blocks_have_the_stated_deviations_and_guarantee(relation):
    prep = make_prep("cube", 3)
    X, y = make_data("cube", 80, 3)
    spec = FunctionalMechanism()
    plan = spec.plan(problem_of(prep, relation=relation, n_rows=80), 1.0, 1e-6)
    weight = plan.released["diagonal"].weight
    joint = joint_l2_sensitivity(prep.geometry, relation, weight)
    mu = plan.statement.guarantee.mu
    assert mu == pytest.approx(1 / 4.2246788, rel=1e-5)
    for name, factor in [("linear", 1.0), ("diagonal", weight), ("off_diagonal", weight * math.sqrt(2))]:
        assert plan.released[name].scale == pytest.approx(joint / mu / factor, rel=1e-3)
        assert plan.released[name].scale * factor >= joint / mu * (1 - 1e-12)
    exact_plan = spec.plan(problem_of(prep, relation=relation), math.inf, 0.0)
    exact = once(spec, ArrayRows(X, y, prep), exact_plan, Source())
    source = Source(seed=8)
    runs = [once(spec, ArrayRows(X, y, prep), plan, source).released for _ in range(500)]
    for name, release in plan.released.items():
        moved = np.array([run[name] - exact.released[name] for run in runs])
        assert moved.std() == pytest.approx(release.scale, rel=4 / math.sqrt(2 * moved.size))
        units = np.array([run[name] for run in runs]) / release.grid
        assert_array_equal(units, np.rint(units))


GROUPS = ["n23", "2n4", "nn1", "33", "2", "m", "nm2mm", "p", "nq2", "mpp3", "c", "nd2", "emc3"]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("relation", list(Neighbouring))
@pytest.mark.parametrize("kinds", GROUPS)
def test_released_cells_and_the_identities_of_blocks_are_the_exact_moments(kinds, relation, fit_intercept):
    if not fit_intercept:
        kinds = kinds.replace("m", "n1")  # without one a mark is a block of its own
    prep, X, y = make_groups(kinds, 200, fit_intercept=fit_intercept)
    plan, fit = fitted(prep, X, y, math.inf, relation=relation)
    matrix, vector = moment_matrix(plan.problem, fit.released)
    exact = reference.moments(X, y, prep).astype(float) / 2**40
    exact = np.triu(exact) + np.triu(exact, 1).T
    assert_array_equal(matrix, exact[:-1, :-1])
    assert_array_equal(vector, exact[:-1, -1])


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("relation", list(Neighbouring))
def test_what_blocks_make_public_carries_no_noise_of_its_own(relation, delta):
    prep, X, y = make_groups("n23", 200)
    spec = FunctionalMechanism()
    plan = spec.plan(problem_of(prep, relation=relation, n_rows=200), 1.0, delta)
    count = relation is Neighbouring.ADD_REMOVE
    # Off the diagonal: 2 + 3 + 6 pairs of groups and 6 cells of the intercept.
    assert [release.shape[0] for release in plan.released.values()] == [7, 1 + count, 11 + 6]
    fit = once(spec, ArrayRows(X, y, prep), plan, Source(seed=0))
    matrix, _ = moment_matrix(plan.problem, fit.released)
    for first, last in ((1, 3), (3, 6)):
        block = matrix[first:last, first:last]
        assert_array_equal(block, np.diag(np.diag(block)))
        assert_array_equal(np.diag(block), matrix[first:last, 6] / prep.geometry.intercept * prep.geometry.half_width)


@pytest.mark.parametrize("relation", list(Neighbouring))
def test_of_shares_of_knots_every_cell_that_may_not_be_0_is_released(relation):
    """On the diagonal all of them; beside it two pairs of neighbours of each run, and none across runs or the mark."""
    prep, X, y = make_groups("nde", 200)
    problem = problem_of(prep, relation=relation, n_rows=200)
    plan, count = FunctionalMechanism().plan(problem, 1.0, 0.0), relation is Neighbouring.ADD_REMOVE
    # Off the diagonal: 4 + 6 + 24 pairs of groups, 2 + 4 of neighbours, and 11 cells of the intercept.
    assert [release.shape[0] for release in plan.released.values()] == [12, 11 + count, 34 + 6 + 11]
    fit = once(FunctionalMechanism(), ArrayRows(X, y, prep), plan, Source(seed=0))
    matrix, _ = moment_matrix(plan.problem, fit.released)
    beside = {(1, 2), (2, 3), (5, 6), (6, 7), (8, 9), (9, 10)}
    for first, last in ((1, 5), (5, 11)):
        found = np.argwhere(np.triu(matrix[first:last, first:last], 1)) + first
        assert {tuple(pair) for pair in found.tolist()} == {pair for pair in beside if first <= pair[0] < last}


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("relation", list(Neighbouring))
def test_what_marks_make_public_carries_no_noise_of_its_own(relation, delta):
    prep, X, y = make_groups("mn2", 200)
    spec = FunctionalMechanism()
    plan = spec.plan(problem_of(prep, relation=relation, n_rows=200), 1.0, delta)
    count = relation is Neighbouring.ADD_REMOVE
    # On the diagonal both numbers; off it 2 + 4 + 2 pairs of columns of different groups, and 5 cells of the intercept.
    assert [release.shape[0] for release in plan.released.values()] == [6, 2 + count, 8 + 5]
    fit = once(spec, ArrayRows(X, y, prep), plan, Source(seed=0))
    matrix, _ = moment_matrix(plan.problem, fit.released)
    assert matrix[0, 1] == 0
    assert matrix[1, 1] == matrix[1, 5] / prep.geometry.intercept * prep.geometry.half_width
    assert matrix[0, 0] == fit.released["diagonal"][0]


@pytest.mark.parametrize("relation", list(Neighbouring))
@pytest.mark.parametrize("kinds", GROUPS)
def test_stated_scales_are_those_of_the_groups_and_the_statement_names_them(kinds, relation):
    prep, _, _ = make_groups(kinds, 10)
    plan = FunctionalMechanism().plan(problem_of(prep, relation=relation), 0.7, 0.0)
    linear, quadratic = plan.released["linear"], plan.released["off_diagonal"]
    joint = joint_sensitivity(prep.geometry, relation, quadratic.weight)
    floors = sum(Fraction(r.weight) * r.shape[0] * Fraction(r.grid) for r in plan.released.values())
    for block in plan.released.values():
        assert Fraction(block.scale) * Fraction(block.weight) * Fraction(0.7) >= Fraction(joint) + floors
    assert linear.scale == pytest.approx(joint / 0.7, rel=1e-4)
    groups = f"L1 sensitivity {joint:.6g} of (linear, {quadratic.weight:.4g} quadratic), rows in {len(kinds)} groups"
    assert groups in plan.statement.calibration
    if prep.geometry.blocks:
        assert f"{len(prep.geometry.blocks)} one-hot blocks" in plan.statement.calibration
    if prep.geometry.marked:
        marks = f"({len(prep.geometry.marked)} with a column that marks missing values)"
        assert marks in plan.statement.calibration
    if prep.geometry.shared:
        assert f"{len(prep.geometry.shared)} blocks of products" in plan.statement.calibration
    if prep.geometry.hats:
        assert f"{len(prep.geometry.hats)} blocks of shares of knots" in plan.statement.calibration


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_ridge_of_columns_without_a_diagonal_cell_is_that_of_others(delta):
    """All columns one-hot beside an intercept: the deviation that a diagonal cell would have had."""
    prep, X, y = make_groups("33", 500)
    spec = FunctionalMechanism(approximation="taylor")
    plan = spec.plan(problem_of(prep), 50.0, delta)
    assert list(plan.released) == ["linear", "off_diagonal"]
    fit = once(spec, ArrayRows(X, y, prep), plan, Source(seed=0))
    block = plan.released["linear"]
    deviation = block.deviation / best_weight(prep.geometry, Neighbouring.REPLACE_ONE, spec.coef_norm, delta > 0)[0]
    matrix, vector = moment_matrix(plan.problem, fit.released)
    assert_allclose(fit.coef, solve_quadratic(matrix, 2 * vector, 4 * deviation, 4 * deviation), rtol=1e-4)


def test_printed_constants_know_no_layout():
    """Cells and noise of FM12 stay what they are without blocks."""
    prep, _, _ = make_groups("nm3pd", 10)
    alone = dataclasses.replace(prep.geometry, blocks=(), marked=(), shared=(), hats=())
    plain = dataclasses.replace(prep, geometry=alone)
    spec = FunctionalMechanism(calibration="paper")
    with_blocks, without = (spec.plan(problem_of(p), 1.0, 0.0).statement for p in (prep, plain))
    assert with_blocks == without


# AdaSSP


def test_the_ridge_of_adassp_lifts_the_smallest_eigenvalue_to_what_noise_may_take():
    reach = 3.0 / math.sqrt(2) * math.sqrt(2 * math.log(2 * 4 / 0.05))
    for least, ridge in ((-5.0, reach), (0.0, reach), (1.5 * reach, reach / 2), (2 * reach, 0.0), (99.0, 0.0)):
        assert adassp_ridge(np.diag([least, 100.0]), 3.0) == pytest.approx(ridge, abs=1e-12)


def test_adassp_solves_the_release_that_fm_has_with_that_ridge_and_says_so():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (300, 3))
    y = np.clip(X @ (0.5, -0.3, 0.2) + rng.normal(0, 0.1, 300), -1, 1)
    own = FunctionalMechanism(unbounded="adassp", noise="gaussian")
    est = dplr.LinearRegression(eps=1.0, delta=1e-6, mechanism=own, fit_intercept=False).fit(X, y)
    plan, released = est._record.plan, est._record.parts[0]
    usual = FunctionalMechanism(noise="gaussian").plan(plan.problem, 1.0, 1e-6)
    assert plan.statement.released == usual.statement.released  # the same noise: all else is computed from it
    matrix, vector = moment_matrix(plan.problem, released)
    ridge = adassp_ridge(matrix, diagonal_deviation(plan.statement.released))
    assert ridge > 0
    assert_allclose(est.coef_, np.linalg.solve(matrix + ridge * np.eye(3), vector), rtol=1e-9)
    assert any("shrunk by the ridge of AdaSSP" in said for said in est.privacy_.solution)
