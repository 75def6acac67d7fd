"""Ids of any library as numbers of persons, each id judged by itself (canonical.py)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dplr._validation import sentence
from dplr.rows.persons.canonical import FAULTS, FRACTION, MISSING, TOO_LARGE, canonical, exact_up_to, is_number
from dplr.rows.persons.numbering import number_integers, number_texts

Codes = NDArray[np.int64]

NOBODY = -1
_AS_TEXT = "Read ids as text, such as with dtype=str."


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Ids:
    """Who each row is of. It holds the ids: it must not be shown.

    Attributes
    ----------
    codes : (n,) number of each row's person, or NOBODY.
    counts : (persons,) number of rows of each person.
    keys : (persons,) the ids, as integers, or as texts.
    faults : why rows have no id -> how many.
    mixed : whether objects hold texts and numbers.
    """

    codes: Codes
    counts: Codes
    keys: Sequence[Any] | NDArray[Any]
    faults: Counter[str]
    mixed: bool = False

    @property
    def texts(self) -> list[str]:
        """The canonical id of each person."""
        return [key if isinstance(key, str) else str(int(key)) for key in self.keys]

    @property
    def rows(self) -> Codes:
        """(n,) the number of rows of each row's person; 0 for nobody."""
        return np.append(self.counts, 0)[self.codes]


def read_ids(values: Any) -> Ids:
    """The ids of a column of any library, an array or a sequence; raises TypeError for its type alone."""
    if isinstance(values, np.ndarray):
        return _of_array(values)
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes)):
        return _of_objects(values)
    if isinstance(getattr(values, "dtype", None), np.dtype):  # a column of pandas that holds a plain array
        return _of_array(np.asarray(values))
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return _of_series(series)
    if hasattr(values, "to_pylist"):  # an Arrow array: of an array with gaps NumPy would make floats
        return _of_objects(values.to_pylist())
    if hasattr(values, "__array__"):
        return _of_array(np.asarray(values))
    raise _not_ids(type(values).__name__)


def refuse_faults(ids: Ids) -> None:
    """Raise for values that are not ids; no error shows one."""
    n = len(ids.codes)
    if ids.mixed:
        raise ValueError(
            "`person` must hold texts or whole numbers, not both; got a column of objects with texts and numbers. "
            f"Whoever guessed the types may have read '012' as 12. {_AS_TEXT}"
        )
    if ids.faults[MISSING]:
        raise ValueError(
            f"`person` must name a person in every row; got {ids.faults[MISSING]} of {n} rows with an id that is "
            f"{MISSING}. Remove these rows, with rules that do not come from the private data."
        )
    for fault in FAULTS:
        if ids.faults[fault]:
            rule = f"must hold texts or whole numbers; got {ids.faults[fault]} of {n} rows with {fault}"
            raise ValueError(f"`person` {rule}. {_AS_TEXT}")


def _not_ids(kind: str) -> TypeError:
    return TypeError(sentence("person", "must hold texts or whole numbers, one for each row", kind, _AS_TEXT))


def _of_array(values: NDArray[Any]) -> Ids:
    if values.ndim != 1:
        raise ValueError(sentence("person", "must be one-dimensional", values.shape))
    gaps = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    values, kind = np.asarray(values), values.dtype.kind
    if kind in "iu":
        return _of_integers(values, gaps)
    if kind == "f":
        return _of_floats(values, gaps)
    if kind not in "UO":
        raise _not_ids(values.dtype.name)
    objects = values.tolist()
    if gaps is not None:
        objects = [None if gap else value for value, gap in zip(objects, gaps.tolist(), strict=True)]
    return _of_texts(objects) if kind == "U" else _of_objects(objects)


