"""A curve means the same to scikit-learn and to a database."""

import dataclasses
import itertools
import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context

import dplr
from dplr.bounds.columns import TRANSFORMS, read_column
from dplr.estimators.export import parts
from exported import asked, assert_same, database

GAP = float("nan")
LISTED = [1.25, 2.0, 7.5]


def of_the_pipeline(est, X):
    """From a pipeline that was in a file, without a warning."""
    plain = pickle.loads(pickle.dumps(est.to_sklearn()))
    with warnings.catch_warnings(action="error"):
        return plain.decision_function(X)


def of_the_database(est, X):
    with database() as base:
        X.to_sql("t", base, index=False)
        return asked(base, est.to_sql("margin"))


every_tool = pytest.mark.parametrize("tool", [of_the_pipeline, of_the_database])


def model_of(columns, X, products=()):
    """A model of margins whose coefficients are drawn: fitted ones may be small."""
    bounds = dplr.Bounds(columns, target=(0, 1), products=products)
    with warnings.catch_warnings(action="ignore"):
        est = dplr.fit(X, np.arange(len(X)) % 2, bounds=bounds, model="svm", mechanism="objective", eps=math.inf)
    est.coef_ = np.random.default_rng(len(X)).normal(size=est.coef_.shape)
    return est


def values_of(column):
    """Numbers at, beside, between and beyond the knots of a curve, and a gap where there may be one."""
    knots = np.array(read_column("x", column).knot_values)
    beside = np.nextafter(knots, -np.inf), np.nextafter(knots, np.inf)
    gaps = [GAP] * 3 if "missing" in column else []
    return np.concatenate([knots, *beside, np.linspace(-2, 12, 57), [-1e300, -5e-324, 0.0, 1e300], gaps])


def rows_of(columns, seed=0):
    """Every number of the first column, in another order in each of the others; or levels, drawn."""
    rng = np.random.default_rng(seed)
    lists = {name: values_of(column) if "knots" in column else column["levels"] for name, column in columns.items()}
    size = max(map(len, lists.values()))
    drawn = {name: np.resize(values, size) for name, values in lists.items()}
    return pd.DataFrame({name: rng.permutation(values) for name, values in drawn.items()})


def curve(transform="clip", knots=5, **options):
    return {"lower": 1, "upper": 9, "transform": transform, "knots": knots, **options}


MISSING = {"refused": {}, "filled": {"missing": 4.5}, "at a bound": {"missing": 9}, "marked": {"missing": "indicator"}}
CASES = list(itertools.product(TRANSFORMS, MISSING, (True, False)))


@every_tool
@pytest.mark.parametrize(("transform", "missing", "line"), CASES)
def test_every_tool_follows_a_curve_at_its_knots_beside_and_beyond_them(transform, missing, line, tool):
    options = {"transform": transform, "line": line, **MISSING[missing]}
    columns = {"even": curve(**options), "listed": curve(knots=LISTED, **options)}
    X = rows_of(columns)
    est = model_of(columns, X)
    assert_same(tool(est, X), est.decision_function(X))


@every_tool
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_curve_without_a_line_is_the_interpolation_of_its_coefficients(transform, tool):
    columns = {"x": curve(transform, LISTED, line=False, missing="indicator")}
    X = rows_of(columns)
    est = model_of(columns, X)
    coefs = est.coef_.ravel()
    scale = TRANSFORMS[transform].of_many if transform != "clip" else np.positive
    lines = np.interp(scale(np.clip(X["x"], 1, 9)), scale(np.array([1, *LISTED, 9])), coefs[:-1])
    assert_same(tool(est, X), est.intercept_ + np.where(np.isnan(X["x"]), coefs[-1], lines))


@every_tool
def test_a_number_of_equal_knots_as_large_as_may_be_is_followed(tool):
    columns = {"x": {"lower": -1e6, "upper": 12.5, "knots": 256}}
    X = rows_of(columns)
    est = model_of(columns, X)
    assert_same(tool(est, X), est.decision_function(X))


LEVELS = {
    "levels": {"levels": ["a", "b", "c"], "missing": "indicator"},
    "a reference": {"levels": ["a", "b", "c"], "reference": "b"},
    "numbers": {"levels": [3, 1, 2], "missing": 1},
    "bins": {"lower": 0, "upper": 9, "bins": [2, 4], "missing": "indicator"},
}


@every_tool
@pytest.mark.parametrize("line", [True, False])
@pytest.mark.parametrize("levels", LEVELS)
def test_every_tool_gives_each_level_a_curve_of_its_own(levels, line, tool):
    column = LEVELS[levels]
    kinds = column.get("levels", [-3, 1, 2, 3, 4, 5, 99])
    kinds = [*kinds, *(["other"] if kinds[0] == "a" else [7]), *([None] if "missing" in column else [])]
    dust = curve("log1p", LISTED, line=line, missing="indicator")
    salt = curve("sqrt", line=line)
    X = rows_of({"kind": {"levels": kinds}, "dust": dust, "salt": salt})
    est = model_of({"kind": column, "dust": dust, "salt": salt}, X, [("kind", "dust"), ("salt", "kind")])
    assert est.coef_.size > 15
    assert_same(tool(est, X), est.decision_function(X))


