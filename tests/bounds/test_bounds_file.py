"""Bounds as plain values and as TOML: exact round trips, and errors that name the place."""

import json
import math
import pathlib
import pickle

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dplr

EXAMPLES = sorted((pathlib.Path(__file__).parents[2] / "docs" / "examples").glob("*.toml"))

text = st.text(st.characters(codec="utf-8"), max_size=12)
finite = st.floats(-1e300, 1e300)
pairs = st.tuples(finite, finite).filter(lambda pair: pair[0] < pair[1])
levels = st.one_of(
    st.lists(text, min_size=2, max_size=5, unique=True),
    st.lists(st.integers(-(2**53), 2**53), min_size=2, max_size=5, unique=True),
)


@st.composite
def columns(draw):
    if draw(st.booleans()):
        low, high = draw(pairs)
        column = {"lower": low, "upper": high}
        if low > -0.9 and high - low > 1e-3:
            known = ["clip", "log1p"] + ["sqrt"] * (low >= 0) + ["log"] * (low > 0)
            column["transform"] = draw(st.sampled_from(known))
        middle = low / 2 + high / 2
        if "transform" not in column and low < middle < high and draw(st.booleans()):
            column |= {"bins": [middle]} | draw(st.sampled_from([{}, {"reference": low}, {"reference": middle}]))
        missing = st.sampled_from([None, low, high, "indicator"])
    else:
        column = {"levels": draw(levels)}
        kind = draw(st.sampled_from(["one_hot", "ordinal"] + ["binary"] * (len(column["levels"]) == 2)))
        column |= {} if kind == "one_hot" else {kind: True}
        if kind == "one_hot" and draw(st.booleans()):
            column["reference"] = column["levels"][-1]
        missing = st.sampled_from([None, column["levels"][0]] + ["indicator"] * ("indicator" not in column["levels"]))
    gap = draw(missing)
    return column if gap is None else {**column, "missing": gap}


targets = st.one_of(
    st.none(),
    pairs,
    st.tuples(text, text),
    levels.map(lambda values: {"classes": values}),
    finite.map(lambda value: {"threshold": value}),
    pairs.map(lambda pair: {"lower": pair[0], "upper": pair[1]}),
)


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(st.dictionaries(text, columns(), min_size=1, max_size=4), st.lists(columns(), min_size=1, max_size=4)),
    targets,
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=3),
)
def test_bounds_survive_dictionary_file_pickle_and_repr(tmp_path_factory, features, target, pairs):
    keys = list(features) if isinstance(features, dict) else range(len(features))
    products = [(keys[a], keys[b]) for a, b in pairs if a < len(keys) and b < len(keys)]
    try:
        bounds = dplr.Bounds(features, target=target, products=products)
    except ValueError:
        assume(False)  # a transform may merge two bounds, and not every product is one
    path = tmp_path_factory.getbasetemp() / "bounds.toml"
    path.write_text(bounds.to_toml(), encoding="utf-8", newline="")
    for other in (
        dplr.Bounds.from_dict(bounds.to_dict()), dplr.Bounds.from_toml(path), pickle.loads(pickle.dumps(bounds)),
        eval(repr(bounds), {"Bounds": dplr.Bounds}),
    ):  # fmt: skip
        assert other == bounds
        assert hash(other) == hash(bounds)
        assert other.to_dict() == bounds.to_dict()
        assert repr(other) == repr(bounds)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_of_the_documentation_can_be_planned(path):
    bounds = dplr.Bounds.from_toml(path)
    assert dplr.Bounds.from_dict(bounds.to_dict()) == bounds
    model = "logistic" if "classes" in bounds.to_dict()["target"] else "linear"
    plan = dplr.plan(n_rows=1000, bounds=bounds, eps=1.0, model=model, mechanism=dplr.FunctionalMechanism(ranges="off"))
    square = [] if model == "logistic" else ["target_square"]
    assert list(plan.released) == ["linear", "diagonal", "off_diagonal", *square]


def test_a_flag_and_a_rate_stay_what_they_are_in_every_form(tmp_path):
    bounds = dplr.Bounds({"flag": (False, True), "rate": (0.0, 1.0), "grade": (1, 5)})
    bounds.to_toml(tmp_path / "bounds.toml")
    others = dplr.Bounds.from_dict(bounds.to_dict()), dplr.Bounds.from_toml(tmp_path / "bounds.toml")
    for other in (*others, dplr.Bounds.from_dict(json.loads(json.dumps(bounds.to_dict()))), eval(f"dplr.{bounds!r}")):
        assert other == bounds
        assert [column.flag for column in other.columns] == [True, False, False]


