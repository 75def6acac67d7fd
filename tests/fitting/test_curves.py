"""The switch `curves`: which numbers become curves, when "auto" takes them, and what is said of it."""

import numpy as np
import pandas as pd
import pytest

import dplr
from declared_units import declared
from dplr.bounds.columns import Curve
from dplr.fitting.curves import _LEAST_GAUSSIAN, _LEAST_PURE

BOUNDS = dplr.Bounds({"a": (0, 100), "b": (0, 1)}, target=(-60, 60))


def rows(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.uniform(0, 100, n), "b": rng.integers(0, 2, n)})
    return X, np.abs(X["a"] - 50) - 25 + 10 * X["b"] + rng.normal(0, 3, n)


def is_curved(est):
    return isinstance(est._record.prep.layout.columns[0], Curve)


@pytest.mark.parametrize(
    ("model", "mechanism", "delta"),
    [
        ("linear", "fm", 0.0), ("linear", "objective", 0.0), ("linear", "output", 0.0), ("linear", "ngd", 1e-6),
        ("huber", "objective", 0.0), ("logistic", "fm", 1e-6), ("logistic", "score", 1e-6), ("svm", "objective", 0.0),
        ("poisson", "objective", 0.0),
    ],
)  # fmt: skip
def test_every_model_and_mechanism_fits_a_bend_that_no_line_has(model, mechanism, delta):
    X, y = rows(20_000)
    if model == "poisson":
        y, bounds = np.random.default_rng(1).poisson(np.exp(y / 15)), dplr.Bounds(BOUNDS.to_dict()["features"], (0, 20))
    elif model in ("logistic", "svm"):
        y, bounds = y > 0, dplr.Bounds(BOUNDS.to_dict()["features"])
    else:
        bounds = BOUNDS
    options = {"model": model, "mechanism": mechanism, "delta": delta, "bounds": bounds, "eps": 20.0}
    line, curve = (dplr.fit(X, y, curves=curves, **options) for curves in (None, 5))
    if model == "poisson":
        low, high = line.predict(X), curve.predict(X)
        assert np.mean((high - y) ** 2) < 0.8 * np.mean((low - y) ** 2)
    else:
        assert curve.score(X, y) > line.score(X, y) + 0.1
    assert curve.coef_names_[0] == "a (line)"
    assert np.shape(curve.coef_)[-1] == 7


def test_own_losses_streams_persons_and_weights_have_curves(tmp_path):
    X, y = rows(6000)
    options = {"model": "linear", "bounds": BOUNDS, "eps": float("inf"), "mechanism": "fm", "curves": 4}
    whole = dplr.fit(X, y, **options)
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    streamed = dplr.fit(str(tmp_path / "rows.parquet"), "y", **options)
    np.testing.assert_array_equal(streamed.coef_, whole.coef_)
    people = dplr.fit(X, y, person=np.arange(6000), **options)
    np.testing.assert_allclose(people.coef_, whole.coef_, rtol=1e-6, atol=1e-6)
    weighted = dplr.fit(X, y, sample_weight=np.ones(6000), **declared({**options, "weight_max": 1}))
    np.testing.assert_allclose(weighted.coef_, whole.coef_, rtol=1e-6, atol=1e-6)
    loss = dplr.losses.smoothed_hinge(0.5)
    own = dplr.fit(X, y > 0, model=loss, bounds=BOUNDS.to_dict()["features"], eps=50.0, curves=4)
    assert own.score(X, y > 0) > 0.9


@pytest.mark.parametrize(("delta", "least"), [(0.0, _LEAST_PURE), (1e-6, _LEAST_GAUSSIAN)])
def test_auto_takes_curves_from_a_public_number_of_rows_times_eps_on(delta, least):
    X, y = rows(2000)
    for eps, taken in ((least / 2000, True), (least / 2000 * 0.99, False)):
        est = dplr.fit(X, y, model="linear", bounds=BOUNDS, eps=eps, delta=delta, curves="auto")
        assert is_curved(est) is taken
        (said,) = (fact for fact in est.privacy_.assumptions if "curves =" in fact)
        assert f"n eps = {2000 * eps:,.0f}" in said
        planned = dplr.plan(n_rows=2000, bounds=BOUNDS, model="linear", eps=eps, delta=delta, curves="auto")
        assert planned.statement.assumptions == est.privacy_.assumptions
        assert planned.statement.released == est.privacy_.released


def test_auto_takes_lines_where_nothing_can_bend():
    X, y = rows(2000)
    flags = dplr.fit(X[["b"]], y > 0, bounds={"b": (0, 1)}, eps=100.0, curves="auto")
    assert "no declared number measures something" in " ".join(flags.privacy_.assumptions)
    ball = dplr.fit(X.to_numpy() / 200, y > 0, eps=100.0, curves="auto")
    assert "no columns are declared" in " ".join(ball.privacy_.assumptions)
    private = dplr.fit(X, y, model="linear", bounds=BOUNDS, eps=100.0, curves="auto", neighbouring="add_remove")
    assert "the number of rows is private" in " ".join(private.privacy_.assumptions)


