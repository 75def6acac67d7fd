"""Columns of a table as columns of the model, in NumPy: of every library, and of every type that a column may have.

Kernels do the same, bit by bit, for the columns that they read in memory: see `native.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dplr.bounds.columns import INDICATOR, Bins, Column, Curve, Levels, Numeric
from dplr.rows.tables.table import Matrix
from dplr.rows.tables.text import MISSING, NUMBERS, UNKNOWN, Codes, text_codes, without_dictionary


def write_column(values: Any, column: Column | None, out: Matrix) -> tuple[int, int]:
    """Fill the feature's columns, which are zero.

    Returns
    -------
    unknown, missing : how many values are not levels, and how many missing ones count as something.
    """
    if isinstance(column, Levels):
        return _write_levels(values, column, out)
    if isinstance(column, Bins):
        return 0, _write_bins(values, column, out)
    if isinstance(column, Curve):
        return 0, _write_curve(values, column, out)
    return 0, _write_numbers(values, column, out)


def numbers(values: Any) -> Matrix:
    """Values as float64, NaN where they are missing. Without the libraries' own casts: they do not all agree."""
    if isinstance(values, np.ndarray):
        return np.ascontiguousarray(values, np.float64)
    values = without_dictionary(values)
    if values.dtype.is_float():
        return np.ascontiguousarray(values.to_numpy(), np.float64)
    missing = values.is_null().to_numpy()
    wide = values.dtype.is_decimal() or values.dtype in (nw.Int128, nw.UInt128)  # libraries have no array of these
    if wide or not (values.dtype.is_numeric() or values.dtype == nw.Boolean):
        return np.array([np.nan if gap else number(v) for v, gap in zip(values.to_list(), missing, strict=True)], float)
    series = values.fill_null(False if values.dtype == nw.Boolean else 0) if missing.any() else values
    return np.where(missing, np.nan, series.to_numpy())


def codes(values: Any, levels: Sequence[Any]) -> Codes:
    """The place of each value among those of the levels, UNKNOWN for one that is not a level, or MISSING."""
    if isinstance(levels[0], str):
        return text_codes(values, {level: code for code, level in enumerate(levels)})
    entries = numbers(values)
    order = np.argsort(level_numbers := np.array(levels, float), kind="stable")
    place = order[np.minimum(np.searchsorted(level_numbers, entries, sorter=order), len(level_numbers) - 1)]
    matches = np.where(level_numbers[place] == entries, place, UNKNOWN)
    return np.asarray(np.where(np.isnan(entries), MISSING, matches), np.intp)


def _write_numbers(values: Any, column: Numeric | None, out: Matrix) -> int:
    """Fill the feature's columns; returns how many missing values count as something."""
    entries = numbers(values)
    if column is None:
        out[:, 0] = entries
        return 0
    out[:, 0] = column.transformed(entries)
    if column.missing is None:
        return 0
    missing = np.isnan(entries)
    out[missing, 0] = column.filler
    if column.missing == INDICATOR:
        out[missing, 1] = 1.0
    return int(missing.sum())


def _write_curve(values: Any, column: Curve, out: Matrix) -> int:
    """Fill the feature's columns; returns how many missing values count as something."""
    straight, entries = column.straight, np.zeros((len(out), 2))
    missing = _write_numbers(values, straight, entries)
    marked = entries[:, 1] != 0
    behind = column.line + len(column.places)
    out[:, column.line : behind] = column.shares(np.where(marked, np.nan, entries[:, 0]))
    refused = ~np.isfinite(entries[:, 0])
    first = slice(None) if column.line else refused
    out[first, 0] = entries[first, 0]
    if column.missing == INDICATOR:
        out[marked, behind] = 1.0
    return missing


def _write_bins(values: Any, column: Bins, out: Matrix) -> int:
    """Fill the feature's columns; returns how many missing values count as something."""
    entries = numbers(values)
    missing, infinite = np.isnan(entries), np.isinf(entries)
    bins = column.bins_of(entries)
    if isinstance(column.missing, float):
        bins[missing] = column.bin_of(column.missing)
    bins[missing & (not isinstance(column.missing, float))] = MISSING
    bins[infinite] = UNKNOWN
    _write_hot(bins, column.places, out)
    out[infinite, 0] = entries[infinite]  # refused, as it is where the column is a number
    return _write_gaps(missing, column, out)


def _write_levels(values: Any, column: Levels, out: Matrix) -> tuple[int, int]:
    """Fill the feature's columns; returns how many values are not levels, and how many missing ones count."""
    code = codes(values, column.values)
    missing, unknown = code == MISSING, code == UNKNOWN
    if column.missing is not None and column.missing != INDICATOR:
        code[missing] = column.code_of(column.missing)
    if column.kind == "one_hot":
        _write_hot(code, column.value_places, out)
    else:
        out[:, 0] = np.where(code >= 0, np.array(column.positions)[code], (len(column.levels) - 1) / 2)
    return int(unknown.sum()), _write_gaps(missing, column, out)


def _write_hot(codes: Codes, columns: Sequence[int], out: Matrix) -> None:
    """Set the column of each code to 1 in its rows: none for the reference, nor for what has no code."""
    places = np.array(columns, np.intp)[codes]
    rows = np.flatnonzero((codes >= 0) & (places >= 0))
    out[rows, places[rows]] = 1.0


def _write_gaps(missing: NDArray[np.bool_], column: Bins | Levels, out: Matrix) -> int:
    """Refuse or mark what is missing, unless it counts as a value; returns how many count as something."""
    if column.missing is None:
        out[missing, 0] = np.nan  # such a row counts as zero in every kernel, and is refused
        return 0
    if column.missing == INDICATOR:
        out[missing, column.block - 1 + (column.number is not None)] = 1.0
    return int(missing.sum())


def number(value: Any) -> float:
    """A value of a column of objects as float64; raises for what is not a number."""
    if isinstance(value, NUMBERS):
        return float(value)
    raise TypeError(f"it holds a {type(value).__name__}, which is not a number")
