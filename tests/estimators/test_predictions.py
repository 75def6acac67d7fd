"""Predictions count rows as the fit did, whatever the rows come as and whoever predicts."""

import functools
import json
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dplr
import every_column
from dplr.baselines import DPME
from dplr.bounds.scaling import ball_prep, in_unit_ball
from dplr.rows import ArrayRows
from dplr.rows.exact import Moments

pl = pytest.importorskip("polars", reason="polars has no wheel for this Python")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
BOUNDS = {"age": (18, 99), "gain": {"lower": 0, "upper": 99, "transform": "log1p"}}
FAR = {"age": [-1e9, 17.0, 18.0, 50.0, 99.0, 1e300], "gain": [-7.0, -1.0, 0.0, 9.0, 99.0, 1e200]}
NEAR = {"age": [18.0, 18.0, 18.0, 50.0, 99.0, 99.0], "gain": [0.0, 0.0, 0.0, 9.0, 99.0, 99.0]}
TABLES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


def small(model="logistic", **options):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(30, 60, 500), "gain": rng.uniform(0, 99, 500)})
    y = X["age"] if model == "linear" else X["age"] > 50
    bounds = dplr.Bounds(BOUNDS, target=(30, 60) if model == "linear" else None)
    return dplr.fit(X, y, model=model, eps=float("inf"), **{"bounds": bounds, **options})


@pytest.mark.parametrize("model", ["logistic", "svm"])
@pytest.mark.parametrize("library", TABLES)
def test_a_value_beyond_its_bounds_is_predicted_as_the_bound(library, model):
    est = small(model)
    far, near = TABLES[library](FAR), pd.DataFrame(NEAR)
    assert_array_equal(est.decision_function(far), est.decision_function(near))
    assert_array_equal(est.predict(far), est.predict(near))


@pytest.mark.parametrize("kind", [np.array, lambda rows: np.array(rows, np.float32), np.ndarray.tolist, pd.DataFrame])
def test_rows_without_names_are_clipped_by_position(kind):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (500, 2))
    est = dplr.fit(X, X[:, 0] > 0.5, eps=float("inf"), bounds=dplr.Bounds([(0, 1), (0, 1)]))
    far = np.array([[-3.0, 0.5], [0.25, 9.0], [0.25, 0.75]])
    margins = np.clip(far, 0, 1) @ est.coef_[0] + est.intercept_[0]
    given = kind(far) if kind is not pd.DataFrame else pd.DataFrame(far).to_numpy()
    assert_allclose(est.decision_function(given), margins, rtol=1e-12)


def test_a_table_of_every_kind_of_column_is_predicted_from_the_columns_of_the_encoder():
    est, X = every_column.model("two labels"), every_column.table(500, 1)
    seen = dplr.preprocessing.BoundsEncoder(est.bounds).transform(X)
    assert_allclose(est.decision_function(X), seen @ est.coef_[0] + est.intercept_[0], rtol=1e-12)
    low, high = np.array(est.bounds.layout.pairs).T
    assert ((seen >= low) & (seen <= high)).all()
    reached = (seen == low).any(axis=0) & (seen == high).any(axis=0)
    layout = est.bounds.layout
    for first, _, knots in layout.hats:
        reached[first + 1 : first + knots - 1] = True  # only a value at an inner knot reaches a share of 1
    assert reached[: layout.firsts[len(every_column.COLUMNS)]].all()  # a square reaches 0 in the middle alone


def test_released_ranges_clip_more_than_the_bounds_and_columns_without_one_keep_theirs():
    est, X = every_column.model("regression", ranges="on"), every_column.table(500, 1)
    numbers = {est.coef_names_[column] for column in est.bounds.layout.numbers}
    assert {"age", "hours", "debt", "sqrt(area)", "age^2"} <= set(est.ranges_) <= numbers
    seen = dplr.preprocessing.BoundsEncoder(est.bounds, ranges=est.ranges_).transform(X)
    assert (seen != dplr.preprocessing.BoundsEncoder(est.bounds).transform(X)).any()
    assert_allclose(est.predict(X), np.clip(seen @ est.coef_ + est.intercept_, 60, 150), rtol=1e-12)


