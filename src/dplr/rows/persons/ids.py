"""Ids from any library as numbers of persons; no id depends on another (canonical.py)."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.rows.persons.canonical import FAULTS, MISSING, canonical, exact_below
from dplr.rows.persons.numbering import NOBODY, Numbering, of_bytes, of_integers, of_texts
from dplr.rows.tables.text import is_arrow, is_arrow_dictionary

Gaps = NDArray[np.bool_]

_AS_TEXT = "Read ids as text, such as with dtype=str."


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Ids:
    """The person of each row, and the faults of the ids.

    Attributes
    ----------
    numbers : the persons. It holds the ids: it must not be shown.
    faults : reason why a row has no id -> number of such rows.
    mixed : whether objects hold texts and numbers.
    """

    numbers: Numbering
    faults: Counter[str]
    mixed: bool = False

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.numbers.codes)

    def of_persons(self, values: NDArray[Any]) -> NDArray[Any]:
        """(n,) the value (persons,) of each row's person; 0 for nobody."""
        return np.append(values, np.zeros(1, values.dtype))[self.numbers.codes]


def read_ids(values: Any) -> Ids:
    """The ids of a column of any library, an array or a sequence; raises TypeError for its type alone."""
    if isinstance(values, np.ndarray):
        return _of_array(values)
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes)):
        return _of_objects(list(values))
    if isinstance(getattr(values, "dtype", None), np.dtype):  # a column of pandas that holds a plain array
        return _of_array(np.asarray(values))
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(values, arrow.Array):
        values = arrow.chunked_array([values])
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return _of_series(series)
    if hasattr(values, "__array__"):
        return _of_array(np.asarray(values))
    raise _not_ids(type(values).__name__)


def refuse_faults(ids: Ids) -> None:
    """Raise for values that are not ids; no error shows one."""
    if ids.mixed:
        raise ValueError(
            "`person` must hold texts or whole numbers, not both; got a column of objects with texts and numbers. "
            f"Whoever guessed the types may have read '012' as 12. {_AS_TEXT}"
        )
    remedy = "Remove these rows, with rules that do not come from the private data."
    if ids.faults[MISSING]:
        raise ValueError(
            f"`person` must name a person in every row; got {ids.faults[MISSING]} of {len(ids)} rows with an id that "
            f"is {MISSING}. {remedy}"
        )
    for fault in FAULTS:
        if ids.faults[fault]:
            raise ValueError(
                f"`person` must hold texts or whole numbers; got {ids.faults[fault]} of {len(ids)} rows with {fault}. "
                f"{_AS_TEXT}"
            )


def _not_ids(kind: str) -> TypeError:
    return TypeError(sentence("person", "must hold texts or whole numbers, one for each row", kind, _AS_TEXT))


def _of_array(values: NDArray[Any]) -> Ids:
    if values.ndim != 1:
        raise ValueError(sentence("person", "must be one-dimensional", values.shape, "Give one id for each row."))
    gaps = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else np.zeros(len(values), bool)
    plain, kind = np.asarray(values), values.dtype.kind
    if kind in "iu":
        return _of_integers(plain, gaps)
    if kind == "f":
        return _of_floats(plain, gaps)
    if kind == "U":
        return _of_fixed_widths(plain, gaps)
    if kind == "O":
        return _of_objects([None if gap else value for value, gap in zip(plain.tolist(), gaps.tolist(), strict=True)])
    raise _not_ids(plain.dtype.name)


def _of_series(series: nw.Series[Any]) -> Ids:
    kind = series.dtype
    if kind in (nw.Categorical, nw.Enum):
        return _of_categories(series)
    if kind == nw.String:
        return _of_texts(series)
    if kind.is_decimal() or kind in (nw.Int128, nw.UInt128, nw.Object):
        return _of_objects(series.to_list())
    gaps = series.is_null().to_numpy()
    if kind.is_integer():
        return _of_integers((series.fill_null(0) if gaps.any() else series).to_numpy(), gaps)
    if kind.is_float():
        return _of_floats(series.to_numpy(), gaps)
    if kind == nw.Unknown and gaps.all():  # a column of nulls alone
        return _of_objects([None] * len(series))
    raise _not_ids(str(kind))


def _of_categories(series: nw.Series[Any]) -> Ids:
    """Categories are judged one by one, and those that are one id are one person; unused ones are nobody."""
    native = series.to_native()
    if is_arrow_dictionary(getattr(native, "dtype", None)):
        native = native.array.__arrow_array__()
    if hasattr(native, "type"):  # Arrow
        return read_ids(native.cast(native.type.value_type))
    if not hasattr(native, "iloc"):
        return _of_texts(series.cast(nw.String))
    names, places = native.cat.categories.tolist(), native.cat.codes.to_numpy().astype(np.int64)
    judged = _of_objects(names)
    used = np.bincount(places[places >= 0], minlength=len(names))
    faults = Counter({MISSING: int((places < 0).sum())})
    for name, count in zip(names, used.tolist(), strict=True):
        if reason := canonical(name)[1]:
            faults[reason] += count
    whose = np.append(judged.numbers.codes, NOBODY)[places]
    numbers = Numbering(whose, judged.numbers.counts, judged.numbers.texts)
    return Ids(numbers.in_use(), +faults, judged.mixed)


