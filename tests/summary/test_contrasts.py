"""Contrasts to reference levels: the released model in other words, and the noise on each of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dplr
import every_column
from dplr.bounds.scaling import ball_prep, layout_prep
from dplr.estimators._columns import rows_to_predict
from dplr.summary.contrasts import contrasts, deviations

FULL = ("work", "plain", "kind", "code", "zone", "heat", "tax", "race")  # columns whose levels all have a column


def of(est):
    """The contrasts of a fitted model."""
    coef, intercept = np.atleast_2d(est.coef_), np.ravel(est.intercept_)
    return contrasts(est.coef_names_, coef, intercept, est._record.prep)


def margins(est, X, found=None):
    """The linear predictors (models, rows), by the released coefficients or by contrasts."""
    prep = est._record.prep
    rows = prep.counted(rows_to_predict(est, X, prep.layout))
    if found is None:
        return np.atleast_2d(est.coef_) @ rows.T + np.ravel(est.intercept_)[:, np.newaxis]
    return found.coef @ rows[:, found.positions].T + found.intercept[:, np.newaxis]


def drawn(est, seed=3):
    """The model with coefficients that are drawn: fitted ones may be small."""
    rng = np.random.default_rng(seed)
    est.coef_, est.intercept_ = rng.normal(size=np.shape(est.coef_)), rng.normal(size=np.shape(est.intercept_))
    return est


def declared(X, names):
    """Rows with declared levels, or with a gap that counts as one, in all of these columns."""
    known = np.ones(len(X), dtype=bool)
    for name in names:
        levels = every_column.COLUMNS[name].get("levels")
        known &= X[name].isna() | X[name].isin(levels) if levels else True
    return X[known]


@pytest.mark.parametrize(
    ("name", "ranges"),
    [("regression", "off"), ("regression", "auto"), ("two labels", "off"), ("three labels", "off"), ("margins", "off")],
)
def test_contrasts_predict_what_the_released_coefficients_predict_in_every_row(name, ranges):
    est = drawn(every_column.model(name, ranges))
    X = declared(every_column.table(3000, seed=5), FULL)
    found = of(est)
    assert len(X) > 100
    assert len(found.names) < len(est.coef_names_)
    assert bool(est.ranges_) == (ranges == "auto")
    assert_allclose(margins(est, X, found), margins(est, X), rtol=1e-9, atol=1e-8)


def test_contrasts_of_all_products_of_all_kinds_of_columns_predict_the_same():
    est = every_column.pairs()
    X = declared(every_column.table(3000, seed=5), ("work", "code"))
    found = of(est)
    gone = {
        "work=b",
        "code=3",
        "heat in [-10, 0)",
        "work=b*code=1",
        "heat in [0, 20)*work=b",
        "work=b*age",
        "code=3*edu",
    }
    assert gone <= set(est.coef_names_) - set(found.names)
    scale = np.abs(margins(est, X)).max()
    assert_allclose(margins(est, X, found) / scale, margins(est, X) / scale, atol=1e-12)


def test_an_undeclared_level_is_the_reference_less_the_coefficient_of_the_reference():
    bounds = dplr.Bounds({"loan": {"levels": ["no", "yes"]}, "age": (0, 100)}, target=("a", "b"))
    prep = layout_prep(bounds.layout, True, (0.0, 1.0))
    found = contrasts(bounds.layout.names, [[0.5, 2.0, 0.1]], [1.0], prep)
    assert found.names == ("loan=yes", "age")
    assert found.references == {"loan": "no"}
    assert_allclose(found.coef, [[1.5, 0.1]])
    assert_allclose(found.intercept - 0.5, [1.0])


def test_a_declared_reference_is_named_and_nothing_is_moved():
    bounds = dplr.Bounds({"bed": {"levels": ["m", "s"], "reference": "s"}, "age": (0, 9)}, target=("a", "b"))
    found = contrasts(bounds.layout.names, [[0.5, 2.0]], [1.0], layout_prep(bounds.layout, True, (0.0, 1.0)))
    assert (found.names, found.references) == (("bed=m", "age"), {"bed": "s"})
    assert_allclose((*found.coef[0], *found.intercept), (0.5, 2.0, 1.0))


def test_without_a_constant_or_without_bounds_coefficients_stay_as_they_are():
    bounds = dplr.Bounds({"loan": {"levels": ["no", "yes"]}}, target=("a", "b"))
    whole = contrasts(bounds.layout.names, [[0.5, 2.0]], [0.0], layout_prep(bounds.layout, False, (0.0, 1.0)))
    assert_allclose(whole.coef, [[0.5, 2.0]])
    for prep in (None, ball_prep(2, True, (0.0, 1.0))):
        assert_allclose(contrasts(("x0", "x1"), [[0.5, 2.0]], [3.0], prep).coef, [[0.5, 2.0]])


def test_given_coefficients_are_not_changed():
    bounds = dplr.Bounds({"loan": {"levels": ["no", "yes"]}}, target=("a", "b"))
    coef, intercept = np.array([[0.5, 2.0]]), np.array([1.0])
    contrasts(bounds.layout.names, coef, intercept, layout_prep(bounds.layout, True, (0.0, 1.0)))
    assert (coef.tolist(), intercept.tolist()) == ([[0.5, 2.0]], [1.0])


@pytest.mark.parametrize("products", [[], [("loan", "age"), ("loan", "zone"), ("age", "age")]])
def test_deviations_of_contrasts_are_those_of_drawn_noise(products):
    columns = {"loan": {"levels": ["no", "yes"]}, "age": (20, 70), "zone": {"levels": ["x", "y", "z"]}}
    bounds = dplr.Bounds(columns, target=(0, 50), products=products)
    names, prep = bounds.layout.names, layout_prep(bounds.layout, True, None, (0.0, 50.0))
    noise = np.random.default_rng(1).normal(0, 0.3, (20_000, prep.geometry.n_coefs))
    pairs = [prep.to_user_units(each) for each in noise]
    found = contrasts(names, [slopes for slopes, _ in pairs], [offset for _, offset in pairs], prep)
    each, constant = deviations(names, 0.3, prep)
    assert len(each) == len(found.names)
    assert_allclose(found.coef.std(axis=0), each, rtol=0.025)
    assert_allclose(found.intercept.std(), constant, rtol=0.025)
