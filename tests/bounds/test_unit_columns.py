"""Columns of ids and weights in bounds: declared in Python or in a file, written and read back, and never features."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import dplr

FEATURES = {"age": (18, 99), "hours": (0, 80)}
UNITS = {"person": "id", "rows_per_person": 3, "weight": "a b", "weight_max": 200.5}


@pytest.mark.parametrize("units", [UNITS, {"person": "id"}, {"weight": "w", "weight_max": 1}, {"rows_per_person": 3},
                                   {"weight_max": 2.5}, {"rows_per_person": 2, "weight_max": 2.5}, {}])  # fmt: skip
@pytest.mark.parametrize("target", [None, (0, 1), {"classes": ["no", "yes"]}])
@pytest.mark.parametrize("features", [FEATURES, [(0, 1), (2, 3)]])
def test_every_form_comes_back(features, target, units, tmp_path):
    bounds = dplr.Bounds(features, target, **units)
    path = tmp_path / "bounds.toml"
    bounds.to_toml(path)
    for again in (dplr.Bounds.from_toml(path), dplr.Bounds.from_dict(bounds.to_dict()), eval(f"dplr.{bounds!r}")):
        assert again == bounds
        assert hash(again) == hash(bounds)
        assert (again.person, again.weight) == (units.get("person"), units.get("weight"))
        assert (again.rows_per_person, again.weight_max) == (units.get("rows_per_person", 1), units.get("weight_max"))
    assert (bounds == dplr.Bounds(features, target)) is (units == {})


@pytest.mark.parametrize("units", [UNITS, {"rows_per_person": 3}, {"weight_max": 2.5}, {}])
def test_the_unit_ball_has_the_numbers_too_and_no_columns(units, tmp_path):
    ball = dplr.Bounds(None, **units)
    for again in (dplr.Bounds.from_dict(ball.to_dict()), eval(f"dplr.{ball!r}"), pickle.loads(pickle.dumps(ball))):
        assert again == ball
    assert "the unit ball" in ball._repr_html_()
    for wrong in ({"target": (0, 1)}, {"products": "all"}):
        with pytest.raises(ValueError, match="must have columns beside"):
            dplr.Bounds(None, **wrong)
    with pytest.raises(ValueError, match="`bounds` must have columns in a file"):
        ball.to_toml()


def test_a_fit_in_the_unit_ball_keeps_what_its_bounds_say(tmp_path):
    rng = np.random.default_rng(0)
    X, ids, weights = rng.uniform(-0.5, 0.5, (400, 2)), np.arange(400) // 2, rng.uniform(0, 3, 400)
    given = {"person": ids, "sample_weight": weights}
    for bounds in (dplr.Bounds(None, rows_per_person=2, weight_max=2.5), dplr.Bounds([(-1, 1)] * 2, weight_max=2.5)):
        est = dplr.LogisticRegression(eps=1.0, mechanism="fm", bounds=bounds)
        fitted = clone(est).set_params(**est.get_params()).fit(X, X[:, 0] > 0, **given)
        assert (fitted.privacy_.unit.rows_per_person, fitted.privacy_.unit.weight_max) == (bounds.rows_per_person, 2.5)
        dplr.save_model(fitted, tmp_path / f"{bounds.rows_per_person}.json")
        loaded = dplr.load_model(tmp_path / f"{bounds.rows_per_person}.json")
        for again in (loaded, pickle.loads(pickle.dumps(fitted)), clone(fitted)):
            assert again.bounds == bounds
            assert again.fit(X, X[:, 0] > 0, **given).privacy_.unit == fitted.privacy_.unit
        assert dplr.evaluate(fitted, X, X[:, 0] > 0, eps=1.0, **given).privacy_.unit == fitted.privacy_.unit
        assert not dplr.evaluate(fitted, X, X[:, 0] > 0, eps=1.0).privacy_.unit.weighted
        for missing, message in (
            ({"person": ids}, "`sample_weight` is required with weight_max"),
            ({"sample_weight": weights}, "`rows_per_person` must be 1 without persons"),
        ):
            if bounds.rows_per_person == 2 or "person" in missing:
                with pytest.raises(ValueError, match=message):
                    est.fit(X, X[:, 0] > 0, **missing)


@pytest.mark.filterwarnings("ignore")
def test_a_ball_of_numbers_is_plain_none_and_columns_are_asked_for_where_they_are_needed():
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (300, 2))
    one, other = (dplr.fit(X, X[:, 0] > 0, eps=1.0, rng=1, bounds=bounds) for bounds in (None, dplr.Bounds(None)))
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.privacy_ == other.privacy_
    ball = dplr.Bounds(None, rows_per_person=2)
    for call in (
        lambda: dplr.preprocessing.BoundsEncoder(ball).fit(X),
        lambda: dplr.preprocessing.RandomFourierFeatures(5, bounds=ball).fit(X),
        lambda: dplr.release_moments(X, bounds=ball, eps=1.0),
        lambda: dplr.release_moments(X, bounds=dplr.Bounds(None), eps=1.0),
        lambda: dplr.Formula("y ~ a", ball),
    ):
        with pytest.raises((ValueError, TypeError), match="`bounds` must"):
            call()


def test_a_file_is_read_as_it_is_documented(tmp_path):
    path = tmp_path / "bounds.toml"
    path.write_text('person = "id"\nweight = {column = "w", max = 200}\n[features.age]\nlower = 18\nupper = 99\n')
    bounds = dplr.Bounds.from_toml(path)
    assert (bounds.person, bounds.rows_per_person, bounds.weight, bounds.weight_max) == ("id", 1, "w", 200.0)


def test_a_mapping_with_keys_of_a_file_is_one():
    whole = {"features": FEATURES, "person": "id"}
    assert dplr.plan(n_rows=100, eps=1.0, bounds=whole).statement.unit.person == "id"


@pytest.mark.parametrize(
    ("units", "error", "message"),
    [
        ({"person": "age"}, ValueError, "`person` must not be among the features"),
        ({"weight": "age", "weight_max": 2}, ValueError, "`weight` must not be among the features"),
        ({"person": 3}, TypeError, "`person` must be the name of a column"),
        ({"person": ["x"]}, TypeError, "`person` must be the name of a column; got 'list'"),
        ({"person": ""}, ValueError, "`person` must not be empty"),
        ({"person": "\ud800"}, ValueError, "`person` must be text that UTF-8 can write"),
        ({"person": "id", "rows_per_person": 0}, ValueError, "`rows_per_person` must be at least 1"),
        ({"person": "id", "rows_per_person": 2**20 + 1}, ValueError, "`rows_per_person` must be at most 1048576"),
        ({"person": "id", "rows_per_person": True}, TypeError, "`rows_per_person` must be an integer"),
        ({"weight": "w"}, ValueError, "`weight` must stand beside `weight_max`"),
        ({"weight": "w", "weight_max": 0}, ValueError, "`weight_max` must be positive and finite"),
        ({"weight": "w", "weight_max": float("inf")}, ValueError, "`weight_max` must be positive and finite"),
        ({"weight": "w", "weight_max": float("nan")}, ValueError, "`weight_max` must be positive and finite"),
        ({"weight": "w", "weight_max": "2"}, TypeError, "`weight_max` must be a real number"),
        ({"person": "w", "weight": "w", "weight_max": 2}, ValueError, "must be another column than `person`"),
    ],
)
def test_columns_that_cannot_be_meant_are_refused(units, error, message):
    with pytest.raises(error, match=message):
        dplr.Bounds(FEATURES, **units)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("persons = 'id'", "`persons` is unknown.* Did you mean `person`"),
        ("weight = 'w'", "`weight` must be a table"),
        ("weight = {}", "`weight` must have column and max"),
        ("weight = {column = 'w'}", "`weight` must stand beside `weight_max`"),
        ("weight = {column = 'w', maximum = 3}", "`maximum` is unknown"),
        ("rows_per_person = 0", "`rows_per_person` must be at least 1"),
        ("person = 'age'", "`person` must not be among the features"),
    ],
)
def test_a_file_that_breaks_a_rule_is_refused_by_its_name(tmp_path, text, message):
    path = tmp_path / "bounds.toml"
    path.write_text(f"{text}\n[features.age]\nlower = 18\nupper = 99\n")
    with pytest.raises((ValueError, TypeError), match=rf"(?s)bounds\.toml.*{message}"):
        dplr.Bounds.from_toml(path)
