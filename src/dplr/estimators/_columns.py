"""The columns of a fitted model: their names, and the rows of a table to predict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from dplr._kit.validation import sentence
from dplr.bounds.layout import Layout
from dplr.estimators._values import named
from dplr.rows import as_table, predictors, warn_of_new


def names_of(layout: Layout | None, features: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Names of the entries of `coef_`; `features` are those of the columns, or None, and `count` their number."""
    if layout is not None:
        return layout.names
    return tuple(f"x{j}" for j in range(count)) if features is None else tuple(features)


def rows_to_predict(estimator: Any, X: Any, layout: Layout | None) -> NDArray[np.float64]:
    """Rows with the columns of `coef_`; those of a table are found by name where the bounds name them."""
    table = None if type(X) is np.ndarray else as_table(X)
    if layout is not None and layout.named:
        if table is None:
            remedy = "Pass a data frame with the columns that the bounds name, in any order."
            raise ValueError(sentence("X", "must have column names, as the bounds do", type(X).__name__, remedy))
        return predictors(table, layout)
    # Where bounds say what a missing value counts as, an array has NaN; `predictors` refuses every other one.
    missing = layout is not None and not layout.plain
    checked = named(
        "X",
        validate_data,
        estimator,
        X,
        reset=False,
        dtype=np.float64,
        skip_check_array=table is not None,
        ensure_all_finite=not missing,
    )
    if table is None and (layout is None or layout.plain):
        rows = np.asarray(checked)
        warn_of_new(rows, layout)
        return rows
    return predictors(checked if table is None else table, layout)
