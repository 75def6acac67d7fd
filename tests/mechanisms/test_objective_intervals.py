"""Objective perturbation with the Hessian beside its coefficients: what it costs, and that its intervals hold."""

import math
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from pyarrow import dataset
from scipy import optimize, special

import dplr
from declared_units import declared
from dplr.auditor.sampled import eps_lower_bound
from dplr.bounds.scaling import box_prep
from dplr.inference.intervals import intervals
from dplr.inference.sampling import positive_part
from dplr.mechanisms.perturbation import hessian
from dplr.noise import Source
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.cells import second_moments
from dplr.problem.geometry import Geometry
from dplr.problem.losses import LOGISTIC
from dplr.rows import ArrayRows
from dplr.rows.exact import on_coef_grid
from sensitivity_search import random_rows

ON = dplr.ObjectivePerturbation(intervals="on")
TRUTH = np.array([-1.0, 0.5, 1.5, 0.3])


def made(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    return X, rng.random(n) < special.expit(X @ TRUTH[:3] + TRUTH[3])


def fitted(eps, seed=None, n=10_000, rows=0, **options):
    X, y = made(n, rows)
    bounds = dplr.Bounds([(-1, 1)] * 3, target=(False, True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        return dplr.fit(X, y, eps=eps, mechanism=ON, bounds=bounds, rng=seed, **options)


def maximum(X, y):
    """The logistic maximum and its standard errors."""
    design, signs = np.column_stack([X, np.ones(len(X))]), 2.0 * y - 1

    def loss(w):
        margins = signs * (design @ w)
        return np.logaddexp(0, -margins).sum(), -design.T @ (signs * special.expit(-margins))

    found = optimize.minimize(loss, np.zeros(4), jac=True, method="BFGS", options={"gtol": 1e-6}).x
    p = special.expit(design @ found)
    return found, np.sqrt(np.diag(np.linalg.inv((design * (p * (1 - p))[:, None]).T @ design)))


def test_without_noise_the_table_is_that_of_the_maximum():
    X, y = made(10_000, 0)
    coef, errors = maximum(X, y)
    lines = fitted(math.inf).summary().lines
    assert [line.estimate for line in lines] == pytest.approx(coef, abs=1e-3)
    assert [line.std_error for line in lines] == pytest.approx(errors, rel=1e-2)


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
@pytest.mark.parametrize("eps", [0.1, 0.7, 1.0, 3.3, 10.0])
def test_all_parts_together_cost_eps(eps, relation):
    plan = dplr.plan(n_rows=10_000, n_features=3, eps=eps, mechanism=ON, neighbouring=relation)
    assert plan.statement.eps == eps
    squared = hessian.squares_share(plan.problem, eps)
    assert (squared > 0) == (eps * plan.problem.n_rows > 29_000 / (1 + (relation == "add_remove")))
    model = hessian.model_share(plan.problem, eps)
    assert model == pytest.approx((0.6 - squared) * eps)
    alone = dplr.plan(
        n_rows=10_000, n_features=3, eps=model, mechanism=dplr.ObjectivePerturbation(cut=None), neighbouring=relation
    )
    assert plan.released["coef"] == alone.released["coef"]
    spent = Fraction(model)
    for name, share in (
        ("hessian_diagonal", hessian.SHARE),
        *([(hessian.SQUARES, hessian.SQUARES_SHARE)] if squared else []),
    ):
        block = plan.released[name]
        assert block.scale * (1 - 1e-6) <= block.sensitivity / (share * eps) <= block.scale * (1 + 1e-6)
        spent += Fraction(block.sensitivity) * (1 - Fraction(2) ** -50) / Fraction(block.scale)
    assert spent <= Fraction(eps)
    assert (hessian.SQUARES in plan.released) == (squared > 0)


def test_a_statement_says_what_the_squares_are_and_get():
    said = dplr.plan(n_rows=10_000, n_features=3, eps=10.0, mechanism=ON).statement.calibration
    assert "10 % of eps for squares of the score, L1 sensitivity 2" in said
    assert dplr.plan(n_rows=10_000, n_features=3, eps=10.0, mechanism=ON).statement.source.endswith(
        "theorem 8 for all parts"
    )
    assert "squares" not in dplr.plan(n_rows=10_000, n_features=3, eps=1.0, mechanism=ON).statement.calibration


GEOMETRIES = {
    "cube": Geometry(3, half_width=1 / math.sqrt(3), intercept=0.5),
    "cube without intercept": Geometry(3, half_width=1 / math.sqrt(3)),
    "groups": Geometry(4, half_width=1 / math.sqrt(3), intercept=0.5, blocks=((2, 2),)),
    "shares": Geometry(5, half_width=1 / math.sqrt(2), intercept=0.5, hats=((1, 4, 3),)),
    "one number": Geometry(1, half_width=1.0, intercept=0.5),
}


@pytest.mark.parametrize("relation", list(Neighbouring))
@pytest.mark.parametrize("name", GEOMETRIES)
def test_the_hessian_moves_by_at_most_its_sensitivity_and_nearly_that(name, relation):
    geometry, rng = GEOMETRIES[name], np.random.default_rng(0)
    stated = hessian.moved_by_records(geometry, relation)

    def cells(rows, h):
        v = np.column_stack([rows, np.full((len(rows), int(geometry.intercept > 0)), geometry.intercept)])
        outer = h[:, None, None] * v[:, :, None] * v[:, None, :]
        return [outer[:, i, j] for i, j in second_moments(geometry, counted=True).values()]

    found = 0.0
    for _ in range(20):
        rows, others = random_rows(rng, geometry, 4000), random_rows(rng, geometry, 4000)
        h, other = rng.choice([0.25, 0.25, 0.1], 4000), rng.choice([0.0, 0.25, 0.2], 4000)
        other = other if relation is Neighbouring.REPLACE_ONE else np.zeros(4000)
        moved = sum(np.abs(a - b).sum(axis=1) for a, b in zip(cells(rows, h), cells(others, other), strict=True))
        found = max(found, float(moved.max()))
    assert found <= stated
    assert found >= 0.97 * stated


def curved(n, seed):
    """Labels of which no logistic model is true: a tenth of the rows, far out on one column, contradict the rest."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-0.3, 0.3, n), rng.uniform(-1, 1, n)])
    far = rng.random(n) < 0.02
    X[far, 0] = 1.0
    chance = np.where(far, 0.5, special.expit(8 * X[:, 0] - 2))
    return X, rng.random(n) < chance


def sandwich(X, y):
    """The logistic maximum with an intercept, Wald's errors and sandwich errors."""
    design = np.column_stack([X, np.ones(len(X))])
    coef = np.zeros(design.shape[1])
    for _ in range(50):
        p = special.expit(design @ coef)
        bread = np.linalg.inv((design * (p * (1 - p))[:, None]).T @ design)
        coef = coef + bread @ design.T @ (y - p)
    meat = (design * ((y - p) ** 2)[:, None]).T @ design
    return coef, np.sqrt(np.diag(bread)), np.sqrt(np.diag(bread @ meat @ bread))


def fitted_to_curved(eps, seed=None, n=20_000, rows=0, **options):
    X, y = curved(n, rows)
    bounds = dplr.Bounds([(-1, 1)] * 2, target=(False, True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        return dplr.fit(X, y, eps=eps, mechanism=ON, bounds=bounds, rng=seed, **options)


def test_without_noise_errors_are_those_of_a_sandwich_where_the_model_is_wrong():
    X, y = curved(20_000, 0)
    _, wald, robust = sandwich(X, y)
    assert robust[0] > 1.2 * wald[0]
    lines = fitted_to_curved(math.inf).summary().lines
    errors = np.array([line.std_error for line in lines])
    assert errors[0] == pytest.approx(robust[0], rel=0.07)  # the axes are not quite those of a coefficient
    assert (errors > 0.99 * wald).all()


def test_noise_hardly_hides_how_far_the_score_varies_and_no_error_is_smaller_than_the_models():
    _, wald, _ = sandwich(*curved(20_000, 0))
    est = fitted_to_curved(20.0, 1)
    line = est.summary().lines[0]
    assert line.std_error > 1.1 * wald[0]
    reading = est._record.mechanism.readings(est._record.plan, est._record.parts, [scaled(est)])[0]
    assert np.linalg.eigvalsh(reading.sampling - positive_part(reading.matrix)).min() > -1e-6 * reading.matrix.max()
    assert reading.robust
    assert "rows may depart a little from the logistic model" in " ".join(est.summary().to_text().split())
    assert est.summary().condition == "the rows nearly follow a logistic model"
    assert "The intervals hold if the rows follow a logistic model." in " ".join(str(fitted(1.0).summary()).split())


def test_streams_and_tables_release_the_squares_of_arrays(tmp_path):
    X, y = curved(20_000, 0)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "target": np.where(y, "yes", "no")})
    (tmp_path / "parts").mkdir()
    frame.to_parquet(tmp_path / "parts" / "rows.parquet", row_group_size=3000)
    bounds = dplr.Bounds({"a": (-1, 1), "b": (-1, 1)}, target=("no", "yes"))
    usual = fitted_to_curved(math.inf).released_[hessian.SQUARES]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        options = {"eps": math.inf, "mechanism": ON, "bounds": bounds}
        table = dplr.fit(frame[["a", "b"]], frame["target"], **options)
        stream = dplr.fit(dplr.Stream(dataset.dataset(tmp_path / "parts")), "target", n_rows=20_000, **options)
    for est in (table, stream):
        np.testing.assert_allclose(est.released_[hessian.SQUARES], usual, rtol=1e-6)


def test_squares_are_saved_and_read_with_the_model(tmp_path):
    est = fitted_to_curved(20.0)
    dplr.save_model(est, tmp_path / "model.json")
    loaded = dplr.load_model(tmp_path / "model.json")
    assert loaded.summary() == est.summary()
    np.testing.assert_array_equal(loaded.released_[hessian.SQUARES], est.released_[hessian.SQUARES])


def test_squares_have_noise_of_their_own_and_are_those_at_what_was_released():
    X, y = curved(20_000, 0)
    est = fitted_to_curved(20.0)
    record, prep = est._record, est._record.prep
    plan, released = record.plan, record.parts[0]
    along, block = hessian.axes(plan, released), plan.statement.released[hessian.SQUARES]
    query = hessian.ScoreSquares(LOGISTIC, 2, True, prep.geometry.row_norm, along.directions)
    exact = ArrayRows(X, y, prep).total(query, on_coef_grid(scaled(est))).integers(-40) * 2.0**-40
    noise = released[hessian.SQUARES] - exact
    assert (np.abs(noise) < 15 * block.scale).all()
    assert (noise != 0).all()
    assert np.abs(noise - released["hessian_diagonal"][: len(noise)]).min() > 0


@pytest.mark.thorough
def test_intervals_of_private_fits_hold_the_truth_and_are_wider_than_without_privacy():
    held, widths = [], []
    for seed in range(60):
        ends = np.array(list(fitted(1.0, seed, rows=seed).conf_int().values()))
        held.append((ends[:, 0] <= TRUTH) & (truth_is_below(ends)))
        widths.append(ends[:, 1] - ends[:, 0])
    plain = np.array(list(fitted(math.inf).conf_int().values()))
    assert np.mean(held) > 0.91
    assert (np.median(widths, axis=0) > plain[:, 1] - plain[:, 0]).all()


def truth_is_below(ends):
    return ends[:, 1] >= TRUTH


@pytest.mark.thorough
def test_intervals_that_forget_the_linear_term_do_not_hold_the_truth():
    held = []
    for seed in range(40):
        est = fitted(0.15, seed, rows=seed)
        reading = est._record.mechanism.readings(est._record.plan, est._record.parts, [scaled(est)])[0]
        units = est._record.prep.scale[:3] / 2**20
        for noise in (reading.vector_noise, np.zeros((4, 4))):
            # With a declared reach no interval is wider for being reported.
            found = intervals(replace(reading, vector_noise=noise), np.eye(4)[:3] * units[:, None], bounds=100.0)
            held.append((found.low <= TRUTH[:3]) & (found.high >= TRUTH[:3]))
    assert np.mean(held[::2]) > 0.9
    assert np.mean(held[1::2]) < np.mean(held[::2]) - 0.1


def scaled(est):
    return np.array(est._record.prep.from_user_units(est.coef_[0], float(est.intercept_[0])))


def test_a_table_is_the_same_from_a_model_file(tmp_path):
    est = fitted(1.0)
    dplr.save_model(est, tmp_path / "model.json")
    assert dplr.load_model(tmp_path / "model.json").summary() == est.summary()
    assert set(est.released_) == {"hessian_diagonal", "hessian_off_diagonal"}


def test_what_has_no_such_intervals_is_refused_before_anything_is_drawn():
    X, y = made(500, 0)
    gaussian = dplr.ObjectivePerturbation(intervals="on", noise="gaussian")
    with pytest.raises(ValueError, match=r"`noise` must be \"smaller\" with intervals='on'.*score"):
        dplr.fit(X, y, eps=1.0, delta=1e-6, mechanism=gaussian)
    with pytest.raises(ValueError, match="`model` must be the logistic one"):
        dplr.fit(X, y, eps=1.0, model="svm", mechanism=ON)
    with pytest.raises(ValueError, match="`cut` must be None"):
        dplr.fit(X, y, eps=1.0, mechanism=dplr.ObjectivePerturbation(intervals="on", cut=0.5))
    with pytest.raises(ValueError, match='`intervals` must be "off"'):
        dplr.ObjectivePerturbation(intervals="on", calibration="cm08")


def released_of(target, plan, source, runs):
    """The Hessian at 0 of seven rows, the last of which is `target`."""
    rows = np.vstack([np.tile([0.3, -0.2], (6, 1)), [target]]) if target is not None else np.tile([0.3, -0.2], (6, 1))
    prep = box_prep([(-1.0, 1.0)] * 2, True, (0.0, 1.0))
    given = ArrayRows(rows, np.ones(len(rows)), prep)
    found = [hessian.released_hessian(given, np.zeros(3), plan, source) for _ in range(runs)]
    cells = [[block for name, block in each.items() if name.startswith("hessian")] for each in found]
    return np.array([np.concatenate(each) for each in cells])


@pytest.mark.thorough
@pytest.mark.parametrize("halved", [False, True])
def test_neighbours_are_told_apart_by_at_most_the_share_of_eps_and_more_with_half_the_noise(halved):
    """At 0 every record has h = 1/4. The pair: all numbers at one end, and no record."""
    plan = dplr.plan(n_rows=7, bounds=dplr.Bounds([(-1, 1)] * 2), eps=2.5, mechanism=ON, neighbouring="add_remove")
    if halved:
        blocks = {
            name: replace(block, scale=block.scale / 2, units=block.units // 2) if block.units else block
            for name, block in plan.statement.released.items()
        }
        plan = replace(plan, statement=replace(plan.statement, released=blocks))
    ends = [np.array([1.0, 1.0]), None]
    exact = dplr.plan(
        n_rows=7, bounds=dplr.Bounds([(-1, 1)] * 2), eps=math.inf, mechanism=ON, neighbouring="add_remove"
    )
    (left,), (right,) = (released_of(end, exact, Source(), 1) for end in ends)
    scale = plan.statement.released["hessian_diagonal"].scale
    scores = []
    for seed, end in enumerate(ends):
        noisy = released_of(end, plan, Source(seed=seed), 8000)
        scores.append(np.round((np.abs(noisy - right) - np.abs(noisy - left)).sum(axis=1) / scale, 9))
    measured = eps_lower_bound(*scores)
    share = hessian.SHARE * 2.5
    assert (measured > share) if halved else (0.3 * share <= measured <= share)


def test_the_hessian_and_the_squares_are_summed_at_the_coefficients_that_are_released(monkeypatch):
    """Not at the minimum before its noise and its rounding, which is no multiple of the grid."""
    points = []
    monkeypatch.setattr(hessian, "on_coef_grid", lambda coef: points.append(coef) or on_coef_grid(coef))
    est = fitted_to_curved(20.0)
    (point,) = points
    units = point / est.privacy_.released["coef"].grid
    np.testing.assert_array_equal(units, np.rint(units))
    np.testing.assert_allclose(point, scaled(est), rtol=1e-12)


@pytest.mark.parametrize("name", [hessian.SQUARES, "hessian_diagonal"])
def test_a_statement_with_another_noise_than_its_plan_has_no_table(name):
    est = fitted_to_curved(20.0)
    plan = est._record.plan
    block = replace(plan.statement.released[name], scale=2 * plan.statement.released[name].scale)
    blocks = {**plan.statement.released, name: block}
    est._record = replace(est._record, plan=replace(plan, statement=replace(plan.statement, released=blocks)))
    with pytest.raises(ValueError, match="must be planned by this version"):
        est.summary()


@pytest.mark.parametrize("kind", ["weights", "class weights"])
def test_intervals_of_rows_that_count_less_than_whole_are_wide_enough(kind):
    """Without noise the error is the root of the weighted Hessian's inverse, or larger: never below the sandwich's."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (20_000, 2))
    y = (rng.random(20_000) < 1 / (1 + np.exp(2 - X @ [2.0, -1.0]))).astype(int)
    weights = rng.uniform(0, 1, 20_000) if kind == "weights" else np.where(y, 1.0, 0.25)
    options = {"class_weight": {0: 1, 1: 4}} if kind == "class weights" else {
        "sample_weight": weights, "weight_max": 1
    }  # fmt: skip
    spec = dplr.ObjectivePerturbation(intervals="on")
    bounds = dplr.Bounds([(0, 1)] * 2)
    est = dplr.fit(X, y, eps=math.inf, mechanism=spec, model="logistic", **declared({"bounds": bounds, **options}))
    Z, w = np.column_stack([X, np.ones(20_000)]), np.zeros(3)
    for _ in range(30):
        p = 1 / (1 + np.exp(-Z @ w))
        hessian = Z.T @ (Z * (weights * p * (1 - p))[:, None])
        w += np.linalg.solve(hessian, Z.T @ (weights * (y - p)))
    bread = np.linalg.inv(hessian)
    sandwich = np.sqrt(np.diag(bread @ (Z.T @ (Z * (weights * (y - p))[:, None] ** 2)) @ bread))
    lines = est.summary().lines
    found = np.array([line.std_error for line in lines])
    np.testing.assert_allclose([line.estimate for line in lines], w, atol=0.01)
    assert np.all(found > sandwich)
    np.testing.assert_allclose(found, np.sqrt(np.diag(bread)), rtol=0.02)
