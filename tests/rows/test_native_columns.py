"""Kernels and NumPy encode every table alike, bit by bit: whatever its library, its types, chunks, gaps and values."""

import gc
import warnings
from contextlib import contextmanager
from unittest import mock

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from numpy.testing import assert_array_equal

import dplr
import numpy_columns
from dplr.rows import Encoder, as_table
from dplr.rows.tables.encoder import write_column
from every_column import COLUMNS, PRODUCTS, table

MANY = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
ENCODER = "dplr.rows.tables.encoder"


@contextmanager
def without_kernels(written=numpy_columns.write_column):
    """Encoders that are made here read every column by its library; and NumPy writes it, or kernels do."""
    with mock.patch(f"{ENCODER}.native_column", return_value=None), mock.patch(f"{ENCODER}.write_column", written):
        yield


def encoder(X, bounds):
    return Encoder(X if isinstance(X, np.ndarray) else as_table(X), bounds.layout)


def check_alike(X, bounds, rows=None, native=True):
    """One encoding, or one error; and it is the kernels that were compared."""
    kernels = encoder(X, bounds)
    assert any(values is not None for values in [*kernels._native, *kernels._numbers]) is native
    got = outcome(kernels, rows)
    for written in (numpy_columns.write_column, write_column):
        with without_kernels(written):
            twin = encoder(X, bounds)
            assert not any([*twin._native, *twin._numbers])
            assert got == outcome(twin, rows)
    return got if isinstance(got, str) else kernels.block(rows)[0]


def outcome(encoder, rows):
    """The bits and the marks of a block; or what it is refused with."""
    try:
        matrix, marks = encoder.block(rows)
    except ValueError as error:
        assert "cannot be read as declared" in str(error)  # noqa: PT017
        return str(error)
    # What is missing or no number is a NaN; of its bits libraries differ.
    return matrix.shape, np.where(np.isnan(matrix), np.nan, matrix).tobytes(), marks.tolist()


# ---- numbers ----

INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
FLOATS = [np.float16, np.float32, np.float64]
SPECIAL = [0, -0.0, 1, 2, 2.5, 3, 5, -1, -2, 127, 2**53, 2.0**60, np.nan, -np.nan, np.inf, -np.inf, 5e-324, 6e-8, 65504]
POLICIES = [
    {"lower": -2, "upper": 5}, {"lower": -2, "upper": 5, "missing": 1},
    {"lower": -2, "upper": 5, "missing": "indicator"},
    {"lower": -0.5, "upper": 9, "transform": "log1p", "missing": "indicator"},
    {"lower": 0.5, "upper": 9, "transform": "log", "missing": 2}, {"lower": 0, "upper": 9, "transform": "sqrt"},
    {"levels": [3, 1, 127]}, {"levels": [3, 1, 2], "missing": "indicator"}, {"levels": [3, 1, 2], "missing": 2},
    {"levels": [3, 1, 2], "reference": 1, "missing": 1}, {"levels": [5, 3, 0], "reference": 5, "missing": "indicator"},
    {"levels": [1, 2.5], "binary": True}, {"levels": [False, True], "binary": True, "missing": "indicator"},
    {"levels": [1e300, 2**53, -2, 0.1], "ordinal": True, "missing": -2}, {"levels": [9, 4, 2, 1], "ordinal": True},
    {"levels": [3, 1, 2, 5], "merge": {"odd": [1, 5]}},
    {"levels": [9, 4, 2, 1], "merge": {"few": [2, 1]}, "ordinal": True},
    {"levels": [3, 1, 2], "merge": {"low": [1, 2]}, "binary": True}, {"levels": [5, 3, 0], "merge": {"a": [5, 0]},
        "reference": 5, "missing": 3}, {"levels": [5, 3, 0], "merge": {"a": [5, 0]}, "missing": 0},
    {"levels": [2**53, 2**53 - 1, -(2**53)]}, {"levels": list(range(0, 6000, 5)), "missing": "indicator"},
    {"lower": -2, "upper": 9, "bins": [0, 2.5, 5]}, {"lower": -2, "upper": 9, "bins": [2], "missing": "indicator"},
    {"lower": -2, "upper": 9, "bins": [0, 3], "reference": 2, "missing": 2.5},
    {"lower": -2, "upper": 9, "bins": [-1, 0, 1, 2, 3, 4], "reference": 8, "missing": "indicator"},
]  # fmt: skip