def test_different_knowledge_is_not_equal():
    kinds = [
        (0, 1), {"lower": 0, "upper": 1, "missing": "indicator"}, {"lower": 0, "upper": 1, "transform": "log1p"},
        {"levels": [0, 1]}, {"levels": [1, 0]}, {"levels": [0, 1], "binary": True}, {"levels": [0, 1], "ordinal": True},
        {"levels": ["0", "1"]}, {"levels": [0, 1], "reference": 0}, {"levels": [0, 1], "reference": 1},
        {"lower": 0, "upper": 1, "bins": [0.5]}, {"lower": 0, "upper": 1, "bins": [0.25]},
        {"lower": 0, "upper": 1, "transform": "sqrt"}, {"lower": 0, "upper": 1, "bins": [0.5], "reference": 0},
    ]  # fmt: skip
    every = [dplr.Bounds({"a": kind}, target=target) for kind in kinds for target in (None, {"threshold": 0})]
    pairs = [(0, 1), (1, 0), (0, 0)]
    every += [dplr.Bounds([(0, 1), (0, 1)], products=own) for own in ([], *([each] for each in pairs))]
    assert len(set(every)) == len(every)
    assert dplr.Bounds({"a": (0, 1)}) == dplr.Bounds({"a": {"lower": 0, "upper": 1, "transform": "clip"}})
    assert dplr.Bounds({"a": (0, 1)}) != dplr.Bounds({"a": (0.0, 1.0)}) == dplr.Bounds({"a": (0, 1.0)})
    assert dplr.Bounds({"a": {"levels": np.array(["x", "y"])}}) == dplr.Bounds({"a": {"levels": ("x", "y")}})