def _of_series(series: nw.Series[Any]) -> Ids:
    kind = series.dtype
    if kind in (nw.Categorical, nw.Enum):
        return _of_categories(series)
    if kind.is_decimal() or kind in (nw.Int128, nw.UInt128, nw.Object):
        return _of_objects(series.to_list())
    if kind == nw.String:
        return _of_texts(series.to_list())
    gaps = series.is_null().to_numpy()
    if kind.is_integer():
        return _of_integers((series.fill_null(0) if gaps.any() else series).to_numpy(), gaps)
    if kind.is_float():
        return _of_floats(series.to_numpy(), gaps)
    if kind == nw.Unknown and gaps.all():  # a column of nulls alone
        return _of_objects([None] * len(series))
    raise _not_ids(str(kind))


def _of_categories(series: nw.Series[Any]) -> Ids:
    """Categories are read one by one, and two that are one id become one person."""
    native = series.to_native()
    if not hasattr(native, "cat") or not hasattr(native.cat, "codes"):
        return _of_objects(series.to_list())
    names = _of_objects(native.cat.categories.tolist())
    places = native.cat.codes.to_numpy().astype(np.int64)
    codes = np.append(names.codes, NOBODY)[places]
    keys, counts = _in_use(codes, len(names.counts))
    named = places >= 0
    reasons = [canonical(name)[1] for name in native.cat.categories.tolist()]
    used = np.bincount(places[named], minlength=len(reasons)).tolist()
    faults = Counter({MISSING: int((~named).sum())})
    for reason, count in zip(reasons, used, strict=True):
        faults[reason] += count
    place_of = np.full(len(names.counts) + 1, NOBODY)
    place_of[keys] = np.arange(len(keys))
    return Ids(place_of[codes], counts, [names.keys[key] for key in keys], +faults, names.mixed)


def _in_use(codes: Codes, most: int) -> tuple[Codes, Codes]:
    counts = np.bincount(codes[codes >= 0], minlength=most)
    keys = np.flatnonzero(counts)
    return keys, counts[keys]


def _of_integers(values: NDArray[Any], gaps: NDArray[np.bool_] | None) -> Ids:
    values = np.ascontiguousarray(values, np.uint64 if values.dtype == np.uint64 else np.int64)
    if gaps is None or not gaps.any():
        return Ids(*number_integers(values), Counter())
    return _with_gaps(values, gaps, Counter({MISSING: int(gaps.sum())}))


def _of_floats(values: NDArray[Any], gaps: NDArray[np.bool_] | None) -> Ids:
    """Whole floats as integers."""
    missing = np.isnan(values) if gaps is None else np.isnan(values) | gaps
    with np.errstate(invalid="ignore"):
        fraction = ~missing & (np.isinf(values) | (values % 1 != 0))
    large = ~missing & ~fraction & (np.abs(values) > exact_up_to(values.dtype))
    counts = {fault: int(rows.sum()) for fault, rows in ((MISSING, missing), (FRACTION, fraction), (TOO_LARGE, large))}
    bad = missing | fraction | large
    return _with_gaps(np.where(bad, 0, values).astype(np.int64), bad, +Counter(counts))


def _with_gaps(values: NDArray[Any], gaps: NDArray[np.bool_], faults: Counter[str]) -> Ids:
    found, counts, keys = number_integers(values[~gaps])
    codes = np.full(len(values), NOBODY, np.int64)
    codes[~gaps] = found
    return Ids(codes, counts, keys, faults)


def _of_texts(values: Sequence[str | None]) -> Ids:
    """Texts, None where one is missing."""
    codes, counts, keys = number_texts(values)
    missing = int((codes == NOBODY).sum())
    return Ids(codes, counts, keys, Counter({MISSING: missing} if missing else {}))


def _of_objects(values: Iterable[Any]) -> Ids:
    texts, faults, kinds = [], Counter[str](), set()
    for value in values:
        text, fault = canonical(value)
        texts.append(text)
        if fault:
            faults[fault] += 1
        else:
            kinds.add(is_number(value))
    return Ids(*number_texts(texts), faults, len(kinds) > 1)
