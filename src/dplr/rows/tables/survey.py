"""Surveys of the columns of a table, beside what is declared of them: for the data holder, before a fit."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np

from dplr._kit.validation import describe
from dplr.bounds.columns import Column, Levels, Pair
from dplr.rows.tables.values import MISSING, UNKNOWN, codes, numbers

_INNER = (0.005, 0.995)  # quantiles


@dataclass(frozen=True, slots=True)
class Survey:
    """Counts of one column, as `dplr.check` finds them.

    Attributes
    ----------
    rows : int
        Number of values.
    missing : int
        Number of missing values.
    infinite : int
        Number of infinite values.
    below : int
        Number of values below the bounds.
    above : int
        Number of values above the bounds.
    ends : tuple of (float, float) or None
        Least and largest finite value. None without a finite value.
    inner : tuple of (float, float) or None
        Range of the finite values without the half per cent at each end. None without a finite value.
    whole : bool
        Whether all of these are whole numbers.
    unknown : Counter
        Value as text -> number of occurrences, for values that are not declared levels.
    unused : tuple
        Levels that no value has.
    fault : str
        Why the column cannot be read as declared. Empty if it can.

    Privacy
    -------
    Nothing protects it: it shows counts, extremes and values of single records, to the data holder alone.

    See Also
    --------
    dplr.check : Make one for each column.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> found = dplr.check(np.array([[20.0], [120.0]]), bounds=dplr.Bounds([(18, 99)])).columns
    >>> found["column 0"].above
    1
    """

    rows: int
    missing: int = 0
    infinite: int = 0
    below: int = 0
    above: int = 0
    ends: Pair | None = None
    inner: Pair | None = None
    whole: bool = False
    unknown: Counter[str] = field(default_factory=Counter)
    unused: tuple[Any, ...] = ()
    fault: str = ""


def survey(values: Any, column: Column | None) -> Survey:
    """Survey one column, a series or an array, against its declaration; None for a number without one."""
    try:
        if isinstance(column, Levels):
            return _of_levels(values, column)
        return of_numbers(values, (-math.inf, math.inf) if column is None else (column.lower, column.upper))
    except (TypeError, ValueError, ArithmeticError) as error:
        return Survey(len(values), fault=str(error))


def of_numbers(values: Any, bounds: Pair) -> Survey:
    """Count numbers."""
    column = numbers(values)
    finite = column[np.isfinite(column)]
    low, high = np.quantile(finite, _INNER).tolist() if finite.size else (0.0, 0.0)
    return Survey(
        len(column),
        missing=int(np.isnan(column).sum()),
        infinite=int(np.isinf(column).sum()),
        below=int((column < bounds[0]).sum()),
        above=int((column > bounds[1]).sum()),
        ends=(float(finite.min()), float(finite.max())) if finite.size else None,
        inner=(low, high) if finite.size else None,
        whole=bool((finite % 1 == 0).all()),
    )


def _of_levels(values: Any, column: Levels) -> Survey:
    code = codes(values, column.values)
    places = np.flatnonzero(code == UNKNOWN)
    entries = values[places].to_list() if isinstance(values, nw.Series) else np.asarray(values)[places].tolist()
    used_codes = set(np.unique(code).tolist())
    return Survey(
        len(code),
        missing=int((code == MISSING).sum()),
        unknown=Counter(describe(value) for value in entries),
        unused=tuple(level for place, level in enumerate(column.values) if place not in used_codes),
    )
