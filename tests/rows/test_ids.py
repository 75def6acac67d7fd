"""Ids of any library: one text for each, judged by itself, and the same person wherever the text is the same."""

import decimal
import math
import pickle
import unicodedata
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from numpy.testing import assert_array_equal

from dplr.privacy.unit import Unit
from dplr.rows import ids as ids_module
from dplr.rows.ids import PersonCounts, look_alikes, read_ids
from dplr.rows.persons import row_weights, shares

Decimal = decimal.Decimal
NOBODY = -1


def counts_of(ids):
    return PersonCounts(read_ids(ids))


def persons(values):
    """Each row's id as its canonical text; None for nobody."""
    found = read_ids(values)
    texts = [*found.texts(), None]
    assert found.texts() == texts[:-1]
    assert len(set(texts)) == len(texts)
    assert found.codes.dtype == np.int64
    assert_array_equal(np.bincount(found.codes[found.codes >= 0], minlength=len(found.counts)), found.counts)
    assert (found.counts > 0).all()
    return [texts[max(code, NOBODY)] for code in found.codes.tolist()]


def oracle(value):
    """The text of an id, by another road: fractions."""
    if isinstance(value, str):
        return str(value) or None
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number, Decimal)):
        return None
    if isinstance(value, np.floating):
        whole = float(value) % 1 == 0 and abs(float(value)) < 2 ** min(np.finfo(value).nmant + 1, 53)
        return str(int(value)) if whole else None
    if isinstance(value, (complex, np.complexfloating)) or str(value).lower().lstrip("-")[:1] in "sni":  # NaN, infinity
        return None
    if isinstance(value, Decimal) and abs(value.adjusted()) > 400 and value:
        return None
    exact = Fraction(value) if value else Fraction(0)
    limit = 2**53 if isinstance(value, float) else 10**299
    return str(exact.numerator) if exact.denominator == 1 and abs(exact) < limit else None


# ---- one id, whatever holds it ----

DECOMPOSED = unicodedata.normalize("NFD", "é")
TEXTS = ["b", "a", "B", "b ", " b", "", None, "b\0", "b\0c", "\0", "b\0", "é", DECOMPOSED, "12", "012"]
NUMBERS = [12, None, 7, 12, -3, 0, 2**53 - 1]
COLUMNS_OF_TEXT = {
    "list": list,
    "objects": lambda x: np.array(x, object),
    "pandas": pd.Series,
    "pandas, Python's texts": lambda x: pd.Series(x, dtype="string[python]"),
    "pandas, Arrow's texts": lambda x: pd.Series(x, dtype="string[pyarrow]"),
    "pandas, Arrow": lambda x: pd.Series(x, dtype=pd.ArrowDtype(pa.string())),
    "pandas, objects": lambda x: pd.Series(x, dtype=object),
    "pandas, categories": lambda x: pd.Series(x, dtype="category"),
    "pandas, Arrow's dictionary": lambda x: pd.Series(x, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
    "pandas, turned index": lambda x: pd.Series(x, index=range(len(x))[::-1]),
    "polars": pl.Series,
    "polars, categories": lambda x: pl.Series(x, dtype=pl.Categorical),
    "polars, enum": lambda x: pl.Series(x, dtype=pl.Enum([v for v in {*x, "unused"} if v is not None])),
    "Arrow": pa.array,
    "Arrow, chunks": lambda x: pa.chunked_array(
        [pa.array(x[:3]), pa.array([], pa.string()), pa.array(x[3:], pa.string())]
    ),
    "Arrow, large": lambda x: pa.array(x, pa.large_string()),
    "Arrow, views": lambda x: pa.array(x, pa.string_view()),
    "Arrow, slice": lambda x: pa.array(["other", *x, "b"], pa.string())[1:-1],
    "Arrow, dictionary": lambda x: pa.array(x).dictionary_encode(),
}
COLUMNS_OF_NUMBERS = {
    "list": list,
    "objects": lambda x: np.array(x, object),
    "floats in a list": lambda x: [v if v is None else float(v) for v in x],
    "decimals": lambda x: [v if v is None else Decimal(v) for v in x],
    "texts": lambda x: [v if v is None else str(v) for v in x],
    "pandas floats": lambda x: pd.Series(x, dtype=float),
    "pandas integers": lambda x: pd.Series(x, dtype="Int64"),
    "pandas, Arrow": lambda x: pd.Series(x, dtype=pd.ArrowDtype(pa.int64())),
    "pandas categories": lambda x: pd.Series(x, dtype=float).astype("category"),
    "masked": lambda x: np.ma.array([v or 0 for v in x], mask=[v is None for v in x]),
    "polars": pl.Series,
    "polars floats": lambda x: pl.Series(x, dtype=pl.Float64),
    "polars, 128 bits": lambda x: pl.Series(x, dtype=pl.Int128),
    "polars decimals": lambda x: pl.Series(x, dtype=pl.Decimal(38, 2)),
    "Arrow": pa.array,
    "Arrow decimals": lambda x: pa.array([v if v is None else Decimal(v) for v in x]),
    "Arrow dictionary": lambda x: pa.array(x).dictionary_encode(),
}


@pytest.mark.parametrize("make", COLUMNS_OF_TEXT.values(), ids=COLUMNS_OF_TEXT)
def test_a_text_is_one_id_in_every_library_compared_to_its_last_character(make):
    assert persons(make(TEXTS)) == [text or None for text in TEXTS]


@pytest.mark.parametrize("make", COLUMNS_OF_NUMBERS.values(), ids=COLUMNS_OF_NUMBERS)
def test_a_whole_number_is_one_id_in_every_library_and_the_text_of_its_digits(make):
    assert persons(make(NUMBERS)) == [None if number is None else str(number) for number in NUMBERS]


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "<i4", ">i8", "u8", "f2", "f4", "f8", "g", "O"])
def test_small_integers_of_every_type_are_the_same_ids(dtype):
    assert persons(np.array([3, 0, 7, 3]).astype(dtype)) == ["3", "0", "7", "3"]


