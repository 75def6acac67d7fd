"""How bounds were learned stays with them: in Python, dictionaries, files, models, and statements of fits."""

import json

import numpy as np
import pandas as pd
import pytest

import dplr

LEARNED = {
    "columns": ["age", "inc\u00f6me"], "eps": 0.5, "delta": 1e-7, "neighbouring": "add_remove", "unit": "person",
    "outside": 0.01,
}  # fmt: skip
FEATURES = {"age": (18, 99)}
FACT = (
    "bounds of age, inc\u00f6me were learned from private records by a release of its own (eps = 0.5, delta = 1e-07, "
    "add_remove of a person), which this statement does not count"
)


def test_it_comes_back_in_every_form(tmp_path):
    bounds = dplr.Bounds(FEATURES, (0, 9), learned=LEARNED)
    path = tmp_path / "bounds.toml"
    bounds.to_toml(path)
    for again in (dplr.Bounds.from_toml(path), dplr.Bounds.from_dict(bounds.to_dict()), eval(f"dplr.{bounds!r}")):
        assert again == bounds
        assert hash(again) == hash(bounds)
        assert again.to_dict()["learned"] == LEARNED
    assert bounds != dplr.Bounds(FEATURES, (0, 9))
    assert "learned" not in dplr.Bounds(FEATURES).to_dict()


@pytest.mark.parametrize("model", [dplr.LinearRegression, dplr.LogisticRegression])
def test_statements_and_model_files_say_it(model, tmp_path):
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame({"age": rng.uniform(18, 99, 500)}), rng.integers(0, 2, 500)
    target = (0, 1)
    est = model(eps=1.0, bounds=dplr.Bounds(FEATURES, target, learned=LEARNED)).fit(X, y)
    assert FACT in est.privacy_.assumptions
    dplr.save_model(est, tmp_path / "model.json")
    again = dplr.load_model(tmp_path / "model.json")
    assert again.bounds_ == est.bounds_ if hasattr(est, "bounds_") else True
    assert again.privacy_ == est.privacy_
    assert json.loads((tmp_path / "model.json").read_text()).__str__().count("add_remove") >= 2
    plain = model(eps=1.0, bounds=dplr.Bounds(FEATURES, target)).fit(X, y)
    assert FACT not in plain.privacy_.assumptions


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"columns": []}, TypeError, "must be a list of names"),
        ({"columns": "age"}, TypeError, "must be a list of names"),
        ({"columns": [3]}, TypeError, "must be the name of a column"),
        ({"columns": [""]}, ValueError, "must not be empty"),
        ({"eps": 0}, ValueError, "`eps`"),
        ({"eps": float("nan")}, ValueError, "`eps`"),
        ({"delta": 1}, ValueError, "`delta`"),
        ({"neighbouring": "both"}, ValueError, "`learned.neighbouring` must be one of"),
        ({"unit": "row"}, ValueError, "`learned.unit` must be one of"),
        ({"outside": 0.5}, ValueError, "`learned.outside` must be a share between"),
        ({"outside": True}, ValueError, "`learned.outside` must be a share between"),
        ({"more": 1}, ValueError, "more"),
    ],
)
def test_what_breaks_a_rule_is_refused(change, error, message):
    with pytest.raises(error, match=message):
        dplr.Bounds(FEATURES, learned=LEARNED | change)


@pytest.mark.parametrize("key", LEARNED)
def test_nothing_may_be_missing(key):
    values = {name: value for name, value in LEARNED.items() if name != key}
    with pytest.raises(ValueError, match="must say how bounds were learned; missing"):
        dplr.Bounds(FEATURES, learned=values)


def test_it_must_be_a_table():
    with pytest.raises(TypeError, match="must be a table"):
        dplr.Bounds(FEATURES, learned=[1])