@every_tool
def test_in_other_products_a_curve_is_its_line_less_the_middle(tool):
    columns = {
        "dust": curve("log", missing="indicator"),
        "salt": curve(knots=LISTED, missing=2),
        "rank": {"levels": ["low", "mid", "high"], "ordinal": True},
    }
    X = rows_of(columns)
    est = model_of(columns, X, [("dust", "salt"), ("rank", "dust"), ("salt", "rank")])
    assert len(est.coef_.ravel()) == 7 + 6 + 1 + 3
    assert_same(tool(est, X), est.decision_function(X))


@every_tool
def test_a_narrower_range_holds_the_line_and_not_the_knots(tool):
    """Nor the line as a factor; a product of two numbers has a range of its own."""
    columns = {
        "dust": curve("log", missing="indicator"),
        "salt": curve(missing=9),
        "kind": {"levels": ["a", "b"]},
    }
    X = rows_of(columns)
    est = model_of(columns, X, [("dust", "salt"), ("kind", "salt")])
    wide = est.decision_function(X)
    ends = dict.fromkeys(est.coef_names_, (-np.inf, np.inf))
    narrower = {"log(dust) (line)": (0.5, 1.5), "salt (line)": (3.0, 4.0), "log(dust) (line)*salt (line)": (-1.0, 2.0)}
    assert set(narrower) <= set(ends)
    limits = tuple(np.array(list((ends | narrower).values())).T)
    est._record = dataclasses.replace(est._record, prep=dataclasses.replace(est._record.prep, limits=limits))
    narrow = est.decision_function(X)
    assert np.abs(narrow - wide).max() > 1
    assert_same(tool(est, X), narrow)
    shares = [part for part in parts.parts_of(est._record.prep) if part.kind == "shares"]
    assert [part.column.knot_values[:: part.width - 1] for part in shares] == [(1, 9)] * 2


@pytest.mark.parametrize("line", [True, False])
@pytest.mark.parametrize("products", [(), [("kind", "x")]], ids=["alone", "for each level"])
@every_tool
def test_no_tool_has_a_number_where_a_curve_refuses_a_gap(tool, products, line):
    columns = {"x": curve("sqrt", line=line), "kind": {"levels": ["a", "b"]}}
    X = rows_of(columns)
    est = model_of(columns, X, products)
    X.loc[3, "x"] = GAP
    if tool is of_the_pipeline:
        for broken in (X, X.assign(x=np.inf), X.assign(x=-np.inf)):
            for predicting in (est, est.to_sklearn()):
                with pytest.raises(ValueError, match=r"NaN|infinit"):
                    predicting.decision_function(broken)
        return
    found = np.array(tool(est, X), float)
    assert np.flatnonzero(np.isnan(found)).tolist() == [3]


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_a_pipeline_takes_curves_of_a_frame_by_name_whatever_scikit_learn_hands_on(output):
    frames = pytest.importorskip("polars", reason="polars has no wheel for this Python")
    columns = {"dust": curve("log", missing="indicator"), "salt": curve(line=False), "kind": {"levels": ["a", "b"]}}
    X = rows_of(columns)
    est = model_of(columns, X, [("kind", "dust"), ("kind", "salt")])
    with config_context(transform_output=output):
        plain = est.to_sklearn()
        for rows in (X, X[X.columns[::-1]], frames.from_pandas(X)):
            assert_same(plain.decision_function(rows), est.decision_function(X))


def test_curves_by_position_are_followed_in_arrays():
    columns = {"x": curve(missing="indicator"), "y": curve("log", LISTED, line=False), "k": {"levels": [3, 1, 2]}}
    X = rows_of(columns).to_numpy()
    est = model_of(list(columns.values()), X, [(0, 2), (2, 1)])
    for rows in (X, X[:1]):
        assert_same(of_the_pipeline(est, rows), est.decision_function(rows))


def test_a_saved_model_has_the_same_exports(tmp_path):
    columns = {"dust": curve("log", LISTED, missing="indicator"), "kind": {"levels": ["a", "b"]}}
    X = rows_of(columns)
    bounds = dplr.Bounds(columns, target=(0, 1), products=[("dust", "kind")])
    est = dplr.fit(X, np.arange(len(X)) % 2, bounds=bounds, eps=9.0, mechanism=dplr.ObjectivePerturbation(ranges="on"))
    dplr.save_model(est, tmp_path / "model.json")
    loaded = dplr.load_model(tmp_path / "model.json")
    assert loaded.to_sql() == est.to_sql()
    assert loaded.bounds == est.bounds
    assert_same(loaded.to_sklearn().decision_function(X), est.to_sklearn().decision_function(X))
