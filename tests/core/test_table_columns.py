"""Columns through Arrow's C data interface, and codes of texts and numbers."""

import decimal
import gc

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from tests.helpers.reference import hash_of_text

from dplr._core import Feature, Features, NumberCodes, TextCodes, array_values, arrow_piece, arrow_values


def stream(array):
    return pa.chunked_array(array if isinstance(array, list) else [array]).__arrow_c_stream__()


def read(values, start=0, index=None, n=None):
    out = np.empty(len(values) - start if n is None else n)
    values.write_numbers(start, index, out)
    return out


def codes(texts, levels, values=None):
    """The codes that kernels find, read back from what they write; -2 for missing."""
    k = len(levels)
    numbers = np.array([np.nan, -2.0, -1.0, *range(k)])
    values = arrow_values(stream(pa.array(texts, pa.large_string()))) if values is None else values
    feature = Feature(
        values, 0, TextCodes([level.encode() for level in levels]), numbers, np.full(k + 3, -1, np.int32),
        np.zeros(k + 3),
    )  # fmt: skip
    out, marks = np.zeros((len(values), 1)), np.zeros((2, 1), np.int64)
    Features([feature]).write(0, None, out, marks)
    assert marks.ravel().tolist() == [(out == -1).sum(), (out == -2).sum()]
    return out[:, 0].astype(int).tolist()


def test_memory_is_released_once_and_only_when_nobody_reads_it():
    gc.collect()
    before = pa.total_allocated_bytes()
    values = arrow_values(stream([pa.array(np.arange(100_000.0) * 1), pa.array([1.0, None])]))
    gc.collect()
    assert pa.total_allocated_bytes() > before
    assert read(values)[-3:-1].tolist() == [99_999, 1]
    feature = Feature(values, 0)
    del values
    gc.collect()
    out = np.zeros((100_002, 1))
    Features([feature]).write(0, None, out, np.zeros((2, 1), np.int64))
    assert out[99_999] == 99_999
    del feature
    gc.collect()
    assert pa.total_allocated_bytes() <= before


def test_a_stream_is_taken_once():
    capsule = stream(pa.array([1.0]))
    arrow_values(capsule)
    with pytest.raises(ValueError, match="must not have been consumed"):
        arrow_values(capsule)
    capsules = pa.array([1, 2, None]).slice(1).__arrow_c_array__()
    assert_array_equal(read(arrow_piece(*capsules)), [2, np.nan])
    with pytest.raises(ValueError, match="must not have been consumed"):
        arrow_piece(*capsules)


@pytest.mark.parametrize("array", [pa.array([[1]]), pa.array([b"x"]), pa.array([1]).cast(pa.timestamp("s")),
                                   pa.array([{"a": 1}]), pa.array([decimal.Decimal(1)])])  # fmt: skip
def test_other_types_are_not_read_and_their_memory_is_released(array):
    before = pa.total_allocated_bytes()
    with pytest.raises(ValueError, match="numbers, booleans or text"):
        arrow_values(stream(array))
    gc.collect()
    assert pa.total_allocated_bytes() == before


def test_missing_values_of_the_null_type_are_missing_texts_and_missing_numbers():
    assert codes(None, ["a"], arrow_values(stream(pa.nulls(3)))) == [-2, -2, -2]
    keyed = arrow_values(stream(pa.DictionaryArray.from_arrays(pa.array([0, None]), pa.nulls(1))))
    assert codes(None, ["a"], keyed) == [-2, -2]


def test_keys_beyond_the_dictionary_are_missing():
    keys = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, -1, 0], pa.int8()), pa.array(["a", "b"]), safe=False)
    assert codes(None, ["b", "a"], arrow_values(stream(keys))) == [1, 0, -2, -2, 1]


def test_rows_that_are_not_there_are_refused():
    values = array_values(np.arange(5.0))
    for start, index, n in ((3, None, 3), (-1, None, 2), (0, np.array([5]), 1), (0, np.array([-1]), 1)):
        with pytest.raises(IndexError):
            read(values, start, index, n)
        with pytest.raises(IndexError):
            Features([Feature(values, 0)]).write(start, index, np.zeros((n, 1)), np.zeros((2, 1), np.int64))
    for first, mark, shape in ((1, 0, (2, 1)), (0, 1, (2, 1)), (0, 0, (2, 2))):
        feature = Features([Feature(values, first, filler=0.0, mark=mark)])
        with pytest.raises(ValueError, match="each feature"):
            feature.write(0, None, np.zeros((2, 1)), np.zeros(shape, np.int64))


def test_levels_whose_hashes_collide_have_codes_of_their_own_and_a_larger_table():
    found, k = [], 0
    while len(found) < 12:  # they would all begin in one slot of 64, and make a cluster that is too long
        if hash_of_text(f"{k}".encode()) % 64 == 5:
            found.append(str(k))
        k += 1
    others = [str(j) for j in range(k)]
    want = [found.index(text) if text in found else -1 for text in others]
    assert codes(others, found) == want
    assert 1 <= TextCodes([text.encode() for text in found]).probes <= 8


@pytest.mark.parametrize("form", [pa.string(), pa.large_string(), pa.string_view()])
def test_texts_of_every_length_are_found_in_every_form_and_chunk(form):
    texts = [f"{k} " * k for k in range(30)]
    chunks = [pa.array([*texts, None, *texts[::-1]], form).slice(start, 23) for start in (0, 3, 20)]
    want = [-2 if text is None else texts.index(text) for chunk in chunks for text in chunk.to_pylist()]
    assert codes(None, texts, arrow_values(stream(chunks))) == want


def test_every_one_of_many_levels_is_found_and_nothing_else():
    levels = [f"{k:x} " * (1 + k % 5) for k in range(4096)]
    assert codes(levels, levels) == list(range(4096))
    assert TextCodes([level.encode() for level in levels]).probes <= 8
    assert set(codes([level + "\x00" for level in levels] + [level[:-1] for level in levels], levels)) <= {
        -1, *range(4096),
    }  # fmt: skip


@pytest.mark.parametrize("whole", [True, False])
def test_numbers_are_found_by_search_and_by_table_alike(whole):
    knots, own = np.array([-3.0, 0, 2, 9]), np.array([3, 0, 2, 1], np.int32)
    near = np.full(13, -1, np.int32)
    near[(knots + 3).astype(int)] = own
    known = NumberCodes(knots, own, near if whole else None, -3 if whole else 0)
    given = np.array([-4, -3, -2.5, -0.0, 0, 1e-300, 2, 8.999999, 9, 10, 2.0**70, -np.inf, np.inf, np.nan])
    numbers = np.array([np.nan, -2.0, -1.0, 0, 1, 2, 3])
    feature = Feature(array_values(given), 0, known, numbers, np.full(7, -1, np.int32), np.zeros(7))
    out = np.zeros((len(given), 1))
    Features([feature]).write(0, None, out, np.zeros((2, 1), np.int64))
    assert out[:, 0].tolist() == [-1, 3, -1, 0, 0, -1, 2, -1, 1, -1, -1, -1, -1, -2]