def test_integers_beyond_64_bits_and_their_ends_are_told_apart():
    wide = [2**63 - 1, -(2**63), 2**63, 2**64, -(2**200), 2**63]
    assert persons(wide) == [str(number) for number in wide]
    unsigned = np.array([2**64 - 1, 2**63, 1, 2**64 - 1], np.uint64)
    assert persons(unsigned) == [str(number) for number in unsigned.tolist()]
    assert persons(np.array([-(2**63), 2**63 - 1, -1])) == [str(-(2**63)), str(2**63 - 1), "-1"]


def test_texts_of_numpy_end_where_their_zeros_begin():
    texts = np.array(["b", "", "\0a", "ab", "b", "\ud800"])
    assert persons(texts) == persons(texts.astype(">U4")) == ["b", None, "\0a", "ab", "b", "\ud800"]
    assert persons(texts[::2]) == ["b", "\0a", "b"]
    assert persons(np.array(["", ""])) == [None, None]
    assert persons(np.ma.array(["a", "b"], mask=[True, False])) == [None, "b"]


@pytest.mark.parametrize("column", ["list", "objects", "pandas, objects", "pandas, Python's texts"])
def test_lone_surrogates_are_told_apart(column):
    make = COLUMNS_OF_TEXT[column]
    texts = ["\ud800", "\udc00", "\ud800\0", "\ud800a", "\U00010000", "\ud800\udc00", "\ud800"]
    assert persons(make(texts)) == texts


def test_bytes_that_are_not_text_are_told_apart_and_never_raise():
    ends = pa.py_buffer(np.array([0, 1, 2, 4, 5], np.int32))
    column = pa.Array.from_buffers(pa.string(), 4, [None, ends, pa.py_buffer(b"\xff\xfe\xff\xfe\xff")])
    codes = read_ids(column).codes
    assert codes.tolist() == [0, 1, 2, 0]


def test_an_entry_below_a_gap_of_arrow_is_nobodys():
    ends, gaps = pa.py_buffer(np.array([0, 1, 2, 3], np.int32)), pa.py_buffer(bytes([0b101]))
    assert persons(pa.Array.from_buffers(pa.string(), 3, [gaps, ends, pa.py_buffer(b"aba")])) == ["a", None, "a"]


def test_columns_without_a_value_are_nobodys():
    gaps = [None, None]
    for column in (pa.nulls(2), pl.Series(gaps), pd.Series(gaps), pd.Series([np.nan] * 2), gaps):
        assert persons(column) == gaps
    for column in (
        [],
        np.array([], np.int64),
        np.array([], "U3"),
        pl.Series([], dtype=pl.String),
        pa.array([], "string"),
    ):
        assert persons(column) == []


class Whole(int):
    """A whole number that shows itself as another one."""

    __hash__ = int.__hash__

    def __str__(self):
        return "other"

    def __index__(self):
        return 99


class Text(str):
    """A text that says it is equal to all others."""

    __slots__ = ()

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

    def __str__(self):
        return "other"


