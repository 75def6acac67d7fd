"""Columns as scikit-learn's users give them: lists, objects, targets in one column; and rows of a table to predict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.validation import validate_data

from dplr._kit.validation import sentence
from dplr.bounds.layout import Layout
from dplr.rows import as_float, as_table, check_unmasked, predictors, warn_of_new


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
    options = {"dtype": np.float64, "skip_check_array": table is not None, "ensure_all_finite": not missing}
    checked = named("X", validate_data, estimator, X, reset=False, **options)
    if table is None and (layout is None or layout.plain):
        rows = np.asarray(checked)
        warn_of_new(rows, layout)
        return rows
    return predictors(checked if table is None else table, layout)


def named(parameter: str, check: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """The result of a check of scikit-learn; its refusal becomes a sentence that names the parameter.

    Its words stay, because other tools look for them, apart from the entries of an array.
    """
    for given in arguments:
        check_unmasked(parameter, given)
    try:
        return check(*arguments, **options)
    except (TypeError, ValueError, OverflowError) as error:
        if type(error) not in (TypeError, ValueError, OverflowError) or str(error).startswith("`"):
            raise
        words = str(error).partition("\n[")[0].rstrip(".")
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"`{parameter}` must pass the checks of scikit-learn, which says: {words}.") from None


def flat(y: Any) -> Any:
    """One target per record, also where the targets come as one column; their types stay what they are."""
    if isinstance(y, (list, tuple)):
        return [_alone(value) for value in y]
    if (table := as_table(y, "y")) is not None and table.shape[1] == 1:
        return table.column(0).to_native()
    return named("y", column_or_1d, y, warn=True) if len(getattr(y, "shape", ())) > 1 else y


def _alone(value: Any) -> Any:
    """The one entry of a row of targets; what is not such a row stays as it is."""
    return value[0] if isinstance(value, (list, tuple, np.ndarray)) and np.shape(value) == (1,) else value


def numbers_of(X: Any) -> NDArray[np.float64]:
    """Rows given as lists or objects, every entry read by itself: no text beside numbers is a number or makes text."""
    entries = np.array(X, dtype=object)
    if any(isinstance(value, (str, bytes)) for value in entries.flat):
        remedy = "Convert it to numbers first, or declare its levels and pass a data frame."
        raise ValueError(sentence("X", "must hold numbers", "text among the entries", remedy))
    return np.fromiter((as_float(value) for value in entries.flat), np.float64, entries.size).reshape(entries.shape)
