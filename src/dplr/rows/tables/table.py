"""Tables and targets of any library, as they were given: by the types that they declare, whatever they hold.

How a record counts never depends on the type of another record's value.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.rows.tables.values import NUMBERS, numbers

Matrix = NDArray[np.float64]

BOOL, NUMERIC, TEXT, OBJECTS, OTHER = "bool", "numbers", "text", "objects", "other"


class Table:
    """A data frame of pandas, polars or another library, or an Arrow table: see `as_table`.

    Attributes
    ----------
    native : the frame as its own library has it.
    in_pandas : whether that is pandas, or a library of its kind.
    columns, shape : names of the columns, and how many rows and columns there are.
    """

    ndim = 2

    def __init__(self, frame: nw.DataFrame[Any]) -> None:
        data = self._frame = frame
        self._keys = list(data.columns)  # a pandas frame may have numbers for names
        self.columns: tuple[str, ...] = tuple(str(key) for key in self._keys)
        self.shape: tuple[int, int] = data.shape
        self._types = list(data.schema.values())
        native = data.to_native()
        self.native: Any = native
        self.in_pandas: bool = hasattr(native, "iloc")
        if self.in_pandas:  # narwhals would read a type from the first values of objects: one row would decide it
            self._types = [
                nw.Object() if declared == np.dtype(object) else kind
                for declared, kind in zip(native.dtypes, self._types, strict=True)
            ]

    def __len__(self) -> int:
        return self.shape[0]

    def column(self, place: int, rows: Any = None) -> Any:
        """One column; at a slice or an array of indices, if any."""
        series = self._frame.get_column(self._keys[place])
        return series if rows is None else series[rows]

    def native_column(self, place: int) -> Any:
        """One column as its own library has it, which is quicker than through narwhals."""
        for name in ("to_series", "column"):  # of polars, of Arrow
            if not self.in_pandas and hasattr(self.native, name):
                return getattr(self.native, name)(place)
        return self.native[self._keys[place]] if self.in_pandas else None

    def take(self, rows: Any) -> Table:
        """The rows at an array of indices."""
        return Table(self._frame[rows])

    def parted(self, names: Sequence[str]) -> tuple[Table, list[Any]]:
        """The other columns, and these as their own library has them."""
        places = [self.columns.index(name) for name in names]
        rest = Table(self._frame.drop([self._keys[place] for place in places]))
        return rest, [self.column(place).to_native() for place in places]

    def chosen(self, places: Sequence[int]) -> Table:
        """These columns, in this order; the table itself where they are all of it."""
        if list(places) == list(range(len(self._keys))):
            return self
        return Table(self._frame.select([self._keys[place] for place in places]))

    def dtype(self, place: int) -> Any:
        """Type of a column."""
        return self._types[place]


def check_unmasked(parameter: str, values: Any) -> None:
    """Refuse masked arrays, whatever they mask: NumPy's own conversions would use what a mask hides as if it were data.

    Ids and weights are read with their masks instead.
    """
    if isinstance(values, np.ma.MaskedArray):
        remedy = f"Give {parameter}.filled(np.nan), or the rows without a mask."
        raise TypeError(sentence(parameter, "must be no masked array", type(values).__name__, remedy))


def as_array(X: Any, parameter: str = "X") -> NDArray[Any]:
    """Rows that are no table as an array."""
    try:
        array = np.asarray(X)
    except ValueError:  # lists of several lengths
        raise ValueError(sentence(parameter, "must have rows of one length", type(X).__name__)) from None
    if array.ndim == 0:
        raise TypeError(sentence(parameter, "must be a table or an array of rows", X))
    return array


def as_table(X: Any, parameter: str = "X") -> Table | None:
    """X as a table, or None if it is not one; raises for a table that is not in memory, or names two columns alike."""
    if isinstance(X, Table):
        return X
    if isinstance(X, np.ndarray):
        check_unmasked(parameter, X)
        return None
    try:
        frame = nw.from_native(_as_whole(X), pass_through=True)
    except nw.exceptions.DuplicateError:
        names = list(getattr(X, "column_names", X.columns))  # of Arrow, `columns` are the values
        raise ValueError(sentence(parameter, "must name every column once", names)) from None
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(sentence(parameter, "must be in memory", type(X).__name__, "Call .collect() first."))
    return Table(frame) if isinstance(frame, nw.DataFrame) else None


def check_indexes(**columns: Any) -> None:
    """Refuse objects of pandas whose indexes share labels, and are not equal: a row would meet that of another record.

    Rows meet by position. Indexes without a common label, such as names and 0, 1, 2, say nothing against it.
    """
    for (first, one), (name, two) in itertools.combinations(columns.items(), 2):
        if not (hasattr(one, "iloc") and hasattr(two, "iloc")):
            continue
        index, other = one.index, two.index
        if len(index) != len(other) or index.equals(other):  # lengths are checked elsewhere
            continue
        if index.nlevels == other.nlevels and index.isin(other).any():
            remedy = f"Give {name}.loc[{first}.index]; or {name}.to_numpy(), if rows belong together by position."
            rule = f"must have the index of {first}, row by row"
            raise ValueError(sentence(name, rule, f"an index with labels of {first} in other rows", remedy))


def _as_whole(X: Any) -> Any:
    """A record batch of Arrow as a table of one batch, without a copy; anything else as it is."""
    arrow = sys.modules.get("pyarrow")
    return arrow.Table.from_batches([X]) if arrow is not None and isinstance(X, arrow.RecordBatch) else X


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
    check_unmasked(parameter, y)
    column = y if isinstance(y, np.ndarray) else as_column(y)
    if column is None and (hasattr(y, "__array__") or not (hasattr(y, "__len__") and hasattr(y, "__getitem__"))):
        column = np.asarray(y)
        if column.ndim == 0:
            raise TypeError(sentence(parameter, "must be a column, an array or a list of values", y))
    if isinstance(column, nw.Series):
        return _of_series(column)
    if isinstance(column, np.ndarray):
        if column.ndim == 0:
            raise ValueError(sentence(parameter, "must be one-dimensional", column.shape))
        return _of_array(column)
    values = [y[place] for place in range(len(y))] if column is None else column
    return Target(OBJECTS, _objects(values), type(y).__name__)


def as_column(values: Any) -> NDArray[Any] | nw.Series[Any] | Sequence[Any] | None:
    """A column of any library as an array or a series, and a sequence as it is; None for what may be none of these."""
    if isinstance(values, np.ndarray) or (isinstance(values, Sequence) and not isinstance(values, (str, bytes))):
        return values
    if isinstance(getattr(values, "dtype", None), np.dtype):  # a column of pandas that holds a plain array
        return np.asarray(values)
    series = nw.from_native(values, series_only=True, pass_through=True)
    return series if isinstance(series, nw.Series) else None


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