HOSTILE = [
    *((value, "12") for value in (
        12, 12.0, "12", Decimal("12.0"), Decimal("1.2E1"), np.int8(12), np.float32(12), np.str_("12"), Whole(12),
        Text("12"),
    )),
    *((value, "0") for value in (0, -0.0, Decimal("-0E-99999"), Decimal("0E+999999"))),
    ("012", "012"), (" 12", " 12"), ("12.0", "12.0"), (10**299 - 1, str(10**299 - 1)), (2.0**53 - 1, str(2**53 - 1)),
    *((value, None) for value in (
        True, np.True_, b"12", 12j, None, pd.NA, pd.NaT, math.nan, 10**299, 10**5000, -(10**299), Decimal("1E+99999"),
        Decimal("1E-99999"), Decimal("1E+299"), Decimal("Infinity"), Decimal("NaN"), Decimal("sNaN"), math.inf, 2.0**53,
        np.float32(2**24), 0.5, Decimal("12." + "0" * 40 + "1"), np.datetime64("NaT"), (12,), [12], {}, "",
        np.array(12),
    )),
]  # fmt: skip


def test_hostile_objects_are_judged_one_by_one():
    for value, text in HOSTILE:
        assert persons([value]) == [text]


def test_no_other_value_changes_what_an_id_is():
    values, texts = map(list, zip(*HOSTILE, strict=True))
    assert persons(values) == texts
    assert persons(values[::-1]) == texts[::-1]
    objects = np.empty(len(values), object)
    objects[:] = values
    assert persons(objects) == persons(pd.Series(objects)) == texts


@given(
    st.lists(
        st.one_of(
            st.integers(), st.integers(-2, 2), st.floats(), st.floats(-2, 2).map(round).map(float), st.text(max_size=3),
            st.text("012a\0\ud800", max_size=2), st.none(), st.booleans(), st.decimals(), st.binary(max_size=2),
            st.floats(width=32).map(np.float32), st.integers(0, 99).map(np.uint8),
        ),
        max_size=30,
    )
)  # fmt: skip
@settings(max_examples=500, deadline=None)
def test_ids_are_those_of_a_plain_dictionary(values):
    assert persons(values) == [oracle(value) for value in values]


@given(st.lists(st.text("ab\0é€😀", max_size=9) | st.none(), max_size=40))
@settings(max_examples=200, deadline=None)
def test_texts_are_the_same_persons_in_arrow_numpy_and_lists(texts):
    wanted = [text or None for text in texts]
    assert (
        persons(texts) == persons(pa.array(texts, pa.string())) == persons(pl.Series(texts, dtype=pl.String)) == wanted
    )
    plain = np.array([text or "" for text in texts], "U9")
    assert persons(plain) == [text or None for text in plain.tolist()]


def test_unused_and_equal_categories_are_one_person_or_none():
    categories = pd.Categorical.from_codes([1, 2, 3, -1, 2], pd.Index(["unused", 12, "12", ""], dtype=object))
    ids = read_ids(pd.Series(categories))
    assert persons(pd.Series(categories)) == ["12", "12", None, None, "12"]
    assert ids.faults == {"missing or empty": 2}
    assert ids.mixed