HOSTILE = [
    ("[features.age]\nlower = 17", r"Table \[features\.age\]: `upper` is required; got \['lower'\]\. Give lower and"),
    ("[features.age]\nlower = 90\nupper = 17", "`upper` must be above lower = 90; got 17.0. Exchange the two"),
    ("[features.age]\nlower = 1\nupper = 1", "`upper` must be above lower = 1.*drop it"),
    ("[features.age]\nlower = nan\nupper = 1", "`lower` must be finite; got nan"),
    ("[features.age]\nlower = 0\nupper = inf", "`upper` must be finite; got inf"),
    (f"[features.age]\nlower = 0\nupper = 1{'0' * 400}", "`upper` must fit into a float"),
    (f"[features.age]\nlower = 0\nupper = 1{'0' * 5000}", "must be a TOML file; got 'Exceeds the limit"),
    ("[features.age]\nlower = -1e308\nupper = 1e308", "`upper` must be a finite distance above lower"),
    ("[features.age]\nlower = true\nupper = 2", "`lower` must be a real number; got True. Write it without quotes"),
    ('[features.age]\nlower = "0"\nupper = 2', "`lower` must be a real number; got '0'"),
    ("[features.age]\nlower = 2020-01-01\nupper = 2", "`lower` must be a real number"),
    ("[features.age]\nlower = 0\nuper = 2", r"`uper` is unknown; known are lower.*Did you mean `upper`\?"),
    ("[features.age]\nlower = 0\nupper = 2\nlevels = [1, 2]", "`lower` is unknown; known are levels, binary, ordinal"),
    ('[features.age]\nlevles = ["a", "b"]', r"`levles` is unknown.*Did you mean `levels`\?"),
    ('[features.age]\nlower = 0\nupper = 2\ntransform = "root"', "`transform` must be one of clip, log1p, log, sqrt; "),
    ('[features.age]\nlower = 0\nupper = 2\ntransform = ["log1p"]', "`transform` must be one of"),
    ('[features.age]\nlower = -1\nupper = 2\ntransform = "log1p"', "`lower` must be above -1 with transform"),
    ('[features.age]\nlower = 1e17\nupper = 1.0000000000000001e17\ntransform = "log1p"', "after the transform"),
    ('[features.age]\nlower = 0\nupper = 2\ntransform = "log"', "`lower` must be above 0 with transform .*log1p where"),
    ('[features.age]\nlower = -0.1\nupper = 2\ntransform = "sqrt"', "`lower` must be at least 0 with transform"),
    ("[features.age]\nlower = 0\nupper = 9\nbins = []", "`bins` must list 1 to 4095 edges between bins; got '0 edges'"),
    ("[features.age]\nlower = 0\nupper = 9\nbins = 5", r"`bins` must be a list of the edges .*Such as \[18, 30, 45\]"),
    ("[features.age]\nlower = 0\nupper = 9\nbins = [3, 3]", r"`bins` must increase, inside .*\. 3 is followed by 3\."),
    ("[features.age]\nlower = 0\nupper = 9\nbins = [5, 3]", "`bins` must increase.* 5 is followed by 3"),
    ("[features.age]\nlower = 0\nupper = 9\nbins = [0, 3]", "`bins` must increase, inside lower = 0 and upper = 9"),
    ("[features.age]\nlower = 0\nupper = 9\nbins = [3, 9]", "`bins` must increase.* 9 is followed by 9"),
    ("[features.age]\nlower = 0\nupper = 9\nbins = [nan]", "`bins` must be finite; got nan"),
    ('[features.age]\nlower = 0\nupper = 9\nbins = ["3"]', "`bins` must be a real number; got '3'"),
    ("[features.age]\nbins = [3, 9]", "`lower` is required"),
    ("[features.age]\nlower = 0\nupper = 9\nbins = [3]\nreference = 10", r"must be a number in \[0, 9\]; got 10"),
    ('[features.age]\nlower = 0\nupper = 9\nbins = [3]\ntransform = "log1p"', "`transform` is unknown; known are"),
    ("[features.age]\nlower = 0\nupper = 9\nbin = [3]", r"`bin` is unknown.*Did you mean `bins`\?"),
    ("[features.age]\nlower = 0\nupper = 9\nreference = 3", "`reference` is unknown"),
    ('[features.age]\nlevels = ["a", "b"]\nreference = "c"', "`reference` must be one of the levels; got 'c'"),
    ('[features.age]\nlevels = ["1", "2"]\nreference = 1', "`reference` must be one of the levels; got 1"),
    ('[features.age]\nlevels = ["a", "b"]\nreference = "indicator"', "`reference` must be one of the levels"),
    ('[features.age]\nlevels = ["a", "b"]\nbinary = true\nreference = "a"', "`reference` must not stand beside binary"),
    ('[features.age]\nlevels = ["a", "b"]\nordinal = true\nreference = "a"', "must not stand beside ordinal.*number"),
    ("[features.age]\nlower = 0\nupper = 2\nmissing = 3", r"`missing` must be a number in \[0, 2\] or \"indicator\""),
    ('[features.age]\nlower = 0\nupper = 2\nmissing = "mean"', r"`missing` must be a number in .*; got 'mean'"),
    ("[features.age]\nlower = 0\nupper = 2\nmissing = nan", "`missing` must be finite"),
    ("[features.age]\nlower = 0\nupper = 2\nmissing = true", "`missing` must be a real number"),
    ("[features.age]\nlevels = []", r"`levels` must list at least 2 different values; got \[\]"),
    ('[features.age]\nlevels = ["only"]', "at least 2 different values.*drop the column"),
    ('[features.age]\nlevels = "ab"', "`levels` must be a list; got 'ab'"),
    ('[features.age]\nlevels = ["a", "b", "a"]', "`levels` must list every value once; got 'a'"),
    ("[features.age]\nlevels = [0, 1, false]", "`levels` must list every value once; got False"),
    ("[features.age]\nlevels = [1, 1.0]", "must list every value once"),
    ('[features.age]\nlevels = ["a", 1]', "must be all text, or all numbers"),
    ("[features.age]\nlevels = [1, nan]", "`levels` must be finite.*Missing values have a key of their own"),
    ("[features.age]\nlevels = [[1], [2]]", "`levels` must hold text, numbers or booleans"),
    ("[features.age]\nlevels = [1, 9007199254740993]", r"integers of at most 2\^53"),
    (f"[features.age]\nlevels = {list(range(5000))}", "`levels` must list at most 4096 values; got '5000 values'"),
    ('[features.age]\nlevels = ["a", "b", "c"]\nbinary = true', "must list two values with binary = true"),
    ('[features.age]\nlevels = ["a", "b"]\nbinary = true\nordinal = true', "`binary` must not stand beside ordinal"),
    ('[features.age]\nlevels = ["a", "b"]\nordinal = 1', "`ordinal` must be true or false; got 1"),
    ('[features.age]\nlevels = ["a", "b"]\nmissing = "c"', "`missing` must be one of the levels, or \"indicator\""),
    ('[features.age]\nlevels = ["indicator", "b"]\nmissing = "indicator"', "`missing` must not be ambiguous"),
    ("[features.age]\nlevels = [[[[[[[[" + "[" * 5000, "must be a TOML file"),
    ("[features]\nage = [17, 90]", r"`features\.age` must be a table; got \[17, 90\]\. Write \[features\.age\]"),
    ("features = 3", "`features` must hold at least one table; got 3"),
    ("[target]\nclasses = [0, 1]", "`features` must hold at least one table; got None"),
    ("[features]", r"`features` must hold at least one table; got \{\}"),
    ("[feature.age]\nlower = 0\nupper = 1", r"`feature` is unknown; known are features, target, .*`features`\?"),
    ('products = [["a", "b"]]\nA\n', "`products` must name columns of the bounds; got 'b'. Declare it"),
    ('products = [["aa", "a"]]\nA\n', r"`products` must name columns of the bounds; got 'aa'\. Did you mean 'a'\?"),
    ('products = [["a"]]\nA\n', r"`products` must be a list of pairs of columns; got \['a'\]\. Such as"),
    ('products = ["a", "a"]\nA\n', "`products` must be a list of pairs of columns; got 'a'"),
    ('products = "aa"\nA\n', "`products` must be a list of pairs of columns; got 'aa'"),
    ('products = [["a", "a"], ["a", "a"]]\nA\n', r"`products` must list every product once; got \['a', 'a'\]"),
    ("product = []\nA\n", r"`product` is unknown; known are features, target, products.*`products`\?"),
    ("A\n[target]\nclasses = [0]", "`classes` must list at least 2"),
    ("A\n[target]\nclasses = [0, 1]\nthreshold = 3", r"`target` must have one of its forms; got \['classes', 'thr"),
    ("A\n[target]\nlower = 0", r"`target` must have one of its forms; got \['lower'\]\. Give classes, or lower and"),
    ("A\n[target]\nlower = 1\nupper = 0", "Target: .*`upper` must be above lower"),
    ("A\n[target]\nthreshold = inf", "Target: `threshold` must be finite"),
    ('A\n[target]\nthreshhold = 3', r"Target: `threshhold` is unknown.*Did you mean `threshold`\?"),
    ("A\n[target]", "`target` must have one of its forms"),
    ("lower = ", "must be a TOML file; got 'Invalid value"),
    ("", "`features` must hold at least one table"),
    ("\n".join(f"[features.x{k}]\nlevels = {list(range(100))}" for k in range(50)), "at most 4096 columns.*got 5000"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "message"), HOSTILE)
