"""What a record counts as depends on that record and on public facts: never on the value or the type of another one.

The law is tested on whole fits without noise: the moments of a table must be the sum of the moments of its records,
each fitted alone, in every bit. A record in between, of another type or an odd value, must change nothing else.
"""

import decimal
import fractions
import functools
import itertools
import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

import dplr

# One value that float32 and float64 place on different sides of 0.3, and others that are equal to it in one of them.
TIED = [np.float32(0.3), np.float64(0.3), np.float16(0.3), np.nextafter(np.float32(0.3), np.float32(0))]
STRANGERS = [
    0.3, 0.1 + 0.2, np.float64(0.3), np.float32(0.3), np.float16(0.3), np.longdouble("0.3"), decimal.Decimal("0.3"),
    1, 0, True, False, np.True_, np.int8(1), np.uint64(2**63), -1, 2**53 + 1, 2**60 + 1, 2**64, 10**400, -(10**400),
]  # fmt: skip
NO_NUMBERS = ["0.3", "1", b"1", None, math.nan, pd.NA, pd.NaT, fractions.Fraction(1, 3), 1j, object(), (1, 2)]
PLACES = (0, 5, 11)


def moments(X, y, **options):
    """The exact sums of a fit without noise as one vector, or None where the data were refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            est = dplr.fit(X, y, eps=math.inf, mechanism="fm", **options)
        except (ValueError, TypeError):
            return None
    return np.concatenate([np.ravel(block) for block in est.released_.values()])


def together(values):
    """Containers that hold such values beside each other, and declare no type of their own."""
    array = np.fromiter(values, object, len(values))
    return {
        "list": list(values),
        "tuple": tuple(values),
        "object array": array,
        "pandas": pd.Series(array, dtype=object),
    }


def check_law(records, options, known):
    """All containers of these targets; how many there were, and how many of them were not refused.

    `known` has the moments of records that were fitted alone.
    """
    keys = [(type(value), repr(value)) for value in records]
    for key, value in zip(keys, records, strict=True):
        if key not in known:
            known[key] = moments(ROWS[:1], pd.Series([value], dtype=object), **options)
    alone = [known[key] for key in keys]
    fine = all(part is not None for part in alone)
    for name, container in together(records).items():
        whole = moments(ROWS, container, **options)
        assert (whole is not None) == fine, f"{name}: one is refused, and not the other"
        if fine:
            assert_array_equal(whole, np.sum(alone, axis=0), err_msg=f"{name} {records!r}")
    return 4, 4 * fine


ROWS = np.tile([0.4, -0.2], (12, 1))  # all records are alike but for their targets
TARGETS = {
    "threshold": {"bounds": dplr.Bounds([(-1, 1)] * 2, target={"threshold": 0.3})},
    "labels that are no integers": {"bounds": dplr.Bounds([(-1, 1)] * 2), "classes": (0.3, 1.0)},
    "large labels": {"bounds": dplr.Bounds([(-1, 1)] * 2), "classes": (2**60, 1)},
    "more than two labels": {"bounds": dplr.Bounds([(-1, 1)] * 2), "classes": (0, 0.3, 1, 2**53)},
    "labels by convention": {"bounds": dplr.Bounds([(-1, 1)] * 2)},
    "numbers": {"bounds": dplr.Bounds([(-1, 1)] * 2, target=(-2, 1e18)), "model": "linear"},
}


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_counts_as_the_same_whatever_type_another_one_has(target):
    """4 containers x 6 kinds of target x 20 types x 5 others x 3 places."""
    cases, released, known = 0, 0, {}
    for other, stranger, place in itertools.product([*TIED, 1], STRANGERS, PLACES):
        records = [other, 1, *[other] * 9, 1]
        records[place] = stranger
        found = check_law(records, TARGETS[target], known)
        cases, released = cases + found[0], released + found[1]
    assert cases == 1200
    assert released >= 50, "all were refused: nothing was tested"


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_that_is_no_number_makes_no_other_one_something_else(target):
    """Whatever it is, it counts as itself or is refused; it never turns numbers into text."""
    for stranger, place in itertools.product(NO_NUMBERS, PLACES):
        records = [1, 0] * 6
        records[place] = stranger
        check_law(records, TARGETS[target], {})


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("stranger", [1, 1.0, True, "1", "yes ", None, b"yes"])
def test_text_labels_count_as_the_same_beside_numbers(stranger, place):
    options = {"classes": ("1", "yes"), "bounds": dplr.Bounds([(-1, 1)] * 2)}
    records = ["1", "yes"] * 6
    records[place] = stranger
    check_law(records, options, {})
    numbers = [1, 0] * 6
    numbers[place] = stranger if isinstance(stranger, str) else "1"
    assert moments(ROWS, numbers, **options) is None, "numbers are no text labels, also where another record is text"


TYPED = [
    np.bool_, np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64,
    np.float16, np.float32, np.float64, np.longdouble,
]  # fmt: skip


def libraries(values):
    """The same values of one type in every container that declares a type."""
    yield values
    yield values[::-1][::-1]
    yield pd.Series(values)
    if values.dtype != np.longdouble:
        yield pl.Series(values) if values.dtype != np.float16 else pl.Series(values.astype(np.float32))
        yield pa.chunked_array([pa.array(values[:5]), pa.array(values[5:])])
    if values.dtype not in (np.float16, np.longdouble):
        yield pd.Series(values).convert_dtypes()
        yield pd.Series(values).astype(pd.ArrowDtype(pa.from_numpy_dtype(values.dtype)))


@pytest.mark.parametrize("target", [name for name in TARGETS if name != "labels by convention"])
def test_a_column_of_any_type_counts_as_its_values_one_by_one(target):
    cases = released = 0
    for kind in TYPED:
        small = 1 if target == "large labels" else 0.3 if kind in TYPED[-4:] else 0
        values = np.array([small, 1] * 6).astype(kind)
        alone = [moments(ROWS[i : i + 1], [value], **TARGETS[target]) for i, value in enumerate(values)]
        fine = all(part is not None for part in alone)
        for column in libraries(values):
            whole = moments(ROWS, column, **TARGETS[target])
            assert (whole is not None) == fine, type(column)
            if fine:
                assert_array_equal(whole, np.sum(alone, axis=0))
            cases, released = cases + 1, released + fine
    assert cases == 71
    assert released >= 10


@pytest.mark.parametrize(
    ("first", "second"), list(itertools.product([np.float16, np.float32, np.int64, np.int8], repeat=2))
)
def test_frames_that_were_joined_count_as_their_records(first, second):
    """Joining casts a whole column to a type that holds both; a comparison in the type of the part would differ."""
    options = TARGETS["threshold"]
    parts = [np.array([0.3, 1, 0.3, 0, 1, 0.3]).astype(kind) for kind in (first, second)]
    alone = [moments(ROWS[i : i + 1], [v], **options) for i, v in enumerate(itertools.chain(*parts))]
    for joined in (
        pd.concat([pd.Series(part) for part in parts], ignore_index=True),
        np.concatenate(parts),
        pl.concat([pl.DataFrame({"y": pl.Series(p.astype(np.float64))}) for p in parts])["y"],
    ):
        assert_array_equal(moments(ROWS, joined, **options), np.sum(alone, axis=0))


@pytest.mark.parametrize("n", [2000])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_one_record_of_another_type_moves_a_threshold_fit_by_no_more_than_the_sensitivity(n, neighbouring):
    """As one Python float among values of float32 once moved 2,007 where 4.5 was charged."""
    X = np.full((n, 2), 0.7)
    y = [np.float32(0.3)] * n
    options = {**TARGETS["threshold"], "neighbouring": neighbouring}
    facts = {"eps": 1.0, "mechanism": "fm"}
    est = dplr.fit(X, y, **facts, n_rows=n if neighbouring == "add_remove" else None, **options)
    before = moments(X, y, n_rows=None, **options)
    after = moments(X, [*y[:-1], 0.3], n_rows=None, **options)
    assert np.abs(after - before).sum() <= max(block.sensitivity for block in est.privacy_.released.values())


# ---- columns of X ----

COLUMNS = {
    "bounds": (0, 1),
    "log": {"lower": 0, "upper": 1e6, "transform": "log1p"},
    "missing counts": {"lower": 0, "upper": 1, "missing": 0.3},
    "missing marked": {"lower": 0, "upper": 1, "missing": "indicator"},
    "levels": {"levels": [0.3, 1, 2**53]},
    "ordinal": {"levels": [0, 0.3, 1], "ordinal": True, "missing": "indicator"},
    "binary": {"levels": [0, 1], "binary": True},
    "bins": {"lower": 0, "upper": 1, "bins": [0.3, 0.7], "reference": 1, "missing": "indicator"},
    "reference": {"levels": [0.3, 1, 2**53], "reference": 1, "missing": 0.3},
    "square": {"lower": 0, "upper": 1, "transform": "sqrt", "missing": 0.3},
    "curve": {"lower": 0, "upper": 1, "knots": [0.3, 0.7], "missing": "indicator"},
    "curve of roots": {"lower": 0, "upper": 1, "transform": "sqrt", "knots": 4, "line": False, "missing": 0.3},
}
FRAMES = {
    "pandas objects": lambda values: pd.DataFrame({"a": pd.Series(values, dtype=object)}),
    "pandas with a plain column": lambda values: pd.DataFrame({"b": 1.0, "a": pd.Series(values, dtype=object)}),
    "list of rows": lambda values: [[value] for value in values],
    "array of objects": lambda values: np.fromiter(values, object, len(values)).reshape(-1, 1),
}


def column_moments(frame, declared, y):
    named = isinstance(frame, pd.DataFrame | pl.DataFrame | pa.Table)
    name = "a" if named else 0
    products = [(name, name)] if declared is COLUMNS["square"] else []
    bounds = dplr.Bounds({"a": declared} if named else [declared], products=products)
    return moments(frame, y, bounds=bounds, classes=(0, 1))


@pytest.mark.thorough
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("column", COLUMNS)
def test_a_value_of_a_column_counts_as_the_same_whatever_type_another_one_has(column, frame):
    """4 containers x 12 kinds of column x 22 types x 3 others x 3 places."""
    y = np.array([0, 1] * 6)
    make, declared, released = FRAMES[frame], COLUMNS[column], 0
    single = functools.cache(lambda kind, text, i: column_moments(make([by_name[kind, text]]), declared, y[i : i + 1]))
    by_name = {}
    strangers = [*STRANGERS[:-2], None, math.nan, pd.NA, decimal.Decimal("NaN"), "0.3"]
    for other, stranger, place in itertools.product(TIED[:3], strangers, PLACES):
        values = [other, 1, *[other] * 9, 1]
        values[place] = stranger
        whole = column_moments(make(values), declared, y)
        names = [(type(value), repr(value)) for value in values]
        by_name |= dict(zip(names, values, strict=True))
        alone = [single(*name, i % 2) for i, name in enumerate(names)]
        if any(part is None for part in alone):
            assert whole is None, (values, place)
        elif whole is not None:  # lists of rows with pandas' own mark are refused as a whole
            assert_array_equal(whole, np.sum(alone, axis=0), err_msg=repr(values))
            released += 1
        else:
            assert frame in ("list of rows", "array of objects")
    assert released >= 60


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("stranger", ["b", "", "a\0", "a\ud800", "1", None, math.nan, pd.NA, b"a", ("a",)])
def test_a_text_counts_as_the_same_whatever_another_one_is(stranger, place):
    y, declared = np.array([0, 1] * 6), {"levels": ["a", "b", "a\0"], "missing": "indicator"}
    values = ["a", "b"] * 6
    values[place] = stranger
    alone = [column_moments(FRAMES["pandas objects"]([v]), declared, y[i : i + 1]) for i, v in enumerate(values)]
    whole = column_moments(FRAMES["pandas objects"](values), declared, y)
    assert (whole is None) == any(part is None for part in alone)
    if whole is not None:
        assert_array_equal(whole, np.sum(alone, axis=0))
    if isinstance(stranger, str | None) and stranger != "a\ud800":
        for frame in (pl.DataFrame({"a": values}), pa.table({"a": values}), _in_chunks(values)):
            assert_array_equal(column_moments(frame, declared, y), whole)


def _in_chunks(values):
    """Dictionaries that differ from chunk to chunk."""
    chunks = [pa.array(part, pa.string()).dictionary_encode() for part in (values[:1], values[1:7], values[7:])]
    return pa.table({"a": pa.chunked_array(chunks)})


def test_a_column_of_nothing_but_gaps_is_no_text():
    """One value decided whether it was refused: a column of objects has the type that it declares, none."""
    y, declared = np.array([0, 1] * 60), COLUMNS["missing marked"]
    gaps = pd.DataFrame({"a": pd.Series([None] * 120, dtype=object)})
    one = gaps.copy()
    one.loc[119, "a"] = 0.5
    assert column_moments(gaps, declared, y) is not None
    assert column_moments(one, declared, y) is not None


PAIRS = [("a", "b"), ("a", "c"), ("c", "d"), ("a", "a"), ("d", "b")]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("stranger", [math.nan, None, math.inf, -math.inf, 1e300, -5.0, True, 1, np.float32(0.3)])
def test_a_record_counts_in_products_as_the_same_whatever_the_others_hold(stranger, place):
    """In sums of integers, of pandas, polars and Arrow: the products of one record are of its own values alone."""
    y, rng = np.array([0, 1] * 6), np.random.default_rng(place)
    columns = {
        "a": rng.choice([0.0, 0.3, 1.0, 7.0], 12).tolist(), "b": rng.uniform(-1, 2, 12).tolist(),
        "c": rng.choice(["x", "y", "z", "?"], 12).tolist(), "d": rng.choice([0.1, 0.5, 0.9], 12).tolist(),
    }  # fmt: skip
    for name in "abd":
        columns[name][place] = stranger
    bounds = dplr.Bounds(
        {
            "a": {"lower": 0, "upper": 1, "missing": "indicator"}, "b": {"lower": 0, "upper": 1, "missing": 0.3},
            "c": {"levels": ["x", "y", "z"], "reference": "y"},
            "d": {"lower": 0, "upper": 1, "bins": [0.3, 0.7], "missing": "indicator"},
        },
        products=PAIRS,
    )  # fmt: skip
    options = {"bounds": bounds, "classes": (0, 1)}
    alone = [
        moments(pd.DataFrame({name: [column[i]] for name, column in columns.items()}), y[i : i + 1], **options)
        for i in range(12)
    ]
    whole = moments(pd.DataFrame(columns), y, **options)
    if isinstance(stranger, float) and math.isinf(stranger):
        assert whole is alone[place] is None
        assert sum(part is None for part in alone) == 1
        return
    assert_array_equal(whole, np.sum(alone, axis=0))
    typed = pd.DataFrame(columns).astype(dict.fromkeys("abd", float)).to_dict("list")
    typed |= {name: [None if value != value else value for value in typed[name]] for name in "abd"}
    for frame in (pl.DataFrame(typed), pa.table(typed), pl.DataFrame(typed).select("d", "c", "b", "a")):
        assert_array_equal(moments(frame, y, **options), whole)


@pytest.mark.parametrize("transform", ["log1p", "log", "sqrt"])
@pytest.mark.parametrize("size", [1, 7, 8, 9, 64, 1000])
def test_the_transform_of_a_value_does_not_depend_on_its_place(size, transform):
    """Vector paths of NumPy take several values at a time, and others where one of them is odd."""
    column = dplr.Bounds([{"lower": 1e-3, "upper": 1e6, "transform": transform}]).columns[0]
    values = np.random.default_rng(size).uniform(0, 1e6, size)
    alone = np.array([column.transformed(np.array([value]))[0] for value in values])
    assert_array_equal(column.transformed(values), alone)
    for odd in (math.nan, math.inf, -math.inf, -5.0, 1e308):
        beside = values.copy()
        beside[::3] = odd
        kept = np.arange(size) % 3 > 0
        assert_array_equal(column.transformed(beside)[kept], alone[kept])


@pytest.mark.parametrize("dtype", TYPED)
def test_an_array_of_any_type_counts_as_its_values_in_float64(dtype):
    X = (np.random.default_rng(0).uniform(-3, 3, (12, 2)) * (1 if np.dtype(dtype).kind == "f" else 40)).astype(dtype)
    options = {"bounds": dplr.Bounds([(-0.3, 0.1), (-77, 90.1)]), "classes": (0, 1)}
    y = np.array([0, 1] * 6)
    expected = moments(X.astype(np.float64), y, **options)
    assert_array_equal(moments(X, y, **options), expected)
    assert_array_equal(moments(X.tolist() if dtype != np.longdouble else list(X), y, **options), expected)
    assert_array_equal(moments(X.astype(object), y, **options), expected)
    alone = [moments(X[i : i + 1], y[i : i + 1], **options) for i in range(12)]
    assert_array_equal(np.sum(alone, axis=0), expected)


@pytest.mark.parametrize("stranger", [None, 0.1, decimal.Decimal(1), "0.3", "1", b"1", True])
def test_text_among_rows_in_lists_is_no_number_whatever_stands_beside_it(stranger):
    """NumPy makes text of all entries, or objects of them, and text in objects became numbers."""
    options = {"bounds": dplr.Bounds([(0, 1)] * 2), "classes": (0, 1)}
    rows = [["0.3", 0.1]] * 6
    assert moments([*rows, [stranger, 0.1]], [0, 1, 0, 1, 0, 1, 0], **options) is None
    assert moments(np.array([*rows, [stranger, 0.1]], dtype=object), [0, 1, 0, 1, 0, 1, 0], **options) is None


def test_targets_in_rows_of_one_are_read_one_by_one():
    options = TARGETS["labels by convention"]
    expected = moments(ROWS, [1, 0] * 6, **options)
    for mixed in ([[1], [0]] * 6, [[1], 0] * 6, [(1,), np.array([0])] * 6):
        assert_array_equal(moments(ROWS, mixed, **options), expected)


class Answers:
    """A sequence of the oldest kind."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, place):
        return self.values[place]


def test_sequences_of_any_kind_are_read_one_by_one():
    options = {"bounds": dplr.Bounds([(-1, 1)] * 2), "classes": ("1", "0")}
    assert moments(ROWS, Answers([1, 0] * 5 + ["1", "0"]), **options) is None
    assert moments(ROWS, Answers(["1", "0"] * 6), **options) is not None