def _of_integers(values: NDArray[Any], gaps: Gaps) -> Ids:
    missing = int(gaps.sum())
    if not missing:
        return Ids(of_integers(values), Counter())
    return Ids(of_integers(values[~gaps]).spread(gaps), Counter({MISSING: missing}))


def _of_floats(values: NDArray[Any], gaps: Gaps) -> Ids:
    """Whole floats as integers."""
    missing = gaps | np.isnan(values)
    with np.errstate(invalid="ignore"):
        fraction = ~missing & (np.isinf(values) | (values % 1 != 0))
    large = ~missing & ~fraction & (np.abs(values) >= exact_below(values.dtype))
    faults = Counter({fault: int(rows.sum()) for fault, rows in zip(FAULTS, (missing, fraction, large), strict=False)})
    bad = missing | fraction | large
    return Ids(of_integers(values[~bad].astype(np.int64)).spread(bad), +faults)


def _of_fixed_widths(values: NDArray[np.str_], gaps: Gaps) -> Ids:
    """Texts of NumPy, which are equal exactly if their bytes are: shorter ones end in zeros."""
    gaps = gaps | (values == "")
    texts = np.ascontiguousarray(values[~gaps] if gaps.any() else values)
    size = texts.dtype.itemsize
    numbers = of_bytes(
        texts.view(np.uint8) if len(texts) else np.empty(0, np.uint8),
        np.arange(len(texts) + 1, dtype=np.int64) * size,
        lambda text: str(np.frombuffer(text, texts.dtype)[0]),
    )
    missing = int(gaps.sum())
    return Ids(numbers.spread(gaps), +Counter({MISSING: missing})) if missing else Ids(numbers, Counter())


def _of_texts(series: nw.Series[Any]) -> Ids:
    """A column of texts, in its bytes where Arrow can show them."""
    arrow = _as_arrow(series)
    if arrow is None:
        return _missing_counted(of_texts(series.to_list()))
    gaps = arrow.is_null().to_numpy(zero_copy_only=False)
    texts = arrow.drop_null() if arrow.null_count else arrow
    _, ends, data = texts.buffers()
    ends = (
        np.frombuffer(ends, np.int64)[texts.offset : texts.offset + len(texts) + 1] if ends else np.zeros(1, np.int64)
    )
    data = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    empty = ends[:-1] == ends[1:]
    if empty.any():
        gaps[~gaps] = empty
        ends = np.append(ends[:-1][~empty], ends[-1])
    numbers = of_bytes(data, ends, lambda text: text.decode("utf-8", "surrogateescape"))
    return _missing_counted(numbers.spread(gaps) if gaps.any() else numbers)


def _as_arrow(series: nw.Series[Any]) -> Any | None:
    """A column of texts as one Arrow array with 64-bit offsets; None where it must be read as objects."""
    native = series.to_native()
    if hasattr(native, "iloc"):
        native = native.array.__arrow_array__() if is_arrow(native.dtype) else None
    elif not hasattr(native, "combine_chunks"):
        try:
            native = series.to_arrow()
        except ImportError:  # polars needs pyarrow for it
            native = None
    if native is None:
        return None
    arrow = native.cast("large_string")
    return arrow.combine_chunks() if hasattr(arrow, "combine_chunks") else arrow


def _missing_counted(numbers: Numbering) -> Ids:
    missing = int((numbers.codes == NOBODY).sum())
    return Ids(numbers, Counter({MISSING: missing}) if missing else Counter())


def _of_objects(values: list[Any]) -> Ids:
    """Objects, each read by itself. Where all are of one type, a quicker path gives the same ids."""
    kinds = set(map(type, values))
    if kinds <= {str}:
        return _missing_counted(of_texts(values))
    if kinds == {int} and max(values) < 2**63 and min(values) >= -(2**63):
        return Ids(of_integers(np.array(values, np.int64)), Counter())
    faults: Counter[str] = Counter()
    texts = []
    for value in values:
        text, fault = canonical(value)
        texts.append(text)
        if fault:
            faults[fault] += 1
    is_text = {isinstance(value, str) for value, text in zip(values, texts, strict=True) if text is not None}
    return Ids(of_texts(texts), faults, len(is_text) > 1)
