"""Tables of pandas, polars and Arrow under declared bounds and levels: one encoding, inside the unit ball."""

import decimal
import math
import pathlib
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dplr
from dplr.bounds.scaling import box_prep, layout_prep
from dplr.problem.geometry import GRID
from dplr.problem.losses import LOGISTIC, SQUARED
from dplr.rows import ArrayRows, Encoder, as_table
from dplr.rows.exact import ClippedGradient, Moments
from dplr.rows.losses import LossGradient

EXAMPLES = pathlib.Path(__file__).parents[2] / "docs" / "examples"
WORK = ["Private", "Local-gov", "State-gov", "Never-worked"]
BOUNDS = dplr.Bounds(
    {
        "age": {"lower": 17, "upper": 90, "missing": "indicator"},
        "gain": {"lower": 0, "upper": 99999, "transform": "log1p"},
        "work": {"levels": WORK, "missing": "indicator"},
        "sex": {"levels": ["Female", "Male"], "binary": True},
        "grade": {"levels": ["low", "middle", "high"], "ordinal": True, "missing": "low"},
        "code": {"levels": [3, 1, 7]},
        "hours": (1, 99),
        "tax": {"lower": 0, "upper": 10, "missing": 2.5},
    },
    target={"classes": ["no", "yes"]},
)
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


def values(n, seed=0):
    """Columns as Python lists, some of them with missing values, values outside and unknown levels."""
    rng = np.random.default_rng(seed)

    def column(choices, p=None):
        return [None if v == "None" else v for v in rng.choice([str(c) for c in choices], n, p=p).tolist()]

    columns = {
        "age": [None if v < 20 else int(v) for v in rng.integers(15, 100, n)],
        "gain": [int(v) for v in rng.choice([0, 0, 5000, 120_000], n)],
        "work": column([*WORK, "Martian", None]),
        "note": ["x"] * n,
        "sex": column(["Female", "Male", "?"], [0.5, 0.49, 0.01]),
        "grade": column(["high", "low", "middle", None]),
        "code": [int(v) for v in rng.choice([1, 3, 7, 9], n)],
        "hours": rng.uniform(-5, 110, n).tolist(),
        "tax": [None if v > 9 else float(v) for v in rng.uniform(0, 10, n)],
    }
    y = ["yes" if h + (s == "Male") * 20 > 60 else "no" for h, s in zip(columns["hours"], columns["sex"], strict=True)]
    return columns, y


def frames(n=3000, seed=0):
    columns, y = values(n, seed)
    return {library: make(columns) for library, make in LIBRARIES.items()}, np.array(y)


