"""The target of every record: how a record counts never depends on the type of another record's value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.rows.tables.table import check_unmasked
from dplr.rows.tables.text import NUMBERS
from dplr.rows.tables.writers import numbers

BOOL, NUMERIC, TEXT, OBJECTS, OTHER = "bool", "numbers", "text", "objects", "other"


@dataclass(frozen=True, eq=False, slots=True)
class Target:
    """The target as it was given.

    Attributes
    ----------
    kind : what the type of the column or array declares, whatever it holds: `"bool"`, `"numbers"`, `"text"` or
        `"other"`. Lists and arrays of objects declare nothing: `"objects"`.
    values : (n,) booleans; or numbers, NaN where one is missing; or objects.
    type_name : the declared type, for errors.
    """

    kind: str
    values: NDArray[Any]
    type_name: str

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.values)

    @property
    def numeric(self) -> bool:
        """Whether the values are an array of booleans or numbers."""
        return self.kind in (BOOL, NUMERIC)

    @property
    def holds_numbers(self) -> bool:
        """Whether every value is a number: of objects, each by itself."""
        return self.kind == NUMERIC or (self.kind == OBJECTS and not np.isnan(self.as_float()).any())

    def take(self, rows: Any) -> Target:
        """The records at an array of indices."""
        return replace(self, values=self.values[rows])

    def as_float(self) -> NDArray[np.float64]:
        """Each value as the nearest float64; NaN for what is missing or not a number."""
        if self.numeric:
            return np.asarray(self.values, np.float64)
        return np.fromiter((as_float(value) for value in self.values), np.float64, len(self))


def as_target(y: Any, parameter: str = "y") -> Target:
    """The target of a column of any library, an array, or a sequence; `parameter` is its name in errors."""
    if isinstance(y, Mapping | type):
        raise TypeError(sentence(parameter, "must be a column, an array or a list of values", y))
    if isinstance(y, np.ndarray):
        check_unmasked(parameter, y)
        if y.ndim == 0:
            raise ValueError(sentence(parameter, "must be one-dimensional", y.shape))
        return _of_array(y)
    if isinstance(y, Sequence) and not isinstance(y, (str, bytes)):
        return Target(OBJECTS, _objects(y), type(y).__name__)
    if isinstance(getattr(y, "dtype", None), np.dtype):  # a column of pandas that holds a plain array
        return _of_array(np.asarray(y))
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return _of_series(series)
    if hasattr(y, "__array__") or not (hasattr(y, "__len__") and hasattr(y, "__getitem__")):
        values = np.asarray(y)
        if values.ndim == 0:
            raise TypeError(sentence(parameter, "must be a column, an array or a list of values", y))
        return _of_array(values)
    return Target(OBJECTS, _objects([y[place] for place in range(len(y))]), type(y).__name__)


def as_float(value: Any) -> float:
    """A value as the nearest float64; NaN if it is missing or not a number."""
    if not isinstance(value, NUMBERS):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # an integer beyond all floats
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):  # complex, or a signalling NaN
        return math.nan


def _of_array(y: NDArray[Any]) -> Target:
    kinds = {"b": BOOL, "i": NUMERIC, "u": NUMERIC, "f": NUMERIC, "U": TEXT, "O": OBJECTS}
    return Target(kinds.get(y.dtype.kind, OTHER), y, "text" if y.dtype.kind == "U" else y.dtype.type.__name__)


def _of_series(series: nw.Series[Any]) -> Target:
    kind, name = series.dtype, str(series.dtype)
    if kind.is_numeric() or kind == nw.Boolean:
        declared = NUMERIC if kind.is_numeric() else BOOL
        plain = not (kind.is_decimal() or kind in (nw.Int128, nw.UInt128) or series.is_null().any())
        return Target(declared, series.to_numpy() if plain else numbers(series), name)
    if kind in (nw.String, nw.Object, nw.Categorical, nw.Enum):
        text = kind == nw.String
        return Target(TEXT if text else OBJECTS, _objects(series.to_list()), "text" if text else name)
    return Target(OTHER, np.empty(len(series), object), name)


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    """One entry per value, whatever it is: NumPy would choose its type from all values together."""
    return np.fromiter(values, object, len(values))
