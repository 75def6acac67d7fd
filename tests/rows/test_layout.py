"""Bins, reference levels, transforms and products: what a row becomes, and that it stays in its declared body."""

import itertools
import math
import pathlib
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import dplr
from dplr.bounds.scaling import layout_prep
from dplr.problem.geometry import GRID
from dplr.rows import ArrayRows, Encoder, as_table
from dplr.rows.exact import Moments

LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}
WORK = ["none", "some", "full"]
BOUNDS = dplr.Bounds(
    {
        "age": {"lower": 18, "upper": 99, "missing": "indicator"},
        "hours": (0, 80),
        "gain": {"lower": 1, "upper": 99999, "transform": "log", "missing": 7},
        "rooms": {"lower": 0, "upper": 25, "transform": "sqrt"},
        "work": {"levels": WORK, "reference": "none", "missing": "indicator"},
        "code": {"levels": [3, 1, 7], "reference": 1, "missing": 1},
        "years": {"lower": 0, "upper": 99, "bins": [18, 30, 45.5], "missing": "indicator"},
        "kids": {"lower": 0, "upper": 10, "bins": [1, 3], "reference": 0, "missing": 2},
        "grade": {"levels": ["low", "middle", "high"], "ordinal": True, "missing": "high"},
    },
    target={"classes": ["no", "yes"]},
    products=[
        ("age", "age"), ("age", "hours"), ("age", "work"), ("work", "years"), ("kids", "gain"), ("grade", "grade"),
        ("rooms", "grade"),
    ],
)  # fmt: skip


def values(n, seed=0):
    """Columns as Python lists: with gaps, values outside, unknown levels, and edges of bins."""
    rng = np.random.default_rng(seed)

    def some(*choices):
        if any(isinstance(each, float) for each in choices):  # polars has no column of integers and others
            choices = [None if each is None else float(each) for each in choices]
        return [choices[k] for k in rng.integers(0, len(choices), n)]

    columns = {
        "age": some(None, 10, 18, 33.3, 58.5, 99, 120),
        "hours": rng.uniform(-9, 99, n).tolist(),
        "gain": some(None, 0.5, 1, 55.5, 99999, 10**7),
        "rooms": some(-3, 0, 2.25, 9, 25, 100),
        "work": some(*WORK, "other", None),
        "code": some(1, 3, 7, 9, None),
        "years": some(None, -5, 0, 17.9, 18, 29.999, 30, 45.5, 99, 150),
        "kids": some(None, -1, 0, 0.5, 1, 2, 3, 99),
        "grade": some("low", "middle", "high", "top", None),
        "note": ["x"] * n,
    }
    y = ["yes" if (w == "full") ^ (h > 40) else "no" for w, h in zip(columns["work"], columns["hours"], strict=True)]
    return columns, np.array(y)


def encode(X, bounds):
    return Encoder(X if isinstance(X, np.ndarray) else as_table(X), bounds.layout).block()[0]


# ---- the documented encoding, a value at a time ----

FUNCTIONS = {"clip": float, "log": math.log, "log1p": math.log1p, "sqrt": math.sqrt}


def column_of(value, declared):
    """(number less the middle of its range, or None; columns of the model), as the documentation has it."""
    missing = declared.get("missing")
    gap = value is None
    if gap and missing != "indicator":
        value = missing
    if "levels" in declared:
        if declared.get("ordinal"):
            levels = declared["levels"]
            place = levels.index(value) if value in levels else (len(levels) - 1) / 2
            return place - (len(levels) - 1) / 2, [float(place)]
        found = [float(value == level) for level in declared["levels"] if level != declared.get("reference")]
    elif "bins" in declared:
        ends = [-math.inf, *declared["bins"], math.inf]
        sides = [
            (low, high)
            for low, high in itertools.pairwise(ends)
            if not ("reference" in declared and low <= declared["reference"] < high)
        ]
        found = [float(not (gap and missing == "indicator") and low <= value < high) for low, high in sides]
    else:
        function = FUNCTIONS[declared.get("transform", "clip")]
        low, high = function(declared["lower"]), function(declared["upper"])
        if gap and missing == "indicator":
            return 0.0, [(low + high) / 2, 1.0]
        inside = function(min(max(value, declared["lower"]), declared["upper"]))
        return inside - (low + high) / 2, [inside, *([0.0] if missing == "indicator" else [])]
    return None, found + ([float(gap)] if missing == "indicator" else [])