def quiet(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


def encode(frame, bounds):
    return Encoder(as_table(frame), bounds.layout).block()[0]


def expected(columns, bounds):
    """The encoding, a value at a time, as the documentation has it."""
    rows = []
    for j in range(len(next(iter(columns.values())))):
        row = []
        for name, column in bounds.to_dict()["features"].items():
            value, missing = columns[name][j], column.get("missing")
            levels = column.get("levels")
            gap = value is None or value != value
            marked = [float(gap)] if missing == "indicator" else []
            if gap and missing not in (None, "indicator"):
                value, gap = missing, False
            if levels is None:
                log = math.log1p if column.get("transform") == "log1p" else float
                low, high = log(column["lower"]), log(column["upper"])
                row.append(((low + high) / 2 if marked else math.nan) if gap else log(value))
            elif "binary" in column or "ordinal" in column:
                place = levels.index(value) if value in levels else (len(levels) - 1) / 2
                row.append(math.nan if gap and not marked else place)
            else:
                row += [float(value == level) for level in levels]
                row[-len(levels)] = math.nan if gap and not marked else row[-len(levels)]
            row += marked
        rows.append(row)
    return np.array(rows)


# ---- one encoding ----


def test_every_library_gives_the_documented_encoding_bit_for_bit():
    columns, _ = values(500)
    tables = [encode(make(columns), BOUNDS) for make in LIBRARIES.values()]
    assert_allclose(tables[0], expected(columns, BOUNDS), rtol=1e-15)
    for table in tables[1:]:
        assert_array_equal(table, tables[0])


@pytest.mark.parametrize("options", [{}, {"block_rows": 1}, {"block_rows": 37}, {"block_rows": 512, "threads": 2}])
def test_totals_have_one_set_of_bits_in_every_library_and_block_size(options):
    tables, y = frames(60 if options.get("block_rows") == 1 else 700)
    prep = layout_prep(BOUNDS.layout, True, (0.0, 1.0))
    query, codes = Moments(prep.geometry.d, True), (y == "yes").astype(float)
    whole = ArrayRows(encode(tables["pandas"], BOUNDS), codes, box_prep(
        BOUNDS.layout.pairs, True, (0.0, 1.0), blocks=((3, 5), (10, 3)), marked=(0,))).sum(query, None)  # fmt: skip
    for frame in tables.values():
        total = ArrayRows(frame, codes, prep, **options).sum(query, None)
        assert_array_equal(total.hi, whole.hi)
        assert_array_equal(total.lo, whole.lo)
        assert total.faults.outside == whole.faults.outside


@pytest.mark.parametrize("mechanism", ["fm", "objective", "output", "ngd"])
def test_fits_and_predictions_are_the_same_in_every_library_and_column_order(mechanism):
    tables, y = frames()
    tables["turned"] = tables["polars"].select(tables["polars"].columns[::-1])
    tables["categories"] = tables["pandas"].astype({"work": "category", "sex": "category", "code": "category"})
    tables["objects"] = tables["pandas"].astype({"work": object, "age": object, "grade": object})
    fits = {
        name: quiet(
            dplr.fit, frame, y, eps=1.0, delta=1e-5 if mechanism == "ngd" else 0.0, mechanism=mechanism, bounds=BOUNDS,
            rng=1,
        )
        for name, frame in tables.items()
    }  # fmt: skip
    first = fits["pandas"]
    for est in fits.values():
        assert_array_equal(est.coef_, first.coef_)
        assert_array_equal(est.intercept_, first.intercept_)
        assert est.privacy_.assumptions[-1] == first.privacy_.assumptions[-1]
    for name, frame in tables.items():
        assert_array_equal(first.predict_proba(frame), first.predict_proba(tables["pandas"])), name


@pytest.mark.parametrize(
    "column",
    [
        [decimal.Decimal("0.1"), decimal.Decimal("2.3"), None],
        [True, False, None],
        [2**62 + 1, -(2**62) - 1, None],
        [0.1, -0.0, float("nan")],
        [1, 2, 3],
    ],
)
def test_numbers_of_every_type_are_the_same_in_every_library(column):
    bounds = dplr.Bounds({"a": {"lower": -5, "upper": 5, "missing": 1}})
    want = [[1.0 if v is None or v != v else float(v)] for v in column]
    for make in LIBRARIES.values():
        assert_array_equal(encode(make({"a": column}), bounds), want)


def test_integers_of_128_bits_are_numbers_too():
    frame = pl.DataFrame({"a": [2**100, 1, None], "b": [1, 2, 3]}, schema={"a": pl.Int128, "b": pl.Int128})
    bounds = dplr.Bounds({"a": {"lower": 0, "upper": 2, "missing": 1}, "b": {"levels": [1, 3]}})
    assert_array_equal(encode(frame, bounds), [[2.0**100, 1, 0], [1, 0, 0], [1, 0, 1]])


# ---- the layout ----

NUMBERS = [None, math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, -1.0, -2.0, 2**60]
TEXTS = [None, "", "private", " Private", "\x00", "🐍", "nan", [1], {"a": 2}, float("nan"), pd.NaT]
USUAL = {"age": [17, 90, 33], "gain": [0, 99999], "code": [1, 3, 7], "hours": [1, 50.5], "tax": [0, 10],
         "work": WORK, "sex": ["Female", "Male"], "grade": ["low", "high"]}  # fmt: skip


def hostile(n, seed):
    """Rows of which a good part still counts: one value in six is hostile."""
    rng = np.random.default_rng(seed)

    def value(name, usual):
        pool = usual if rng.random() < 5 / 6 else TEXTS if isinstance(usual[0], str) else NUMBERS
        return pool[rng.integers(len(pool))]

    return pd.DataFrame(
        {
            name: pd.Series(
                [value(name, usual) for _ in range(n)], dtype=object if isinstance(usual[0], str) else float
            )
            for name, usual in USUAL.items()
        }
    )


@pytest.mark.parametrize("dtype", [object, "string[python]", "str", "string[pyarrow]"])
@pytest.mark.parametrize("texts", [["a\x00b", "a", "a\x00", "a"], ["\ud800", *[r"'\ud800'"] * 3]])
def test_no_row_decides_what_the_text_of_another_counts_as(texts, dtype):
    try:
        frame = pd.DataFrame({"w": pd.Series(texts, dtype=dtype)})
    except UnicodeEncodeError:
        pytest.skip("this type holds no lone surrogate")
    bounds = dplr.Bounds({"w": {"levels": ["a", r"'\ud800'", "a\x00"], "missing": "indicator"}})
    alone = np.concatenate([encode(frame[i : i + 1], bounds) for i in range(4)])
    assert_array_equal(encode(frame, bounds), alone)
    assert_array_equal(encode(frame[::-1], bounds), alone[::-1])
    assert alone[1:].sum() == 3


@pytest.mark.parametrize("number", [1, 1.5, True, np.int64(1), np.float32(1), np.bool_(True)])
def test_numbers_among_text_are_refused_because_a_reader_guessed_types(number, entropy):
    """As pandas.read_csv does: one text makes text of the numbers in its block of the file, and others stay numbers."""
    code = pd.Series(["1", "2", None, "x"] * 50 + [number], dtype=object)
    bounds = dplr.Bounds({"code": {"levels": ["1", "2"], "missing": "indicator"}}, target=(0, 1))
    series = (code, code.astype("category"))
    for frame in (
        *(pd.DataFrame({"code": each}) for each in series),
        pl.DataFrame({"code": pl.Series(code.tolist(), dtype=pl.Object)}),
    ):
        with pytest.raises(
            ValueError, match="column 'code' of `X` cannot be read as declared: it holds text and numbers"
        ):
            dplr.fit(frame, np.arange(201) % 2, eps=1.0, bounds=bounds)
    assert entropy.bytes == 0
    dplr.fit(pd.DataFrame({"code": code[:-1]}), np.arange(200) % 2, eps=1.0, bounds=bounds)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_every_row_lies_in_the_unit_ball_with_one_entry_a_block_whatever_the_table_holds(fit_intercept):
    frame, n = hostile(150, 3), 150
    prep = layout_prep(BOUNDS.layout, fit_intercept, (0.0, 1.0))
    d, c = prep.geometry.d, prep.geometry.half_width
    moments, gradient = Moments(d, fit_intercept), LossGradient(LOGISTIC, d, fit_intercept)
    clipped = ClippedGradient(LOGISTIC, d, fit_intercept, 4.0)
    coef = np.zeros(d + fit_intercept)
    full, marks, encoded = 0, 0, encode(frame, BOUNDS)
    for j in range(n):
        rows = ArrayRows(encoded[j : j + 1], np.ones(1), replace(prep, layout=None))
        total = rows.sum(moments, None)
        cells = (total.hi * 2**32 + total.lo)[:d, :d]
        assert np.trace(cells) <= 2**40
        from_loss = -2 * rows.sum(gradient, coef).gradient[:d]
        sums = rows.sum(clipped, coef)
        from_clip = -2 * np.ldexp((sums.hi * 2.0**32 + sums.lo)[:d], sums.exponent)
        assert np.linalg.norm(from_loss) <= 1
        assert np.linalg.norm(from_clip) <= 1 + 2.0**-18
        assert_allclose(from_clip, from_loss, atol=1e-5)
        for first in prep.geometry.marked:
            assert from_loss[first] == 0 or from_loss[first + 1] == 0
            assert cells[first, first + 1] == 0
            assert from_loss[first + 1] in (0, c)
            marks += from_loss[first + 1] > 0
        for first, size in prep.geometry.blocks:
            block = from_loss[first : first + size]
            assert set(block.tolist()) <= {0.0, c}
            assert np.count_nonzero(block) <= 1
            assert set(np.diag(cells)[first : first + size].tolist()) <= {0, round(c * GRID) ** 2}
        full += from_loss.any()
    assert full > n / 4  # else little was tested: rows with a NaN count as zero
    assert marks > 2 or not fit_intercept


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_half_width_counts_a_one_hot_block_once_and_with_an_intercept_a_number_with_its_mark(fit_intercept):
    geometry = layout_prep(BOUNDS.layout, fit_intercept, (0.0, 1.0)).geometry
    numbers = 6  # age, gain, sex, grade, hours, tax
    mark, blocks = (1, 1), ((3, 5), (10, 3))  # age is missing; work, code
    assert geometry.blocks == (blocks if fit_intercept else (mark, *blocks))
    assert geometry.marked == ((0,) if fit_intercept else ())
    assert geometry.d == 15
    assert len(geometry.groups) == 9  # without an intercept the mark, with one the constant
    assert geometry.half_width == math.isqrt(2**40 // (numbers + len(geometry.blocks))) / 2**20


def test_bounds_without_levels_scale_as_before():
    pairs = [(18.0, 99.0), (0.0, 1.0), (-3.0, 2.0)]
    with_layout, plain = layout_prep(dplr.Bounds(pairs).layout, True, None), box_prep(pairs, True, None)
    assert with_layout.geometry == plain.geometry
    for name in ("shift", "scale", "low", "high"):
        assert_array_equal(getattr(with_layout, name), getattr(plain, name))


# ---- what each kind means ----


def one(column, given, library="polars"):
    return encode(LIBRARIES[library]({"a": given}), dplr.Bounds({"a": column})).tolist()


def test_unknown_levels_are_the_zero_row_and_are_told_to_the_data_holder():
    assert one({"levels": ["x", "y"]}, ["y", "z", "x"]) == [[0, 1], [0, 0], [1, 0]]
    frame = pl.DataFrame({"a": ["x", "y", "z", "z"] * 50})
    with pytest.warns(UserWarning, match=r"no declared level count as none \(a 50\.00%\)"):
        dplr.fit(frame, [True, False] * 100, eps=1.0, bounds=dplr.Bounds({"a": {"levels": ["x", "y"]}}))


def test_binary_and_ordinal_levels_are_one_number_and_unknown_ones_the_middle():
    assert one({"levels": ["x", "y"], "binary": True}, ["y", "z", "x"]) == [[1], [0.5], [0]]
    assert one({"levels": [5, 3, 9], "ordinal": True}, [9, 5, 3, 4]) == [[2], [0], [1], [1]]


def test_levels_of_numbers_and_booleans_match_by_value():
    for library in LIBRARIES:
        assert one({"levels": [0, 1]}, [True, False], library) == [[0, 1], [1, 0]]
        assert one({"levels": [False, True]}, [1, 0, 2], library) == [[0, 1], [1, 0], [0, 0]]
        assert one({"levels": [2, 1]}, [1.0, None, 2.0][::2], library) == [[0, 1], [1, 0]]


def test_log1p_is_monotone_also_below_the_lower_bound():
    given = [-1e300, -5.0, -1.0, 0.0, 1.0, 99999.0, 1e300]
    got = np.ravel(one({"lower": 0, "upper": 99999, "transform": "log1p"}, given))
    assert (np.diff(got) > 0).all()
    assert np.isfinite(got).all()
    assert_array_equal(got[3:], np.log1p(given[3:]))


@pytest.mark.parametrize(
    ("column", "given", "want"),
    [
        ({"lower": 0, "upper": 10, "missing": 4}, [2.0, None], [[2], [4]]),
        ({"lower": 0, "upper": 10, "missing": "indicator"}, [2.0, None], [[2, 0], [5, 1]]),
        ({"levels": ["x", "y"], "missing": "y"}, ["x", None], [[1, 0], [0, 1]]),
        ({"levels": ["x", "y"], "missing": "indicator"}, ["x", None], [[1, 0, 0], [0, 0, 1]]),
        ({"levels": ["x", "y"], "binary": True, "missing": "indicator"}, ["y", None], [[1, 0], [0.5, 1]]),
        ({"levels": [1, 2, 3], "ordinal": True, "missing": 3}, [1, None], [[0], [2]]),
    ],
)
@pytest.mark.parametrize("library", LIBRARIES)
def test_missing_values_count_as_the_bounds_say(column, given, want, library):
    assert one(column, given, library) == want
    frame = LIBRARIES[library]({"a": given * 50})
    with pytest.warns(UserWarning, match=r"missing values of X count as the bounds say \(a 50\.00%\)"):
        dplr.fit(frame, [True, False] * 50, eps=1.0, bounds=dplr.Bounds({"a": column}))


@pytest.mark.parametrize("mechanism", ["fm", "objective", "ngd"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_missing_values_are_refused_by_name_before_any_noise_where_nothing_is_declared(library, mechanism, entropy):
    frame = LIBRARIES[library]({"a": [1.0, None] * 20, "b": ["x", "y"] * 19 + [None, "x"]})
    bounds = dplr.Bounds({"a": (0, 2), "b": {"levels": ["x", "y"]}})
    message = r"got 21 of 40 rows with NaN or infinity or a missing value \(a 20, b 1\).* Or declare in the bounds"
    with pytest.raises(ValueError, match=message):
        dplr.fit(frame, [True, False] * 20, eps=1.0, delta=1e-6, mechanism=mechanism, bounds=bounds)
    assert entropy.bytes == 0


ODD_RANGES = [
    {"lower": 3, "upper": 9}, {"lower": 0.1, "upper": 0.7}, {"lower": -1 / 3, "upper": 1e9 / 7},
    {"lower": 1e308, "upper": 1.7e308}, {"lower": -1e308, "upper": 7e307}, {"lower": 5e-300, "upper": 3e-299},
    {"lower": 1.0, "upper": 1.0 + 2.0**-52}, {"lower": 2.0**60, "upper": 2.0**60 + 256}, {"lower": -5e-324, "upper": 1},
    {"lower": 0, "upper": 99999, "transform": "log1p"}, {"lower": -0.9, "upper": 7, "transform": "log1p"},
    {"levels": ["x", "y"], "binary": True}, {"levels": list(range(6)), "ordinal": True},
    {"levels": list(range(7)), "ordinal": True},
]  # fmt: skip


@pytest.mark.parametrize("column", ODD_RANGES, ids=str)
def test_a_missing_number_is_zero_to_the_last_bit_beside_its_mark(column):
    """In sums of integers, gradients, clipped gradients; of weighted rows, and of rows in a range about the middle."""
    bounds = dplr.Bounds({"a": column | {"missing": "indicator"}, "b": (0, 1)})
    text = "levels" in column and isinstance(column["levels"][0], str)
    frame = pl.DataFrame({"a": [None], "b": [1.0]}, schema={"a": pl.String if text else pl.Float64, "b": pl.Float64})
    prep = layout_prep(bounds.layout, True, None)
    assert prep.geometry.marked == (0,)
    c, plain = prep.geometry.half_width, ArrayRows(frame, np.ones(1), prep)
    loss, clipped = LossGradient(SQUARED, 3, True), ClippedGradient(SQUARED, 3, True, 4.0)
    for rows, a, b in (
        (plain, 1.0, 1.0),
        (plain.narrowed(np.zeros(3), np.array([c / 7, c, c])), 1.0, 1.0),
        (plain.weighted((0.3, 0.3, 1.7, 1.0)), 0.3, 1.7),
    ):
        assert_allclose(rows.total(loss, np.zeros(4)).gradient, [0, -a * c, -b * c, -0.5], rtol=1e-12)
        assert rows.total(loss, np.zeros(4)).gradient[0] == 0
        if a == 1.0:
            total = rows.total(Moments(3, True), None)
            assert (total.hi[0] == 0).all()
            assert (total.lo[0] == 0).all()
            sums = rows.total(clipped, np.zeros(4))
            assert sums.hi[0] == sums.lo[0] == 0


def test_a_missing_number_is_worth_what_a_public_constant_is_worth():
    """The indicator's number lies at the centre of the scaled problem, so its value does not move the other columns."""
    prep = layout_prep(dplr.Bounds({"a": {"lower": 3, "upper": 9, "missing": "indicator"}}).layout, True, None)
    total = ArrayRows(pl.DataFrame({"a": [None]}, schema={"a": pl.Float64}), np.ones(1), prep).sum(
        Moments(2, True), None
    )
    assert (total.hi[0] == 0).all()
    assert (total.lo[0] == 0).all()


# ---- units and names ----


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_named_coefficients_come_back_in_the_users_units(fit_intercept):
    rng = np.random.default_rng(5)
    n, effects = 6000, {"a": 3.0, "b": -2.0, "c": 0.0}
    frame = pl.DataFrame({
        "age": rng.uniform(18, 90, n), "gain": rng.uniform(0, 99999, n), "kind": rng.choice(list(effects), n),
        "sex": rng.choice(["f", "m"], n),
    })  # fmt: skip
    y = 0.05 * frame["age"] + 0.5 * np.log1p(frame["gain"]) + 1.5 * (frame["sex"] == "m").to_numpy() - 2
    y = (y + np.array([effects[k] for k in frame["kind"]])).to_numpy()
    bounds = dplr.Bounds(
        {
            "age": (18, 90), "gain": {"lower": 0, "upper": 99999, "transform": "log1p"},
            "kind": {"levels": ["a", "b", "c"]}, "sex": {"levels": ["f", "m"], "binary": True},
        },
        target={"lower": -10, "upper": 20},
    )  # fmt: skip
    est = dplr.fit(frame, y, model="linear", mechanism="fm", eps=math.inf, bounds=bounds, fit_intercept=fit_intercept)
    found = est.named_coef_
    assert list(found) == ["age", "log1p(gain)", "kind=a", "kind=b", "kind=c", "sex=m"] == list(est.coef_names_)
    assert_allclose([found["age"], found["log1p(gain)"], found["sex=m"]], [0.05, 0.5, 1.5], rtol=0.02)
    assert_allclose([found["kind=a"] - found["kind=b"], found["kind=a"] - found["kind=c"]], [5, 3], rtol=0.02)
    assert_allclose(est.predict(frame[:20]), y[:20], atol=0.05)


def test_coefficients_go_to_the_scaled_problem_and_back():
    prep = layout_prep(BOUNDS.layout, True, (0.0, 1.0))
    coef = np.random.default_rng(0).normal(size=prep.geometry.d + 1)
    assert_allclose(prep.from_user_units(*prep.to_user_units(coef)), coef, rtol=1e-9, atol=1e-9)


def test_names_without_bounds_are_those_of_the_columns():
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (200, 2))
    assert dplr.fit(X, X[:, 0] > 0, eps=1.0).coef_names_ == ("x0", "x1")
    frame = pl.DataFrame(X, schema=["a", "b"])
    assert list(dplr.fit(frame, X[:, 0] > 0, eps=1.0).named_coef_) == ["a", "b"]


def test_names_decide_when_predicting():
    tables, y = frames(400)
    est = quiet(dplr.fit, tables["arrow"], y, eps=1.0, bounds=BOUNDS)
    frame = tables["polars"].drop("note").with_columns(other=pl.lit(1))
    frame = frame.select(frame.columns[::-1])
    assert_array_equal(est.predict(frame), est.predict(tables["arrow"]))
    assert list(est.feature_names_in_) == list(BOUNDS.names)
    assert est.n_features_in_ == 8
    with pytest.raises(ValueError, match=r"was fitted on, and lacks \['sex'\]; got \["):
        est.predict(frame.drop("sex"))
    with pytest.raises(ValueError, match="must have column names, as the bounds do"):
        est.predict(np.ones((3, 8)))
    with pytest.raises(ValueError, match=r"must not hold NaN, infinity or missing values; got \{'gain': 400\}"):
        est.predict(frame.with_columns(gain=pl.lit(None, pl.Int64)))


def test_arrays_take_transforms_and_levels_of_numbers_by_position():
    X = np.array([[0.0, 7.0], [3.0, 1.0], [np.nan, 2.0]])
    bounds = dplr.Bounds([{"lower": 0, "upper": 9, "transform": "log1p", "missing": 0}, {"levels": [1, 7]}])
    assert_array_equal(Encoder(X, bounds.layout).block()[0], [[0, 0, 1], [np.log1p(3), 1, 0], [0, 0, 0]])
    with pytest.raises(ValueError, match="must be a data frame where levels are text"):
        dplr.fit(X, [1, 0, 1], eps=1.0, bounds=dplr.Bounds([(0, 1), {"levels": ["a", "b"]}]))


# ---- plans, statements, public data ----


def test_plan_has_the_noise_and_the_facts_of_the_fit():
    tables, y = frames(400)
    est = quiet(dplr.fit, tables["polars"], y, eps=1.0, bounds=BOUNDS)
    plan = dplr.plan(n_rows=400, bounds=BOUNDS, eps=1.0)
    assert plan.released == est.privacy_.released
    assert plan.problem.geometry.blocks
    facts = list(est.privacy_.assumptions)
    assert set(plan.statement.assumptions) <= set(facts)
    assert "ignored columns: note" in facts
    assert (
        "declared bounds (values outside are clipped): age in [17, 90], gain in [0, 99999] (on the scale of log1p), "
        "hours in [1, 99], tax in [0, 10]"
    ) in facts
    assert (
        "declared levels (another value counts as none of them): work one of Private, Local-gov, State-gov, "
        "Never-worked; sex Female, Male in this order, as 0 to 1; grade low, middle, high in this order, as 0 to 2; "
        "code one of 3, 1, 7"
    ) in facts
    assert (
        "missing values are refused, except in age marked by a column of their own, in work marked by a column of "
        "their own, in grade counted as low, in tax counted as 2.5"
    ) in facts
    assert dplr.plan(n_rows=400, n_features=8, bounds=BOUNDS, eps=1.0).released == plan.released


@pytest.mark.filterwarnings("ignore:`public` has values outside the bounds")
def test_public_tables_of_another_library_and_public_coefficients_start_the_fit():
    tables, y = frames(800)
    public = frames(300, seed=9)
    options = {"eps": 1.0, "bounds": BOUNDS, "mechanism": "objective", "rng": 2}
    found = [quiet(dplr.fit, tables["pandas"], y, **options, public=(public[0][name], public[1])) for name in LIBRARIES]
    for est in found[1:]:
        assert_array_equal(est.coef_, found[0].coef_)
    start = quiet(dplr.fit, *[public[0]["arrow"], public[1]], mechanism="none", eps=math.inf, bounds=BOUNDS)
    from_model, from_pair = (
        quiet(dplr.fit, tables["pandas"], y, **options, public=form)
        for form in (start, (start.coef_[0], start.intercept_))
    )
    assert_array_equal(from_model.coef_, from_pair.coef_)
    assert_allclose(from_model.coef_, found[0].coef_, rtol=1e-6, atol=1e-6)
    with pytest.warns(UserWarning, match=r"`public` has values that are no declared level: work \d"):
        dplr.plan(n_rows=9, bounds=BOUNDS, eps=1.0, public=(public[0]["polars"], public[1]))


# ---- targets ----


def test_a_threshold_makes_labels_and_missing_targets_are_refused():
    X = pl.DataFrame({"a": np.linspace(0, 1, 200)})
    bounds = dplr.Bounds({"a": (0, 1)}, target={"threshold": 50})
    income = pl.Series(np.linspace(0, 100, 200))
    est = dplr.fit(X, income, eps=math.inf, bounds=bounds)
    assert est.classes_.tolist() == [False, True]
    assert_array_equal(est.predict(X), np.linspace(0, 1, 200) > 0.5)
    assert "y is True above 50, a declared threshold" in est.privacy_.assumptions
    with pytest.raises(ValueError, match="1 of 200 rows with"):
        dplr.fit(X, income.set(pl.Series([True] + [False] * 199), None), eps=1.0, bounds=bounds)
    with pytest.raises(ValueError, match="must hold numbers where the bounds have a threshold"):
        dplr.fit(X, np.array(["x"] * 200), eps=1.0, bounds=bounds)
    with pytest.raises(ValueError, match="got 200 of 200 rows with another value"):
        dplr.fit(X, ["x"] * 200, eps=1.0, bounds=bounds)


@pytest.mark.parametrize(
    ("model", "target", "message"),
    [
        ("linear", {"threshold": 5}, r'lower and upper as target with model="linear"; got \{\'threshold\': 5'),
        ("linear", {"classes": [0, 1]}, r'lower and upper as target with model="linear"'),
        ("logistic", {"lower": 0, "upper": 5}, "must have classes or a threshold as target of a classifier"),
    ],
)
def test_a_target_of_another_model_is_refused(model, target, message):
    bounds = dplr.Bounds({"a": (0, 1)}, target=target)
    with pytest.raises(ValueError, match=message):
        dplr.fit(pl.DataFrame({"a": [0.0, 1.0]}), [0, 1], model=model, eps=1.0, bounds=bounds)
    with pytest.raises(ValueError, match=message):
        dplr.plan(n_rows=2, model=model, eps=1.0, bounds=bounds)


# ---- faults ----

AB = {"a": [1.0, 2.0], "b": ["x", "y"]}
DAY = pd.Timestamp("2020-01-01")


@pytest.mark.parametrize(
    ("frame", "column", "error", "message"),
    [
        (pl.DataFrame(AB).lazy(), (0, 1), TypeError, "`y` must be the name of a column where rows are streamed"),
        (pl.DataFrame({"b": ["x", "y"]}), (0, 1), ValueError, r"must have every column.*missing: \['a'\]"),
        (pl.DataFrame({"a": ["x", "y"]}), (0, 1), ValueError, r"must have numeric columns; got \['a'\]\. Encode them"),
        (pl.DataFrame({"a": [1, 2]}), {"levels": ["x", "y"]}, ValueError, "text where the levels are text"),
        (pl.DataFrame({"a": [DAY, DAY]}), (0, 1), ValueError, "numeric columns.*years since a public date"),
        (pd.DataFrame({"a": [DAY, DAY]}), {"levels": ["x", "y"]}, ValueError, "years since a public date"),
        (pa.table({"a": [[1], [2]]}), (0, 1), ValueError, "numbers or text by public rules"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), (0, 1), ValueError, "must name every column once"),
        (
            pd.DataFrame({"a": [1, [2]]}),
            (0, 1),
            ValueError,
            "column 'a' of `X` cannot be read.* a list, which is",
        ),
        (
            pd.DataFrame({"a": [1, "a secret"]}),
            (0, 1),
            ValueError,
            "column 'a' of `X` cannot be read.* a str, which is not a number",
        ),
        (
            pa.Table.from_arrays([pa.array([1, 2])] * 2, ["a", "a"]),
            (0, 1),
            ValueError,
            r"column once; got \['a', 'a'\]",
        ),
        (pd.DataFrame({"a": [1, 10**400]}, dtype=object), (0, 1), ValueError, "column 'a' of `X` cannot be read"),
        (pl.DataFrame({"a": []}, schema={"a": pl.Float64}), (0, 1), ValueError, "at least one row"),
    ],
)
def test_unfit_tables_are_refused_before_any_noise(frame, column, error, message, entropy):
    y = [0, 1][: 0 if isinstance(frame, pl.DataFrame) and not len(frame) else 2]
    with pytest.raises(error, match=message):
        dplr.fit(frame, y, eps=1.0, bounds=dplr.Bounds({"a": column}))
    assert entropy.bytes == 0


def test_a_public_model_in_another_order_is_refused():
    X = pl.DataFrame({"a": [0.0, 1.0] * 50, "b": [1.0, 0.0] * 50})
    first = dplr.fit(X, [0, 1] * 50, eps=1.0, bounds=dplr.Bounds({"b": (0, 1), "a": (0, 1)}))
    with pytest.raises(ValueError, match="coefficients in the order of the bounds"):
        dplr.fit(X, [0, 1] * 50, eps=1.0, bounds=dplr.Bounds({"a": (0, 1), "b": (0, 1)}), public=first)


# ---- real data ----


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("options", "low", "high"),
    [
        ({"mechanism": "fm", "eps": math.inf}, 0.82, 0.86),
        ({"mechanism": "objective", "eps": 1.0}, 0.8, 0.86),
        ({"mechanism": dplr.NoisyGradientDescent(steps=20), "eps": 1.0, "delta": 1e-5}, 0.78, 0.86),
    ],
)
def test_adult_from_three_libraries_and_one_file_has_one_set_of_bits(options, low, high, data_folder):
    path = data_folder / "adult.parquet"
    tables = [pd.read_parquet(path), pl.read_parquet(path), pyarrow.parquet.read_table(path)]
    bounds = dplr.Bounds.from_toml(EXAMPLES / "adult.toml")
    assert len(bounds.layout.names) == 106
    y = tables[0]["income_gt_50k"].to_numpy()
    fits = [quiet(dplr.fit, frame, frame["income_gt_50k"], bounds=bounds, rng=4, **options) for frame in tables]
    for est in fits[1:]:
        assert_array_equal(est.coef_, fits[0].coef_)
        assert_array_equal(est.intercept_, fits[0].intercept_)
    assert low < (fits[0].predict(tables[1]) == y).mean() < high
    assert "ignored columns: fnlwgt, split, income_gt_50k" in fits[0].privacy_.assumptions


@pytest.mark.realdata
def test_adult_totals_have_one_set_of_bits(data_folder):
    path = data_folder / "adult.parquet"
    tables = [pd.read_parquet(path), pl.read_parquet(path), pyarrow.parquet.read_table(path)]
    prep = layout_prep(dplr.Bounds.from_toml(EXAMPLES / "adult.toml").layout, True, (0.0, 1.0))
    y, query = tables[0]["income_gt_50k"].to_numpy(), Moments(prep.geometry.d, True)
    totals = [ArrayRows(frame, y, prep, block_rows=size).sum(query, None) for frame in tables for size in (None, 1000)]
    for total in totals[1:]:
        assert_array_equal(total.hi, totals[0].hi)
        assert_array_equal(total.lo, totals[0].lo)
    assert all(count == 0 for count in totals[0].faults.outside)


@pytest.mark.realdata
def test_census_rows_fit_the_example_file(data_folder):
    frame = pl.read_parquet(data_folder / "acs2024_fm_20k.parquet")
    bounds = dplr.Bounds.from_toml(EXAMPLES / "acs.toml")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        est = dplr.fit(frame, frame["AnnualIncome"], model="linear", eps=1.0, bounds=bounds)
    assert [str(w.message) for w in said if "of X" in str(w.message)] == []
    assert "ignored columns: AnnualIncome, State, Race, ClassOfWorker, HealthInsured" in est.privacy_.assumptions
    assert est.score(frame, frame["AnnualIncome"].clip(0, 200_000)) > 0.2


def test_arrow_dictionaries_in_pandas_may_miss_entries():
    """pandas makes no categories of them then."""
    bounds = dplr.Bounds({"a": {"levels": ["x", "z"], "missing": "indicator"}})
    values = ["x", None, "z", "w"]
    column = pd.Series(values, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))
    assert_array_equal(encode(pd.DataFrame({"a": column}), bounds), encode(pl.DataFrame({"a": values}), bounds))


def test_arrays_with_gaps_that_bounds_provide_for_are_fitted_and_predicted_alike():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((400, 2)) < 0.2, np.nan, rng.uniform(-1, 1, (400, 2)))
    gaps = {"lower": -1, "upper": 1, "missing": "indicator"}
    est = quiet(dplr.fit, X, [0, 1] * 200, eps=1.0, bounds=dplr.Bounds([gaps, gaps]))
    known = quiet(dplr.fit, X, [0, 1] * 200, eps=1.0, bounds=dplr.Bounds([gaps, {**gaps, "missing": 0.0}]))
    filled = np.column_stack([X[:, 0], np.nan_to_num(X[:, 1])])
    assert est.decision_function(X).shape == (400,)
    np.testing.assert_array_equal(known.decision_function(X), known.decision_function(filled))
    strict = dplr.fit(np.nan_to_num(X), [0, 1] * 200, eps=1.0, bounds=dplr.Bounds([(-1, 1)] * 2))
    with pytest.raises(ValueError, match="NaN"):
        strict.predict(X)
