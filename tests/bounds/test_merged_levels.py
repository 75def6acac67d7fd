"""Levels that are merged by name: one value of a table is a level, however it is called, at every door."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dplr
from dplr.rows import Encoder, as_table

RACE = {"levels": ["w", "a", "b", "i"], "merge": {"rest": ["a", "i"]}}
CODE = {"levels": [4, 1, 3, 2], "merge": {"far": [4, 2]}}


def recoded(table):
    """The table as somebody would write it who merges levels by hand; "rest" itself is no level."""
    race = table.race.where(table.race != "rest", "?").replace({"a": "rest", "i": "rest"})
    return pd.DataFrame({"race": race, "code": table.code.replace({2: 4})})


def rows(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "race": rng.choice(["w", "a", "b", "i", "rest", "?", None], n),
            "code": rng.choice([1.0, 2, 3, 4, 9, np.nan], n),
        }
    )


@pytest.mark.parametrize(
    "kind", [{}, {"missing": "indicator"}, {"missing": "i"}, {"missing": "rest", "reference": "a"}]
)
@pytest.mark.parametrize(
    "library", [lambda table: table, pl.from_pandas, lambda table: table.astype({"race": "category"})]
)
def test_a_merged_level_is_what_a_recoded_table_has(kind, library):
    named = {key: "rest" if value in ("i", "a") else value for key, value in kind.items()}
    merged = dplr.Bounds({"race": RACE | kind, "code": CODE | {"missing": "far"}})
    recoded_bounds = dplr.Bounds(
        {"race": {"levels": ["w", "rest", "b"], **named}, "code": {"levels": [4, 1, 3], "missing": 4}}
    )
    table = rows()
    got, marks = Encoder(as_table(library(table)), merged.layout).block(None)
    expected, expected_marks = Encoder(as_table(recoded(table)), recoded_bounds.layout).block(None)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(marks, expected_marks)
    assert merged.coef_names == tuple(name.replace("code=4", "code=far") for name in recoded_bounds.coef_names)


def test_bounds_with_merged_levels_read_back_from_every_form(tmp_path):
    pain = {"levels": ["no", "ill", "sick"], "merge": {"sick": ["ill", "sick"]}, "binary": True, "least_share": 0.01}
    bounds = dplr.Bounds({"race": RACE | {"reference": "i"}, "code": CODE, "pain": pain}, target=(0, 9))
    assert bounds.coef_names == ("race=w", "race=b", "code=far", "code=1", "code=3", "pain=sick")
    bounds.to_toml(tmp_path / "bounds.toml")
    assert 'merge = { rest = ["a", "i"] }' in (tmp_path / "bounds.toml").read_text()
    assert dplr.Bounds.from_toml(tmp_path / "bounds.toml") == bounds
    assert dplr.Bounds.from_dict(bounds.to_dict()) == bounds
    assert eval(repr(bounds), {"Bounds": dplr.Bounds}) == bounds
    assert pickle.loads(pickle.dumps(bounds)) == bounds
    assert bounds != dplr.Bounds(
        {"race": RACE | {"reference": "i"}, "code": CODE, "pain": pain | {"least_share": 0.02}}, target=(0, 9)
    )


def test_a_model_of_merged_levels_says_so_and_reads_back_and_predicts_alike(tmp_path):
    table = rows().dropna()
    y = np.where(table.race.isin(["a", "i"]), 8.0, 1.0)
    bounds = dplr.Bounds({"race": RACE, "code": CODE}, target=(0, 9))
    est = dplr.fit(table, y, bounds=bounds, model="linear", mechanism="fm", eps=float("inf"))
    assert "one of w, rest (a, i), b" in str(est.privacy_)
    names = est.summary().to_frame().index if hasattr(est.summary(), "to_frame") else est.coef_names_
    assert any("race=rest" in str(name) for name in names)
    dplr.save_model(est, tmp_path / "model.json")
    again = dplr.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(table), est.predict(table))
    one, other = (est.predict(pd.DataFrame({"race": [race], "code": [1.0]})) for race in ("a", "i"))
    assert one == other > 6


def test_a_check_names_the_value_that_no_row_has_and_not_the_level():
    table = pd.DataFrame({"race": ["w", "b", "a", "A"] * 9})
    said = str(dplr.check(table, bounds=dplr.Bounds({"race": RACE})))
    assert "no value is 'i'" in said


@pytest.mark.parametrize(
    ("declared", "error", "said"),
    [
        ({"merge": ["a"]}, TypeError, "`merge` must be a table of names"),
        ({"merge": {}}, TypeError, "`merge` must be a table of names"),
        ({"merge": {3: ["a"]}}, TypeError, "`merge` must have text as names"),
        ({"merge": {"x": "a"}}, TypeError, "`merge.x` must be a list"),
        ({"merge": {"x": []}}, ValueError, "`merge.x` must list at least 1"),
        ({"merge": {"x": ["c"]}}, ValueError, "`merge.x` must list declared levels; got 'c'. Add it to levels"),
        ({"merge": {"x": ["a"], "y": ["i", "a"]}}, ValueError, "`merge.y` must not list a level of x"),
        ({"merge": {"w": ["a", "i"]}}, ValueError, "must not give a name that another level has; got 'w'"),
        ({"merge": {"a": ["w"], "w": ["a"]}}, ValueError, "must not give a name that another level has"),
        ({"merge": {"x": ["w", "a", "b", "i"]}}, ValueError, "must leave at least 2 levels"),
        ({"merge": {"x": ["w", "b"]}, "ordinal": True}, ValueError, "must list neighbours with ordinal"),
        ({"merge": {"x": ["a", "b"]}, "binary": True}, ValueError, "must list two values with binary"),
        ({"merge": {"x": ["a", "b"]}, "missing": "y"}, ValueError, "`missing` must be one of the levels"),
        ({"merge": {"indicator": ["a", "b"]}, "missing": "indicator"}, ValueError, "must not be ambiguous"),
        ({"least_share": 0.3}, ValueError, "`least_share` must be above 0 and at most 0.25"),
        ({"least_share": 0}, ValueError, "`least_share` must be above 0"),
        ({"least_share": "1%"}, TypeError, "`least_share`"),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_refused_by_name(declared, error, said):
    with pytest.raises(error, match=said):
        dplr.Bounds({"race": {"levels": ["w", "a", "b", "i"], **declared}})


def test_the_name_of_a_number_may_be_its_own_text():
    assert dplr.Bounds({"code": {"levels": [1, 2, 3], "merge": {"1": [1, 2]}}}).coef_names == ("code=1", "code=3")
    with pytest.raises(ValueError, match="a name that another level has"):
        dplr.Bounds({"code": {"levels": [1, 2, 3], "merge": {"3": [1, 2]}}})