def expected(columns, bounds):
    known = bounds.to_dict()
    rows = []
    for j in range(len(next(iter(columns.values())))):
        parts = {name: column_of(columns[name][j], declared) for name, declared in known["features"].items()}
        row = [entry for _, own in parts.values() for entry in own]
        for pair in known["products"]:
            first, second = ([own] if (own := parts[name][0]) is not None else parts[name][1] for name in pair)
            row += [a * b for a in first for b in second]
        rows.append(row)
    return np.array(rows)


def clipped_to_ranges(matrix, layout):
    low, high = np.array(layout.pairs).T
    return np.clip(matrix, low, high)


def test_every_library_gives_the_documented_encoding_bit_for_bit():
    columns, _ = values(2000)
    tables = [encode(make(columns), BOUNDS) for make in LIBRARIES.values()]
    assert_allclose(clipped_to_ranges(tables[0], BOUNDS.layout), expected(columns, BOUNDS), rtol=1e-14, atol=1e-12)
    assert len(BOUNDS.layout.names) == tables[0].shape[1] == BOUNDS.layout.width == len(BOUNDS.layout.pairs)
    for table in tables[1:]:
        assert table.tobytes() == tables[0].tobytes()


def test_an_array_by_position_has_the_bits_of_the_table():
    numbers = ("age", "hours", "gain", "rooms", "code", "years", "kids")
    known = BOUNDS.to_dict()["features"]
    pairs = [(0, 0), (0, 1), (4, 5), (6, 2), (0, 4)]
    named = dplr.Bounds({name: known[name] for name in numbers}, products=[(numbers[a], numbers[b]) for a, b in pairs])
    by_position = dplr.Bounds([known[name] for name in numbers], products=pairs)
    columns, _ = values(500)
    frame = pl.DataFrame({name: columns[name] for name in numbers}, strict=False)
    array = np.array([[np.nan if v is None else v for v in columns[name]] for name in numbers], float).T
    table = encode(frame, named)
    assert encode(array, by_position).tobytes() == table.tobytes()
    assert encode(np.asfortranarray(array), by_position).tobytes() == table.tobytes()
    assert encode(frame, by_position).tobytes() == table.tobytes()
    assert by_position.layout.names[-1] == "column 0*column 4=7"


@pytest.mark.parametrize("mechanism", ["fm", "objective", "output", "ngd"])
def test_fits_and_predictions_are_the_same_in_every_library(mechanism):
    columns, y = values(800)
    tables = {name: make(columns) for name, make in LIBRARIES.items()}
    options = {"eps": 1.0, "delta": 1e-5 if mechanism == "ngd" else 0.0, "mechanism": mechanism, "rng": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = [dplr.fit(frame, y, bounds=BOUNDS, **options) for frame in tables.values()]
    for est in fits:
        assert_array_equal(est.coef_, fits[0].coef_)
        assert list(est.named_coef_) == list(BOUNDS.layout.names)
    for frame in tables.values():
        assert_array_equal(fits[0].predict_proba(frame), fits[0].predict_proba(tables["pandas"]))


def test_records_one_at_a_time_are_predicted_as_in_a_batch():
    """The encoded rows have the same bits; a sum of products may be rounded in another order."""
    columns, y = values(300)
    for name, make in LIBRARIES.items():
        frame = make(columns)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            est = dplr.fit(frame, y, eps=1.0, bounds=BOUNDS, rng=1)
        alone = [frame[i : i + 1] if name != "arrow" else frame.slice(i, 1) for i in range(60)]
        assert_array_equal(np.concatenate([encode(each, BOUNDS) for each in alone]), encode(frame, BOUNDS)[:60])
        batch = est.decision_function(frame)[:60]
        assert_allclose(np.concatenate([est.decision_function(each) for each in alone]), batch, rtol=1e-12)


# ---- inside the ball and the body, whatever the rows hold ----

ends = st.floats(-1e6, 1e6).map(lambda value: round(value, 3))
WILD = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 0.0, 1.0, 2.0, 0.5, 3.0, 7.0, -1.0, 100.0]


