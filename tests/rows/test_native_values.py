"""Values of every type as kernels read them, against NumPy: at both ends of rows, of bytes and of levels."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import dplr
from dplr._core import Feature, Features, NumberCodes, array_values
from dplr.rows import Encoder, as_table

ROWS = 37  # no whole number of vectors


def written(feature, columns):
    """The matrix, and (values without a code, missing values)."""
    out, marks = np.zeros((ROWS, columns)), np.zeros((2, 1), np.int64)
    Features([feature]).write(0, None, out, marks)
    return out, marks.ravel().tolist()


@pytest.mark.parametrize("kind", ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"])
def test_numbers_are_those_of_numpy_and_gaps_are_filled_and_marked(kind):
    values = np.arange(ROWS) - (0 if kind[0] in "u?" else 18)
    values = (values % 2 if kind == "?" else values).astype(kind)
    gaps = np.isin(np.arange(ROWS), [0, 20] if kind[0] == "f" else [])
    values[gaps] = np.nan if kind[0] == "f" else 0
    out, marks = written(Feature(array_values(values), 0, filler=1.5, mark=1), 2)
    assert_array_equal(out, np.column_stack([np.where(gaps, 1.5, values.astype(float)), gaps]))
    assert marks == [0, gaps.sum()]


def test_every_level_of_numbers_has_its_column_and_other_numbers_have_none():
    levels, values = np.array([-2.5, 0.0, 1.0, 7.5]), np.arange(ROWS) / 2.0 - 4.0
    places = np.array([-1, -1, -1, 0, 1, 2, 3], np.int32)
    codes = NumberCodes(levels, np.arange(4, dtype=np.int32), None, 0)
    out, marks = written(Feature(array_values(values), 0, codes, None, places, np.ones(7)), 4)
    assert_array_equal(out, values[:, np.newaxis] == levels)
    assert marks == [ROWS - 4, 0]


def test_the_empty_and_the_longest_level_of_texts_have_their_columns():
    levels, texts = ["", "yes", "ten bytes!"], ["ten bytes!", "", "yes", "no", "ten bytes", "ten bytes!!"]
    layout = dplr.Bounds({"a": {"levels": levels}}).layout
    out, _ = Encoder(as_table(pl.DataFrame({"a": texts})), layout).block()
    assert_array_equal(out, np.array(texts)[:, np.newaxis] == np.array(levels))
