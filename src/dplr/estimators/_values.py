"""Conversion of lists, objects, and targets in one column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from dplr._kit.validation import sentence
from dplr.rows import as_float, as_table, check_unmasked


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
        return table.column(0, slice(None)).to_native()
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