def test_a_number_of_knots_and_the_bounds_that_it_makes_are_one_fit():
    X, y = rows()
    options = {"model": "linear", "mechanism": "fm", "eps": 2.0, "rng": 5}
    with pytest.warns(dplr.PrivacyWarning):
        switch = dplr.fit(X, y, bounds=BOUNDS, curves=6, **options)
    with pytest.warns(dplr.PrivacyWarning):
        declared = dplr.fit(X, y, bounds=BOUNDS.with_curves(6), **options)
    np.testing.assert_array_equal(switch.coef_, declared.coef_)
    assert switch.privacy_.released == declared.privacy_.released


def test_one_fit_of_many_has_the_curves_of_the_smallest_eps():
    X, y = rows(2000)
    fits = dplr.fit_many(X, y, model="linear", bounds=BOUNDS, eps=[0.1, 100.0], curves="auto")
    assert not any(map(is_curved, fits))


@pytest.mark.parametrize("curves", [2, 257, True, 8.5, "many", [3]])
def test_what_is_no_number_of_knots_is_refused_before_anything_is_spent(curves, tmp_path):
    X, y = rows(100)
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=5)
    with pytest.raises(ValueError, match="`curves` must be None"):
        dplr.fit(X, y, model="linear", bounds=BOUNDS, curves=curves, eps=1.0, ledger=ledger)
    assert ledger.spent() == (0, 0)


def test_knots_need_bounds():
    with pytest.raises(ValueError, match="without bounds of columns"):
        dplr.fit(np.zeros((50, 2)), np.arange(50) > 20, eps=1.0, curves=8)


def test_planners_know_curves():
    facts = {"bounds": BOUNDS, "model": "linear", "mechanism": "fm"}
    curve = dplr.plan_curve(n_rows=3000, eps=[0.5, 1.0], curves=4, assume=dplr.planner.Assumptions(tables=2), **facts)
    assert "a at 100" in curve.columns
    auto = dplr.plan_curve(n_rows=3000, eps=[0.5], curves="auto", assume=dplr.planner.Assumptions(tables=2), **facts)
    assert auto.columns == ("a", "b")
    widths = dplr.plan_curve(n_rows=30_000, eps=5.0, curves=4, intervals=True, **facts)
    assert "a (line)" in [line.name for line in widths.points[0].intervals]
    with pytest.raises(ValueError, match="None or a number with a target"):
        dplr.plan_target(error=20, n_rows=3000, curves="auto", **facts)
    assert dplr.plan_target(error=20, n_rows=30_000, curves=4, **facts).value > 0


def test_a_private_search_may_choose_between_a_line_and_curves():
    X, y = rows(20_000)
    model = dplr.LinearRegression(bounds=BOUNDS, eps=5.0)
    search = dplr.PrivateSearch(model, {"curves": [None, 8]}).fit(X, y)
    assert search.best_params_ == {"curves": 8}


def test_auto_takes_no_curves_that_bounds_cannot_have():
    """Products of levels with curves may have too many columns, and knots may be too close: then a line is fitted."""
    many = {"age": (18, 99), "w": {"levels": [f"level {k}" for k in range(300)]}}
    close = {"age": (1.0, 1.0 + 2.0**-50)}
    for features, products in ((many, [("age", "w")]), (close, [])):
        bounds = dplr.Bounds(features, target=(0, 1), products=products)
        plan = dplr.plan(model="linear", bounds=bounds, n_rows=10**7, eps=1.0, curves="auto")
        assert any('curves = "auto": none, as' in fact for fact in plan.statement.assumptions)


@pytest.mark.parametrize("knots", [None, 4, [20, 30, 40]])
def test_a_fit_of_curves_starts_with_a_model_that_has_them(knots):
    X, y = rows()
    own = {"a": {"lower": 0, "upper": 100, "knots": knots} if isinstance(knots, list) else (0, 100), "b": (0, 1)}
    options = {"model": "linear", "eps": 1.0, "mechanism": dplr.ObjectivePerturbation(ranges="off")}
    curves = None if isinstance(knots, list) else knots
    other = dplr.fit(X, y, bounds=dplr.Bounds(own, target=(-60, 60)), curves=curves, **options)
    with pytest.raises(ValueError, match="must have the curves of this fit"):
        dplr.fit(X, y, bounds=BOUNDS, curves=5, public=other, **options)
    same = dplr.fit(X, y, bounds=BOUNDS, curves=5, **options)
    assert dplr.fit(X, y, bounds=BOUNDS, curves=5, public=same, **options).coef_names_ == same.coef_names_
