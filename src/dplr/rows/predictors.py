"""Rows that a fitted model is asked about: its columns, refused where one is missing, and warned of as in a fit."""

import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.bounds.layout import Layout
from dplr.problem.geometry import GRID
from dplr.rows.exact import Faults
from dplr.rows.faults import warn_outside
from dplr.rows.tables.encoder import Encoder
from dplr.rows.tables.table import Matrix

_SHOWN = 20  # columns in an error


def predictors(X: Any, layout: Layout | None) -> Matrix:
    """All rows of a table, or of an array, with the columns of a fitted model; refused where an entry is missing.

    The data holder is warned of them as in a fit.
    """
    matrix, encoder, marks = _encoded(X, layout)
    if not np.isfinite(matrix).all():
        remedy = "The model has no answer for them; it was fitted with bounds that refuse missing values."
        raise ValueError(sentence("X", "must not hold NaN, infinity or missing values", encoder.not_finite(), remedy))
    warn_of_new(matrix, layout, marks, encoder.features)
    return matrix


def encoded(X: Any, layout: Layout) -> Matrix:
    """The rows of `predictors`, with NaN for what bounds refuse: whether there is any is for the caller to say."""
    matrix, encoder, marks = _encoded(X, layout)
    warn_of_new(matrix, layout, marks, encoder.features)
    return np.where(np.isfinite(matrix), matrix, np.nan)


def _encoded(X: Any, layout: Layout | None) -> tuple[Matrix, Encoder, list[int]]:
    if layout is not None and layout.named:
        missing = [name for name in layout.features if name not in X.columns]
        if missing:
            raise ValueError(_lacks(missing, list(X.columns)))
    encoder = Encoder(X, layout)
    matrix, marks = encoder.block()
    return matrix, encoder, marks.tolist()


def _lacks(missing: list[str], columns: list[str]) -> str:
    """The error of a table without columns of the model; it points to a column that may be one of them misspelt."""
    near = difflib.get_close_matches(missing[0].casefold(), [name.casefold() for name in columns], 1)
    close = [name for name in columns if name.casefold() in near and name not in missing]
    remedy = f"Rename {close[0]!r} to {missing[0]!r}." if close else "Columns are found by name: add it."
    rule = f"must have the columns that the model was fitted on, and lacks {missing[:_SHOWN]}"
    return sentence("X", rule, columns[:_SHOWN], remedy)


def warn_of_new(
    rows: NDArray[np.float64], layout: Layout | None, marks: Sequence[int] = (), columns: Sequence[str] | None = None
) -> None:
    """Warn the data holder of rows that a model is asked about, as a fit warns of its own, before they are clipped.

    As in a fit, what rounding to the grid may explain is inside; `rows` has the columns of the model. A missing value
    that counts as declared is not worth a warning with every prediction.
    """
    known = len(marks) // 2
    with np.errstate(over="ignore"):
        if layout is None:
            far = (1.0 + 0.5 * rows.shape[1] ** 0.5 / GRID) ** 2
            outside = [int(np.count_nonzero(np.einsum("ij,ij->i", rows, rows) > far))]
        else:
            low, high = np.array(layout.pairs, np.float64).T
            slack = (high / 2 - low / 2) / GRID
            low, high = low - slack, high + slack
            outside = [0] * len(low)
            if len(rows) and not ((rows.min(axis=0) >= low) & (rows.max(axis=0) <= high)).all():
                outside = np.count_nonzero((rows < low) | (rows > high), axis=0).tolist()
    faults = Faults(len(rows), 0, 0, (*outside, 0), (*marks[:known], *[0] * known))
    warn_outside(faults, layout, layout is None, columns)
