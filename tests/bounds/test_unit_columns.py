"""Columns of ids and weights in bounds: declared in Python or in a file, written and read back, and never features."""

import pytest

import dplr

FEATURES = {"age": (18, 99), "hours": (0, 80)}
UNITS = {"person": "id", "rows_per_person": 3, "weight": "a b", "weight_max": 200.5}


@pytest.mark.parametrize("units", [UNITS, {"person": "id"}, {"weight": "w", "weight_max": 1}, {}])
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
        ({"rows_per_person": 2}, ValueError, "`rows_per_person` must be 1 without `person`"),
        ({"person": "id", "rows_per_person": 0}, ValueError, "`rows_per_person` must be at least 1"),
        ({"person": "id", "rows_per_person": 2**20 + 1}, ValueError, "`rows_per_person` must be at most 1048576"),
        ({"person": "id", "rows_per_person": True}, TypeError, "`rows_per_person` must be an integer"),
        ({"weight": "w"}, ValueError, "`weight` must stand beside `weight_max`"),
        ({"weight_max": 2}, ValueError, "`weight` must stand beside `weight_max`"),
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
        ("rows_per_person = 2", "`rows_per_person` must be 1 without `person`"),
        ("person = 'age'", "`person` must not be among the features"),
    ],
)
def test_a_file_that_breaks_a_rule_is_refused_by_its_name(tmp_path, text, message):
    path = tmp_path / "bounds.toml"
    path.write_text(f"{text}\n[features.age]\nlower = 18\nupper = 99\n")
    with pytest.raises((ValueError, TypeError), match=rf"(?s)bounds\.toml.*{message}"):
        dplr.Bounds.from_toml(path)
