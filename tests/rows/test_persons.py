"""How much each row counts: exactly, at most whole for each person, and without a word about any id."""

import math
import pickle
import warnings
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given, settings
from numpy.testing import assert_array_equal

import dplr
from dplr.fitting.data import with_classes
from dplr.privacy.unit import ROW, Unit
from dplr.problem.losses import LOGISTIC
from dplr.rows import LabelRule, as_target
from dplr.rows.persons import class_factors, row_weights, shares
from dplr.rows.weights import RowWeights

UNIT = 2**30
CAPS = [None, 1.0, 2.0, 3.0, 0.1, 1e-310, 1e300, 5e-324, np.nextafter(1, 0)]
NUMBERS = st.one_of(st.integers(-3, 3), st.integers())
TEXTS = st.one_of(st.text(min_size=1, max_size=3), st.sampled_from(["1", "-2", "01", "0", "1.0"]))
WEIGHTS = st.one_of(
    st.floats(0, allow_infinity=False),
    st.integers(0, 8).map(lambda j: j / 4),
    st.integers(0, UNIT).map(lambda j: j / UNIT),
)
FACTORS = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1 / 3, 1.0]))


def weights_of(n, person=None, k=1, w=None, cap=None, factors=None):
    return row_weights(n, Unit(None if person is None else "id", k, cap), person, w, factors)


def exact(m, k, w, cap, factor):
    """The weight of a row of a person with m rows before it is rounded down."""
    share = Fraction(1, max(m, k)) * Fraction(factor)
    if cap is None:
        return share
    return share * min(Fraction(w), Fraction(cap)) / Fraction(cap) if 0 < w < math.inf else Fraction(0)


# ---- exact weights ----


@given(
    st.one_of(*(st.lists(st.tuples(ids, WEIGHTS, FACTORS), min_size=1, max_size=40) for ids in (NUMBERS, TEXTS))),
    st.integers(1, 5),
    st.sampled_from(CAPS),
)
@example([("a", 1 / 3, 1.0)] * 3, 1, 1.0)
@example([("a", 0.7, 0.1)] * 7, 1, 0.7)
@pytest.mark.filterwarnings("ignore::dplr.DataWarning")
@settings(max_examples=200, deadline=None)
def test_a_weight_is_that_of_fractions_rounded_down_and_those_of_a_person_add_up_to_at_most_1(rows, k, cap):
    ids, given_weights, factors = (list(column) for column in zip(*rows, strict=True))
    found = weights_of(len(rows), ids, k, given_weights if cap else None, cap, np.array(factors))
    persons = {}
    for place, one in enumerate(ids):
        persons.setdefault(str(one), []).append(place)
    assert found.units == len(persons)
    assert set(found.persons) <= set(range(found.units))
    assert len({found.persons[places[0]] for places in persons.values()}) == len(persons)
    for places in persons.values():
        assert len(set(found.persons[places])) == 1
        assert sum(Fraction(weight) for weight in found.of_rows[places].tolist()) <= 1
        for place in places:
            wanted = exact(len(places), k, given_weights[place], cap, factors[place])
            assert found.of_rows[place] * UNIT == math.floor(wanted * UNIT)


@given(st.lists(st.tuples(WEIGHTS, FACTORS), min_size=1, max_size=20), st.sampled_from(CAPS[1:]))
@pytest.mark.filterwarnings("ignore::dplr.DataWarning")
@settings(max_examples=200, deadline=None)
def test_without_persons_every_row_is_a_unit(rows, cap):
    given_weights, factors = (list(column) for column in zip(*rows, strict=True))
    found = weights_of(len(rows), None, 1, given_weights, cap, np.array(factors))
    assert found.persons is None
    assert found.units == len(rows)
    wanted = [math.floor(exact(1, 1, w, cap, c) * UNIT) for w, c in rows]
    assert_array_equal(found.of_rows * UNIT, wanted)


@pytest.mark.parametrize("cap", [1.0, 3.0, 0.3, 1000.0])
def test_weights_next_to_a_whole_number_of_units_are_rounded_as_fractions_are(cap):
    units = np.random.default_rng(0).integers(1, UNIT, 2000)
    near = units / UNIT * cap
    given_weights = np.concatenate([near, np.nextafter(near, 0), np.nextafter(near, cap)])
    for m in (1, 3, 7):
        found = shares(np.full(len(given_weights), m), 1, given_weights, cap, None)
        wanted = [math.floor(exact(m, 1, w, cap, 1) * UNIT) for w in given_weights.tolist()]
        assert_array_equal(found * UNIT, wanted)