@st.composite
def arrays(draw, n):
    """Numbers of one type: small ones, special ones, and any bits; for booleans both."""
    dtype = np.dtype(draw(st.sampled_from([*INTEGERS, *FLOATS, np.bool_])))
    if dtype.kind == "b":
        return np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)
    found = np.frombuffer(draw(st.binary(min_size=n * dtype.itemsize, max_size=n * dtype.itemsize)), dtype).copy()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        special = np.array(draw(st.lists(st.sampled_from(SPECIAL), min_size=n, max_size=n))).astype(dtype)
    chosen = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)
    found[chosen] = special[chosen]
    return found


def cut(draw, array, gaps, dictionary=False):
    """An Arrow column in chunks, some of them empty, each a slice of a longer array."""
    edges = sorted(draw(st.lists(st.integers(0, len(array)), max_size=3)))
    chunks = []
    for start, end in zip([0, *edges], [*edges, len(array)], strict=True):
        ahead = draw(st.integers(0, 9))
        values = np.concatenate([np.zeros(ahead, array.dtype), array[start:end], np.zeros(2, array.dtype)])
        missing = None
        if gaps is not None:
            missing = np.concatenate([np.zeros(ahead, bool), gaps[start:end], np.zeros(2, bool)])
        chunk = pa.array(values, mask=missing)
        chunk = chunk.dictionary_encode() if dictionary and array.dtype != np.float16 else chunk
        chunks.append(chunk.slice(ahead, end - start))
    return pa.chunked_array(chunks)


@st.composite
def number_tables(draw):
    """(table, whether kernels read it) of two columns, the second after the first."""
    n = draw(st.integers(1, 40))
    array = draw(arrays(n))
    gaps = None if draw(st.booleans()) else np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)
    kind = draw(st.sampled_from(["array", "pandas", "strided", "masked", "pandas arrow", "polars", "arrow", "keys"]))
    if kind == "array":
        return np.column_stack([array, array])[:: draw(st.sampled_from([1, -1]))], True
    if kind == "pandas":
        return pd.DataFrame({"b": array[::-1], "a": array}), True
    if kind == "strided":
        return pd.DataFrame(np.column_stack([array, array]), columns=["b", "a"]), True
    if kind == "masked":
        if array.dtype == np.float16:
            array = array.astype(np.float32)
        make = pd.arrays.BooleanArray if array.dtype == bool else (
            pd.arrays.FloatingArray if array.dtype.kind == "f" else pd.arrays.IntegerArray
        )  # fmt: skip
        return pd.DataFrame({"b": array, "a": make(array, np.zeros(n, bool) if gaps is None else gaps)}), True
    chunks = cut(draw, array, gaps, kind == "keys")
    if kind == "polars":
        return pl.DataFrame({"b": pl.Series(array), "a": pl.from_arrow(chunks)}), True
    if kind == "pandas arrow":
        return pd.DataFrame({"b": array, "a": pd.arrays.ArrowExtensionArray(chunks)}), True
    return pa.table({"b": pa.array(array), "a": chunks}), True


def rows_of(draw, n):
    kind = draw(st.sampled_from(["all", "slice", "step", "index"]))
    if kind == "all":
        return None
    if kind == "index":
        return np.array(draw(st.lists(st.integers(-n, n - 1), max_size=30)), np.int64)
    start, stop = draw(st.integers(0, n)), draw(st.integers(0, n + 5))
    return slice(start, stop, draw(st.integers(2, 3)) if kind == "step" else None)


@MANY
@given(st.data())
def test_numbers_of_every_type_and_library_have_one_encoding(data):
    X, native = data.draw(number_tables())
    column = data.draw(st.sampled_from(POLICIES))
    other = data.draw(st.sampled_from(POLICIES))
    bounds = dplr.Bounds([column, other] if isinstance(X, np.ndarray) else {"a": column, "b": other})
    check_alike(X, bounds, rows_of(data.draw, len(X)), native)