def test_errors_name_the_file_the_table_the_key_and_the_remedy(content, message, tmp_path):
    path = tmp_path / "bounds.toml"
    path.write_text(content.replace("A\n", "[features.a]\nlower = 0\nupper = 1\n"))
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        dplr.Bounds.from_toml(path)
    assert str(caught.value).startswith(f"`{path}`")
    assert len(str(caught.value)) < 600


def test_text_that_is_not_utf8_is_refused(tmp_path):
    path = tmp_path / "bounds.toml"
    path.write_bytes(b"\xff\xfe[features.a]")
    with pytest.raises(ValueError, match="must be a TOML file"):
        dplr.Bounds.from_toml(path)
    with pytest.raises(ValueError, match="text that UTF-8 can write"):
        dplr.Bounds({"a": {"levels": ["\ud800", "b"]}})


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"age": {"lower": 0}}, "Column 'age': `upper` is required"),
        ([{"levels": ["a"]}], "Column 0: `levels` must list at least 2"),
        ({"age": {}}, "Column 'age': `lower` is required"),
        ({"age": {3: 4}}, "Column 'age': `3` is unknown"),
        ({"age": {"lower": 0, "upper": math.inf}}, "Column 'age': `upper` must be finite"),
    ],
)
def test_errors_of_a_dictionary_name_the_column(features, message):
    with pytest.raises(ValueError, match=message):
        dplr.Bounds(features)