@st.composite
def declared(draw):
    """A column of numbers: plain, transformed, in bins, or levels."""
    kind = draw(st.sampled_from(["clip", "log1p", "log", "sqrt", "bins", "levels", "referred", "ordinal"]))
    gap = draw(st.sampled_from([None, "indicator", "value"]))
    if kind in ("levels", "referred", "ordinal"):
        column = {"levels": draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, 7.0]), min_size=2, unique=True))}
        column |= {"ordinal": True} if kind == "ordinal" else {}
        column |= {"reference": column["levels"][-1]} if kind == "referred" else {}
        own = column["levels"][0]
    else:
        low, high = sorted((draw(ends), draw(ends)))
        low = {"log1p": abs(low), "log": abs(low) + 0.5, "sqrt": abs(low)}.get(kind, low)
        column = {"lower": low, "upper": max(low, high) + 1.5}
        if kind == "bins":
            edges = {low + 1.5 * share for share in draw(st.lists(st.floats(0.1, 0.9), min_size=1, max_size=4))}
            column["bins"] = sorted(edges)
            column |= draw(st.sampled_from([{}, {"reference": low}]))
        elif kind != "clip":
            column["transform"] = kind
        own = column["upper"]
    return column | ({} if gap is None else {"missing": own if gap == "value" else gap})


@st.composite
def bounds_and_rows(draw):
    columns = draw(st.lists(declared(), min_size=1, max_size=4))
    pairs = [(i, j) for i in range(len(columns)) for j in range(i, len(columns))]
    products = []
    for pair in draw(st.lists(st.sampled_from(pairs), max_size=5, unique=True)):
        try:
            dplr.Bounds(columns, products=[pair])
        except ValueError:
            continue  # a square of levels
        products.append(pair)
    near = [
        each for column in columns for each in (*column.get("levels", ()), column.get("lower"), column.get("upper"))
    ]
    pool = st.sampled_from([*WILD, *[value for value in near if value is not None]])
    row = st.lists(pool | ends, min_size=len(columns), max_size=len(columns))
    return dplr.Bounds(columns, products=products), np.array(draw(st.lists(row, min_size=1, max_size=8)))