def test_columns_without_bounds_are_read_as_they_are():
    frame = pd.DataFrame({"a": np.array([1, -(2**62) - 1]), "b": np.array([np.nan, 1], np.float32)})
    for X in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame, preserve_index=False)):
        found = Encoder(as_table(X), None)
        assert len(found._native) == 2
        assert_array_equal(found.block()[0], [[1, np.nan], [-(2.0**62), 1]])


# ---- text ----

TEXTS = [
    "", "a", "b", "a\x00", "a\x00b", "\x00", " a", "🐍", "🐍🐍🐍🐍", "é", "e\u0301", "twelve bytes", "thirteen byte",
    "thirteen bytf", "sixteen bytes 16", "eight by", "nine byte", "seven b", "x" * 300, "nan", "None", "1",
]  # fmt: skip
LEVELS = [
    {"levels": TEXTS[:-4], "missing": "indicator"}, {"levels": ["a", "b", "a\x00", "thirteen byte"]},
    {"levels": ["a", "🐍"], "binary": True}, {"levels": ["b", "", "twelve bytes"], "ordinal": True, "missing": ""},
    {"levels": ["b", "a", "é"], "reference": "a", "missing": "a"}, {"levels": ["a", "1"], "reference": "1"},
    {"levels": ["b", "a", "é"], "merge": {"a": ["b", "a"]}, "missing": "b"},
    {"levels": ["b", "", "1", "a"], "merge": {"no": ["", "1"]}, "ordinal": True},
    {"levels": ["a", "1", "é"], "merge": {"x": ["a", "é"]}, "reference": "x", "missing": "indicator"},
    {"levels": [f"level {k}" for k in range(999)] + ["a"], "missing": "indicator", "reference": "level 7"},
]  # fmt: skip


@st.composite
def text_tables(draw):
    n = draw(st.integers(1, 40))
    texts = draw(st.lists(st.sampled_from([*TEXTS, None]) | st.text(max_size=20), min_size=n, max_size=n))
    kind = draw(
        st.sampled_from(
            ["object", "str", "string[python]", "category", "polars", "enum", "arrow", "keys", "pandas keys"]
        )
    )
    if kind in ("object", "str", "string[python]", "category"):
        try:
            return pd.DataFrame({"a": pd.Series(texts, dtype=kind)}), kind in ("str", "category")
        except UnicodeEncodeError:
            return pd.DataFrame({"a": pd.Series(texts, dtype=object)}), False
    texts = [None if text is None else text.encode(errors="replace").decode() for text in texts]
    forms = [pa.string(), pa.large_string(), pa.string_view()]  # Arrow itself takes no views from a dictionary
    form = draw(st.sampled_from(forms[:2] if kind in ("keys", "pandas keys") else forms))
    keyed = kind in ("keys", "pandas keys") or (kind in ("polars", "enum") and draw(st.booleans()))
    edges = sorted(draw(st.lists(st.integers(0, n), max_size=3)))
    keys = draw(st.sampled_from([pa.int8(), pa.uint16(), pa.int64(), pa.uint64()]))
    chunks = []
    for start, end in zip([0, *edges], [*edges, n], strict=True):
        part = ["ahead", *texts[start:end], None]
        chunk = hostile_keys(draw, part, form, keys) if kind in ("keys", "pandas keys") else pa.array(part, form)
        chunks.append(chunk.slice(1, end - start))
    column = pa.chunked_array(chunks)
    if kind in ("polars", "enum"):
        series = pl.from_arrow(column)
        return pl.DataFrame({"a": series.cast(pl.Categorical) if keyed else series}), True
    if kind == "pandas keys":
        return pd.DataFrame({"a": pd.arrays.ArrowExtensionArray(column)}), False
    return pa.table({"a": column}), True


