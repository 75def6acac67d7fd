"""Hash tables of ids: the numbers are those of a dictionary, whatever the size of the table."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_array_equal
from tests.helpers.reference import hash_of_integer, hash_of_text, numbers_of

from dplr._core import all_same, hash_integers, hash_texts, move_slots, number_rows

INTEGERS = st.integers(-(2**63), 2**63 - 1)
PROBES = 10**6


def integers(values):
    return np.array(values, np.int64)


def layout(texts):
    """(data, ends) of a list of bytes."""
    return np.frombuffer(b"".join(texts), np.uint8), integers(np.cumsum([0, *map(len, texts)]))


def table(slots, room=None):
    room = slots // 2 if room is None else room
    return np.zeros((slots, 2), np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64)


@given(st.lists(INTEGERS, max_size=20))
def test_hashes_of_integers_are_those_of_the_reference(values):
    hashes = integers([0] * len(values))
    hash_integers(integers(values), hashes)
    assert hashes.tolist() == [hash_of_integer(value) for value in values]


@given(st.lists(st.binary(max_size=30), max_size=10))
def test_hashes_of_texts_are_those_of_the_reference(texts):
    hashes = integers([0] * len(texts))
    hash_texts(*layout(texts), hashes)
    assert hashes.tolist() == [hash_of_text(text) for text in texts]


@given(st.lists(st.integers(-4, 4) | INTEGERS, max_size=60), st.integers(1, 5))
@settings(max_examples=200, deadline=None)
def test_numbers_are_those_of_a_dictionary_however_often_the_table_grows(values, power):
    numbers, row, known = integers(values), 0, 0
    slots, firsts, counts = table(2**power)
    stops = []
    while True:
        row, known, _ = number_rows(numbers, row, known, PROBES, slots, firsts, counts)
        if row == len(values):
            break
        assert known == len(firsts)
        stops.append(row)
        larger, *room = table(2 * len(slots))
        move_slots(slots, larger)
        assert sorted(larger[larger[:, 1] > 0].tolist()) == sorted(slots[slots[:, 1] > 0].tolist())
        for wide, kept in zip(room, (firsts, counts), strict=True):
            wide[: len(kept)] = kept
        slots, (firsts, counts) = larger, room
    wanted, rows, sizes = numbers_of(values)
    assert numbers.tolist() == wanted
    assert firsts[:known].tolist() == rows
    assert counts[:known].tolist() == sizes
    assert len(set(stops)) == len(stops)


def test_hashes_with_equal_ends_are_told_apart_and_too_many_probes_end_the_pass():
    values = [64 * k for k in range(8)]
    slots, firsts, counts = table(64)
    numbers = integers(values)
    assert number_rows(numbers, 0, 0, 28, slots, firsts, counts) == (8, 8, 0)
    assert numbers.tolist() == list(range(8))
    slots, firsts, counts = table(64)
    assert number_rows(integers(values), 0, 0, 27, slots, firsts, counts)[0] == -1


@given(st.lists(st.binary(max_size=9), min_size=1, max_size=10), st.data())
def test_texts_are_compared_byte_by_byte(texts, data):
    numbers, rows, _ = numbers_of(texts)
    bytes_, ends = layout(texts)
    starts = ends[rows]
    sizes = ends[np.array(rows) + 1] - starts
    assert all_same(bytes_, ends, integers(numbers), starts, sizes)
    row, other = data.draw(st.integers(0, len(texts) - 1)), data.draw(st.integers(0, len(rows) - 1))
    same = numbers[row] == other
    numbers[row] = other
    assert all_same(bytes_, ends, integers(numbers), starts, sizes) == same


def test_shapes_that_do_not_fit_are_refused():
    slots, firsts, counts = table(8)
    numbers = integers([1, 2])
    for wrong in (np.zeros((6, 2), np.int64), np.zeros((1, 2), np.int64), np.zeros((8, 3), np.int64)):
        with pytest.raises(ValueError, match="power of two"):
            number_rows(numbers, 0, 0, PROBES, wrong, firsts, counts)
        with pytest.raises(ValueError, match="power of two"):
            move_slots(wrong, slots)
    with pytest.raises(ValueError, match="larger table"):
        move_slots(slots, table(4)[0])
    for row, known in ((-1, 0), (3, 0), (0, -1), (0, 5)):
        with pytest.raises(ValueError, match="from 0 on"):
            number_rows(numbers, row, known, PROBES, slots, firsts, counts)
    with pytest.raises(ValueError, match="as many counts"):
        number_rows(numbers, 0, 0, PROBES, slots, firsts, counts[:1])
    with pytest.raises(ValueError, match="hashes must be as many"):
        hash_integers(numbers, integers([0]))
    data = np.zeros(4, np.uint8)
    for ends in ([0, 5], [-1, 2], [3, 2]):
        with pytest.raises(ValueError, match="within the data"):
            hash_texts(data, integers(ends), integers([0]))
    with pytest.raises(ValueError, match="ends must have one entry more"):
        hash_texts(data, integers([0, 1]), numbers)
    good = {"ends": [0, 1, 2], "codes": [0, 0], "starts": [0], "sizes": [1]}
    assert all_same(data, **{name: integers(value) for name, value in good.items()})
    for name, wrong in (
        ("ends", [0, 1]), ("sizes", [1, 1]), ("codes", [0, 1]), ("codes", [-1, 0]), ("ends", [0, 5, 2]),
        ("ends", [-1, 1, 2]), ("starts", [4]), ("starts", [-1]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"ends must have one entry more|codes must be"):
            all_same(data, **{key: integers(value) for key, value in (good | {name: wrong}).items()})


def test_rows_that_were_numbered_are_left_alone():
    slots, firsts, counts = table(8)
    numbers = integers([50, 60, 50])
    row, known, _ = number_rows(numbers, 1, 0, PROBES, slots, firsts, counts)
    assert (row, known) == (3, 2)
    assert_array_equal(numbers, [50, 0, 1])