def units(row, prep):
    """One encoded row in grid units, exactly: (d,) integers, from its moments with the intercept's constant."""
    d, constant = prep.geometry.d, round(prep.geometry.intercept * GRID)
    total = ArrayRows(row, np.ones(1), replace(prep, layout=None)).sum(Moments(d, True), None)
    cells = total.hi.astype(object) * 2**32 + total.lo
    entries = [int(cells[j, d]) // constant for j in range(d)]
    assert [int(cells[j, j]) for j in range(d)] == [entry**2 for entry in entries]
    return entries


@settings(max_examples=150, deadline=None)
@given(bounds_and_rows())
def test_no_row_leaves_the_ball_or_the_body_of_its_geometry(drawn):
    """In integers: at most one entry of a group is not 0, none is above the half-width, their squares stay below 1."""
    bounds, rows = drawn
    prep = layout_prep(bounds.layout, True, None)
    geometry = prep.geometry
    c = round(geometry.half_width * GRID)
    assert sum(geometry.groups) == geometry.d + 1 == bounds.layout.width + 1 == len(bounds.layout.names) + 1
    hot = {first + k for first, size in geometry.blocks for k in range(size)} | {m + 1 for m in geometry.marked}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no arithmetic goes wrong on the way
        encoded = encode(rows, bounds)
    for row in encoded:
        entries = units(row[np.newaxis], prep)
        assert sum(entry**2 for entry in entries) <= 2**40
        for first, size in zip(geometry.firsts, geometry.groups, strict=True):
            group = entries[first : first + size] if first < geometry.d else []
            assert sum(map(bool, group)) <= 1
            assert all(abs(entry) <= c for entry in group)
            assert all(entry in (0, c) for j, entry in enumerate(group, first) if j in hot)


@settings(max_examples=100, deadline=None)
@given(bounds_and_rows())
def test_products_stay_in_their_ranges_as_rounded_and_reach_the_ends(drawn):
    """So a product is never counted as outside, and half its range would cut it."""
    bounds, rows = drawn
    layout = bounds.layout
    finite = np.where(np.isinf(rows), 1.0, rows)
    known, ends = len(layout.columns), [*layout.firsts, layout.width]
    encoded = encode(finite, bounds)
    for product, first, end in zip(layout.products, ends[known:], ends[known + 1 :], strict=False):
        low, high = product.pair
        found = encoded[:, first:end]
        assert ((found >= low) & (found <= high) | np.isnan(found)).all()
        corner = [
            [column.get("upper", max(column.get("levels", [0]), default=0)), column.get("lower", 0)]
            for column in bounds.to_dict()["features"]
        ]
        if all(factor.kind == "number" for factor in product.factors):
            grid = np.array(
                [[a if k == product.places[0] else b for k in range(known)] for a in (0, 1) for b in (0, 1)]
            )
            tops = np.array([[corner[k][which] for k, which in enumerate(row)] for row in grid], float)
            reached = encode(tops, bounds)[:, first]
            assert reached.max() == pytest.approx(high, rel=1e-9)
            assert product.square or reached.min() == pytest.approx(low, rel=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_block_of_products_is_one_group(fit_intercept):
    bounds = dplr.Bounds([(0, 1), {"levels": [1, 2, 3]}, {"lower": 0, "upper": 3, "bins": [1, 2]}],
                         products=[(0, 1), (1, 2), (0, 0), (2, 0)])  # fmt: skip
    geometry = layout_prep(bounds.layout, fit_intercept, None).geometry
    assert geometry.blocks == ((1, 3), (4, 3), (10, 9))
    assert geometry.shared == ((7, 3), (20, 3))
    assert geometry.groups == (1, 3, 3, 3, 9, 1, 3, *[1] * fit_intercept)
    assert geometry.half_width == math.isqrt(2**40 // 7) / 2**20
    assert geometry.numbers == (0, 7, 8, 9, 19, 20, 21, 22)
    assert bounds.layout.numbers == (0, 19)
    assert "2 blocks of products (6 columns)" in str(geometry)


def test_a_reference_takes_a_column_and_nothing_else():
    with_, without = (
        layout_prep(dplr.Bounds([(0, 1), {"levels": [1, 2, 3]} | own]).layout, True, None).geometry
        for own in ({}, {"reference": 2})
    )
    assert (with_.d, without.d) == (4, 3)
    assert (with_.groups, without.groups) == ((1, 3, 1), (1, 2, 1))
    assert with_.half_width == without.half_width


# ---- what each kind means ----


def one(column, given, library="polars"):
    return encode(LIBRARIES[library]({"a": given}), dplr.Bounds({"a": column})).tolist()


@pytest.mark.parametrize(
    ("column", "given", "want"),
    [
        ({"levels": ["x", "y", "z"], "reference": "y"}, ["x", "y", "z", "?"], [[1, 0], [0, 0], [0, 1], [0, 0]]),
        ({"levels": ["x", "y"], "reference": "x", "missing": "x"}, ["y", None], [[1], [0]]),
        ({"levels": ["x", "y"], "reference": "x", "missing": "indicator"}, ["y", "x", None], [[1, 0], [0, 0], [0, 1]]),
        ({"levels": [True, False], "reference": False}, [True, False], [[1], [0]]),
        ({"lower": 0, "upper": 9, "bins": [2, 5]}, [-7.0, 1.9, 2.0, 5.0], [[1, 0, 0]] * 2 + [[0, 1, 0], [0, 0, 1]]),
        ({"lower": 0, "upper": 9, "bins": [5], "reference": 9, "missing": 0}, [None, 5.0, 4.0], [[1], [0], [1]]),
        ({"lower": 0, "upper": 9, "bins": [5], "missing": "indicator"}, [None, 5], [[0, 0, 1], [0, 1, 0]]),
        ({"lower": 4, "upper": 9, "transform": "sqrt", "missing": 4}, [None, 9.0], [[2], [3]]),
        ({"lower": 1, "upper": 9, "transform": "log", "missing": 1}, [None, 1.0], [[0], [0]]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("library", LIBRARIES)
def test_values_become_these_columns(column, given, want, library):
    assert one(column, given, library) == want


@pytest.mark.parametrize("transform", ["log", "log1p", "sqrt"])
def test_transforms_are_monotone_and_exist_below_the_lower_bound_too(transform):
    given = [-1e300, -5.0, -1.0, 0.0, 0.2, 0.25, 1.0, 99999.0, 1e300]
    got = np.ravel(one({"lower": 0.25, "upper": 99999, "transform": transform}, given))
    assert (np.diff(got) > 0).all()
    assert np.isfinite(got).all()
    assert_allclose(got[5:], [FUNCTIONS[transform](value) for value in given[5:]], rtol=1e-15)


@pytest.mark.parametrize("value", [math.inf, -math.inf])
@pytest.mark.parametrize("mechanism", ["fm", "objective"])
def test_infinite_numbers_are_refused_in_bins_too(value, mechanism, entropy):
    X = pl.DataFrame({"a": [1.0, 2.0] * 19 + [value, 2.0]})
    bounds = dplr.Bounds({"a": {"lower": 0, "upper": 3, "bins": [1.5]}}, products=[])
    with pytest.raises(ValueError, match=r"1 of 40 rows with NaN or infinity or a missing value \(a 1\)"):
        dplr.fit(X, [0, 1] * 20, eps=1.0, mechanism=mechanism, bounds=bounds)
    assert entropy.bytes == 0


def test_missing_factors_are_refused_by_their_own_names_before_any_noise(entropy):
    bounds = dplr.Bounds({"a": (0, 1), "b": {"levels": ["x", "y"]}}, products=[("a", "b"), ("a", "a")])
    X = pl.DataFrame({"a": [0.5, None] * 20, "b": ["x", "y", None, "x"] * 10})
    with pytest.raises(ValueError, match=r"30 of 40 rows with .* missing value \(a 20, b 10\)"):
        dplr.fit(X, [0, 1] * 20, eps=1.0, bounds=bounds)
    assert entropy.bytes == 0


def test_what_is_missing_counts_in_products_as_it_does_alone():
    """A marked number counts as the middle, so its products are exactly 0; a constant counts as that constant."""
    columns = {"a": [None], "b": [None], "c": [0.3]}
    bounds = dplr.Bounds(
        {
            "a": {"lower": 0.1, "upper": 0.7, "missing": "indicator"},
            "b": {"lower": 0, "upper": 4, "missing": 3},
            "c": (0, 1),
        },
        products=[("a", "a"), ("a", "b"), ("b", "b"), ("b", "c")],
    )
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Float64))
    got = encode(frame, bounds)[0]
    assert bounds.layout.names[-4:] == ("a^2", "a*b", "b^2", "b*c")
    assert got[-4:].tolist() == [0.0, 0.0, 1.0, 1.0 * (0.3 - 0.5)]


def test_undeclared_values_are_told_to_count_as_the_reference():
    frame = pl.DataFrame({"a": ["x", "y", "z", "z"] * 50, "b": ["x", "z", "x", "x"] * 50})
    bounds = dplr.Bounds({"a": {"levels": ["x", "y"], "reference": "x"}, "b": {"levels": ["x", "y"]}})
    message = (
        r"count as none \(b 25\.00%\).*\. values of X that are no declared level count as the reference \(a 50\.00%\)"
    )
    with pytest.warns(UserWarning, match=message):
        est = dplr.fit(frame, [True, False] * 100, eps=1.0, bounds=bounds)
    facts = est.privacy_.assumptions
    assert "declared levels (another value counts as none of them): b one of x, y" in facts
    fact = "another value counts as the reference, which has no column): a one of x, y (the reference: x)"
    assert any(fact in each for each in facts)


def test_a_statement_says_bins_transforms_and_products():
    facts = dplr.plan(n_rows=400, bounds=BOUNDS, eps=1.0).statement.assumptions
    assert (
        "declared bounds (values outside are clipped): age in [18, 99], hours in [0, 80], gain in [1, 99999] (on the "
        "scale of log), rooms in [0, 25] (on the scale of sqrt)"
    ) in facts
    assert (
        "declared bins (values outside count in the first or the last): years in [0, 18), [18, 30), [30, 45.5), "
        "[45.5, 99]; kids in [0, 1), [1, 3), [3, 10] (the reference, without a column: [0, 1))"
    ) in facts
    assert (
        "products of these columns, which are clipped before: (age - 58.5) squared, (age - 58.5) * (hours - 40), "
        "(age - 58.5) * each column of work, each column of work * each column of years, each column of kids * "
        f"(log(gain) - {math.log(99999) / 2}), (grade - 1) squared, (sqrt(rooms) - 2.5) * (grade - 1)"
    ) in facts


# ---- units ----


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_coefficients_of_products_are_in_the_units_that_the_documentation_names(fit_intercept):
    rng = np.random.default_rng(5)
    n, effects = 6000, {"none": 0.0, "some": 1.0, "full": 2.5}
    frame = pl.DataFrame(
        {"age": rng.uniform(18, 99, n), "hours": rng.uniform(0, 80, n), "work": rng.choice(list(effects), n)}
    )
    age, hours, full = frame["age"].to_numpy() - 58.5, frame["hours"].to_numpy() - 40, frame["work"] == "full"
    y = 0.05 * (age + 58.5) - 0.002 * age**2 + 0.001 * age * hours + 0.04 * age * full.to_numpy()
    y = y + np.array([effects[work] for work in frame["work"]])
    bounds = dplr.Bounds(
        {"age": (18, 99), "hours": (0, 80), "work": {"levels": WORK, "reference": "none"}},
        target={"lower": -20, "upper": 20},
        products=[("age", "age"), ("age", "hours"), ("work", "age")],
    )
    est = dplr.fit(frame, y, model="linear", mechanism="fm", eps=math.inf, bounds=bounds, fit_intercept=fit_intercept)
    found, want = est.named_coef_, {
        "age": 0.05, "hours": 0.0, "work=some": 1.0, "work=full": 2.5, "age^2": -0.002, "age*hours": 0.001,
        "work=some*age": 0.0, "work=full*age": 0.04,
    }  # fmt: skip
    assert list(found) == list(want)
    assert_allclose(list(found.values()), list(want.values()), rtol=0.02, atol=2e-4)
    assert_allclose(est.predict(frame), y, atol=0.05)
    by_hand = est.intercept_ + sum(
        found[name] * column
        for name, column in {
            "age": age + 58.5, "hours": hours + 40, "work=some": frame["work"] == "some", "work=full": full,
            "age^2": age**2, "age*hours": age * hours, "work=some*age": (frame["work"] == "some") * age,
            "work=full*age": full * age,
        }.items()
    )  # fmt: skip
    assert_allclose(est.predict(frame), np.asarray(by_hand), rtol=1e-9, atol=1e-9)


def test_coefficients_of_levels_are_differences_from_the_reference():
    rng = np.random.default_rng(0)
    work = rng.choice(WORK, 5000)
    y = np.array([{"none": 1.0, "some": 3.0, "full": 0.5}[each] for each in work])
    bounds = dplr.Bounds({"work": {"levels": WORK, "reference": "some"}}, target=(-5, 5))
    est = dplr.fit(pd.DataFrame({"work": work}), y, model="linear", mechanism="fm", eps=math.inf, bounds=bounds)
    assert est.named_coef_ == pytest.approx({"work=none": -2.0, "work=full": -2.5}, abs=0.02)
    assert est.intercept_ == pytest.approx(3.0, abs=0.02)


@pytest.mark.filterwarnings("ignore:`public` has values outside the bounds", "ignore::dplr.PrivacyWarning")
@pytest.mark.filterwarnings("ignore:missing values of X", "ignore:values of X", "ignore:`public` has values that are")
def test_public_rows_and_models_start_a_fit_with_products():
    columns, y = values(600)
    public, labels = values(200, seed=3)
    X, options = pd.DataFrame(columns), {"eps": 1.0, "bounds": BOUNDS, "mechanism": "objective", "rng": 2}
    found = [dplr.fit(X, y, **options, public=(make(public), labels)) for make in LIBRARIES.values()]
    for est in found[1:]:
        assert_array_equal(est.coef_, found[0].coef_)
    start = dplr.fit(pd.DataFrame(public), labels, mechanism="none", eps=math.inf, bounds=BOUNDS)
    assert_allclose(dplr.fit(X, y, **options, public=start).coef_, found[0].coef_, rtol=1e-5, atol=1e-5)


def test_the_test_vectors_of_the_proof():
    text = (pathlib.Path(dplr.__file__).parent / "bounds" / "layout.md").read_text()
    table = re.findall(r"^\| (\S+) \| (\S+) \| ([xyz?]) \| ([-\d, ]+) \|$", text, re.MULTILINE)
    assert len(table) == 5
    bounds = dplr.Bounds(
        {"a": (0, 10), "b": {"lower": -4, "upper": 4, "missing": 2}, "k": {"levels": list("xyz"), "reference": "x"}},
        products=[("a", "a"), ("a", "b"), ("a", "k")],
    )
    assert ", ".join(bounds.layout.names) in text
    assert f"c = {layout_prep(bounds.layout, True, None).geometry.half_width * GRID:.0f} units" in text
    a, b, k, want = zip(*table, strict=True)
    frame = pl.DataFrame(
        {"a": [float(v) for v in a], "b": [None if v == "missing" else float(v) for v in b], "k": list(k)}
    )
    assert encode(frame, bounds).tolist() == [[float(each) for each in row.split(",")] for row in want]