def hostile_keys(draw, texts, form, keys):
    """A dictionary with entries that nobody uses, that are there twice, or missing."""
    entries = [None, "unused", "a", *dict.fromkeys(text for text in texts if text is not None), "a", "b", "🐍", None]
    places = [[k for k, entry in enumerate(entries) if entry == text] for text in texts]
    chosen = [None if text is None and draw(st.booleans()) else draw(st.sampled_from(found))
              for text, found in zip(texts, places, strict=True)]  # fmt: skip
    return pa.DictionaryArray.from_arrays(pa.array(chosen, keys), pa.array(entries, form))


@MANY
@given(st.data())
def test_texts_of_every_type_and_library_have_one_encoding(data):
    X, native = data.draw(text_tables())
    bounds = dplr.Bounds({"a": data.draw(st.sampled_from(LEVELS))})
    rows = rows_of(data.draw, len(X))
    if takes_rows(X) or rows is None:
        check_alike(X, bounds, rows, native)
    else:
        whole = check_alike(X, bounds, None, native)
        if native:
            assert_array_equal(encoder(X, bounds).block(rows)[0], whole[rows])


def takes_rows(X):
    """Arrow does not take rows of views, nor of several dictionaries."""
    column = (
        X["a"].array.__arrow_array__()
        if isinstance(X, pd.DataFrame) and hasattr(X["a"].array, "__arrow_array__")
        else X["a"]
    )
    return not (
        isinstance(column, pa.ChunkedArray) and (pa.types.is_dictionary(column.type) or column.type == pa.string_view())
    )


def arrow_text(texts, missing=()):
    """An Arrow column of these bytes, text or not."""
    ends = np.cumsum([0, *map(len, texts)]).astype(np.int32)
    valid = np.packbits([k not in missing for k in range(len(texts))], bitorder="little")
    buffers = [pa.py_buffer(valid) if missing else None, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers)


def test_bytes_that_are_not_text_are_not_a_level_and_decide_over_no_other_row():
    texts = [b"a", b"\xff\xfe", b"", b"a\x00", b"\xed\xa0\x80", b"\xc3", b"\xc3\xa9", b"\xf0\x9f\x90", b"a"]
    bounds = dplr.Bounds({"a": {"levels": ["a", "", "é", "a\x00"], "missing": "indicator"}})
    for column in (arrow_text(texts, {8}), pa.DictionaryArray.from_arrays(pa.array(range(9)), arrow_text(texts, {8}))):
        got = check_alike(pa.table({"a": column}), bounds)
        assert got.sum(axis=1).tolist() == [1, 0, 1, 1, 0, 0, 1, 0, 1]
        assert got[8].tolist() == [0, 0, 0, 0, 1]


# ---- what kernels leave to NumPy ----


@pytest.mark.parametrize(
    ("column", "policy"),
    [
        (pl.Series([2**100, 1, None], dtype=pl.Int128), POLICIES[1]),
        (pl.Series(["1.5", "2", None]).cast(pl.Decimal(10, 2)), POLICIES[1]),
        (pl.Series([1, 2.5, None], dtype=pl.Object), POLICIES[1]),
        (pl.Series(["a", "b", None], dtype=pl.Object), LEVELS[0]),
        (pd.Series([1, 2.5, None], dtype=object), POLICIES[1]),
        (pd.Series([1, 2, None], dtype="Int8"), POLICIES[7]),
        (pd.Series([None, None], dtype="category"), LEVELS[0]),
        (pa.array([1, 2, None]).dictionary_encode(), {"levels": ["1", "2"], "missing": "indicator"}),
    ],
)
def test_other_columns_are_encoded_by_numpy(column, policy):
    frame = {pl.Series: pl.DataFrame, pd.Series: pd.DataFrame}.get(type(column), pa.table)({"a": column})
    assert not isinstance(check_alike(frame, dplr.Bounds({"a": policy}), native=False), str)


@pytest.mark.parametrize("dtype", [">i4", ">f8", object, np.longdouble])
def test_arrays_of_other_types_are_encoded_by_numpy(dtype):
    check_alike(np.array([[1], [2], [3]], dtype), dplr.Bounds([POLICIES[7]]), native=False)