def test_persons_without_weights_share_one_row_and_k_rows_count_as_much_each():
    ids = ["a"] * 3 + ["b"] + ["c"] * 2
    assert_array_equal(weights_of(6, ids).of_rows * UNIT, [UNIT // 3] * 3 + [UNIT] + [UNIT // 2] * 2)
    assert_array_equal(weights_of(6, ids, k=2).of_rows * UNIT, [UNIT // 3] * 3 + [UNIT // 2] * 3)


def test_factors_outside_0_to_1_never_make_a_row_count_more_than_whole():
    found = weights_of(4, None, factors=np.array([2.0, -1.0, np.nan, 1.0]))
    assert_array_equal(found.of_rows, [1, 0, 0, 1])


def test_a_person_with_a_million_rows_counts_no_more_than_one_row():
    n = 1_000_000
    found = weights_of(n + 1, np.append(np.zeros(n, np.int64), 1))
    assert int((found.of_rows[:n] * UNIT).sum()) == UNIT // n * n <= UNIT
    assert found.of_rows[n] == 1
    assert found.units == 2


def test_a_person_with_more_rows_than_units_counts_nothing():
    assert not shares(np.array([UNIT + 1]), 1, None, None, None).any()


# ---- parts ----


@given(st.one_of(*(st.lists(ids, min_size=1, max_size=30) for ids in (NUMBERS, TEXTS))), st.data())
@settings(max_examples=100, deadline=None)
def test_parts_keep_weights_and_number_their_persons_anew(ids, data):
    found = weights_of(len(ids), ids)
    rows = np.array(data.draw(st.lists(st.integers(0, len(ids) - 1), max_size=20)), np.int64)
    part = found.take(rows)
    assert_array_equal(part.of_rows, found.of_rows[rows])
    kept, persons = np.unique(found.persons[rows], return_inverse=True)
    assert_array_equal(part.persons, persons)
    assert part.units == len(kept)


# ---- values that are not ids or weights ----


@pytest.mark.filterwarnings("ignore::dplr.DataWarning")
def test_a_weight_above_the_cap_counts_as_the_cap():
    assert_array_equal(weights_of(3, None, 1, [0.0, 1.0, 3.0], 2.0).of_rows, [0, 0.5, 1])


BAD_WEIGHTS = [math.nan, math.inf, -math.inf, -1.0, None, "3", 1j]


@pytest.mark.parametrize("bad", BAD_WEIGHTS)
def test_a_weight_that_cannot_be_read_is_refused(bad):
    given_weights = [bad, 1.0, 3.0]
    n = len(given_weights)
    with pytest.raises(ValueError, match=r"`sample_weight` must hold finite numbers of at least 0; got 1 .*Remove"):
        weights_of(n, None, 1, given_weights, 2.0)


def test_masked_weights_and_ids_are_missing():
    masked = np.ma.array([1.0, 2.0], mask=[True, False])
    with pytest.raises(ValueError, match=r"`sample_weight` must hold .* got 1 missing"):
        weights_of(2, None, 1, masked, 2.0)
    with pytest.raises(ValueError, match="got 1 of 2 rows with an id that is missing"):
        weights_of(2, np.ma.array([7, 8], mask=[True, False]))


@pytest.mark.parametrize(
    ("given_weights", "error", "says"),
    [
        (["a", "b"], ValueError, "2 missing or not a number"),
        (np.array(["a", "b"]), TypeError, "must hold numbers"),
        (np.array(["2020-01-01"] * 2, "M8[D]"), TypeError, "must hold numbers"),
        (np.ones((2, 1)), ValueError, "one-dimensional"),
        (np.ones(3), ValueError, "one weight for each row"),
    ],
)
def test_weights_of_a_wrong_kind_are_refused(given_weights, error, says):
    with pytest.raises(error, match=says):
        weights_of(2, None, 1, given_weights, 1.0)


SECRET = "Zaphod"


@pytest.mark.parametrize(
    ("ids", "error", "says"),
    [
        ([SECRET, None, ""], ValueError, "got 2 of 3 rows with an id that is missing or empty. Remove"),
        ([SECRET, 42, "x"], ValueError, "not both; got a column of objects .* Read ids as text"),
        ([42424242, 1.5, math.inf], ValueError, "got 2 of 3 rows with a number with a fraction, or infinite. Read"),
        (np.array([42424242, 2.0**53, 0.0]), ValueError, "got 1 of 3 rows with a float too large"),
        ([SECRET, SECRET.encode(), True], ValueError, "got 2 of 3 rows with neither text nor a number"),
        ([SECRET, SECRET], ValueError, "must have one id for each row of X; got 2 ids and 3 rows"),
        (np.array([[SECRET]] * 3), ValueError, r"must be one-dimensional; got \(3, 1\)"),
        (np.array([SECRET.encode()] * 3), TypeError, "must hold texts or whole numbers"),
        (np.array([True] * 3), TypeError, "must hold texts or whole numbers"),
        (pd.to_datetime(pd.Series(["2020-01-01"] * 3)), TypeError, "must hold texts or whole numbers"),
        (pl.Series([[SECRET]] * 3), TypeError, "must hold texts or whole numbers"),
        (SECRET, TypeError, "must hold texts or whole numbers"),
        (pl.LazyFrame({SECRET: [1, 2, 3]}), TypeError, "must hold texts or whole numbers"),
    ],
)  # fmt: skip
def test_what_is_not_a_column_of_ids_is_refused_and_no_error_shows_one(ids, error, says):
    with pytest.raises(error, match=says) as raised:
        weights_of(3, ids)
    found = raised.value
    assert str(found).startswith("`person` ")
    seen = (
        repr(found).encode() + pickle.dumps(found) + repr(found.__context__).encode() + repr(found.__cause__).encode()
    )
    for secret in (SECRET, "4242"):
        assert secret.encode() not in seen


def test_weights_of_rows_hold_numbers_in_place_of_ids():
    found = weights_of(3, [SECRET, "x", SECRET])
    assert isinstance(found, RowWeights)
    for field in (repr(found), pickle.dumps(found.of_rows), pickle.dumps(found.persons), pickle.dumps(found.units)):
        assert SECRET not in str(field)
    assert found.persons.dtype == np.int64


# ---- what the data holder is told of the cap ----


def told(given_weights, cap):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        weights_of(len(given_weights), None, 1, given_weights, cap)
    assert all(issubclass(warning.category, dplr.DataWarning) for warning in caught)
    return [str(warning.message) for warning in caught]


def test_the_data_holder_is_told_of_clipped_weights_and_of_a_cap_from_the_data():
    assert told([0.5, 1.0, 1.5], 2.0) == []
    (clipped,) = told([0.5, 1.0, 3.0, 2.0], 2.0)
    assert "25.00% of the weights are above the cap 2 " in clipped
    (taken,) = told([0.5, 1.0, 2.0], 2.0)
    assert "the cap 2 is the largest weight in the data" in taken


# ---- factors of the labels ----


@pytest.mark.parametrize(
    ("y", "classes", "given_factors", "wanted"),
    [
        ([0, 1, 1, 7], None, {0: 1, 1: 4}, [0.25, 1, 1, 0]),
        ([0.0, 1.0, math.nan], None, {0: 4, 1: 1}, [1, 0.25, 0]),
        (np.array([-1, 1, 0]), (-1, 1), {-1: 1.0, 1: 2.0}, [0.5, 1, 0]),
        (["no", "yes", "?", None], ("no", "yes"), {"yes": 2, "no": 1}, [0.5, 1, 0, 0]),
        (["b", "a", "c", "?"], ("a", "b", "c"), {"a": 1, "b": 2, "c": 4}, [0.5, 0.25, 1, 0]),
        (np.array([3, 1, 2, 9]), (1, 2, 3), {1: 5, 2: 5, 3: 10}, [1, 0.5, 0.5, 0]),
        (np.array([True, False]), None, {False: 1, True: 2}, [1, 0.5]),
    ],
)
def test_each_row_has_the_factor_of_its_label_over_the_largest(y, classes, given_factors, wanted):
    labels = LabelRule(classes).of(as_target(y))
    unit = with_classes(ROW, given_factors, labels.classes.tolist(), LOGISTIC)
    assert_array_equal(class_factors(labels, unit), wanted)
    assert dict(unit.class_weights) == {str(label): float(factor) for label, factor in given_factors.items()}


@pytest.mark.parametrize(
    ("given_factors", "error", "says"),
    [
        ("balanced", TypeError, "must be a mapping of labels to factors; got 'balanced'"),
        ({0: 1}, ValueError, r"must name every label, \[0, 1\]; got \[0\]"),
        ({0: 1, 1: 1, 2: 1}, ValueError, r"must name every label, \[0, 1\]; got \[0, 1, 2\]"),
        ({0: 1, 1: 0}, ValueError, "must be positive and finite for 1"),
        ({0: 1, 1: -1}, ValueError, "must be positive and finite for 1"),
        ({0: 1, 1: math.inf}, ValueError, "must be positive and finite for 1"),
        ({0: 1, 1: math.nan}, ValueError, "must be positive and finite for 1"),
        ({0: 1, 1: "2"}, TypeError, "must be a number for 1"),
        ({0: 1, 1: True}, TypeError, "must be a number for 1"),
    ],
)
def test_factors_that_are_not_public_positive_numbers_are_refused(given_factors, error, says):
    with pytest.raises(error, match=says):
        with_classes(ROW, given_factors, [0, 1], LOGISTIC)