@pytest.mark.parametrize("size", [1e-3, 0.999, 1.5, 1e3, 1e200])
def test_without_bounds_a_row_outside_the_unit_ball_is_predicted_as_the_nearest_point_of_it(size):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (500, 3))
    est = dplr.fit(X, X[:, 0] > 0, eps=float("inf"))
    rows = rng.normal(size=(50, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    margins = (min(size, 1) * rows) @ est.coef_[0] + est.intercept_[0]
    assert_allclose(est.decision_function(size * rows), margins, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [0.5, 1.0, 7.0, 1e200])
def test_the_ball_of_predictions_is_that_of_the_kernels(size):
    rows = np.random.default_rng(0).normal(size=(20, 3)) * size
    prep = ball_prep(3, False, (0.0, 1.0))
    for row in rows:
        sums = ArrayRows(row[None], np.ones(1), prep).total(Moments(3, False)).integers(-40) * 2.0**-40
        counted = in_unit_ball(row[None])[0]
        assert_allclose(sums[:3, :3], np.triu(np.outer(counted, counted)), atol=2.0**-18)


def test_a_regression_predicts_within_the_declared_bounds_of_its_target():
    est, X = small("linear"), pd.DataFrame(FAR)
    seen = dplr.preprocessing.BoundsEncoder(est.bounds).transform(X)
    sums = seen @ est.coef_ + est.intercept_
    assert sums.min() < 30
    assert sums.max() > 60
    assert_allclose(est.predict(X), np.clip(sums, 30, 60), rtol=1e-12)
    assert (est.predict(X).min(), est.predict(X).max()) == (30.0, 60.0)
    assert est.score(X, np.clip(sums, 30, 60)) == 1.0


def test_a_regression_without_bounds_declares_no_range_and_is_not_clipped():
    X = np.eye(2).repeat(50, axis=0)
    est = dplr.fit(X, X[:, 0] - X[:, 1], model="linear", eps=float("inf"))
    est.coef_ = est.coef_ * 100
    assert est.predict(np.eye(2)).max() > 10


def test_refits_copies_and_files_clip_the_target_too(tmp_path):
    est, X = small("linear", mechanism="fm"), pd.DataFrame(FAR)
    dplr.save_model(est, tmp_path / "model.json")
    for other in (est.refit(l2=0.0), dplr.load_model(tmp_path / "model.json")):
        assert (other.predict(X).min(), other.predict(X).max()) == (30.0, 60.0)
    assert_array_equal(dplr.load_model(tmp_path / "model.json").predict(X), est.predict(X))


def test_the_released_coefficients_do_not_depend_on_the_rows_that_are_predicted():
    est = small("linear")
    before = est.coef_.copy(), est.intercept_
    est.set_params(bounds=None)  # the record of the fit decides, not a parameter that was changed since
    assert est.predict(pd.DataFrame(FAR)).max() == 60.0
    assert_array_equal(est.coef_, before[0])
    assert est.intercept_ == before[1]


# --- the encoder


@pytest.mark.parametrize("library", TABLES)
def test_the_encoder_takes_every_table_and_names_the_columns_of_the_model(library):
    encoder = dplr.preprocessing.BoundsEncoder(dplr.Bounds(BOUNDS))
    seen = encoder.transform(TABLES[library]({"other": list("abcdef"), **FAR}))
    assert_array_equal(seen[:, 0], NEAR["age"])
    assert_allclose(seen[:, 1], np.log1p(NEAR["gain"]), rtol=1e-15)
    assert encoder.get_feature_names_out().tolist() == ["age", "log1p(gain)"] == list(small().coef_names_)


def test_the_encoder_names_columns_of_frames_and_those_by_position():
    encoder = dplr.preprocessing.BoundsEncoder(dplr.Bounds([(0, 1), {"levels": [1, 2], "missing": "indicator"}]))
    assert encoder.get_feature_names_out(["a", "b"]).tolist() == ["a", "b=1", "b=2", "b is missing"]
    assert_array_equal(encoder.transform([[9, 2], [0.5, np.nan]]), [[1, 0, 1, 0], [0.5, 0, 0, 1]])
    frame = (
        dplr.preprocessing.BoundsEncoder(dplr.Bounds(BOUNDS))
        .set_output(transform="pandas")
        .fit_transform(pd.DataFrame(FAR))
    )
    assert list(frame) == ["age", "log1p(gain)"]


def test_the_encoder_refuses_what_a_fit_refuses():
    encoder = dplr.preprocessing.BoundsEncoder(dplr.Bounds(BOUNDS), ranges={"hours": (0, 1)})
    with pytest.raises(ValueError, match="`ranges` must name columns of the model"):
        encoder.transform(pd.DataFrame(NEAR))
    encoder.set_params(ranges=None)
    for rows in ({"age": [1.0, np.nan], "gain": [0, 0]}, {"age": [1.0, np.inf], "gain": [0, 0]}):
        with pytest.raises(ValueError, match=r"must not hold NaN, infinity or missing values; got \{'age': 1\}"):
            encoder.transform(pd.DataFrame(rows))
    with pytest.raises(ValueError, match=r"missing: \['gain'\]"):
        encoder.transform(pd.DataFrame({"age": [1.0]}))
    with pytest.raises(TypeError, match="`bounds` must be"):
        dplr.preprocessing.BoundsEncoder(3).fit()


# --- whoever predicts


def test_the_target_of_a_column_with_a_name_is_known_by_it(tmp_path):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (100, 2))
    y = X[:, 0] > 0
    for given, name in [(pd.Series(y, name="sick"), "sick"), (pl.Series("sick", y), "sick"), (y, None), (list(y), None),
                        (pd.DataFrame({"sick": y}), "sick"), (pd.Series(y, name=3), None),
                        (pd.Series(y, name="\ud800"), None)]:  # fmt: skip
        est = dplr.fit(X, given, eps=1.0, mechanism="fm")
        assert est.target_name_ == name
        dplr.save_model(est, tmp_path / "model.json")
        assert json.loads((tmp_path / "model.json").read_text())["model"]["target_name"] == name
        assert dplr.load_model(tmp_path / "model.json").target_name_ == est.refit(l2=0.5).target_name_ == name


LEVELS = {"levels": ["Bonn", "Ulm"], "reference": "Bonn"}


def warned(call, *arguments, **options):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call(*arguments, **options)
    return [str(each.message) for each in told if each.category is dplr.DataWarning]


TOWNS = pd.DataFrame({"age": np.arange(18, 98).repeat(10), "town": ["Bonn", "Ulm"] * 400})
OLD = (TOWNS["age"] > 50).astype(int).to_numpy()
IN_TOWNS = dplr.Bounds({"age": (18, 99), "town": LEVELS})


def fitted(**options):
    return dplr.fit(TOWNS, OLD, eps=9.0, bounds=IN_TOWNS, aim="coefficients", mechanism="fm", **options)


ASKED = {
    "predict": lambda: fitted().predict,
    "predict_proba": lambda: fitted().predict_proba,
    "decision_function": lambda: fitted().decision_function,
    "predict_interval": lambda: fitted().predict_interval,
    "score": lambda: functools.partial(fitted().score, y=OLD),
    "evaluate": lambda: functools.partial(dplr.evaluate, fitted(), y=OLD, eps=1.0),
    "moments": lambda: dplr.release_moments(TOWNS, bounds=IN_TOWNS, eps=9.0).regress("age", ["town"]).predict,
    "encoder": lambda: dplr.preprocessing.BoundsEncoder(IN_TOWNS).fit(TOWNS).transform,
    "features": lambda: dplr.preprocessing.RandomFourierFeatures(4, seed=0, bounds=IN_TOWNS).fit(TOWNS).transform,
    "search": lambda: lambda rows: dplr.PrivateSearch(fitted(), [{"l2": 0.1}, {"l2": 0.2}]).fit(rows, OLD),
    "holdout": lambda: lambda rows: dplr.fit(rows, OLD, eps=1.0, bounds=IN_TOWNS, holdout=0.2),
    "baseline": lambda: lambda rows: DPME(bounds=IN_TOWNS, eps=1.0).fit(rows, OLD),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ASKED)
def test_whoever_asks_about_rows_is_warned_of_them_once_as_in_a_fit_and_never_of_clean_ones(name):
    call = ASKED[name]()
    assert warned(call, TOWNS) == []
    (spelling,) = warned(call, TOWNS.assign(town=TOWNS["town"].str.upper()))
    assert "values of X that are no declared level count as the reference (town 100.00%)" in spelling
    units = warned(call, TOWNS.assign(age=TOWNS["age"] * 12))
    assert [text.partition(" (age ")[0] for text in units] == ["values of X outside their bounds were clipped"] * (
        name != "moments"  # a model of the towns alone
    )


def test_predictions_warn_of_rows_outside_the_unit_ball_and_of_no_rounding():
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (500, 3))
    est = dplr.fit(X, X[:, 0] > 0, eps=float("inf"))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert warned(est.predict, X) == warned(est.predict, unit) == warned(est.predict, unit * (1 + 1e-9)) == []
    assert "25.00% of the rows of X lie outside the unit ball" in warned(est.predict, [*X[:3], 9 * unit[0]])[0]


def test_predictions_do_not_warn_of_released_ranges_declared_gaps_and_reached_bounds():
    est, X = every_column.model("regression", ranges="on"), every_column.table(500, 1)
    fits = warned(lambda: every_column.model("regression", ranges="on"))
    told = warned(est.predict, X)
    assert all("missing values of X count" not in text for text in told)
    assert [text.partition("(")[0] for text in told] == [text.partition("(")[0] for text in fits][: len(told)]
    ends = pd.DataFrame({"age": [18.0, 99.0], "gain": [0.0, 99.0]})
    assert warned(small().predict, ends) == []
