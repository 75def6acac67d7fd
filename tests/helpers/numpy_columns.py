"""Columns of a table as columns of the model, in NumPy: what the kernels' writer is compared with."""

import numpy as np

from dplr.bounds.columns import INDICATOR, Bins, Curve, Levels
from dplr.rows.tables.values import MISSING, UNKNOWN, codes, numbers


def write_column(values, column, matrix, first):
    """Fill the columns of a feature, which are zero; how many values are no level, and how many missing ones count."""
    out = matrix[:, first:]
    if isinstance(column, Levels):
        return _write_levels(values, column, out)
    if isinstance(column, Bins):
        return 0, _write_bins(values, column, out)
    if isinstance(column, Curve):
        return 0, _write_curve(values, column, out)
    return 0, _write_numbers(values, column, out)


def _write_numbers(values, column, out):
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


def _write_curve(values, column, out):
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


def _write_bins(values, column, out):
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


def _write_levels(values, column, out):
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


def _write_hot(codes, columns, out):
    """Set the column of each code to 1 in its rows: none for the reference, nor for what has no code."""
    places = np.array(columns, np.intp)[codes]
    rows = np.flatnonzero((codes >= 0) & (places >= 0))
    out[rows, places[rows]] = 1.0


def _write_gaps(missing, column, out):
    """Refuse or mark what is missing, unless it counts as a value; returns how many count as something."""
    if column.missing is None:
        out[missing, 0] = np.nan  # such a row counts as zero in every kernel, and is refused
        return 0
    if column.missing == INDICATOR:
        out[missing, column.block - 1 + (column.number is not None)] = 1.0
    return int(missing.sum())