def test_text_that_one_block_of_a_reader_took_for_numbers_is_refused_or_read_by_itself(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("id\n12\n7\n12\nx\n012\n")
    column = pd.concat(pd.read_csv(path, chunksize=3))["id"]
    assert column.tolist() == [12, 7, 12, "x", "012"]
    with pytest.raises(ValueError, match="Read ids as text"):
        row_weights(5, Unit("id"), column)
    assert persons(column) == ["12", "7", "12", "x", "012"]


# ---- hash tables ----


@given(st.lists(st.integers(-5, 5) | st.integers(-(2**63), 2**63 - 1), max_size=60))
@settings(max_examples=200, deadline=None)
def test_integers_have_numbers_in_the_order_in_which_they_appear(values):
    numbers, known = [], {}
    for value in values:
        numbers.append(known.setdefault(value, len(known)))
    found = ids_module.of_integers(np.array(values, np.int64))
    assert found.codes.tolist() == numbers
    assert found.texts() == [str(value) for value in known]
    assert found.counts.tolist() == [values.count(value) for value in known]


def test_tables_grow_as_far_as_all_rows_are_persons():
    n = 200_000
    values = np.random.default_rng(0).permutation(n) - n // 2
    found = ids_module.of_integers(values)
    assert_array_equal(found.codes, np.arange(n))
    assert (found.counts == 1).all()
    texts = ids_module.of_texts([str(value) for value in values.tolist()])
    assert_array_equal(texts.codes, np.arange(n))


def colliding(n):
    """Integers whose hashes end in the same 32 bits, found by going back."""
    odd = pow(0x9E3779B97F4A7C15, -1, 2**64)

    def unshift(x, by):
        found = x
        for _ in range(64 // by + 1):
            found = x ^ (found >> by)
        return found

    found = [unshift(unshift(unshift(k << 32, 32) * odd % 2**64, 29) * odd % 2**64, 32) for k in range(n)]
    return np.array(found, np.uint64)


def test_ids_that_were_chosen_to_collide_are_numbered_by_sorting(monkeypatch):
    values = np.repeat(colliding(20_000), 2)
    used = []
    by_sorting = ids_module._sorted_integers
    monkeypatch.setattr(ids_module, "_sorted_integers", lambda keys: used.append(1) or by_sorting(keys))
    found = ids_module.of_integers(values)
    assert used
    assert_array_equal(found.codes, np.repeat(np.arange(20_000), 2))
    assert (found.counts == 2).all()
    assert found.texts() == [str(value) for value in values[::2].tolist()]


@pytest.mark.parametrize("way", ["equal hashes", "too many probes"])
def test_texts_whose_hashes_collide_are_still_told_apart(monkeypatch, way):
    def of_none(data, ends, hashes):
        hashes[:] = 7

    if way == "equal hashes":
        monkeypatch.setattr(ids_module, "hash_texts", of_none)
    else:
        monkeypatch.setattr(ids_module, "_PROBES", -1)
    texts = ["b", "a", "b", "", "ab"]
    assert persons(texts) == persons(pa.array(texts)) == ["b", "a", "b", None, "ab"]


# ---- persons over the parts of a table ----

PART = st.lists(st.integers(0, 5) | st.sampled_from(["0", "1", "01", "", "x"]) | st.none(), max_size=12)


@given(st.lists(PART, max_size=5), st.randoms())
@settings(max_examples=150, deadline=None)
def test_counts_of_parts_in_any_order_and_grouping_are_those_of_the_whole_table(parts, random):
    whole = [value for part in parts for value in part]
    counted = counts_of(whole)
    turned = list(parts)
    random.shuffle(turned)
    each = [counts_of(part) for part in turned]
    in_turn = PersonCounts()
    for part in turned:
        in_turn = in_turn.merge(counts_of(part))
    restored = pickle.loads(pickle.dumps(PersonCounts().merge(*each)))
    assert counted == in_turn == restored
    ids = read_ids(whole)
    of_rows = ids.of_persons(shares(ids.counts, 2, None, None, None))
    assert len(counted) == sum(1 for value in {None if v is None or v == "" else str(v) for v in whole} if value)
    start = 0
    for part in parts:
        weights = shares(counted.weighed(part)[1], 2, None, None, None)
        assert_array_equal(weights, of_rows[start : start + len(part)])
        start += len(part)


def test_files_of_one_table_may_hold_ids_as_numbers_texts_or_categories():
    parts = [
        np.array([12, 7]),
        pl.Series(["12", "007"]),
        pd.Series([12.0, None]),
        pd.Series(["7", "12"], dtype="category"),
    ]
    counted = PersonCounts().merge(*(counts_of(part) for part in parts))
    assert [counted.weighed(part)[1].tolist() for part in parts] == [[4, 2], [4, 1], [4, 0], [2, 4]]
    assert counted.weighed(["never counted", None])[1].tolist() == [0, 0]


def test_counts_are_values_and_show_no_id():
    counted = counts_of(["Zaphod"])
    counted.merge(counts_of(["Zaphod"]))
    counted.merge(counted)
    assert counted.weighed(["Zaphod"])[1].tolist() == [1]
    assert "Zaphod" not in repr(counted) + str(counted)
    assert counted != PersonCounts()
    with pytest.raises(TypeError):
        hash(counted)


# ---- look-alikes ----


def test_look_alikes_are_counted_and_not_shown():
    ids = ["a", "A", "b", "b ", "c", "12", 12, "012", "7", "7.0", "é", DECOMPOSED, "x", "X ", "a", None, "1.50", "00"]
    rules = ["Unicode form", "case", "white space", "decimal zeros", "leading zeros"]
    assert look_alikes(ids) == dict.fromkeys(rules, 2) | {"any": 12}
    assert look_alikes(["a", "b", 7, "0", "10", "100"]) == dict.fromkeys([*rules, "any"], 0)


def test_texts_of_numpy_among_texts_are_ids():
    """Also in a column of pandas that keeps texts as Python's objects."""
    values = [np.str_("a"), "b", "a"]
    for column in (values, pd.Series(values, dtype="string[python]"), pd.Series(values, dtype=object)):
        assert row_weights(3, Unit("id"), column).persons.tolist() == [0, 1, 0]