@pytest.mark.parametrize(
    ("column", "policy"),
    [
        (pd.Series(["a", "b", 1], dtype="category"), LEVELS[0]),
        (pd.Series([1, 2, "b"], dtype="category"), POLICIES[0]),
        (pd.Series([1, 2, 3], dtype=object), LEVELS[0]),
        (pa.array(["a", "b"]).dictionary_encode(), POLICIES[0]),
        (pa.array([b"a", b"b"]).dictionary_encode(), POLICIES[6]),
    ],
)
def test_columns_that_cannot_be_what_was_declared_are_refused_with_the_same_words(column, policy):
    frame = pd.DataFrame({"a": column}) if isinstance(column, pd.Series) else pa.table({"a": column})
    assert isinstance(check_alike(frame, dplr.Bounds({"a": policy}), native=False), str)


def test_categories_of_numbers_are_read_by_kernels():
    frame = pd.DataFrame({"a": pd.Series([3, 1, None, 7, 1], dtype="category")})
    for policy in ({"lower": 0, "upper": 9, "missing": 2}, {"levels": [1, 3], "missing": "indicator"}):
        check_alike(frame, dplr.Bounds({"a": policy}), np.array([4, 0, 1, 2, 3]))


# ---- whole tables and fits ----

BOUNDS = dplr.Bounds(COLUMNS, products=PRODUCTS, target=(0, 1))


@pytest.mark.parametrize("threads", ["1", "3"])
def test_every_kind_of_column_with_products_is_encoded_alike_in_every_block(monkeypatch, threads):
    monkeypatch.setenv("DPLR_NUM_THREADS", threads)
    monkeypatch.setattr(f"{ENCODER}._LEAST_ROWS", 100)
    monkeypatch.setattr(f"{ENCODER}._ENTRIES", 1)
    monkeypatch.setattr("dplr.rows.threads._PRODUCTS_WORTH_A_CORE", 1)
    frame = table(634)
    for X in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame, preserve_index=False)):
        for rows in (None, slice(5, 577), np.arange(633, -1, -7)):
            check_alike(X, BOUNDS, rows)


@pytest.mark.parametrize("mechanism", ["fm", "objective", "ngd"])
@pytest.mark.parametrize("make", [lambda t: t, pl.from_pandas, pa.Table.from_pandas])
def test_fits_have_the_bits_that_they_have_without_kernels(mechanism, make):
    frame = make(table(3000, seed=1))
    y = np.arange(3000) % 3 == 0
    bounds = dplr.Bounds(COLUMNS, target={"classes": [False, True]})
    options = {
        "mechanism": mechanism,
        "eps": 1.0,
        "delta": 1e-6 if mechanism == "ngd" else 0.0,
        "bounds": bounds,
        "rng": 3,
    }

    def fit():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return dplr.fit(frame, y, **options)

    found = fit()
    with without_kernels():
        twin = fit()
    assert found.coef_.tobytes() == twin.coef_.tobytes()
    assert found.intercept_.tobytes() == twin.intercept_.tobytes()
    probabilities = found.predict_proba(frame)
    with without_kernels():
        assert probabilities.tobytes() == found.predict_proba(frame).tobytes()


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table, pd.DataFrame])
def test_an_encoder_keeps_the_memory_that_it_reads(make):
    data = {"a": np.arange(100_000) % 7, "b": [f"text {k % 3} that is longer than a view" for k in range(100_000)]}
    bounds = dplr.Bounds({"a": (0, 6), "b": {"levels": [f"text {k} that is longer than a view" for k in range(3)]}})
    frame = make(data)
    found = encoder(frame, bounds)
    before = found.block()[0].tobytes()
    del frame, data
    found._X = None
    gc.collect()
    others = [make({"a": np.full(100_000, k), "b": ["other"] * 100_000}) for k in range(3)]
    part = np.zeros((100_000, 4))
    found._features.write(0, None, part, np.zeros((2, 2), np.int64))
    assert part.tobytes() == before
    assert len(others) == 3


def test_a_dictionary_of_a_dictionary_is_never_read_as_its_keys():
    entries = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), pa.array([10.0, 20.0]))
    X = pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), entries)})
    matrix, _ = encoder(X, dplr.Bounds({"a": (0, 30)})).block()
    assert matrix.ravel().tolist() == [20.0, 10.0]
